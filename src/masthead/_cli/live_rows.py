"""The rows of a live table, with recent changes and deletions. Pure.

Times are seconds of any monotonic clock, and arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._cli.live_objects import Key, RowChange
    from masthead._printers.table import PrintedRow

__all__ = ["LiveRow", "LiveRows", "columns_that_fit"]

FRESH: Final = 3.0
"""Seconds for which a change is highlighted, and a deleted row stays."""
_IMPORTANT: Final = ("NAME", "STATUS", "READY", "AGE", "NAMESPACE")
_BETWEEN: Final = 2


@dataclass(slots=True)
class LiveRow:
    """One object of a live table.

    Attributes:
        row: Its cells at its last change.
        changed_at: When it was added or changed; None if it is unchanged since the start.
        gone_at: When it was deleted; None if it exists.
        is_new: Whether the last change was its creation.
    """

    row: PrintedRow
    changed_at: float | None = None
    gone_at: float | None = None
    is_new: bool = False

    def state(self, now: float) -> str:
        """The state of the row: ``gone``, ``new``, ``changed``, or empty for no recent change."""
        if self.gone_at is not None:
            return "gone"
        if self.changed_at is None or now - self.changed_at >= FRESH:
            return ""
        return "new" if self.is_new else "changed"


class LiveRows:
    """The rows by key, and how many changes there were."""

    def __init__(self) -> None:
        self._rows: dict[Key, LiveRow] = {}
        self.changes = 0

    def __len__(self) -> int:
        return sum(row.gone_at is None for row in self._rows.values())

    def begin(self, rows: Sequence[PrintedRow]) -> None:
        """Take the rows that are there from the beginning."""
        for row in rows:
            self._rows[row.namespace, row.name] = LiveRow(row)

    def apply(self, change: RowChange, row: PrintedRow, now: float) -> None:
        """Apply a change.

        Args:
            change: The change.
            row: The row of the object.
            now: The time.
        """
        self.changes += 1
        old = self._rows.get(change.key)
        made = LiveRow(row, now)
        if change.type == "deleted":
            made.gone_at = now
        else:
            # An object created again within the highlight of its deletion is new.
            made.is_new = old is None or old.gone_at is not None
        self._rows[change.key] = made

    def visible(self, now: float) -> list[LiveRow]:
        """Return the rows in the order of their keys, without rows that were deleted some time ago."""
        faded = [key for key, row in self._rows.items() if row.gone_at is not None and now - row.gone_at >= FRESH]
        for key in faded:
            del self._rows[key]
        return [self._rows[key] for key in sorted(self._rows)]


def columns_that_fit(heads: Sequence[str], widths: Sequence[int], width: int) -> list[int]:
    """Choose the columns that fit side by side: the important ones first, in their order.

    Args:
        heads: The headings.
        widths: How wide each column is.
        width: How wide all may be together.

    Returns:
        Indices of columns, at least that of the name.
    """
    rest = [at for at in range(len(heads)) if heads[at] not in _IMPORTANT]
    order = [heads.index(name) for name in _IMPORTANT if name in heads] + rest
    chosen: list[int] = []
    taken = 0
    for at in order:
        needed = widths[at] + (_BETWEEN if chosen else 0)
        # A narrower column further on may still fit.
        if chosen and taken + needed > width:
            continue
        chosen.append(at)
        taken += needed
    return sorted(chosen)
