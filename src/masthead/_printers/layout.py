"""Text of a table, as kubectl lays it out: columns as wide as their widest cell, and three blanks. And its HTML."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final

from masthead._errors.control_characters import escape_controls
from masthead._printers.numbers import go_float

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from masthead._printers.printer import Cell

__all__ = ["as_html", "cell_text", "lay_out"]

_PADDING: Final = 3
_NARROWEST: Final = 6
_LINE_END: Final = re.compile(r"[\f\n\r]")


def cell_text(cell: Cell) -> str:
    """Return the text of a cell: one line, without control sequences of terminals."""
    match cell:
        case None:
            return ""
        case bool():
            return "true" if cell else "false"
        case float():
            return go_float(cell)
        case _:
            return _one_line(str(cell))


def _one_line(text: str) -> str:
    # As kubectl: only the first line of a cell is printed.
    end = _LINE_END.search(text)
    shown = f"{text[: end.start()]}..." if end else text
    # An object must not control the terminal that displays it. A tab stays: it begins another column.
    return escape_controls(shown)


def lay_out(lines: Iterable[Sequence[str]]) -> str:
    """Lay out lines of cells, with a line feed between them. Control characters of terminals are made visible.

    A tab in a cell begins another one, as it does for kubectl.
    """
    # Escaped before it is measured: columns are as wide as their text on the screen.
    rows = [escape_controls("\t".join(line)).split("\t") for line in lines]
    widths: list[list[int]] = [[] for _ in rows]
    # The last cell of a line belongs to no column. Neighbouring lines that reach a column share its width.
    reached = list(range(len(rows)))
    column = 0
    while reached := [index for index in reached if len(rows[index]) - 1 > column]:
        for _, run in groupby(enumerate(reached), key=lambda numbered: numbered[1] - numbered[0]):
            indices = [index for _, index in run]
            width = max(_NARROWEST, max(len(rows[index][column]) for index in indices) + _PADDING)
            for index in indices:
                widths[index].append(width)
        column += 1
    return "\n".join(map(_line, rows, widths))


def _line(row: list[str], widths: list[int]) -> str:
    return "".join(map(str.ljust, row, widths)) + row[-1]


def as_html(header: Sequence[str], lines: Iterable[Sequence[str]], caption: str) -> str:
    """Return a table as HTML, in which every text is escaped.

    Args:
        header: The names of the columns.
        lines: The cells of each row.
        caption: The text below the table; may be empty.
    """
    from html import escape  # for notebooks only, because programs must start quickly

    def row(tag: str, cells: Iterable[str]) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

    rows = [row("th", header), *(row("td", line) for line in lines)]
    below = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{below}{''.join(rows)}</table>"
