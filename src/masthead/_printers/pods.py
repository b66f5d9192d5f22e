"""Pods: one word for the state of all their containers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.plain import entries, flag, has, integer, part, text
from masthead._printers.ages import age, moment
from masthead._printers.printer import AGE, NAME, Column, Printer, age_of, name_of, wide

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["PRINTERS"]

_TERMINAL: Final = frozenset({"Succeeded", "Failed"})
_COMPLETED: Final = {"type": "Completed", "status": "True"}
_ROW_CONDITIONS: Final[Mapping[str, list[Plain]]] = {
    "Succeeded": [
        {**_COMPLETED, "reason": "Succeeded", "message": "The pod has completed successfully."},
    ],
    "Failed": [{**_COMPLETED, "reason": "Failed", "message": "The pod failed."}],
}


class _Restarts:
    """How often containers were restarted, and when the last time was."""

    __slots__ = ("count", "last", "last_text")

    def __init__(self) -> None:
        self.count = 0
        self.last: datetime | None = None
        self.last_text = ""

    def add(self, status: Plain) -> None:
        """Count the restarts of a container."""
        self.count += integer(status, "restartCount")
        finished_text = text(part(status, "lastState", "terminated"), "finishedAt")
        finished = moment(finished_text)
        # kubectl shows when the latest restart happened.
        if finished is not None and (self.last is None or self.last < finished):
            self.last, self.last_text = finished, finished_text

    def cell(self, now: datetime) -> str:
        """The cell: ``3 (5m ago)``."""
        if self.count and self.last is not None:
            return f"{self.count} ({age(self.last_text, now)} ago)"
        return str(self.count)


class _Summary:
    """What the statuses of a pod's containers amount to."""

    __slots__ = ("_spec", "_status", "ready", "reason", "restarts", "total")

    def __init__(self, pod: Plain) -> None:
        self._spec = part(pod, "spec")
        self._status = part(pod, "status")
        self.reason = _first_reason(self._status)
        self.ready = 0
        self.total = len(entries(self._spec, "containers"))
        self.restarts = _Restarts()
        initializing, of_sidecars = self._read_init_containers()
        if not initializing or _condition_status(self._status, "Initialized") == "True":
            # From now on only restarts of what still runs are of interest.
            self.restarts = of_sidecars
            self._read_containers()
        self.reason = _deletion_reason(pod) or self.reason

    def _read_init_containers(self) -> tuple[bool, _Restarts]:
        """Read the init containers up to the first that has not finished.

        Returns:
            Whether there is such a container, and the restarts of sidecars before it.
        """
        init_containers = entries(self._spec, "initContainers")
        # A sidecar is an init container that keeps running.
        sidecars = {
            text(init_container, "name"): init_container.get("restartPolicy") == "Always"
            for init_container in init_containers
        }
        self.total += sum(init_container.get("restartPolicy") == "Always" for init_container in init_containers)
        of_sidecars = _Restarts()
        for index, status in enumerate(entries(self._status, "initContainerStatuses")):
            is_sidecar = sidecars.get(text(status, "name"), False)
            self.restarts.add(status)
            if is_sidecar:
                of_sidecars.add(status)
            terminated = _state(status, "terminated")
            # Done: the next init container counts.
            if terminated is not None and not integer(terminated, "exitCode"):
                continue
            # A started sidecar no longer blocks the following containers.
            if is_sidecar and flag(status, "started"):
                self.ready += flag(status, "ready")
                continue
            progress = f"{index}/{len(init_containers)}"
            self.reason = f"Init:{_init_reason(status) or progress}"
            # The first unfinished init container explains the state of the pod.
            return True, of_sidecars
        return False, of_sidecars

    def _read_containers(self) -> None:
        has_running, error = False, ""
        # The last container is read first, so the first container with a reason wins.
        for status in reversed(entries(self._status, "containerStatuses")):
            self.restarts.add(status)
            waiting, terminated = _state(status, "waiting"), _state(status, "terminated")
            if waiting is not None and text(waiting, "reason"):
                self.reason = text(waiting, "reason")
            elif terminated is not None:
                self.reason = _termination_reason(terminated)
                if integer(terminated, "exitCode"):
                    error = self.reason
            elif flag(status, "ready") and _state(status, "running") is not None:
                has_running = True
                self.ready += 1
        # Another container has a more important reason.
        if self.reason != "Completed":
            return
        # Some containers are done; the pod is not, as long as another one runs or has failed.
        if has_running and _is_ready(self._status):
            self.reason = "Running"
        elif error:
            self.reason = error
        elif has_running:
            self.reason = "NotReady"


def _first_reason(status: Plain) -> str:
    for condition in entries(status, "conditions"):
        # More telling than the phase, which is Pending.
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return text(status, "reason") or text(status, "phase")


def _deletion_reason(pod: Plain) -> str:
    status = part(pod, "status")
    if not has(part(pod, "metadata"), "deletionTimestamp"):
        return ""
    # The kubelet cannot confirm the deletion.
    if text(status, "reason") == "NodeLost":
        return "Unknown"
    return "" if text(status, "phase") in _TERMINAL else "Terminating"


def _state(status: Plain, name: str) -> Plain | None:
    """Return a state of a container, which may be empty; None if it is in another."""
    found = part(status, "state").get(name)
    return part(status, "state", name) if isinstance(found, dict) else None


def _termination_reason(terminated: Plain) -> str:
    if reason := text(terminated, "reason"):
        return reason
    if signal := integer(terminated, "signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{integer(terminated, 'exitCode')}"


def _init_reason(status: Plain) -> str:
    """Why an init container has not finished; empty if it is just not its turn, or running."""
    terminated, waiting = _state(status, "terminated"), _state(status, "waiting")
    if terminated is not None:
        return _termination_reason(terminated)
    reason = text(waiting, "reason") if waiting is not None else ""
    # Waiting for its turn is no reason; the progress is printed instead.
    return "" if reason == "PodInitializing" else reason


def _condition_status(status: Plain, kind: str) -> str:
    """The status of the first condition of a type."""
    for condition in entries(status, "conditions"):
        if condition.get("type") == kind:
            return text(condition, "status")
    return ""


def _is_ready(status: Plain) -> bool:
    return any(
        entry.get("type") == "Ready" and entry.get("status") == "True" for entry in entries(status, "conditions")
    )


def _readiness_gates(pod: Plain) -> str:
    gates = entries(part(pod, "spec"), "readinessGates")
    if not gates:
        return "<none>"
    status = part(pod, "status")
    open_gates = sum(_condition_status(status, text(gate, "conditionType")) == "True" for gate in gates)
    return f"{open_gates}/{len(gates)}"


def _first_ip(status: Plain) -> str:
    # If the two differ, an old kubelet has set the single one only.
    addresses = entries(status, "podIPs")
    return text(status, "podIP") or (text(addresses[0], "ip") if addresses else "")


def _pod(pod: Plain, now: datetime) -> list[Cell]:
    summary, status = _Summary(pod), part(pod, "status")
    return [
        name_of(pod),
        f"{summary.ready}/{summary.total}",
        summary.reason,
        summary.restarts.cell(now),
        age_of(pod, now),
        _first_ip(status) or "<none>",
        text(part(pod, "spec"), "nodeName") or "<none>",
        text(status, "nominatedNodeName") or "<none>",
        _readiness_gates(pod),
    ]


def _row_conditions(pod: Plain) -> list[Plain]:
    return _ROW_CONDITIONS.get(text(part(pod, "status"), "phase"), [])


_POD: Final = Printer(
    (
        NAME,
        Column("Ready"),
        Column("Status"),
        Column("Restarts"),
        AGE,
        wide("IP"),
        wide("Node"),
        wide("Nominated Node"),
        wide("Readiness Gates"),
    ),
    _pod,
    _row_conditions,
)

PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {("", "Pod"): _POD}
"""The printers, by group and kind."""
