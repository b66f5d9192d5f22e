"""Splitting of an encoded list into its items without parsing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_ITEMS: Final = b'"items":['
_END: Final = b"}]}"


def split_list(data: bytes) -> tuple[bytes, Iterator[bytes]] | None:
    """Split a list where its items appear to begin.

    A server encodes a list without whitespace, its items last, and each item with the same first field. So items begin
    where that field name occurs again, and searching for it is several times faster than parsing. A split can be wrong,
    because the same text may occur inside an item; but then some piece is not valid JSON. If every piece is a JSON
    value, the pieces are the items, as their concatenation is the list.

    Returns:
        The list without its items, and the pieces; or None if the text does not have this form.
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
