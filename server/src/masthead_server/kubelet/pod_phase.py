"""The phase of a pod, derived from the states of its containers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from masthead_server.kubelet.container_states import has_run, is_sidecar
from masthead_server.kubelet.pods import restarts
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

__all__ = ["compute_phase"]


@dataclass(slots=True)
class _Census:
    """The number of containers in each state."""

    pending_inits: int = 0
    pending_sidecars: int = 0
    failed_inits: int = 0
    unknown: int = 0
    running: int = 0
    waiting: int = 0
    stopped: int = 0
    stopped_for_good: int = 0
    succeeded: int = 0


def compute_phase(pod: Plain) -> str:
    """Compute the phase of a pod from its containers."""
    spec, status = part(pod, "spec"), part(pod, "status")
    main = {text(item, "name"): item for item in items(status, "containerStatuses")}
    inits = {text(item, "name"): item for item in items(status, "initContainerStatuses")}
    census = _Census()
    for container in items(spec, "initContainers"):
        found = inits.get(text(container, "name"))
        if is_sidecar(container):
            _count_sidecar(found, census)
        else:
            _count_init(pod, container, found, census)
    for container in items(spec, "containers"):
        _count_main(pod, container, main.get(text(container, "name")), census)
    return _decide(census, has_begun=any(map(has_run, main.values())))


def _count_init(pod: Plain, container: Plain, found: Plain | None, census: _Census) -> None:
    ended = _end_of(found)
    if found is None or ended is None:
        census.pending_inits += 1
    elif ended.get("exitCode") and not restarts(pod, text(container, "name"), ended["exitCode"]):
        census.failed_inits += 1


def _count_sidecar(found: Plain | None, census: _Census) -> None:
    state = part(found or {}, "state")
    if found is None:
        census.unknown += 1
    elif "running" in state:
        census.running += 1
        census.pending_sidecars += not found.get("started")
    # A sidecar that has run before does not take the pod back to Pending.
    elif "waiting" in state and not has_run(found):
        census.pending_sidecars += 1
        census.waiting += 1


def _count_main(pod: Plain, container: Plain, found: Plain | None, census: _Census) -> None:
    state, ended = part(found or {}, "state"), _end_of(found)
    if "running" in state:
        census.running += 1
    elif ended is not None:
        code = ended.get("exitCode") or 0
        census.stopped += 1
        census.stopped_for_good += not restarts(pod, text(container, "name"), code)
        census.succeeded += code == 0 and "terminated" in state
    elif "waiting" in state:
        census.waiting += 1
    else:
        census.unknown += 1


def _end_of(found: Plain | None) -> Plain | None:
    """Return the last end of a container that does not run; None if it runs or never ran."""
    state = part(found or {}, "state")
    if "terminated" in state:
        return part(state, "terminated")
    last = part(found or {}, "lastState")
    return part(last, "terminated") if "waiting" in state and "terminated" in last else None


def _decide(census: _Census, *, has_begun: bool) -> str:
    if census.failed_inits:
        return "Failed"
    if census.pending_inits or census.waiting or (census.pending_sidecars and not has_begun) or census.unknown:
        return "Pending"
    if census.running or census.stopped != census.stopped_for_good:
        return "Running"
    if not census.stopped:
        return "Pending"
    return "Succeeded" if census.stopped == census.succeeded else "Failed"
