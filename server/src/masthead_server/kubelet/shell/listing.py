"""``ls``: lists files and directories."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.filesystem import Directory, RegularFile, Symlink
from masthead_server.kubelet.shell.arguments import read_options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.kubelet.filesystem import Node
    from masthead_server.kubelet.shell.state import CommandIO

__all__ = ["ls"]

_KINDS: Final = {Directory: "d", Symlink: "l", RegularFile: "-"}
_BAD_USE: Final = 2
_MAX_DEPTH: Final = 100


async def ls(arguments: list[str], io: CommandIO) -> int:
    """List directories: ``-l``, ``-a``, ``-A``, ``-d``, ``-R``, ``-F``, ``-r``, ``-S``, ``-t``, ``-1``."""
    found, paths = read_options(arguments, "laAdRFrSth1", long={"--all": "a", "--recursive": "R"}, status=_BAD_USE)
    options, status = set(found), 0
    listed: list[tuple[str, Directory]] = []
    others: list[tuple[str, Node]] = []
    for path in paths or ["."]:
        try:
            # A long listing shows the link itself, a short one its target.
            node = io.state.files.get(io.state.path(path), follow="l" not in options)
        except OSError as error:
            await io.complain(f"ls: {path}: {error.strerror}")
            status = _BAD_USE
            continue
        if isinstance(node, Directory) and "d" not in options:
            listed.append((path, node))
        else:
            others.append((path, node))
    await _print_entries(_sort(others, options), options, io)
    has_titles = len(paths) > 1 or "R" in options
    for index, (path, directory) in enumerate(listed):
        await _list(path, directory, options, io, title=("\n" if index or others else "") if has_titles else None)
    return status


async def _list(
    path: str, directory: Directory, options: set[str], io: CommandIO, *, title: str | None, depth: int = 0
) -> None:
    if title is not None:
        await io.print(f"{title}{path}:")
    entries = _sort(directory.entries.items(), options)
    shown = [entry for entry in entries if options & {"a", "A"} or not entry[0].startswith(".")]
    own: list[tuple[str, Node]] = [(".", directory), ("..", directory)]
    await _print_entries([*own, *shown] if "a" in options else shown, options, io)
    await asyncio.sleep(0)  # there may be very many
    if "R" not in options or depth > _MAX_DEPTH:
        return
    for name, entry in shown:
        if isinstance(entry, Directory):
            await _list(f"{path.rstrip('/')}/{name}", entry, options, io, title="\n", depth=depth + 1)


def _sort(entries: Iterable[tuple[str, Node]], options: set[str]) -> list[tuple[str, Node]]:
    found = sorted(entries, key=lambda entry: entry[0])
    if "S" in options:
        found.sort(key=lambda entry: -_size(entry[1]))
    if "t" in options:
        found.sort(key=lambda entry: -entry[1].mtime)
    return found[::-1] if "r" in options else found


async def _print_entries(entries: Iterable[tuple[str, Node]], options: set[str], io: CommandIO) -> None:
    for name, entry in entries:
        mark = {"d": "/", "l": "@"}.get(_KINDS[type(entry)], "") if "F" in options else ""
        await io.print(f"{_format(name, entry, options)}{mark}" if "l" in options else f"{name}{mark}")


def _size(node: Node) -> int:
    if isinstance(node, RegularFile):
        return node.size
    return 4096 if isinstance(node, Directory) else len(node.target)


def _format(name: str, node: Node, options: set[str]) -> str:
    """A line of a long listing."""
    kind = _KINDS[type(node)]
    rights = "".join(letter if node.mode >> (8 - index) & 1 else "-" for index, letter in enumerate("rwxrwxrwx"))
    size = _shorten(_size(node)) if "h" in options else str(_size(node))
    when = datetime.fromtimestamp(node.mtime, UTC)
    arrow = f" -> {node.target}" if isinstance(node, Symlink) else ""
    return f"{kind}{rights} 1 root root {size:>8} {when:%b %e %H:%M} {name}{arrow}"


def _shorten(size: int) -> str:
    """A size in units, as with ``-h``."""
    number, unit = float(size), ""
    for unit in ("", "K", "M", "G"):
        if number < 1024 or unit == "G":
            break
        number /= 1024
    return f"{number:.1f}{unit}" if unit else str(size)
