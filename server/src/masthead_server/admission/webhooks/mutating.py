"""Mutating webhooks: they may change an object, and are called one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from masthead._meta.quoting import quoted
from masthead_server.admission.webhooks.call import CallError, Invocation, call_admission_webhook, match_webhook
from masthead_server.admission.webhooks.versioned_objects import decode_object
from masthead_server.threads import compute_in_thread
from masthead_server.wire.failures import internal_error
from masthead_server.wire.json_patch import InapplicablePatchError, UndecodablePatchError, apply_admission_patch
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.admission.webhooks.webhook import AdmissionWebhook
    from masthead_server.cluster import ClusterState
    from masthead_server.wire.plain import Plain

__all__ = ["admit_by_webhooks"]

_PLUGIN: Final = "MutatingAdmissionWebhook"
_MUTATION: Final = "mutation.webhook.admission.k8s.io/"
_PATCH: Final = "patch.webhook.admission.k8s.io/"
_JSON_PATCH: Final = "JSONPatch"
_LARGE: Final = 64 * 1024
"""Bytes above which a patch is applied in a thread."""


async def admit_by_webhooks(
    cluster: ClusterState, webhooks: Sequence[AdmissionWebhook], attributes: AdmissionAttributes
) -> None:
    """Call every webhook that a request matches, in order; each gets what the last one has made.

    In the second round, only webhooks with the reinvocation policy IfNeeded are called again, if the object has changed
    since their call.

    Args:
        cluster: The cluster state.
        webhooks: All mutating webhooks.
        attributes: The request.

    Raises:
        StatusFailure: If a webhook denies the request, or fails and its failure policy does not ignore that.
    """
    reinvocation = attributes.reinvocation
    calls = reinvocation.calls_of(_PLUGIN)
    if reinvocation.is_second_round and attributes.object != calls.last_output:
        calls.require_all()
    for index, webhook in enumerate(webhooks):
        if reinvocation.is_second_round and webhook.uid not in calls.required:
            continue
        # Nothing is shared: every webhook gets the object as the last one has left it.
        invocation = await match_webhook(cluster, webhook, attributes, {})
        if invocation is None:
            continue
        if await _call(cluster, index, invocation, attributes):
            calls.require_all()
            reinvocation.is_requested = True
        if webhook.is_reinvoked:
            calls.invoked.add(webhook.uid)
    # Only calls that may be repeated are compared with it.
    if calls.invoked:
        calls.last_output = _copy(attributes.object)


async def _call(cluster: ClusterState, index: int, invocation: Invocation, attributes: AdmissionAttributes) -> bool:
    """Call a webhook, and apply its patch; returns whether the object has changed."""
    webhook = invocation.webhook
    place = f"round_{int(attributes.reinvocation.is_second_round)}_index_{index}"
    has_changed = False
    try:
        has_changed = await _patch(cluster, place, invocation, attributes)
    except CallError as error:
        if not webhook.ignores_failures:
            raise error.to_failure() from None
        attributes.annotations[f"failed-open.{_MUTATION}{place}"] = webhook.name
    mutation = {"configuration": webhook.configuration, "webhook": webhook.name, "mutated": has_changed}
    attributes.annotations[f"{_MUTATION}{place}"] = msgspec.json.encode(mutation).decode()
    return has_changed


async def _patch(cluster: ClusterState, place: str, invocation: Invocation, attributes: AdmissionAttributes) -> bool:
    webhook = invocation.webhook
    uid = cluster.new_uid()
    response = await call_admission_webhook(invocation, attributes, uid, is_mutating=True)
    if not response.patch:
        return False
    document = msgspec.json.decode(invocation.objects.new)
    try:
        if len(response.patch) > _LARGE:
            patched = await compute_in_thread(apply_admission_patch, document or {}, response.patch)
        else:
            patched = apply_admission_patch(document or {}, response.patch)
    except UndecodablePatchError as error:
        raise CallError(webhook, f"received undecodable patch in webhook response: {error}") from None
    except InapplicablePatchError as error:
        _check_patchable(invocation, attributes, response.patch_type)
        raise internal_error(str(error)) from None
    if patched is None:
        return False
    _check_patchable(invocation, attributes, response.patch_type)
    before = attributes.object
    # Go compares times of managedFields by the nanosecond, which the first decoding drops: any patch of an object
    # that the request has just got a manager for counts as a change.
    has_new_time = not attributes.reinvocation.is_decoded and _has_new_manager(attributes)
    attributes.object = await decode_object(attributes, invocation.match, patched)
    attributes.reinvocation.is_decoded = True
    annotation = {
        "configuration": webhook.configuration,
        "webhook": webhook.name,
        "patch": msgspec.Raw(response.patch),
        "patchType": _JSON_PATCH,
    }
    attributes.annotations[f"{_PATCH}{place}"] = msgspec.json.encode(annotation).decode()
    return has_new_time or attributes.object != before


def _check_patchable(invocation: Invocation, attributes: AdmissionAttributes, patch_type: str) -> None:
    """Refuse a patch of a request without an object, and one of an unknown type."""
    webhook = invocation.webhook
    if attributes.object is None:
        action = "attempted to modify the object, which is not supported for this operation"
        raise internal_error(f"admission webhook {quoted(webhook.name)} {action}")
    if patch_type != _JSON_PATCH:
        raise CallError(webhook, f"unsupported patch type {quoted(patch_type)}")


def _has_new_manager(attributes: AdmissionAttributes) -> bool:
    before = items(part(attributes.old or {}, "metadata"), "managedFields")
    return any(entry not in before for entry in items(part(attributes.object or {}, "metadata"), "managedFields"))


def _copy(found: Plain | None) -> Plain | None:
    return None if found is None else msgspec.json.decode(msgspec.json.encode(found))
