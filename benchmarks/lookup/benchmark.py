"""Reads from an informer's store: by key, by index, by selector, for lazy and compact objects.

Each measurement has a process of its own, as has the server that the informer mirrors. A smaller store is measured,
too, to see that a lookup depends on what it finds, not on the size of the cache.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Final

from benchmarks.harness import measure
from benchmarks.harness.measure import ratio
from benchmarks.harness.report import Column, Report, Row, Table, Target, show, unjudged
from benchmarks.lookup.worker import BUCKETS, PRINTED
from benchmarks.sync.clients import COMPACT, CONTENDERS, LAZY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from benchmarks.harness.measure import Figures, Lab

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
    "table": f"printers.table and its text, a pod of {PRINTED:,}",
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
        return cls(objects=200, calls=50)


def measured(lab: Lab, holds: Iterable[str], pods: int, size: Size) -> dict[str, Figures]:
    """Measure some ways to hold objects, in a store of one size."""
    calls = ("--calls", str(size.calls))
    with lab.serving("benchmarks.watch.server", "--pods", str(pods)) as kubeconfig:
        program = functools.partial(lab.run, "-m", "benchmarks.lookup.worker")
        cases = {hold: functools.partial(program, hold, kubeconfig, *calls) for hold in holds}
        return measure.best_of(size.repeat, cases)


def lookup_table(best: Mapping[str, Figures], size: Size) -> Table:
    """Lay out the microseconds of each kind of read."""
    smaller = size.objects // _SMALLER_BY
    titles = {LAZY: "lazy: µs", SMALLER: f"lazy, of {smaller:,}: µs", COMPACT: "compact: µs"}
    columns = tuple(Column(name, title, 2) for name, title in titles.items())
    rows: list[Row] = []
    for key, title in _ROWS.items():
        figures = tuple(best[name][key] if name in best else None for name in titles)
        rows.append(Row(key, title, figures))
    return Table("lookup", f"Reads of {size.objects:,} pods in memory: wall time of one", columns, tuple(rows))


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


def run(lab: Lab, size: Size) -> Report:
    """Measure everything."""
    notes = ["The least of several slices counts. Compact objects are decoded when they are read."]
    holds = [name for name in (LAZY, COMPACT) if CONTENDERS[name].is_there]
    if COMPACT not in holds:
        notes.append("Compact objects are not measured: they need the extra masthead-k8s[compact].")
    best = measured(lab, holds, size.objects, size)
    best[SMALLER] = measured(lab, [LAZY], size.objects // _SMALLER_BY, size)[LAZY]
    tables: tuple[Table, ...] = (lookup_table(best, size), judged_table(best))
    if size == Size.quick():  # which is too little to judge by
        tables = unjudged(tables)
    return Report("lookup", dataclasses.asdict(size), tables, tuple(notes))


def main() -> None:
    """Run the benchmark."""
    parser = measure.parser(__doc__, repeat=1, quick=True)
    parser.add_argument("--objects", type=measure.positive, default=Size.objects, help="(default: %(default)s)")
    options = parser.parse_args()
    size = Size.quick() if options.quick else Size(options.objects, repeat=options.repeat)
    with measure.lab() as lab:
        show(run(lab, size))
