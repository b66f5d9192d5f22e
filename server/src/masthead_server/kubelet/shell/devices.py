"""Inputs of the built-in shell by their paths: files, stdin, and devices."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.shell.streams import Input, file_input, no_input

if TYPE_CHECKING:
    from masthead_server.kubelet.shell.state import CommandIO

__all__ = ["is_device", "open_input"]

_MAX_PIECE: Final = 64 * 1024


async def _zeros(size: int) -> bytes:
    # These inputs have no end, and their readers wait for nothing else.
    await asyncio.sleep(0)
    return bytes(min(size, _MAX_PIECE))


async def _random(size: int) -> bytes:
    await asyncio.sleep(0)
    return os.urandom(min(size, _MAX_PIECE))


_DEVICES: Final = {"/dev/null": no_input, "/dev/zero": _zeros, "/dev/urandom": _random, "/dev/random": _random}


def is_device(path: str) -> bool:
    """Tell whether an absolute path is a device."""
    return path in _DEVICES


def open_input(path: str, io: CommandIO) -> Input:
    """Return the input of a path; ``-`` is stdin.

    Raises:
        OSError: If there is no such file.
    """
    if path in {"-", "/dev/stdin"}:
        return io.stdin
    absolute = io.state.path(path)
    device = _DEVICES.get(absolute)
    return Input(device) if device is not None else file_input(io.state.files.file(absolute))
