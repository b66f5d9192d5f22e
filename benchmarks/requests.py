"""Small calls, a list of 20,000 pods, and the blocking façade, beside the peers, all of them on one server.

The server is ours, in a process of its own; every measurement is one, too. All share this machine's cores, so a rate is
also the server's: CPU per call is the client's alone. Small calls are measured in several rounds, in which the clients
take turns, and the best of all rounds counts, because whatever disturbs a measurement can only add to it.

Peers are measured where they are installed, or in another interpreter that has them: ``--peers-python PATH``, or
``PEERS_PYTHON`` in the environment.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import subprocess
import sys
from importlib import util
from typing import TYPE_CHECKING, Any, Final

from benchmarks import measure
from benchmarks.report import Report, Table, show
from benchmarks.requests_clients import CLIENTS, Client
from benchmarks.requests_server import namespace_of
from benchmarks.requests_tables import compare_table, facade_table, list_table, small_table

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from benchmarks.measure import Figures, Lab

_PYTHON_OF_PEERS: Final = "PEERS_PYTHON"
_WORK: Final = ("-m", "benchmarks.requests_work")


@dataclasses.dataclass(frozen=True)
class Size:
    """How much to do.

    Attributes:
        repeat: Rounds of small calls.
        hundredths: Of a second, for each kind of small call, client and round.
        pods: In the list.
        facade_rounds: Of gets through both façades.
        facade_calls: In each of these rounds.
    """

    repeat: int
    hundredths: int = 40
    pods: int = 20_000
    facade_rounds: int = 15
    facade_calls: int = 200

    @classmethod
    def quick(cls) -> Size:
        """Just enough to see that everything works."""
        return cls(repeat=1, hundredths=5, pods=200, facade_rounds=2, facade_calls=20)


@dataclasses.dataclass(frozen=True)
class Bench:
    """Measures clients on one server.

    Attributes:
        lab: Where.
        size: How much.
        peers_python: The interpreter that has the peers.
        kubeconfig: Where the server is.
    """

    lab: Lab
    size: Size
    peers_python: str
    kubeconfig: Path

    def versions(self) -> dict[str, str]:
        """The peers that there are, and their versions."""
        return self._run(self.peers_python, *_WORK, "installed")

    def small(self, name: str) -> Figures:
        """Measure a client's small calls."""
        seconds = str(self.size.hundredths / 100)
        return self._work(name, "small", "--seconds", seconds)

    def long(self, name: str) -> Figures:
        """Measure a client's long list."""
        count = CLIENTS[name].pods(self.size.pods)
        where = ("--one", namespace_of(1), "--namespace", namespace_of(count), "--count", str(count))
        return self._work(name, "list", *where)

    def facade(self, *options: str) -> Figures:
        """Measure what the blocking façade costs."""
        counts = ("--rounds", str(self.size.facade_rounds), "--calls", str(self.size.facade_calls))
        program = ("-m", "benchmarks.requests_facade", self.kubeconfig, *counts)
        return self.lab.run(*program, *options)

    def _work(self, name: str, what: str, *options: str) -> Figures:
        python = self.peers_python if CLIENTS[name].peer else sys.executable
        return self._run(python, *_WORK, what, name, self.kubeconfig, *options)

    def _run(self, python: str, *arguments: str | Path) -> dict[str, Any]:
        """Start an interpreter and return the JSON that it prints last."""
        if python == sys.executable:
            return self.lab.run(*arguments)
        done = subprocess.run(
            [python, "-W", "ignore", *arguments],
            cwd=measure.ROOT,
            env={
                **os.environ,
                "PYTHONDONTWRITEBYTECODE": "1",
            },  # nothing of another interpreter's in our tree
            stdout=subprocess.PIPE,
            check=True,
            encoding="utf-8",
        )
        printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return printed


@contextlib.contextmanager
def server(lab: Lab, pods: int, *, tls: bool) -> Generator[Path]:
    """Run the server for the length of a block; gives the path of a kubeconfig."""
    kubeconfig = lab.folder / "kubeconfig"
    counts = sorted({1, *(client.pods(pods) for client in CLIENTS.values())} - {0})
    options = ["--pods", *map(str, counts), *(["--tls"] if tls else [])]
    with lab.running("-m", "benchmarks.requests_server", kubeconfig, *options) as process:
        assert process.stdout is not None
        if not process.stdout.readline():
            raise RuntimeError("the server did not start; what it said is above")
        yield kubeconfig


def measured(versions: Mapping[str, str]) -> dict[str, Client]:
    """The clients that can be measured, each with its version in its title."""
    found: dict[str, Client] = {}
    for name, client in CLIENTS.items():
        if client.needs and util.find_spec(client.needs) is None:
            continue
        if client.peer and client.peer not in versions:
            continue
        title = client.title
        if client.peer:
            title = title.replace(client.peer, f"{client.peer} {versions[client.peer]}", 1)
        found[name] = dataclasses.replace(client, title=title)
    return found


def run(lab: Lab, size: Size, *, peers_python: str, tls: bool) -> Report:
    """Measure everything."""
    with server(lab, size.pods, tls=tls) as kubeconfig:
        bench = Bench(lab, size, peers_python, kubeconfig)
        versions = bench.versions()
        clients = measured(versions)
        best = measure.best_of(size.repeat, {name: functools.partial(bench.small, name) for name in clients})
        lists = {name: bench.long(name) for name, each in clients.items() if each.pods(size.pods)}
        facades = {"own": bench.facade("--without-uvloop")}
        if util.find_spec("uvloop") is not None:
            facades["uvloop"] = bench.facade()
    tables: tuple[Table, ...] = (
        small_table(clients, best, size.repeat, size.hundredths / 100),
        list_table(clients, lists, size.pods),
        facade_table(facades, size.facade_rounds),
    )
    if size != Size.quick():  # which is too little to judge by
        tables = (*tables, compare_table(clients, best, lists, size.pods))
    else:
        tables = tuple(_without_targets(table) for table in tables)
    settings = {**dataclasses.asdict(size), "tls": int(tls)}
    return Report("requests", settings, tables, _notes(versions))


def _without_targets(table: Table) -> Table:
    return dataclasses.replace(table, rows=tuple(dataclasses.replace(row, target=None) for row in table.rows))


def _notes(versions: Mapping[str, str]) -> tuple[str, ...]:
    notes = [
        "The server and the client share this machine's cores; the server takes one of them while it is busy.",
        "A peer that is too slow for the whole list reads a shorter one, and is compared by the pod.",
        "Memory is what the process grew by (RSS): held with the list alive, and at most meanwhile.",
    ]
    missing = sorted({each.peer for each in CLIENTS.values() if each.peer} - versions.keys())
    if missing:
        notes.append(
            f"Not installed, so not measured: {', '.join(missing)} (pip install 'masthead[peers]', or name another "
            "interpreter that has them with --peers-python)."
        )
    return tuple(notes)


def main() -> None:
    """Run the benchmark."""
    parser = measure.parser(__doc__, repeat=3)
    parser.add_argument("--quick", action="store_true", help="a smoke run, whose figures mean little")
    parser.add_argument("--tls", action="store_true", help="speak TLS, as clusters do")
    parser.add_argument(
        "--peers-python",
        default=os.environ.get(_PYTHON_OF_PEERS, sys.executable),
        help=f"an interpreter that has the peers (default: ${_PYTHON_OF_PEERS}, or this one)",
    )
    options = parser.parse_args()
    size = Size.quick() if options.quick else Size(options.repeat)
    with measure.lab() as lab:
        show(run(lab, size, peers_python=options.peers_python, tls=options.tls))


if __name__ == "__main__":
    main()
