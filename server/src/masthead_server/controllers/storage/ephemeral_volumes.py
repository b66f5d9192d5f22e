"""The ephemeral volume controller: creates the claims of generic ephemeral volumes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.events import WARNING, ServerEventRecorder, reference_to
from masthead_server.controllers.volumes import ephemeral_claim
from masthead_server.controllers.workloads.ownership import controller_reference
from masthead_server.storage import JournalError
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import Plain, is_being_deleted, items, metadata, part

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient, ObjectRef

__all__ = ["EphemeralVolumeController"]

_POD: Final = ("v1", "Pod")
_CLAIMS: Final = "persistentvolumeclaims"


class EphemeralVolumeController:
    """Creates a claim for each ephemeral volume. Its owner is the pod, with which the garbage collector deletes it."""

    observes = frozenset({"pods"})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._events = ServerEventRecorder(client, "ephemeral_volume")

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile pods with ephemeral volumes."""
        is_candidate = b'"ephemeral"' in write.record.value and not write.record.is_deleted
        return (write.ref,) if is_candidate else ()

    async def reconcile(self, ref: ObjectRef) -> None:
        """Create the missing claims of a pod.

        Raises:
            JournalError: A claim could not be stored.
        """
        pod = self._client.load(ref)
        if pod is None or is_being_deleted(pod):
            return
        for volume in items(part(pod, "spec"), "volumes"):
            if "ephemeral" in volume:
                await self._create(pod, volume, ref.namespace)

    async def _create(self, pod: Plain, volume: Plain, namespace: str) -> None:
        name = ephemeral_claim(pod, volume)
        if self._client.cluster.storage.table(_CLAIMS).get(f"{namespace}/{name}") is not None:
            return
        template = part(part(volume, "ephemeral"), "volumeClaimTemplate")
        meta = metadata(template)
        content: Plain = {
            "metadata": {
                "name": name,
                **{key: meta[key] for key in ("labels", "annotations") if key in meta},
                "ownerReferences": [controller_reference(pod, *_POD)],
            },
            "spec": dict(part(template, "spec")),
        }
        try:
            await self._client.create_or_raise(_CLAIMS, namespace, content)
        except JournalError:
            raise
        except StatusFailure as refusal:
            message = f"ephemeral volume {volume.get('name')}: create PVC {name}: {refusal.message}"
            self._events.record(reference_to(pod, *_POD), "FailedCreate", message, event_type=WARNING)
