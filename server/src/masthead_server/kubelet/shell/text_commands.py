"""The commands of the built-in shell that change or search text, line by line."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from typing import TYPE_CHECKING, Final

from masthead._regexp.pattern import MatchLimitError
from masthead_server.kubelet.shell.arguments import iter_lines, read_options
from masthead_server.kubelet.shell.control import UsageError
from masthead_server.kubelet.shell.devices import open_input
from masthead_server.kubelet.shell.patterns import CLASSES, MAX_PATTERN, PatternError, compile_expression
from masthead_server.kubelet.shell.streams import PIECE, FileOutput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._regexp.pattern import Pattern
    from masthead_server.kubelet.shell.state import CommandIO

__all__ = ["basename", "cut", "digest", "dirname", "encode", "grep", "sort", "tee", "tr", "uniq"]

_BAD_USE: Final = 2
_LONG_OF_GREP: Final = {
    "--count": "c",
    "--extended-regexp": "E",
    "--fixed-strings": "F",
    "--ignore-case": "i",
    "--invert-match": "v",
    "--quiet": "q",
    "--silent": "q",
}
_MAX_SORTED: Final = 8 * 1024 * 1024
"""Bytes that are held in memory for sorting."""


async def grep(arguments: list[str], io: CommandIO) -> int:
    """Print the lines that match: ``-E``, ``-F``, ``-c``, ``-e``, ``-i``, ``-l``, ``-n``, ``-o``, ``-q``, ``-v``."""
    options, operands = read_options(arguments, "EFGivqcnoxshHl", "em", long=_LONG_OF_GREP, status=_BAD_USE)
    if "e" not in options and not operands:
        raise UsageError("usage: grep [-EFivqcnoxl] PATTERN [FILE]...", _BAD_USE)
    text = options["e"] if "e" in options else operands.pop(0)
    try:
        pattern = compile_expression(
            text, is_extended="E" in options, is_fixed="F" in options, ignores_case="i" in options
        )
        return await _search_files(pattern, options, operands, io)
    except (PatternError, MatchLimitError) as error:
        raise UsageError(str(error), _BAD_USE) from error


async def _search_files(pattern: Pattern, options: dict[str, str], paths: list[str], io: CommandIO) -> int:
    status = 1
    names_files = "H" in options or (len(paths) > 1 and "h" not in options)
    for path in paths or ["-"]:
        try:
            count = await _search(pattern, options, path, f"{path}:" if names_files else "", io)
        except BrokenPipeError:
            raise
        except OSError as error:
            if "s" not in options:
                await io.complain(f"grep: {path}: {error.strerror}")
            status = _BAD_USE
            continue
        if count and "q" in options:
            return 0
        status = 0 if count and status == 1 else status
    return status


async def _search(pattern: Pattern, options: dict[str, str], path: str, prefix: str, io: CommandIO) -> int:
    """Print what matches in a file; return the number of lines."""
    count, number = 0, 0
    limit = int(options["m"][:9]) if options.get("m", "").isdigit() else None
    async for line in iter_lines([path], io):
        number += 1
        found = pattern.find(line)
        matches = found is not None and ("x" not in options or found == (0, len(line)))
        if matches == ("v" in options):
            continue
        count += 1
        if "l" in options and "q" not in options:
            await io.print(path)
        # One line is enough to know that the file matches.
        if options.keys() & {"q", "l"}:
            return count
        if "c" not in options:
            place = f"{prefix}{number}:" if "n" in options else prefix
            for shown in pattern.find_all(line) if "o" in options else [line]:
                await io.print(f"{place}{shown}")
        if limit is not None and count >= limit:
            break
    if "c" in options:
        await io.print(f"{prefix}{count}")
    return count


async def sort(arguments: list[str], io: CommandIO) -> int:
    """Sort lines: ``-r``, ``-n``, ``-u``, ``-f``, ``-k``, ``-t``."""
    options, paths = read_options(arguments, "rnuf", "kt", status=_BAD_USE)
    key = re.fullmatch(r"([0-9]{1,6})([nrf]*)(?:,([0-9]{1,6})([nrf]*))?", options.get("k", "1"))
    if key is None or not int(key[1]):
        raise UsageError(f"invalid key '{options['k']}'", _BAD_USE)
    letters = {*options, *key[2], *(key[4] or "")}
    lines, size = list[str](), 0
    async for line in iter_lines(paths, io):
        size += len(line) + 1
        if size > _MAX_SORTED:
            raise UsageError("Cannot allocate memory", _BAD_USE)
        lines.append(line)
    separator, first, last = options.get("t"), int(key[1]) - 1, int(key[3]) if key[3] else None

    def value(line: str) -> tuple[float, str]:
        text = (separator or " ").join(line.split(separator)[first:last]) if "k" in options else line
        number = re.match(r"\s*-?[0-9]{0,15}(?:\.[0-9]{1,15})?", text) if "n" in letters else None
        compared = "" if "n" in letters else text.upper() if "f" in letters else text
        return float(number[0]) if number and number[0].strip(" -") else 0.0, compared

    lines.sort(key=value, reverse="r" in letters)
    for line in dict.fromkeys(lines) if "u" in options else lines:
        await io.print(line)
    return 0


async def uniq(arguments: list[str], io: CommandIO) -> int:
    """Drop repeated lines: ``-c`` counts them, ``-d`` prints only those, ``-u`` only all others."""
    options, paths = read_options(arguments, "cdu")
    last: str | None = None
    count = 0

    async def show() -> None:
        if last is not None and ("d" not in options or count > 1) and ("u" not in options or count == 1):
            await io.print(f"{count:>7} {last}" if "c" in options else last)

    async for line in iter_lines(paths, io):
        if line == last:
            count += 1
            continue
        await show()
        last, count = line, 1
    await show()
    return 0


async def cut(arguments: list[str], io: CommandIO) -> int:
    """Print parts of lines: ``-d``, ``-f``, ``-c``."""
    options, paths = read_options(arguments, "s", "dfcb")
    chosen = options.get("f") or options.get("c") or options.get("b") or ""
    if not re.fullmatch(r"[0-9]{0,6}-?[0-9]{0,6}(,[0-9]{0,6}-?[0-9]{0,6})*", chosen) or not chosen:
        await io.complain("cut: invalid list")
        return 1
    separator = (options.get("d") or "\t")[0]
    async for line in iter_lines(paths, io):
        if "f" not in options:
            await io.print("".join(line[index] for index in _chosen(chosen, len(line))))
        elif separator in line:
            fields = line.split(separator)
            await io.print(separator.join(fields[index] for index in _chosen(chosen, len(fields))))
        elif "s" not in options:
            await io.print(line)
    return 0


def _chosen(text: str, size: int) -> Iterator[int]:
    """The positions that a list such as ``1,3-5`` names, in their order."""
    wanted = bytearray(size)
    for item in text.split(","):
        first, dash, last = item.partition("-")
        start = max(1, int(first or 1))
        end = min(size, (int(last) if last else size) if dash else start)
        for position in range(start, end + 1):
            wanted[position - 1] = 1
    return (position for position, is_wanted in enumerate(wanted) if is_wanted)


def _characters(text: str) -> str:
    """The characters of a set for tr: ranges, classes and escapes."""
    text = re.sub(r"\[:([a-z]+):\]", lambda found: CLASSES.get(found[1], ""), text)
    text = text.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r").replace("\\0", "\0")
    found: list[str] = []
    index = 0
    while index < len(text):
        if index + 2 < len(text) and text[index + 1] == "-" and text[index] <= text[index + 2] < "\u0100":
            found += map(chr, range(ord(text[index]), ord(text[index + 2]) + 1))
            index += 3
        else:
            found.append(text[index])
            index += 1
    return "".join(found)


async def tr(arguments: list[str], io: CommandIO) -> int:
    """Replace, delete (``-d``) or squeeze (``-s``) characters; ``-c`` means all others."""
    options, operands = read_options(["-c" if word == "-C" else word for word in arguments], "cds")
    if not operands or any(len(operand) > MAX_PATTERN for operand in operands):
        await io.complain("tr: missing operand")
        return 1
    first = _characters(operands[0])
    second = _characters(operands[1]) if len(operands) > 1 else ""
    mapped = {ord(old): second[min(index, len(second) - 1)] if second else old for index, old in enumerate(first)}
    squeezed, members, last = set(second or first), set(first), ""
    while data := await io.stdin.read(PIECE):
        text = data.decode("latin-1")
        if "c" in options:
            text = "".join(
                character if character in members else "" if "d" in options else (second or character)[-1:]
                for character in text
            )
        elif "d" in options:
            text = text.translate(dict.fromkeys(map(ord, first)))
        else:
            text = text.translate(mapped)
        if "s" in options:
            kept: list[str] = []
            for character in text:
                if character != last or character not in squeezed:
                    kept.append(character)
                last = character
            text = "".join(kept)
        await io.stdout.write(text.encode("latin-1", "replace"))
        await asyncio.sleep(0)
    return 0


async def tee(arguments: list[str], io: CommandIO) -> int:
    """Copy stdin to stdout and to files: ``-a`` appends."""
    options, paths = read_options(arguments, "ai")
    targets = [FileOutput(io.state.files.create(io.state.path(path), truncate="a" not in options)) for path in paths]
    while data := await io.stdin.read(PIECE):
        for target in (io.stdout, *targets):
            await target.write(data)
        await asyncio.sleep(0)
    return 0


async def basename(arguments: list[str], io: CommandIO) -> int:
    """Print the last part of a path, without a suffix."""
    _, operands = read_options(arguments, "")
    path, *rest = [*operands, ""][:3] if operands else [""]
    name = path.rstrip("/").rpartition("/")[2] or "/"
    await io.print(name.removesuffix(rest[0]) if rest and rest[0] != name else name)
    return 0


async def dirname(arguments: list[str], io: CommandIO) -> int:
    """Print the folder of a path."""
    _, operands = read_options(arguments, "")
    path = operands[0] if operands else ""
    # Of slashes alone, one is left.
    folder, slash, _ = (path.rstrip("/") or path[:1]).rpartition("/")
    await io.print(folder or ("/" if slash else "."))
    return 0


async def digest(arguments: list[str], io: CommandIO) -> int:
    """Print the SHA-256 of files."""
    _, paths = read_options(arguments, "bt")
    for path in paths or ["-"]:
        found, source = hashlib.sha256(), open_input(path, io)
        while data := await source.read(PIECE):
            found.update(data)
            await asyncio.sleep(0)
        await io.print(f"{found.hexdigest()}  {path}")
    return 0


async def encode(arguments: list[str], io: CommandIO) -> int:
    """Encode a file as base64, or decode it: ``-d``."""
    options, paths = read_options(arguments, "dDi", "w", long={"--decode": "d", "--wrap": "w"})
    source = open_input(paths[0] if paths else "-", io)
    data = await source.read_exactly(_MAX_SORTED)
    if "d" in options or "D" in options:
        try:
            await io.stdout.write(base64.b64decode(b"".join(data.split()), validate=True))
        except ValueError:
            await io.complain("base64: invalid input")
            return 1
        return 0
    text = base64.b64encode(data)
    width = int(options["w"][:6]) if options.get("w", "").isdigit() else 76
    for start in range(0, len(text), width or len(text) or 1):
        await io.stdout.write(text[start : start + (width or len(text))] + (b"\n" if width else b""))
    return 0
