"""One run of one schedule: a fresh server, the operator, the workload and the faults, in virtual time."""

from __future__ import annotations

import asyncio
import traceback
from typing import TYPE_CHECKING, Any, Final

from masthead._meta.patch import Patch
from masthead.errors import MastheadError
from masthead.testing import virtual_time
from masthead.testing._environment import NotIdleError
from masthead.testing._explore.canonical_state import EDITED
from masthead.testing._explore.control import RunControl
from masthead.testing._explore.determinism import seeded_process
from masthead.testing._explore.explored_environment import ExploredEnvironment
from masthead.testing._explore.external import state_of
from masthead.testing._explore.faults import (
    Absence,
    Edit,
    HandOver,
    HeldEvents,
    OtherKeyOrder,
    Restart,
    ServerRestart,
    SlowController,
)
from masthead.testing._explore.recording import RunRecorder
from masthead.testing._explore.replicas import OperatorReplicas
from masthead.testing._explore.user_requests import PatientTransport

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead.testing._explore.faults import PlannedFault
    from masthead.testing._explore.schedule import Schedule
    from masthead.testing._explore.target import Target
    from masthead.testing._explore.trace import RunResult

__all__ = ["Run", "run_schedule"]

_LATER_SECONDS: Final = 900.0
"""Virtual seconds for an operator that repairs things late."""


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
        target: The operator, its workload and their options.
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


class _EndOfWorkload(BaseException):
    """Ends a workload after the last step of a schedule; no error, so that no `except Exception` catches it."""


class Run:
    """A run of a schedule; see `run_schedule` for the arguments.

    Attributes:
        env: The environment.
        recorder: Records the run.
        replicas: The replicas of the operator.
    """

    env: ExploredEnvironment
    replicas: OperatorReplicas

    def __init__(
        self,
        target: Target,
        schedule: Schedule,
        *,
        keeps_states: bool = False,
        checks_restart: bool = False,
        accepts: Callable[[RunResult], bool] = lambda _: True,
    ) -> None:
        self._target = target
        self._schedule = schedule
        self._keeps_states = keeps_states
        self._checks_restart = checks_restart
        self._accepts = accepts
        self.recorder: RunRecorder = RunRecorder(schedule, target.invariants)
        self._system = None if target.external is None else target.external()
        self._early: asyncio.Event | None = None
        self._arrived = asyncio.Event()
        self._is_early = False
        self._error: Exception | None = None

    @property
    def result(self) -> RunResult:
        """The recorded run."""
        return self.recorder.result

    # The life of a run

    async def perform(self) -> None:
        """Run the schedule, and fill `result`."""
        self.env = ExploredEnvironment(self._target, self._schedule.seed, self._end_step, **self._options())
        result = self.result
        try:
            async with self.env:
                self.recorder.server = self.env.server
                self.env.client.rest.wrap_transport(PatientTransport(self._catch_up).around)
                control = RunControl(self)
                self.replicas = OperatorReplicas(self._target, self.env, self.recorder, control, self._system)
                await self._guard(self._play())
                self._collect()
                # A fault that never struck cannot have caused a difference: more time would not help.
                if not result.problem and not result.unhit and not self._accepts(result):
                    await self._guard(self._wait_longer())
                    self._collect()
                if self._checks_restart and not result.problem:
                    await self._guard(self._restart_once_more())
                    self._read_failures()
        except MastheadError as error:
            # Of the environment itself: the operator could not be started, say.
            result.problem = result.problem or f"{type(error).__name__}: {error}"

    def _options(self) -> dict[str, Any]:
        """Return the options of the environment that the schedule needs."""
        options: dict[str, Any] = {}
        for fault in self.recorder.pending:
            if isinstance(fault, HandOver):
                options["leader_election"] = True
            elif isinstance(fault, OtherKeyOrder):
                options["key_order"] = fault.order
        return options

    async def _play(self) -> None:
        for fault in list(self.recorder.pending):
            if isinstance(fault, OtherKeyOrder):
                self.recorder.strike(fault, f"independent keys are reconciled in the order {fault.order}")
        await self.replicas.install()
        # Before the start, because an absence or a held view may begin with the first step.
        self._begin_step(1)
        if not self.replicas.is_down:
            await self.replicas.start()
        await self.env.settle()
        await self._work()
        # Every fault ends with the workload: what counts is the state after the recovery.
        self.replicas.views.release()
        await self.replicas.end_absence()
        await self.env.settle()
        self.replicas.check()

    async def _work(self) -> None:
        """Run the workload."""
        try:
            await self._target.workload.run(self.env, frozenset(self._schedule.skipped))
            # Whatever follows the last wait is a step as well.
            if not self.result.rests or self.env.server.revision > self.result.rests[-1]:
                await self._end_step()
        except _EndOfWorkload:
            if self._error is not None:
                raise self._error from None
        except Exception as error:  # noqa: BLE001 - code of the user
            self.result.workload_error = _describe_error(error)
            self.recorder.add("failure", f"the workload fails: {self.result.workload_error}")
        finally:
            self.result.notes += self._target.workload.notes

    async def _guard(self, act: Awaitable[None]) -> None:
        """Await a part of the run, and record why it cannot go on."""
        try:
            await act
        except NotIdleError as error:
            self.result.problem = str(error)
        except RuntimeError as error:  # a replica that has exited
            cause = error.__cause__
            self.result.problem = f"{error}{f': {cause!r}' if cause is not None else ''}"
        if self.result.problem:
            self.recorder.add("failure", self.result.problem.partition("\n")[0])

    def _collect(self) -> None:
        result = self.result
        self.recorder.absorb_changes()
        self.recorder.check_invariants()
        result.failures = self._read_failures()
        result.objects = self.env.server.dump()
        result.unhit = [*self.recorder.pending, *self.replicas.views.unused]
        result.external = None if self._system is None else state_of(self._system)

    def _read_failures(self) -> list[str]:
        # Reading them marks them as expected.
        return self.env.failures

    async def _wait_longer(self) -> None:
        """Let more time pass, for operators that repair things at intervals."""
        self.recorder.add("rest", f"{_LATER_SECONDS:g} s more pass")
        await self.env.pass_time(_LATER_SECONDS)
        await self.env.settle()

    async def _restart_once_more(self) -> None:
        """Restart the operator when all is idle: what it changes now, it should have changed before."""
        result = self.result
        # Its changes are not part of the run, which ended before.
        before = len(result.changes)
        self.replicas.kill()
        await self.replicas.start()
        await self.env.settle()
        self.recorder.absorb_changes()
        changes, result.changes = result.changes[before:], result.changes[:before]
        result.later_changes = [change for change in changes if change.client.startswith("operator-")]

    # Steps

    async def _end_step(self) -> None:
        """Wait until all is idle at the end of a step, and let the faults of this moment strike."""
        self._is_early = False
        self._arrived.set()
        try:
            if not await self._settle_or_begin_early():
                await self._rest()
        except Exception as error:
            # Not through the code of the user, which may catch it.
            self._error = error
            raise _EndOfWorkload from error
        step = self.recorder.step
        # A shrunk schedule leaves out the last steps.
        if self._schedule.steps and step >= self._schedule.steps:
            raise _EndOfWorkload
        self._arrived.clear()
        self._begin_step(step + 1)

    async def _settle_or_begin_early(self) -> bool:
        """Wait until all is idle, or until the next step begins early; return whether it does."""
        early = self._early = asyncio.Event()
        loop = asyncio.get_running_loop()
        settling, waiting = loop.create_task(self.env.settle()), loop.create_task(early.wait())
        try:
            await asyncio.wait({settling, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if early.is_set():
                self.result.is_delayed = self._is_early = True
                return True
            settling.result()
            return False
        finally:
            # From now on, an early step has nothing to begin.
            self._early = None
            settling.cancel()
            waiting.cancel()

    def begin_early(self) -> None:
        """Begin the next step now, although this one has not come to rest."""
        # Without a waiting workload there is no next step.
        if self._early is not None:
            self._arrived.clear()
            self._early.set()

    async def wait_for_rest(self, seconds: float) -> None:
        """Wait until the workload waits again, for a limited time: it may wait for the operator itself."""
        try:
            async with asyncio.timeout(seconds):
                await self._arrived.wait()
        except TimeoutError:
            self.recorder.note("an early step did not come to its end before the write")

    async def _catch_up(self) -> bool:
        """End the faults that delay the operator, because the workload needs it; return whether there were any."""
        is_early = self._is_early
        # Release the write that waits for the end of an early step.
        self._arrived.set()
        has_ended = await self.replicas.end_absence()
        has_released = self.replicas.views.release()
        # Without a fault in effect, the refusal is the answer that the workload deserves.
        if not (is_early or has_ended or has_released):
            return False
        self._is_early = False
        await self.env.settle()
        return True

    def _begin_step(self, number: int) -> None:
        self.recorder.absorb_changes()
        self.recorder.step = number
        steps = self._target.workload.steps
        name = f": {steps[number - 1].name}" if number <= len(steps) else ""
        self.recorder.add("step", f"step {number}{name}")
        for fault in list(self.recorder.pending):
            if isinstance(fault, Absence) and fault.first == number:
                self.replicas.begin_absence(fault)
            elif isinstance(fault, HeldEvents):
                self.replicas.views.hold(fault, self.replicas.newest)
            elif isinstance(fault, SlowController):
                self.recorder.strike(fault, f"the controller {fault.controller} acts {fault.seconds:g} s late")
                self.env.server.delay_controller(fault.controller, fault.seconds)

    async def _rest(self) -> None:
        """Let the faults at the end of a step strike, and release what ends with it."""
        step, result = self.recorder.step, self.result
        # A copy, because a strike removes the fault.
        for fault in list(self.recorder.pending):
            if getattr(fault, "step", 0) == step and not getattr(fault, "write", 0):
                await self._strike_at_rest(fault)
        if await self.replicas.end_absence(step):
            await self.env.settle()
        if self.replicas.views.release(step):
            await self.env.settle()
        self.replicas.check()
        self.recorder.absorb_changes()
        # An operator that could not work yet violates nothing.
        if not self.env.late and not self.replicas.is_absent:
            self.recorder.check_invariants()
        result.rests.append(self.env.server.revision)
        if self._keeps_states:
            result.states.append(self.env.server.dump())
        self.recorder.add("rest", f"all is idle after step {step}", number=self.env.server.revision)

    async def _strike_at_rest(self, fault: PlannedFault) -> None:
        strike = self.recorder.strike
        if isinstance(fault, Restart):
            view = f", with caches of revision {fault.view}" if fault.view else ""
            strike(fault, f"the operator is killed and started again{view}")
            self.replicas.kill()
            await self.replicas.start(fault, fault.last)
        elif isinstance(fault, ServerRestart):
            strike(fault, "the API server restarts")
            await self.restart_server()
        elif isinstance(fault, Edit):
            strike(fault, f"another client annotates {fault.resource} {fault.key}")
            await self.edit(fault.resource, fault.key)
        else:
            return
        await self.env.settle()

    # What others do

    async def edit(self, resource: str, key: str) -> None:
        """Annotate an object, as another client."""
        namespace, _, name = key.rpartition("/")
        try:
            client = self.env.client.dynamic(resource.partition("/")[0], namespace=namespace or None)
            await client.patch(name, Patch.merge({"metadata": {"annotations": {EDITED: "yes"}}}))
        except MastheadError as error:
            self.recorder.note(f"{resource} {key} could not be annotated: {error}")

    async def restart_server(self) -> None:
        """Restart the API server."""
        # One after the other: clients see refused connections in between, as in a real restart.
        await self.env.stop_server()
        await self.env.start_server()
        self.recorder.server = self.env.server


def _describe_error(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"
