"""The builtins that run commands, or leave what runs: ``eval``, ``exec``, ``exit``, ``return`` and the like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.shell.commands import COMMANDS
from masthead_server.kubelet.shell.control import LoopControl, ReturnControl, ShellExit, UsageError
from masthead_server.kubelet.shell.programs import BIN_FOLDERS, SHELLS, read_text
from masthead_server.kubelet.shell.state import Streams
from masthead_server.kubelet.shell.syntax import KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.kubelet.shell.state import CommandIO, ShellState

__all__ = ["break_loop", "continue_loop", "evaluate", "execute", "exit_shell", "return_from", "run_unnamed", "source"]

_BAD_USE: Final = 2
_NOT_FOUND: Final = 127


def _number(arguments: list[str], default: int) -> int:
    if not arguments:
        return default
    if not re.fullmatch("[0-9]{1,9}", arguments[0]):
        raise UsageError(f"Illegal number: {arguments[0]}", _BAD_USE)
    return int(arguments[0])


async def exit_shell(arguments: list[str], io: CommandIO) -> int:
    """End the shell."""
    # An exit code is one byte.
    raise ShellExit(_number(arguments, io.state.status) & 0xFF)


async def return_from(arguments: list[str], io: CommandIO) -> int:
    """Leave a function or a sourced file."""
    raise ReturnControl(_number(arguments, io.state.status) & 0xFF)


async def break_loop(arguments: list[str], io: CommandIO) -> int:
    """Leave loops."""
    return _leave_loops(arguments, io.state, is_break=True)


async def continue_loop(arguments: list[str], io: CommandIO) -> int:
    """Continue with the next turn of a loop."""
    return _leave_loops(arguments, io.state, is_break=False)


def _leave_loops(arguments: list[str], state: ShellState, *, is_break: bool) -> int:
    levels = _number(arguments, 1)
    if not levels:
        raise UsageError(f"Illegal number: {arguments[0]}", _BAD_USE)
    # Outside of a loop, it does nothing.
    if state.loops:
        raise LoopControl(min(levels, state.loops), is_break=is_break)
    return 0


async def evaluate(arguments: list[str], io: CommandIO) -> int:
    """Run the arguments as a script: ``eval``."""
    return await io.state.interpreter.run_text(" ".join(arguments), io)


async def source(arguments: list[str], io: CommandIO) -> int:
    """Run a file in the current shell: ``.``."""
    if not arguments:
        raise UsageError("filename argument required", _BAD_USE)
    path = arguments[0]
    # A name without a slash is looked for in PATH, where there are no files.
    if "/" not in path:
        raise UsageError(f"{path}: not found", _BAD_USE)
    try:
        text = await read_text(path, io)
    except OSError as error:
        raise UsageError(f"can't open '{path}': {error.strerror}", _BAD_USE) from error
    try:
        return await io.state.interpreter.run_text(text, io)
    except ReturnControl as leaving:
        return leaving.code


async def execute(arguments: list[str], io: CommandIO) -> int:
    """Replace the shell by a program, or redirect the streams of the shell: ``exec``."""
    state = io.state
    if not arguments:
        state.streams = Streams(io.stdin, io.stdout, io.stderr)
        return 0
    state.process.replace_program()
    raise ShellExit(await state.interpreter.run_program(arguments, io, replaces_shell=True))


async def run_unnamed(arguments: list[str], io: CommandIO, *, is_builtin: Callable[[str], bool]) -> int:
    """Run a command that is no function, or tell what a name is: ``command``, ``command -v``."""
    rest, is_query, is_verbose = list(arguments), False, False
    while rest and rest[0].startswith("-") and len(rest[0]) > 1:
        option = rest.pop(0)
        if option == "--":
            break
        if unknown := set(option[1:]) - set("pvV"):
            raise UsageError(f"invalid option -- '{min(unknown)}'", _BAD_USE)
        is_query, is_verbose = is_query or option != "-p", is_verbose or "V" in option
    if is_query:
        return await describe_names(rest, io, is_builtin=is_builtin, is_verbose=is_verbose)
    return await io.state.interpreter.run_words(rest, io, skips_functions=True) if rest else 0


async def describe_names(
    names: list[str], io: CommandIO, *, is_builtin: Callable[[str], bool], is_verbose: bool
) -> int:
    """Print what names stand for: ``type``, ``command -v``; 127 if a name is unknown."""
    status = 0
    for name in names:
        short, long = _describe(name, io.state, is_builtin)
        if not short:
            status = _NOT_FOUND
        if is_verbose:
            await io.print(f"{name} {long}" if short else f"{name}: not found")
        elif short:
            await io.print(short)
    return status


def _describe(name: str, state: ShellState, is_builtin: Callable[[str], bool]) -> tuple[str, str]:
    if name in KEYWORDS:
        return name, "is a shell keyword"
    if name in state.functions:
        return name, "is a shell function"
    if is_builtin(name):
        return name, "is a shell builtin"
    base = name.rpartition("/")[2] if name.startswith(BIN_FOLDERS) else name
    if base not in COMMANDS and name not in SHELLS:
        return "", ""
    path = name if "/" in name else f"/bin/{name}"
    return path, f"is {path}"
