"""The kubelet's controller: schedules and starts new pods, and ends deleted ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.containers import ContainerRef
from masthead_server.wire.plain import is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient, ObjectRef
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

    observes = frozenset({"pods"})

    def __init__(self, client: ObjectClient, lifecycle: PodLifecycle) -> None:
        self._client = client
        self._lifecycle = lifecycle

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile every pod that is written."""
        return () if write.record.is_deleted else (write.ref,)

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
            await self._lifecycle.terminate(pod, pod_ref)
            if meta.get("deletionGracePeriodSeconds"):
                # With its uid, so that a new pod of the same name is not deleted instead.
                await self._client.delete(ref, text(meta, "uid"), grace=0)
        elif _is_new(pod):
            await self._lifecycle.start(pod_ref)
        elif text(part(pod, "status"), "phase") == "Running" and _has_new_ephemeral(pod):
            await self._lifecycle.start_ephemeral(pod_ref)


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
