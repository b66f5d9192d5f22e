"""The commands of the built-in shell that are about files, but for tar."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.shell.arguments import read_options
from masthead_server.kubelet.shell.control import UsageError
from masthead_server.kubelet.shell.devices import is_device, open_input
from masthead_server.kubelet.shell.streams import PIECE, copy

if TYPE_CHECKING:
    from masthead_server.kubelet.shell.state import CommandIO
    from masthead_server.kubelet.shell.streams import Input

__all__ = ["cat", "chmod", "head", "mkdir", "rm", "tail", "touch", "wc"]

_DEFAULT_LINES: Final = 10
_FOLLOW: Final = frozenset({"-f", "-F", "--follow"})
_MAX_TAIL: Final = 8 * 1024 * 1024
"""Bytes of a stream whose last lines are looked for."""


async def cat(arguments: list[str], io: CommandIO) -> int:
    """Print files, or stdin."""
    status = 0
    for path in read_options(arguments, "u")[1] or ["-"]:
        try:
            source = open_input(path, io)
        except OSError as error:
            await io.complain(f"cat: {path}: {error.strerror}")
            status = 1
            continue
        await copy(source, io.stdout)
    return status


async def mkdir(arguments: list[str], io: CommandIO) -> int:
    """Make directories: ``-p``, ``-m MODE``."""
    options, paths = read_options(arguments, "p", "m", long={"--parents": "p", "--mode": "m"})
    mode = options.get("m", "755")
    if not re.fullmatch("[0-7]{1,5}", mode):
        raise UsageError(f"invalid mode '{mode}'")
    for path in paths:
        absolute = io.state.path(path)
        io.state.files.make_directory(absolute, parents="p" in options)
        if "m" in options:
            io.state.files.directory(absolute).mode = int(mode, 8) & 0o7777
    return 0


async def rm(arguments: list[str], io: CommandIO) -> int:
    """Remove files and directories: ``-r``, ``-f``."""
    options, paths = read_options(arguments, "rRf", long={"--recursive": "r", "--force": "f"})
    status = 0
    for path in paths:
        try:
            io.state.files.remove(io.state.path(path), recursive=bool(options.keys() & {"r", "R"}))
        except OSError as error:
            # -f forgives missing files, and no other error.
            if "f" in options and isinstance(error, FileNotFoundError):
                continue
            await io.complain(f"rm: {path}: {error.strerror}")
            status = 1
    return status


async def touch(arguments: list[str], io: CommandIO) -> int:
    """Create empty files, or set their times; with ``-c``, only existing ones."""
    options, paths = read_options(arguments, "acm")
    for path in paths:
        absolute = io.state.path(path)
        try:
            node = io.state.files.get(absolute)
        except FileNotFoundError:
            if "c" in options:
                continue
            node = io.state.files.create(absolute)
        node.mtime = io.state.clock.now().timestamp()
    return 0


async def chmod(arguments: list[str], io: CommandIO) -> int:
    """Set the mode of files: an octal number, ``+x``, ``-x``; ``-R`` for all files of directories."""
    # "-x" is a mode here, and no option.
    options, words = read_options([f"a{word}" if re.fullmatch("-[rwx]+", word) else word for word in arguments], "R")
    if len(words) < 2:
        raise UsageError("missing operand")
    mode, *paths = words
    for path in paths:
        absolute = io.state.path(path)
        files = io.state.files
        for node in [node for _, node in files.walk(absolute)] if "R" in options else [files.get(absolute)]:
            node.mode = _change_mode(node.mode, mode)
    return 0


def _change_mode(old: int, mode: str) -> int:
    if re.fullmatch(r"[0-7]{1,5}", mode):
        return int(mode, 8) & 0o7777
    for clause in mode.split(","):
        found = re.fullmatch(r"([ugoa]*)([-+=])([rwx]*)", clause)
        if found is None:
            raise UsageError(f"invalid mode '{mode}'")
        who = found[1].replace("a", "ugo") or "ugo"
        mask = sum({"u": 0o700, "g": 0o070, "o": 0o007}[letter] for letter in set(who))
        bits = mask & sum({"r": 0o444, "w": 0o222, "x": 0o111}[letter] for letter in set(found[3]))
        old = old | bits if found[2] == "+" else old & ~bits if found[2] == "-" else (old & ~mask) | bits
    return old


def _parse_count(arguments: list[str]) -> tuple[str, str, list[str]]:
    """The unit, ``n`` or ``c``, and the count of head and tail, and their files."""
    unit, count = "n", str(_DEFAULT_LINES)
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        option = rest.pop(0)
        if found := re.fullmatch(r"-([nc])(.*)", option):
            unit, count = found[1], found[2] or (rest.pop(0) if rest else "")
        elif found := re.fullmatch(r"--(lines|bytes)=(.*)", option):
            unit, count = found[1][0].replace("l", "n").replace("b", "c"), found[2]
        elif re.fullmatch(r"-[0-9]+", option):
            count = option[1:]
        elif option == "--":
            break
        else:
            raise UsageError(f"invalid option -- '{option.lstrip('-')[:1]}'")
    return unit, count, rest or ["-"]


async def head(arguments: list[str], io: CommandIO) -> int:
    """Print the first lines, or bytes, of files."""
    unit, count, paths = _parse_count(arguments)
    # At most 15 digits: `int` takes quadratic time.
    if not re.fullmatch(r"[0-9]{1,15}", count):
        await io.complain(f"head: invalid number '{count}'")
        return 1
    for path in paths:
        source, left = open_input(path, io), int(count)
        while left and (data := await (source.read_line() if unit == "n" else source.read(min(left, PIECE)))):
            left -= 1 if unit == "n" else len(data)
            await io.stdout.write(data)
    return 0


async def tail(arguments: list[str], io: CommandIO) -> int:
    """Print the last lines or bytes of files, or all from a position on: ``-n 5``, ``-c 5``, ``-c +5``, ``-f``."""
    follows = not _FOLLOW.isdisjoint(arguments)
    unit, count, paths = _parse_count([argument for argument in arguments if argument not in _FOLLOW])
    if not re.fullmatch(r"\+?[0-9]{1,15}", count):
        await io.complain(f"tail: invalid number '{count}'")
        return 1
    followed: list[tuple[str, Input]] = []
    for path in paths:
        source = open_input(path, io)
        if count.startswith("+"):
            # "+1" is the first line, not the second.
            await _skip(source, max(0, int(count) - 1), unit)
            await copy(source, io.stdout)
        else:
            for piece in await _last(source, int(count), unit):
                await io.stdout.write(piece)
        # A pipe is at its end now, and stays there.
        if follows and path != "-":
            followed.append((path, source))
    try:
        async with asyncio.TaskGroup() as group:
            for path, source in followed:
                group.create_task(io.state.observer.observe(_follow(path, source, io)))
    except BaseExceptionGroup as failures:
        # Callers expect single errors, such as a broken pipe.
        raise failures.exceptions[0] from None
    return 0


async def _follow(path: str, source: Input, io: CommandIO) -> None:
    """Print additions to a file, until the command is ended; a device adds nothing."""
    absolute, grown = io.state.path(path), asyncio.Event()
    file = None if is_device(absolute) else io.state.files.file(absolute)
    if file is not None:
        file.follow(grown)
    try:
        while not io.state.process.is_pending:
            grown.clear()
            await copy(source, io.stdout)
            await io.state.wait(grown)
    finally:
        if file is not None:
            file.unfollow(grown)


async def _skip(source: Input, count: int, unit: str) -> None:
    while count and (data := await (source.read_line() if unit == "n" else source.read(min(count, PIECE)))):
        count -= 1 if unit == "n" else len(data)


async def _last(source: Input, count: int, unit: str) -> deque[bytes]:
    """Read the last lines or bytes, and buffer no more than will be printed or than the limit allows."""
    kept: deque[bytes] = deque()
    size = 0
    while data := await (source.read_line() if unit == "n" else source.read(PIECE)):
        kept.append(data)
        size += len(data)
        # A line may be as long as a file, so that bytes are limited in both units.
        most = min(count, _MAX_TAIL) if unit == "c" else _MAX_TAIL
        while kept and ((unit == "n" and len(kept) > count) or size - len(kept[0]) >= most):
            size -= len(kept.popleft())
    if unit == "c" and kept and size > count:
        kept[0] = kept[0][size - count :]
    return kept if count else deque()


async def wc(arguments: list[str], io: CommandIO) -> int:
    """Count lines, words and bytes: ``-l``, ``-w``, ``-c``."""
    options, paths = read_options(arguments, "lwc", long={"--lines": "l", "--words": "w", "--bytes": "c"})
    for path in paths or ["-"]:
        source = open_input(path, io)
        counts, is_in_word = {"l": 0, "w": 0, "c": 0}, False
        while data := await source.read(PIECE):
            counts["l"] += data.count(b"\n")
            # A word may be cut between two pieces, and counts once.
            counts["w"] += len(data.split()) - (is_in_word and not data[:1].isspace())
            counts["c"] += len(data)
            is_in_word = not data[-1:].isspace()
        shown = [str(counts[letter]) for letter in "lwc" if letter in options or not options]
        await io.print(" ".join(shown + ([path] if path != "-" else [])))
    return 0
