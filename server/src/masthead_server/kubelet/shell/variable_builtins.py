"""The builtins that change variables, parameters and options: ``export``, ``read``, ``set``, ``shift`` and the like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.shell.arguments import read_options
from masthead_server.kubelet.shell.control import UsageError
from masthead_server.kubelet.shell.expansion import field_separators
from masthead_server.kubelet.shell.options import list_options, read_shell_options
from masthead_server.kubelet.shell.variables import NAME

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.kubelet.shell.state import CommandIO

__all__ = ["cd", "export", "local", "quote", "read", "read_only", "set_options", "shift", "unset"]

_BAD_USE: Final = 2
_BLANKS: Final = " \t\n"


def quote(text: str) -> str:
    """Return a text in single quotes."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _check_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise UsageError(f"{name}: bad variable name", _BAD_USE)
    return name


async def export(arguments: list[str], io: CommandIO) -> int:
    """Export variables; without names or with ``-p``, print them."""
    options, operands = read_options(arguments, "p", status=_BAD_USE)
    variables = io.state.variables
    if "p" in options or not operands:
        await _print_declarations("export", variables.exported, io)
    for operand in operands:
        name, equals, value = operand.partition("=")
        if equals:
            io.state.assign(_check_name(name), value)
        variables.export(_check_name(name))
    return 0


async def read_only(arguments: list[str], io: CommandIO) -> int:
    """Make variables read-only; without names or with ``-p``, print them."""
    options, operands = read_options(arguments, "p", status=_BAD_USE)
    variables = io.state.variables
    if "p" in options or not operands:
        await _print_declarations("readonly", variables.read_only, io)
    for operand in operands:
        name, equals, value = operand.partition("=")
        if equals:
            io.state.assign(_check_name(name), value)
        variables.protect(_check_name(name))
    return 0


async def _print_declarations(verb: str, names: Iterable[str], io: CommandIO) -> None:
    values = io.state.variables.values
    for name in sorted(names):
        await io.print(f"{verb} {name}={quote(values[name])}" if name in values else f"{verb} {name}")


async def unset(arguments: list[str], io: CommandIO) -> int:
    """Remove variables, or functions with ``-f``."""
    options, names = read_options(arguments, "fv", status=_BAD_USE)
    for name in names:
        if "f" in options:
            io.state.functions.pop(name, None)
        else:
            io.state.variables.unset(_check_name(name))
    return 0


async def local(arguments: list[str], io: CommandIO) -> int:
    """Declare variables of a function, which have their former values after it."""
    if not io.state.scopes:
        raise UsageError("not in a function", _BAD_USE)
    for argument in arguments:
        name, equals, value = argument.partition("=")
        io.state.variables.hide(_check_name(name), io.state.scopes[-1])
        if equals:
            io.state.assign(name, value)
    return 0


async def set_options(arguments: list[str], io: CommandIO) -> int:
    """Set options and positional parameters; without arguments, print the variables."""
    state = io.state
    if not arguments:
        for name, value in sorted(state.variables.values.items()):
            await io.print(f"{name}={quote(value)}")
        return 0
    found = read_shell_options(arguments, state.options)
    state.options = found.options
    for line in list_options(state.options, found.lists) if found.lists else ():
        await io.print(line)
    if found.operands is not None:
        state.arguments = (state.arguments[0], *found.operands)
    return 0


async def shift(arguments: list[str], io: CommandIO) -> int:
    """Remove the first positional parameters."""
    count = arguments[0] if arguments else "1"
    if not re.fullmatch("[0-9]{1,9}", count):
        raise UsageError(f"Illegal number: {count}", _BAD_USE)
    first, *rest = io.state.arguments
    if int(count) > len(rest):
        raise UsageError("can't shift that many", _BAD_USE)
    io.state.arguments = (first, *rest[int(count) :])
    return 0


async def cd(arguments: list[str], io: CommandIO) -> int:
    """Change the working directory; without one to ``HOME``, with ``-`` to the last one."""
    _, operands = read_options(arguments, "LP", status=_BAD_USE)
    state = io.state
    target = operands[0] if operands else state.variables.get("HOME", "/")
    # A dash means the former directory, which is then printed.
    if target == "-":
        target = state.variables.get("OLDPWD")
        if not target:
            raise UsageError("OLDPWD not set", _BAD_USE)
        await io.print(target)
    path = state.path(target)
    state.files.directory(path)
    state.assign("OLDPWD", state.cwd)
    state.assign("PWD", path)
    state.cwd = path
    return 0


async def read(arguments: list[str], io: CommandIO) -> int:
    """Read a line into variables, the last of which gets the rest: ``-r`` for backslashes, ``-p`` for a prompt."""
    options, names = read_options(arguments, "r", "p", status=_BAD_USE)
    if "p" in options:
        await io.stderr.write(options["p"].encode("utf-8", "surrogateescape"))
    text, is_whole = await _read_line(io, is_raw="r" in options)
    names = [_check_name(name) for name in names] or ["REPLY"]
    fields = _split_line(text, len(names), field_separators(io.state))
    for index, name in enumerate(names):
        io.state.assign(name, fields[index] if index < len(fields) else "")
    return int(not is_whole)


async def _read_line(io: CommandIO, *, is_raw: bool) -> tuple[list[str], bool]:
    """Read a line as characters, of which escaped ones have a backslash; return whether it has its end, too."""
    found: list[str] = []
    while True:
        line = await io.stdin.read_line()
        text = line.decode("utf-8", "surrogateescape").removesuffix("\n")
        pieces = re.findall(r"\\.|[^\\]|\\\Z", text, re.DOTALL) if not is_raw else list(text)
        is_whole = line.endswith(b"\n")
        # A backslash at the end of a line continues it.
        if is_raw or not pieces or pieces[-1] != "\\" or not is_whole:
            io.state.expand((*found, *pieces))
            return [*found, *pieces], is_whole
        found += pieces[:-1]
        io.state.expand(found)


def _split_line(pieces: list[str], count: int, separators: str) -> list[str]:
    """Split a line into so many fields."""
    fields: list[str] = []
    position = _skip(pieces, 0, separators)
    while position < len(pieces) and len(fields) < count - 1:
        end = position
        while end < len(pieces) and not _is_in(pieces[end], separators):
            end += 1
        fields.append(_unescape(pieces[position:end]))
        position = _skip(pieces, end, separators)
        # One separator other than a blank, with blanks around it.
        if position < len(pieces) and _is_in(pieces[position], separators):
            position = _skip(pieces, position + 1, separators)
    rest = pieces[position:]
    while rest and rest[-1] in _BLANKS and rest[-1] in separators:
        rest.pop()
    # A single field behind the last name loses its separator.
    others = [piece for piece in rest if _is_in(piece, separators)]
    if len(others) == 1 and rest[-1] == others[0]:
        rest.pop()
    return [*fields, _unescape(rest)] if rest else fields


def _skip(pieces: list[str], position: int, separators: str) -> int:
    """The position behind blanks that separate."""
    while position < len(pieces) and pieces[position] in _BLANKS and pieces[position] in separators:
        position += 1
    return position


def _is_in(piece: str, separators: str) -> bool:
    return len(piece) == 1 and piece in separators


def _unescape(pieces: list[str]) -> str:
    return "".join(piece[1:] if len(piece) == 2 else piece for piece in pieces)
