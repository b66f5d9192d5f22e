"""One call of a webhook, and what becomes of its errors."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._meta.quoting import quoted
from masthead_server.admission.refusals import forbid
from masthead_server.admission.webhooks.review import (
    ReviewError,
    choose_version,
    decode_review,
    describe_request,
    encode_review,
    verify_response,
)
from masthead_server.admission.webhooks.versioned_objects import encode_object
from masthead_server.threads import compute_in_thread
from masthead_server.webhooks import WebhookError, call_webhook
from masthead_server.wire.failures import StatusFailure, bad_request, internal_error
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.admission.conditions import MatchConditions
    from masthead_server.admission.matching import Match
    from masthead_server.admission.webhooks.review import AdmissionResponse, DecodedReview
    from masthead_server.admission.webhooks.webhook import AdmissionWebhook
    from masthead_server.cluster import ClusterState
    from masthead_server.wire.plain import Plain

__all__ = ["CallError", "EncodedObjects", "Invocation", "call_admission_webhook", "match_webhook"]

_LARGE: Final = 256 * 1024
"""Bytes above which a response is decoded in a thread."""
_MAX_BYTES: Final = 16 * 1024 * 1024
"""The longest response that is read: a patch of the largest object, several times over."""
_ERRORS: Final = 400
_MAX_CODE: Final = 999
"""A status line has three digits."""


class CallError(Exception):
    """A call has failed, which the failure policy of the webhook may ignore.

    Args:
        webhook: The webhook.
        problem: The reason.
    """

    def __init__(self, webhook: AdmissionWebhook, problem: str) -> None:
        super().__init__(f"failed calling webhook {quoted(webhook.name)}: {problem}")

    def to_failure(self) -> StatusFailure:
        """Return the refusal of the request."""
        return internal_error(str(self))


class EncodedObjects(NamedTuple):
    """The objects of a request, as a webhook gets them.

    Attributes:
        new: The object.
        old: The stored object.
    """

    new: bytes
    old: bytes


class Invocation(NamedTuple):
    """A webhook that is to be called.

    Attributes:
        webhook: The webhook.
        match: The resource and kind that it asks for.
        objects: The objects in that version.
    """

    webhook: AdmissionWebhook
    match: Match
    objects: EncodedObjects


async def match_webhook(
    cluster: ClusterState,
    webhook: AdmissionWebhook,
    attributes: AdmissionAttributes,
    encoded: dict[Match, EncodedObjects],
) -> Invocation | None:
    """Prepare the call of a webhook; None if it is not for a request.

    Args:
        cluster: The cluster state.
        webhook: The webhook.
        attributes: The request.
        encoded: The objects in the versions of other webhooks, which share them; new ones are added.

    Raises:
        StatusFailure: If that cannot be decided, or if the object cannot be converted.
    """
    match = webhook.matcher.match(attributes)
    if match is None:
        return None
    if webhook.conditions is not None and not await _meets(cluster, webhook.conditions, attributes, match):
        return None
    if match not in encoded:
        encoded[match] = EncodedObjects(
            await encode_object(attributes, match, attributes.object),
            await encode_object(attributes, match, attributes.old),
        )
    return Invocation(webhook, match, encoded[match])


async def _meets(
    cluster: ClusterState, conditions: MatchConditions, attributes: AdmissionAttributes, match: Match
) -> bool:
    """Tell whether a request meets match conditions.

    Raises:
        StatusFailure: If that cannot be decided, and the failure policy does not ignore it.
    """
    from masthead_server.admission.conditions import ConditionError
    from masthead_server.admission.evaluation import CostlyEvaluation, RequestValues, evaluate_in_thread

    values = await RequestValues.of(cluster, attributes, match)
    try:
        try:
            return conditions.match(values, is_bounded=True)
        except CostlyEvaluation:
            return await evaluate_in_thread(values, partial(conditions.match, values))
    except ConditionError as error:
        raise forbid(attributes, str(error)) from None


async def call_admission_webhook(
    invocation: Invocation, attributes: AdmissionAttributes, uid: str, *, is_mutating: bool
) -> AdmissionResponse:
    """Call a webhook about a request; its warnings and annotations are added to the request.

    Args:
        invocation: The webhook, and the objects as it gets them.
        attributes: The request.
        uid: Identifies the call.
        is_mutating: Whether the webhook may change the object.

    Raises:
        CallError: If the call fails.
        StatusFailure: If the webhook denies the request, or cannot be called in a dry run.
    """
    webhook = invocation.webhook
    if attributes.is_dry_run and not webhook.allows_dry_run:
        raise bad_request(f"admission webhook {quoted(webhook.name)} does not support dry run")
    version = choose_version(webhook.review_versions)
    if not version:
        known = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
        raise CallError(webhook, f"could not create admission objects: {known}")
    request = describe_request(attributes, invocation.match)
    review = encode_review(version, uid, request, *invocation.objects)
    decoded = await _exchange(webhook, review, version)
    try:
        response = verify_response(decoded, version, uid, is_mutating=is_mutating)
    except ReviewError as error:
        raise CallError(webhook, f"received invalid webhook response: {error}") from None
    for key, value in response.annotations.items():
        attributes.annotations[f"{webhook.name}/{key}"] = value
    attributes.warnings.extend(response.warnings)
    if not response.is_allowed:
        raise _deny(webhook, response.status)
    return response


async def _exchange(webhook: AdmissionWebhook, review: bytes, version: str) -> DecodedReview:
    """Send a review; returns that of the response."""
    # A new task: a write of a controller may run outside of any, where a timeout cannot be set.
    calling = call_webhook(webhook.client, review, seconds=webhook.timeout, max_bytes=_MAX_BYTES)
    call = asyncio.get_running_loop().create_task(calling)
    try:
        body = await call
        if len(body) > _LARGE:
            return await compute_in_thread(decode_review, body, version)
        return decode_review(body, version)
    except (WebhookError, ReviewError) as error:
        raise CallError(webhook, f"failed to call webhook: {error}") from None
    finally:
        call.cancel()


def _deny(webhook: AdmissionWebhook, status: Plain | None) -> StatusFailure:
    """Return the refusal of a request that a webhook denies."""
    result = status or {}
    denied = f"admission webhook {quoted(webhook.name)} denied the request"
    reason = text(result, "reason")
    explanation = text(result, "message") or reason
    details: Plain | None = result.get("details")
    state = text(result, "status")
    return StatusFailure(
        min(max(int(result.get("code") or 0), _ERRORS), _MAX_CODE),
        reason,
        f"{denied}: {explanation}" if explanation else f"{denied} without explanation",
        details=details,
        metadata=part(result, "metadata"),
        retry_after=max(int((details or {}).get("retryAfterSeconds") or 0), 0) or None,
        state="Failure" if state in {"", "Success"} else state,
    )
