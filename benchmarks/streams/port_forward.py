"""Bytes through one forwarded connection, both ways, with the official client and kr8s beside ours."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from benchmarks.harness import measure
from benchmarks.harness.measure import MEGA
from benchmarks.harness.report import Column, Row, Table, Target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.harness.measure import Figures, Lab

_WORKER: Final = "benchmarks.streams.port_forward_worker"
_SERVER: Final = "benchmarks.streams.server"
PEERS: Final = {"kubernetes": "kubernetes", "kr8s": "kr8s"}
"""The distribution of each client that is not ours."""
TITLES: Final = {
    "masthead": "masthead, a local port",
    "masthead-socket": "masthead, a socket",
    "kubernetes": "kubernetes {}, a socket",
    "kr8s": "kr8s {}, a local port",
}
FAST: Final = 200.0
"""Megabytes a second that are enough, whatever others reach."""
TIMES_OF_OFFICIAL: Final = 5.0
"""Or so many times what the official client reaches."""


def measured(lab: Lab, size: int, repeat: int, python: str) -> tuple[dict[str, Figures], Mapping[str, str]]:
    """The seconds of each client, and the versions of those that are not ours."""
    versions: Mapping[str, str] = lab.run("-m", _WORKER, "installed", python=python)
    present = [name for name in TITLES if name not in PEERS or PEERS[name] in versions]
    with lab.serving(_SERVER) as kubeconfig:
        cases = {
            name: functools.partial(
                lab.run,
                "-m",
                _WORKER,
                name,
                kubeconfig,
                str(size),
                **({"python": python} if name in PEERS else {}),
            )
            for name in present
        }
        return measure.best_of(repeat, cases), versions


def table(found: Mapping[str, Figures], versions: Mapping[str, str], size: int) -> Table:
    """Lay out the throughput; ours is judged."""
    columns = (Column("down", "from the pod: MB/s", 0), Column("up", "to the pod: MB/s", 0))
    rates = {name: tuple(_rate(figures.get(each), size) for each in ("down", "up")) for name, figures in found.items()}
    rows = tuple(
        Row(
            name,
            TITLES[name].format(versions.get(name, "")),
            rate,
            _target(name, rate, rates.get("kubernetes")),
        )
        for name, rate in rates.items()
    )
    return Table("port_forward", f"{size / MEGA:,.0f} MB through one forwarded connection", columns, rows)


def _rate(seconds: float | None, size: int) -> float | None:
    return None if not seconds else size / seconds / MEGA


def _target(name: str, rate: tuple[float | None, ...], official: tuple[float | None, ...] | None) -> Target | None:
    """What the slower direction has to reach: enough, or a multiple of the official client's, whichever is less."""
    ours = [each for each in rate if each is not None]
    if name != "masthead" or len(ours) < len(rate):
        return None
    theirs = [TIMES_OF_OFFICIAL * each for each in official or () if each is not None]
    least = min([FAST, *theirs])
    return Target("port_forward_mb_s", min(ours), round(least, 1), is_least=True)
