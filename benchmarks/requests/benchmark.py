"""Small calls, a list of 20,000 pods, and the blocking façade, beside the peers, all of them on one server.

The server is ours, in a process of its own; every measurement is one, too. All share this machine's cores, so a rate is
also the server's: CPU per call is the client's alone. Small calls are measured in several rounds, in which the clients
take turns, and the best of all rounds counts, because disturbances can only add to a measurement.

Peers are measured where they are installed, or in another interpreter that has them: ``--peers-python PATH``, or
``PEERS_PYTHON`` in the environment.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from importlib import util
from typing import TYPE_CHECKING, Final

from benchmarks.harness import measure
from benchmarks.harness.contenders import missing, shares, there
from benchmarks.harness.report import Report, Table, show, unjudged
from benchmarks.requests.clients import CLIENTS, namespace_of
from benchmarks.requests.tables import compare_table, facade_table, list_table, small_table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.harness.measure import Figures, Lab

_WORK: Final = ("-m", "benchmarks.requests.worker")


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
        return self.lab.run(*_WORK, "installed", python=self.peers_python)

    def small(self, name: str) -> Figures:
        """Measure a client's small calls."""
        seconds = str(self.size.hundredths / 100)
        return self._work(name, "small", "--seconds", seconds)

    def long(self, name: str) -> Figures:
        """Measure a client's long list."""
        count = CLIENTS[name].share(self.size.pods)
        where = ("--one", namespace_of(1), "--namespace", namespace_of(count), "--count", str(count))
        return self._work(name, "list", *where)

    def facade(self, *options: str) -> Figures:
        """Measure what the blocking façade costs."""
        counts = ("--rounds", str(self.size.facade_rounds), "--calls", str(self.size.facade_calls))
        program = ("-m", "benchmarks.requests.facade", self.kubeconfig, *counts)
        return self.lab.run(*program, *options)

    def _work(self, name: str, what: str, *options: str) -> Figures:
        python = self.peers_python if CLIENTS[name].peer else sys.executable
        return self.lab.run(*_WORK, what, name, self.kubeconfig, *options, python=python)


def run(lab: Lab, size: Size, *, peers_python: str, tls: bool) -> Report:
    """Measure everything."""
    counts = shares(CLIENTS, size.pods)
    options = ("--pods", *map(str, counts), *(("--tls",) if tls else ()))
    with lab.serving("benchmarks.requests.server", *options) as kubeconfig:
        bench = Bench(lab, size, peers_python, kubeconfig)
        versions = bench.versions()
        clients = there(CLIENTS, versions)
        best = measure.best_of(size.repeat, {name: functools.partial(bench.small, name) for name in clients})
        lists = {name: bench.long(name) for name, each in clients.items() if each.share(size.pods)}
        facades = {"own": bench.facade("--without-uvloop")}
        if util.find_spec("uvloop") is not None:
            facades["uvloop"] = bench.facade()
    tables: tuple[Table, ...] = (
        small_table(clients, best, size.repeat, size.hundredths / 100),
        list_table(clients, lists, size.pods),
        facade_table(facades, size.facade_rounds),
    )
    # A quick run is too short for a verdict.
    is_quick = size == Size.quick()
    tables = unjudged(tables) if is_quick else (*tables, compare_table(clients, best, lists, size.pods))
    settings = {**dataclasses.asdict(size), "tls": int(tls)}
    return Report("requests", settings, tables, _notes(versions))


def _notes(versions: Mapping[str, str]) -> tuple[str, ...]:
    notes = (
        "The server and the client share this machine's cores; the server takes one of them while it is busy.",
        "A peer that is too slow for the whole list reads a shorter one, and is compared by the pod.",
        "Memory is what the process grew by (RSS): held with the list alive, and at most meanwhile.",
    )
    return (*notes, *missing(CLIENTS, versions, why="Not installed"))


def main() -> None:
    """Run the benchmark."""
    parser = measure.parser(__doc__, repeat=3, quick=True)
    measure.add_peers(parser)
    parser.add_argument("--tls", action="store_true", help="speak TLS, as clusters do")
    options = parser.parse_args()
    size = Size.quick() if options.quick else Size(options.repeat)
    with measure.lab() as lab:
        show(run(lab, size, peers_python=options.peers_python, tls=options.tls))
