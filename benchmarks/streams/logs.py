"""The logs of many pods, while they are written and afterwards, compared with the official client."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from benchmarks.harness import measure
from benchmarks.harness.measure import MEGA, scaled
from benchmarks.harness.report import Column, Row, Table, Target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.harness.measure import Figures, Lab

_WORKER: Final = "benchmarks.streams.log_worker"
_SERVER: Final = "benchmarks.streams.log_server"
PEER: Final = "kubernetes"
"""The distribution of the client that is not ours."""
TITLES: Final = {
    "async": "masthead.aio, merged",
    "blocking": "masthead, merged",
    "official": "kubernetes {}, a thread per pod",
}
PODS: Final = 100
WRITTEN: Final = 60_000
"""Lines a second that the pods write: more than are asked for, since the clients are not to be the only limit."""
LEAST: Final = 50_000
"""Lines a second that are to be read."""


def measured(
    lab: Lab, lines: int, repeat: int, python: str, *, follow: bool
) -> tuple[dict[str, Figures], Mapping[str, str]]:
    """What each client takes for so many lines, and the version of the one that is not ours."""
    versions: Mapping[str, str] = lab.run("-m", _WORKER, "installed", python=python)
    present = [name for name in TITLES if name != "official" or PEER in versions]
    kept = ("--rate", str(WRITTEN)) if follow else ("--lines", str(lines // PODS))
    more = ("--follow",) if follow else ()
    with lab.serving(_SERVER, "--pods", str(PODS), *kept) as kubeconfig:
        cases = {
            name: functools.partial(
                lab.run,
                "-m",
                _WORKER,
                name,
                kubeconfig,
                "--lines",
                str(lines),
                *more,
                **({"python": python} if name == "official" else {}),
            )
            for name in present
        }
        return measure.best_of(repeat, cases), versions


def table(found: Mapping[str, Figures], versions: Mapping[str, str], lines: int, *, follow: bool) -> Table:
    """Lay out the rates; ours are judged."""
    columns = (
        Column("rate", "lines/s", 0),
        Column("cpu", "CPU µs per line"),
        Column("peak", "peak memory MB", 0),
    )
    rows: list[Row] = []
    for name, used in found.items():
        rate = None if not used["wall"] else lines / used["wall"]
        figures = (rate, scaled(used["cpu"], 1e6 / lines), scaled(used["peak"], 1 / MEGA))
        is_judged = follow and name != "official" and rate is not None
        key = f"logs_{name}_lines_s"
        target = Target(key, round(rate), LEAST, is_least=True) if is_judged and rate is not None else None
        rows.append(Row(name, TITLES[name].format(versions.get(PEER, "")), figures, target))
    what = f"written at {WRITTEN:,} a second" if follow else "written before"
    title = f"{lines:,} lines of {PODS} pods, {what}"
    return Table("logs_followed" if follow else "logs_read", title, columns, tuple(rows))
