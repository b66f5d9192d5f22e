"""gzip and gunzip, as filters from stdin to stdout."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.shell.streams import PIECE

if TYPE_CHECKING:
    from masthead_server.kubelet.shell.state import CommandIO

__all__ = ["run_gunzip", "run_gzip"]

_GZIP_FORMAT: Final = 31  # window bits of zlib: the largest window, with the header and trailer of gzip
_LEVEL: Final = 6
_FILTER_OPTIONS: Final = frozenset({"-", "-c", "-f", "-q", *(f"-{level}" for level in range(1, 10))})


async def run_gzip(arguments: list[str], io: CommandIO) -> int:
    """Compress stdin; with ``-d``, decompress it."""
    if "-d" in arguments:
        return await run_gunzip([argument for argument in arguments if argument != "-d"], io)
    if not await _is_filter("gzip", arguments, io):
        return 1
    level = next((int(argument[1]) for argument in arguments if argument[1:].isdigit()), _LEVEL)
    compressor = zlib.compressobj(level, wbits=_GZIP_FORMAT)
    while piece := await io.stdin.read(PIECE):
        await io.stdout.write(compressor.compress(piece))
    await io.stdout.write(compressor.flush())
    return 0


async def run_gunzip(arguments: list[str], io: CommandIO) -> int:
    """Decompress stdin."""
    if not await _is_filter("gunzip", arguments, io):
        return 1
    decompressor = zlib.decompressobj(wbits=_GZIP_FORMAT)
    try:
        while piece := await io.stdin.read(PIECE):
            # In pieces: a few bytes may decompress to very many.
            while piece:
                await io.stdout.write(decompressor.decompress(piece, PIECE))
                piece = decompressor.unconsumed_tail
    except zlib.error:
        await io.complain("gunzip: invalid magic")
        return 1
    if not decompressor.eof:
        await io.complain("gunzip: unexpected end of file")
        return 1
    return 0


async def _is_filter(command: str, arguments: list[str], io: CommandIO) -> bool:
    """Tell whether a command works on stdin; complain if it does not."""
    if unknown := next((argument for argument in arguments if argument not in _FILTER_OPTIONS), ""):
        await io.complain(f"{command}: {unknown}: only stdin to stdout is supported here")
        return False
    return True
