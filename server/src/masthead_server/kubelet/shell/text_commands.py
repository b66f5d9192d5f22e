"""The commands of the built-in shell that change or search text, line by line."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from typing import TYPE_CHECKING, Final

from masthead._regexp.pattern import MatchLimitError
from masthead_server.kubelet.shell.arguments import iter_lines, read_options
from masthead_server.kubelet.shell.devices import open_input
from masthead_server.kubelet.shell.patterns import CLASSES, MAX_PATTERN, PatternError, compile_expression
from masthead_server.kubelet.shell.state import PIECE, FileOutput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._regexp.pattern import Pattern
    from masthead_server.kubelet.shell.state import CommandIO

__all__ = ["basename", "cut", "digest", "dirname", "encode", "grep", "sort", "tee", "tr", "uniq"]

_BAD_USE: Final = 2
_MAX_SORTED: Final = 8 * 1024 * 1024
"""Bytes that are held in memory for sorting."""


async def grep(arguments: list[str], io: CommandIO) -> int:
    """Print the lines that match: ``-E``, ``-F``, ``-i``, ``-v``, ``-q``, ``-c``, ``-n``, ``-o``, ``-x``, ``-e``."""
    options, operands = read_options(arguments, "em")
    if "e" not in options and not operands:
        await io.complain("grep: usage: grep [-EFivqcnox] PATTERN [FILE]...")
        return _BAD_USE
    text = options["e"] if "e" in options else operands.pop(0)
    is_fixed = "F" in options
    try:
        pattern = compile_expression(text, is_extended="E" in options, is_fixed=is_fixed, ignores_case="i" in options)
        return await _search(pattern, options, operands, io)
    except (PatternError, MatchLimitError) as error:
        await io.complain(f"grep: {error}")
        return _BAD_USE


async def _search(pattern: Pattern, options: dict[str, str], paths: list[str], io: CommandIO) -> int:
    count, number = 0, 0
    async for line in iter_lines(paths, io):
        number += 1
        found = pattern.find(line)
        matches = found is not None and ("x" not in options or found == (0, len(line)))
        if matches == ("v" in options):
            continue
        count += 1
        if "q" in options:
            return 0
        if "c" in options:
            continue
        prefix = f"{number}:" if "n" in options else ""
        for shown in pattern.find_all(line) if "o" in options else [line]:
            await io.print(f"{prefix}{shown}")
        if options.get("m", "").isdigit() and count >= int(options["m"][:9]):
            break
    if "c" in options:
        await io.print(str(count))
    return int(not count)


async def sort(arguments: list[str], io: CommandIO) -> int:
    """Sort lines: ``-r``, ``-n``, ``-u``, ``-k``, ``-t``."""
    options, paths = read_options(arguments, "kt")
    lines, size = list[str](), 0
    async for line in iter_lines(paths, io):
        size += len(line) + 1
        if size > _MAX_SORTED:
            await io.complain("sort: Cannot allocate memory")
            return _BAD_USE
        lines.append(line)
    key = re.match("[0-9]{1,6}", options.get("k", ""))
    separator = options.get("t")

    def value(line: str) -> tuple[float, str]:
        fields = line.split(separator) if key else [line]
        index = int(key[0]) - 1 if key else 0
        text = fields[index] if 0 <= index < len(fields) else ""
        number = re.match(r"\s*-?[0-9]{0,15}(?:\.[0-9]{1,15})?", text) if "n" in options else None
        return float(number[0]) if number and number[0].strip(" -") else 0.0, "" if "n" in options else text

    lines.sort(key=value, reverse="r" in options)
    for line in dict.fromkeys(lines) if "u" in options else lines:
        await io.print(line)
    return 0


async def uniq(arguments: list[str], io: CommandIO) -> int:
    """Drop repeated lines: ``-c`` counts them, ``-d`` prints only those."""
    options, paths = read_options(arguments, "")
    last: str | None = None
    count = 0

    async def show() -> None:
        if last is not None and ("d" not in options or count > 1):
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
    options, paths = read_options(arguments, "dfcb")
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
    options, operands = read_options(arguments, "")
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
    options, paths = read_options(arguments, "")
    targets = [FileOutput(io.state.files.create(io.state.path(path), truncate="a" not in options)) for path in paths]
    while data := await io.stdin.read(PIECE):
        for target in (io.stdout, *targets):
            await target.write(data)
        await asyncio.sleep(0)
    return 0


async def basename(arguments: list[str], io: CommandIO) -> int:
    """Print the last part of a path, without a suffix."""
    path, *rest = [*arguments, ""][:3] if arguments else [""]
    name = path.rstrip("/").rpartition("/")[2] or "/"
    await io.print(name.removesuffix(rest[0]) if rest and rest[0] != name else name)
    return 0


async def dirname(arguments: list[str], io: CommandIO) -> int:
    """Print the folder of a path."""
    folder, slash, _ = (arguments or [""])[0].rstrip("/").rpartition("/")
    await io.print(folder or ("/" if slash else "."))
    return 0


async def digest(arguments: list[str], io: CommandIO) -> int:
    """Print the SHA-256 of files."""
    for path in arguments or ["-"]:
        found, source = hashlib.sha256(), open_input(path, io)
        while data := await source.read(PIECE):
            found.update(data)
            await asyncio.sleep(0)
        await io.print(f"{found.hexdigest()}  {path}")
    return 0


async def encode(arguments: list[str], io: CommandIO) -> int:
    """Encode a file as base64, or decode it: ``-d``."""
    options, paths = read_options(arguments, "w")
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
