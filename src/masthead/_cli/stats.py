"""How many objects of each kind there are, how large they are, and how often they change. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._cli.document import line, table
from masthead._cli.sizes import human_size
from masthead._errors.base import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from masthead._cli.document import Line, Span

__all__ = ["ORDERS", "KindStats", "as_data", "stats_lines"]

_HEAD: Final = ("KIND", "OBJECTS", "SIZE", "MEAN", "CHANGES/S", "BYTES/S", "NOTE")


@dataclass(slots=True)
class KindStats:
    """The counts of one kind. Objects are not stored.

    Attributes:
        kind: The plural, with its group.
        objects: The number of objects.
        size: Their bytes of JSON.
        changes: The number of events.
        changed_bytes: Their bytes of JSON.
        note: Why it was not counted, or not watched; empty if it was.
    """

    kind: str
    objects: int = 0
    size: int = 0
    changes: int = 0
    changed_bytes: int = 0
    note: str = ""

    def take(self, event: str, size: int) -> None:
        """Count an event of a watch.

        Args:
            event: Its type.
            size: The bytes of its object.
        """
        self.changes += 1
        self.changed_bytes += size
        if event == "ADDED":
            self.objects += 1
            self.size += size
        elif event == "DELETED":
            # The last state may be a little larger or smaller than the counted one.
            self.objects = max(0, self.objects - 1)
            self.size = max(0, self.size - size) if self.objects else 0

    @property
    def mean(self) -> float:
        """Bytes of an object on average."""
        return self.size / self.objects if self.objects else 0.0


ORDERS: Final[dict[str, Callable[[KindStats], tuple[float, float, str]]]] = {
    "changes": lambda stats: (-stats.changes, -stats.size, stats.kind),
    "bytes": lambda stats: (-stats.size, -stats.changes, stats.kind),
    "objects": lambda stats: (-stats.objects, -stats.size, stats.kind),
    "name": lambda stats: (0, 0, stats.kind),
}
"""How kinds can be sorted."""


def stats_lines(found: Iterable[KindStats], seconds: float, *, order: str, most: int | None = None) -> list[Line]:
    """The table of all kinds that have objects, changes or a note, with their sum.

    Args:
        found: The counts.
        seconds: For how long changes were counted; 0 if they were not.
        order: The order, one of `ORDERS`.
        most: The maximum number of kinds; None for all.
    """
    # Most kinds of a cluster have no objects.
    kinds = sorted((stats for stats in found if stats.objects or stats.changes or stats.note), key=ORDERS[order])
    shown = kinds[:most]
    rows = [_row(stats, seconds) for stats in shown]
    # The sum counts hidden kinds as well.
    total = KindStats(
        counted(len(kinds), "kind"),
        sum(stats.objects for stats in kinds),
        sum(stats.size for stats in kinds),
        sum(stats.changes for stats in kinds),
        sum(stats.changed_bytes for stats in kinds),
    )
    rows.append([(cell, "bold") if isinstance(cell, str) else cell for cell in _row(total, seconds)])
    lines = table(*_right_aligned(rows), indent=0)
    hidden = len(kinds) - len(shown)
    return [*lines, line((f"... and {counted(hidden, 'more kind')}", "dim"))] if hidden else lines


def _row(found: KindStats, seconds: float) -> list[str | Span]:
    rate, volume = ("", "") if not seconds else _rates(found, seconds)
    return [
        found.kind,
        str(found.objects),
        human_size(found.size),
        human_size(found.mean) if found.objects else "",
        (rate, "yellow" if found.changes else "dim"),
        volume,
        (found.note, "dim"),
    ]


def _rates(found: KindStats, seconds: float) -> tuple[str, str]:
    if not found.changes:
        return "0", ""
    return f"{found.changes / seconds:.1f}", human_size(found.changed_bytes / seconds)


def _right_aligned(rows: Sequence[Sequence[str | Span]]) -> tuple[list[str], list[list[str | Span]]]:
    """The heading and the rows, with figures at the right of their columns."""
    spans = [[(cell, "") if isinstance(cell, str) else cell for cell in row] for row in rows]
    figures = range(1, len(_HEAD) - 1)
    widths = {at: max(len(_HEAD[at]), *(len(row[at][0]) for row in spans)) for at in figures}

    def placed(at: int, text: str) -> str:
        return text.rjust(widths[at]) if at in widths and text else text

    head = [placed(at, title) for at, title in enumerate(_HEAD)]
    return head, [[(placed(at, text), name) for at, (text, name) in enumerate(row)] for row in spans]


def as_data(found: Iterable[KindStats], seconds: float) -> dict[str, object]:
    """The same for programs."""
    return {
        "seconds": round(seconds, 3),
        "kinds": [
            {
                "kind": stats.kind,
                "objects": stats.objects,
                "bytes": stats.size,
                "changes": stats.changes,
                "changedBytes": stats.changed_bytes,
                **({"note": stats.note} if stats.note else {}),
            }
            for stats in sorted(found, key=ORDERS["name"])
        ],
    }
