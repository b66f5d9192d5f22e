"""The output of commands: to a terminal, a dumb one, or a pipe.

Names, messages and fields come from a server that may be hostile. So every text passes `escape_controls` on its way
out: `write` and `say` call it, `guarded_streams` puts it below everything that a command prints otherwise, and
`console` calls it for each segment of rich. A style is a mark that only this process knows, and becomes an escape
sequence behind that. Bytes of containers (``exec``) are passed on as they are, and `write_data` changes nothing where
no terminal reads.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Final, TextIO, cast

from masthead._errors.control_characters import escape_controls

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.live import Live
    from rich.segment import Segment

    from masthead._cli.failures import ExplainedFailure

__all__ = [
    "after_interrupt",
    "console",
    "discard_output",
    "drawing",
    "guarded_streams",
    "has_color",
    "is_live",
    "keep_colors",
    "live_display",
    "print_above",
    "render",
    "report",
    "say",
    "say_beside",
    "style",
    "unguarded_streams",
    "write",
    "write_data",
]

_SHOW_CURSOR: Final = "\x1b[?25h"
_CODES: Final = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_MARK: Final = f"\ufdd0{os.urandom(8).hex()}"
"""Begins a style. Unicode reserves its first character for use within a program; no server can guess the others."""
_MARKED: Final = re.compile(rf"{_MARK}([0-9;:]*)m")
_COLORS: Final = re.compile(r"\x1b\[([0-9;:]*)m")
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
    # Terminals without a known TERM (some CI systems, shells in editors) would show escape sequences as text.
    return output.isatty() and environ.get("TERM", "") not in {"", "dumb", "unknown"}


def has_color(*, no_color: bool, stream: TextIO | None = None, environ: Mapping[str, str] | None = None) -> bool:
    """Whether text is coloured: on terminals that can do it, unless it is switched off.

    Args:
        no_color: Whether the option ``--no-color`` is given.
        stream: The stream; the standard output by default.
        environ: The environment; that of the process by default.
    """
    environ = os.environ if environ is None else environ
    return not no_color and not environ.get("NO_COLOR") and is_live(stream, environ)


def style(text: str, name: str) -> str:
    """Text in a style, such as ``green``, for `render`; unchanged if the name is empty."""
    return f"{_MARK}{_CODES[name]}m{text}{_MARK}0m" if name else text


def keep_colors(text: str, *, color: bool) -> str:
    """Make colours that are part of a text styles, for `render`: of a log, for example. They end with the text.

    Args:
        text: The text.
        color: Whether the output is coloured; otherwise the colours are removed.
    """
    # Without an escape in the text there is nothing to reset at its end.
    if not color or "\x1b" not in text:
        return _COLORS.sub("", text)
    kept = _COLORS.sub(rf"{_MARK}\1m", text)
    # The reset comes before the line feed, since a coloured line feed paints the rest of the row.
    line = kept.rstrip("\n")
    return f"{line}{_MARK}0m{kept[len(line) :]}"


def render(text: str) -> str:
    """Return the output form of a text: control characters are visible, and styles are escape sequences."""
    # Escaping comes first: only marks of this process become escape sequences after it.
    return _MARKED.sub("\x1b[\\1m", escape_controls(text))


def write(text: str) -> None:
    """Write text to the standard output, and flush it, so that readers of a pipe get whole lines immediately."""
    output = _unwrap(sys.stdout)
    output.write(render(text))
    output.flush()


def write_data(text: str) -> None:
    """Write data to the standard output, unchanged if a program reads it. It is not flushed."""
    output = _unwrap(sys.stdout)
    # Lone surrogates have no encoding; `render` would change other characters, too.
    output.write(render(text) if output.isatty() else text.encode("utf-8", "replace").decode())


def say(text: str) -> None:
    """Write a line to the error output: progress, hints and errors."""
    output = _unwrap(sys.stderr)
    output.write(f"{render(text)}\n")
    output.flush()


class _GuardedStream:
    """A text stream that escapes control characters."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(render(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)


def _unwrap(stream: TextIO) -> TextIO:
    # Text is rendered once; a second pass would escape the sequences of the first.
    return stream.stream if isinstance(stream, _GuardedStream) else stream


@contextmanager
def guarded_streams() -> Generator[None]:
    """Escape everything that is written to the standard streams, by whatever way, as long as the block runs."""
    with _replaced_streams(*(cast("TextIO", _GuardedStream(stream)) for stream in (sys.stdout, sys.stderr))):
        yield


@contextmanager
def unguarded_streams() -> Generator[None]:
    """Undo `guarded_streams` for a block: for programs of users, whose output is theirs."""
    with _replaced_streams(_unwrap(sys.stdout), _unwrap(sys.stderr)):
        yield


@contextmanager
def _replaced_streams(stdout: TextIO, stderr: TextIO) -> Generator[None]:
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = stdout, stderr
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def say_beside(text: str) -> None:
    """Write a line to the error output, above a live display on the same terminal. Any thread may call it."""
    # Rich owns the lines below its cursor: a plain write would be overwritten by the next frame.
    if _drawn and sys.stderr.isatty():
        print_above(_drawn[-1], text)
    else:
        say(text)


def print_above(screen: Console, text: str) -> None:
    """Print a line with its styles on a console, above a live display."""
    from rich.text import Text

    screen.print(Text.from_ansi(render(text)), soft_wrap=True)


@contextmanager
def drawing(screen: Console) -> Generator[None]:
    """Make `say_beside` write above the live display of a console, as long as the block runs."""
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
    # There is no other place to report a closed error output.
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
    stream = _unwrap(sys.stderr if stderr else sys.stdout)
    return _console_class()(
        file=stream,
        force_terminal=is_live(stream),
        no_color=not has_color(no_color=no_color, stream=stream),
        # Names with brackets or colons are neither rich's markup nor emoji.
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=not is_live(stream),
    )


@cache
def _console_class() -> type[Console]:
    """Rich's console, which would pass control characters on. Rich is imported late: few commands need it."""
    from rich.console import Console
    from rich.segment import Segment

    class GuardedConsole(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            for text, segment_style, control in super().render(renderable, options):
                # Segments with control codes are rich's own: they move the cursor.
                yield Segment(text if control else escape_controls(text), segment_style, control)

    return GuardedConsole


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
        # The command itself draws; a thread of rich would draw while tables change.
        auto_refresh=False,
        transient=transient,
        vertical_overflow="crop",
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with made, drawing(screen):
        yield made


def after_interrupt() -> None:
    """Restore the terminal: an interrupt may come when a live table has just hidden the cursor."""
    with suppress(OSError, ValueError):
        if is_live(sys.stderr):
            _unwrap(sys.stderr).write(_SHOW_CURSOR)
        if sys.stderr.isatty():
            sys.stderr.write("\n")  # behind the terminal's own ^C


def discard_output() -> None:
    """Discard unwritable output: the reader has closed it, and Python flushes both streams when it exits."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                # Not close(): Python's flush at exit would raise for a closed descriptor.
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
