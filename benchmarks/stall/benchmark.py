"""The longest pause of the event loop during each step of an informer, for 20,000 and 200,000 pods.

While the loop pauses, nothing else on it runs: no request, no timer, no health check. Each measurement has a process of
its own, as has the server, which is never the bottleneck (`benchmarks.watch.server`).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from benchmarks.harness import measure
from benchmarks.harness.measure import scaled
from benchmarks.harness.report import Column, Report, Row, Table, Target, show, unjudged
from benchmarks.stall.worker import STEPS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from benchmarks.harness.measure import Figures, Lab

COUNTS: Final = (20_000, 200_000)
"""How many pods there are."""
LONGEST_MS: Final = 50
"""How long a pause may be."""

_QUICK: Final = (50,)
_MS: Final = 1e3
_TITLES: Final = {
    "list": "first state, by list",
    "watch_list": "first state, by watch-list",
    "compact": "first state, stored compact",
    "relist": "relist, by watch-list",
    "relist_by_list": "relist, by list",
    "resync": "resync",
    "late_handler": "late handler",
    "save": "snapshot written",
    "seed": "snapshot read",
}


def measured(lab: Lab, steps: Collection[str], pods: int, repeat: int) -> dict[str, Figures]:
    """Measure some steps in turn."""
    with lab.serving("benchmarks.watch.server", "--pods", str(pods)) as kubeconfig:
        program = functools.partial(lab.run, "-m", "benchmarks.stall.worker")
        cases = {step: functools.partial(program, step, kubeconfig, str(pods)) for step in steps}
        return measure.best_of(repeat, cases)


def stall_table(pods: int, best: Mapping[str, Figures]) -> Table:
    """Lay out the longest pauses."""
    columns = (
        Column("pause_ms", "longest pause ms"),
        Column("cpu_ms", "CPU of it ms"),
        Column("gc_ms", "longest garbage collection ms"),
    )
    rows: list[Row] = []
    for step, used in best.items():
        figures = (
            scaled(used["pause"], _MS),
            scaled(used["cpu"], _MS),
            scaled(used["collection"], _MS),
        )
        target = Target(f"{step}_{pods}", (used["cpu"] or 0.0) * _MS, LONGEST_MS)
        rows.append(Row(step, _TITLES[step], figures, target))
    return Table(f"stall_{pods}", f"Longest pause of the event loop, {pods:,} pods", columns, tuple(rows))


def run(lab: Lab, counts: Sequence[int], steps: Collection[str], repeat: int, *, quick: bool = False) -> Report:
    """Measure all numbers of pods."""
    tables = tuple(stall_table(count, measured(lab, steps, count, repeat)) for count in counts)
    notes = ("Targets are compared with the CPU time of a pause, to which other processes add nothing.",)
    settings = {"most": max(counts), "repeat": repeat}
    return Report("stall", settings, unjudged(tables) if quick else tables, notes)


def main() -> None:
    """Run the benchmark."""
    parser = measure.parser(__doc__, repeat=1, quick=True)
    help_ = f"pods (default: {' and '.join(f'{count:,}' for count in COUNTS)})"
    parser.add_argument("--objects", type=measure.positive, nargs="+", help=help_)
    parser.add_argument("--only", nargs="+", choices=STEPS, default=tuple(STEPS), metavar="STEP")
    options = parser.parse_args()
    counts = options.objects or (_QUICK if options.quick else COUNTS)
    with measure.lab() as lab:
        show(run(lab, counts, options.only, options.repeat, quick=options.quick))


if __name__ == "__main__":
    main()
