"""The kubelet's reconciler: starts pods that are bound to a node, and terminates deleted pods."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from masthead_server.controllers.objects import ObjectRef
from masthead_server.kubelet.containers import ContainerRef
from masthead_server.kubelet.phases import is_ended
from masthead_server.kubelet.spec_changes import has_news
from masthead_server.wire.plain import is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.kubelet.lifecycle import PodLifecycle
    from masthead_server.storage import Record
    from masthead_server.wire.plain import Plain

__all__ = ["KubeletController"]


class KubeletController:
    """Reconciles pods as a kubelet does: starts bound pods, and terminates deleted ones.

    Args:
        client: Deletes pods.
        lifecycle: Starts and ends them.
    """

    observes = frozenset({"pods", "nodes", "configmaps", "secrets"})

    def __init__(self, client: ObjectClient, lifecycle: PodLifecycle) -> None:
        self._client = client
        self._lifecycle = lifecycle
        self._waiting: dict[str, dict[ObjectRef, None]] = {}
        """Pods to reconcile when their node recovers, by node."""
        self._stale: set[ObjectRef] = set()
        """Pods that were written while their node was down."""
        self._stored: set[ObjectRef] = set()
        """Pods of an earlier server or of a snapshot, before their first reconcile."""
        self._loaded = client.cluster.storage.revision

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile every written pod, and the pods that wait for a written node, ConfigMap or Secret."""
        ref = write.ref
        if ref.table == "nodes":
            return self._observe_node(write)
        if ref.table != "pods":
            return [
                ObjectRef("pods", f"{ref.namespace}/{pod}") for pod in self._lifecycle.problems.blocked(ref.namespace)
            ]
        if write.record.is_deleted:
            self._lifecycle.forget(ref.namespace, ref.name)
            self._stale.discard(ref)
            self._stored.discard(ref)
            for waiting in self._waiting.values():
                waiting.pop(ref, None)
            # Its resources may allow deferred resizes.
            return [ObjectRef("pods", f"{pod.namespace}/{pod.pod}") for pod in self._lifecycle.resizes.deferred]
        if self._is_stored(write.record):
            self._stored.add(ref)
        return (ref,)

    def _is_stored(self, record: Record) -> bool:
        """Whether a record was written before this server started, or comes from a snapshot."""
        # Restored records keep their revisions; those of other writes are the newest.
        return record.revision <= self._loaded or record.revision < self._client.cluster.storage.revision

    def _observe_node(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        if write.record.is_deleted:
            return ()
        is_new = write.record.before is None and self._lifecycle.nodes.is_without_status(write.record)
        return [*((write.ref,) if is_new else ()), *self.resume(write.ref.name)]

    def resume(self, node: str) -> list[ObjectRef]:
        """Return the pods that waited for a node, if it has recovered."""
        if node not in self._waiting or not self._lifecycle.nodes.runs(node):
            return []
        waiting = list(self._waiting.pop(node))
        self._stale.update(waiting)
        return waiting

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Start a pod or its new ephemeral containers, apply changes of its spec, or terminate it.

        New nodes get their status.

        Returns:
            The seconds until its deadline.

        Raises:
            JournalError: A change could not be stored.
        """
        if ref.table == "nodes":
            await self._lifecycle.nodes.adopt(ref.name)
            return None
        pod = self._client.load(ref)
        if pod is None:
            return None
        node = text(part(pod, "spec"), "nodeName")
        if node and not self._lifecycle.nodes.runs(node):
            # The kubelet of a failed node checks all its pods when it recovers.
            self._waiting.setdefault(node, {})[ref] = None
            return None
        meta = metadata(pod)
        pod_ref = ContainerRef(text(meta, "namespace"), text(meta, "name"))
        if is_being_deleted(pod):
            # With its uid, so that a new pod of the same name is not deleted instead.
            await self._lifecycle.terminate(pod, pod_ref, partial(self._remove, ref, text(meta, "uid")))
        elif _is_new(pod):
            await self._lifecycle.start(pod_ref)
        elif ref in self._stored and self._ran_here(pod):
            await self._lifecycle.resume(pod_ref)
        elif self._lifecycle.problems.is_blocked(pod_ref):
            await self._lifecycle.proceed(pod_ref)
        elif text(part(pod, "status"), "phase") == "Running" and _has_new_ephemeral(pod):
            await self._lifecycle.start_ephemeral(pod_ref)
        elif ref in self._stale:
            await self._lifecycle.report(pod_ref)
        elif has_news(pod) or self._lifecycle.resizes.is_deferred(pod_ref):
            await self._lifecycle.follow(pod_ref)
        self._stale.discard(ref)
        self._stored.discard(ref)
        if not is_being_deleted(pod) and part(pod, "spec").get("activeDeadlineSeconds"):
            return await self._enforce_deadline(ref, pod_ref)
        return None

    def _ran_here(self, pod: Plain) -> bool:
        """Whether a stored pod has a node of this cluster, rather than of a dump's."""
        foreign = self._client.cluster.storage.foreign.pods
        return bool(text(part(pod, "spec"), "nodeName")) and text(metadata(pod), "uid") not in foreign

    async def _enforce_deadline(self, ref: ObjectRef, pod_ref: ContainerRef) -> float | None:
        """Fail a pod at its active deadline; before that, return the remaining seconds."""
        pod = self._client.load(ref)
        started = text(part(pod or {}, "status"), "startTime")
        if pod is None or not started or is_ended(pod):
            return None
        limit = float(part(pod, "spec")["activeDeadlineSeconds"])
        passed = (self._client.cluster.clock.now() - datetime.fromisoformat(started)).total_seconds()
        if passed < limit:
            return limit - passed
        await self._lifecycle.exceed_deadline(pod, pod_ref)
        return None

    async def _remove(self, ref: ObjectRef, uid: str) -> None:
        pod = self._client.load(ref)
        # Finalizers may delay the removal of a terminated pod.
        if pod is not None and metadata(pod).get("deletionGracePeriodSeconds"):
            await self._client.delete(ref, uid, grace=0)


def _is_new(pod: Plain) -> bool:
    """Whether a pod has yet to be started: it is bound, and its containers have no status."""
    status = part(pod, "status")
    is_started = text(status, "phase") not in {"", "Pending"} or "containerStatuses" in status
    return not is_started and bool(text(part(pod, "spec"), "nodeName"))


def _has_new_ephemeral(pod: Plain) -> bool:
    known = {
        text(ephemeral_container_status, "name")
        for ephemeral_container_status in items(part(pod, "status"), "ephemeralContainerStatuses")
    }
    return any(
        text(ephemeral_container, "name") not in known
        for ephemeral_container in items(part(pod, "spec"), "ephemeralContainers")
    )
