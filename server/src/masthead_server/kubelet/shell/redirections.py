"""Redirections of commands."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.filesystem import RegularFile
from masthead_server.kubelet.shell.devices import open_input
from masthead_server.kubelet.shell.streams import FileOutput, Input, NullOutput, no_input, text_input

if TYPE_CHECKING:
    from collections.abc import Generator

    from masthead_server.kubelet.shell.state import CommandIO, ShellState
    from masthead_server.kubelet.shell.streams import ShellOutput

__all__ = ["keep_streams", "redirect"]

_NULL: Final = "/dev/null"
_STDOUT: Final = frozenset({"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})
_STDERR: Final = frozenset({"/dev/stderr", "/dev/fd/2", "/proc/self/fd/2"})


@contextmanager
def keep_streams(state: ShellState, *, has_redirections: bool) -> Generator[None]:
    """Undo an ``exec`` with redirections within a command that is redirected itself."""
    if not has_redirections:
        yield
        return
    streams, state.streams = state.streams, None
    try:
        yield
    finally:
        state.streams = streams


def redirect(operator: str, target: str, io: CommandIO) -> CommandIO:
    """Apply a redirection to the streams of a command.

    Args:
        operator: The operator.
        target: The path; for a here-document, its text.
        io: The streams.

    Raises:
        OSError: If the file cannot be opened.
    """
    if operator == "<<":
        return replace(io, stdin=text_input(target))
    if "&" in operator and operator != "&>":
        return _duplicate(operator, io)
    if operator in {"<", "0<"}:
        return replace(io, stdin=open_input(target, io))
    output = _open_output(target, io, operator)
    if operator == "&>":
        return replace(io, stdout=output, stderr=output)
    return replace(io, stderr=output) if operator.startswith("2") else replace(io, stdout=output)


def _duplicate(operator: str, io: CommandIO) -> CommandIO:
    source = operator[-1]
    if "<" in operator:
        return replace(io, stdin=Input(no_input))
    # In the order of the command line: "2>&1 >file" and ">file 2>&1" differ.
    output = {"1": io.stdout, "2": io.stderr, "-": NullOutput()}[source]
    return replace(io, stderr=output) if operator.startswith("2") else replace(io, stdout=output)


def _open_output(target: str, io: CommandIO, operator: str) -> ShellOutput:
    path = io.state.path(target)
    if path == _NULL:
        return NullOutput()
    if path in _STDOUT or path in _STDERR:
        return io.stdout if path in _STDOUT else io.stderr
    if "C" in io.state.options and operator in {">", "1>", "2>"}:
        _refuse_existing(path, io)
    return FileOutput(io.state.files.create(path, truncate=">>" not in operator))


def _refuse_existing(path: str, io: CommandIO) -> None:
    """Do not overwrite a file with ``set -C``."""
    try:
        node = io.state.files.get(path)
    except OSError:
        return
    if isinstance(node, RegularFile):
        raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
