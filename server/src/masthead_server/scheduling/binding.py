"""The writes of the scheduler: bindings, conditions and events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.events import WARNING, SchedulerRecorder, reference_to
from masthead_server.controllers.objects import ObjectClient, ObjectRef, uid_of
from masthead_server.scheduling.disruption import DisruptionBudget
from masthead_server.scheduling.preemption import PREEMPTED_BY_SCHEDULER
from masthead_server.scheduling.volumes import SELECTED_NODE
from masthead_server.storage import JournalError
from masthead_server.verbs import subresources
from masthead_server.verbs.write_context import WriteContext
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.options import WriteOptions
from masthead_server.wire.plain import items, metadata, part, text
from masthead_server.wire.user_info import SCHEDULER_USER

if TYPE_CHECKING:
    from masthead_server.cluster import ClusterState
    from masthead_server.scheduling.pods import SchedulingPod
    from masthead_server.wire.plain import Plain

__all__ = ["SchedulerWrites"]

SCHEDULER: Final = "kube-scheduler"
"""The field manager of the scheduler's writes."""
_POD: Final = ("v1", "Pod")
_MAX_NOTE: Final = 1024
_ELLIPSIS: Final = " ..."


class SchedulerWrites:
    """Writes the decisions of the scheduler.

    Args:
        cluster: The cluster state.
        name: The scheduler's name.
    """

    def __init__(self, cluster: ClusterState, name: str) -> None:
        self._cluster = cluster
        self._name = name
        self.client = ObjectClient(cluster, SCHEDULER, SCHEDULER_USER)
        self._events = SchedulerRecorder(self.client, name, "masthead-node")

    async def bind(self, pod: SchedulingPod, node: str) -> bool:
        """Bind a pod to a node; return False if the binding is refused.

        Raises:
            JournalError: It could not be stored.
        """
        served = self.client.served(pod.ref.table)
        found = self.client.load(pod.ref)
        if served is None or found is None or uid_of(found) != pod.uid:
            return False
        context = WriteContext(
            self._cluster,
            served,
            pod.namespace,
            pod.name,
            WriteOptions(),
            user=SCHEDULER_USER,
            subresource="binding",
        )
        try:
            await subresources.bind(context, node)
        except JournalError:
            raise
        except StatusFailure:
            return False  # another write has changed the pod, or admission refuses
        message = f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
        self._events.record(reference_to(found, *_POD), "Scheduled", "Binding", message)
        return True

    async def report_failure(self, pod: SchedulingPod, message: str, nominated: str | None) -> None:
        """Report a pod without a node, in an Event and its condition PodScheduled.

        Args:
            pod: The pod.
            message: The reason.
            nominated: The nominated node; empty for none, None for no change.

        Raises:
            JournalError: It could not be stored.
        """
        found = self.client.load(pod.ref)
        if found is None or uid_of(found) != pod.uid:
            return
        note = message if len(message) <= _MAX_NOTE else message[: _MAX_NOTE - len(_ELLIPSIS)] + _ELLIPSIS
        self._events.record(reference_to(found, *_POD), "FailedScheduling", "Scheduling", note, event_type=WARNING)
        generation, now = metadata(found).get("generation"), self._cluster.now()

        def change(current: Plain) -> None:
            status = current.setdefault("status", {})
            _set_unschedulable(status, message, generation, now)
            if nominated is not None:
                _set_or_drop(status, "nominatedNodeName", nominated)

        await self.client.update(pod.ref, change, subresource="status")

    async def preempt(self, victim: SchedulingPod, pod: SchedulingPod, node: str) -> None:
        """Delete a pod in favour of another one, with an Event and a condition.

        Args:
            victim: The pod to delete.
            pod: The pod with the higher priority.
            node: The node of the victim.

        Raises:
            JournalError: It could not be stored.
        """
        found, preemptor = self.client.load(victim.ref), self.client.load(pod.ref)
        # A terminating pod needs no second deletion or Event.
        if found is None or preemptor is None or victim.is_terminating or uid_of(found) != victim.uid:
            return
        condition: Plain = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": PREEMPTED_BY_SCHEDULER,
            "message": f"{self._name}: preempting to accommodate a higher priority pod",
            "lastProbeTime": None,
            "lastTransitionTime": self._cluster.now(),
        }
        if generation := metadata(found).get("generation"):
            condition["observedGeneration"] = generation
        await self.client.update(victim.ref, lambda current: _set_condition(current, condition), subresource="status")
        if await self.client.delete(victim.ref, victim.uid):
            self._events.record(
                reference_to(found, *_POD),
                "Preempted",
                "Preempting",
                f"Preempted by pod {pod.uid} on node {node}",
                related=reference_to(preemptor, *_POD),
            )

    async def select_node(self, namespace: str, claim: Plain, node: str) -> None:
        """Annotate a claim with the selected node.

        Args:
            namespace: The claim's namespace.
            claim: The claim.
            node: The node's name.

        Raises:
            JournalError: It could not be stored.
        """
        ref = ObjectRef("persistentvolumeclaims", f"{namespace}/{text(metadata(claim), 'name')}")

        def change(current: Plain) -> None:
            meta = metadata(current)
            meta["annotations"] = {**part(meta, "annotations"), SELECTED_NODE: node}

        if text(part(metadata(claim), "annotations"), SELECTED_NODE) != node:
            await self.client.update(ref, change)

    async def clear_nomination(self, pod: SchedulingPod) -> None:
        """Clear the nominated node of a pod.

        Raises:
            JournalError: It could not be stored.
        """

        def change(current: Plain) -> None:
            current.setdefault("status", {}).pop("nominatedNodeName", None)

        await self.client.update(pod.ref, change, subresource="status")

    def list_budgets(self) -> list[DisruptionBudget]:
        """Return all disruption budgets."""
        budgets = (DisruptionBudget.of(found) for _, found in self.client.listed("policy/poddisruptionbudgets"))
        return [budget for budget in budgets if budget is not None]


def _set_condition(pod: Plain, condition: Plain) -> None:
    status = pod.setdefault("status", {})
    others = [known for known in items(status, "conditions") if known.get("type") != condition["type"]]
    status["conditions"] = [*others, condition]


def _set_unschedulable(status: Plain, message: str, generation: object, now: str) -> None:
    conditions = items(status, "conditions")
    known = next((condition for condition in conditions if condition.get("type") == "PodScheduled"), None)
    is_same = known is not None and text(known, "status") == "False"
    condition: Plain = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "lastProbeTime": None,
        "lastTransitionTime": known.get("lastTransitionTime") if known is not None and is_same else now,
    }
    if generation:
        condition["observedGeneration"] = generation
    if known is None:
        status["conditions"] = [*conditions, condition]
    else:
        known.clear()
        known.update(condition)


def _set_or_drop(status: Plain, field: str, value: str) -> None:
    if value:
        status[field] = value
    else:
        status.pop(field, None)
