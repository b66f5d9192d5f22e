"""``tar`` of the built-in shell: creates, extracts and lists archives, piece by piece.

It takes the options that ``kubectl cp`` uses, and common ones: ``c``, ``x``, ``t``, ``f``, ``C``, ``h``, ``m``, ``v``;
``p`` and long options about owners and permissions are accepted. Archives are not compressed.
"""

from __future__ import annotations

import asyncio
import errno
import os
import tarfile
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.filesystem import Directory, RegularFile, Symlink, normalize
from masthead_server.kubelet.shell.streams import PIECE, FileOutput, file_input

if TYPE_CHECKING:
    from masthead_server.kubelet.filesystem import FileSystem, Node
    from masthead_server.kubelet.shell.state import CommandIO
    from masthead_server.kubelet.shell.streams import Input, ShellOutput

__all__ = ["run_tar"]

_BLOCK: Final = 512
_END: Final = bytes(2 * _BLOCK)
_MAX_HEADER: Final = 1024 * 1024
"""Bytes of a header with a long name, or of extended headers."""
_FAILED: Final = 2
_ENCODING: Final = "utf-8"
_ERRORS: Final = "surrogateescape"


class _ArchiveError(Exception):
    """An archive is malformed, or the options are invalid."""


@dataclass(frozen=True, slots=True)
class _Options:
    mode: str = ""
    archive: str = "-"
    folder: str = ""
    is_verbose: bool = False
    keeps_times: bool = True
    follows_links: bool = False
    operands: tuple[str, ...] = field(default=())


def _parse(arguments: list[str]) -> _Options:
    """Read the arguments.

    Raises:
        _ArchiveError: If they are invalid.
    """
    options = _Options()
    rest = list(arguments)
    if rest and not rest[0].startswith("-"):
        # "tar xf" is the old form of "tar -xf".
        rest[0] = f"-{rest[0]}"
    operands: list[str] = []
    while rest:
        word = rest.pop(0)
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            options = _long_option(options, name, value, rest)
        elif word.startswith("-") and word != "-":
            options = _letters(options, word[1:], rest)
        else:
            operands.append(word)
    if not options.mode:
        raise _ArchiveError("You must specify one of the '-ctx' options")
    return replace(options, operands=tuple(operands))


def _long_option(options: _Options, name: str, value: str, rest: list[str]) -> _Options:
    if name in {"create", "extract", "get", "list"}:
        return replace(options, mode={"c": "c", "e": "x", "g": "x", "l": "t"}[name[0]])
    if name in {"directory", "file"}:
        value = value or (rest.pop(0) if rest else "")
        return replace(options, folder=value) if name == "directory" else replace(options, archive=value)
    return options  # the others concern owners, permissions and warnings, which this filesystem does not have


def _letters(options: _Options, letters: str, rest: list[str]) -> _Options:
    for index, letter in enumerate(letters):
        if letter in "ctx":
            options = replace(options, mode=letter)
        elif letter in "fC":
            # The value is the rest of the word, or the next word; old bundles have the values behind all letters.
            value = letters[index + 1 :] if letter == "C" and letters[index + 1 :] else ""
            value = value or (rest.pop(0) if rest else "")
            options = replace(options, archive=value) if letter == "f" else replace(options, folder=value)
            if letter == "C":
                break
        elif letter == "v":
            options = replace(options, is_verbose=True)
        elif letter == "m":
            options = replace(options, keeps_times=False)
        elif letter == "h":
            options = replace(options, follows_links=True)
        elif letter in "zjJ":
            raise _ArchiveError("compressed archives are not supported")
    return options


async def run_tar(arguments: list[str], io: CommandIO) -> int:
    """Run tar; return the exit code."""
    try:
        options = _parse(arguments)
        folder = io.state.path(options.folder or ".")
        io.state.files.directory(folder)
        if options.mode == "c":
            return await _create(options, folder, io)
        source = _source(options, io)
        return await _read(options, folder, source, io)
    except _ArchiveError as error:
        await io.complain(f"tar: {error}")
        return _FAILED
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        await io.complain(f"tar: {where}{error.strerror}")
        return _FAILED


def _source(options: _Options, io: CommandIO) -> Input:
    if options.archive == "-":
        return io.stdin
    return file_input(io.state.files.file(io.state.path(options.archive)))


async def _create(options: _Options, folder: str, io: CommandIO) -> int:
    if not options.operands:
        raise _ArchiveError("Cowardly refusing to create an empty archive")
    target: ShellOutput = io.stdout
    own: RegularFile | None = None
    if options.archive != "-":
        # An archive within the folder must not contain itself.
        own = io.state.files.create(io.state.path(options.archive))
        target = FileOutput(own)
    status = 0
    for operand in options.operands:
        name = operand.rstrip("/") or "/"
        if name.startswith("/"):
            await io.complain("tar: Removing leading `/' from member names")
        start = normalize(name, folder)
        follow = options.follows_links or start == folder  # of links that are named; those below stay links
        try:
            io.state.files.get(start, follow=follow)
        except OSError as error:
            await io.complain(f"tar: {operand}: Cannot stat: {error.strerror}")
            status = _FAILED
            continue
        # A list, because other commands may change the tree during the copy.
        for path, node in list(io.state.files.walk(start, follow=follow)):
            if node is not own:
                below = path[len(start.rstrip("/")) :]
                member = f"{name}{below}".lstrip("/") or "."
                await _add(member, node, target)
                if options.is_verbose:
                    await io.complain(member)
    await target.write(_END)
    return status


async def _add(name: str, node: Node, target: ShellOutput) -> None:
    info = tarfile.TarInfo(name)
    info.mode, info.mtime, info.uname, info.gname = node.mode, int(node.mtime), "root", "root"
    if isinstance(node, Directory):
        info.type = tarfile.DIRTYPE
    elif isinstance(node, Symlink):
        info.type, info.linkname = tarfile.SYMTYPE, node.target
    else:
        info.size = node.size
    await target.write(info.tobuf(tarfile.GNU_FORMAT, _ENCODING, _ERRORS))
    if isinstance(node, RegularFile):
        await _add_content(node, info.size, target)


async def _add_content(file: RegularFile, size: int, target: ShellOutput) -> None:
    """Write a file with the size in its header, even if it grows or shrinks during the copy."""
    position = 0
    while position < size:
        # Zeros replace bytes that were cut off since the header was written.
        data = file.read(position, min(PIECE, size - position)) or bytes(min(PIECE, size - position))
        position += len(data)
        await target.write(data)
        await asyncio.sleep(0)
    if size % _BLOCK:
        await target.write(bytes(_BLOCK - size % _BLOCK))


async def _read(options: _Options, folder: str, source: Input, io: CommandIO) -> int:
    """Extract or list an archive."""
    while (info := await _next_header(source)) is not None:
        name = info.name
        is_wanted = not options.operands or any(
            name == operand or name.startswith(f"{operand}/") for operand in map(_clean_path, options.operands)
        )
        if options.mode == "t" and is_wanted:
            await io.print(f"{name}/" if info.isdir() else name)
        if options.mode == "x" and is_wanted:
            if options.is_verbose:
                await io.print(name)
            path = await _extract(info, folder, source, io.state.files)
            if path is not None and options.keeps_times:
                io.state.files.get(path, follow=False).mtime = float(info.mtime)
        else:
            await _skip(source, info.size)
    # The rest, so that who writes the archive does not find the pipe closed.
    while await source.read(PIECE):
        pass
    return 0


def _clean_path(name: str) -> str:
    return name.strip("/")


async def _next_header(source: Input) -> tarfile.TarInfo | None:
    """The next member, with the long names and extended headers before it; None at the end."""
    extended: dict[str, str] = {}
    while True:
        block = await source.read_exactly(_BLOCK)
        # A block of zeros ends the archive.
        if not block or not any(block):
            return None
        try:
            info = tarfile.TarInfo.frombuf(block, _ENCODING, _ERRORS)
        except tarfile.HeaderError:
            raise _ArchiveError("This does not look like a tar archive") from None
        if info.type in {tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}:
            field_name = "path" if info.type == tarfile.GNUTYPE_LONGNAME else "linkpath"
            extended[field_name] = _decode_text((await _payload(source, info.size)).rstrip(b"\0"))
        elif info.type in {tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE}:
            extended |= _read_extended_header(await _payload(source, info.size))
        # Global headers carry nothing that matters here.
        elif info.type == tarfile.XGLTYPE:
            await _payload(source, info.size)
        else:
            return _complete_header(info, extended)


def _complete_header(info: tarfile.TarInfo, extended: dict[str, str]) -> tarfile.TarInfo:
    info.name = extended.get("path", info.name).rstrip("/")
    info.linkname = extended.get("linkpath", info.linkname)
    if "size" in extended:
        if not extended["size"].isdigit():
            raise _ArchiveError("Malformed extended header: invalid size")
        info.size = int(extended["size"])
    # Links and devices have no content, whatever their header announces.
    if not info.isreg():
        info.size = info.size if info.type not in tarfile.SUPPORTED_TYPES else 0
    if info.size < 0:
        raise _ArchiveError("Malformed header: negative size")
    return info


async def _payload(source: Input, size: int) -> bytes:
    # Long names are held in memory, and come from a client.
    if not 0 <= size <= _MAX_HEADER:
        raise _ArchiveError("Malformed extended header: too large")
    data = await source.read_exactly(_pad_to_block(size))
    if len(data) < _pad_to_block(size):
        raise _ArchiveError("Unexpected EOF in archive")
    return data[:size]


def _read_extended_header(data: bytes) -> dict[str, str]:
    """Parse the records of an extended header: ``length name=value``, and a newline."""
    found: dict[str, str] = {}
    position = 0
    while position < len(data):
        length, _, _ = data[position : position + 20].partition(b" ")
        # The length counts itself, and bounds what follows.
        if not length.isdigit() or not len(length) + 1 < int(length) <= len(data) - position:
            raise _ArchiveError("Malformed extended header: invalid length")
        record = data[position + len(length) + 1 : position + int(length) - 1]
        name, _, value = record.partition(b"=")
        found[_decode_text(name)] = _decode_text(value)
        position += int(length)
    return found


def _decode_text(data: bytes) -> str:
    return data.decode(_ENCODING, _ERRORS)


def _pad_to_block(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


async def _extract(info: tarfile.TarInfo, folder: str, source: Input, files: FileSystem) -> str | None:
    """Extract a member; return its path, or None if it is of a kind that is skipped."""
    # A name cannot leave the folder: ".." is resolved within the archive.
    path = normalize(normalize(info.name).lstrip("/"), folder)
    if info.isdir():
        files.make_directory(path, parents=True)
        files.directory(path).mode = info.mode & 0o7777
        return path
    files.make_directory(path.rpartition("/")[0] or "/", parents=True)
    if info.issym():
        files.link(path, info.linkname)
    elif info.islnk():
        await _copy_link(files, normalize(normalize(info.linkname).lstrip("/"), folder), path)
    elif info.isreg():
        await _extract_file(info, path, source, files)
    else:
        await _skip(source, info.size)
        return None
    return path


async def _copy_link(files: FileSystem, target: str, path: str) -> None:
    """A hard link becomes a copy."""
    origin, made = files.file(target), files.create(path)
    for position in range(0, origin.size, PIECE):
        made.append(origin.read(position, PIECE))
        await asyncio.sleep(0)


async def _extract_file(info: tarfile.TarInfo, path: str, source: Input, files: FileSystem) -> None:
    file = files.create(path)
    # Only permissions: the type of the file comes from its member.
    file.mode = info.mode & 0o7777
    left = info.size
    while left:
        data = await source.read(min(left, PIECE))
        if not data:
            raise _ArchiveError("Unexpected EOF in archive")
        try:
            file.append(data)
        except OSError:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), info.name) from None
        left -= len(data)
        await asyncio.sleep(0)
    # Members begin at multiples of a block.
    await source.read_exactly(_pad_to_block(info.size) - info.size)


async def _skip(source: Input, size: int) -> None:
    left = _pad_to_block(size)
    while left and (data := await source.read(min(left, PIECE))):
        left -= len(data)
