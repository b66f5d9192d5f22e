"""The explorer, as its users call it."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from masthead._controller.options import RunOverrides
from masthead._module import set_module
from masthead.errors import ArgumentError
from masthead.testing._explore.app_modules import as_factory
from masthead.testing._explore.budget import parse_budget
from masthead.testing._explore.explorer import Exploration
from masthead.testing._explore.jobs import Performer
from masthead.testing._explore.oracles.judge import judge
from masthead.testing._explore.oracles.rules import OracleRules
from masthead.testing._explore.replay import replay_schedule
from masthead.testing._explore.replay_call import ReplayCall
from masthead.testing._explore.report import Report
from masthead.testing._explore.resume import ResumeFile
from masthead.testing._explore.schedule import Schedule
from masthead.testing._explore.target import Target
from masthead.testing._explore.warm_up import warm_up
from masthead.testing._explore.workers import CAN_FORK, LocalPool, ProcessPool, count_cores
from masthead.testing._explore.workload import as_workload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from typing import Unpack

    from masthead import Manager
    from masthead._meta.object import Object
    from masthead.testing._explore.budget import BudgetLike
    from masthead.testing._explore.explorer import ExplorationProgress, Summary
    from masthead.testing._explore.findings import Finding
    from masthead.testing._explore.oracles.invariants import Invariant
    from masthead.testing._explore.oracles.rules import Ignored
    from masthead.testing._explore.reference import ReferenceRuns
    from masthead.testing._explore.trace import RunResult
    from masthead.testing._explore.workers import Pool
    from masthead.testing._explore.workload import WorkloadLike

__all__ = ["AppSource", "ExploreOptions", "Explorer", "Setup", "explore", "make_pool"]

AppSource: TypeAlias = "str | Callable[..., Manager]"
_MIN_FIRST_LIMIT: Final = 10.0
_MAX_FIRST_LIMIT: Final = 30.0
"""The real-time limit of the first runs, in seconds."""


@set_module("masthead.testing.exploration")
class ExploreOptions(RunOverrides, total=False):
    """Options of each run of an exploration, in addition to options of the manager.

    Attributes:
        crds: As for `masthead.testing.Environment`.
        objects: As for `masthead.testing.Environment`.
        server_options: As for `masthead.testing.Environment`.
        external: Makes a fake of an external system for each run; `make_app` then takes it as its argument.
        oracles: Switches of the oracles, by name; see `masthead.testing.exploration.ORACLES`.
        invariant: What must hold when all is idle, or always: see `masthead.testing.always`.
        ignore: Exceptions: patterns of objects and fields, or predicates of findings.
        recovers: Pairs of steps after which the states must be equal.
    """

    crds: Sequence[object] | None
    objects: Sequence[Object | Mapping[str, object]]
    server_options: Mapping[str, object] | None
    external: Callable[[], object] | None
    oracles: Mapping[str, bool] | None
    invariant: Invariant | Sequence[Invariant]
    ignore: Ignored | Sequence[Ignored]
    recovers: Sequence[tuple[int, int]]


@set_module("masthead.testing.exploration")
class Explorer:
    """Runs an operator under many schedules of faults, and reports what goes wrong.

    ::

        from masthead.testing import explore

        def test_website_operator_survives_everything() -> None:
            report = explore(make_app, workload, crds=[Website], budget=50)
            assert not report.findings, report
    """

    def __call__(
        self,
        make_app: AppSource,
        workload: WorkloadLike,
        *,
        budget: BudgetLike = "60s",
        seed: int = 0,
        processes: int | None = None,
        resume: str | PathLike[str] | None = None,
        on_progress: Callable[[ExplorationProgress], None] | None = None,
        **options: Unpack[ExploreOptions],
    ) -> Report:
        """Explore an operator until the budget is used up, or nothing is left to try.

        Args:
            make_app: Makes a manager: each replica gets its own. Or the module and name of a manager, such as
                ``shop.main:app``; the module is executed again for each replica.
            workload: What users do: an async function of the environment, whose ``await env.wait_for_idle()`` ends a
                step; an async generator, whose ``yield`` does; or a list of steps and of objects to apply.
            budget: A duration, such as ``60s`` or ``5m``, or a number of schedules.
            seed: The source of all randomness.
            processes: The number of worker processes; None for one per core, 0 to run in this process, for debuggers.
            resume: The file with the progress; an interrupted exploration continues with it.
            on_progress: Called after each schedule; it may raise `masthead.testing.exploration.StopExploration`.
            options: Options of each run, and of the managers; see `ExploreOptions`.

        Raises:
            ArgumentError: If an argument is invalid.
            ExplorationError: If the operator does not start, or the workload fails without any fault.
        """
        limits = parse_budget(budget)
        start = time.monotonic()
        setup = Setup(make_app, workload, options)
        count = _count_processes(processes)
        with ExitStack() as stack:
            file = None if resume is None else stack.enter_context(ResumeFile(resume))
            # The duration of an operator's runs is unknown here; the first runs set the limit of the others.
            limit = min(max(limits.seconds, _MIN_FIRST_LIMIT), _MAX_FIRST_LIMIT)
            pool = stack.enter_context(make_pool(setup.performer, count, limit))
            steps = len(setup.target.workload.steps)
            exploration = Exploration(
                pool, setup.judge, limits, seed=seed, steps=steps, resume=file, on_progress=on_progress
            )
            summary = exploration.run()
        if count and not CAN_FORK:
            summary.notes.append("this system cannot fork: all runs were in this process, without limits of time")
        return setup.report(summary, time.monotonic() - start, seed)

    def replay(
        self,
        schedule: str | Schedule,
        make_app: AppSource,
        workload: WorkloadLike,
        **options: Unpack[ExploreOptions],
    ) -> Report:
        """Run one schedule in this process, and judge it.

        ::

            from masthead.testing import explore

            def test_site_survives_a_crash() -> None:
                schedule = "v1:eNqbwjBx-tLkosTiDMZlxSX5RakpDBMYGBgmAAB7QwjL"
                report = explore.replay(schedule, make_app, workload, crds=[Website])
                assert not report.findings, report

        Args:
            schedule: The schedule of a finding.
            make_app: As for the exploration.
            workload: As for the exploration.
            options: As for the exploration.

        Raises:
            ArgumentError: If an argument is invalid.
            ExplorationError: If the operator does not start, or the workload fails without any fault.
        """
        parsed = Schedule.parse(schedule) if isinstance(schedule, str) else schedule
        start = time.monotonic()
        setup = Setup(make_app, workload, options)
        # In this process, so that breakpoints and prints of the operator work.
        with LocalPool(setup.performer.perform, setup.performer.prepare) as pool:
            summary = replay_schedule(pool, setup.judge, parsed)
        return setup.report(summary, time.monotonic() - start, parsed.seed)


class Setup:
    """The operator and its workload, and the rules that judge them."""

    def __init__(self, make_app: AppSource, workload: WorkloadLike, options: ExploreOptions) -> None:
        given = dict(options)
        invariant = cast("Invariant | Sequence[Invariant]", given.pop("invariant", ()))
        ignore = cast("Ignored | Sequence[Ignored]", given.pop("ignore", ()))
        steps = as_workload(workload)
        self.rules: OracleRules = OracleRules(
            oracles=options.get("oracles") or {},
            # A pattern is a sequence of letters as well, and must stay whole.
            ignore=(ignore,) if isinstance(ignore, str) or callable(ignore) else tuple(ignore),
            recovers=(*steps.recovers, *options.get("recovers", ())),
        )
        # From the annotations, so that a new option of the manager needs no change here.
        own = ExploreOptions.__annotations__.keys() - RunOverrides.__annotations__.keys()
        overrides = {name: value for name, value in given.items() if name not in own}
        unknown = sorted(overrides.keys() - RunOverrides.__annotations__.keys())
        if unknown:
            raise ArgumentError(f"explore has no argument {unknown[0]!r}", value=unknown)
        self.target: Target = Target(
            as_factory(make_app),
            steps,
            crds=options.get("crds"),
            objects=tuple(options.get("objects", ())),
            server_options=options.get("server_options") or {},
            overrides=cast("RunOverrides", overrides),
            external=options.get("external"),
            invariants=(invariant,) if callable(invariant) else tuple(invariant),
        )
        self.performer: Performer = Performer(self.target, self.judge, keeps_states=bool(self.rules.recovers))
        # Empty options would only lengthen the call, which readers copy.
        self._call = ReplayCall.of(make_app, workload, **{name: value or None for name, value in options.items()})

    def judge(self, reference: ReferenceRuns, run: RunResult) -> list[Finding]:
        """Judge a run."""
        return judge(reference, run, self.rules)

    def report(self, summary: Summary, seconds: float, seed: int) -> Report:
        """Make the report."""
        return Report(
            summary.findings,
            schedules=summary.schedules,
            seconds=seconds,
            seed=seed,
            coverage=summary.coverage,
            unreached=summary.unreached,
            notes=summary.notes,
            call=self._call,
        )


def _count_processes(processes: int | None) -> int:
    if processes is None:
        return count_cores()
    if processes < 0:
        raise ArgumentError(f"processes is {processes}; it must not be negative", value=processes)
    return processes


def make_pool(performer: Performer, processes: int, limit: float = _MAX_FIRST_LIMIT) -> Pool:
    """Make a pool of processes; 0 for this one.

    Args:
        performer: Performs the jobs.
        processes: The number of processes.
        limit: The real-time limit of the first jobs, in seconds.
    """
    if processes and CAN_FORK:
        # Once here instead of once per worker.
        warm_up()
        return ProcessPool(performer.perform, performer.prepare, processes=processes, limit=limit)
    return LocalPool(performer.perform, performer.prepare)


explore: Final = Explorer()
