"""How soon a change is seen after the connection to the API server has failed, beside client-go and kopf.

Every watcher runs in a process of its own behind a TCP proxy of its own, which fails in one way; the server is never
restarted. All scenarios of one watcher run side by side, since nearly all of their time is waiting. client-go is
measured if ``MASTHEAD_CLIENT_GO_BENCH`` names a program that was built on it (`benchmarks.recovery.watchers` has the
protocol), kopf if this interpreter has it, or the one that ``PEERS_PYTHON`` names.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import masthead.server
from benchmarks.harness import measure
from benchmarks.harness.report import Column, Report, Row, Table, Target, show
from benchmarks.recovery import scenarios, watchers
from masthead.aio import Client, Patch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from benchmarks.recovery.scenarios import Bench, Outcome
    from benchmarks.recovery.watchers import Contender

IDLE_TIMEOUTS: Final = (5, 10, 20, 50)
OUTAGES: Final = (1, 5, 60)
MAX_BLIND_PERCENT: Final = 2.0
MAX_LATE_S: Final = 2.0
MAX_LATE_SILENT_S: Final = 30.0
_SILENT_AFTER: Final = (1, 25, 70)
"""Seconds after which a connection falls silent."""
_SCENARIOS: Final[dict[str, tuple[str, Callable[[Bench], Awaitable[None]], float | None]]] = {
    **{
        f"idle_{seconds}": (f"idle timeout of {seconds} s", scenarios.idle_timeout(seconds), float(seconds))
        for seconds in IDLE_TIMEOUTS
    },
    **{f"outage_{seconds}": (f"outage of {seconds} s", scenarios.outage(seconds), None) for seconds in OUTAGES},
    "outages": ("three outages of 5 s in a minute", scenarios.short_outages(5), None),
    **{
        f"silent_{seconds}": (f"silent socket after {seconds} s", scenarios.silent_socket(seconds), None)
        for seconds in _SILENT_AFTER
    },
    "rolling": ("rolling API servers", scenarios.rolling_servers, None),
}


async def measure_contender(contender: Contender, names: Sequence[str]) -> dict[str, Outcome]:
    """Run scenarios with one watcher, side by side."""
    async with asyncio.TaskGroup() as group:
        running = {name: group.create_task(measure_scenario(contender, name)) for name in names}
    return {name: task.result() for name, task in running.items()}


async def measure_scenario(contender: Contender, name: str) -> Outcome:
    """Run one scenario, with a server of its own: the changes of others would be traffic."""
    _, scenario, idle = _SCENARIOS[name]
    with tempfile.TemporaryDirectory() as folder, masthead.server.run(token=None, tls=False) as server:
        port = urlsplit(server.url).port
        assert port is not None
        async with Client(kubeconfig=server.kubeconfig()) as client:
            config_maps = client.core_v1.config_maps("default")
            await config_maps.create({"metadata": {"name": scenarios.NAME}, "data": {"n": "0"}})

            async def write(value: str) -> None:
                await config_maps.patch(scenarios.NAME, Patch.merge({"data": {"n": value}}))

            return await scenarios.run_scenario(
                scenario, contender.command, port, write, Path(folder), idle_timeout=idle
            )


def build_table(contender: Contender, outcomes: dict[str, Outcome]) -> Table:
    """Lay out the figures of one watcher."""
    columns = (
        Column("blind", "blind %", 2),
        Column("late", "latest change, s", 2),
        Column("watches", "watches a minute"),
    )
    rows: list[Row] = []
    for name, outcome in outcomes.items():
        latest = None if None in outcome.late else max(late for late in outcome.late if late is not None)
        target = _target(name, outcome, latest) if contender.is_ours else None
        blind = outcome.blind_percent if name.startswith("idle") else None
        figures = (blind, latest, outcome.watches)
        rows.append(Row(name, _SCENARIOS[name][0], figures, target))
    title = f"Recovery of {contender.title}: blind is the share of the time without a watch"
    return Table(contender.name, title, columns, tuple(rows))


def _target(name: str, outcome: Outcome, latest: float | None) -> Target:
    if name.startswith("idle"):
        return Target(f"{name}_blind_percent", outcome.blind_percent, MAX_BLIND_PERCENT)
    limit = MAX_LATE_SILENT_S if name.startswith("silent") else MAX_LATE_S
    return Target(f"{name}_late_s", float("inf") if latest is None else latest, limit)


async def run(contenders: Sequence[Contender], names: Sequence[str]) -> Report:
    """Measure one watcher after the other."""
    tables = [build_table(contender, await measure_contender(contender, names)) for contender in contenders]
    notes = ("A change that was not seen within 150 s has no figure.",)
    return Report("recovery", {"scenarios": len(names)}, tuple(tables), notes)


def main() -> None:
    """Run the benchmark."""
    parser = measure.parser(__doc__, repeat=1)
    parser.add_argument("--only", nargs="+", choices=_SCENARIOS, default=tuple(_SCENARIOS), metavar="SCENARIO")
    found = {contender.name: contender for contender in watchers.find_contenders(measure.peers_python())}
    parser.add_argument("--watchers", nargs="+", choices=found, default=tuple(found), metavar="WATCHER")
    options = parser.parse_args()
    show(asyncio.run(run([found[name] for name in options.watchers], options.only)))


if __name__ == "__main__":
    main()
