"""Streams between clients and pods, through an embedded server in a process of its own, with other clients beside ours.

Each measurement has a process of its own. Wall time, because what counts is what a user waits for; the least of several
rounds.
"""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Final

from benchmarks.harness import measure
from benchmarks.harness.report import Report, Table, show, unjudged
from benchmarks.streams import commands, copies, logs, port_forward

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from benchmarks.harness.measure import Lab

    Measured = tuple[list[Table], list[str]]


@dataclasses.dataclass(frozen=True)
class Size:
    """How much to do.

    Attributes:
        commands: How many, one after the other.
        megabytes: Through one forwarded connection, each way.
        log_lines: Lines of logs.
        copied_megabytes: Of the file that is copied.
        repeat: Rounds.
    """

    commands: int = 500
    megabytes: int = 128
    log_lines: int = 500_000
    copied_megabytes: int = 100
    repeat: int = 3

    @classmethod
    def quick(cls) -> Size:
        """Just enough to see that everything works."""
        return cls(commands=5, megabytes=1, log_lines=1000, copied_megabytes=1, repeat=1)


@dataclasses.dataclass(frozen=True)
class Bench:
    """Where streams are measured.

    Attributes:
        lab: Starts processes.
        peers_python: The interpreter that has the peers.
    """

    lab: Lab
    peers_python: str = sys.executable


def exec_part(bench: Bench, size: Size) -> Measured:
    """Measure small commands."""
    found, versions = commands.measured(bench.lab, size.commands, size.repeat, bench.peers_python)
    return [commands.table(found, versions, size.commands)], []


def port_forward_part(bench: Bench, size: Size) -> Measured:
    """Measure bytes through one forwarded connection."""
    total = size.megabytes * 2**20
    found, versions = port_forward.measured(bench.lab, total, size.repeat, bench.peers_python)
    missing = ", ".join(peer for peer in port_forward.PEERS if peer not in found)
    note = (
        f"Not installed, so not measured: {missing} (pip install 'masthead-k8s[peers]', or name an interpreter with "
        "them with --peers-python)."
    )
    return [port_forward.table(found, versions, total)], [note] if missing else []


def logs_part(bench: Bench, size: Size) -> Measured:
    """Measure the logs of many pods, as they are written, and those that were written before."""
    tables: list[Table] = []
    for follow in (True, False):
        found, versions = logs.measured(bench.lab, size.log_lines, size.repeat, bench.peers_python, follow=follow)
        tables.append(logs.table(found, versions, size.log_lines, follow=follow))
    return tables, []


def copy_part(bench: Bench, size: Size) -> Measured:
    """Measure a file that is copied to a pod, and back."""
    total = size.copied_megabytes * 2**20
    found, versions = copies.measured(bench.lab, total, size.repeat, bench.peers_python)
    return [copies.table(found, versions, total)], []


PARTS: Final[dict[str, Callable[[Bench, Size], Measured]]] = {
    "exec": exec_part,
    "port-forward": port_forward_part,
    "logs": logs_part,
    "cp": copy_part,
}
"""What is measured, by the names that ``--only`` takes."""


def run(lab: Lab, size: Size, *, only: Collection[str] = (), peers_python: str = sys.executable) -> Report:
    """Measure everything, or the named parts."""
    bench = Bench(lab, peers_python)
    found: list[Table] = []
    notes: list[str] = []
    for name, part in PARTS.items():
        if not only or name in only:
            some, remarks = part(bench, size)
            found += some
            notes += remarks
    # A quick run is too little to judge by.
    judged = unjudged(found) if size == Size.quick() else tuple(found)
    return Report("streams", dataclasses.asdict(size), judged, tuple(notes))


def main() -> None:
    """Run the benchmark."""
    parser = measure.parser(__doc__, repeat=Size.repeat, quick=True)
    parser.add_argument("--only", nargs="+", default=(), choices=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}")
    measure.add_peers(parser)
    options = parser.parse_args()
    size = Size.quick() if options.quick else Size(repeat=options.repeat)
    with measure.lab() as lab:
        show(run(lab, size, only=options.only, peers_python=options.peers_python))
