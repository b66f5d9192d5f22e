"""Cutting the text of a list into its items without parsing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_ITEMS: Final = b'"items":['
_END: Final = b"}]}"


def split_list(data: bytes) -> tuple[bytes, Iterator[bytes]] | None:
    """Cut a list where its items seem to begin and end.

    A server writes a list without blanks, its items last, and each item with the same field first. So the items
    are where that beginning stands again, and looking for it is several times faster than parsing all that lies
    between. A cut can be wrong, because the same text may stand deeper inside an item; but then some piece is not
    JSON. If every piece is a JSON value, these are the items: put together again, they are the list.

    Returns:
        The list without its items, and the items; or None if the text does not look like that.
    """
    head = data.find(_ITEMS + b"{")
    end = data.rfind(_END)
    if head < 0 or end < head or data[end + len(_END) :].strip():
        return None
    start = head + len(_ITEMS)
    beginning = data[start : data.find(b":", start) + 1]
    return data[:start] + b"]}", _pieces(data, start, end + 1, b"}," + beginning)


def _pieces(data: bytes, start: int, end: int, between: bytes) -> Iterator[bytes]:
    while (at := data.find(between, start, end)) >= 0:
        yield data[start : at + 1]
        start = at + 2
    yield data[start:end]
