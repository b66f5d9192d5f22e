"""The programs ``sh`` and ``env``, which run other commands."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.shell.control import ShellFailure, UsageError
from masthead_server.kubelet.shell.devices import open_input
from masthead_server.kubelet.shell.options import read_shell_options
from masthead_server.kubelet.shell.syntax import IncompleteScriptError, ShellSyntaxError, parse
from masthead_server.kubelet.shell.variables import MAX_TEXT, ShellVariables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.kubelet.shell.nodes import Script
    from masthead_server.kubelet.shell.state import CommandIO

__all__ = ["BIN_FOLDERS", "SHELLS", "SHELL_OPTIONS", "env", "read_script", "read_text", "run_shell"]

SHELLS: Final = frozenset({"sh", "bash", "ash", "/bin/sh", "/bin/bash", "/bin/ash", "/usr/bin/bash"})
BIN_FOLDERS: Final = ("/bin/", "/usr/bin/", "/usr/local/bin/")
_SYNTAX: Final = 2
_ENV_USAGE: Final = 125
SHELL_OPTIONS: Final = frozenset("cils")
"""Letters that ``sh`` has and ``set`` has not."""
_MAX_LINES: Final = 200
"""Lines of a command from stdin."""


async def run_shell(words: Sequence[str], io: CommandIO) -> int:
    """Run ``sh``: ``-c text``, a file, or the lines of stdin; return the exit code.

    Raises:
        ShellExit: If the script exits the shell.
    """
    state = io.state
    try:
        found = read_shell_options(words[1:], state.options, SHELL_OPTIONS)
    except UsageError as error:
        await io.complain(f"{words[0]}: {error}")
        return error.status
    state.options = found.options
    state.variables.values.setdefault("PWD", state.cwd)
    operands = list(found.operands or ())
    if "c" in found.others:
        if not operands:
            await io.complain(f"{words[0]}: -c requires an argument")
            return _SYNTAX
        # Behind the text come $0, $1 and so on.
        state.arguments = tuple(operands[1:]) or (words[0],)
        return await state.interpreter.run_text(operands[0], io)
    if operands and "s" not in found.others:
        return await _run_file(operands, io)
    state.arguments = (words[0], *operands)
    return await _run_lines(io)


async def _run_file(operands: list[str], io: CommandIO) -> int:
    try:
        text = await read_text(operands[0], io)
    except OSError as error:
        await io.complain(f"sh: can't open '{operands[0]}': {error.strerror}")
        return _SYNTAX
    io.state.arguments = tuple(operands)
    return await io.state.interpreter.run_text(text, io)


async def read_text(path: str, io: CommandIO) -> str:
    """Return the script in a file.

    Raises:
        OSError: If there is no such file, or it is too large.
    """
    source = open_input(path, io)
    data = await source.read_exactly(MAX_TEXT)
    if await source.read(1):
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return data.decode("utf-8", "surrogateescape")


async def _run_lines(io: CommandIO) -> int:
    """Run stdin command by command; return the exit code of the last one."""
    state = io.state
    while (script := await read_script(io)) is not None:
        await state.interpreter.run_script(script, io)
    return state.status


async def read_script(io: CommandIO, prompts: tuple[str, str] = ("", "")) -> Script | None:
    """Read the lines of a command from stdin; None at the end.

    Args:
        io: The streams.
        prompts: What to print before the first line, and before further ones.

    Raises:
        ShellFailure: If it is invalid.
    """
    lines: list[str] = []
    while True:
        if prompt := prompts[bool(lines)]:
            await io.stdout.write(prompt.encode())
        line = await io.stdin.read_line()
        if not line and not lines:
            return None
        lines.append(line.decode("utf-8", "surrogateescape"))
        try:
            return parse("".join(lines), is_partial=bool(line))
        except ShellSyntaxError as error:
            # Every line is parsed again, so that there must not be too many.
            if isinstance(error, IncompleteScriptError) and line and len(lines) < _MAX_LINES:
                continue
            await io.complain(f"{io.state.arguments[0]}: syntax error: {error}")
            raise ShellFailure(_SYNTAX) from None


async def env(arguments: list[str], io: CommandIO) -> int:
    """Print the environment, or run a program in a changed one: ``-i``, ``-u NAME``, ``NAME=value``."""
    operands, variables = list(arguments), ShellVariables(io.state.variables.environment())
    while operands and operands[0].startswith("-"):
        option = operands.pop(0)
        if option in {"-", "-i", "--ignore-environment"}:
            variables = ShellVariables({})
        elif option == "-u" and operands:
            variables.unset(operands.pop(0))
        elif option.startswith("-u") and len(option) > 2:
            variables.unset(option[2:])
        elif option == "--":
            break
        else:
            raise UsageError(f"invalid option -- '{option[1:2]}'", _ENV_USAGE)
    while operands and "=" in operands[0]:
        name, _, value = operands.pop(0).partition("=")
        variables.assign(name, value, exports=True)
    if not operands:
        for name, value in variables.environment().items():
            await io.print(f"{name}={value}")
        return 0
    own = replace(io, state=replace(io.state, variables=variables, arguments=("env",)))
    return await own.state.interpreter.run_program(operands, own)
