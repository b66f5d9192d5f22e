"""How many schedules a minute the website operator of the examples is explored with, and whether runs repeat exactly.

Speed is measured by the clock and, since other programs disturb that, by CPU time: the number of schedules that two
cores could run in a minute if nothing else ran. ``--replays 10000`` runs that many schedules twice, each in a process
of its own, and compares all that happened.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from benchmarks.explore.operator import make_app, workload
from benchmarks.harness import measure
from benchmarks.harness.report import Column, Report, Row, Table, Target, show
from masthead.testing import explore
from masthead.testing._explore.determinism_check import compare_runs

if TYPE_CHECKING:
    from masthead.testing import Report as ExplorationReport

SCHEDULES_PER_MINUTE: Final = 1_500.0
"""The minimum speed on two cores."""
_CORES: Final = 2
_COLUMNS: Final = (
    Column("schedules", "schedules", 0),
    Column("seconds", "seconds", 1),
    Column("per_minute", "schedules per minute", 0),
    Column("cpu_ms", "CPU ms per schedule", 1),
    Column("possible", "per minute of two cores", 0),
)


def run(*, schedules: int, replays: int) -> Report:
    """Measure everything."""
    tables = [_measure_speed(schedules)]
    if replays:
        tables.append(_check_determinism(replays))
    return Report("explore", {"schedules": schedules, "replays": replays}, tuple(tables))


def _measure_speed(schedules: int) -> Table:
    before = _cpu_seconds()
    report: ExplorationReport = explore(make_app, workload, budget=schedules, processes=_CORES)
    spent = (_cpu_seconds() - before) / max(report.schedules, 1)
    possible = _CORES * 60.0 / spent
    figures = (report.schedules, report.seconds, report.schedules / report.seconds * 60.0, spent * 1e3, possible)
    target = Target("schedules_per_minute", possible, SCHEDULES_PER_MINUTE, is_least=True)
    row = Row("website", "website operator, four steps", figures, target)
    return Table("speed", "Exploration, with reference runs, shrinking and judgement", _COLUMNS, (row,))


def _check_determinism(replays: int) -> Table:
    start = time.perf_counter()
    compared, different = compare_runs(make_app, workload, count=replays, processes=_CORES)
    figures = (compared, len(different), time.perf_counter() - start)
    target = Target("different_runs", len(different), 0)
    columns = (
        Column("replayed", "schedules", 0),
        Column("different", "different traces", 0),
        Column("seconds", "seconds", 1),
    )
    row = Row("website", "website operator", figures, target)
    return Table("determinism", "Each schedule run twice, in processes of their own", columns, (row,))


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main() -> None:
    """Run the benchmark."""
    parser = measure.parser(__doc__, repeat=1)
    parser.add_argument("--schedules", type=int, default=1_000, help="schedules to explore")
    parser.add_argument("--replays", type=int, default=200, help="schedules to run twice, 0 for none")
    options = parser.parse_args()
    show(run(schedules=options.schedules, replays=options.replays))
