"""Informers from start to synced: time, CPU and memory for many pods, beside the peers and client-go, on one server.

The server is ours, in a process of its own, as is every measurement; ``--real`` starts a kube-apiserver instead (see
``KUBEBUILDER_ASSETS``), and ``--server KUBECONFIG`` asks one that is there already. Server and client share this
machine's cores, so the time is also the server's: CPU is the client's alone. Memory is what the process grew by (RSS):
held when everything that is garbage is gone, and at most meanwhile.

Peers are measured where they are installed, or in another interpreter that has them: ``--peers-python PATH``, or
``PEERS_PYTHON`` in the environment. client-go is measured where there is a program for it: ``--client-go PATH``, or
``MASTHEAD_CLIENT_GO_BENCH``; `benchmarks.sync_runs` says what it must print.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks import measure
from benchmarks.report import Report, show
from benchmarks.requests_server import namespace_of
from benchmarks.sync_clients import CONTENDERS
from benchmarks.sync_contenders import left_out, there
from benchmarks.sync_runs import Runs, add_options, without_targets
from benchmarks.sync_tables import CLIENT_GO, PROTOBUF, compare_table, sync_table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator, Mapping, Sequence

    from benchmarks.measure import Figures
    from benchmarks.report import Table
    from benchmarks.sync_clients import Opener
    from benchmarks.sync_contenders import Contender

_WORK: Final = ("-m", "benchmarks.sync_work")
_QUICK: Final = 200
_GO_TITLES: Final = {CLIENT_GO: "client-go informer, JSON", PROTOBUF: "client-go informer, protobuf"}
_GO_NAMES: Final = {"wall": "seconds", "cpu": "cpu_seconds", "held": "rss_bytes", "peak": "peak_bytes"}


@dataclasses.dataclass(frozen=True)
class Place:
    """Where the pods are.

    Attributes:
        title: What the report calls the server.
        kubeconfig: How to connect.
        pods: How many there are to read.
        namespace: Whose they are.
        is_ours: Whether it is our server, which speaks no protobuf.
        has_fewer: Whether there are namespaces with fewer pods, too, for those who are slow.
    """

    title: str
    kubeconfig: Path
    pods: int
    namespace: str
    is_ours: bool = False
    has_fewer: bool = True

    def can_serve(self, contender: Contender[Opener]) -> bool:
        """Whether there are as many pods as a contender wants."""
        return self.has_fewer or contender.share(self.pods) == self.pods


def measured(runs: Runs, contender: str, place: Place) -> Figures:
    """Measure one of ours, or of the peers."""
    chosen = CONTENDERS[contender]
    count = chosen.share(place.pods)
    namespace = place.namespace if count == place.pods else namespace_of(count)
    one = ("--one", namespace_of(1)) if place.has_fewer else ()
    program = (*_WORK, "sync", contender, place.kubeconfig, namespace, str(count), *one)
    return {**runs.python(*program, peer=chosen.peer), "pods": count}


def measured_go(runs: Runs, place: Place, *options: str) -> Figures:
    """Measure client-go.

    Raises:
        RuntimeError: if it does not have all pods.
    """
    where = ("--kubeconfig", place.kubeconfig, "--namespace", place.namespace)
    found = runs.go("sync", *where, "--resource", "pods", *options)
    if found["objects"] != place.pods:
        raise RuntimeError(f"client-go should have {place.pods} pods, and has {found['objects']}")
    return {**{name: found.get(key) for name, key in _GO_NAMES.items()}, "pods": place.pods}


def run(runs: Runs, place: Place, repeat: int, *, quick: bool = False) -> Report:
    """Measure everybody."""
    versions = runs.python(*_WORK, "installed", peer="any")
    contenders = {name: each for name, each in there(CONTENDERS, versions).items() if place.can_serve(each)}
    cases: dict[str, Callable[[], Figures]] = {
        name: functools.partial(measured, runs, name, place) for name in contenders
    }
    titles = {name: each.title for name, each in contenders.items()}
    if runs.client_go:
        titles |= _GO_TITLES
        cases[CLIENT_GO] = functools.partial(measured_go, runs, place)
        if not place.is_ours:
            cases[PROTOBUF] = functools.partial(measured_go, runs, place, "--protobuf")
    best = measure.best_of(repeat, cases)
    tables: tuple[Table, ...] = (
        sync_table(titles, best, where=place.title, rounds=repeat),
        compare_table(best, real=not place.is_ours),
    )
    if quick:  # which is too little to judge by
        tables = tuple(without_targets(table) for table in tables)
    settings = {"pods": place.pods, "repeat": repeat, "real": int(not place.is_ours)}
    return Report("sync", settings, tables, _notes(versions, runs))


def _notes(versions: Mapping[str, str], runs: Runs) -> tuple[str, ...]:
    notes = (
        "The server and the client share this machine's cores; the server takes one of them while it is busy.",
        "A peer that is too slow for all pods reads fewer, and is compared by the pod.",
    )
    return (*notes, *left_out(CONTENDERS, versions, runs.client_go))


@contextlib.contextmanager
def place_of(runs: Runs, options: argparse.Namespace, pods: int) -> Generator[Place]:
    """The server that the command line wants, for the length of a block."""
    namespace = options.namespace or namespace_of(pods)
    if options.server:
        yield Place("a server", options.server, pods, namespace, has_fewer=False)
    elif options.real:
        from benchmarks.sync_real import real_server

        with real_server(runs.lab, _counts(pods)) as kubeconfig:
            yield Place("kube-apiserver", kubeconfig, pods, namespace_of(pods))
    else:
        counts = map(str, _counts(pods))
        with runs.serving("benchmarks.requests_server", "--pods", *counts) as kubeconfig:
            yield Place("the embedded server", kubeconfig, pods, namespace_of(pods), is_ours=True)


def _counts(pods: int) -> Sequence[int]:
    return sorted({1, *(each.share(pods) for each in CONTENDERS.values())})


def main() -> None:
    """Run the benchmark."""
    parser = measure.parser(__doc__, repeat=1)
    add_options(parser)
    parser.add_argument(
        "--objects", type=measure.positive, default=20_000, help="pods (default: %(default)s)"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--real", action="store_true", help="start a kube-apiserver, and ask that")
    where.add_argument("--server", type=Path, metavar="KUBECONFIG", help="ask a server that has the pods")
    parser.add_argument("--namespace", default="", help="where that server has them (default: pods-OBJECTS)")
    options = parser.parse_args()
    pods = _QUICK if options.quick else options.objects
    with measure.lab() as lab:
        runs = Runs(lab, options.peers_python, options.client_go)
        with place_of(runs, options, pods) as place:
            show(run(runs, place, options.repeat, quick=options.quick))


if __name__ == "__main__":
    main()
