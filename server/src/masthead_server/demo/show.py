"""The whole demo: ``masthead demo [--seconds 24] [--seed 1] [--no-live] [--quiet]``.

An API server starts in this process. Its cluster lives through a few chapters: a rollout, a drain, a crash, a deleted
budget. In each of them a fault is injected. Informers mirror the cluster, and a controller keeps a rule. In the end,
caches, handlers and the rule are compared with the server, object by object.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import math
import os
import shutil
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import masthead
from masthead._arguments import ArgumentParser
from masthead_server.demo.cluster import DemoCluster
from masthead_server.demo.ending import next_commands, render_ending, verdict
from masthead_server.demo.event_log import EventLog, write_line
from masthead_server.demo.interrupts import Interrupts
from masthead_server.demo.run import DemoRun
from masthead_server.demo.story import DEFAULT_SECONDS, plan

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import TextIO

    from masthead_server.demo.scene import Scene

__all__ = ["is_drawable", "main", "program_name"]

_MIN_COLUMNS: Final = 80
_MIN_LINES: Final = 24
"""Of a smaller terminal, the picture would not fit: it gets lines."""


def main(arguments: Sequence[str]) -> int:
    """Run the demo; returns 0 if everything is in sync in the end, and 1 otherwise."""
    chosen = _parse_arguments(arguments)
    is_terminal = is_drawable(sys.stdout, os.environ.get("TERM", ""), shutil.get_terminal_size())
    # Rich is optional; without it, the demo prints lines.
    is_live = is_terminal and not (chosen.quiet or chosen.no_live) and importlib.util.find_spec("rich") is not None
    log = EventLog(is_printed=not is_live and not chosen.quiet)
    with ExitStack() as stack:
        stack.enter_context(_logging_errors())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        interrupts = stack.enter_context(Interrupts())
        cluster = stack.enter_context(DemoCluster(folder))
        client = stack.enter_context(masthead.Client(cluster.direct_config))
        with ExitStack() as drawing:
            view = None
            if is_live:
                from masthead_server.demo.view import LiveView

                view = drawing.enter_context(LiveView())
            chapters = plan(chosen.seconds, chosen.seed)
            run = DemoRun(cluster, client, chapters, log, interrupts, draw=view.update if view else _draw_nothing)
            ending = run.play(chosen.seconds)
        has_cli = all(importlib.util.find_spec(name) for name in ("click", "rich"))
        commands = next_commands(program_name(), has_cli=has_cli)
        for line in verdict(ending) if chosen.quiet else render_ending(ending, commands):
            write_line(line)
        return 1 if ending.problems else 0


def is_drawable(output: TextIO, term: str, size: os.terminal_size) -> bool:
    """Whether the output is a terminal that can be drawn on, and large enough for it. Pure.

    Args:
        output: The output.
        term: The variable ``TERM``.
        size: Columns and lines.
    """
    is_large = size.columns >= _MIN_COLUMNS and size.lines >= _MIN_LINES
    return is_large and output.isatty() and term not in {"", "dumb", "unknown"}


def program_name() -> str:
    """How to call ``masthead`` in this environment."""
    if shutil.which("masthead") is not None:
        return "masthead"
    # In an environment that is not activated, as that of `make demo`.
    script = Path(sys.executable).with_name("masthead")
    if not script.exists():
        return f"{sys.executable} -m masthead"
    return str(script.relative_to(Path.cwd())) if script.is_relative_to(Path.cwd()) else str(script)


def _draw_nothing(scene: Scene) -> None:
    del scene


class _ErrorHandler(logging.Handler):
    """Keeps errors of the package. Its warnings are about the faults, which are counted."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.messages.append(self.format(record))


@contextmanager
def _logging_errors() -> Generator[None]:
    """Print the errors of the package when the block ends: nothing may be printed over the picture."""
    logger, handler = logging.getLogger("masthead"), _ErrorHandler()
    logger.addHandler(handler)
    before, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.propagate = before
        logger.removeHandler(handler)
        for message in handler.messages:
            sys.stderr.write(f"{message}\n")


def _parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = ArgumentParser(prog="masthead demo", description="Informers and a controller at work, under faults.")
    parser.add_argument(
        "--seconds", type=_duration, default=DEFAULT_SECONDS, help=f"how long it lasts (default: {DEFAULT_SECONDS:g})"
    )
    parser.add_argument("--seed", type=int, default=1, help="chooses apps, nodes and faults (default: 1)")
    parser.add_argument("--no-live", action="store_true", help="print lines, also in a terminal")
    parser.add_argument("-q", "--quiet", action="store_true", help="print the result only")
    return parser.parse_args(arguments)


def _duration(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    # NaN fails both comparisons, and is refused as well.
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return seconds
