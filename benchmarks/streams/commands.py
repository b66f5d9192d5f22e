"""Small commands in a container, one after the other, with the official client beside ours."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from benchmarks.harness import measure
from benchmarks.harness.measure import scaled
from benchmarks.harness.report import Column, Row, Table, Target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.harness.measure import Figures, Lab

_WORKER: Final = "benchmarks.streams.exec_worker"
_SERVER: Final = "benchmarks.streams.server"
PEER: Final = "kubernetes"
"""The client that is not ours, and its distribution."""
_LIMIT_MS: Final = 3.0
TITLES: Final = {"aio": "masthead.aio", "sync": "masthead", PEER: "kubernetes {}"}


def measured(lab: Lab, count: int, repeat: int, python: str) -> tuple[dict[str, Figures], Mapping[str, str]]:
    """What each client takes, and the version of the one that is not ours."""
    versions: Mapping[str, str] = lab.run("-m", _WORKER, "installed", python=python)
    present = [name for name in TITLES if name != PEER or PEER in versions]
    with lab.serving(_SERVER) as kubeconfig:
        cases = {
            name: functools.partial(
                lab.run,
                "-m",
                _WORKER,
                name,
                kubeconfig,
                str(count),
                **({"python": python} if name == PEER else {}),
            )
            for name in present
        }
        return measure.best_of(repeat, cases), versions


def table(found: Mapping[str, Figures], versions: Mapping[str, str], count: int) -> Table:
    """Lay out the times."""
    columns = (Column("p50", "p50: ms", 2), Column("p99", "p99: ms", 2))
    rows = tuple(
        Row(
            name,
            TITLES[name].format(versions.get(PEER, "")),
            (scaled(used["p50"], 1e3), scaled(used["p99"], 1e3)),
            _target(name, scaled(used["p50"], 1e3)),
        )
        for name, used in found.items()
    )
    return Table("exec", f"exec of a small command, {count:,} times: from the call to its result", columns, rows)


def _target(name: str, value: float | None) -> Target | None:
    return None if name == PEER or value is None else Target(f"exec_{name}_ms", value, _LIMIT_MS)
