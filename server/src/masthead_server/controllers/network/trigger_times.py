"""The time of the change that triggered an update of endpoints, for ``last-change-trigger-time``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.controllers.pod_index import ready_condition
from masthead_server.wire.plain import metadata, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.controllers.objects import ObjectRef
    from masthead_server.controllers.pod_index import IndexedPod
    from masthead_server.wire.plain import Plain

__all__ = ["TriggerTimes"]


class TriggerTimes:
    """Remembers when each pod of a Service last changed; the earliest new change is the trigger."""

    def __init__(self) -> None:
        self._pods: dict[ObjectRef, dict[ObjectRef, str]] = {}
        self._services: dict[ObjectRef, str] = {}

    def find(self, ref: ObjectRef, service: Plain, pods: Mapping[ObjectRef, IndexedPod]) -> str:
        """Return the time of a Service's earliest change since the last call; empty without a change."""
        known = self._pods.get(ref)
        times = {pod_ref: time for pod_ref, pod in pods.items() if (time := _ready_since(pod))}
        self._pods[ref] = times
        created, known_creation = text(metadata(service), "creationTimestamp"), self._services.get(ref, "")
        self._services[ref] = created
        if known is None:
            # On the first call, the creation of the Service is the change.
            return created
        changed = [time for pod_ref, time in times.items() if time > known.get(pod_ref, "")]
        if created > known_creation:
            changed.append(created)
        return min(changed, default="")

    def forget(self, ref: ObjectRef) -> None:
        """Forget a deleted Service."""
        self._pods.pop(ref, None)
        self._services.pop(ref, None)


def _ready_since(pod: IndexedPod) -> str:
    condition = ready_condition(pod)
    return (condition.last_transition_time or "") if condition is not None else ""
