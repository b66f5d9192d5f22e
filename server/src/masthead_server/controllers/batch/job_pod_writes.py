"""Writes to the pods of Jobs: adoption and release, creation, deletion, finalizers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.batch.job_pod_template import build_pod
from masthead_server.controllers.batch.job_pods import TRACKING_FINALIZER
from masthead_server.controllers.events import WARNING, reference_to
from masthead_server.controllers.objects import ObjectRef, set_or_drop, uid_of
from masthead_server.controllers.workloads.ownership import controller_reference, selector_of
from masthead_server.controllers.workloads.refusals import create_pod
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import Plain, is_being_deleted, items, metadata, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead_server.controllers.batch.job_pods import JobPod, JobPodIndex
    from masthead_server.controllers.batch.job_spec import JobSpec
    from masthead_server.controllers.events import ServerEventRecorder
    from masthead_server.controllers.objects import ObjectClient

__all__ = ["JobPodWriter"]

_PODS: Final = "pods"
_KIND: Final = ("batch/v1", "Job")


class JobPodWriter:
    """Writes pods for the Job controller, and records Events about that.

    Args:
        client: Reads and writes objects.
        events: Records the Events of Jobs.
    """

    def __init__(self, client: ObjectClient, events: ServerEventRecorder) -> None:
        self._client = client
        self._events = events

    async def claim(self, job: Plain, namespace: str, index: JobPodIndex) -> list[JobPod]:
        """Adopt matching orphans, release pods that no longer match, and return the Job's pods.

        Raises:
            JournalError: A change could not be stored.
        """
        selects, uid = selector_of(job), uid_of(job)
        if not is_being_deleted(job):
            for ref, pod in index.orphans_in(namespace):
                if not pod.is_marked and selects(pod.metadata.labels):
                    await self._adopt(ref, controller_reference(job, *_KIND))
            for ref, pod in index.owned_by(uid).items():
                if not selects(pod.metadata.labels):
                    await self._disown(ref, uid)
        # The index has observed the writes above.
        return [pod for pod in index.owned_by(uid).values() if selects(pod.metadata.labels)]

    async def create(
        self, job: Plain, spec: JobSpec, indexes: Sequence[int | None], replaced: Mapping[int, JobPod]
    ) -> tuple[int, bool]:
        """Create pods in batches that double in size: whatever refuses the first pod often refuses all.

        Returns:
            The number of created pods, and whether one was refused.

        Raises:
            JournalError: A pod could not be stored.
        """
        namespace, involved = text(metadata(job), "namespace"), reference_to(job, *_KIND)
        created, size, at, is_refused = 0, 1, 0, False
        while at < len(indexes) and not is_refused:
            for index in indexes[at : at + size]:
                pod = build_pod(job, spec, index, None if index is None else replaced.get(index))
                outcome = await create_pod(self._client, namespace, pod)
                if isinstance(outcome, StatusFailure):
                    is_refused = True
                    message = f"Error creating: {outcome.message}"
                    self._events.record(involved, "FailedCreate", message, event_type=WARNING)
                elif outcome is not None:
                    created += 1
                    name = text(metadata(outcome), "name")
                    self._events.record(involved, "SuccessfulCreate", f"Created pod: {name}")
            at += size
            size *= 2
        return created, is_refused

    async def delete(self, job: Plain, pods: Sequence[JobPod], *, keeps_finalizer: bool) -> None:
        """Delete pods. They count as failed only if they keep their finalizer.

        Raises:
            JournalError: A deletion could not be stored.
        """
        namespace, involved = text(metadata(job), "namespace"), reference_to(job, *_KIND)
        for pod in pods:
            ref = ObjectRef(_PODS, f"{namespace}/{pod.metadata.name}")
            if not keeps_finalizer:
                await self.release(ref)
            if await self._client.delete(ref, pod.uid):
                self._events.record(involved, "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")

    async def release(self, ref: ObjectRef) -> None:
        """Remove the tracking finalizer from a pod.

        Raises:
            JournalError: The change could not be stored.
        """
        await self._client.remove_finalizer(ref, TRACKING_FINALIZER)

    async def _adopt(self, ref: ObjectRef, reference: Plain) -> None:
        def change(found: Plain) -> None:
            meta = metadata(found)
            meta["ownerReferences"] = [*items(meta, "ownerReferences"), reference]
            finalizers: list[str] = meta.get("finalizers") or []
            if TRACKING_FINALIZER not in finalizers:
                meta["finalizers"] = [*finalizers, TRACKING_FINALIZER]

        await self._client.update(ref, change)

    async def _disown(self, ref: ObjectRef, uid: str) -> None:
        def change(found: Plain) -> None:
            meta = metadata(found)
            owners = [owner for owner in items(meta, "ownerReferences") if owner.get("uid") != uid]
            set_or_drop(meta, "ownerReferences", owners)
            finalizers: list[str] = meta.get("finalizers") or []
            set_or_drop(meta, "finalizers", [name for name in finalizers if name != TRACKING_FINALIZER])

        await self._client.update(ref, change)
