"""Informers from start to synced: time, CPU and memory for many pods, beside the peers and client-go, on one server.

The server is ours, in a process of its own, as is every measurement; ``--real`` starts a kube-apiserver instead (see
``KUBEBUILDER_ASSETS``), and ``--server KUBECONFIG`` uses one that is running. Server and client share this
machine's cores, so the time is also the server's: CPU is the client's alone. Memory is what the process grew by (RSS):
held when everything that is garbage is gone, and at most meanwhile.

Peers are measured where they are installed, or in another interpreter that has them: ``--peers-python PATH``, or
``PEERS_PYTHON`` in the environment. client-go is measured where there is a program for it: ``--client-go PATH``, or
``MASTHEAD_CLIENT_GO_BENCH``; `benchmarks.sync.runs` says what it must print.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.harness import measure
from benchmarks.harness.contenders import shares, there
from benchmarks.harness.report import Report, show, unjudged
from benchmarks.requests.clients import namespace_of
from benchmarks.sync.clients import CONTENDERS
from benchmarks.sync.runs import CLIENT_GO, CLIENT_GO_TITLE, Runs, add_options, figures_of_go, left_out
from benchmarks.sync.tables import PROTOBUF, compare_table, sync_table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator, Iterator, Mapping

    from benchmarks.harness.contenders import Contender
    from benchmarks.harness.measure import Figures
    from benchmarks.harness.report import Table

_WORK: Final = "benchmarks.sync.worker"
_MANY: Final = 20_000
_QUICK: Final = 50
_GO_TITLES: Final = {CLIENT_GO: CLIENT_GO_TITLE, PROTOBUF: "client-go informer, protobuf"}


@dataclasses.dataclass(frozen=True)
class Place:
    """Where the pods are.

    Attributes:
        title: What the report calls the server.
        kubeconfig: How to connect.
        pods: How many there are to read.
        namespace: Whose they are.
        one: A namespace with one pod, to read beforehand; empty if there is none.
        is_ours: Whether it is our server, from which no protobuf is requested.
        has_fewer: Whether there are namespaces with fewer pods, too, for those who are slow.
    """

    title: str
    kubeconfig: Path
    pods: int
    namespace: str
    one: str = ""
    is_ours: bool = False
    has_fewer: bool = True

    def can_serve(self, contender: Contender) -> bool:
        """Whether there are as many pods as a contender wants."""
        return self.has_fewer or contender.share(self.pods) == self.pods


def measured(runs: Runs, contender: str, place: Place) -> Figures:
    """Measure one of ours, or of the peers."""
    chosen = CONTENDERS[contender]
    count = chosen.share(place.pods)
    namespace = place.namespace if count == place.pods else namespace_of(count)
    where = (place.kubeconfig, namespace, str(count), "--one", place.one)
    program = ("-m", _WORK, "sync", contender, *where)
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
    return {**figures_of_go(found), "pods": place.pods}


def run(runs: Runs, place: Place, repeat: int, *, quick: bool = False) -> Report:
    """Measure everybody."""
    wanted = runs.chosen(CONTENDERS)
    versions = runs.versions(_WORK, wanted)
    contenders = {name: each for name, each in there(wanted, versions).items() if place.can_serve(each)}
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
        tables = unjudged(tables)
    settings = {"pods": place.pods, "repeat": repeat, "real": int(not place.is_ours)}
    return Report("sync", settings, tables, tuple(_notes(versions, runs, place)))


def _notes(versions: Mapping[str, str], runs: Runs, place: Place) -> Iterator[str]:
    wanted = runs.chosen(CONTENDERS)
    yield "The server and the client share this machine's cores; the server takes one of them while it is busy."
    if place.has_fewer:
        yield "A peer that is too slow for all pods reads fewer, and is compared by the pod."
    slow = [each.title for each in there(wanted, versions).values() if not place.can_serve(each)]
    if slow:
        yield f"Too slow for so many pods, so not measured: {', '.join(slow)}."
    if not place.one:
        yield "What is made once is measured, too: there is no namespace with one pod (--one) to make it for."
    yield from left_out(wanted, versions, runs.client_go)


@contextlib.contextmanager
def place_of(runs: Runs, options: argparse.Namespace, pods: int) -> Generator[Place]:
    """The server that the command line wants, for the length of a block."""
    where, one = namespace_of(pods), namespace_of(1)
    counts = shares(CONTENDERS, pods)
    if options.server:
        namespace = options.namespace or where
        yield Place("a server", options.server, pods, namespace, options.one, has_fewer=False)
    elif options.real:
        from benchmarks.sync.real_server import real_server

        with real_server(runs.lab, counts) as kubeconfig:
            yield Place("kube-apiserver", kubeconfig, pods, where, one)
    else:
        with runs.lab.serving("benchmarks.requests.server", "--pods", *map(str, counts)) as kubeconfig:
            yield Place("the embedded server", kubeconfig, pods, where, one, is_ours=True)


def main() -> None:
    """Run the benchmark."""
    parser = measure.parser(__doc__, repeat=1, quick=True)
    add_options(parser, CONTENDERS)
    help_ = f"pods (default: {_MANY}; {_QUICK} if quick)"
    parser.add_argument("--objects", type=measure.positive, help=help_)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--real", action="store_true", help="start a kube-apiserver and use it")
    where.add_argument("--server", type=Path, metavar="KUBECONFIG", help="use a server that has the pods")
    parser.add_argument("--namespace", default="", help="where that server has them (default: pods-OBJECTS)")
    parser.add_argument("--one", default="", help="where that server has just one, to begin with")
    options = parser.parse_args()
    pods = options.objects or (_QUICK if options.quick else _MANY)
    with measure.lab() as lab:
        runs = Runs(lab, options.peers_python, options.client_go, options.only)
        with place_of(runs, options, pods) as place:
            show(run(runs, place, options.repeat, quick=options.quick))
