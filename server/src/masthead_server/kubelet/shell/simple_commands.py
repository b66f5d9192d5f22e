"""Simple commands: expansions, assignments, redirections, and the builtin, function or program that runs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.shell.builtin_table import BUILTINS, SPECIAL_BUILTINS
from masthead_server.kubelet.shell.commands import COMMANDS
from masthead_server.kubelet.shell.control import LoopControl, ReturnControl, ShellFailure, UsageError
from masthead_server.kubelet.shell.expansion import chosen_operand, expand_text, split_fields
from masthead_server.kubelet.shell.processes import run_child, run_to_end
from masthead_server.kubelet.shell.programs import BIN_FOLDERS, SHELLS, run_shell
from masthead_server.kubelet.shell.redirections import keep_streams, redirect
from masthead_server.kubelet.shell.streams import TextOutput
from masthead_server.kubelet.shell.variables import MAX_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from masthead_server.kubelet.shell.commands import Act
    from masthead_server.kubelet.shell.nodes import FunctionDefinition, Part, Redirect, SimpleCommand, Word
    from masthead_server.kubelet.shell.state import CommandIO
    from masthead_server.kubelet.shell.variables import VariableScope

__all__ = ["open_redirections", "run_program", "run_simple", "run_words", "substitute"]

_NOT_FOUND: Final = 127
_BAD_USE: Final = 2
_EXEC: Final = "exec"


async def run_simple(command: SimpleCommand, io: CommandIO) -> int:
    """Run a simple command; return the exit code.

    Raises:
        ShellExit: If it exits the shell.
        OSError: If an expansion fails.
    """
    state = io.state
    state.substitution_status = 0
    # Words first: assignments in front of a command do not affect its own words.
    found = [await substitute(word, io) for word in command.words]
    # Within "[[ ]]", an empty or spaced value stays one word.
    words = [expand_text(word, state) for word in found] if command.is_test else split_fields(found, state)
    own = await open_redirections(command.redirects, io)
    if own is None:
        if words and words[0] in SPECIAL_BUILTINS:
            raise ShellFailure(_BAD_USE)
        return 1
    # "a=1 cmd" sets the variable for that command alone, unless the command changes the shell.
    scope: VariableScope | None = {} if words and words[0] not in SPECIAL_BUILTINS else None
    try:
        assigned = [await _assign(name, word, scope, io) for name, word in command.assignments]
        if "x" in state.options:
            await io.complain(state.variables.get("PS4", "+ ") + " ".join([*assigned, *words]))
        if not words:
            # Without a command, the status is that of the last substitution.
            return state.substitution_status
        with keep_streams(state, has_redirections=bool(command.redirects) and words[0] != _EXEC):
            return await run_words(words, own)
    finally:
        if scope:
            state.variables.reveal(scope)


async def _assign(name: str, word: Word, scope: VariableScope | None, io: CommandIO) -> str:
    value = expand_text(await substitute(word, io), io.state)
    if scope is not None:
        io.state.variables.hide(name, scope)
    io.state.assign(name, value)
    if scope is not None:
        io.state.variables.export(name)
    return f"{name}={value}"


async def substitute(word: Word, io: CommandIO) -> Word:
    """Run the commands within a word, each in a subshell; their output becomes a part of it."""
    if all(part.script is None and not part.operand for part in word):
        return word
    return tuple([await _substitute_part(part, io) for part in word])


async def _substitute_part(part: Part, io: CommandIO) -> Part:
    if part.script is None:
        # Commands in a default run only if it is used.
        is_used = part.operator[:1] in {"#", "%", "("} or chosen_operand(part, io.state) is not None
        return replace(part, operand=await substitute(part.operand, io)) if part.operand and is_used else part
    output = TextOutput(MAX_TEXT)
    own = replace(io, stdout=output, state=replace(io.state.fork(), conditions=0))
    io.state.substitution_status = await run_child(partial(io.state.interpreter.run_script, part.script, own), own, io)
    return replace(part, script=None, value=output.text.rstrip("\n"))


async def open_redirections(redirects: Iterable[Redirect], io: CommandIO) -> CommandIO | None:
    """Apply redirections to the streams of a command; None after an error, which has been printed."""
    for found in redirects:
        target = expand_text(await substitute(found.target, io), io.state)
        try:
            io = redirect(found.operator, target, io)
        except OSError as error:
            what = "open" if found.operator in {"<", "0<"} else "create"
            await io.complain(f"{io.state.arguments[0]}: can't {what} {target}: {error.strerror}")
            return None
    return io


async def run_words(words: Sequence[str], io: CommandIO, *, skips_functions: bool = False) -> int:
    """Run a command by its words in the current shell; return the exit code.

    Raises:
        ShellExit: If it exits the shell.
        BrokenPipeError: If the reader has closed its end.
    """
    name, *arguments = words
    # POSIX has this order.
    if name in SPECIAL_BUILTINS:
        return await _run_special(name, SPECIAL_BUILTINS[name], arguments, io)
    function = io.state.functions.get(name)
    if function is not None and not skips_functions:
        return await _call(function, arguments, io)
    if name in BUILTINS:
        return await _act(name, BUILTINS[name], arguments, io)
    return await run_program(words, io)


async def _run_special(name: str, act: Act, arguments: list[str], io: CommandIO) -> int:
    """Run a builtin whose errors end the shell."""
    problem = ""
    try:
        return await act(arguments, io)
    except BrokenPipeError:
        raise
    except OSError as error:
        problem = str(error.strerror)
    except UsageError as error:
        problem = str(error)
    await io.complain(f"{io.state.arguments[0]}: {name}: {problem}")
    raise ShellFailure(_BAD_USE)


async def _act(name: str, act: Act, arguments: list[str], io: CommandIO) -> int:
    try:
        return await act(arguments, io)
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        await io.complain(f"{name}: {where}{error.strerror}")
        return 1
    except UsageError as error:
        await io.complain(f"{name}: {error}")
        return error.status


async def run_program(words: Sequence[str], io: CommandIO, *, replaces_shell: bool = False) -> int:
    """Run a program, which is no builtin; return the exit code.

    Args:
        words: The command.
        io: Its streams.
        replaces_shell: Whether it takes the place of the current shell.
    """
    name, *arguments = words
    if name in SHELLS:
        if replaces_shell:
            own = replace(io, state=io.state.execute(io.state.process))
            return await run_to_end(partial(run_shell, words, own), own)
        own = replace(io, state=io.state.execute())
        return await run_child(partial(run_shell, words, own), own, io)
    # Commands by their usual paths; another path is a file, which cannot be run.
    act = COMMANDS.get(name.rpartition("/")[2] if name.startswith(BIN_FOLDERS) else name)
    if act is None:
        await io.complain(f"{io.state.arguments[0]}: {name}: not found")
        return _NOT_FOUND
    return await _act(name, act, arguments, io)


async def _call(function: FunctionDefinition, arguments: list[str], io: CommandIO) -> int:
    """Call a function."""
    state = io.state
    arguments_of_caller, loops = state.arguments, state.loops
    scope: VariableScope = {}
    with state.hold(arguments_of_caller):
        state.scopes.append(scope)
        state.arguments, state.loops = (arguments_of_caller[0], *arguments), 0
        try:
            return await state.interpreter.run_compound(function.body, io)
        except ReturnControl as leaving:
            return leaving.code
        except LoopControl:
            return state.status
        finally:
            state.arguments, state.loops = arguments_of_caller, loops
            state.scopes.pop()
            state.variables.reveal(scope)
