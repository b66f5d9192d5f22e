"""A file copied to a pod and back, with the official client beside ours, through which users run tar themselves."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from benchmarks.harness import measure
from benchmarks.harness.measure import MEGA, scaled
from benchmarks.harness.report import Column, Row, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.harness.measure import Figures, Lab

_WORKER: Final = "benchmarks.streams.copy_worker"
_SERVER: Final = "benchmarks.streams.copy_server"
PEER: Final = "kubernetes"
"""The client that is not ours, and its distribution."""
TITLES: Final = {"masthead": "masthead, copy_to and copy_from", PEER: "kubernetes {}, tar through stream()"}


def measured(lab: Lab, size: int, repeat: int, python: str) -> tuple[dict[str, Figures], Mapping[str, str]]:
    """What each client takes, and the version of the one that is not ours."""
    versions: Mapping[str, str] = lab.run("-m", _WORKER, "installed", python=python)
    with lab.serving(_SERVER) as kubeconfig:
        ours = functools.partial(lab.run, "-m", _WORKER, "masthead", kubeconfig, str(size))
        found = measure.best_of(repeat, {"masthead": ours})
        if PEER in versions:  # once, because it takes minutes
            found[PEER] = lab.run("-m", _WORKER, PEER, kubeconfig, str(size), python=python)
    return found, versions


def table(found: Mapping[str, Figures], versions: Mapping[str, str], size: int) -> Table:
    """Lay out throughput and memory."""
    columns = (
        Column("up", "to the pod: MB/s", 0),
        Column("down", "from the pod: MB/s", 0),
        Column("peak", "peak memory MB", 0),
    )
    rows = tuple(
        Row(
            name,
            TITLES[name].format(versions.get(PEER, "")),
            (_rate(used["up"], size), _rate(used["down"], size), scaled(used["peak"], 1 / MEGA)),
        )
        for name, used in found.items()
    )
    return Table("cp", f"A file of {size / MEGA:,.0f} MB, copied by tar", columns, rows)


def _rate(seconds: float | None, size: int) -> float | None:
    return None if not seconds else size / seconds / MEGA
