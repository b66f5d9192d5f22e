"""How an informer's cost grows with the number of objects: seconds, CPU and memory from 1,000 to 200,000 pods.

Each measurement has a process of its own, as has the server, which is never the bottleneck (`benchmarks.watch.server`).
"""

from __future__ import annotations

import functools
import statistics
from typing import TYPE_CHECKING, Final

from benchmarks.harness import measure
from benchmarks.harness.measure import MEGA, scaled
from benchmarks.harness.report import Column, Report, Row, Table, Target, show, unjudged
from benchmarks.sync.clients import COMPACT, CONTENDERS, LAZY
from benchmarks.sync.tables import per_pod
from benchmarks.watch.server import ONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.harness.measure import Figures, Lab

COUNTS: Final = (1_000, 5_000, 20_000, 50_000, 100_000, 200_000)
"""How many pods there are."""
LINEAR: Final = 1.3
"""Times the median cost of an object that of one among the most may be."""

_QUICK: Final = (20, 50)
_WIDTH: Final = 64
_HEIGHT: Final = 16


def measured(lab: Lab, holds: Iterable[str], pods: int, repeat: int) -> dict[str, Figures]:
    """Measure from start to synced, some ways to hold objects in turn."""
    with lab.serving("benchmarks.watch.server", "--pods", str(pods)) as kubeconfig:
        program = functools.partial(lab.run, "-m", "benchmarks.sync.worker", "sync")
        where = (kubeconfig, "", str(pods), "--one", ONE)
        best = measure.best_of(repeat, {hold: functools.partial(program, hold, *where) for hold in holds})
    return {hold: {**used, "pods": pods} for hold, used in best.items()}


# -- Tables ------------------------------------------------------------------------------------------------


def scaling_table(hold: str, grown: Sequence[Figures]) -> Table:
    """Lay out what each number of pods took."""
    columns = (
        Column("wall_s", "wall s", 2),
        Column("cpu_s", "CPU s", 2),
        Column("cpu_us", "CPU µs each", 1),
        Column("held_mb", "held MB", 0),
        Column("held_bytes", "held bytes each", 0),
        Column("peak_bytes", "peak bytes each", 0),
    )
    rows: list[Row] = []
    for used in grown:
        each = per_pod(used)
        figures = (
            used["wall"],
            used["cpu"],
            scaled(each["cpu"], 1e6),
            scaled(used["held"], 1 / MEGA),
            each["held"],
            each["peak"],
        )
        rows.append(Row(f"{used['pods']:.0f}", f"{used['pods']:,.0f} pods", figures))
    return Table(hold, f"From start to synced, {hold}", columns, tuple(rows))


def linear_table(measured: Mapping[str, Sequence[Figures]]) -> Table:
    """Say whether the cost of one object stays the same however many there are."""
    columns = (
        Column("growth", "among the most, times the median", 2),
        Column("spread", "dearest, times cheapest", 2),
    )
    rows: list[Row] = []
    for hold, grown in measured.items():
        for key, title in (("cpu", "CPU of an object"), ("held", "memory of an object")):
            costs = [cost for cost in (per_pod(used)[key] for used in grown) if cost is not None and cost > 0]
            if not costs:
                continue
            growth, spread = costs[-1] / statistics.median(costs), max(costs) / min(costs)
            target = Target(f"{hold}_{key}_growth", growth, LINEAR)
            rows.append(Row(f"{hold}_{key}", f"{hold}: {title}", (growth, spread), target))
    return Table("linear", "Is it linear? What an object costs, however many there are", columns, tuple(rows))


def plot(series: Mapping[str, Sequence[tuple[float, float]]], *, unit: str) -> str:
    """Draw points in characters, each series by its first letter, and, dotted, where a straight line would be.

    The line goes from nothing to the last point of the first series.
    """
    points = [point for each in series.values() for point in each]
    right, top = max(x for x, _ in points), max(y for _, y in points) or 1.0
    grid = [[" "] * (_WIDTH + 1) for _ in range(_HEIGHT + 1)]

    def put(x: float, y: float, mark: str) -> None:
        row, column = _HEIGHT - round(_HEIGHT * y / top), round(_WIDTH * x / right)
        grid[row][column] = mark if grid[row][column] in {" ", ".", mark} else "*"

    last_x, last_y = next(iter(series.values()))[-1]
    for column in range(_WIDTH + 1):
        x = right * column / _WIDTH
        put(x, min(top, last_y * x / last_x), ".")
    for name, each in series.items():
        for x, y in each:
            put(x, y, name[0])
    width = len(f"{top:,.1f}")
    labels = {0: f"{top:,.1f}", _HEIGHT: "0"}
    lines = [f"{labels.get(row, ''):>{width}} |{''.join(cells).rstrip()}" for row, cells in enumerate(grid)]
    axis = f"{'':>{width}} +{'-' * (_WIDTH + 1)}"
    foot = f"{'':>{width}}  0{f'{right:,.0f} pods':>{_WIDTH}}"
    legend = f"{unit}: {', '.join(f'{name[0]} = {name}' for name in series)}, . = a straight line"
    return "\n".join([legend, *lines, axis, foot])


# -- Report ------------------------------------------------------------------------------------------------


def run(lab: Lab, counts: Sequence[int], repeat: int) -> Report:
    """Measure all numbers of pods; prints the plots as it goes."""
    holds = [name for name in (LAZY, COMPACT) if CONTENDERS[name].is_there]
    best = [measured(lab, holds, count, repeat) for count in counts]
    grown = {hold: [each[hold] for each in best] for hold in holds}
    for key, unit, factor in (("cpu", "CPU s", 1.0), ("held", "held MB", 1 / MEGA)):
        series = {hold: _points(each, key, factor) for hold, each in grown.items()}
        if all(series.values()):
            print(f"{plot(series, unit=unit)}\n")
    tables: tuple[Table, ...] = (*(scaling_table(*item) for item in grown.items()), linear_table(grown))
    if tuple(counts) == _QUICK:  # which is too little to judge by
        tables = unjudged(tables)
    settings = {"most": max(counts), "repeat": repeat}
    return Report("scaling", settings, tables, ("What is made once is made before anything is measured.",))


def _points(grown: Sequence[Figures], key: str, factor: float) -> list[tuple[float, float]]:
    found = ((used["pods"], used[key]) for used in grown)
    return [(x, max(0.0, y * factor)) for x, y in found if x is not None and y is not None]


def main() -> None:
    """Run the benchmark."""
    parser = measure.parser(__doc__, repeat=1, quick=True)
    parser.add_argument("--max", type=measure.positive, default=COUNTS[-1], help="pods (default: %(default)s)")
    options = parser.parse_args()
    counts = _QUICK if options.quick else [count for count in COUNTS if count <= options.max]
    with measure.lab() as lab:
        show(run(lab, counts or [options.max], options.repeat))
