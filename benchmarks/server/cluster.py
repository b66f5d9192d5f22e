"""A large cluster: a thousand nodes, and fifty thousand pods that their Deployments roll while watchers follow."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Final

from benchmarks.harness.measure import MEGA, ratio, scaled
from benchmarks.harness.report import Column, Report, Row, Table, Target, unjudged
from benchmarks.harness.wire import Address
from benchmarks.server.contenders import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Generator

    from benchmarks.harness.measure import Figures, Lab

GROWTH: Final = 1.05
"""Memory after the last roll, as a multiple of that after the one before: it stays flat."""


@dataclasses.dataclass(frozen=True)
class ClusterSize:
    """How large the cluster is."""

    nodes: int = 1_000
    deployments: int = 250
    replicas: int = 200
    watchers: int = 50
    rolls: int = 4

    @classmethod
    def quick(cls) -> ClusterSize:
        """Just enough to see that everything works."""
        return cls(nodes=20, deployments=4, replicas=25, watchers=3, rolls=2)

    @property
    def pods(self) -> int:
        """The pods of all Deployments."""
        return self.deployments * self.replicas


def cluster_report(lab: Lab, *, is_quick: bool) -> Report:
    """Measure the phases of a cluster's life."""
    size = ClusterSize.quick() if is_quick else ClusterSize()
    counts = dataclasses.asdict(size)
    nodes = counts.pop("nodes")
    with _cluster(lab, nodes) as (address, process):
        options = [word for name, count in counts.items() for word in (f"--{name}", str(count))]
        found = lab.run("-m", "benchmarks.server.cluster_load", address.url, "--process", str(process), *options)
    tables: tuple[Table, ...] = (_phase_table(size, found),)
    notes = (
        "Server and load share this machine's cores.",
        "Each watcher follows all pods. Events expire after a minute.",
    )
    return Report("server_cluster", dataclasses.asdict(size), unjudged(tables) if is_quick else tables, notes)


@contextlib.contextmanager
def _cluster(lab: Lab, nodes: int) -> Generator[tuple[Address, int]]:
    # Events would outlive the pods that they are about by an hour, and dominate the memory.
    with lab.running(*PROGRAM, "--nodes", str(nodes), "--event-ttl", "60") as process:
        assert process.stdout is not None
        yield Address(process.stdout.readline().rpartition(" ")[2].strip()), process.pid


def _phase_table(size: ClusterSize, found: dict[str, Figures]) -> Table:
    columns = (
        Column("wall_s", "wall s", 1),
        Column("cpu_ms", "CPU ms per pod", 2),
        Column("resident_mb", "MB afterwards", 0),
        Column("events", "events per watcher", 0),
    )
    rows: list[Row] = []
    names = list(found)
    for name, figures in found.items():
        target = None
        if name == names[-1] and len(names) > 2:
            growth = ratio(figures["resident"], found[names[-2]]["resident"])
            target = None if growth is None else Target("memory_growth", growth, GROWTH)
        cpu = scaled(ratio(figures["cpu"], float(size.pods)), 1e3)
        row = (figures["wall"], cpu, scaled(figures["resident"], 1 / MEGA), figures["events"])
        rows.append(Row(name.replace(" ", "_"), _describe(name, figures), row, target))
    title = (
        f"{size.nodes:,} nodes, {size.pods:,} pods in {size.deployments} Deployments, {size.watchers} watchers: one run"
    )
    return Table("cluster", title, columns, tuple(rows))


def _describe(name: str, figures: Figures) -> str:
    problems = [f"{figures[key]:.0f} {text}" for key, text in _PROBLEMS.items() if figures[key]]
    return f"{name} ({', '.join(problems)})" if problems else name


_PROBLEMS: Final = {"lost": "watches closed", "uneven": "events fewer for one watcher than for another"}
