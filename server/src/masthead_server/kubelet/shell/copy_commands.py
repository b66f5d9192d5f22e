"""The commands of the built-in shell that copy and move files."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.filesystem import Directory, RegularFile, Symlink
from masthead_server.kubelet.shell.arguments import read_options
from masthead_server.kubelet.shell.control import UsageError
from masthead_server.kubelet.shell.devices import open_input
from masthead_server.kubelet.shell.streams import FileOutput, NullOutput

if TYPE_CHECKING:
    from masthead_server.kubelet.shell.state import CommandIO
    from masthead_server.kubelet.shell.streams import ShellOutput

__all__ = ["cp", "dd", "ln", "mv"]

_UNITS: Final = {"": 1, "c": 1, "k": 1024, "K": 1024, "kB": 1000, "M": 1024**2, "MB": 10**6, "G": 1024**3, "GB": 10**9}
_MAX_BLOCK: Final = 1024**2
_PIECE: Final = 64 * 1024
_CHOICES: Final = {"status": {"none", "noxfer", "progress"}, "conv": {"fsync", "fdatasync"}}
_OPERANDS: Final = frozenset({"if", "of", "bs", "count", "skip", *_CHOICES})


def _size(text: str) -> int | None:
    found = re.fullmatch(r"([0-9]{1,12})([a-zA-Z]{0,2})", text)
    return int(found[1]) * _UNITS[found[2]] if found is not None and found[2] in _UNITS else None


async def dd(arguments: list[str], io: CommandIO) -> int:
    """Copy blocks: ``if=``, ``of=``, ``bs=``, ``count=``, ``skip=``."""
    for word in arguments:
        name, _, value = word.partition("=")
        if name not in _OPERANDS or (name in _CHOICES and value not in _CHOICES[name]):
            raise UsageError(f"unrecognized operand '{word}'")
    given = {name: value for name, _, value in (word.partition("=") for word in arguments)}
    block, count, skip = (
        _size(given.get(name, default)) for name, default in (("bs", "512"), ("count", "0"), ("skip", "0"))
    )
    if block is None or count is None or skip is None or not block:
        await io.complain("dd: invalid number")
        return 1
    source, target = open_input(given.get("if", "-"), io), _target(given.get("of", ""), io)
    left = skip * block
    while left and (data := await source.read(min(left, _PIECE))):
        left -= len(data)
        await asyncio.sleep(0)
    limit = count * block if "count" in given else None
    copied = 0
    while limit is None or copied < limit:
        data = await source.read(_PIECE if limit is None else min(_PIECE, limit - copied))
        if not data:
            break
        await target.write(data)
        copied += len(data)
        await asyncio.sleep(0)  # neither devices nor files wait for anything
    records = f"{copied // block}+{int(bool(copied % block))}"
    if given.get("status") != "none":
        await io.complain(f"{records} records in\n{records} records out\n{copied} bytes copied")
    return 0


def _target(path: str, io: CommandIO) -> ShellOutput:
    if not path:
        return io.stdout
    return NullOutput() if path == "/dev/null" else FileOutput(io.state.files.create(io.state.path(path)))


async def cp(arguments: list[str], io: CommandIO) -> int:
    """Copy files, and directories with ``-r``."""
    given, paths = read_options(arguments, "rRapf", long={"--recursive": "r", "--force": "f"})
    options = set(given)
    if len(paths) < 2:
        await io.complain("cp: missing file operand")
        return 1
    *sources, target = map(io.state.path, paths)
    for source in sources:
        files = io.state.files
        node = files.get(source)
        if isinstance(node, Directory) and not options & {"r", "R", "a"}:
            await io.complain(f"cp: -r not specified; omitting directory '{source}'")
            return 1
        place = _place(source, target, io)
        # Listed before the copy, which may be within the source.
        for path, found in list(files.walk(source, follow=True)):
            new = f"{place}{path[len(source) :]}"
            if isinstance(found, Directory):
                files.make_directory(new, parents=True)
            elif isinstance(found, RegularFile):
                await _copy(found, files.create(new))
            else:
                files.link(new, found.target)
    return 0


async def _copy(source: RegularFile, target: RegularFile) -> None:
    offset = 0
    # As far as it goes now, or a file appended to itself would grow for ever.
    size = source.size
    while offset < size and (data := source.read(offset, min(_MAX_BLOCK, size - offset))):
        target.append(data)
        offset += len(data)
        await asyncio.sleep(0)
    target.mode = source.mode


def _place(source: str, target: str, io: CommandIO) -> str:
    """Where a copy goes: into a directory, or to the path itself."""
    try:
        node = io.state.files.get(target)
    except OSError:
        return target
    return f"{target.rstrip('/')}/{source.rpartition('/')[2]}" if isinstance(node, Directory) else target


async def mv(arguments: list[str], io: CommandIO) -> int:
    """Move files and directories."""
    _, paths = read_options(arguments, "f", long={"--force": "f"})
    if len(paths) < 2:
        await io.complain("mv: missing file operand")
        return 1
    *sources, target = map(io.state.path, paths)
    for source in sources:
        place = _place(source, target, io)
        if place == source or place.startswith(f"{source}/"):
            await io.complain(f"mv: can't rename '{source}': Invalid argument")
            return 1
        status = await cp(["-r", source, place], io)
        if status:
            return status
        io.state.files.remove(source, recursive=True)
    return 0


async def ln(arguments: list[str], io: CommandIO) -> int:
    """Make symbolic links: ``-s``; ``-f`` replaces a file, and ``-n`` a link to a directory itself."""
    options, paths = read_options(arguments, "sfn", long={"--symbolic": "s", "--force": "f"})
    if "s" not in options or len(paths) != 2:
        await io.complain("ln: only symbolic links: ln -s TARGET LINK")
        return 1
    target = io.state.path(paths[1])
    place = target if "n" in options and _is_link(target, io) else _place(paths[0], target, io)
    if "f" in options:
        with suppress(FileNotFoundError):
            io.state.files.remove(place)
    io.state.files.link(place, paths[0])
    return 0


def _is_link(path: str, io: CommandIO) -> bool:
    try:
        return isinstance(io.state.files.get(path, follow=False), Symlink)
    except OSError:
        return False
