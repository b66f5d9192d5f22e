"""The pod garbage collector: deletes orphaned pods, and finished pods beyond a limit."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.node_lifecycle.assignments import assigned_node, pods_on, refs_on
from masthead_server.controllers.node_lifecycle.node_health import condition_status
from masthead_server.controllers.node_lifecycle.pod_disruption import set_disruption
from masthead_server.controllers.objects import ObjectRef, is_marked, uid_of
from masthead_server.wire.plain import is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.wire.plain import Plain

__all__ = ["PodCollector"]

_NODES: Final = "nodes"
_PODS: Final = "pods"
_QUARANTINE: Final = 40.0
"""Seconds between the deletion of a node and that of its pods."""
_PERIOD: Final = 20.0
"""Seconds between two collections of finished pods."""
_MAX_FINISHED: Final = 12_500
_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
_ENDED: Final = (b'"phase":"Succeeded"', b'"phase":"Failed"')
_FINISHED: Final = ObjectRef("", "finished pods")
"""The queue key of the collection of finished pods."""
_ORPHANED: Final = ("DeletionByPodGC", "PodGC: node no longer exists")


class PodCollector:
    """Deletes pods of deleted nodes and of nodes out of service, and the oldest finished pods beyond 12,500."""

    observes = frozenset({_PODS, _NODES})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self.max_finished: int = _MAX_FINISHED
        self._missing: dict[str, datetime] = {}
        """Missing nodes of pods, with the end of their quarantine."""
        self._finished: set[ObjectRef] = set()
        self._collection: datetime | None = None

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile deleted nodes, terminating pods on nodes out of service, and the number of finished pods."""
        ref, record = write.ref, write.record
        if ref.table == _NODES:
            if record.is_deleted:
                return (ref,)
            return refs_on(self._client, ref.name) if _OUT_OF_SERVICE.encode() in record.value else ()
        if record.is_deleted:
            self._finished.discard(ref)
            return ()
        return self._observe_pod(write)

    def _observe_pod(self, write: ObservedWrite) -> list[ObjectRef]:
        due: list[ObjectRef] = []
        node, record = assigned_node(write.record), write.record
        if any(phase in record.value for phase in _ENDED):
            self._finished.add(write.ref)
            if len(self._finished) > self.max_finished and self._collection is None:
                due.append(_FINISHED)
        if not node:
            return due
        if self._client.cluster.storage.table(_NODES).get(node) is None:
            # The first pod of a missing node starts the quarantine for all.
            return due if node in self._missing else [*due, ObjectRef(_NODES, node)]
        return [*due, write.ref] if is_marked(record) else due

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Delete the pods of a deleted node, a pod on a node out of service, or finished pods.

        Raises:
            JournalError: A deletion could not be stored.
        """
        if ref == _FINISHED:
            return await self._collect_finished()
        if ref.table == _NODES:
            return await self._collect_orphans(ref)
        pod = self._client.load(ref)
        if pod is not None and is_being_deleted(pod) and self._is_out_of_service(text(part(pod, "spec"), "nodeName")):
            await self._delete(ref, pod)
        return None

    async def _collect_orphans(self, ref: ObjectRef) -> float | None:
        if self._client.load(ref) is not None:
            self._missing.pop(ref.name, None)
            return None
        now = self._client.cluster.clock.now()
        due = self._missing.setdefault(ref.name, now + timedelta(seconds=_QUARANTINE))
        if (left := (due - now).total_seconds()) > 0:
            return left
        del self._missing[ref.name]
        for pod_ref, pod in list(pods_on(self._client, ref.name)):
            await self._delete(pod_ref, pod, _ORPHANED)
        return None

    async def _collect_finished(self) -> float | None:
        now = self._client.cluster.clock.now()
        if self._collection is None:
            self._collection = now + timedelta(seconds=_PERIOD)
        if (left := (self._collection - now).total_seconds()) > 0:
            return left
        self._collection = None
        loaded = ((ref, self._client.load(ref)) for ref in self._finished)
        pods = [(ref, pod) for ref, pod in loaded if pod is not None and _has_ended(pod)]
        self._finished = {ref for ref, _ in pods}
        pods.sort(key=lambda pair: _age(pair[1]))
        for ref, pod in pods[: max(0, len(pods) - self.max_finished)]:
            await self._delete(ref, pod)
        return None

    def _is_out_of_service(self, name: str) -> bool:
        node = self._client.load(ObjectRef(_NODES, name)) if name else None
        if node is None or condition_status(node) == "True":
            return False
        return any(text(taint, "key") == _OUT_OF_SERVICE for taint in items(part(node, "spec"), "taints"))

    async def _delete(self, ref: ObjectRef, pod: Plain, disruption: tuple[str, str] | None = None) -> None:
        """Set a pod's phase to Failed, since its kubelet no longer reports, and delete it without a grace period."""
        now = self._client.cluster.now()

        def fail(found: Plain) -> None:
            status = found.setdefault("status", {})
            status["phase"] = "Failed"
            if generation := metadata(found).get("generation"):
                status["observedGeneration"] = generation
            if disruption is not None:
                set_disruption(found, *disruption, now)

        if not _has_ended(pod):
            await self._client.update(ref, fail, subresource="status")
        await self._client.delete(ref, uid_of(pod), grace=0)


def _has_ended(pod: Plain) -> bool:
    return text(part(pod, "status"), "phase") in {"Succeeded", "Failed"}


def _age(pod: Plain) -> tuple[bool, str, str]:
    """Sort key of the deletion: evicted pods first, then the oldest."""
    meta = metadata(pod)
    is_evicted = text(part(pod, "status"), "reason") == "Evicted"
    return not is_evicted, text(meta, "creationTimestamp"), text(meta, "name")
