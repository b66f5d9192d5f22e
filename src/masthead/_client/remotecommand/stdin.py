"""What can be sent to the stdin of a process, piece by piece."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterable, Iterable
from contextlib import aclosing
from typing import IO, TYPE_CHECKING, Final, TypeAlias, cast

from masthead._client.remotecommand.source_thread import SourceThread
from masthead.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator

__all__ = ["InputSource", "input_chunks"]

InputSource: TypeAlias = "bytes | str | IO[bytes] | Iterable[bytes] | AsyncIterable[bytes]"
"""Bytes, text, a file that is open for reading bytes, or an iterable of bytes, async or not."""
_READ_SIZE: Final = 2**18
_END: Final = object()


async def input_chunks(source: InputSource) -> AsyncGenerator[bytes]:
    """The bytes of a source, in pieces. Files and plain iterables are read in a thread, because they may block.

    Raises:
        InvalidValueError: If it is of another type, or a piece is not bytes.
        Exception: Whatever reading the source raises.
    """
    if isinstance(source, str):
        yield source.encode()
    elif isinstance(source, bytes | bytearray | memoryview):
        yield bytes(source)
    elif hasattr(source, "read"):
        file = cast("IO[bytes]", source)
        async with aclosing(_read_in_thread(lambda: file.read(_READ_SIZE))) as pieces:
            async for piece in pieces:
                if not piece:
                    return
                yield piece
    elif isinstance(source, AsyncIterable):
        async for sent in source:
            yield _checked(sent)
    elif isinstance(cast("object", source), Iterable):
        remaining: Iterator[object] = iter(cast("Iterable[object]", source))
        async with aclosing(_read_in_thread(lambda: next(remaining, _END))) as pieces:
            async for piece in pieces:
                yield piece
    else:
        raise InvalidValueError(
            f"stdin cannot be a {type(source).__name__}; give bytes, text, a binary file, or an iterable of bytes",
            value=source,
        )


async def _read_in_thread(read: Callable[[], object]) -> AsyncGenerator[bytes]:
    """What a function returns, again and again until it returns `_END`. Nothing waits for a call that is given up."""
    thread, context = SourceThread(), contextvars.copy_context()
    loop = asyncio.get_running_loop()
    try:
        while (piece := await loop.run_in_executor(thread, context.run, read)) is not _END:
            yield _checked(piece)
    finally:
        thread.shutdown()


def _checked(piece: object) -> bytes:
    if not isinstance(piece, bytes | bytearray | memoryview):
        raise InvalidValueError(
            f"stdin takes bytes, and was given a {type(piece).__name__}; open files in binary mode",
            value=piece,
        )
    return bytes(cast("bytes", piece))
