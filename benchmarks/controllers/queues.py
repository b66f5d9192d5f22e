"""The table of work queues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.harness.report import Column, Row, Table, Target

if TYPE_CHECKING:
    from benchmarks.harness.measure import Figures, Lab

QUEUE: Final = 3.0
"""Microseconds to add a key, take it and be done with it."""

_ROWS: Final = {
    "bulk": "add, get and done, in bulk",
    "single": "  one key after the other",
    "priorities": "  two priorities, in bulk",
    "delayed": "  after a delay",
    "woken": "  with a worker that waits each time: two turns of the loop",
    "thread": "  added by a thread",
    "blocking": "add, get and done of the blocking queue, in bulk",
    "plain": "asyncio.Queue, for comparison: no duplicates, no delays",
}
_JUDGED: Final = ("bulk", "single", "blocking")


def measured(lab: Lab, keys: int) -> Figures:
    """Measure all cases, with so many keys."""
    return lab.run("-m", "benchmarks.controllers.queue_worker", str(keys))


def queue_table(best: Figures, keys: int) -> Table:
    """Lay out the microseconds of each case."""
    rows = tuple(Row(name, title, (best[name],), _target(name, best[name])) for name, title in _ROWS.items())
    return Table("queue", f"Work queue, {keys:,} keys: CPU time of one", (Column("us", "CPU: µs", 2),), rows)


def _target(name: str, value: float | None) -> Target | None:
    return Target(f"queue_{name}_us", value, QUEUE) if name in _JUDGED and value is not None else None
