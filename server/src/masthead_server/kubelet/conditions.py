"""The pod conditions that a kubelet owns, in its order and wording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.kubelet.container_states import has_run, is_sidecar
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.wire.plain import Plain

__all__ = ["RESIZE_IN_PROGRESS", "RESIZE_PENDING", "drop_condition", "refresh_conditions", "set_condition"]

RESIZE_PENDING: Final = "PodResizePending"
RESIZE_IN_PROGRESS: Final = "PodResizeInProgress"
_READY_TO_START: Final = "PodReadyToStartContainers"
_SCHEDULED: Final = "PodScheduled"
_INITIALIZED: Final = "Initialized"
_READY: Final = "Ready"
_CONTAINERS_READY: Final = "ContainersReady"
_DERIVED: Final = frozenset({_READY_TO_START, _SCHEDULED, _INITIALIZED, _READY, _CONTAINERS_READY})
_ENDED: Final = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}
"""Final phases, with the reason for not being ready."""


def refresh_conditions(pod: Plain, now: str) -> None:
    """Derive the conditions of a pod from its phase and containers; conditions of other owners stay in front."""
    status = part(pod, "status")
    before = {text(condition, "type"): condition for condition in items(status, "conditions")}
    others = [condition for kind, condition in before.items() if kind not in _DERIVED]
    ready = _check_containers(pod)
    derived = (
        # The sandbox ends with the pod.
        _condition(_READY_TO_START, is_true=text(status, "phase") not in _ENDED),
        _check_initialized(pod),
        _check_gates(pod, before) if ready["status"] == "True" else {**ready, "type": _READY},
        ready,
        _condition(_SCHEDULED, is_true=True),
    )
    status["conditions"] = [*others, *(_complete(pod, new, before.get(new["type"]), now) for new in derived)]


def set_condition(
    pod: Plain, kind: str, now: str, *, is_true: bool, reason: str = "", message: str = "", generation: int = 0
) -> None:
    """Set a condition in place, or append it.

    Args:
        pod: The pod.
        kind: The type of the condition.
        now: The time.
        is_true: Its status.
        reason: Its reason.
        message: Its message.
        generation: The observed generation; 0 for the current one.
    """
    status = part(pod, "status")
    conditions = items(status, "conditions")
    known = next((condition for condition in conditions if text(condition, "type") == kind), None)
    new = _complete(pod, _condition(kind, is_true=is_true, reason=reason, message=message), known, now)
    if generation:
        new["observedGeneration"] = generation
    status["conditions"] = (
        [new if condition is known else condition for condition in conditions] if known else [*conditions, new]
    )


def drop_condition(pod: Plain, kind: str) -> None:
    """Remove a condition if it is present."""
    status = part(pod, "status")
    conditions = items(status, "conditions")
    if any(text(condition, "type") == kind for condition in conditions):
        status["conditions"] = [condition for condition in conditions if text(condition, "type") != kind]


def _complete(pod: Plain, new: Plain, known: Plain | None, now: str) -> Plain:
    """Add the times and the generation to a condition."""
    # lastTransitionTime is the time of a change of the status, not of a write.
    is_same = known is not None and known.get("status") == new["status"]
    changed = (known or {}).get("lastTransitionTime", now) if is_same else now
    found: Plain = {"type": new["type"], "status": new["status"], "lastProbeTime": None, "lastTransitionTime": changed}
    found |= {field: new[field] for field in ("reason", "message") if new.get(field)}
    if generation := metadata(pod).get("generation"):
        found["observedGeneration"] = generation
    return found


def _condition(kind: str, *, is_true: bool, reason: str = "", message: str = "") -> Plain:
    return {"type": kind, "status": "True" if is_true else "False", "reason": reason, "message": message}


def _check_initialized(pod: Plain) -> Plain:
    spec, status = part(pod, "spec"), part(pod, "status")
    inits = items(spec, "initContainers")
    known = {text(item, "name"): item for item in items(status, "initContainerStatuses")}
    if inits and not known and "containerStatuses" not in status:
        return _condition(_INITIALIZED, is_true=False, reason="UnknownContainerStatuses")
    unknown = [text(container, "name") for container in inits if text(container, "name") not in known]
    if text(status, "phase") == "Succeeded" and not unknown:
        return _condition(_INITIALIZED, is_true=True, reason="PodCompleted")
    # Sidecars may restart, and the pod stays initialized.
    if any(map(has_run, items(status, "containerStatuses"))):
        return _condition(_INITIALIZED, is_true=True)
    incomplete = [
        text(container, "name")
        for container in inits
        if text(container, "name") in known and not _is_initialized(container, known[text(container, "name")])
    ]
    problems = [*_describe("unknown", unknown), *_describe("incomplete", incomplete)]
    if not problems:
        return _condition(_INITIALIZED, is_true=True)
    return _condition(_INITIALIZED, is_true=False, reason="ContainersNotInitialized", message=", ".join(problems))


def _is_initialized(container: Plain, found: Plain) -> bool:
    return bool(found.get("started" if is_sidecar(container) else "ready"))


def _check_containers(pod: Plain) -> Plain:
    spec, status = part(pod, "spec"), part(pod, "status")
    phase = text(status, "phase")
    if "containerStatuses" not in status:
        reason = _ENDED.get(phase, "UnknownContainerStatuses")
        return _condition(_CONTAINERS_READY, is_true=False, reason=reason)
    known = {
        text(item, "name"): item
        for field in ("initContainerStatuses", "containerStatuses")
        for item in items(status, field)
    }
    sidecars = [container for container in items(spec, "initContainers") if is_sidecar(container)]
    names = [text(container, "name") for container in (*sidecars, *items(spec, "containers"))]
    unknown = [name for name in names if name not in known]
    if phase == "Failed" or (phase == "Succeeded" and not unknown):
        return _condition(_CONTAINERS_READY, is_true=False, reason=_ENDED[phase])
    unready = [name for name in names if name in known and not known[name].get("ready")]
    problems = [*_describe("unknown", unknown), *_describe("unready", unready)]
    if problems:
        return _condition(_CONTAINERS_READY, is_true=False, reason="ContainersNotReady", message=", ".join(problems))
    return _condition(_CONTAINERS_READY, is_true=True)


def _describe(what: str, names: Sequence[str]) -> list[str]:
    return [f"containers with {what} status: [{' '.join(names)}]"] if names else []


def _check_gates(pod: Plain, conditions: dict[str, Plain]) -> Plain:
    """Check the readiness gates of a pod with ready containers."""
    problems: list[str] = []
    for gate in items(part(pod, "spec"), "readinessGates"):
        kind = text(gate, "conditionType")
        found = conditions.get(kind)
        if found is None:
            problems.append(f"corresponding condition of pod readiness gate {quoted(kind)} does not exist.")
        elif found.get("status") != "True":
            value = text(found, "status")
            problems.append(f'the status of pod readiness gate {quoted(kind)} is not "True", but {value}')
    reason = "ReadinessGatesNotReady" if problems else ""
    return _condition(_READY, is_true=not problems, reason=reason, message=", ".join(problems))
