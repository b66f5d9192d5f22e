"""Reads from an informer's store: by key, by index, by selector, for lazy and compact objects.

Each measurement has a process of its own, as has the server that the informer mirrors. A smaller store is measured,
too, to see that a lookup costs what it finds, and not what there is.
"""

from __future__ import annotations

import dataclasses
import sys
from importlib import util
from typing import TYPE_CHECKING, Final

from benchmarks import measure
from benchmarks.lookup_work import BUCKETS
from benchmarks.report import Column, Report, Row, Table, Target, show
from benchmarks.sync_contenders import COMPACT, LAZY
from benchmarks.sync_runs import Runs, ratio, without_targets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.measure import Figures

GET: Final = 2.0
"""Microseconds of a get by key."""
LINEAR: Final = 1.25
"""Times the cost of an object that an index lookup finds may grow from the smallest bucket to the largest."""
SAME: Final = 2.0
"""Times a lookup may take in the larger store; its objects are in no processor's cache any more."""

SMALLER: Final = "smaller"
_SMALLER_BY: Final = 10
_ROWS: Final = {
    "get": "get_by_key, of any key",
    "again": "get_by_key, of a few keys again and again",
    "lister": "lister.namespace(…).get(…)",
    **{f"index_{size}": f"by_index, {size:,} found" for size in BUCKETS},
    "select": "lister.list, by label selector, 1 in 400 found",
    "all": "list, all of them",
}


@dataclasses.dataclass(frozen=True)
class Size:
    """How much to do.

    Attributes:
        objects: In the store.
        calls: Of each kind of read.
        repeat: Rounds.
    """

    objects: int = 100_000
    calls: int = 20_000
    repeat: int = 1

    @classmethod
    def quick(cls) -> Size:
        """Just enough to see that everything works."""
        return cls(objects=2_000, calls=200)


def measured(runs: Runs, hold: str, pods: int, calls: int) -> Figures:
    """Measure one way to hold objects, in a store of one size."""
    with runs.serving("benchmarks.watch_server", "--pods", str(pods)) as kubeconfig:
        return runs.python("-m", "benchmarks.lookup_work", hold, kubeconfig, "--calls", str(calls))


def lookup_table(best: Mapping[str, Figures], size: Size) -> Table:
    """Lay out the microseconds of each kind of read."""
    smaller = size.objects // _SMALLER_BY
    titles = {LAZY: "lazy: µs", SMALLER: f"lazy, of {smaller:,}: µs", COMPACT: "compact: µs"}
    columns = tuple(Column(name, title, 2) for name, title in titles.items())
    rows: list[Row] = []
    for key, title in _ROWS.items():
        figures = tuple(best[name][key] if name in best else None for name in titles)
        rows.append(Row(key, title, figures))
    return Table(
        "lookup", f"Reads of {size.objects:,} pods in memory: wall time of one", columns, tuple(rows)
    )


def judged_table(best: Mapping[str, Figures]) -> Table:
    """Judge the lazy store: a get, and whether an index lookup is linear in its result only."""
    lazy, few, many = best[LAZY], f"index_{BUCKETS[0]}", f"index_{BUCKETS[-1]}"
    grown = ratio(lazy[many], lazy[few])
    rows = (
        _judged("get_us", "get_by_key: µs", lazy["get"], GET),
        _judged(
            "index_growth",
            f"by_index, {BUCKETS[-1]:,} found: cost of each, times that of {BUCKETS[0]} found",
            None if grown is None else grown * BUCKETS[0] / BUCKETS[-1],
            LINEAR,
        ),
        _judged(
            "index_size",
            f"by_index, {BUCKETS[1]} found: times that in a store a tenth as large",
            ratio(lazy[f"index_{BUCKETS[1]}"], best[SMALLER][f"index_{BUCKETS[1]}"]),
            SAME,
        ),
    )
    return Table("judged", "The lazy store", (Column("value", "", 2),), rows)


def _judged(name: str, title: str, value: float | None, limit: float) -> Row:
    return Row(name, title, (value,), None if value is None else Target(name, value, limit))


def run(runs: Runs, size: Size) -> Report:
    """Measure everything."""
    cases = {
        LAZY: lambda: measured(runs, LAZY, size.objects, size.calls),
        SMALLER: lambda: measured(runs, LAZY, size.objects // _SMALLER_BY, size.calls),
    }
    notes = ["The least of several slices counts. Compact objects are decoded when they are read."]
    if util.find_spec("zstandard") is not None:
        cases[COMPACT] = lambda: measured(runs, COMPACT, size.objects, size.calls)
    else:
        notes.append("Compact objects are not measured: they need the extra masthead[compact].")
    best = measure.best_of(size.repeat, cases)
    tables: tuple[Table, ...] = (lookup_table(best, size), judged_table(best))
    if size == Size.quick():  # which is too little to judge by
        tables = tuple(without_targets(table) for table in tables)
    return Report("lookup", dataclasses.asdict(size), tables, tuple(notes))


def main() -> None:
    """Run the benchmark."""
    parser = measure.parser(__doc__, repeat=1)
    parser.add_argument("--quick", action="store_true", help="a smoke run, whose figures mean little")
    parser.add_argument(
        "--objects", type=measure.positive, default=Size.objects, help="(default: %(default)s)"
    )
    options = parser.parse_args()
    size = Size.quick() if options.quick else Size(options.objects, repeat=options.repeat)
    with measure.lab() as lab:
        show(run(Runs(lab, sys.executable), size))


if __name__ == "__main__":
    main()
