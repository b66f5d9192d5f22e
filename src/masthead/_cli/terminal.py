"""What a command writes, and to whom: a terminal, a dumb one, or a pipe."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from rich.console import Console
    from rich.live import Live

    from masthead._cli.failures import ExplainedFailure

__all__ = [
    "after_interrupt",
    "console",
    "discard_output",
    "drawing",
    "has_color",
    "is_live",
    "live_display",
    "report",
    "say",
    "say_beside",
    "write",
    "style",
]

_RESET: Final = "\x1b[0m"
_SHOW_CURSOR: Final = "\x1b[?25h"
_CODES: Final = {
    "bold": "\x1b[1m",
    "dim": "\x1b[2m",
    "red": "\x1b[31m",
    "green": "\x1b[32m",
    "yellow": "\x1b[33m",
    "blue": "\x1b[34m",
    "magenta": "\x1b[35m",
    "cyan": "\x1b[36m",
}
_drawn: Final[list[Console]] = []
"""The consoles on which something live is drawn now, the last one on top."""


def is_live(stream: TextIO | None = None, environ: Mapping[str, str] | None = None) -> bool:
    """Whether a stream is a terminal that can move its cursor: for live tables and progress bars.

    Args:
        stream: The stream; the standard output by default.
        environ: The environment; that of the process by default.
    """
    output = stream or sys.stdout
    environ = os.environ if environ is None else environ
    return output.isatty() and environ.get("TERM", "") not in {"", "dumb", "unknown"}


def has_color(
    *, no_color: bool, stream: TextIO | None = None, environ: Mapping[str, str] | None = None
) -> bool:
    """Whether text is coloured: on terminals that can do it, unless it is switched off.

    Args:
        no_color: Whether the option ``--no-color`` is given.
        stream: The stream; the standard output by default.
        environ: The environment; that of the process by default.
    """
    environ = os.environ if environ is None else environ
    return not no_color and not environ.get("NO_COLOR") and is_live(stream, environ)


def style(text: str, name: str) -> str:
    """Text in a style, such as ``green``; unchanged if the name is empty."""
    return f"{_CODES[name]}{text}{_RESET}" if name else text


def write(text: str) -> None:
    """Write text to the standard output, and flush it: readers of a pipe get whole lines at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def say(text: str) -> None:
    """Write a line to the error output: what is not the result itself."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def say_beside(text: str) -> None:
    """Write a line to the error output; above a live display, if that is drawn on the same terminal. Any thread may call it."""
    if _drawn and sys.stderr.isatty():
        from rich.text import Text

        _drawn[-1].print(Text.from_ansi(text), soft_wrap=True)
    else:
        say(text)


@contextmanager
def drawing(screen: Console) -> Generator[None]:
    """Have `say_beside` write above what is drawn live on a console, as long as the block runs."""
    _drawn.append(screen)
    try:
        yield
    finally:
        _drawn.remove(screen)


def report(command: str, failure: ExplainedFailure) -> None:
    """Say why a command has failed, on the error output; where that cannot be written, nothing is said.

    Args:
        command: The command, such as ``masthead get``.
        failure: What to say about it.
    """
    with suppress(OSError):
        say(f"{command}: {failure.line}")
        if failure.hint:
            say(f"hint: {failure.hint}")


def console(*, no_color: bool, stderr: bool = False) -> Console:
    """A console of rich that follows the same rules.

    Args:
        no_color: Whether the option ``--no-color`` is given.
        stderr: Whether it writes to the error output.
    """
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(
        file=stream,
        force_terminal=is_live(stream),
        no_color=not has_color(no_color=no_color, stream=stream),
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=not is_live(stream),
    )


@contextmanager
def live_display(screen: Console, *, transient: bool = False) -> Generator[Live]:
    """A live display of rich that its command draws, and that leaves the standard streams alone.

    Args:
        screen: Where it is drawn.
        transient: Whether it disappears at its end.
    """
    from rich.live import Live

    made = Live(
        console=screen,
        auto_refresh=False,
        transient=transient,
        vertical_overflow="crop",
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with made, drawing(screen):
        yield made


def after_interrupt() -> None:
    """Leave the terminal as it was: an interrupt may come when a live table has just hidden the cursor."""
    with suppress(OSError, ValueError):
        if is_live(sys.stderr):
            sys.stderr.write(_SHOW_CURSOR)
        if sys.stderr.isatty():
            sys.stderr.write("\n")  # behind the terminal's own ^C


def discard_output() -> None:
    """Send what cannot be written nowhere: a reader has gone, and Python flushes both streams when it exits."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
