"""What can be sent to the stdin of a process, piece by piece."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterable, Iterable
from contextlib import aclosing
from typing import IO, TYPE_CHECKING, Final, TypeAlias, cast

from masthead._client.remotecommand.source_file import file_pieces
from masthead._meta.daemon_executor import DaemonExecutor
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

__all__ = ["InputSource", "input_chunks"]

InputSource: TypeAlias = "bytes | str | IO[bytes] | Iterable[bytes] | AsyncIterable[bytes]"
"""Bytes, text, a file that is open for reading bytes, or an iterable of bytes, async or not."""
_END: Final = object()


async def input_chunks(source: InputSource) -> AsyncGenerator[bytes]:
    """The bytes of a source, in pieces. Files and plain iterables are read in a thread, because they may block.

    Raises:
        ArgumentError: If it is of another type, or a piece is not bytes.
        Exception: Whatever reading the source raises.
    """
    if isinstance(source, str):
        yield source.encode()
    elif isinstance(source, bytes | bytearray | memoryview):
        yield bytes(source)
    elif hasattr(source, "read"):
        async with aclosing(_read_in_thread(file_pieces(cast("IO[bytes]", source)))) as pieces:
            async for piece in pieces:
                yield piece
    elif isinstance(source, AsyncIterable):
        async for sent in source:
            yield _check_piece(sent)
    elif isinstance(cast("object", source), Iterable):
        async with aclosing(_read_in_thread(iter(cast("Iterable[object]", source)))) as pieces:
            async for piece in pieces:
                yield piece
    else:
        if isinstance(cast("object", source), bool):
            raise ArgumentError(
                f"stdin={source}: exec takes the data itself; open_exec(stdin=True) returns a process to write to",
                value=source,
            )
        raise ArgumentError(
            f"stdin cannot be a {type(source).__name__}; give bytes, text, a binary file, or an iterable of bytes",
            value=source,
        )


async def _read_in_thread(remaining: Iterator[object]) -> AsyncGenerator[bytes]:
    """Read an iterator in a thread. Nothing waits for an abandoned one."""
    thread, context = DaemonExecutor("masthead-stdin", "source of stdin", max_threads=1), contextvars.copy_context()
    loop = asyncio.get_running_loop()

    def read() -> object:
        return next(remaining, _END)

    try:
        while (piece := await loop.run_in_executor(thread, context.run, read)) is not _END:
            yield _check_piece(piece)
    finally:
        thread.shutdown()


def _check_piece(piece: object) -> bytes:
    if not isinstance(piece, bytes | bytearray | memoryview):
        raise ArgumentError(
            f"stdin takes bytes, and was given a {type(piece).__name__}; open files in binary mode",
            value=piece,
        )
    return bytes(cast("bytes", piece))
