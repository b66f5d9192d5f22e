"""The kubelet's controller: schedules and starts new pods, and ends deleted ones."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import ObjectRef
from masthead_server.kubelet.containers import ContainerRef
from masthead_server.wire.plain import is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.kubelet.lifecycle import PodLifecycle
    from masthead_server.wire.plain import Plain

__all__ = ["KubeletController"]

_DEFAULT_SCHEDULER: Final = "default-scheduler"


class KubeletController:
    """Does for all pods what scheduler and kubelet do: every pod gets a node, starts, and ends when it is deleted.

    Args:
        client: Deletes pods.
        lifecycle: Starts and ends them.
    """

    observes = frozenset({"pods", "configmaps", "secrets"})

    def __init__(self, client: ObjectClient, lifecycle: PodLifecycle) -> None:
        self._client = client
        self._lifecycle = lifecycle

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile every pod that is written, and those that wait for a ConfigMap or Secret."""
        ref = write.ref
        if ref.table != "pods":
            return [ObjectRef("pods", f"{ref.namespace}/{pod}") for pod in self._lifecycle.blocked(ref.namespace)]
        if write.record.is_deleted:
            self._lifecycle.forget(ref.namespace, ref.name)
            return ()
        return (ref,)

    async def reconcile(self, ref: ObjectRef) -> None:
        """Start a pod or its new ephemeral containers, or end it.

        Raises:
            JournalError: A change could not be stored.
        """
        pod = self._client.load(ref)
        if pod is None:
            return
        meta = metadata(pod)
        pod_ref = ContainerRef(text(meta, "namespace"), text(meta, "name"))
        if is_being_deleted(pod):
            # With its uid, so that a new pod of the same name is not deleted instead.
            await self._lifecycle.terminate(pod, pod_ref, partial(self._remove, ref, text(meta, "uid")))
        elif _is_new(pod):
            await self._lifecycle.start(pod_ref)
        elif self._lifecycle.is_blocked(pod_ref):
            await self._lifecycle.proceed(pod_ref)
        elif text(part(pod, "status"), "phase") == "Running" and _has_new_ephemeral(pod):
            await self._lifecycle.start_ephemeral(pod_ref)

    async def _remove(self, ref: ObjectRef, uid: str) -> None:
        pod = self._client.load(ref)
        # Finalizers may hold a pod whose grace period is over.
        if pod is not None and metadata(pod).get("deletionGracePeriodSeconds"):
            await self._client.delete(ref, uid, grace=0)


def _is_new(pod: Plain) -> bool:
    """Whether a pod is to be started: it has a node, or may be given one."""
    spec, status = part(pod, "spec"), part(pod, "status")
    if text(status, "phase") not in {"", "Pending"} or "containerStatuses" in status:
        return False
    is_free = text(spec, "schedulerName") in {"", _DEFAULT_SCHEDULER} and not spec.get("schedulingGates")
    return bool(text(spec, "nodeName")) or is_free


def _has_new_ephemeral(pod: Plain) -> bool:
    known = {
        text(ephemeral_container_status, "name")
        for ephemeral_container_status in items(part(pod, "status"), "ephemeralContainerStatuses")
    }
    return any(
        text(ephemeral_container, "name") not in known
        for ephemeral_container in items(part(pod, "spec"), "ephemeralContainers")
    )
