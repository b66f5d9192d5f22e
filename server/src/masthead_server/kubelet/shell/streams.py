"""Inputs and outputs of the built-in shell."""

from __future__ import annotations

import asyncio
import errno
import os
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead_server.kubelet.filesystem import RegularFile

__all__ = [
    "PIECE",
    "FileOutput",
    "Input",
    "NullOutput",
    "ShellOutput",
    "TextOutput",
    "copy",
    "file_input",
    "no_input",
    "text_input",
]

PIECE: Final = 64 * 1024
"""Bytes per step of a copy."""
_MAX_LINE: Final = 1024 * 1024


class ShellOutput(Protocol):
    """The output of a command."""

    async def write(self, data: bytes, /) -> None:
        """Print.

        Raises:
            BrokenPipeError: If the reader has closed its end.
            OSError: If the file system is full.
        """
        ...


class NullOutput:
    """Drops all output."""

    async def write(self, data: bytes, /) -> None:
        """Drop it."""


class FileOutput:
    """Prints to a file."""

    def __init__(self, file: RegularFile) -> None:
        self._file = file

    async def write(self, data: bytes, /) -> None:
        """Append to the file.

        Raises:
            OSError: If the file system is full.
        """
        self._file.append(data)


class Input:
    """The input of a command, with a buffer for lines and blocks.

    Args:
        read: Reads up to so many bytes; empty at the end.
    """

    def __init__(self, read: Callable[[int], Awaitable[bytes]]) -> None:
        self._read = read
        self._buffer = b""

    async def read(self, size: int) -> bytes:
        """Read up to so many bytes; empty at the end."""
        if self._buffer:
            data, self._buffer = self._buffer[:size], self._buffer[size:]
            return data
        return await self._read(size)

    async def read_exactly(self, size: int) -> bytes:
        """Read so many bytes; fewer at the end."""
        pieces: list[bytes] = []
        while size and (piece := await self.read(size)):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    async def read_line(self) -> bytes:
        """Read a line with its newline; without one at the end, and where the line is too long."""
        line = self._buffer
        # A client may send a line without an end.
        while b"\n" not in line and len(line) < _MAX_LINE:
            piece = await self._read(PIECE)
            if not piece:
                break
            line += piece
        end = line.find(b"\n") + 1 or len(line)
        self._buffer = line[end:]
        return line[:end]


def file_input(file: RegularFile) -> Input:
    """Return an input that reads a file."""
    offset = 0

    async def read(size: int) -> bytes:
        nonlocal offset
        await asyncio.sleep(0)  # a file may be large
        data = file.read(offset, size)
        offset += len(data)
        return data

    return Input(read)


async def no_input(_size: int) -> bytes:
    """Read nothing."""
    return b""


async def copy(source: Input, target: ShellOutput) -> None:
    """Copy all of an input, piece by piece.

    Raises:
        BrokenPipeError: If the reader has closed its end.
        OSError: If the file system is full.
    """
    while data := await source.read(PIECE):
        await target.write(data)
        # Buffers wait for nothing, and other requests are to have their turn.
        await asyncio.sleep(0)


def text_input(text: str) -> Input:
    """Return an input that reads a text."""
    data = text.encode("utf-8", "surrogateescape")
    position = 0

    async def read(size: int) -> bytes:
        nonlocal position
        piece = data[position : position + size]
        position += len(piece)
        return piece

    return Input(read)


class TextOutput:
    """Collects what a command prints, up to a limit.

    Args:
        limit: The maximum number of bytes.
    """

    def __init__(self, limit: int) -> None:
        self._data = bytearray()
        self._limit = limit

    @property
    def text(self) -> str:
        """The output, without bytes that no text has."""
        return self._data.replace(b"\0", b"").decode("utf-8", "surrogateescape")

    async def write(self, data: bytes, /) -> None:
        """Append to the text.

        Raises:
            OSError: If the text would be too long.
        """
        if len(self._data) + len(data) > self._limit:
            raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
        self._data += data
