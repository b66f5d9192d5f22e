"""What ``masthead bench`` found, as text and as plain data. Pure: nothing is measured here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Latency", "BenchReport", "Synced", "as_data", "percentile", "render"]

_MS: Final = 1e3
_MEGA: Final = 1e6
_COLUMNS: Final = ("least", "median", "p90", "most")


@dataclass(frozen=True, slots=True)
class Latency:
    """The durations of repeated calls.

    Attributes:
        title: The title of the call.
        seconds: The durations in seconds; at least one.
    """

    title: str
    seconds: tuple[float, ...]

    @property
    def milliseconds(self) -> dict[str, float]:
        """The least, the median, the 90th percentile and the most, in milliseconds."""
        shares = zip(_COLUMNS, (0.0, 0.5, 0.9, 1.0), strict=True)
        return {name: percentile(self.seconds, share) * _MS for name, share in shares}


@dataclass(frozen=True, slots=True)
class Synced:
    """What an informer took from its start until it was synced.

    Attributes:
        hold: How it stores objects.
        objects: How many there are.
        wall: Seconds.
        cpu: Seconds of CPU time of this process.
        grown: Bytes by which the process grew; None where that is not known.
    """

    hold: str
    objects: int
    wall: float
    cpu: float
    grown: int | None


@dataclass(frozen=True, slots=True)
class BenchReport:
    """All that was measured.

    Attributes:
        server: The server and its version.
        what: The objects, and where they are.
        latencies: Of calls.
        synced: The informer.
    """

    server: str
    what: str
    latencies: tuple[Latency, ...]
    synced: Synced


def percentile(values: Sequence[float], share: float) -> float:
    """The least of some values that at least such a share of them does not exceed.

    Args:
        values: At least one.
        share: Between 0, for the least, and 1, for the most.
    """
    # The nearest rank: every figure of the report was measured, and none is interpolated.
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def render(report: BenchReport) -> str:
    """The report as text."""
    width = max(len(latency.title) for latency in report.latencies) + 2
    head = "".join(f"{column:>10}" for column in _COLUMNS)
    lines = [f"{report.server}: {report.what}", "", f"{'milliseconds':<{width}}{head}"]
    for latency in report.latencies:
        cells = "".join(f"{value:>10,.1f}" for value in latency.milliseconds.values())
        lines.append(f"{latency.title:<{width}}{cells}")
    return "\n".join([*lines, "", *_synced_lines(report.synced)]) + "\n"


def _synced_lines(synced: Synced) -> list[str]:
    memory = (
        "not known on this platform"
        if synced.grown is None
        else f"{synced.grown / _MEGA:,.1f} MB{_each(synced.grown, synced.objects, 'bytes')}"
    )
    # An empty kind has no rate, and a coarse clock may measure zero seconds.
    rate = f", {synced.objects / synced.wall:,.0f} objects a second" if synced.objects and synced.wall else ""
    return [
        f"An informer, {synced.hold}: {synced.objects:,} {'object' if synced.objects == 1 else 'objects'}",
        f"  from start to synced   {synced.wall:,.2f} s{rate}",
        f"  CPU                    {synced.cpu:,.2f} s{_each(synced.cpu * 1e6, synced.objects, 'µs')}",
        f"  memory grown           {memory}",
    ]


def _each(value: float, objects: int, unit: str) -> str:
    return f", {value / objects:,.0f} {unit} an object" if objects else ""


def as_data(report: BenchReport) -> dict[str, object]:
    """The report as plain data."""
    synced = report.synced
    return {
        "server": report.server,
        "resource": report.what,
        "milliseconds": {
            latency.title: {name: round(value, 3) for name, value in latency.milliseconds.items()}
            for latency in report.latencies
        },
        "informer": {
            "hold": synced.hold,
            "objects": synced.objects,
            "wallSeconds": round(synced.wall, 4),
            "cpuSeconds": round(synced.cpu, 4),
            "grownBytes": synced.grown,
        },
    }
