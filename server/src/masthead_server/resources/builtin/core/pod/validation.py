"""Validation of Pods."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._schema.errors import forbidden, invalid, required
from masthead_server.resources.builtin.core.pod.annotations import (
    annotation_changes,
    annotation_errors,
)
from masthead_server.resources.builtin.core.pod.gated_changes import gated_changes, with_stored_nodes
from masthead_server.resources.validation.checks import MAX_INT32, between, each_of, same_structs
from masthead_server.resources.validation.containers import image_space_errors
from masthead_server.resources.validation.internal_types import difference, inner_pod_spec
from masthead_server.resources.validation.pod_annotations import mismatch_errors
from masthead_server.resources.validation.pod_spec import pod_spec_errors, toleration_errors
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead._schema.errors import FieldError
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_MAX_CACHED_LENGTH: Final = 16 * 1024
"""Bytes of a spec whose findings are remembered."""


def validate_create(pod: Plain) -> Errors:
    """Return the errors of a new Pod."""
    spec, meta = part(pod, "spec"), part(pod, "metadata")
    errors = annotation_errors(pod) + pod_errors(spec, text(meta, "name"))
    # Debug containers come by their subresource only.
    if spec.get("ephemeralContainers"):
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    # A gated pod waits for its scheduler; a node would bypass the gates.
    if spec.get("nodeName") and spec.get("schedulingGates"):
        why = "cannot be set until all schedulingGates have been cleared"
        errors.append(forbidden("spec.nodeName", why))
    return errors + mismatch_errors(part(meta, "annotations"), spec, "spec")


def pod_errors(spec: Plain, name: str) -> Errors:
    """Return the errors of the spec of a Pod with a name."""
    # Pods come in copies of a template: the spec of most was looked at a moment ago.
    written = msgspec.json.encode(spec)
    # The claims of ephemeral volumes are named after the pod; nothing else depends on its name.
    name = name if b'"ephemeral":' in written else ""
    # Large specs are rare, and would evict many small ones from memory.
    return list(_known_errors(written, name)) if len(written) <= _MAX_CACHED_LENGTH else _spec_errors(spec, name)


@functools.lru_cache(maxsize=512)
def _known_errors(spec: bytes, name: str) -> tuple[FieldError, ...]:
    return tuple(_spec_errors(msgspec.json.decode(spec), name))


def _spec_errors(spec: Plain, name: str) -> Errors:
    errors = pod_spec_errors(spec, "spec", of_pod=True, pod_name=name)
    if not spec.get("serviceAccountName"):
        for at, volume in each_of(spec, "volumes", "spec"):
            for where, source in each_of(part(volume, "projected"), "sources", f"{at}.projected"):
                if source.get("serviceAccountToken") is not None:
                    why = "must not be specified when serviceAccountName is not set"
                    errors.append(forbidden(f"{where}.serviceAccountToken", why))
    return errors + image_space_errors(spec, "spec")


def validate_update(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a Pod."""
    after, before = part(new, "spec"), part(old, "spec")
    annotation_problems = annotation_changes(new, old)
    if after == before:  # the stored one was valid, and most updates change something else
        return annotation_problems
    errors = pod_errors(after, text(part(new, "metadata"), "name")) + annotation_problems
    for field in ("containers", "initContainers"):
        # kube-apiserver returns here: containers are compared by position, which makes no sense any more.
        if len(items(after, field)) != len(items(before, field)):
            return [*errors, forbidden(f"spec.{field}", "pod updates may not add or remove containers")]
        # kube-apiserver validates images again here, and reports errors twice.
        for at, container in each_of(after, field, "spec"):
            errors += [] if container.get("image") else [required(f"{at}.image")]
            errors += image_space_errors({field: [container]}, "spec")
    path, now, then = (
        "spec.activeDeadlineSeconds",
        *(state.get("activeDeadlineSeconds") for state in (after, before)),
    )
    # kube-apiserver stops at these errors.
    if now is not None and not 0 <= now <= MAX_INT32:
        return [*errors, *between(path, now, 0, MAX_INT32)]
    # An exceeded deadline is final, so that it may only shrink.
    if now is not None and then is not None and then < now:
        return [*errors, invalid(path, now, "must be less than or equal to previous value")]
    if now is None and then is not None:
        errors.append(invalid(path, None, "must not update from a positive integer to nil value"))
    errors += _toleration_changes(after, before)
    errors += _gate_changes(after, before)
    fixed = _immutable_part(after, before)
    if before.get("schedulingGates"):
        errors += gated_changes(after, before)
        fixed = with_stored_nodes(fixed, before)
    if not same_structs(fixed, before):
        changed = difference(inner_pod_spec(before), inner_pod_spec(fixed))
        errors.append(forbidden("spec", f"{_FIXED}\n{changed}"))
    return errors


def _toleration_changes(after: Plain, before: Plain) -> Errors:
    def apart_from_time(toleration: Plain) -> frozenset[tuple[str, object]]:
        return frozenset((key, value) for key, value in toleration.items() if key != "tolerationSeconds")

    now = {apart_from_time(added) for added in items(after, "tolerations")}
    # Stored tolerations must all be there, in any order; new ones may be added.
    if all(apart_from_time(stored) in now for stored in items(before, "tolerations")):
        return toleration_errors(after, "spec")
    why = "existing toleration can not be modified except its tolerationSeconds"
    return [forbidden("spec.tolerations", why)]


def _gate_changes(after: Plain, before: Plain) -> Errors:
    added = {text(gate, "name"): at for at, gate in each_of(after, "schedulingGates", "spec")}
    for scheduling_gate in items(before, "schedulingGates"):
        added.pop(text(scheduling_gate, "name"), None)
    why = "only deletion is allowed, but found new scheduling gate '{}'"
    return [forbidden(f"{at}.name", why.format(name)) for name, at in added.items()]


_MAY_CHANGE: Final = frozenset({"activeDeadlineSeconds", "schedulingGates", "tolerations"})
_FIXED: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def _immutable_part(after: Plain, before: Plain) -> Plain:
    """The new spec without what may change."""
    fixed = {key: value for key, value in after.items() if key not in _MAY_CHANGE}
    fixed |= {key: value for key, value in before.items() if key in _MAY_CHANGE}
    for field in ("containers", "initContainers"):
        pairs = zip(items(after, field), items(before, field), strict=True)
        images = [{**now, "image": then.get("image")} for now, then in pairs]
        if images:
            fixed[field] = images
    return fixed
