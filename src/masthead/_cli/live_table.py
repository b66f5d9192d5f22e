"""A live table on a terminal: one frame of it, in a form that rich can print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from masthead._cli.connection import connection_error
from masthead._cli.live_rows import columns_that_fit
from masthead._errors.base import counted
from masthead._printers.formats import format_labels
from masthead._printers.layout import cell_text
from masthead._printers.status import COLORED, status_style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    import masthead
    from masthead._cli.live_rows import LiveRow
    from masthead._printers.printer import Column
    from masthead._printers.table import PrintedRow

__all__ = ["Frame", "render_frame", "status_line"]

_STYLES: Final = {"gone": "dim strike", "new": "bold", "changed": "bold"}
_MARKS: Final = {"gone": "-", "new": "+", "changed": "*"}
_MARK: Final = 3
"""How wide the column of marks is, with the blanks behind it."""
_BELOW: Final = 3
"""Lines below the rows: the number of hidden rows, the status, and the cursor's."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of the display.

    Attributes:
        columns: The columns.
        rows: The rows, with their current cells.
        now: The time, by which rows are highlighted.
        status: The line below the table.
        wide: Whether to include wide columns.
        namespaces: Whether to include namespaces.
        labels: Whether to include labels.
    """

    columns: tuple[Column, ...]
    rows: Sequence[tuple[LiveRow, PrintedRow]]
    now: float
    status: Text
    wide: bool = False
    namespaces: bool = False
    labels: bool = False


def render_frame(frame: Frame, *, width: int, height: int) -> RenderableType:
    """Return the table and the status line, cut to a terminal.

    Args:
        frame: What to show.
        width: The terminal's width.
        height: The terminal's height.
    """
    # At least one row, however low the terminal is.
    shown = frame.rows[: max(1, height - _BELOW - 1)]
    heads, lines = _texts(frame, [row for _, row in shown])
    widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
    # Rich would shrink all columns; leaving some out keeps the others readable.
    fitting = columns_that_fit(heads, widths, width - _MARK)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_edge=False)
    table.add_column("", width=1, no_wrap=True)
    for at in fitting:
        # A few characters of each column remain readable before the ellipsis.
        table.add_column(heads[at], no_wrap=True, overflow="ellipsis", min_width=min(widths[at], 4))
    for (live, _), line in zip(shown, lines, strict=True):
        state = live.state(frame.now)
        cells = [_cell(heads[at], line[at]) for at in fitting]
        table.add_row(_MARKS.get(state, ""), *cells, style=_STYLES.get(state, ""))
    hidden = len(frame.rows) - len(shown)
    more = [Text(f"... and {hidden} more", style="dim", no_wrap=True, overflow="ellipsis")] if hidden else []
    return Group(*([table] if shown else []), *more, frame.status)


def _texts(frame: Frame, rows: Sequence[PrintedRow]) -> tuple[list[str], list[list[str]]]:
    """The headings and the cells, as text."""
    at_all = [at for at, column in enumerate(frame.columns) if frame.wide or column.priority == 0]
    heads = [
        *(["NAMESPACE"] if frame.namespaces else []),
        *(frame.columns[at].name.upper() for at in at_all),
        *(["LABELS"] if frame.labels else []),
    ]
    lines = [
        [
            *([row.namespace] if frame.namespaces else []),
            # A row of another version of the CRD may have fewer cells.
            *(cell_text(row.cells[at]) if at < len(row.cells) else "" for at in at_all),
            *([format_labels(row.labels)] if frame.labels else []),
        ]
        for row in rows
    ]
    return heads, lines


def _cell(head: str, cell: str) -> Text:
    return Text(cell, style=status_style(cell) if head in COLORED else "")


def status_line(what: str, objects: int, changes: int, health: masthead.cache.InformerHealth, width: int) -> Text:
    """Return the line below the table: the resource, and the state of the connection.

    Args:
        what: The resource, such as ``pods in default``.
        objects: The number of objects.
        changes: The number of changes.
        health: The health of the informer.
        width: The terminal's width.
    """
    counts = f"{counted(objects, 'object')}, {counted(changes, 'change')}"
    line = Text(no_wrap=True, overflow="ellipsis")
    if error := connection_error(health):
        line.append("reconnecting", style="yellow")
        line.append(f" {what} ({counts}): {error}", style="dim")
    else:
        line.append("watching", style="green")
        times = counted(health.reconnects + health.relists, "time")
        # The first connection is not counted, and reconnects are normal: servers end watches every few minutes.
        again = f", connected again {times}" if health.relists else ""
        line.append(f" {what} ({counts}{again}); Ctrl-C ends", style="dim")
    line.truncate(width, overflow="ellipsis")
    return line
