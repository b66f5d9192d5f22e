"""Work queues, no-op reconciles, and operators of many custom resources, with kopf beside them in one run.

Each measurement has a process of its own, as has the embedded server that it talks to.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Final

from benchmarks.controllers import queues
from benchmarks.harness import measure
from benchmarks.harness.report import Report, Table, show, unjudged

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.harness.measure import Lab


@dataclasses.dataclass(frozen=True)
class Size:
    """How much to do.

    Attributes:
        keys: In the queue.
        repeat: Rounds.
    """

    keys: int = 10_000
    repeat: int = 3

    @classmethod
    def quick(cls) -> Size:
        """Just enough to see that everything works."""
        return cls(keys=200, repeat=1)


def queue_part(lab: Lab, size: Size) -> Table:
    """Measure work queues."""
    best = measure.best_of(size.repeat, {"": functools.partial(queues.measured, lab, size.keys)})[""]
    return queues.queue_table(best, size.keys)


PARTS: Final[dict[str, Callable[[Lab, Size], Table]]] = {"queue": queue_part}
"""What is measured, by the names that ``--only`` takes."""


def run(lab: Lab, size: Size, only: tuple[str, ...] = ()) -> Report:
    """Measure everything, or the named parts."""
    tables = tuple(part(lab, size) for name, part in PARTS.items() if not only or name in only)
    if size == Size.quick():  # which is too little to judge by
        tables = unjudged(tables)
    return Report("controllers", dataclasses.asdict(size), tables, ())


def main() -> None:
    """Run the benchmark."""
    parser = measure.parser(__doc__, repeat=Size.repeat, quick=True)
    parser.add_argument(
        "--only", nargs="+", default=(), choices=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}"
    )
    options = parser.parse_args()
    size = Size.quick() if options.quick else Size(repeat=options.repeat)
    with measure.lab() as lab:
        show(run(lab, size, tuple(options.only)))
