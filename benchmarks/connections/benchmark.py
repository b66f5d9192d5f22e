"""Many informers on one kube-apiserver over TLS: sockets, memory, CPU, and what a stalled connection costs.

Masthead speaks HTTP/1.1, so each watch has a connection of its own; client-go multiplexes all of them on one HTTP/2
connection, and over HTTP/1.1 (``DISABLE_HTTP2``) has one per watch, too. One informer per namespace caches its
ConfigMaps. Every measurement has a server of its own (``KUBEBUILDER_ASSETS``). client-go is measured where
``MASTHEAD_CLIENT_GO_BENCH`` names a program (`benchmarks.connections.program` says what it must print).

A proxy between client and server then stops to forward bytes over one connection, which stays open; every object
changes. Columns tell how many informers still lack the change after five seconds, and when the last one has it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from tests.real.informers_proxy import Proxy
from tests.real_server import RestartableServer, missing_programs

from benchmarks.connections.program import running
from benchmarks.harness import measure
from benchmarks.harness.measure import MEGA, scaled
from benchmarks.harness.report import Column, Report, Row, Table, show
from benchmarks.watch.server import kubeconfig

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tests.real_server import RealServer

    from benchmarks.connections.program import InformerProgram
    from benchmarks.harness.measure import Figures, Lab

COUNTS: Final = (20, 200)
"""How many informers there are."""
IDLE_SECONDS: Final = 60.0
"""For how long nothing happens."""
RECOVERED_WITHIN: Final = 120.0
"""Seconds after which a stalled informer counts as lost."""

_SETTLE_SECONDS: Final = 2.0
_LATE_AFTER: Final = 5.0
_WRITERS: Final = 8
_CLIENT_GO: Final = "MASTHEAD_CLIENT_GO_BENCH"
_COLUMNS: Final = (
    Column("sockets", "sockets", 0),
    Column("sync_s", "sync s", 2),
    Column("sync_cpu_s", "client CPU s", 2),
    Column("server_cpu_s", "server CPU s", 2),
    Column("client_mb", "client MB", 1),
    Column("client_grown_mb", "grown MB", 1),
    Column("server_grown_mb", "server grown MB", 1),
    Column("idle_cpu_ms", "idle: client CPU ms/s", 2),
    Column("idle_server_cpu_ms", "idle: server CPU ms/s", 2),
    Column("late", "informers that lag behind a stalled connection", 0),
    Column("recovery_s", "until the last has caught up, s", 1),
)


@dataclasses.dataclass(frozen=True)
class Contender:
    """A program to measure.

    Attributes:
        title: What the report calls it.
        command: The program and its first arguments.
        environment: Changes of its environment.
    """

    title: str
    command: Sequence[str]
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])


def contenders(client_go: str) -> dict[str, Contender]:
    """Masthead and, if there is a program for it, client-go."""
    found = {"masthead": Contender("masthead, HTTP/1.1", (sys.executable, "-m", "benchmarks.connections.worker"))}
    if client_go:
        command = (client_go, "informers")
        found["client_go"] = Contender("client-go, HTTP/2", command)
        found["client_go_http1"] = Contender("client-go, HTTP/1.1", command, {"DISABLE_HTTP2": "true"})
    return found


@dataclasses.dataclass(frozen=True)
class Cluster:
    """A server with one ConfigMap in each of many namespaces.

    Attributes:
        server: Where it is.
        process_id: Of kube-apiserver.
        namespaces: Their names.
    """

    server: RealServer
    process_id: int
    namespaces: Sequence[str]

    def fill(self) -> None:
        """Create the namespaces and their ConfigMaps."""
        for namespace in self.namespaces:
            self.server.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        body = {"metadata": {"name": "clock"}, "data": {"tick": "0"}}
        for namespace in self.namespaces:
            self.server.call("POST", f"/api/v1/namespaces/{namespace}/configmaps", body)

    def tick(self, tick: str, namespaces: Sequence[str]) -> None:
        """Change the ConfigMaps of some namespaces."""
        body = {"metadata": {"name": "clock"}, "data": {"tick": tick}}

        def write(namespace: str) -> None:
            self.server.call("PUT", f"/api/v1/namespaces/{namespace}/configmaps/clock", body)

        with ThreadPoolExecutor(_WRITERS) as pool:
            list(pool.map(write, namespaces))

    def usage(self) -> tuple[float, float]:
        """CPU seconds and resident bytes of kube-apiserver."""
        return measure.cpu_seconds(self.process_id) or 0.0, measure.resident_bytes(self.process_id) or 0.0


def measure_contender(lab: Lab, contender: Contender, count: int, idle_seconds: float) -> Figures:
    """Run the informers of one contender against a new server."""
    return asyncio.run(_measure(lab, contender, count, idle_seconds))


async def _measure(lab: Lab, contender: Contender, count: int, idle_seconds: float) -> Figures:
    state = lab.folder / f"server-{time.monotonic_ns()}"
    state.mkdir()
    with RestartableServer(state) as running_server:
        server = running_server.server
        cluster = Cluster(server, running_server.process_id, [f"bench-{number}" for number in range(count)])
        await asyncio.to_thread(cluster.fill)
        async with Proxy(server.url) as proxy:
            path = state / "kubeconfig"
            found = kubeconfig(proxy.url, token=server.token, ca_file=str(server.ca_file))
            path.write_text(json.dumps(found), encoding="utf-8")
            await asyncio.sleep(_SETTLE_SECONDS)
            return await _informers(contender, cluster, proxy, path, idle_seconds)


async def _informers(contender: Contender, cluster: Cluster, proxy: Proxy, path: Path, idle_seconds: float) -> Figures:
    before = cluster.usage()
    async with running(contender.command, path, cluster.namespaces, contender.environment) as program:
        synced, now = program.synced, cluster.usage()
        figures: Figures = {
            "sync_s": synced["seconds"],
            "sync_cpu_s": synced["cpu_seconds"],
            "server_cpu_s": now[0] - before[0],
        }
        await asyncio.sleep(_SETTLE_SECONDS)
        figures |= await _idle(program, cluster, idle_seconds)
        used = await program.stats()
        figures |= {
            "sockets": used["sockets"],
            "client_mb": scaled(used["rss_bytes"], 1 / MEGA),
            "client_grown_mb": scaled(used["rss_bytes"] - synced["rss_before"], 1 / MEGA),
            "server_grown_mb": (cluster.usage()[1] - before[1]) / MEGA,
        }
        return figures | await _stalled(program, cluster, proxy)


async def _idle(program: InformerProgram, cluster: Cluster, seconds: float) -> Figures:
    client, server = (await program.stats())["cpu_seconds"], cluster.usage()[0]
    await asyncio.sleep(seconds)
    client, server = (await program.stats())["cpu_seconds"] - client, cluster.usage()[0] - server
    return {"idle_cpu_ms": client / seconds * 1e3, "idle_server_cpu_ms": server / seconds * 1e3}


async def _stalled(program: InformerProgram, cluster: Cluster, proxy: Proxy) -> Figures:
    """Stall the connection of the first informer, then change every object."""
    await asyncio.to_thread(cluster.tick, "1", cluster.namespaces[:1])
    if not await program.until(lambda: program.ticks[0] == "1", within=RECOVERED_WITHIN):
        raise RuntimeError("a change does not reach its informer")
    proxy.stall_last()
    await asyncio.to_thread(cluster.tick, "2", cluster.namespaces)
    changed = time.perf_counter()

    def count_late() -> int:
        return sum(tick != "2" for tick in program.ticks.values())

    await program.until(lambda: not count_late(), within=_LATE_AFTER)
    late = count_late()
    has_recovered = await program.until(lambda: not count_late(), within=RECOVERED_WITHIN)
    return {"late": late, "recovery_s": time.perf_counter() - changed if has_recovered else None}


def run(lab: Lab, programs: Mapping[str, Contender], counts: Sequence[int], repeat: int, idle_seconds: float) -> Report:
    """Measure all programs with every number of informers."""
    tables: list[Table] = []
    for count in counts:
        cases = {
            name: functools.partial(measure_contender, lab, contender, count, idle_seconds)
            for name, contender in programs.items()
        }
        rounds = measure.in_turn(repeat, cases)
        rows = tuple(Row(name, programs[name].title, _row(rounds, name)) for name in programs)
        title = f"{count} informers of one ConfigMap each, kube-apiserver over TLS"
        tables.append(Table(f"informers_{count}", title, _COLUMNS, rows))
    notes: list[str] = [] if len(programs) > 1 else [f"client-go is not measured: {_CLIENT_GO} names no program."]
    return Report("connections", {"repeat": repeat}, tuple(tables), tuple(notes))


def _row(rounds: Sequence[Mapping[str, Figures]], name: str) -> tuple[float | None, ...]:
    """The median of each figure."""
    return tuple(_median([figures[name][column.name] for figures in rounds]) for column in _COLUMNS)


def _median(values: Sequence[float | None]) -> float | None:
    known = sorted(value for value in values if value is not None)
    return known[len(known) // 2] if len(known) == len(values) else None


def main() -> None:
    """Run the benchmark."""
    parser = measure.parser(__doc__, repeat=1, quick=True)
    parser.add_argument("--informers", type=measure.positive, nargs="+", help="how many (default: 20 and 200)")
    parser.add_argument(
        "--client-go",
        default=os.environ.get(_CLIENT_GO, ""),
        help=f"a program that runs client-go's informers (default: ${_CLIENT_GO})",
    )
    options = parser.parse_args()
    if missing := missing_programs():
        parser.error(f"there is no {' and no '.join(missing)}: set KUBEBUILDER_ASSETS")
    counts = options.informers or ((2,) if options.quick else COUNTS)
    idle_seconds = 1.0 if options.quick else IDLE_SECONDS
    with measure.lab() as lab:
        show(run(lab, contenders(options.client_go), counts, options.repeat, idle_seconds))


if __name__ == "__main__":
    main()
