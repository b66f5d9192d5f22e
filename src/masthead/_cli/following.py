"""``get -w``, and ``watch`` without a terminal: a line for each change, as kubectl prints them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NoReturn

from masthead._cli.connection import connection_error, report_connection
from masthead._cli.live_objects import Mirror
from masthead._cli.terminal import style, write
from masthead._printers.formats import format_labels
from masthead._printers.layout import cell_text
from masthead._printers.status import COLORED, status_style

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import masthead
    from masthead._cli.fetching import ObjectSelection
    from masthead._cli.references import Selected
    from masthead._cli.tables import TableOptions
    from masthead._printers.printer import Column
    from masthead._printers.table import PrintedRow, PrintedTable

__all__ = ["EVENT_TYPES", "FollowOptions", "GrowingLines", "GrowingTable", "follow"]

EVENT_TYPES: Final = {"added": "ADDED", "changed": "MODIFIED", "deleted": "DELETED"}
"""The types of events that bring changes, as watches name them."""
_EVENT_WIDTH: Final = max(map(len, EVENT_TYPES.values()))
_PADDING: Final = 3
_NARROWEST: Final = 6
_LOOK_UP: Final = 1.0
"""Seconds between two checks of the connection."""


class GrowingLines:
    """Lays out lines of cells in the order of their arrival: a column is as wide as its widest cell so far."""

    def __init__(self) -> None:
        self._widths: list[int] = []

    def add(self, lines: Sequence[Sequence[str]], styles: Sequence[Sequence[str]] = ()) -> str:
        """Return the text of lines.

        Args:
            lines: The cells of each line.
            styles: The styles of the cells; empty for none.
        """
        for line in lines:
            self._widths += [0] * (len(line) - len(self._widths))
            for at, cell in enumerate(line):
                # kubectl's widths: at least six characters, three of them padding.
                self._widths[at] = max(self._widths[at], _NARROWEST, len(cell) + _PADDING)
        plain = styles or [[""] * len(line) for line in lines]
        return "".join(f"{self._line(line, style_)}\n" for line, style_ in zip(lines, plain, strict=True))

    def _line(self, line: Sequence[str], styles: Sequence[str]) -> str:
        last = len(line) - 1
        return "".join(
            style(cell, styles[at]) + ("" if at == last else " " * (self._widths[at] - len(cell)))
            for at, cell in enumerate(line)
        )


class GrowingTable:
    """Lays out rows in the order of their arrival.

    Args:
        columns: The columns.
        options: The options of the table.
        namespaces: Whether rows begin with their namespaces.
        events: Whether rows begin with the type of the event that brings them.
    """

    def __init__(
        self, columns: Sequence[Column], options: TableOptions, *, namespaces: bool, events: bool = False
    ) -> None:
        self._options = options
        self._namespaces = namespaces
        self._events = events
        self._shown = [at for at, column in enumerate(columns) if options.wide or column.priority == 0]
        self._head = [
            *(["EVENT"] if events else []),
            *(["NAMESPACE"] if namespaces else []),
            *(columns[at].name.upper() for at in self._shown),
            *(["LABELS"] if options.labels else []),
        ]
        self._lines = GrowingLines()
        self._has_head = not options.headers

    def add(self, rows: Sequence[PrintedRow], event: str = "ADDED") -> str:
        """Return the lines of rows, and of the heading before the first of them."""
        lines = [self._cells(row, event) for row in rows]
        styles = [self._styles(line) for line in lines]
        if lines and not self._has_head:
            self._has_head = True
            lines.insert(0, self._head)
            styles.insert(0, ["bold" if self._options.color else ""] * len(self._head))
        return self._lines.add(lines, styles)

    def _cells(self, row: PrintedRow, event: str) -> list[str]:
        cells = [cell_text(row.cells[at]) if at < len(row.cells) else "" for at in self._shown]
        return [
            # As wide as the longest of them, so that columns do not move.
            *([event.ljust(_EVENT_WIDTH)] if self._events else []),
            *([row.namespace] if self._namespaces else []),
            *cells,
            *([format_labels(row.labels)] if self._options.labels else []),
        ]

    def _styles(self, line: Sequence[str]) -> list[str]:
        if not self._options.color:
            return [""] * len(line)
        return [status_style(cell) if head in COLORED else "" for cell, head in zip(line, self._head, strict=True)]


@dataclass(frozen=True, slots=True)
class FollowOptions:
    """How changes are followed.

    Attributes:
        events: Whether rows begin with the type of the event that brings them.
        only_changes: Whether objects that exist already are left out.
        arrange: Changes each table before it is printed.
    """

    events: bool = False
    only_changes: bool = False
    arrange: Callable[[PrintedTable], PrintedTable] = lambda table: table


def follow(
    client: masthead.Client,
    selected: Selected,
    selection: ObjectSelection,
    options: TableOptions,
    how: FollowOptions | None = None,
) -> NoReturn:
    """Print a table, and then a line for each change, until the process is interrupted.

    Args:
        client: The client.
        selected: The resource, with at most one name.
        selection: The selectors.
        options: The options of the table.
        how: How changes are followed; None for the default.

    Raises:
        CommandError: If one object is meant, and it does not exist.
        MastheadError: As any call, before the first table is printed.
    """
    how = how or FollowOptions()
    with Mirror(client, selected, selection) as mirror:
        namespaces = selected.resource.namespaced and selected.namespace is None
        first = how.arrange(mirror.first)
        table = GrowingTable(first.columns, options, namespaces=namespaces, events=how.events)
        write("" if how.only_changes else table.add(first.rows))
        error = ""
        while True:
            change = mirror.next(_LOOK_UP)
            if change is not None:
                row = mirror.row(change, datetime.now(UTC))
                # The options of the first table hold for each later row.
                arranged = how.arrange(replace(mirror.first, rows=(row,)))
                write(table.add(arranged.rows, EVENT_TYPES[change.type]))
            error = report_connection(connection_error(mirror.health), error)
