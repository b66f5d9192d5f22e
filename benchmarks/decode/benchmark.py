"""Time and memory per pod of a long list, beside json.loads and the peers that are installed.

Times are CPU time, the minimum of several rounds, each measurement in a process of its own. They are taken twice:
with the garbage collector on, as programs have it, making many objects costs extra, most of all for json.loads;
with the collector off, the comparison is the stricter one, and that is where targets are checked.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Final

from benchmarks.decode.workloads import LISTS, SINGLES
from benchmarks.harness import measure, pods
from benchmarks.harness.report import Column, Report, Row, Table, Target, show, unjudged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from benchmarks.harness.measure import Figures, Lab

LAZY_TIME: Final = 1 / 4
"""A list as it comes, of json.loads."""
NESTED_TIME: Final = 1 / 2
"""A list with one nested access for each pod, of json.loads."""
LAZY_MEMORY: Final = 1 / 2
"""A list as it comes, of the same list with every section decoded."""

_QUICK: Final = 100
_HELD: Final = ("json", "lazy", "nested", "full")


@dataclasses.dataclass(frozen=True)
class Bench:
    """Measures workloads.

    Attributes:
        lab: Where.
        count: How many pods a list has.
    """

    lab: Lab
    count: int

    def per_pod(self, what: str, names: Iterable[str], *, repeat: int) -> dict[str, float | None]:
        """Measure each workload, and return the minimum of the rounds for one pod."""
        cases = {name: functools.partial(self._run, what, name) for name in names}
        best = measure.best_of(repeat, cases)
        return {name: figures["per pod"] for name, figures in best.items()}

    def _run(self, what: str, name: str) -> Figures:
        if name in SINGLES:
            one = self._file("one", pods.one_pod)
            return self._measured(what, name, one, one, "--calls", str(self.count), pods_read=self.count)
        count = min(self.count, LISTS[name].at_most)
        return self._measured(what, name, self._list(count), self._list(1), pods_read=count)

    def _measured(self, *arguments: str | Path, pods_read: int) -> Figures:
        measured: float | None = self.lab.run("-m", "benchmarks.decode.workloads", *arguments)["measured"]
        return {"per pod": None if measured is None else measured / pods_read}

    def _list(self, count: int) -> Path:
        return self._file(f"list-of-{count}", functools.partial(pods.pod_list, count))

    def _file(self, name: str, make: Callable[[], bytes]) -> Path:
        """A file for the runs to read, created on first use."""
        path = self.lab.folder / f"{name}.json"
        if not path.exists():
            path.write_bytes(make())
        return path


def run(lab: Lab, *, count: int, repeat: int) -> Report:
    """Measure everything."""
    bench = Bench(lab, count)
    lists = {name: each for name, each in LISTS.items() if each.is_installed}
    tables = (
        _time_table(
            "list",
            f"A list of {count:,} pods: CPU time per pod, minimum of {repeat}",
            {name: each.label(count) for name, each in lists.items()},
            strict=bench.per_pod("cpu-without-gc", lists, repeat=repeat),
            usual=bench.per_pod("cpu", lists, repeat=repeat),
        ),
        _time_table(
            "one",
            f"One pod, {count:,} times over: CPU time per pod, minimum of {repeat}",
            {name: each.title for name, each in SINGLES.items()},
            strict=bench.per_pod("cpu-without-gc", SINGLES, repeat=repeat),
            usual=bench.per_pod("cpu", SINGLES, repeat=repeat),
        ),
        _memory_table(
            f"A list of {count:,} pods: bytes held per pod, one run",
            traced=bench.per_pod("traced", _HELD, repeat=1),
            resident=bench.per_pod("resident", _HELD, repeat=1),
        ),
    )
    return Report("decode", {"pods": count, "repeat": repeat}, tables, _notes())


def _time_table(
    name: str,
    title: str,
    labels: Mapping[str, str],
    *,
    strict: Mapping[str, float | None],
    usual: Mapping[str, float | None],
) -> Table:
    """Lay out seconds, with the collector off and on, beside those of json.loads, which come first."""
    columns = (
        Column("us", "GC off: µs"),
        Column("ratio", "of json.loads", 2),
        Column("us_with_gc", "GC on: µs"),
        Column("ratio_with_gc", "of json.loads", 2),
    )
    base = next(iter(labels))
    rows: list[Row] = []
    for each, label in labels.items():
        ratio = measure.ratio(strict[each], strict[base])
        figures = (
            measure.scaled(strict[each], 1e6),
            ratio,
            measure.scaled(usual[each], 1e6),
            measure.ratio(usual[each], usual[base]),
        )
        limit = {"lazy": LAZY_TIME, "nested": NESTED_TIME}.get(each)
        rows.append(Row(each, label, figures, _target(f"{each}_time", ratio, limit)))
    return Table(name, title, columns, tuple(rows))


def _memory_table(title: str, *, traced: Mapping[str, float | None], resident: Mapping[str, float | None]) -> Table:
    """Lay out bytes as Python and as the system count them."""
    columns = (
        Column("bytes", "tracemalloc: bytes", 0),
        Column("ratio", "of every section", 2),
        Column("ratio_to_json", "of json.loads", 2),
        Column("rss_bytes", "RSS: bytes", 0),
        Column("rss_ratio", "of tracemalloc", 2),
    )
    rows: list[Row] = []
    for each, held in traced.items():
        ratio = measure.ratio(held, traced["full"])
        figures = (
            held,
            ratio,
            measure.ratio(held, traced["json"]),
            resident[each],
            measure.ratio(resident[each], held),
        )
        limit = LAZY_MEMORY if each == "lazy" else None
        rows.append(Row(each, LISTS[each].title, figures, _target(f"{each}_memory", ratio, limit)))
    return Table("memory", title, columns, tuple(rows))


def _target(name: str, value: float | None, limit: float | None) -> Target | None:
    return None if value is None or limit is None else Target(name, value, limit)


def _notes() -> tuple[str, ...]:
    notes = [
        "Targets are checked with the garbage collector (GC) off, which is the stricter comparison.",
        "tracemalloc sees what Python's allocators gave out; RSS is what the process grew by.",
    ]
    missing = sorted({each.peer for each in LISTS.values() if not each.is_installed})
    if missing:
        notes.append(f"Not installed, so not measured: {', '.join(missing)} (pip install 'masthead-k8s[peers]').")
    return tuple(notes)


def main() -> None:
    """Run the benchmark."""
    parser = measure.parser(__doc__, repeat=5, quick=True)
    parser.add_argument("--pods", type=measure.positive, default=10_000, help="pods in the list (default: %(default)s)")
    options = parser.parse_args()
    count, repeat = (_QUICK, 1) if options.quick else (options.pods, options.repeat)
    with measure.lab() as lab:
        report = run(lab, count=count, repeat=repeat)
    if options.quick:  # which is too little to judge by
        report = dataclasses.replace(report, tables=unjudged(report.tables))
    show(report)
