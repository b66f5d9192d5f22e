"""Tables of objects as text: prefixes of names, columns of labels, and colours. Pure."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead._cli.terminal import style
from masthead._meta.object import Object
from masthead._printers.printer import Column
from masthead._printers.status import COLORED, status_style
from masthead._value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._printers.table import PrintedRow, PrintedTable

__all__ = [
    "COLORED",
    "TableOptions",
    "data_of",
    "paint",
    "render",
    "status_style",
    "with_label_columns",
    "with_prefix",
]

_HEADING: Final = re.compile(r"\S+(?: \S+)*")


class TableOptions(Value):
    """The options of tables.

    Attributes:
        wide: With the wide columns.
        labels: With a column of all labels.
        headers: With the names of the columns.
        color: With colours.
    """

    wide: bool = False
    labels: bool = False
    headers: bool = True
    color: bool = False


def render(tables: Sequence[PrintedTable], options: TableOptions) -> str:
    """Return the text of tables, as kubectl prints them: with a blank line between non-empty tables.

    Args:
        tables: The tables.
        options: Their options.
    """
    texts = [
        table.format(wide=options.wide, labels=options.labels, headers=options.headers)
        for table in tables
        if table.rows
    ]
    # Columns are found by their headings; without headings nothing can be coloured.
    if options.color and options.headers:
        texts = [paint(text) for text in texts]
    # kubectl separates tables by a blank line only if they have headings.
    between = "\n\n" if options.headers else "\n"
    return between.join(texts) + "\n" if texts else ""


def with_prefix(table: PrintedTable, title: str) -> PrintedTable:
    """The table with ``title/`` before each name."""
    # The server marks the name column by its format; it need not be the first.
    at = next((index for index, column in enumerate(table.columns) if column.format == "name"), 0)

    def named(row: PrintedRow) -> PrintedRow:
        cells = list(row.cells)
        if at < len(cells):
            cells[at] = f"{title}/{cells[at]}"
        return replace(row, cells=tuple(cells))

    return replace(table, rows=tuple(map(named, table.rows)))


def with_label_columns(table: PrintedTable, keys: Sequence[str]) -> PrintedTable:
    """The table with a column for each of some labels."""
    # As kubectl: the column of "example.com/tier" is called "tier".
    columns = [Column(key.rpartition("/")[2], "string", "", 0, "") for key in keys]
    rows = [replace(row, cells=(*row.cells, *(row.labels.get(key, "") for key in keys))) for row in table.rows]
    return replace(table, columns=(*table.columns, *columns), rows=tuple(rows))


def data_of(row: PrintedRow) -> object:
    """The object of a row as plain data."""
    found = row.object
    return found.to_dict() if isinstance(found, Object) else found


def paint(text: str) -> str:
    """Colour a table that is laid out: its heading, and the cells that say how an object is."""
    head, *lines = text.split("\n")
    # Headings are separated by two blanks or more, and may contain single ones.
    headings = list(_HEADING.finditer(head))
    places = [
        (heading.start(), headings[at + 1].start() if at + 1 < len(headings) else None)
        for at, heading in enumerate(headings)
        if heading[0] in COLORED
    ]
    return "\n".join([style(head, "bold"), *(_paint(line, places) for line in lines)])


def _paint(line: str, places: Sequence[tuple[int, int | None]]) -> str:
    # From the right, so that the places on the left stay where they are.
    for start, end in reversed(places):
        cell = line[start:end].rstrip()
        tail = line[start + len(cell) :]
        line = line[:start] + style(cell, status_style(cell)) + tail
    return line
