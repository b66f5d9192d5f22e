"""Pods: what the server decides about them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._server.resources.builtin.core.pod.qos import qos_class
from masthead._server.resources.builtin.core.pod.status import carry_status, status_errors
from masthead._server.resources.behavior import StrategyHooks
from masthead._server.resources.validation.checks import each_of, same
from masthead._server.resources.validation.containers import image_space_errors
from masthead._server.resources.validation.internal_types import difference, inner_pod_spec
from masthead._server.resources.validation.pod_spec import pod_spec_errors, toleration_errors
from masthead._server.wire.failures import StatusFailure, forbidden, invalid, quoted, required
from masthead._server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from masthead._server.resources.allocator import Allocator
    from masthead._server.resources.behavior import Errors
    from masthead._server.wire.failures import FieldError
    from masthead._server.wire.plain import Plain

_LONGEST_KEPT: Final = 16 * 1024
"""Bytes of a spec whose findings are remembered."""
_PATIENCE_SECONDS: Final = 300
_LOST_NODE: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SYSTEM_CLASSES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_ORDINARY: Final[Plain] = {"value": 0}
_PREEMPT: Final = "PreemptLowerPriority"


def _tolerate_lost_nodes(spec: Plain) -> None:
    tolerations = items(spec, "tolerations")
    tolerated = {text(each, "key") for each in tolerations if each.get("effect") in {None, "", "NoExecute"}}
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _PATIENCE_SECONDS}
        for key in _LOST_NODE
        if key not in tolerated and "" not in tolerated
    ]
    if added:
        spec["tolerations"] = [*tolerations, *added]


def _class_of(name: str, allocate: Allocator) -> Plain | None:
    """Find the class of a pod: the one it names, or else the default with the lowest value."""
    classes = allocate.listed("scheduling.k8s.io", "priorityclasses")
    if name:
        return next((each for each in classes if metadata(each).get("name") == name), _system_class(name))
    defaults = [each for each in classes if each.get("globalDefault")]
    return min(defaults, key=lambda each: each.get("value", 0), default=_ORDINARY)


def _system_class(name: str) -> Plain | None:
    if name not in _SYSTEM_CLASSES:
        return None
    return {"metadata": {"name": name}, "value": _SYSTEM_CLASSES[name]}


def _admit(pod: Plain, allocate: Allocator) -> StatusFailure | None:
    spec, name = pod["spec"], text(metadata(pod), "name")
    wanted = text(spec, "priorityClassName")
    found = _class_of(wanted, allocate)
    if found is None:
        return _refusal(name, f"no PriorityClass with name {wanted} was found")
    value, policy = found.get("value", 0), found.get("preemptionPolicy", _PREEMPT)
    given = spec.get("priority")
    if given is not None and given != value:
        return _refusal(name, _clash(f"integer value of priority ({given})", value))
    given = spec.get("preemptionPolicy")
    if given is not None and given != policy:
        return _refusal(name, _clash(f"string value of PreemptionPolicy ({given})", policy))
    spec["priority"], spec["preemptionPolicy"] = value, policy
    if part(found, "metadata").get("name"):
        spec["priorityClassName"] = found["metadata"]["name"]
    return _missing_runtime(pod, allocate)


def _missing_runtime(pod: Plain, allocate: Allocator) -> StatusFailure | None:
    wanted = pod["spec"].get("runtimeClassName")
    classes = allocate.listed("node.k8s.io", "runtimeclasses") if wanted else ()
    if not wanted or any(metadata(each).get("name") == wanted for each in classes):
        return None
    why = f"pod rejected: RuntimeClass {quoted(wanted)} not found"
    return _refusal(text(metadata(pod), "name"), why)


def _clash(given: str, computed: object) -> str:
    return (
        f"the {given} must not be provided in pod spec; "
        f"priority admission controller computed {computed} from the given PriorityClass name"
    )


def _refusal(name: str, why: str) -> StatusFailure:
    details = {"name": name, "kind": "pods"} if name else {"kind": "pods"}
    return StatusFailure(403, "Forbidden", f"pods {quoted(name)} is forbidden: {why}", details=details)


def _prepare_create(pod: Plain, _allocate: Allocator) -> None:
    spec = pod["spec"]
    _tolerate_lost_nodes(spec)
    status: Plain = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        since = metadata(pod).get("creationTimestamp")
        status["conditions"] = [{**_GATED, "lastTransitionTime": since}]
    pod["status"] = status


_GATED: Final[Plain] = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
    "lastProbeTime": None,
}


def _prepare_update(new: Plain, old: Plain) -> None:
    for field in ("priority", "preemptionPolicy"):
        if new["spec"].get(field) is None and old["spec"].get(field) is not None:
            new["spec"][field] = old["spec"][field]
    _tolerate_lost_nodes(new["spec"])


def _validate_create(pod: Plain) -> Errors:
    spec = part(pod, "spec")
    errors = _pod_errors(spec)
    if spec.get("ephemeralContainers"):
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        why = "cannot be set until all schedulingGates have been cleared"
        errors.append(forbidden("spec.nodeName", why))
    return errors


def _pod_errors(spec: Plain) -> Errors:
    # Pods come in copies of a template: the spec of most was looked at a moment ago.
    text = msgspec.json.encode(spec)
    return list(_known_errors(text)) if len(text) <= _LONGEST_KEPT else _spec_errors(spec)


@functools.lru_cache(maxsize=512)
def _known_errors(spec: bytes) -> tuple[FieldError, ...]:
    return tuple(_spec_errors(msgspec.json.decode(spec)))


def _spec_errors(spec: Plain) -> Errors:
    errors = pod_spec_errors(spec, "spec", of_pod=True)
    if not spec.get("serviceAccountName"):
        for at, volume in each_of(spec, "volumes", "spec"):
            for where, source in each_of(part(volume, "projected"), "sources", f"{at}.projected"):
                if source.get("serviceAccountToken") is not None:
                    why = "must not be specified when serviceAccountName is not set"
                    errors.append(forbidden(f"{where}.serviceAccountToken", why))
    return errors + image_space_errors(spec, "spec")


def _validate_update(new: Plain, old: Plain) -> Errors:
    after, before = part(new, "spec"), part(old, "spec")
    if after == before:  # what is stored was found to be right; most updates change something else
        return []
    errors = _pod_errors(after)
    for field in ("containers", "initContainers"):
        if len(items(after, field)) != len(items(before, field)):
            return [*errors, forbidden(f"spec.{field}", "pod updates may not add or remove containers")]
        # The real server looks at images once more here, and says twice what is wrong with them.
        for at, container in each_of(after, field, "spec"):
            errors += [] if container.get("image") else [required(f"{at}.image")]
            errors += image_space_errors({field: [container]}, "spec")
    path, now, then = (
        "spec.activeDeadlineSeconds",
        *(each.get("activeDeadlineSeconds") for each in (after, before)),
    )
    if now is not None and then is not None and then < now:
        return [*errors, invalid(path, now, "must be less than or equal to previous value")]
    if now is None and then is not None:
        errors.append(invalid(path, None, "must not update from a positive integer to nil value"))
    errors += _toleration_changes(after, before)
    errors += _gate_changes(after, before)
    fixed = _fixed(after, before)
    if not same(fixed, before):
        changed = difference(inner_pod_spec(before), inner_pod_spec(fixed))
        errors.append(forbidden("spec", f"{_FIXED}\n{changed}"))
    return errors


def _toleration_changes(after: Plain, before: Plain) -> Errors:
    def apart_from_time(toleration: Plain) -> frozenset[tuple[str, object]]:
        return frozenset((key, value) for key, value in toleration.items() if key != "tolerationSeconds")

    now = {apart_from_time(each) for each in items(after, "tolerations")}
    if all(apart_from_time(each) in now for each in items(before, "tolerations")):
        return toleration_errors(after, "spec")
    why = "existing toleration can not be modified except its tolerationSeconds"
    return [forbidden("spec.tolerations", why)]


def _gate_changes(after: Plain, before: Plain) -> Errors:
    added = {text(each, "name"): at for at, each in each_of(after, "schedulingGates", "spec")}
    for each in items(before, "schedulingGates"):
        added.pop(text(each, "name"), None)
    why = "only deletion is allowed, but found new scheduling gate '{}'"
    return [forbidden(f"{at}.name", why.format(name)) for name, at in added.items()]


_MAY_CHANGE: Final = frozenset({"activeDeadlineSeconds", "schedulingGates", "tolerations"})
_FIXED: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def _fixed(after: Plain, before: Plain) -> Plain:
    """The new spec without what may change. A gated pod may still be told where to go."""
    may = _MAY_CHANGE | ({"nodeSelector", "affinity"} if before.get("schedulingGates") else set[str]())
    fixed = {key: value for key, value in after.items() if key not in may}
    fixed |= {key: value for key, value in before.items() if key in may}
    for field in ("containers", "initContainers"):
        pairs = zip(items(after, field), items(before, field), strict=True)
        images = [{**now, "image": then.get("image")} for now, then in pairs]
        if images:
            fixed[field] = images
    return fixed


RULES: Final = {
    "pods": StrategyHooks(
        admit_create=_admit,
        prepare_create=_prepare_create,
        prepare_update=_prepare_update,
        validate_create=_validate_create,
        validate_update=_validate_update,
        prepare_status=carry_status,
        validate_status=status_errors,
    )
}
