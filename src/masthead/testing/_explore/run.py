"""One run of one schedule: a fresh server, the operator, the workload and the faults, in virtual time."""

from __future__ import annotations

import asyncio
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from masthead._cache.informer.informer import pipeline_of
from masthead._controller.reconcile_observer import reconcile_observer
from masthead._meta.patch import Patch
from masthead.errors import MastheadError
from masthead.testing import virtual_time
from masthead.testing._environment import NotIdleError
from masthead.testing._explore.control import RunControl, view_of
from masthead.testing._explore.determinism import seeded_process
from masthead.testing._explore.explored_environment import ExploredEnvironment
from masthead.testing._explore.external import RecordedSystem, state_of
from masthead.testing._explore.faults import (
    Absence,
    Crash,
    Edit,
    HandOver,
    HeldEvents,
    KeyOrder,
    Restart,
    ServerRestart,
    SlowController,
)
from masthead.testing._explore.trace import ChangeRecord, ObjectView, RunResult, TraceEntry
from masthead.testing._replica import Replica
from masthead.testing.virtual_time import process

if TYPE_CHECKING:
    import contextvars
    from collections.abc import Callable, Sequence

    from masthead_server.change_log import Change

    from masthead import Manager
    from masthead.testing._explore.faults import PlannedFault
    from masthead.testing._explore.schedule import Schedule
    from masthead.testing._explore.target import Target
    from masthead.testing._explore.trace import EntryKind, ReadRecord, WriteRecord
    from masthead_server.faults import Fault

__all__ = ["EDITED", "Run", "run_schedule"]

EDITED: Final = "explore.masthead.dev/edited"
"""The annotation of `Edit`."""
_UNRECORDED: Final = frozenset({"leases.coordination.k8s.io", "events", "events.events.k8s.io"})
_STANDSTILL_SECONDS: Final = 60.0
"""Virtual seconds until a standby must have taken over from a leader that stands still."""
_LATER_SECONDS: Final = 900.0
"""Virtual seconds for an operator that repairs things late."""
_MAX_ENTRIES: Final = 20_000


def run_schedule(
    target: Target,
    schedule: Schedule,
    *,
    keeps_states: bool = False,
    checks_restart: bool = False,
    accepts: Callable[[RunResult], bool] = lambda _: True,
) -> RunResult:
    """Run a schedule in a new virtual loop.

    Args:
        target: What is explored.
        schedule: The schedule.
        keeps_states: Whether to record the objects at the end of each step.
        checks_restart: Whether to restart the operator at the end, and record what it changes.
        accepts: Whether a result is as expected. If not, more time passes, and the result is taken once more: some
            operators repair things later.
    """
    run = Run(target, schedule, keeps_states=keeps_states, checks_restart=checks_restart, accepts=accepts)
    with seeded_process(schedule.seed):
        virtual_time.run(run.perform())
    return run.result


@dataclass(frozen=True, slots=True)
class _View:
    """Caches that lag behind the server on purpose.

    Attributes:
        cause: The fault of the schedule.
        faults: The faults of the server.
        resources: The resources that lag behind.
        last: The step at whose end they are released.
    """

    cause: PlannedFault
    faults: Sequence[Fault]
    resources: frozenset[str]
    last: int


class _EndOfWorkload(BaseException):
    """Ends a workload after the last step of a schedule; no error, so that no `except Exception` catches it."""


class Run:
    """A run of a schedule.

    Attributes:
        env: The environment.
        pending: The faults that have not struck yet.
        step: The current step of the workload, from 1; 0 before it.
        result: What has happened.
    """

    env: ExploredEnvironment

    def __init__(
        self,
        target: Target,
        schedule: Schedule,
        *,
        keeps_states: bool = False,
        checks_restart: bool = False,
        accepts: Callable[[RunResult], bool] = lambda _: True,
    ) -> None:
        self._accepts = accepts
        self._target = target
        self._schedule = schedule
        self._keeps_states = keeps_states
        self._checks_restart = checks_restart
        self.pending: list[PlannedFault] = list(schedule.faults)
        self.step: int = 0
        self.result: RunResult = RunResult(schedule)
        self._live: dict[tuple[str, str], ObjectView] = {}
        self._revision = 0
        self._views: list[_View] = []
        self._untouched: list[PlannedFault] = []
        self._early: asyncio.Event | None = None
        self._arrived = asyncio.Event()
        self._number = 0
        self._absent: Absence | None = None
        self._system = None if target.external is None else target.external()

    # The life of a run

    async def perform(self) -> None:
        """Run the schedule, and fill `result`."""
        self._control = RunControl(self)
        options: dict[str, Any] = {}
        if any(isinstance(fault, HandOver) for fault in self.pending):
            options["leader_election"] = True
        for fault in self.pending:
            if isinstance(fault, KeyOrder):
                options["key_order"] = fault.order
        self.env = ExploredEnvironment(self._target, self._schedule.seed, self._end_step, **options)
        try:
            async with self.env:
                await self._guard(self._play())
                self._collect()
                if not self.result.problem and self.pending == [] and not self._accepts(self.result):
                    await self._guard(self._wait_longer())
                    self._collect()
                if self._checks_restart and not self.result.problem:
                    await self._guard(self._restart_once_more())
                    self._read_failures()
        except MastheadError as error:
            # Of the environment itself: the operator could not be started, say.
            self.result.problem = self.result.problem or f"{type(error).__name__}: {error}"

    async def _play(self) -> None:
        self._strike_all(KeyOrder, "keys are reconciled in another order")
        await self._begin_step(1)
        await self._start()
        await self.env.settle()
        working = asyncio.get_running_loop().create_task(self._work())
        try:
            await working
        finally:
            working.cancel()
        await self._release_all()
        await self.env.settle()

    async def _work(self) -> None:
        """Run the workload."""
        try:
            await self._target.workload.run(self.env, frozenset(self._schedule.skipped))
            # Whatever follows the last wait is a step as well.
            if not self.result.rests or self.env.server.revision > self.result.rests[-1]:
                await self._end_step()
        except _EndOfWorkload:
            pass
        except NotIdleError:
            raise
        except Exception as error:  # noqa: BLE001 - code of the user
            self.result.workload_error = _describe_error(error)
            self.add("failure", f"the workload fails: {self.result.workload_error}")

    async def _guard(self, act: Any) -> None:  # noqa: ANN401
        """Await a part of the run, and record why it cannot go on."""
        try:
            await act
        except NotIdleError as error:
            self.result.problem = str(error)
            self.add("failure", str(error).partition("\n")[0])
        except RuntimeError as error:  # a replica that has ended by itself
            cause = error.__cause__
            self.result.problem = f"{error}{f': {cause!r}' if cause is not None else ''}"
            self.add("failure", self.result.problem)

    def _collect(self) -> None:
        result = self.result
        self._absorb_changes()
        result.failures = self._read_failures()
        result.objects = self.env.server.dump()
        result.unhit = [*self.pending, *self._untouched]
        result.external = None if self._system is None else state_of(self._system)

    def _read_failures(self) -> list[str]:
        # Reading them marks them as expected.
        return self.env.failures

    async def _wait_longer(self) -> None:
        """Let more time pass, for operators that repair things at intervals."""
        self.add("rest", f"{_LATER_SECONDS:g} s more pass")
        await self.env.pass_time(_LATER_SECONDS)
        await self.env.settle()

    async def _restart_once_more(self) -> None:
        """Restart the operator when all is idle: what it changes now, it should have changed before."""
        before = len(self.result.changes)
        for replica in self.env.replicas:
            replica.kill()
        await self._start()
        await self.env.settle()
        self._absorb_changes()
        changes, self.result.changes = self.result.changes[before:], self.result.changes[:before]
        self.result.later_changes = [change for change in changes if change.client not in {"", "user"}]

    # Steps

    async def _end_step(self) -> None:
        """Wait until all is idle at the end of a step, and let the faults of this moment strike."""
        self._arrived.set()
        if not await self._settle_or_begin_early():
            await self._rest()
        number = self.step
        if self._schedule.steps and number >= self._schedule.steps:
            raise _EndOfWorkload
        self._arrived.clear()
        await self._begin_step(number + 1)

    async def _settle_or_begin_early(self) -> bool:
        """Wait until all is idle, or until the next step begins early; return whether it does."""
        early = self._early = asyncio.Event()
        loop = asyncio.get_running_loop()
        settling, waiting = loop.create_task(self.env.settle()), loop.create_task(early.wait())
        try:
            await asyncio.wait({settling, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if early.is_set():
                self.result.is_delayed = True
                return True
            settling.result()
            return False
        finally:
            self._early = None
            settling.cancel()
            waiting.cancel()

    def begin_early(self) -> None:
        """Begin the next step now, although this one has not come to rest."""
        if self._early is not None:
            self._arrived.clear()
            self._early.set()

    async def wait_for_rest(self, seconds: float) -> None:
        """Wait until the workload waits again, for a limited time: it may wait for the operator itself."""
        try:
            async with asyncio.timeout(seconds):
                await self._arrived.wait()
        except TimeoutError:
            self.result.notes.append("an early step did not come to its end before the write")

    async def _begin_step(self, number: int) -> None:
        self._absorb_changes()
        self.step = number
        steps = self._target.workload.steps
        name = f": {steps[number - 1].name}" if number <= len(steps) else ""
        self.add("step", f"step {number}{name}")
        for fault in list(self.pending):
            if isinstance(fault, Absence) and fault.first == number:
                self._begin_absence(fault)
            elif isinstance(fault, HeldEvents) and fault.last >= number:
                self._hold(fault)
            elif isinstance(fault, SlowController):
                self.strike(fault, f"the controller {fault.controller} acts {fault.seconds:g} s late")
                self.env.server.delay_controller(fault.controller, fault.seconds)

    async def _rest(self) -> None:
        """Let the faults at the end of a step strike, and release what ends with it."""
        number = self.step
        for fault in list(self.pending):
            if getattr(fault, "step", 0) == number and not getattr(fault, "write", 0):
                await self._strike_at_rest(fault)
        await self._end_absences(number)
        if self._release(number):
            await self.env.settle()
        self._absorb_changes()
        self.result.rests.append(self.env.server.revision)
        if self._keeps_states:
            self.result.states.append(self.env.server.dump())
        self.add("rest", f"all is idle after step {number}", number=self.env.server.revision)

    async def _strike_at_rest(self, fault: PlannedFault) -> None:
        if isinstance(fault, Restart):
            view = f" with caches of revision {fault.view}" if fault.view else ""
            self.strike(fault, f"the operator is killed and started again{view}")
            for replica in self.env.replicas:
                replica.kill()
            await self._start_with_view(fault)
        elif isinstance(fault, ServerRestart):
            self.strike(fault, "the API server restarts")
            await self.restart_server()
        elif isinstance(fault, Edit):
            self.strike(fault, f"another client annotates {fault.resource} {fault.key}")
            await self.edit(fault.resource, fault.key)
        else:
            return
        await self.env.settle()

    # Replicas

    def _make(self) -> Manager:
        """Make the manager of a replica."""
        if self._system is None:
            return self._target.make_app()
        return self._target.make_app(RecordedSystem(self._system, self._control))

    def calling_replica(self) -> Replica:
        """Return the replica whose code is running; in threads without a context, the newest one."""
        current = process.get()
        return current if isinstance(current, Replica) else self.env.replicas[-1]

    def _replica_name(self, number: int) -> str:
        return f"operator-{number}"

    async def _start(self, **options: Any) -> Replica:  # noqa: ANN401
        self._number += 1
        # The observer is inherited by all tasks of the replica.
        token = reconcile_observer.set(self._control)
        try:
            replica = await self.env.start(self._make, self._replica_name(self._number), **options)
        finally:
            reconcile_observer.reset(token)
        replica.hooks.append(self._control)
        self.add("replica", f"{replica.name} starts", replica=replica.name)
        if not self.result.resources:
            self.result.resources = sorted({str(where.resource.group_resource) for where, _ in replica.caches()})
        return replica

    async def _start_with_view(self, fault: Crash | Restart) -> None:
        if fault.view:
            self._freeze(fault, fault.last or self.step)
        await self._start()

    def succeed(self, fault: Crash) -> None:
        """Start the successor of a crashed replica, as a task."""
        self.env.starting += 1

        async def start() -> None:
            try:
                await self._start_with_view(fault)
            finally:
                self.env.starting -= 1

        self._successor = asyncio.get_running_loop().create_task(start())

    async def hand_over(self, leader: Replica, fault: HandOver, context: contextvars.Context) -> None:
        """Let a leader stand still until a standby leads."""

        async def replace() -> None:
            if fault.view:
                self._freeze(fault, self.step)
            standby = await self._start()
            leader.pause()
            for _ in range(int(_STANDSTILL_SECONDS)):
                await asyncio.sleep(1.0)
                if standby.is_leading:
                    break
            else:
                self.result.notes.append("the standby did not take over")
            self.add("replica", f"{standby.name} leads", replica=standby.name)
            leader.resume()

        # Not awaited by the leader's task, which stands still meanwhile.
        handing = asyncio.get_running_loop().create_task(replace(), context=context.copy())
        await asyncio.shield(handing)

    def _begin_absence(self, fault: Absence) -> None:
        self.result.is_delayed = True
        if fault.how == "down":
            self.strike(fault, "the operator is down")
            for replica in self.env.replicas:
                replica.kill()
            self._absent = fault
        else:
            self.strike(fault, "the workers of the operator pause")
            for replica in self.env.replicas:
                replica.pause_workers()
            self._absent = fault

    async def _end_absences(self, number: int) -> None:
        fault = self._absent
        if fault is None or fault.last > number:
            return
        self._absent = None
        if fault.how == "down":
            await self._start()
        else:
            for replica in self.env.replicas:
                replica.resume_workers()
            self.add("fault", "the workers go on")
        await self.env.settle()

    # Views

    def _hold(self, fault: HeldEvents) -> None:
        plural, _, group = fault.resource.partition(".")
        held = self.env.server.faults.hold_events(
            after_revision=fault.revision, resource=plural, group=group, client=self._replica_name(max(self._number, 1))
        )
        self._views.append(_View(fault, [held], frozenset({fault.resource}), fault.last))
        self.env.late.add(fault.resource)
        self.strike(fault, f"no events of {fault.resource} after revision {fault.revision}")

    def _freeze(self, fault: Crash | Restart | HandOver, last: int) -> None:
        """Freeze what the next replica sees."""
        resources = frozenset(fault.resources or self.result.resources)
        frozen: list[Fault] = []
        for resource in sorted(resources):
            plural, _, group = resource.partition(".")
            client = self._replica_name(self._number + 1)
            frozen.append(self.env.server.faults.freeze(fault.view, resource=plural, group=group, client=client))
        self._views.append(_View(fault, frozen, resources, last))
        self.env.late |= resources

    def _release(self, number: int) -> bool:
        """Release the views that end with a step; return whether there were any."""
        ending = [view for view in self._views if view.last <= number]
        self._views = [view for view in self._views if view.last > number]
        for view in ending:
            if not any(fault.hits for fault in view.faults):
                self._untouched.append(view.cause)
            if isinstance(view.cause, HeldEvents) and view.cause.is_lost:
                self._relist(view.resources)
            for fault in view.faults:
                fault.remove()
            self.env.late -= view.resources
        if ending:
            self.result.is_delayed = True
            self.add("fault", "the caches catch up")
        return bool(ending)

    def _relist(self, resources: frozenset[str]) -> None:
        """Let the informers of some resources list anew, so that they never see the events in between."""
        for replica in self.env.replicas:
            for where, informer in replica.caches():
                if str(where.resource.group_resource) in resources:
                    pipeline = pipeline_of(informer)
                    for scope in pipeline.sources:
                        pipeline.reopen(scope, relists=True)

    async def _release_all(self) -> None:
        self._release(1 << 60)
        if self._absent is not None:
            await self._end_absences(self._absent.last)

    # What others do

    async def edit(self, resource: str, key: str) -> None:
        """Annotate an object, as another client."""
        namespace, _, name = key.rpartition("/")
        try:
            client = self.env.client.dynamic(resource.partition("/")[0], namespace=namespace or None)
            await client.patch(name, Patch.merge({"metadata": {"annotations": {EDITED: "yes"}}}))
        except MastheadError as error:
            self.result.notes.append(f"{resource} {key} could not be annotated: {error}")

    async def restart_server(self) -> None:
        """Restart the API server."""
        await self.env.stop_server()
        await self.env.start_server()

    # Queries of the control

    def cached(self, replica: Replica, resource: str, key: str) -> ObjectView | None:
        """Return an object in the cache of a replica; None if its kind is not cached."""
        for where, informer in replica.caches():
            if str(where.resource.group_resource) == resource:
                return view_of(informer.indexer.get_by_key(key))
        return None

    def live(self, resource: str, key: str) -> ObjectView:
        """Return an object on the server."""
        self._absorb_changes()
        return self._live.get((resource, key), ObjectView())

    def primary_resource(self, replica: Replica, controller: str) -> str:
        """Return the resource of a controller's objects."""
        found = next((found for found in replica.manager.controllers if found.name == controller), None)
        return "" if found is None else str(found.primary.resource.group_resource)

    def is_leading(self, replica: Replica) -> bool:
        """Whether a replica holds its lease, by the lease on the server."""
        options = replica.runtime.options
        if not options.leader_election:
            return True
        leases = self.env.server.dump().get("leases.coordination.k8s.io", {})
        holders = {
            str(cast("dict[str, Any]", lease).get("spec", {}).get("holderIdentity"))
            for key, lease in leases.items()
            if key.rpartition("/")[2] == options.leader_election_id
        }
        return replica.name in holders

    # Records

    def strike(self, fault: PlannedFault, text: str) -> None:
        """Note that a fault strikes."""
        if fault in self.pending:
            self.pending.remove(fault)
        self.add("fault", text)

    def _strike_all(self, kind: type[PlannedFault], text: str) -> None:
        for fault in list(self.pending):
            if isinstance(fault, kind):
                self.strike(fault, text)

    def record_write(self, record: WriteRecord) -> None:
        """Record a write of the operator."""
        self._absorb_changes()
        self.result.writes.append(record)
        self.add("write", str(record), replica=record.replica, reconcile=record.reconcile, number=record.number)

    def record_read(self, record: ReadRecord) -> None:
        """Record a live read of a reconcile."""
        self.result.reads.append(record)
        self.add("read", f"read {record.target} ({record.code})", replica=record.replica, number=record.number)

    def record_call(self, text: str, number: int) -> None:
        """Record a call of an external system."""
        self.result.calls.append(text)
        self.add("external", text, number=number)

    def add(self, kind: EntryKind, text: str, *, replica: str = "", reconcile: str = "", number: int = 0) -> None:
        """Add a line to the timeline."""
        if len(self.result.entries) < _MAX_ENTRIES:
            now = virtual_time.now()
            self.result.entries.append(TraceEntry(now, kind, text, self.step, replica, reconcile, number))

    def _absorb_changes(self) -> None:
        """Record the changes of the store since the last call."""
        changes = self.env.server.changes(self._revision)
        if not changes:
            return
        self._revision = changes[-1].revision
        for change in changes:
            self._note_change(change)

    def _note_change(self, change: Change) -> None:
        metadata = cast("dict[str, Any]", change.object["metadata"])
        self._live[change.resource, change.key] = (
            ObjectView()
            if change.type == "DELETED"
            else ObjectView(
                version=change.revision,
                uid=str(metadata["uid"]),
                generation=int(metadata.get("generation", 0)),
                is_deleting="deletionTimestamp" in metadata,
            )
        )
        if change.resource in _UNRECORDED:
            return
        client = change.client or ("user" if change.user_agent.startswith("masthead-testing") else "")
        record = ChangeRecord(
            revision=change.revision,
            step=self.step,
            type=change.type,
            resource=change.resource,
            key=change.key,
            uid=str(metadata["uid"]),
            client=client,
            reconcile=change.reconcile,
            owners=tuple(str(owner.get("uid")) for owner in metadata.get("ownerReferences") or ()),
        )
        self.result.changes.append(record)
        by = f" by {client}" if client else ""
        self.add("change", f"{change.type} {change.resource} {change.key}{by}", number=change.revision)


def _describe_error(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"
