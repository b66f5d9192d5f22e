"""What it costs to read many pods and to keep them, laid out the same wherever that is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.harness.measure import MEGA, ratio, scaled
from benchmarks.harness.report import Column

if TYPE_CHECKING:
    from benchmarks.harness.measure import Figures

COSTS: Final = (
    Column("pods", "pods", 0),
    Column("wall_s", "wall s", 2),
    Column("cpu_s", "CPU s", 2),
    Column("cpu_us", "CPU µs per pod", 1),
    Column("held_mb", "held MB", 0),
    Column("peak_mb", "peak MB", 0),
    Column("held_bytes", "held bytes per pod", 0),
)
"""The columns for `cost_of`."""


def cost_of(used: Figures, pods: float | None, *, prefix: str = "") -> tuple[float | None, ...]:
    """The row of a measurement of so many pods, whose figures have names that begin so."""
    wall, cpu, held, peak = (used[f"{prefix}{name}"] for name in ("wall", "cpu", "held", "peak"))
    return (
        pods,
        wall,
        cpu,
        scaled(ratio(cpu, pods), 1e6),
        scaled(held, 1 / MEGA),
        scaled(peak, 1 / MEGA),
        ratio(held, pods),
    )
