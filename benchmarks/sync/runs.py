"""Starts what the informer benchmarks measure: ours, the peers in an interpreter that has them, and client-go.

client-go is measured where the environment variable ``MASTHEAD_CLIENT_GO_BENCH`` names a program that runs its
informer over pods, and prints a line of JSON::

    PROGRAM sync  --kubeconfig FILE --resource pods --namespace NAME [--protobuf]
    PROGRAM watch --kubeconfig FILE --events NUMBER

with ``seconds``, ``cpu_seconds``, ``rss_bytes``, ``peak_bytes`` and ``heap_bytes`` from start to synced, or from the
moment at which it requests ``/go`` to the last event that its handler received; ``objects``, and, of a
watch, ``events``: how many its handler received; and ``grown_bytes``: by how much its memory grew behind the first
fifth of them.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from benchmarks.harness import measure
from benchmarks.harness.contenders import missing

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from benchmarks.harness.contenders import AnyContender, Contender
    from benchmarks.harness.measure import Figures, Lab

CLIENT_GO: Final = "client_go"
CLIENT_GO_TITLE: Final = "client-go informer, JSON"

_PROGRAM: Final = "MASTHEAD_CLIENT_GO_BENCH"
_FIGURES: Final = {"wall": "seconds", "cpu": "cpu_seconds", "held": "rss_bytes", "peak": "peak_bytes"}
"""Ours, and what client-go's program calls them."""


@dataclasses.dataclass(frozen=True)
class Runs:
    """Starts measurements, each in a process of its own.

    Attributes:
        lab: Where.
        peers_python: The interpreter that has the peers.
        client_go: The path of the program that measures client-go; empty if there is none.
        only: The names of the contenders to measure; empty for all of them.
    """

    lab: Lab
    peers_python: str
    client_go: str = ""
    only: Collection[str] = ()

    def chosen(self, contenders: Mapping[str, AnyContender]) -> dict[str, AnyContender]:
        """The contenders that are to be measured."""
        return {name: each for name, each in contenders.items() if not self.only or name in self.only}

    def python(self, *arguments: str | Path, peer: str = "") -> dict[str, Any]:
        """Run one of our programs, for a peer in the interpreter that has it; returns the JSON that it prints last."""
        return self.lab.run(*arguments, python=self.peers_python if peer else sys.executable)

    def versions(self, module: str, contenders: Mapping[str, Contender]) -> dict[str, str]:
        """The installed peers among some contenders, and their versions."""
        if not any(contender.peer for contender in contenders.values()):
            return {}
        return self.python("-m", module, "installed", peer="any")

    def go(self, *arguments: str | Path) -> dict[str, Any]:
        """Run client-go's program; returns the JSON that it prints last."""
        return measure.printed([self.client_go, *arguments], os.environ)


def figures_of_go(printed: Mapping[str, Any]) -> Figures:
    """What client-go's program printed, under the names that the other figures have."""
    return {name: printed.get(key) for name, key in _FIGURES.items()}


def left_out(contenders: Mapping[str, Contender], versions: Mapping[str, str], client_go: str) -> Iterator[str]:
    """Notes about those who are not measured."""
    yield from missing(contenders, versions, why="Not installed, or without an informer")
    if not client_go:
        yield "client-go is not measured: no program is named for it (--client-go)."


def add_options(parser: argparse.ArgumentParser, names: Collection[str]) -> None:
    """Let the command line say whom to measure."""
    said = f"leave out the others of {', '.join(names)}"
    parser.add_argument("--only", nargs="+", default=(), choices=names, metavar="NAME", help=said)
    measure.add_peers(parser)
    parser.add_argument(
        "--client-go",
        default=os.environ.get(_PROGRAM, ""),
        help=f"a program that measures client-go (default: ${_PROGRAM})",
    )
