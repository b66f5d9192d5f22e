"""Work queues, no-op reconciles, and operators of many custom resources, with kopf beside them in one run.

Each measurement has a process of its own, as has the embedded server that it talks to. CPU time and memory are those of
the operator's process; memory grown is what all objects take beyond one.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from typing import TYPE_CHECKING, Final

from benchmarks.controllers import operators, queues, tables
from benchmarks.controllers.operators import OPERATORS, Bench
from benchmarks.harness import measure
from benchmarks.harness.report import Report, Table, show, unjudged

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from benchmarks.harness.measure import Lab

    Measured = tuple[list[Table], list[str]]


@dataclasses.dataclass(frozen=True)
class Size:
    """How much to do.

    Attributes:
        keys: In the queue.
        objects: On the server.
        changes: Of an idle operator, to measure how soon it notices them.
        rate: Changes a second.
        seconds: Of steady changes.
        repeat: Rounds, of the queue.
    """

    keys: int = 10_000
    objects: int = 10_000
    changes: int = 300
    rate: int = 1_000
    seconds: int = 60
    repeat: int = 3

    @classmethod
    def quick(cls) -> Size:
        """Just enough to see that everything works."""
        return cls(keys=200, objects=50, changes=10, rate=100, seconds=1, repeat=1)


def queue_part(bench: Bench, size: Size) -> Measured:
    """Measure work queues."""
    cases = {"": functools.partial(queues.measured, bench.lab, size.keys)}
    return [queues.queue_table(measure.best_of(size.repeat, cases)[""], size.keys)], []


def reconcile_part(bench: Bench, size: Size) -> Measured:
    """Measure no-op reconciles."""
    return [tables.reconcile_table(operators.reconciled(bench), size.objects)], []


def start_part(bench: Bench, size: Size) -> Measured:
    """Measure operators from start to quiet, with kopf beside ours."""
    versions, notes = bench.versions(), list[str]()
    present = {name: each for name, each in OPERATORS.items() if not each.peer or each.peer in versions}
    if len(present) < len(OPERATORS):
        notes.append(
            "Not installed, so not measured: kopf (pip install 'masthead-k8s[peers]', or name an interpreter that has "
            "it with --peers-python)."
        )
    found = {name: operators.measured(bench, each, size.changes) for name, each in present.items()}
    notes.append(
        "kopf's handlers do nothing, and its log is off; otherwise it would post an Event for each handler. "
        "It batches the changes of an object for 0.1 s after the first."
    )
    return [tables.start_table(found, versions, size.objects), tables.judged_table(found)], notes


def steady_part(bench: Bench, size: Size) -> Measured:
    """Measure steady changes."""
    figures = operators.sustained(bench, size.rate, size.seconds)
    return [tables.steady_table(figures, size.rate, size.seconds, size.objects)], []


PARTS: Final[dict[str, Callable[[Bench, Size], Measured]]] = {
    "queue": queue_part,
    "reconcile": reconcile_part,
    "start": start_part,
    "steady": steady_part,
}
"""What is measured, by the names that ``--only`` takes."""


def run(lab: Lab, size: Size, *, only: Collection[str] = (), peers_python: str = sys.executable) -> Report:
    """Measure everything, or the named parts."""
    bench = Bench(lab, size.objects, peers_python)
    found: list[Table] = []
    notes: list[str] = []
    for name, part in PARTS.items():
        if not only or name in only:
            some, remarks = part(bench, size)
            found += some
            notes += remarks
    # A quick run is too little to judge by.
    judged = unjudged(found) if size == Size.quick() else tuple(found)
    return Report("controllers", dataclasses.asdict(size), judged, tuple(notes))


def main() -> None:
    """Run the benchmark."""
    parser = measure.parser(__doc__, repeat=Size.repeat, quick=True)
    parser.add_argument("--only", nargs="+", default=(), choices=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--objects", type=measure.positive, default=Size.objects, help="(default: %(default)s)")
    parser.add_argument(
        "--seconds",
        type=measure.positive,
        default=Size.seconds,
        help="of steady changes (default: %(default)s)",
    )
    measure.add_peers(parser)
    options = parser.parse_args()
    size = Size(objects=options.objects, seconds=options.seconds, repeat=options.repeat)
    with measure.lab() as lab:
        report = run(
            lab,
            Size.quick() if options.quick else size,
            only=options.only,
            peers_python=options.peers_python,
        )
        show(report)
