"""Runs scripts of the built-in shell."""

from __future__ import annotations

import asyncio
import fnmatch
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.shell.commands import COMMANDS
from masthead_server.kubelet.shell.control import LoopControl, ShellExit
from masthead_server.kubelet.shell.devices import open_input
from masthead_server.kubelet.shell.expansion import expand_text, split_fields
from masthead_server.kubelet.shell.job_control import kill, wait
from masthead_server.kubelet.shell.nodes import (
    Case,
    CommandGroup,
    ForLoop,
    If,
    SimpleCommand,
    WhileLoop,
)
from masthead_server.kubelet.shell.state import (
    CommandIO,
    FileOutput,
    Input,
    NullOutput,
    no_input,
)
from masthead_server.kubelet.shell.syntax import ShellSyntaxError, parse
from masthead_server.kubelet.stdio import StdinPipe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.kubelet.shell.nodes import (
        AndOr,
        Command,
        Part,
        Pipeline,
        Redirect,
        Script,
        Word,
    )
    from masthead_server.kubelet.shell.state import ShellOutput, ShellState

__all__ = ["run_script", "run_text"]

_NOT_FOUND: Final = 127
_BROKEN_PIPE: Final = 141
_SYNTAX: Final = 2
_NULL: Final = "/dev/null"
_MAX_CASE: Final = 4096
_MAX_STARS: Final = 3


async def run_text(text: str, io: CommandIO) -> int:
    """Run a text; return the exit code.

    Raises:
        ShellExit: If it exits the shell.
    """
    try:
        script = parse(text)
    except ShellSyntaxError as error:
        await io.complain(f"{io.state.arguments[0]}: syntax error: {error}")
        io.state.status = _SYNTAX
        return _SYNTAX
    try:
        return await run_script(script, io)
    # "break" outside of a loop does nothing.
    except LoopControl:
        return 0
    except BrokenPipeError:
        raise
    except OSError as error:  # a word that is too long
        await io.complain(f"{io.state.arguments[0]}: {error.strerror}")
        return _SYNTAX


async def run_script(script: Script, io: CommandIO) -> int:
    """Run a script; return the exit code of its last command.

    Raises:
        ShellExit: If it exits the shell.
    """
    for chain in script:
        if chain.is_background:
            _start_job(chain, io)
        else:
            io.state.status = await _run_and_or(chain, io)
        if io.state.signals is not None and (trap := io.state.signals.take()):
            status = io.state.status
            await run_text(trap, io)
            io.state.status = status
        await asyncio.sleep(0)  # a loop of commands that wait for nothing must not hold other requests
    return io.state.status


def _start_job(chain: AndOr, io: CommandIO) -> None:
    """Run commands in the background."""
    processes = io.state.processes
    if processes.used >= processes.limit:
        raise ShellExit(_SYNTAX)
    # Signals are for the shell in the foreground.
    own = CommandIO(Input(no_input), io.stdout, io.stderr, replace(io.state.fork(), signals=None))

    async def run() -> int:
        processes.take(1)
        try:
            return await _run_and_or(chain, own)
        except ShellExit as leaving:
            return leaving.code
        except LoopControl:
            return 0
        except OSError:
            return _BROKEN_PIPE
        finally:
            processes.take(-1)

    io.state.jobs.start(run())
    io.state.status = 0


async def _run_and_or(chain: AndOr, io: CommandIO) -> int:
    status = await _run_pipeline(chain.first, io)
    for operator, pipeline in chain.rest:
        # A pipeline that is skipped leaves the status for the next operator.
        if (status == 0) == (operator == "&&"):
            io.state.status = status
            status = await _run_pipeline(pipeline, io)
    return status


async def _run_pipeline(pipeline: Pipeline, io: CommandIO) -> int:
    if len(pipeline.commands) == 1:
        status = await _run_command(pipeline.commands[0], io)
    else:
        status = await _run_pipes(pipeline.commands, io)
    return int(status == 0) if pipeline.is_negated else status


async def _run_pipes(commands: tuple[Command, ...], io: CommandIO) -> int:
    """Run commands concurrently, each in a subshell; return the exit code of the last."""
    processes = io.state.processes
    # Pipelines may nest, and a client may write a fork bomb.
    if processes.used + len(commands) > processes.limit:
        await io.complain(f"{io.state.arguments[0]}: can't fork: Resource temporarily unavailable")
        raise ShellExit(_SYNTAX)
    processes.take(len(commands))
    try:
        return await _run_together(commands, io)
    finally:
        processes.take(-len(commands))


async def _run_together(commands: tuple[Command, ...], io: CommandIO) -> int:
    async with asyncio.TaskGroup() as group:
        stdin, running = io.stdin, None
        source: StdinPipe | None = None
        for command in commands:
            # By identity: two equal commands may follow each other.
            target = StdinPipe() if command is not commands[-1] else None
            stdout = io.stdout if target is None else _PipeOutput(target)
            own = CommandIO(stdin, stdout, io.stderr, io.state.fork())
            running = group.create_task(_run_in_pipe(command, own, source, target))
            if target is not None:
                stdin, source = Input(target.reader.read), target
        assert running is not None
    return running.result()


async def _run_in_pipe(command: Command, io: CommandIO, source: StdinPipe | None, target: StdinPipe | None) -> int:
    try:
        return await _run_command(command, io)
    except ShellExit as leaving:
        return leaving.code
    except LoopControl:
        return 0
    except BrokenPipeError:
        return _BROKEN_PIPE
    finally:
        # Both ends: the command before must not wait for a reader, nor the next one for a writer.
        for pipe in (source, target):
            if pipe is not None:
                pipe.close()


class _PipeOutput:
    """Writes to the next command of a pipeline."""

    def __init__(self, pipe: StdinPipe) -> None:
        self._pipe = pipe

    async def write(self, data: bytes, /) -> None:
        if self._pipe.is_closed:
            raise BrokenPipeError
        await self._pipe.feed(data)


async def _run_command(command: Command, io: CommandIO) -> int:
    if isinstance(command, SimpleCommand):
        return await _run_simple(command, io)
    if isinstance(command, CommandGroup):
        return await _run_group(command, io)
    if isinstance(command, If):
        return await _run_if(command, io)
    if isinstance(command, Case):
        return await _run_case(command, io)
    own = await _open_redirections(command.redirects, io)
    return 1 if own is None else await _run_loop(command, own)


async def _run_group(group: CommandGroup, io: CommandIO) -> int:
    own = await _open_redirections(group.redirects, io)
    if own is None:
        return 1
    if not group.is_subshell:
        return await run_script(group.body, own)
    try:
        # "exit" leaves a subshell only.
        return await run_script(group.body, replace(own, state=io.state.fork()))
    except ShellExit as leaving:
        return leaving.code


async def _run_case(command: Case, io: CommandIO) -> int:
    word = expand_text(await _substitute(command.word, io), io.state)[:_MAX_CASE]
    for patterns, body in command.branches:
        for pattern in patterns:
            found = expand_text(await _substitute(pattern, io), io.state)
            # The time of a match grows with each star.
            if found.count("*") <= _MAX_STARS and fnmatch.fnmatchcase(word, found):
                io.state.status = 0
                return await run_script(body, io)
    return 0


async def _run_if(command: If, io: CommandIO) -> int:
    for condition, body in command.branches:
        if await run_script(condition, io) == 0:
            return await run_script(body, io)
    # Without a branch that is taken, an "if" succeeds.
    io.state.status = 0
    return await run_script(command.otherwise, io)


async def _run_loop(loop: WhileLoop | ForLoop, io: CommandIO) -> int:
    values = (
        iter(split_fields([await _substitute(word, io) for word in loop.words], io.state))
        if isinstance(loop, ForLoop)
        else None
    )
    status = 0
    while True:
        if isinstance(loop, ForLoop):
            # Expanded once, before the loop: the body may change the variables.
            value = next(values, None) if values is not None else None
            if value is None:
                return status
            io.state.assign(loop.name, value)
        elif (await run_script(loop.condition, io) == 0) == loop.is_until:
            return status
        try:
            status = await run_script(loop.body, io)
        except LoopControl as control:
            # "break 2" leaves the loop around this one, too.
            if control.levels > 1:
                raise LoopControl(control.levels - 1, is_break=control.is_break) from None
            if control.is_break:
                return 0


async def _run_simple(command: SimpleCommand, io: CommandIO) -> int:
    # Words first: assignments in front of a command do not affect its own words.
    found = [await _substitute(word, io) for word in command.words]
    # Within "[[ ]]", an empty or spaced value stays one word.
    words = [expand_text(word, io.state) for word in found] if command.is_test else split_fields(found, io.state)
    own = await _open_redirections(command.redirects, io)
    if own is None:
        return 1
    # "a=1 cmd" sets the variable for that command alone.
    if words and command.assignments:
        own = replace(own, state=io.state.fork())
    for name, word in command.assignments:
        own.state.assign(name, expand_text(await _substitute(word, own), own.state))
    return await run_command(words, own) if words else 0


async def run_command(words: list[str], io: CommandIO) -> int:
    """Run a command by its words; return the exit code.

    Raises:
        ShellExit: If it exits the shell.
        BrokenPipeError: If the reader has closed its end.
    """
    name, *arguments = words
    if name == "exit":
        # An exit code is one byte.
        raise ShellExit(_number(arguments, io.state.status) & 0xFF)
    if name in {"break", "continue"}:
        raise LoopControl(max(1, _number(arguments, 1)), is_break=name == "break")
    if name == "wait":
        return await wait(arguments, io.state)
    if name == "kill":
        return kill(arguments, io.state)
    if name == "trap":
        return _set_traps(arguments, io.state)
    if name in SHELLS:
        return await run_shell(words, replace(io, state=io.state.fork()))
    if name in {"command", "exec"} and arguments:
        return await run_command(arguments, io)
    # Commands by their usual paths; another path is a file, which cannot be run.
    act = COMMANDS.get(name.rpartition("/")[2] if name.startswith(BIN_FOLDERS) else name)
    if act is None:
        await io.complain(f"{io.state.arguments[0]}: {name}: not found")
        return _NOT_FOUND
    try:
        return await act(arguments, io)
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        await io.complain(f"{name}: {where}{error.strerror}")
        return 1


def _set_traps(arguments: list[str], state: ShellState) -> int:
    if state.signals is not None and len(arguments) > 1:
        for name in arguments[1:]:
            signal = {"15": "TERM", "2": "INT", "0": "EXIT"}.get(name, name.removeprefix("SIG"))
            if arguments[0] == "-":
                state.signals.traps.pop(signal, None)
            else:
                state.signals.traps[signal] = arguments[0]
    return 0


SHELLS: Final = frozenset({"sh", "bash", "ash", "/bin/sh", "/bin/bash", "/bin/ash", "/usr/bin/bash"})
CONTROL: Final = frozenset({"exit", "break", "continue", "command", "exec", "trap", "wait", "kill"})
"""What only a shell knows."""
BIN_FOLDERS: Final = ("/bin/", "/usr/bin/", "/usr/local/bin/")


async def run_shell(words: list[str], io: CommandIO) -> int:
    """Run ``sh``: ``-c text``, a file, or the lines of stdin; return the exit code."""
    arguments = words[1:]
    while arguments and arguments[0].startswith("-") and "c" not in arguments[0] and arguments[0] != "-":
        arguments = arguments[1:]  # -e, -x, -l and the like change nothing here
    try:
        if arguments and arguments[0].startswith("-") and "c" in arguments[0]:
            if len(arguments) == 1:
                await io.complain(f"{words[0]}: -c requires an argument")
                return _SYNTAX
            # Behind the text come $0, $1 and so on.
            io.state.arguments = tuple(arguments[2:]) or (words[0],)
            return await run_text(arguments[1], io)
        if arguments and arguments[0] != "-":
            return await _run_file(arguments, io)
        return await run_lines(io)
    except ShellExit as leaving:
        return leaving.code


async def _run_file(arguments: list[str], io: CommandIO) -> int:
    try:
        file = io.state.files.file(io.state.path(arguments[0]))
    except OSError as error:
        await io.complain(f"sh: can't open '{arguments[0]}': {error.strerror}")
        return _NOT_FOUND
    io.state.arguments = tuple(arguments)
    return await run_text(file.read(0, file.size).decode("utf-8", "replace"), io)


async def run_lines(io: CommandIO, prompt: str = "") -> int:
    """Run stdin line by line; return the exit code of the last command.

    Raises:
        ShellExit: If a line exits the shell.
    """
    while True:
        if prompt:
            await io.stdout.write(prompt.encode())
        line = await io.stdin.read_line()
        if not line:
            return io.state.status
        await run_text(line.decode("utf-8", "replace"), io)


async def _open_redirections(redirects: Iterable[Redirect], io: CommandIO) -> CommandIO | None:
    """Apply redirections to the streams of a command; None after an error, which has been printed."""
    for redirect in redirects:
        path = expand_text(await _substitute(redirect.target, io), io.state)
        try:
            io = _redirect(redirect.operator, path, io)
        except OSError as error:
            what = "open" if redirect.operator == "<" else "create"
            await io.complain(f"{io.state.arguments[0]}: can't {what} {path}: {error.strerror}")
            return None
    return io


def _redirect(operator: str, path: str, io: CommandIO) -> CommandIO:
    if operator == "2>&1":
        # In the order of the command line: "2>&1 >file" and ">file 2>&1" differ.
        return replace(io, stderr=io.stdout)
    if operator in {"1>&2", ">&2"}:
        return replace(io, stdout=io.stderr)
    if operator == "<":
        return replace(io, stdin=open_input(path, io))
    target: ShellOutput = NullOutput()
    if path != _NULL:
        target = FileOutput(io.state.files.create(io.state.path(path), truncate=">>" not in operator))
    if operator == "&>":
        return replace(io, stdout=target, stderr=target)
    return replace(io, stderr=target) if operator.startswith("2") else replace(io, stdout=target)


class _TextOutput:
    """Keeps what a command prints."""

    def __init__(self, state: ShellState) -> None:
        self.text = ""
        self._state = state

    async def write(self, data: bytes, /) -> None:
        # Bounded, as all words are.
        self.text = self._state.expand((self.text, data.decode("utf-8", "surrogateescape")))


async def _substitute(word: Word, io: CommandIO) -> Word:
    """Run the commands within a word, each in a subshell; their output becomes a part of it."""
    if all(part.script is None and not part.operand for part in word):
        return word
    found: list[Part] = []
    for part in word:
        if part.script is None:
            found.append(replace(part, operand=await _substitute(part.operand, io)) if part.operand else part)
            continue
        output = _TextOutput(io.state)
        own = replace(io, stdout=output, state=io.state.fork())
        try:
            io.state.status = await run_script(part.script, own)
        except ShellExit as leaving:
            io.state.status = leaving.code
        found.append(replace(part, script=None, value=output.text.rstrip("\n")))
    return tuple(found)


def _number(arguments: list[str], default: int) -> int:
    with suppress(IndexError, ValueError):
        return int(arguments[0])
    return default
