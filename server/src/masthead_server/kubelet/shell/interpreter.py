"""Runs scripts of the built-in shell: lists, pipelines, compound commands and background jobs."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.shell import simple_commands
from masthead_server.kubelet.shell.control import LoopControl, ShellExit, ShellFailure
from masthead_server.kubelet.shell.expansion import expand_pattern, expand_text, split_fields
from masthead_server.kubelet.shell.nodes import (
    Case,
    CommandGroup,
    ForLoop,
    FunctionDefinition,
    If,
    SimpleCommand,
)
from masthead_server.kubelet.shell.patterns import matches_pattern
from masthead_server.kubelet.shell.processes import run_child, run_process, run_traps
from masthead_server.kubelet.shell.programs import SHELLS
from masthead_server.kubelet.shell.redirections import keep_streams
from masthead_server.kubelet.shell.simple_commands import open_redirections, run_simple, substitute
from masthead_server.kubelet.shell.state import CommandIO
from masthead_server.kubelet.shell.streams import Input, no_input
from masthead_server.kubelet.shell.syntax import ShellSyntaxError, parse
from masthead_server.kubelet.stdio import StdinPipe

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from masthead_server.kubelet.shell.nodes import (
        AndOr,
        Command,
        Compound,
        Pipeline,
        Script,
        WhileLoop,
    )
    from masthead_server.kubelet.shell.state import ShellState

__all__ = ["ScriptInterpreter"]

_BROKEN_PIPE: Final = 141
_SYNTAX: Final = 2
_MAX_CASE: Final = 4096
_MAX_DEPTH: Final = 400
"""Scripts within scripts: functions, ``eval``, subshells and compound commands."""
_LEVELS_OF_STACK: Final = 25
"""Scripts within scripts that share a stack."""


class ScriptInterpreter:
    """Runs scripts and commands of a shell, whose state is an argument of every call."""

    async def run_text(self, text: str, io: CommandIO) -> int:
        """Run a text in the current shell; return the exit code.

        Raises:
            ShellExit: If it exits the shell.
            LoopControl: If it leaves a loop.
            ReturnControl: If it leaves a function.
        """
        try:
            script = parse(text)
        except ShellSyntaxError as error:
            await io.complain(f"{io.state.arguments[0]}: syntax error: {error}")
            raise ShellFailure(_SYNTAX) from None
        return await self.run_script(script, io)

    async def run_script(self, script: Script, io: CommandIO) -> int:
        """Run a script; return the exit code of its last command, 0 if it has none.

        Raises:
            ShellExit: If it exits the shell.
        """
        state = io.state
        if state.depth >= _MAX_DEPTH:
            await io.complain(f"{state.arguments[0]}: maximum recursion depth exceeded")
            raise ShellFailure(_SYNTAX)
        state.depth += 1
        try:
            # Nested scripts need Python's stack, and every task begins with an empty one.
            if state.depth % _LEVELS_OF_STACK == 0:
                return await asyncio.get_running_loop().create_task(state.observer.observe(_run_chains(script, io)))
            return await _run_chains(script, io)
        finally:
            state.depth -= 1

    async def run_compound(self, command: Compound, io: CommandIO) -> int:
        """Run a compound command, such as the body of a function; return the exit code."""
        return await _run_command(command, io)

    async def run_words(self, words: Sequence[str], io: CommandIO, *, skips_functions: bool = False) -> int:
        """Run a command in the current shell; return the exit code."""
        return await simple_commands.run_words(words, io, skips_functions=skips_functions)

    async def run_program(self, words: Sequence[str], io: CommandIO, *, replaces_shell: bool = False) -> int:
        """Run a program, which is no builtin; return the exit code."""
        return await simple_commands.run_program(words, io, replaces_shell=replaces_shell)


async def _run_chains(script: Script, io: CommandIO) -> int:
    state, status = io.state, 0
    for chain in script:
        # "exec >file" redirects the commands that follow.
        if state.streams is not None:
            io = CommandIO(*state.streams, state)
        if chain.is_background:
            status = await _start_job(chain, io)
        else:
            status = await _run_and_or(chain, io)
        state.status = status
        await asyncio.sleep(0)  # a loop of commands that wait for nothing must not hold other requests
        state.process.check()
        if state.process.is_pending:
            await run_traps(io)
    return status


async def _start_job(chain: AndOr, io: CommandIO) -> int:
    """Run commands in the background."""
    state = io.state
    processes = state.processes
    if processes.used >= processes.limit:
        await io.complain(f"{state.arguments[0]}: can't fork: Resource temporarily unavailable")
        raise ShellFailure(_SYNTAX)
    own_state = replace(state.fork(), process=state.process.fork(is_background=True))
    own_state.process.is_wrapper = _is_shell(chain)
    own = CommandIO(Input(no_input), io.stdout, io.stderr, own_state)

    async def run() -> int:
        try:
            return await run_process(partial(_run_and_or, chain, own), own)
        except OSError:
            return _BROKEN_PIPE
        finally:
            processes.take(-1)

    processes.take(1)
    state.jobs.start(own_state.process.number, state.observer.observe(run()))
    return 0


def _is_shell(chain: AndOr) -> bool:
    """Tell whether a list is a single subshell or shell."""
    command, *others = chain.first.commands
    if others or chain.rest:
        return False
    if isinstance(command, SimpleCommand):
        return bool(command.words) and len(command.words[0]) == 1 and command.words[0][0].text in SHELLS
    return isinstance(command, CommandGroup) and command.is_subshell


@contextmanager
def _evaluate_condition(state: ShellState, *, is_condition: bool = True) -> Generator[None]:
    """Evaluate a condition, whose commands do not end a shell with ``set -e``."""
    state.conditions += is_condition
    try:
        yield
    finally:
        state.conditions -= is_condition


async def _run_and_or(chain: AndOr, io: CommandIO) -> int:
    # Nothing but a coroutine: thousands of shells may sleep here, and the garbage collector visits what they hold.
    if not chain.rest:
        return await _run_pipeline(chain.first, io)
    last = len(chain.rest)
    with _evaluate_condition(io.state):
        status = await _run_pipeline(chain.first, io)
    for index, (operator, pipeline) in enumerate(chain.rest, 1):
        # A pipeline that is skipped leaves the status for the next operator.
        if (status == 0) == (operator == "&&"):
            io.state.status = status
            with _evaluate_condition(io.state, is_condition=index < last):
                status = await _run_pipeline(pipeline, io)
    return status


async def _run_pipeline(pipeline: Pipeline, io: CommandIO) -> int:
    if pipeline.is_negated:
        with _evaluate_condition(io.state):
            return int(await _run_pipeline(replace(pipeline, is_negated=False), io) == 0)
    if len(pipeline.commands) == 1:
        return await _run_command(pipeline.commands[0], io)
    status = await _run_together(pipeline.commands, io)
    _exit_on_error(status, io.state)
    return status


def _exit_on_error(status: int, state: ShellState) -> None:
    """End a shell with ``set -e`` after a command that failed."""
    if status and "e" in state.options and not state.conditions:
        raise ShellExit(status)


async def _run_together(commands: tuple[Command, ...], io: CommandIO) -> int:
    """Run commands concurrently, each in a subshell; return the exit code of the pipeline."""
    running: list[asyncio.Task[int]] = []
    async with asyncio.TaskGroup() as group:
        stdin = io.stdin
        source: StdinPipe | None = None
        for index, command in enumerate(commands, 1):
            target = StdinPipe() if index < len(commands) else None
            stdout = io.stdout if target is None else _PipeOutput(target)
            own = CommandIO(stdin, stdout, io.stderr, io.state.fork())
            process = _run_in_pipe(command, own, io, source, target)
            running.append(group.create_task(io.state.observer.observe(process)))
            if target is not None:
                stdin, source = Input(target.reader.read), target
    codes = [task.result() for task in running]
    return next((code for code in reversed(codes) if code), 0) if "pipefail" in io.state.options else codes[-1]


async def _run_in_pipe(
    command: Command, io: CommandIO, parent: CommandIO, source: StdinPipe | None, target: StdinPipe | None
) -> int:
    try:
        return await run_child(partial(_run_command, command, io), io, parent)
    except ShellExit as leaving:
        return leaving.code
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
    try:
        if isinstance(command, SimpleCommand):
            status = await run_simple(command, io)
            if io.state.process.is_pending:
                io.state.status = status
                await run_traps(io)
            _exit_on_error(status, io.state)
            return status
        if isinstance(command, FunctionDefinition):
            io.state.define(command)
            return 0
        return await _run_redirected(command, io)
    except BrokenPipeError:
        raise
    # An expansion failed, or would be too long.
    except OSError as error:
        await io.complain(f"{io.state.arguments[0]}: {error.strerror}")
        raise ShellFailure(_SYNTAX) from None


async def _run_redirected(command: Compound, io: CommandIO) -> int:
    own = await open_redirections(command.redirects, io)
    if own is None:
        return 1
    with keep_streams(io.state, has_redirections=bool(command.redirects)):
        if isinstance(command, CommandGroup):
            return await _run_group(command, own)
        if isinstance(command, If):
            return await _run_if(command, own)
        if isinstance(command, Case):
            return await _run_case(command, own)
        return await _run_loop(command, own)


async def _run_group(group: CommandGroup, io: CommandIO) -> int:
    interpreter = io.state.interpreter
    if not group.is_subshell:
        return await interpreter.run_script(group.body, io)
    own = replace(io, state=io.state.fork())
    status = await run_child(partial(interpreter.run_script, group.body, own), own, io)
    _exit_on_error(status, io.state)
    return status


async def _run_case(command: Case, io: CommandIO) -> int:
    word = expand_text(await substitute(command.word, io), io.state)[:_MAX_CASE]
    for patterns, body in command.branches:
        for pattern in patterns:
            if matches_pattern(word, expand_pattern(await substitute(pattern, io), io.state)):
                return await io.state.interpreter.run_script(body, io)
    return 0


async def _run_condition(script: Script, io: CommandIO) -> bool:
    with _evaluate_condition(io.state):
        return await io.state.interpreter.run_script(script, io) == 0


async def _run_if(command: If, io: CommandIO) -> int:
    for condition, body in command.branches:
        if await _run_condition(condition, io):
            return await io.state.interpreter.run_script(body, io)
    # Without a branch that is taken, an "if" succeeds.
    return await io.state.interpreter.run_script(command.otherwise, io)


async def _run_loop(loop: WhileLoop | ForLoop, io: CommandIO) -> int:
    io.state.loops += 1
    try:
        if isinstance(loop, ForLoop):
            return await _run_for(loop, io)
        return await _run_while(loop, io)
    finally:
        io.state.loops -= 1


async def _run_for(loop: ForLoop, io: CommandIO) -> int:
    # Expanded once, before the loop: the body may change the variables.
    if loop.words is None:
        values = list(io.state.arguments[1:])
    else:
        values = split_fields([await substitute(word, io) for word in loop.words], io.state)
    status = 0
    with io.state.hold(values):
        for value in values:
            io.state.assign(loop.name, value)
            status, is_over = await _run_body(loop.body, io)
            if is_over:
                break
    return status


async def _run_while(loop: WhileLoop, io: CommandIO) -> int:
    status = 0
    while True:
        try:
            if await _run_condition(loop.condition, io) == loop.is_until:
                return status
        except LoopControl as control:
            if _leaves(control):
                return 0
            continue
        status, is_over = await _run_body(loop.body, io)
        if is_over:
            return status


async def _run_body(body: Script, io: CommandIO) -> tuple[int, bool]:
    """Run the body of a loop once; return the exit code, and whether the loop ends."""
    try:
        return await io.state.interpreter.run_script(body, io), False
    except LoopControl as control:
        return 0, _leaves(control)


def _leaves(control: LoopControl) -> bool:
    # "break 2" leaves the loop around this one, too.
    if control.levels > 1:
        raise LoopControl(control.levels - 1, is_break=control.is_break) from None
    return control.is_break
