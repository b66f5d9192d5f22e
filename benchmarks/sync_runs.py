"""Starts what the informer benchmarks measure: ours, the peers in an interpreter that has them, and client-go.

client-go is measured where the environment variable ``MASTHEAD_CLIENT_GO_BENCH`` names a program that runs its
informer over pods, and prints a line of JSON::

    PROGRAM sync  --kubeconfig FILE --resource pods --namespace NAME [--protobuf]
    PROGRAM watch --kubeconfig FILE --events NUMBER

with ``seconds``, ``cpu_seconds``, ``rss_bytes``, ``peak_bytes`` and ``heap_bytes`` from start to synced, or from the
moment at which it asks the server for ``/go`` to the last event that its handler heard of; ``objects``, and, of a
watch, ``grown_bytes``: by how much its memory grew behind the first fifth of the events.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

from benchmarks import measure

if TYPE_CHECKING:
    import argparse
    from collections.abc import Generator
    from pathlib import Path

    from benchmarks.measure import Lab
    from benchmarks.report import Table

_PYTHON_OF_PEERS: Final = "PEERS_PYTHON"
_CLIENT_GO: Final = "MASTHEAD_CLIENT_GO_BENCH"


@dataclasses.dataclass(frozen=True)
class Runs:
    """Starts measurements, each in a process of its own.

    Attributes:
        lab: Where.
        peers_python: The interpreter that has the peers.
        client_go: The path of the program that measures client-go; empty if there is none.
    """

    lab: Lab
    peers_python: str
    client_go: str = ""

    def python(self, *arguments: str | Path, peer: str = "") -> dict[str, Any]:
        """Run one of our programs, for a peer in the interpreter that has it; returns the JSON that it prints last."""
        if not peer or self.peers_python == sys.executable:
            return self.lab.run(*arguments)
        # Nothing of another interpreter's may come into our tree.
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        return _printed([self.peers_python, "-W", "ignore", *arguments], environment)

    def go(self, *arguments: str | Path) -> dict[str, Any]:
        """Run client-go's program; returns the JSON that it prints last."""
        return _printed([self.client_go, *arguments], dict(os.environ))

    @contextlib.contextmanager
    def serving(self, module: str, *options: str) -> Generator[Path]:
        """Run a server for the length of a block; gives the path of a kubeconfig.

        Raises:
            RuntimeError: if it does not start.
        """
        kubeconfig = self.lab.folder / "kubeconfig"
        with self.lab.running("-m", module, kubeconfig, *options) as process:
            assert process.stdout is not None
            if not process.stdout.readline():
                raise RuntimeError("the server did not start; what it said is above")
            yield kubeconfig


def _printed(command: list[str | Path], environment: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        command, cwd=measure.ROOT, env=environment, stdout=subprocess.PIPE, check=True, encoding="utf-8"
    )
    printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return printed


def add_options(parser: argparse.ArgumentParser) -> None:
    """Let the command line say what to measure beside ours."""
    parser.add_argument("--quick", action="store_true", help="a smoke run, whose figures mean little")
    parser.add_argument(
        "--peers-python",
        default=os.environ.get(_PYTHON_OF_PEERS, sys.executable),
        help=f"an interpreter that has the peers (default: ${_PYTHON_OF_PEERS}, or this one)",
    )
    parser.add_argument(
        "--client-go",
        default=os.environ.get(_CLIENT_GO, ""),
        help=f"a program that measures client-go (default: ${_CLIENT_GO})",
    )


def without_targets(table: Table) -> Table:
    """The same figures, judged by nothing: there was too little to judge by."""
    return dataclasses.replace(table, rows=tuple(dataclasses.replace(row, target=None) for row in table.rows))


def scaled(value: float | None, factor: float) -> float | None:
    """A figure in another unit; None stays None."""
    return None if value is None else value * factor


def ratio(value: float | None, base: float | None) -> float | None:
    """How many times the base a figure is; None if one of them is not known."""
    return value / base if value is not None and base else None
