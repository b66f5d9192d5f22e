"""The DaemonSet controller: runs a pod on every eligible node."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.events import NORMAL, WARNING, ServerEventRecorder, reference_to
from masthead_server.controllers.objects import ObjectRef, uid_of
from masthead_server.controllers.workloads.daemon_rollout import (
    REVISION_HASH,
    DaemonPlan,
    DaemonPod,
    count_pods,
    plan_nodes,
    plan_rollout,
    read_limits,
    target_of,
)
from masthead_server.controllers.workloads.dependents import DependentIndex
from masthead_server.controllers.workloads.node_eligibility import (
    daemon_tolerations,
    decode_node,
    judge_node,
)
from masthead_server.controllers.workloads.ownership import adopt, controller_reference, release, selector_of
from masthead_server.controllers.workloads.refusals import CreationBackoff, create_pod
from masthead_server.controllers.workloads.replacement_pace import ReplacementPace
from masthead_server.controllers.workloads.revisions import REVISIONS, RevisionHistory
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import Plain, is_being_deleted, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.controllers.workloads.dependents import Dependent
    from masthead_server.controllers.workloads.node_eligibility import Eligibility, NodeFacts
    from masthead_server.controllers.workloads.revisions import Revision

__all__ = ["DaemonSetController"]

_TABLE: Final = "apps/daemonsets"
_PODS: Final = "pods"
_NODES: Final = "nodes"
_KIND: Final = ("apps/v1", "DaemonSet")
_BURST: Final = 250
"""The maximum number of pods to create or delete in one reconcile; each such write triggers another reconcile."""
_GENERATION: Final = "deprecated.daemonset.template.generation"
_GENERATION_LABEL: Final = "pod-template-generation"
_FIRST_BACKOFF: Final = timedelta(seconds=1)
_MAX_BACKOFF: Final = timedelta(minutes=15)


class DaemonSetController:
    """Creates, replaces and deletes the pods of DaemonSets, keeps their revisions, and writes the status."""

    observes = frozenset({_TABLE, _PODS, _NODES, REVISIONS})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._events = ServerEventRecorder(client, "daemonset-controller")
        self._pods = DependentIndex()
        self._revisions = DependentIndex()
        self._bound: Counter[tuple[str, str]] = Counter()
        """The number of pods on each node, by owner and node."""
        self._nodes: dict[str, NodeFacts] = {}
        self._by_uid: dict[str, ObjectRef] = {}
        self._eligible: dict[str, tuple[int, dict[str, Eligibility]]] = {}
        """Eligible nodes by DaemonSet uid and generation, cached: most reconciles follow a change of a pod's status."""
        self._creations = CreationBackoff()
        self._deletions = _FailedPodBackoff()
        self._pace = ReplacementPace(client.cluster.clock.now)

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile a written DaemonSet, the owner of a written pod, or the DaemonSets that a changed node affects."""
        ref = write.ref
        if ref.table == _TABLE:
            return (ref,)
        if ref.table == REVISIONS:
            self._revisions.update(write)
            return ()
        if ref.table == _NODES:
            return self._affected_by(write.ref.name) if self._observe_node(write) else ()
        before, after = self._pods.update(write)
        self._count_bound(before, -1)
        self._count_bound(after, 1)
        owners = {dependent.owner for dependent in (before, after) if dependent is not None}
        found = {self._by_uid[owner] for owner in owners if owner in self._by_uid}
        if after is not None and not after.owner and not after.is_terminating:
            found.update(known for known in self._by_uid.values() if known.namespace == ref.namespace)
        return found

    def _count_bound(self, pod: Dependent | None, change: int) -> None:
        if pod is None or not pod.owner or not pod.spec.node_name:
            return
        key = pod.owner, pod.spec.node_name
        self._bound[key] += change
        if not self._bound[key]:
            del self._bound[key]

    def _affected_by(self, node: str) -> list[ObjectRef]:
        """Return the DaemonSets that a changed node affects.

        As in kube-controller-manager, the others update their status only after another change.
        """
        found: list[ObjectRef] = []
        for uid, ref in self._by_uid.items():
            workload = self._client.load(ref)
            if workload is None:
                continue
            eligibility = self._judge_nodes(workload)[node]
            if self._bound[uid, node]:
                is_affected = not eligibility.should_continue or part(workload, "status").get("numberMisscheduled")
            else:
                is_affected = eligibility.should_run
            if is_affected:
                found.append(ref)
        return found

    def _observe_node(self, write: ObservedWrite) -> bool:
        """Record a node; return whether it exists and its labels or taints changed."""
        name, record = write.ref.name, write.record
        before = self._nodes.pop(name, None)
        after = None if record.is_deleted else decode_node(b"{" + record.value)
        if after is not None:
            self._nodes[name] = after
        if before == after:
            return False
        for _, judged in self._eligible.values():
            judged.pop(name, None)
        return after is not None

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Create, replace and delete pods, and write the status.

        Returns:
            The seconds until a ready pod becomes available, a failed pod may be replaced, or a refused creation is
            retried.

        Raises:
            JournalError: A change could not be stored.
        """
        workload = self._client.load(ref)
        if workload is None:
            self._forget(ref)
            return None
        self._by_uid[uid_of(workload)] = ref
        if is_being_deleted(workload):
            return None
        history = RevisionHistory(
            self._client, self._revisions, workload, _KIND, ref.namespace, hash_label=REVISION_HASH
        )
        revision = await history.update()
        if revision is None:
            return None
        await self._claim(workload, ref.namespace)
        is_refused = await self._step(workload, ref, revision)
        await self._clean_up(workload, history, revision)
        delays = (
            await self._write_status(workload, ref, revision),
            self._deletions.next_delay(ref, self._client.cluster.clock.now()),
            self._creations.next_delay(ref, is_refused=is_refused),
            self._pace.next_delay(ref),
        )
        return min((delay for delay in delays if delay is not None), default=None)

    def _forget(self, ref: ObjectRef) -> None:
        for uid in [uid for uid, known in self._by_uid.items() if known == ref]:
            del self._by_uid[uid]
            self._eligible.pop(uid, None)
        self._creations.next_delay(ref, is_refused=False)
        self._deletions.forget(ref)
        self._pace.forget(ref)

    async def _claim(self, workload: Plain, namespace: str) -> None:
        """Adopt pods that match the selector and have no controller; release pods that no longer match."""
        selects = selector_of(workload)
        for ref, pod in self._pods.orphans_in(namespace):
            if not pod.is_terminating and selects(pod.metadata.labels):
                await adopt(self._client, ref, controller_reference(workload, *_KIND))
        for ref, pod in self._pods.owned_by(uid_of(workload)).items():
            if not pod.is_terminating and not selects(pod.metadata.labels):
                await release(self._client, ref, uid_of(workload))

    async def _step(self, workload: Plain, ref: ObjectRef, revision: Revision) -> bool:
        """Create and delete pods; return whether a pod was refused."""
        spec, now = part(workload, "spec"), self._client.cluster.clock.now()
        nodes = self._judge_nodes(workload)
        is_rolling = part(spec, "updateStrategy").get("type") != "OnDelete"
        desired = sum(eligibility.should_run for eligibility in nodes.values())
        limits = read_limits(spec, desired)
        plan = plan_nodes(
            nodes,
            self._group(workload),
            revision.hash,
            allows_surge=is_rolling and limits.max_surge > 0,
            is_backing_off=lambda node: self._deletions.is_waiting(ref, node, now),
        )
        self._report_finished(workload, ref, plan, now)
        if plan.create or plan.delete or not is_rolling:
            return await self._perform(workload, ref, plan, revision)
        # An update begins once every node has its pod; the writes above trigger another reconcile.
        pods = self._group(workload)
        for name, eligibility in nodes.items():
            if eligibility.should_run:
                pods.setdefault(name, [])
        return await self._perform(workload, ref, plan_rollout(nodes, pods, limits, revision.hash), revision)

    def _judge_nodes(self, workload: Plain) -> dict[str, Eligibility]:
        uid, generation = uid_of(workload), metadata(workload).get("generation", 0)
        known = self._eligible.get(uid)
        if known is None or known[0] != generation:
            known = self._eligible[uid] = (generation, {})
        judged = known[1]
        spec = part(part(part(workload, "spec"), "template"), "spec")
        tolerations = daemon_tolerations(spec)
        for name, node in self._nodes.items():
            if name not in judged:
                judged[name] = judge_node(node, spec, tolerations)
        return judged

    def _group(self, workload: Plain) -> dict[str, list[DaemonPod]]:
        """Return the pods of a DaemonSet by node, without finished pods that wait for their finalizers."""
        now = self._client.cluster.clock.now()
        delay = timedelta(seconds=part(workload, "spec").get("minReadySeconds", 0))
        grouped: dict[str, list[DaemonPod]] = {}
        for ref, pod in self._pods.owned_by(uid_of(workload)).items():
            node = target_of(pod)
            if node and not (pod.is_finished and pod.is_terminating):
                grouped.setdefault(node, []).append(DaemonPod(ref, pod, _is_available(pod, delay, now)))
        return grouped

    def _report_finished(self, workload: Plain, ref: ObjectRef, plan: DaemonPlan, now: datetime) -> None:
        involved = reference_to(workload, *_KIND)
        for pod, node in plan.failed:
            self._deletions.add(ref, node, now)
            message = f"Found failed daemon pod {pod.key} on node {node}, will try to kill it"
            self._events.record(involved, "FailedDaemonPod", message, event_type=WARNING)
        for pod, node in plan.succeeded:
            message = f"Found succeeded daemon pod {pod.key} on node {node}, will try to delete it"
            self._events.record(involved, "SucceededDaemonPod", message, event_type=NORMAL)

    async def _perform(self, workload: Plain, ref: ObjectRef, plan: DaemonPlan, revision: Revision) -> bool:
        """Create and delete the planned pods; return whether a pod was refused."""
        involved = reference_to(workload, *_KIND)
        is_refused = False
        allowed = self._pace.allow(ref, metadata(workload).get("generation", 0), len(self._nodes))
        for node in plan.create[: min(_BURST, allowed)]:
            created = await create_pod(self._client, ref.namespace, _pod_of(workload, node, revision.hash))
            if isinstance(created, StatusFailure):
                message = f"Error creating: {created.message}"
                self._events.record(involved, "FailedCreate", message, event_type=WARNING)
                is_refused = True
                break  # the others would be refused as well
            if created is not None:
                self._pace.take(ref)
                message = f"Created pod: {text(metadata(created), 'name')}"
                self._events.record(involved, "SuccessfulCreate", message)
        for doomed in plan.delete[:_BURST]:
            pod = self._client.load(doomed)
            if pod is not None and await self._client.delete(doomed, uid_of(pod)):
                self._events.record(involved, "SuccessfulDelete", f"Deleted pod: {doomed.name}")
        return is_refused

    async def _clean_up(self, workload: Plain, history: RevisionHistory, revision: Revision) -> None:
        name = text(metadata(workload), "name")
        pods = self._pods.owned_by(uid_of(workload)).values()
        live = {f"{name}-{pod.metadata.labels.get(REVISION_HASH, '')}" for pod in pods}
        limit = part(workload, "spec").get("revisionHistoryLimit", 10)
        await history.clean_up(limit, {revision.name, *live}, counted=live - {revision.name})

    async def _write_status(self, workload: Plain, ref: ObjectRef, revision: Revision) -> float | None:
        """Write the status; return the seconds until a ready pod becomes available."""
        # As in kube-controller-manager, the status includes the writes of this reconcile.
        nodes, pods = self._judge_nodes(workload), self._group(workload)
        before = part(workload, "status")
        counts = count_pods(nodes, pods, revision.hash)
        status: Plain = {
            **counts,
            "observedGeneration": metadata(workload).get("generation", 0),
            **{name: before[name] for name in ("collisionCount", "conditions") if name in before},
        }
        if status != before:
            await self._client.update(ref, lambda found: found.update(status=status), subresource="status")
        seconds = part(workload, "spec").get("minReadySeconds", 0)
        # This includes the new pod of a surge, which the counts leave out.
        return self._next_availability(pods, timedelta(seconds=seconds)) if seconds else None

    def _next_availability(self, pods: Mapping[str, Sequence[DaemonPod]], delay: timedelta) -> float | None:
        now = self._client.cluster.clock.now()
        remaining = (
            (delay - (now - since)).total_seconds()
            for present in pods.values()
            for daemon_pod in present
            if (since := daemon_pod.pod.ready_since) is not None
        )
        return min((seconds for seconds in remaining if seconds > 0), default=None)


class _FailedPodBackoff:
    """Delays between the deletions of failed pods of a node, by DaemonSet."""

    def __init__(self) -> None:
        self._delays: dict[ObjectRef, dict[str, tuple[datetime, timedelta]]] = {}

    def add(self, ref: ObjectRef, node: str, now: datetime) -> None:
        """Record a deletion, which doubles the delay of the next one on this node."""
        nodes = self._delays.setdefault(ref, {})
        since, delay = nodes.get(node, (now, timedelta()))
        is_stale = now - since > 2 * _MAX_BACKOFF
        nodes[node] = (now, _FIRST_BACKOFF if is_stale or not delay else min(2 * delay, _MAX_BACKOFF))

    def is_waiting(self, ref: ObjectRef, node: str, now: datetime) -> bool:
        """Tell whether the next deletion on a node must wait."""
        since, delay = self._delays.get(ref, {}).get(node, (now, timedelta()))
        return now < since + delay

    def next_delay(self, ref: ObjectRef, now: datetime) -> float | None:
        """Return the seconds until the first node of a DaemonSet need not wait; None if none waits."""
        ends = (since + delay for since, delay in self._delays.get(ref, {}).values())
        return min(((end - now).total_seconds() for end in ends if end > now), default=None)

    def forget(self, ref: ObjectRef) -> None:
        """Forget a DaemonSet."""
        self._delays.pop(ref, None)


def _is_available(pod: Dependent, delay: timedelta, now: datetime) -> bool:
    since = pod.ready_since
    return since is not None and now - since >= delay


def _pod_of(workload: Plain, node: str, revision_hash: str) -> Plain:
    """Build a pod whose node affinity makes the scheduler bind it to a node."""
    template = part(part(workload, "spec"), "template")
    written = part(template, "metadata")
    meta: Plain = {key: written[key] for key in ("annotations", "finalizers") if key in written}
    labels = {**part(written, "labels"), REVISION_HASH: revision_hash}
    generation = part(metadata(workload), "annotations").get(_GENERATION)
    if generation is not None and generation.isdigit():
        labels[_GENERATION_LABEL] = generation
    name = text(metadata(workload), "name")
    meta |= {
        "labels": labels,
        "generateName": f"{name}-",
        "ownerReferences": [controller_reference(workload, *_KIND)],
    }
    spec = dict(part(template, "spec"))
    spec["tolerations"] = daemon_tolerations(spec)
    spec["affinity"] = _bind_affinity(part(spec, "affinity"), node)
    return {"metadata": meta, "spec": spec}


def _bind_affinity(affinity: Plain, node: str) -> Plain:
    """Return an affinity for one node. It replaces the terms of the template, which that node matches."""
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    node_affinity = {**part(affinity, "nodeAffinity"), "requiredDuringSchedulingIgnoredDuringExecution": required}
    return {**affinity, "nodeAffinity": node_affinity}
