"""Tables: the objects of a kind at a position, and the cells of some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._printers.layout import cell_text
from masthead._printers.status import COLORED, status_style

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from masthead._printers.printer import Cell
    from masthead._ui.digests import Digests
    from masthead._ui.history import History

__all__ = ["FIRST_ROWS", "TableQuery", "Tables"]

FIRST_ROWS: Final = 80
"""How many rows come with the table itself: a screen full, which is painted without another request."""
_MAX_ROWS: Final = 400


@dataclass(frozen=True, slots=True)
class TableQuery:
    """Which objects are wanted, and in which order.

    Attributes:
        kind: The number of the kind.
        position: The position.
        namespace: The namespace; empty for all.
        words: What the objects contain; with a leading ``-``, what they do not.
        sort: The column; -1 for namespace and name.
        is_descending: Whether the order is reversed.
    """

    kind: int
    position: int
    namespace: str = ""
    words: tuple[str, ...] = ()
    sort: int = -1
    is_descending: bool = False


class Tables:
    """Makes tables of a history."""

    def __init__(self, history: History, digests: Digests) -> None:
        self._history = history
        self._digests = digests

    async def table(self, query: TableQuery, now: datetime) -> dict[str, object]:
        """The numbers of all objects in order, and the first rows."""
        history = self._history
        held = history.kinds[query.kind]
        found = history.present(query.position, query.kind)
        places = {number: (key.namespace, key.name) for number, _ in found if (key := history.key(number)) is not None}
        total = len(found)
        if query.namespace and held.namespaced:
            found = [each for each in found if places[each[0]][0] == query.namespace]
        if query.words or query.sort >= 0:
            # Only these read the objects.
            await self._digests.prepare(found)
            found = [each for each in found if self._has_words(each, query.words)]
        # By name first: sorting is stable, and equal cells stay in this order.
        found.sort(key=lambda each: places.get(each[0], ("", "")))
        if query.sort >= 0:
            found.sort(key=lambda each: self._rank(each, query))
        if query.is_descending:
            found.reverse()
        printer = self._digests.printer(query.kind, query.position)
        numbers = [number for number, _ in found]
        spaces = sorted({space for space, _ in places.values()})
        at = {space: index for index, space in enumerate(spaces)}
        return {
            "columns": [[column.name, column.type, column.priority] for column in printer.columns],
            "ids": numbers,
            # With the names of all, no row is ever empty, however fast the page scrolls.
            "names": [places[number][1] for number in numbers],
            "spaces": [at[places[number][0]] for number in numbers],
            "namespaces": spaces,
            "total": total,
            "rows": self.rows(query.kind, query.position, numbers[:FIRST_ROWS], now),
        }

    def rows(self, kind: int, position: int, numbers: Sequence[int], now: datetime) -> list[list[object]]:
        """The rows of some objects: number, namespace, cells, and the styles of the cells that have one."""
        made: list[list[object]] = []
        for number in numbers[:_MAX_ROWS]:
            state, key = self._history.state(number, position), self._history.key(number)
            if state is None or key is None or key.kind != kind:
                continue
            printer = self._digests.printer(kind, position)
            cells = printer.cells(self._history.plain(number, state), now)
            texts = [cell_text(cell) for cell in cells]
            styles = {
                str(at): style
                for at, column in enumerate(printer.columns)
                if column.name.upper() in COLORED and at < len(texts) and (style := status_style(texts[at]))
            }
            made.append([number, key.namespace, texts, styles, state])
        return made

    def _has_words(self, each: tuple[int, int], words: Sequence[str]) -> bool:
        text = self._digests.of(*each).found_by
        return all((word[1:] not in text) if word.startswith("-") and len(word) > 1 else word in text for word in words)

    def _rank(self, each: tuple[int, int], query: TableQuery) -> tuple[int, float, str]:
        digest = self._digests.of(*each)
        columns = self._digests.printer(query.kind, query.position).columns
        if query.sort < len(columns) and columns[query.sort].name == "Age":
            # The youngest first: the text of an age has no order.
            return 0, 0.0, "".join(chr(0x10FFFF - ord(sign)) for sign in digest.created)
        cell: Cell = digest.cells[query.sort] if query.sort < len(digest.cells) else None
        if isinstance(cell, int | float):
            return 0, float(cell), ""
        return 1, 0.0, cell_text(cell)
