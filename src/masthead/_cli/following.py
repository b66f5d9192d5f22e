"""``get -w``, and ``watch`` without a terminal: a line for each change, as kubectl prints them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NoReturn

from masthead._cli.connection import connection_error, report_connection
from masthead._cli.live_objects import Mirror
from masthead._cli.tables import COLORED, status_style
from masthead._cli.terminal import style, write
from masthead._printers.formats import format_labels
from masthead._printers.layout import cell_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import masthead
    from masthead._cli.fetching import ObjectSelection
    from masthead._cli.references import Selected
    from masthead._cli.tables import TableOptions
    from masthead._printers.printer import Column
    from masthead._printers.table import PrintedRow

__all__ = ["GrowingTable", "follow"]

_PADDING: Final = 3
_NARROWEST: Final = 6
_LOOK_UP: Final = 1.0
"""Seconds between two checks of the connection."""


class GrowingTable:
    """Lays out rows in the order of their arrival: a column is as wide as its widest cell so far.

    Args:
        columns: The columns.
        options: The options of the table.
        namespaces: Whether rows begin with their namespaces.
    """

    def __init__(self, columns: Sequence[Column], options: TableOptions, *, namespaces: bool) -> None:
        self._options = options
        self._namespaces = namespaces
        self._shown = [at for at, column in enumerate(columns) if options.wide or column.priority == 0]
        self._head = [
            *(["NAMESPACE"] if namespaces else []),
            *(columns[at].name.upper() for at in self._shown),
            *(["LABELS"] if options.labels else []),
        ]
        self._widths = [0] * len(self._head)
        self._has_head = not options.headers

    def add(self, rows: Sequence[PrintedRow]) -> str:
        """Return the lines of rows, and of the heading before the first of them."""
        lines = [self._cells(row) for row in rows]
        styles = [self._styles(line) for line in lines]
        if lines and not self._has_head:
            self._has_head = True
            lines.insert(0, self._head)
            styles.insert(0, ["bold" if self._options.color else ""] * len(self._head))
        for line in lines:
            for at, cell in enumerate(line):
                # kubectl's widths: at least six characters, three of them padding.
                self._widths[at] = max(self._widths[at], _NARROWEST, len(cell) + _PADDING)
        return "".join(f"{self._line(line, style_)}\n" for line, style_ in zip(lines, styles, strict=True))

    def _cells(self, row: PrintedRow) -> list[str]:
        cells = [cell_text(row.cells[at]) if at < len(row.cells) else "" for at in self._shown]
        return [
            *([row.namespace] if self._namespaces else []),
            *cells,
            *([format_labels(row.labels)] if self._options.labels else []),
        ]

    def _styles(self, line: Sequence[str]) -> list[str]:
        if not self._options.color:
            return [""] * len(line)
        return [status_style(cell) if head in COLORED else "" for cell, head in zip(line, self._head, strict=True)]

    def _line(self, line: Sequence[str], styles: Sequence[str]) -> str:
        last = len(line) - 1
        return "".join(
            style(cell, styles[at]) + ("" if at == last else " " * (self._widths[at] - len(cell)))
            for at, cell in enumerate(line)
        )


def follow(client: masthead.Client, selected: Selected, selection: ObjectSelection, options: TableOptions) -> NoReturn:
    """Print a table, and then a line for each change, until the process is interrupted.

    Args:
        client: The client.
        selected: The resource, with at most one name.
        selection: The selectors.
        options: The options of the table.

    Raises:
        CommandError: If one object is meant, and it does not exist.
        MastheadError: As any call, before the first table is printed.
    """
    with Mirror(client, selected, selection) as mirror:
        namespaces = selected.resource.namespaced and selected.namespace is None
        table = GrowingTable(mirror.columns, options, namespaces=namespaces)
        write(table.add(mirror.first.rows))
        error = ""
        while True:
            change = mirror.next(_LOOK_UP)
            if change is not None:
                write(table.add([mirror.row(change, datetime.now(UTC))]))
            error = report_connection(connection_error(mirror.health), error)
