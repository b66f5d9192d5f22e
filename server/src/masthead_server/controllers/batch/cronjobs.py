"""The CronJob controller: starts Jobs on schedule, and deletes finished Jobs beyond the history limits."""

from __future__ import annotations

from datetime import UTC
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from masthead._meta import typeinfo
from masthead._meta.quoting import quoted
from masthead_server.controllers.batch.cron_job_children import CronJobChildren
from masthead_server.controllers.batch.cron_job_start import decide_start
from masthead_server.controllers.batch.cron_job_status import CronJobStatus
from masthead_server.controllers.batch.cron_job_template import build_job
from masthead_server.controllers.batch.job_spec import finished_type
from masthead_server.controllers.batch.missed_starts import seconds_to_next_start
from masthead_server.controllers.batch.schedule_times import ScheduleTimes, load_zone
from masthead_server.controllers.events import WARNING, ServerEventRecorder, reference_to
from masthead_server.controllers.objects import ObjectRef, uid_of
from masthead_server.controllers.workloads.refusals import CreationBackoff, is_namespace_ending
from masthead_server.resources.builtin.batch.cron_schedule import ConstantDelay, ScheduleError, parse_schedule
from masthead_server.storage import JournalError
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import Plain, is_being_deleted, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient

__all__ = ["CronJobController"]

_TABLE: Final = "batch/cronjobs"
_JOBS: Final = "batch/jobs"
_KIND: Final = ("batch/v1", "CronJob")
_JOB_KIND: Final = ("batch/v1", "Job")
_HISTORY: Final = {"Complete": "successfulJobsHistoryLimit", "Failed": "failedJobsHistoryLimit"}
"""The field with the history limit, by the condition of a finished Job."""


class _Timing(msgspec.Struct, rename="camel"):
    schedule: str = ""
    time_zone: str | None = None


class _CronJob(msgspec.Struct):
    spec: _Timing


_decode = typeinfo.json_decoder(_CronJob).decode


class _Turn(NamedTuple):
    """State of one reconcile of a CronJob: the stored object, and the status to write at the end."""

    namespace: str
    cron_job: Plain
    spec: Plain
    involved: Plain
    status: CronJobStatus
    now: datetime

    def seconds_to_next_start(self, times: ScheduleTimes) -> float | None:
        return seconds_to_next_start({**self.cron_job, "status": self.status.content}, self.now, times)


class CronJobController:
    """Creates the Jobs of CronJobs on schedule, deletes old Jobs, and writes the status."""

    observes = frozenset({_TABLE, _JOBS})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._events = ServerEventRecorder(client, "cronjob-controller")
        self._children = CronJobChildren()
        self._timings: dict[ObjectRef, _Timing] = {}
        self._is_due: dict[ObjectRef, bool] = {}
        """For each queued CronJob, False if only its schedule changed, after which missed starts do not count."""
        self._backoff = CreationBackoff()

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile a CronJob that changed, or whose Jobs did."""
        if write.ref.table == _JOBS:
            owners = {
                ObjectRef(_TABLE, f"{write.ref.namespace}/{controller.name}"): controller.uid
                for controller in self._children.update(write)
            }
            found = [ref for ref, uid in owners.items() if self._has_uid(ref, uid)]
            self._is_due.update(dict.fromkeys(found, True))
            return found
        known = self._timings.pop(write.ref, None)
        if write.record.is_deleted:
            return (write.ref,)
        timing = self._timings[write.ref] = _decode(b"{" + write.record.value).spec
        is_rescheduled = known is not None and known != timing
        self._is_due[write.ref] = not is_rescheduled or self._is_due.get(write.ref, False)
        return (write.ref,)

    def _has_uid(self, ref: ObjectRef, uid: str) -> bool:
        found = self._client.load(ref)
        return found is not None and uid_of(found) == uid

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Start a Job if one is due; return the seconds until the next scheduled time.

        Raises:
            JournalError: A change could not be stored.
        """
        is_due = self._is_due.pop(ref, True)
        cron_job = self._client.load(ref)
        if cron_job is None:
            self._backoff.next_delay(ref, is_refused=False)
            return None
        turn = _Turn(
            ref.namespace,
            cron_job,
            part(cron_job, "spec"),
            reference_to(cron_job, *_KIND),
            CronJobStatus(cron_job),
            self._client.cluster.clock.now(),
        )
        # A new schedule applies from its next time on, without a Job for a start that the old schedule missed. A
        # retry of a refused Job is not cancelled, and follows the new schedule.
        if not is_due and not self._backoff.was_refused(ref):
            times = self._read_schedule(turn)
            return None if times is None else turn.seconds_to_next_start(times)
        await self._update_jobs(turn, self._children.of(ref))
        is_refused, delay = False, None
        try:
            delay = await self._start(turn)
        except JournalError:
            raise
        except StatusFailure:
            is_refused = True
        if turn.status.is_changed:
            content = turn.status.content
            await self._client.update(ref, lambda found: found.update(status=content), subresource="status")
        retry = self._backoff.next_delay(ref, is_refused=is_refused)
        return delay if retry is None else retry

    async def _update_jobs(self, turn: _Turn, refs: Iterable[ObjectRef]) -> None:
        jobs = [job for job in map(self._client.load, refs) if job is not None]
        for ended, limit in _HISTORY.items():
            await self._delete_oldest(turn, [job for job in jobs if finished_type(job) == ended], limit)
        self._note_jobs(turn, jobs)

    async def _delete_oldest(self, turn: _Turn, ended: Sequence[Plain], limit: str) -> None:
        """Delete the oldest of the Jobs that completed, or that failed, beyond the history limit."""
        history_limit = turn.spec.get(limit)
        if history_limit is None:
            return
        # A Job without a start time counts as the newest.
        oldest_first = sorted(ended, key=lambda job: (text(part(job, "status"), "startTime") or "~", _name(job)))
        for job in oldest_first[: max(len(ended) - history_limit, 0)]:
            await self._delete(turn, job)

    async def _delete(self, turn: _Turn, job: Plain) -> StatusFailure | None:
        """Delete a Job; return the refusal, or None on success."""
        try:
            await self._client.delete_or_raise(self._job_ref(turn, _name(job)), uid_of(job))
        except JournalError:
            raise
        except StatusFailure as refusal:
            message = f"Deleted job: {refusal.message}"
            self._events.record(turn.involved, "FailedDelete", message, event_type=WARNING)
            return refusal
        turn.status.drop_active(uid_of(job))
        self._events.record(turn.involved, "SuccessfulDelete", f"Deleted job {_name(job)}")
        return None

    def _note_jobs(self, turn: _Turn, jobs: Sequence[Plain]) -> None:
        """Update the active Jobs of the status from the stored Jobs, and report differences."""
        for job in jobs:
            ended, is_active = finished_type(job), turn.status.has_active(uid_of(job))
            if not ended and not is_active:
                message = f"Saw a job that the controller did not create or forgot: {_name(job)}"
                self._events.record(turn.involved, "UnexpectedJob", message, event_type=WARNING)
            elif ended and is_active:
                turn.status.drop_active(uid_of(job))
                message = f"Saw completed job: {_name(job)}, condition: {ended}"
                self._events.record(turn.involved, "SawCompletedJob", message)
            if ended:
                turn.status.note_success(job)
        present = {uid_of(job) for job in jobs}
        for reference in turn.status.active:
            name = text(reference, "name")
            # As in kube-controller-manager, a Job of that name stays active even if the CronJob no longer owns it.
            if reference.get("uid") in present or self._client.load(self._job_ref(turn, name)) is not None:
                continue
            self._events.record(turn.involved, "MissingJob", f"Active job went missing: {name}")
            turn.status.drop_active(text(reference, "uid"))

    async def _start(self, turn: _Turn) -> float | None:
        """Start a Job if one is due; return the seconds until the next scheduled time.

        Raises:
            StatusFailure: If the Job is refused.
            JournalError: A change could not be stored.
        """
        if is_being_deleted(turn.cron_job):
            return None
        zone = text(turn.spec, "timeZone")
        if load_zone(zone) is None:
            message = f"invalid timeZone: {quoted(zone)}: unknown time zone {zone}"
            self._events.record(turn.involved, "UnknownTimeZone", message, event_type=WARNING)
            return None
        if turn.spec.get("suspend"):
            return None
        times = self._read_schedule(turn)
        if times is None:
            return None
        start, reports = decide_start(turn.cron_job, turn.status, turn.now, times)
        for report in reports:
            self._events.record(turn.involved, report.reason, report.message, event_type=report.type)
        if start is not None:
            if turn.spec.get("concurrencyPolicy") == "Replace":
                await self._delete_active(turn)
            await self._create_job(turn, start)
        return turn.seconds_to_next_start(times)

    async def _delete_active(self, turn: _Turn) -> None:
        for reference in turn.status.active:
            ref = self._job_ref(turn, text(reference, "name"))
            job = self._client.load(ref)
            refusal = None if job is None else await self._delete(turn, job)
            if refusal is not None:
                raise refusal

    async def _create_job(self, turn: _Turn, start: datetime) -> None:
        """Create the Job of a scheduled time.

        Raises:
            StatusFailure: If the Job is refused. This includes a Job that exists already: kube-controller-manager does
                not find it either, and retries.
            JournalError: It could not be stored.
        """
        content = build_job(turn.cron_job, start, load_zone(text(turn.spec, "timeZone")) or UTC)
        try:
            job = await self._client.create_or_raise(_JOBS, turn.namespace, content)
        except JournalError:
            raise
        except StatusFailure as refusal:
            if refusal.code != HTTPStatus.CONFLICT and not is_namespace_ending(refusal):
                message = f"Error creating job: {refusal.message}"
                self._events.record(turn.involved, "FailedCreate", message, event_type=WARNING)
            raise
        self._events.record(turn.involved, "SuccessfulCreate", f"Created job {_name(job)}")
        turn.status.add_start(reference_to(job, *_JOB_KIND), start)

    def _read_schedule(self, turn: _Turn) -> ScheduleTimes | None:
        """Parse schedule and time zone; report an invalid one and return None."""
        expression, zone = text(turn.spec, "schedule"), text(turn.spec, "timeZone")
        try:
            schedule = parse_schedule(expression)
            if "TZ" in expression:
                message = (
                    f"CRON_TZ or TZ used in schedule {quoted(expression)} is not officially supported, see "
                    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
                )
                self._events.record(turn.involved, "UnsupportedSchedule", message, event_type=WARNING)
                zone = "" if isinstance(schedule, ConstantDelay) else schedule.zone
            location = load_zone(zone)
            if location is None:
                raise ScheduleError(f"provided bad location {zone}: unknown time zone {zone}")
        except ScheduleError as problem:
            message = f"unparseable schedule: {quoted(expression)} : {problem}"
            self._events.record(turn.involved, "UnparseableSchedule", message, event_type=WARNING)
            return None
        return ScheduleTimes(schedule, location)

    def _job_ref(self, turn: _Turn, name: str) -> ObjectRef:
        return ObjectRef(_JOBS, f"{turn.namespace}/{name}")


def _name(found: Plain) -> str:
    return text(metadata(found), "name")
