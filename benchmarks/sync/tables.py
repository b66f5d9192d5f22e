"""The tables of the sync benchmark: what was measured, and how ours compares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.harness.costs import COSTS, cost_of
from benchmarks.harness.measure import ratio, scaled
from benchmarks.harness.report import Column, Row, Table, Target
from benchmarks.requests.clients import OFFICIAL
from benchmarks.sync.clients import COMPACT, LAZY, OURS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from benchmarks.harness.measure import Figures

CPU: Final = 1 / 20
"""Of the official informer's CPU, for each way to hold objects."""
MEMORY: Final = {LAZY: 1 / 8, COMPACT: 1 / 40}
"""Of the memory that the official informer holds."""
REAL_CPU: Final = 75.0
"""Microseconds of CPU for each pod of a real server: 1.5 seconds for 20,000."""
OF_CLIENT_GO: Final = 0.5
"""Of the CPU of client-go's informer with protobuf."""
PROTOBUF: Final = "client_go_protobuf"


def sync_table(titles: Mapping[str, str], measured: Mapping[str, Figures], *, where: str, rounds: int) -> Table:
    """Lay out what it takes to sync, and what is held afterwards."""
    rows = [Row(name, titles[name], cost_of(used, used["pods"])) for name, used in measured.items()]
    most = max(used["pods"] or 0 for used in measured.values())
    title = f"From start to synced, {most:,.0f} pods of 5.9 KB from {where}: best of {rounds}"
    return Table("sync", title, COSTS, tuple(rows))


def compare_table(measured: Mapping[str, Figures], *, real: bool) -> Table:
    """Lay out how much of the others' CPU and memory ours takes."""
    columns = tuple(Column(name, name, 3) for name in OURS)
    rows = (*_official_rows(measured), *(_real_rows(measured) if real else ()))
    return Table("compare", "masthead.aio's informer beside the others'", columns, rows)


def per_pod(figures: Figures) -> Figures:
    """What one pod took of what all took."""
    return {key: ratio(value, figures["pods"]) for key, value in figures.items() if key != "pods"}


def _official_rows(measured: Mapping[str, Figures]) -> Iterator[Row]:
    if OFFICIAL not in measured:
        return
    cpu, held = (_of(measured, OFFICIAL, key) for key in ("cpu", "held"))
    yield _row("cpu_of_official", "CPU, of the official informer's", cpu, LAZY, CPU)
    for name, limit in MEMORY.items():
        title = f"memory held, of the official informer's: {name}"
        yield _row(f"{name}_memory_of_official", title, held, name, limit)


def _real_rows(measured: Mapping[str, Figures]) -> Iterator[Row]:
    own = {name: scaled(per_pod(measured[name])["cpu"], 1e6) for name in OURS if name in measured}
    yield _row("real_cpu_us", "CPU µs per pod, of a real server", own, LAZY, REAL_CPU)
    if PROTOBUF in measured:
        of_go = _of(measured, PROTOBUF, "cpu")
        yield _row("cpu_of_client_go", "CPU, of client-go's with protobuf", of_go, LAZY, OF_CLIENT_GO)


def _of(measured: Mapping[str, Figures], base: str, key: str) -> dict[str, float | None]:
    """What ours take for a pod, divided by what another one takes."""
    of = per_pod(measured[base])[key]
    return {name: ratio(per_pod(measured[name])[key], of) for name in OURS if name in measured}


def _row(name: str, title: str, figures: Mapping[str, float | None], judged: str, limit: float) -> Row:
    value = figures.get(judged)
    target = None if value is None else Target(name, value, limit)
    return Row(name, title, tuple(figures.get(each) for each in OURS), target)
