"""The tables of reconciles and operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.controllers.operators import COMPACT, KOPF, NOOP, OPERATORS
from benchmarks.harness.measure import MEGA, ratio, scaled
from benchmarks.harness.report import Column, Row, Table, Target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.harness.measure import Figures

RECONCILE: Final = 60.0
"""Microseconds of CPU time of a no-op reconcile, from enqueueing to its end."""
CPU_OF_KOPF: Final = 1 / 20
"""Of kopf's CPU time for an object, from start to quiet."""
MEMORY_OF_KOPF: Final = 1 / 5
"""Of the memory that kopf takes for its objects."""
LATENCY: Final = 20.0
"""Milliseconds from a change on the server to the start of its reconcile: the 99th percentile of an idle operator."""
SUSTAINED: Final = 0.98
"""The part of the changes per second that must be reached."""
FLAT: Final = 2.0
"""Megabytes that the memory may grow under steady changes, after the first fifth of them."""


def reconcile_table(figures: Figures, objects: int) -> Table:
    """Lay out the CPU time of no-op reconciles."""
    rows = (
        _row("metrics", "with Prometheus metrics", (figures["metrics"],), RECONCILE, "reconcile_us"),
        Row("plain", "without metrics", (figures["plain"],)),
    )
    title = f"A no-op reconcile of one of {objects:,} objects, from enqueueing to its end"
    return Table("reconcile", title, (Column("us", "CPU: µs"),), rows)


def start_table(found: Mapping[str, Figures], versions: Mapping[str, str], objects: int) -> Table:
    """Lay out what operators take from start to quiet, and how soon they notice a change when idle."""
    columns = (
        Column("cpu", "CPU an object: ms", 3),
        Column("wall", "wall: s"),
        Column("grown", "memory grown: MB"),
        Column("resident", "resident: MB"),
        Column("writes", "writes an object"),
        Column("p50", "idle, change to handler: p50 ms"),
        Column("p99", "p99 ms"),
    )
    rows: list[Row] = []
    for name, figures in found.items():
        operator = OPERATORS[name]
        title = operator.title.replace(operator.peer, f"{operator.peer} {versions.get(operator.peer, '')}", 1)
        row = (
            scaled(figures["cpu"], 1e3 / objects),
            figures["wall"],
            scaled(figures["grown"], 1 / MEGA),
            scaled(figures["resident"], 1 / MEGA),
            scaled(figures["writes"], 1 / objects),
            figures["p50"],
            figures["p99"],
        )
        rows.append(Row(name, title if operator.peer else operator.title, row))
    title = f"{objects:,} custom resources: from start to all handled and quiet, then one change at a time"
    return Table("start", title, columns, tuple(rows))


def judged_table(found: Mapping[str, Figures]) -> Table:
    """Judge our operator, by itself and beside kopf's."""
    ours, kopf, compact = found[NOOP], found.get(KOPF, {}), found[COMPACT]
    rows = (
        _row("p99", "idle, change to reconcile, p99: ms", (ours["p99"],), LATENCY, "idle_p99_ms"),
        _row(
            "cpu",
            "CPU of an object, times kopf's",
            (ratio(ours["cpu"], kopf.get("cpu")),),
            CPU_OF_KOPF,
            "cpu_of_kopf",
        ),
        _row(
            "memory",
            "memory grown, compact cache, times kopf's",
            (ratio(compact["grown"], kopf.get("grown")),),
            MEMORY_OF_KOPF,
            "memory_of_kopf",
        ),
        Row("lazy", "memory grown, times kopf's", (ratio(ours["grown"], kopf.get("grown")),)),
    )
    return Table("judged", "masthead, writes nothing", (Column("value", "", 3),), rows)


def steady_table(figures: Figures, rate: int, seconds: int, objects: int) -> Table:
    """Lay out what steady changes take."""
    reached = figures["rate"]
    target = None if reached is None else Target("sustained", reached / rate, SUSTAINED, is_least=True)
    rows = (
        Row("rate", "changes a second", (reached,), target),
        Row("reconciles", "reconciles of a change", (figures["reconciles"],)),
        Row("cpu", "CPU of a change: µs", (figures["cpu"],)),
        _row(
            "grown",
            "memory grown behind the first fifth: MB",
            (scaled(figures["grown"], 1 / MEGA),),
            FLAT,
            "steady_grown_mb",
        ),
        Row("p50", "change to reconcile, p50: ms", (figures["p50"],)),
        Row("p99", "change to reconcile, p99: ms", (figures["p99"],)),
    )
    title = f"masthead, writes nothing: {rate:,} changes a second of {objects:,} objects, for {seconds} s"
    return Table("steady", title, (Column("value", "", 1),), rows)


def _row(name: str, title: str, figures: tuple[float | None], limit: float, target: str) -> Row:
    value = figures[0]
    return Row(name, title, figures, None if value is None else Target(target, value, limit))
