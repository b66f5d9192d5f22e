"""The replica controllers, for ReplicaSets and ReplicationControllers: create and delete pods."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from masthead_server.clock import stamp
from masthead_server.controllers.events import WARNING, ServerEventRecorder, reference_to
from masthead_server.controllers.objects import ObjectRef, uid_of
from masthead_server.controllers.workloads.dependents import DependentIndex
from masthead_server.controllers.workloads.ownership import (
    adopt,
    controller_reference,
    release,
    selector_of,
)
from masthead_server.controllers.workloads.refusals import CreationBackoff, create_pod
from masthead_server.controllers.workloads.replacement_pace import ReplacementPace
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import Plain, is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.controllers.workloads.dependents import Dependent

__all__ = ["ReplicaController", "replica_set_controller", "replication_controller"]

_PODS: Final = "pods"
_BURST: Final = 50
"""The maximum number of pods to create or delete in one reconcile; each such write triggers another reconcile."""
_MAX_NAME_LENGTH: Final = 253
_FAILURE: Final = "ReplicaFailure"
_FAILED: Final = "FailedCreate"


class ReplicaController:
    """Creates and deletes the pods of one kind of workload, adopts matching pods, and writes the status.

    Args:
        client: Reads and writes objects.
        table: The table of the workload.
        kind: Its apiVersion and kind.
        component: The controller's name in Events.
    """

    def __init__(self, client: ObjectClient, table: str, kind: tuple[str, str], component: str) -> None:
        self._client = client
        self._events = ServerEventRecorder(client, component)
        self._table = table
        self._kind = kind
        self._pods = DependentIndex()
        self._by_uid: dict[str, ObjectRef] = {}
        self._backoff = CreationBackoff()
        self._pace = ReplacementPace(client.cluster.clock.now)
        self.observes = frozenset({table, _PODS})

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile a written workload, or the owner of a written pod; for an orphan, all of its namespace."""
        if write.ref.table == self._table:
            return (write.ref,)
        before, after = self._pods.update(write)
        owners = {dependent.owner for dependent in (before, after) if dependent is not None}
        found = {self._by_uid[owner] for owner in owners if owner in self._by_uid}
        if after is not None and not after.owner and after.is_active:
            found.update(ref for ref in self._by_uid.values() if ref.namespace == write.ref.namespace)
        return found

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Create or delete pods up to the replicas of the spec, and write the status.

        Returns:
            The seconds until a ready pod becomes available, or until the next attempt to create a refused pod.

        Raises:
            JournalError: A change could not be stored.
        """
        workload = self._client.load(ref)
        if workload is None:
            self._by_uid = {uid: known for uid, known in self._by_uid.items() if known != ref}
            self._pace.forget(ref)
            return self._backoff.next_delay(ref, is_refused=False)
        self._by_uid[uid_of(workload)] = ref
        refusal: StatusFailure | None = None
        if not is_being_deleted(workload):
            await self._claim(workload, ref.namespace)
            refusal = await self._scale(workload, ref)
        delays = (
            await self._write_status(workload, ref, refusal),
            self._backoff.next_delay(ref, is_refused=refusal is not None),
            self._pace.next_delay(ref),
        )
        return min((delay for delay in delays if delay is not None), default=None)

    async def _claim(self, workload: Plain, namespace: str) -> None:
        """Adopt pods that match the selector and have no controller; release pods that no longer match."""
        selects = selector_of(workload)
        for ref, pod in self._pods.orphans_in(namespace):
            if pod.is_active and selects(pod.metadata.labels):
                await adopt(self._client, ref, controller_reference(workload, *self._kind))
        for ref, pod in self._pods.owned_by(uid_of(workload)).items():
            if not pod.is_terminating and not selects(pod.metadata.labels):
                await release(self._client, ref, uid_of(workload))

    async def _scale(self, workload: Plain, ref: ObjectRef) -> StatusFailure | None:
        """Create or delete pods; stop at the first refusal and return it."""
        pods = {known: pod for known, pod in self._pods.owned_by(uid_of(workload)).items() if pod.is_active}
        wanted = part(workload, "spec").get("replicas", 1)
        involved = reference_to(workload, *self._kind)
        allowed = self._pace.allow(ref, metadata(workload).get("generation", 0), wanted)
        for _ in range(min(_BURST, wanted - len(pods), allowed)):
            created = await create_pod(self._client, ref.namespace, self._pod_of(workload))
            if isinstance(created, StatusFailure):
                self._events.record(involved, _FAILED, f"Error creating: {created.message}", event_type=WARNING)
                return created
            if created is not None:
                self._pace.take(ref)
                message = f"Created pod: {text(metadata(created), 'name')}"
                self._events.record(involved, "SuccessfulCreate", message)
        surplus = len(pods) - wanted
        if surplus > 0:
            for chosen, _ in sorted(pods.items(), key=_worth)[: min(_BURST, surplus)]:
                pod = self._client.load(chosen)
                if pod is not None and await self._client.delete(chosen, uid_of(pod)):
                    message = f"Deleted pod: {text(metadata(pod), 'name')}"
                    self._events.record(involved, "SuccessfulDelete", message)
        return None

    def _pod_of(self, workload: Plain) -> Plain:
        template = part(part(workload, "spec"), "template")
        meta: Plain = {
            key: part(template, "metadata")[key]
            for key in ("labels", "annotations", "finalizers")
            if key in part(template, "metadata")
        }
        name = f"{text(metadata(workload), 'name')}-"
        meta["generateName"] = name if len(name) <= _MAX_NAME_LENGTH else name[:-1]
        meta["ownerReferences"] = [controller_reference(workload, *self._kind)]
        return {"metadata": meta, "spec": dict(part(template, "spec"))}

    async def _write_status(self, workload: Plain, ref: ObjectRef, refusal: StatusFailure | None) -> float | None:
        now = self._client.cluster.clock.now()
        spec = part(workload, "spec")
        delay = timedelta(seconds=spec.get("minReadySeconds", 0))
        labels = part(part(part(spec, "template"), "metadata"), "labels")
        pods = self._pods.owned_by(uid_of(workload)).values()
        active = [pod for pod in pods if pod.is_active]
        ready = [since for pod in active if (since := pod.ready_since) is not None]
        waiting = [delay - (now - since) for since in ready if now - since < delay]
        counts = {
            "fullyLabeledReplicas": sum(labels.items() <= pod.metadata.labels.items() for pod in active),
            "readyReplicas": len(ready),
            "availableReplicas": len(ready) - len(waiting),
        }
        status: Plain = {
            "replicas": len(active),
            **{name: count for name, count in counts.items() if count},
            "observedGeneration": metadata(workload).get("generation", 0),
        }
        if self._kind[1] == "ReplicaSet":
            status["terminatingReplicas"] = sum(pod.is_terminating and not pod.is_finished for pod in pods)
        if conditions := _judge_failure(items(part(workload, "status"), "conditions"), refusal, stamp(now)):
            status["conditions"] = conditions
        if status != part(workload, "status"):
            await self._client.update(ref, lambda found: found.update(status=status), subresource="status")
        return min(waiting).total_seconds() if waiting else None


def _judge_failure(before: list[Plain], refusal: StatusFailure | None, now: str) -> list[Plain]:
    """Return the conditions after a refusal, or after its end."""
    if refusal is None:
        return [condition for condition in before if condition["type"] != _FAILURE]
    # A repeated refusal does not change the condition.
    if any(condition["type"] == _FAILURE for condition in before):
        return before
    failure = {"type": _FAILURE, "status": "True", "lastTransitionTime": now, "reason": _FAILED}
    return [*before, {**failure, "message": refusal.message}]


def _worth(found: tuple[ObjectRef, Dependent]) -> tuple[bool, bool, bool, str, str]:
    """Sort key of the deletion: pods with the least progress first, among equals the youngest."""
    ref, pod = found
    is_older = "".join(chr(0x10FFFF - ord(character)) for character in pod.metadata.creation_timestamp)
    is_running = pod.status.phase == "Running"
    return (bool(pod.spec.node_name), is_running, pod.ready_since is not None, is_older, ref.key)


replica_set_controller = partial(
    ReplicaController,
    table="apps/replicasets",
    kind=("apps/v1", "ReplicaSet"),
    component="replicaset-controller",
)
replication_controller = partial(
    ReplicaController,
    table="replicationcontrollers",
    kind=("v1", "ReplicationController"),
    component="replication-controller",
)
