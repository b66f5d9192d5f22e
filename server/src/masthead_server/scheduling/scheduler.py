"""The scheduler: binds pods to nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import ObjectRef
from masthead_server.scheduling.algorithm import SchedulingAlgorithm
from masthead_server.scheduling.binding import SchedulerWrites
from masthead_server.scheduling.default_selectors import WORKLOAD_TABLES
from masthead_server.scheduling.facts import decode_node, decode_pod
from masthead_server.scheduling.pending import PendingPods
from masthead_server.scheduling.pods import DEFAULT_SCHEDULER, SchedulingPod
from masthead_server.scheduling.preemption import PreemptionEvaluator
from masthead_server.scheduling.rejections import Cure, Diagnosis
from masthead_server.scheduling.state import SchedulingState
from masthead_server.scheduling.stored_claims import StoredClaims
from masthead_server.storage import JournalError
from masthead_server.wire.plain import metadata, part

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.scheduling.algorithm import PodChecks
    from masthead_server.scheduling.facts import PodFacts
    from masthead_server.wire.plain import Plain

__all__ = ["Scheduler"]

_PODS: Final = "pods"
_NODES: Final = "nodes"
_NAMESPACES: Final = "namespaces"
_VOLUMES: Final = frozenset(
    {"persistentvolumeclaims", "persistentvolumes", "storage.k8s.io/storageclasses", "storage.k8s.io/csinodes"}
)
_TURN: Final = ObjectRef(_PODS, "")
"""The only key of the queue: the next attempt. The pod is chosen at that time, by priority."""
_PODS_PER_TURN: Final = 8
"""The number of attempts before other controllers have their turn."""


class Scheduler:
    """Binds the pods of the default scheduler, and reports unschedulable pods."""

    observes = frozenset({_PODS, _NODES, _NAMESPACES, *_VOLUMES, *WORKLOAD_TABLES})

    def __init__(self, client: ObjectClient) -> None:
        self._cluster = client.cluster
        self._writes = SchedulerWrites(client.cluster, DEFAULT_SCHEDULER)
        self._state = SchedulingState()
        self._pending = PendingPods()
        self._algorithm = SchedulingAlgorithm(self._state, StoredClaims(self._writes.client))
        self._preemption = PreemptionEvaluator(self._algorithm, self._state)

    def wait_for_claims(self) -> None:
        """Let pods wait for their claims, because a controller binds them."""
        self._algorithm.waits_for_claims = True

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Observe a write; request an attempt if a pending pod may fit after it."""
        ref, record = write.ref, write.record
        if ref.table == _PODS:
            is_due = self._observe_pod(ref, None if record.is_deleted else decode_pod(b"{" + record.value))
        elif ref.table == _NODES:
            is_due = self._state.set_node(ref.name, None if record.is_deleted else decode_node(b"{" + record.value))
            is_due = is_due and not record.is_deleted and self._wake(Cure.NODE)
        elif ref.table == _NAMESPACES:
            is_due = self._observe_namespace(write)
        elif ref.table in WORKLOAD_TABLES:
            # These selectors affect scores only, so that no pod waits for them.
            self._algorithm.selectors.set(ref, None if record.is_deleted else b"{" + record.value)
            is_due = False
        else:
            is_due = self._wake(Cure.VOLUME)
        return (_TURN,) if is_due else ()

    def _observe_namespace(self, write: ObservedWrite) -> bool:
        name, namespaces = write.ref.name, self._state.namespaces
        if write.record.is_deleted:
            namespaces.pop(name, None)
            return False
        labels: dict[str, str] = part(metadata(write.served.load(write.record)), "labels")
        if namespaces.get(name) == labels:
            return False
        namespaces[name] = labels
        return self._wake(Cure.NAMESPACE)

    def _observe_pod(self, ref: ObjectRef, facts: PodFacts | None) -> bool:
        placed = self._state.pod(ref)
        if placed is not None and facts is not None and _is_only_status(placed.facts, facts):
            placed.facts = facts
            return False
        pod = None if facts is None else SchedulingPod(ref, facts)
        if pod is None or pod.is_finished:
            self._pending.remove(ref)
            self._state.nominate_none(ref)
            return self._state.displace(ref) and self._wake(Cure.POD_REMOVED)
        if pod.node:
            return self._observe_placed(pod, placed)
        return self._observe_pending(pod, placed)

    def _observe_placed(self, pod: SchedulingPod, placed: SchedulingPod | None) -> bool:
        self._pending.remove(pod.ref)
        self._state.nominate_none(pod.ref)
        self._state.place(pod)
        if placed is None or placed.uid != pod.uid:
            return self._wake(Cure.POD_ADDED)
        # A terminating pod still uses its resources: only its end makes room.
        cure = Cure(0)
        if placed.requests != pod.requests:
            cure |= Cure.POD_REMOVED
        if placed.labels != pod.labels:
            cure |= Cure.POD_ADDED
        return bool(cure) and self._wake(cure)

    def _observe_pending(self, pod: SchedulingPod, placed: SchedulingPod | None) -> bool:
        # The former pod of this name was on a node.
        is_free = placed is not None and placed.uid != pod.uid and self._state.displace(pod.ref)
        is_woken = is_free and self._wake(Cure.POD_REMOVED)
        spec = pod.facts.spec
        is_ours = spec.scheduler_name in {"", DEFAULT_SCHEDULER} and not spec.scheduling_gates
        if not is_ours or pod.is_terminating:
            self._pending.remove(pod.ref)
            self._state.nominate_none(pod.ref)
            return is_woken
        known = self._pending.get(pod.ref)
        if known is not None and known.asks_the_same(pod):
            # For instance a write of the condition by the scheduler.
            self._pending.refresh(pod)
            return is_woken
        self._pending.put(pod)
        return True

    def _wake(self, cure: Cure) -> bool:
        return self._pending.wake(cure, self._cluster.clock.now())

    async def reconcile(self, ref: ObjectRef) -> float | None:  # noqa: ARG002 - there is only one
        """Try the next pods, the highest priority first.

        Returns:
            0 if further pods are due, the seconds until the end of a backoff, or None if no pod waits.

        Raises:
            JournalError: A change could not be stored.
        """
        now = self._cluster.clock.now()
        for _ in range(_PODS_PER_TURN):
            pod = self._pending.pop(now)
            if pod is None:
                break
            try:
                await self._schedule(pod)
            except JournalError:
                self._pending.fail(pod.ref, None, now)
                raise
        return self._pending.next_delay(now)

    async def _schedule(self, pod: SchedulingPod) -> None:
        version = self._state.version
        checks = self._algorithm.prepare(pod)
        chosen = self._algorithm.choose(checks)
        if isinstance(chosen, Diagnosis):
            await self._fail(checks, chosen, version)
        elif checks.delayed_claims:
            await self._bind_claims(pod, chosen.name, checks.delayed_claims)
        else:
            await self._bind(pod, chosen.name)

    async def _bind_claims(self, pod: SchedulingPod, node: str, claims: Iterable[Plain]) -> None:
        """Let the claims of a pod be bound for its node, before the next attempt."""
        self._state.nominate(pod, node)
        self._pending.fail(pod.ref, Cure.VOLUME | Cure.NODE, self._cluster.clock.now())
        for claim in claims:
            await self._writes.select_node(pod.namespace, claim, node)

    async def _bind(self, pod: SchedulingPod, node: str) -> None:
        if not await self._writes.bind(pod, node):
            self._pending.fail(pod.ref, None, self._cluster.clock.now())

    async def _fail(self, checks: PodChecks, diagnosis: Diagnosis, version: int) -> None:
        pod = checks.pod
        outcome = self._preemption.evaluate(checks, diagnosis, self._writes.list_budgets())
        if outcome.nominated is not None:
            self._state.nominate(pod, outcome.nominated)
        await self._writes.report_failure(pod, diagnosis.describe(outcome.message), outcome.nominated)
        # The pod may have waited for a change that happened during the admission of its condition.
        cures = diagnosis.cures if self._state.version == version else None
        self._pending.fail(pod.ref, cures, self._cluster.clock.now())
        if outcome.nominated and outcome.victims:
            await self._preempt(pod, outcome.nominated, outcome.victims)

    async def _preempt(self, pod: SchedulingPod, node: str, victims: Iterable[SchedulingPod]) -> None:
        # As in kube-scheduler, pods of lower priority nominated to this node have to find another one.
        for other in self._state.nominated(node):
            if other.priority < pod.priority:
                self._state.nominate_none(other.ref)
                await self._writes.clear_nomination(other)
        for victim in victims:
            await self._writes.preempt(victim, pod, node)


def _is_only_status(before: PodFacts, after: PodFacts) -> bool:
    """Whether a write changed nothing that affects scheduling."""
    return (
        before.metadata == after.metadata
        and before.spec == after.spec
        and after.status.phase not in {"Succeeded", "Failed"}
        and before.status.container_statuses == after.status.container_statuses
    )
