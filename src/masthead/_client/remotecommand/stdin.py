"""What can be sent to the stdin of a process, piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import IO, TYPE_CHECKING, Final, TypeAlias, cast

from masthead.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["InputSource", "input_chunks"]

InputSource: TypeAlias = "bytes | str | IO[bytes] | Iterable[bytes] | AsyncIterable[bytes]"
"""Bytes, text, a file that is open for reading bytes, or an iterable of bytes, async or not."""
_READ_SIZE: Final = 2**18


async def input_chunks(source: InputSource) -> AsyncIterator[bytes]:
    """The bytes of a source, in pieces. Files and plain iterables are read in a thread, because they may block.

    Raises:
        InvalidValueError: If it is none of these, or a piece is not bytes.
        Exception: Whatever reading the source raises.
    """
    if isinstance(source, str):
        yield source.encode()
    elif isinstance(source, bytes | bytearray | memoryview):
        yield bytes(source)
    elif hasattr(source, "read"):
        file = cast("IO[bytes]", source)
        while piece := _checked(await asyncio.to_thread(file.read, _READ_SIZE)):
            yield piece
    elif isinstance(source, AsyncIterable):
        async for sent in source:
            yield _checked(sent)
    elif isinstance(source, Iterable):
        pieces: Iterator[bytes] = iter(source)
        while (each := await asyncio.to_thread(_next, pieces)) is not None:
            yield _checked(each)
    else:
        raise InvalidValueError(
            f"stdin cannot be a {type(source).__name__}; give bytes, text, a binary file, or an iterable of bytes",
            value=source,
        )


def _next(pieces: Iterator[bytes]) -> bytes | None:
    # Not StopIteration, which a coroutine cannot raise.
    return next(pieces, None)


def _checked(piece: object) -> bytes:
    if not isinstance(piece, bytes | bytearray | memoryview):
        raise InvalidValueError(
            f"stdin takes bytes, and was given a {type(piece).__name__}; open files in binary mode",
            value=piece,
        )
    return bytes(piece)
