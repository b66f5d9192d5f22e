"""Decodes a list while it arrives, item by item.

A server may send a list of 200,000 objects, more than a gigabyte, in one response. Decoding it in one go would block an
event loop for seconds, and hold both text and items in memory. So items are decoded as their text arrives::

    chunk ──feed──> text that is not decoded yet ──cut where the next item seems to begin──> item, item, ...

A cut is a guess, as in `masthead._meta.list_splitter`: the same text may occur deeper inside an item. A piece that is a
JSON value is an item; any other piece is extended to the next place where an item seems to begin. Text that does not
look like a server's list is stored, and decoded as a whole at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

import msgspec

from masthead._meta import wire
from masthead._meta.object import ObjectList
from masthead._meta.slots import member_of
from masthead.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._meta.object import Object

__all__ = ["ListReader"]

L = TypeVar("L", bound=ObjectList[Any])

_ITEMS: Final = b'"items":[{'
_END: Final = b"]}"
_MAX_HEAD_LENGTH: Final = 2**16
"""Within how many bytes the first item must begin."""
_ATTEMPTS: Final = 100
"""How many wrong cuts of one item are put up with; each makes the next attempt longer."""


class ListReader(Generic[L]):
    """Reads one list.

    Args:
        cls: What the list is.
        on_error: Called with an error for each item that cannot be decoded, which is then left out. Without it, the
            first such item raises, at the end.
    """

    def __init__(self, cls: type[L], on_error: Callable[[DecodeError], None] | None = None) -> None:
        self._cls = cls
        self._on_error = on_error
        self._from_wire = cls.ITEM.from_wire
        self._head = b""
        self._between = b""
        self._rest = b""
        self._searched = 0
        self._attempts = 0
        self._pieces: list[bytes] = []
        self._is_usual = True
        self._items: list[Object | DecodeError] = []

    def feed(self, chunk: bytes) -> None:
        """Take what arrived next, and decode the items that it completes."""
        # Too many wrong cuts: the rest is collected and decoded as a whole.
        if not self._is_usual:
            self._pieces.append(chunk)
            return
        self._rest += chunk
        if not self._between and not self._begin():
            return
        rest, start, between = self._rest, 0, self._between
        while (at := rest.find(between, self._searched)) >= 0:
            if self._take(rest[start : at + 1]):
                start = self._searched = at + 2
                continue
            self._searched = at + 1
            self._attempts += 1
            if self._attempts > _ATTEMPTS:
                self._is_usual = False
                break
        self._rest = rest[start:]
        # Skip text that was searched before, except for a possible beginning of a cut at its end.
        self._searched = max(self._searched - start, len(self._rest) - len(between) + 1, 0)

    def finish(self) -> L:
        """The list, now that all of it has arrived.

        Raises:
            DecodeError: If it is not JSON or not such a list, or an item cannot be decoded.
        """
        if not self._is_usual or not self._between:
            return self._finish_at_once()
        last = self._rest.rstrip()
        # Something follows the items, or the text is cut off: the general decoder decides.
        if not last.endswith(_END) or not self._take(last[: -len(_END)]):
            return self._finish_at_once()
        try:
            made = self._cls.from_wire(self._head + _END)
        except DecodeError:
            return self._finish_at_once()
        broken = any(isinstance(item, DecodeError) for item in self._items)
        if broken and self._on_error is None:
            return self._finish_at_once()  # which raises the error, with its place
        member_of(self._cls, "items").__set__(made, self._usable())
        return made

    def _begin(self) -> bool:
        """Find the first item; returns whether its text has arrived."""
        start = self._rest.find(_ITEMS)
        colon = self._rest.find(b":", start + len(_ITEMS))
        if start < 0 or colon < 0:
            self._is_usual = len(self._rest) <= _MAX_HEAD_LENGTH
            return False
        start += len(_ITEMS) - 1
        self._head = self._rest[:start]
        # Items of one list begin with the same key, so the cut is recognized with it.
        self._between = b"}," + self._rest[start : colon + 1]
        self._rest = self._rest[start:]
        return True

    def _take(self, piece: bytes) -> bool:
        """Decode a piece; returns whether it is an item, if only a broken one."""
        try:
            self._items.append(self._from_wire(piece))
        except DecodeError as error:
            if not _is_json(piece):
                # A piece that is not JSON was cut at the wrong place; the item is not broken.
                return False
            error.value = piece
            self._items.append(error)
        # Only cuts that fail in a row count.
        self._attempts = 0
        return True

    def _usable(self) -> list[Object]:
        usable: list[Object] = []
        for index, item in enumerate(self._items):
            if not isinstance(item, DecodeError):
                usable.append(item)
            elif self._on_error is not None:
                path = f"items[{index}].{item.path}".removesuffix(".")
                placed = DecodeError(item.problem, kind=item.kind, subject=item.subject, path=path)
                placed.value = item.value
                self._on_error(placed)
        return usable

    def _finish_at_once(self) -> L:
        """Decode the text that was taken apart once more, as a whole."""
        items = [_text(item) for item in self._items]
        taken = self._head + b"".join([item + b"," for item in items])
        return self._cls.from_wire(b"".join([taken, self._rest, *self._pieces]), on_error=self._on_error)


def _text(item: Object | DecodeError) -> bytes:
    if isinstance(item, DecodeError):
        return cast("bytes", item.value)
    return item.wire_bytes or item.to_json()


def _is_json(piece: bytes) -> bool:
    try:
        msgspec.json.decode(piece)
    except wire.MALFORMED:
        return False
    return True
