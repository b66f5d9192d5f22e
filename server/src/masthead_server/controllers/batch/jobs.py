"""The Job controller: creates pods until enough of them succeed, and counts each pod exactly once."""

from __future__ import annotations

from collections import defaultdict
from copy import deepcopy
from typing import TYPE_CHECKING, Final

from masthead_server.clock import stamp
from masthead_server.controllers.batch.job_assessment import SUCCESS_CRITERIA, JobVerdict, assess, deadline_in
from masthead_server.controllers.batch.job_backoff import FailureRecord
from masthead_server.controllers.batch.job_pod_writes import JobPodWriter
from masthead_server.controllers.batch.job_pods import JobPodIndex
from masthead_server.controllers.batch.job_scaling import plan_pods
from masthead_server.controllers.batch.job_spec import finished_type, is_managed_elsewhere, read_spec
from masthead_server.controllers.batch.job_status import (
    account,
    count_released,
    set_condition,
    set_count,
    write_terminal,
)
from masthead_server.controllers.events import WARNING, ServerEventRecorder, reference_to
from masthead_server.controllers.objects import ObjectRef, uid_of
from masthead_server.controllers.workloads.ownership import selector_of
from masthead_server.controllers.workloads.refusals import CreationBackoff
from masthead_server.wire.plain import Plain, is_being_deleted, part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.batch.job_assessment import JobAssessment
    from masthead_server.controllers.batch.job_pods import JobPod
    from masthead_server.controllers.batch.job_spec import JobSpec
    from masthead_server.controllers.objects import ObjectClient

__all__ = ["JobController"]

_TABLE: Final = "batch/jobs"
_PODS: Final = "pods"
_KIND: Final = ("batch/v1", "Job")
_REACHED: Final = JobVerdict(SUCCESS_CRITERIA, "CompletionsReached", "Reached expected number of succeeded pods")
_SUSPENDED: Final = JobVerdict("Suspended", "JobSuspended", "Job suspended")
_RESUMED: Final = JobVerdict("Suspended", "JobResumed", "Job resumed")


class JobController:
    """Creates, replaces and deletes the pods of Jobs, and writes the status."""

    observes = frozenset({_TABLE, _PODS})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._events = ServerEventRecorder(client, "job-controller")
        self._writer = JobPodWriter(client, self._events)
        self._pods = JobPodIndex()
        self._uids: dict[ObjectRef, str] = {}
        self._by_uid: dict[str, ObjectRef] = {}
        self._selectors: defaultdict[str, dict[ObjectRef, Callable[[Mapping[str, str]], bool]]] = defaultdict(dict)
        """Selectors of unfinished Jobs, by namespace."""
        self._records: dict[ObjectRef, FailureRecord] = {}
        self._backoff = CreationBackoff()

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile a written Job, the Jobs of a written pod, and pods whose finalizer no Job may remove."""
        if write.ref.table == _TABLE:
            return (write.ref,)
        before, after = self._pods.update(write)
        owners = [pod.controller for pod in (before, after) if pod is not None]
        found = {self._by_uid[owner.uid] for owner in owners if owner is not None and owner.uid in self._by_uid}
        if after is not None and after.controller is None:
            selectors = self._selectors.get(write.ref.namespace, {})
            found.update(ref for ref, selects in selectors.items() if selects(after.metadata.labels))
        if after is not None and after.has_finalizer and (after.controller is None or after.is_marked):
            found.add(write.ref)
        return found

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Create, delete and count the pods of a Job; or release a pod whose Job is gone.

        Returns:
            The seconds until its deadline, until a failed pod may be replaced, or until the next attempt to create a
            refused pod.

        Raises:
            JournalError: A change could not be stored.
        """
        if ref.table == _PODS:
            await self._release_orphan(ref)
            return None
        job = self._client.load(ref)
        if job is None or self._uids.get(ref, uid_of(job)) != uid_of(job):
            await self._forget(ref)
        if job is None:
            return None
        self._uids[ref] = uid_of(job)
        self._by_uid[uid_of(job)] = ref
        if is_managed_elsewhere(job):
            return None
        if finished_type(job):
            self._end(ref)
            for pod_ref in self._pods.owned_by(uid_of(job)):
                await self._release_orphan(pod_ref)
            return None
        self._selectors[ref.namespace][ref] = selector_of(job)
        return await self._sync(ref, job)

    def _end(self, ref: ObjectRef) -> None:
        self._selectors[ref.namespace].pop(ref, None)
        if not self._selectors[ref.namespace]:
            del self._selectors[ref.namespace]
        self._records.pop(ref, None)
        self._backoff.next_delay(ref, is_refused=False)

    async def _forget(self, ref: ObjectRef) -> None:
        """Forget a deleted Job, and release its pods."""
        self._end(ref)
        uid = self._uids.pop(ref, "")
        self._by_uid.pop(uid, None)
        for pod_ref in self._pods.owned_by(uid):
            await self._release_orphan(pod_ref)

    async def _release_orphan(self, ref: ObjectRef) -> None:
        """Remove the finalizer of a pod, unless its Job is unfinished or has another manager."""
        pod = self._pods.get(ref)
        if pod is None or not pod.has_finalizer:
            return
        if pod.controller is not None:
            job = self._client.load(ObjectRef(_TABLE, f"{ref.namespace}/{pod.controller.name}"))
            is_live = job is not None and uid_of(job) == pod.controller.uid
            if job is not None and is_live and (is_managed_elsewhere(job) or not finished_type(job)):
                return
        await self._writer.release(ref)

    async def _sync(self, ref: ObjectRef, job: Plain) -> float | None:
        now = self._client.cluster.clock.now()
        spec = read_spec(job)
        status: Plain = deepcopy(part(job, "status"))
        status.setdefault("uncountedTerminatedPods", {})
        if not spec.is_suspended:
            status.setdefault("startTime", stamp(now))
        claimed = await self._writer.claim(job, ref.namespace, self._pods)
        found = assess({**job, "status": status}, spec, claimed, self._records.get(ref, FailureRecord()), now)
        verdict, is_refused, delay = await self._change_pods(job, status, spec, found, now)
        if not await self._track(ref, job, status, spec, found, verdict):
            is_refused = True
        delays = [delay, self._backoff.next_delay(ref, is_refused=is_refused)]
        if verdict is None:
            delays.append(deadline_in(status, spec, now))
        # A delay that has passed means 0: again after the other due keys.
        return min((max(0.0, delay) for delay in delays if delay is not None), default=None)

    async def _change_pods(
        self, job: Plain, status: Plain, spec: JobSpec, found: JobAssessment, now: datetime
    ) -> tuple[JobVerdict | None, bool, float | None]:
        """Create and delete pods, and update the counts of active pods in the status.

        Returns:
            The condition that ends the Job, whether a pod was refused, and the seconds until a pod may be created.
        """
        active = found.active
        count, is_refused, delay, verdict = len(active), False, None, found.verdict
        deleted: list[JobPod] = []
        if verdict is not None:
            # The finalizer stays, so that these pods count as failed.
            deleted = active
            await self._writer.delete(job, deleted, keeps_finalizer=True)
        elif not is_being_deleted(job):
            plan = plan_pods(spec, found, now)
            deleted, delay = plan.delete, plan.delay
            await self._writer.delete(job, deleted, keeps_finalizer=False)
            created, is_refused = await self._writer.create(job, spec, plan.create, found.replaced_later)
            count += created
        count -= len(deleted)
        if verdict is None and self._is_reached(spec, found.succeeded, count):
            verdict = _REACHED
        elif verdict is None and not is_being_deleted(job):
            self._note_suspension(job, status, spec, stamp(now))
        terminating = sum(pod.is_terminating for pod in found.pods)
        set_count(status, "active", count)
        status["ready"] = sum(pod.is_ready for pod in active) - sum(pod.is_ready for pod in deleted)
        status["terminating"] = terminating + len(deleted)
        return verdict, is_refused, delay

    def _is_reached(self, spec: JobSpec, succeeded: int, active: int) -> bool:
        wanted = 1 if spec.completions is None else spec.completions
        return active == 0 and succeeded >= wanted

    def _note_suspension(self, job: Plain, status: Plain, spec: JobSpec, now: str) -> None:
        involved = reference_to(job, *_KIND)
        if spec.is_suspended:
            if set_condition(status, _SUSPENDED, "True", now):
                self._events.record(involved, "Suspended", _SUSPENDED.message)
                status.pop("startTime", None)
        elif set_condition(status, _RESUMED, "False", now):
            self._events.record(involved, "Resumed", _RESUMED.message)
            # Resuming a Job restarts its active deadline.
            status["startTime"] = now

    async def _track(
        self,
        ref: ObjectRef,
        job: Plain,
        status: Plain,
        spec: JobSpec,
        found: JobAssessment,
        verdict: JobVerdict | None,
    ) -> bool:
        """Count the finished pods, and finish the Job; return False if the status was refused."""
        now = stamp(self._client.cluster.clock.now())
        accounting = account(status, spec, found, verdict, now, is_deleted=is_being_deleted(job))
        stored = part(job, "status")
        if status != stored:
            # Before the finalizers are removed: if the server stopped in between, the pods would never be counted.
            if not await self._write_status(ref, status):
                return False
            stored = deepcopy(status)
            self._records[ref] = found.record
        for pod in accounting.released:
            await self._writer.release(ObjectRef(_PODS, f"{ref.namespace}/{pod.metadata.name}"))
        released = {pod.uid for pod in accounting.released}
        unreleased = {pod.uid for pod in found.pods if pod.has_finalizer} - released
        count_released(status, unreleased)
        terminal = accounting.terminal if accounting.is_complete else None
        has_ended = write_terminal(status, terminal, now)
        if status != stored and not await self._write_status(ref, status):
            return False
        if has_ended and terminal is not None:
            self._report_end(job, status, spec, terminal)
        return True

    async def _write_status(self, ref: ObjectRef, status: Plain) -> bool:
        content = deepcopy(status)
        return await self._client.update(ref, lambda found: found.update(status=content), subresource="status")

    def _report_end(self, job: Plain, status: Plain, spec: JobSpec, terminal: JobVerdict) -> None:
        involved = reference_to(self._client.load(self._by_uid[uid_of(job)]) or job, *_KIND)
        if terminal.type != "Complete":
            self._events.record(involved, terminal.reason, terminal.message, event_type=WARNING)
            return
        if spec.completions is not None and status.get("succeeded", 0) > spec.completions:
            message = "Too many succeeded pods running after completion count reached"
            self._events.record(involved, "TooManySucceededPods", message, event_type=WARNING)
        self._events.record(involved, "Completed", "Job completed")
