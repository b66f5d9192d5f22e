"""Progress of work on many objects: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from masthead._cli.terminal import console, drawing, is_live, print_above, say, write
from masthead._errors.control_characters import escape_controls

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from rich.progress import Progress, TaskID

__all__ = ["Work"]

_BESIDE: Final = 46
"""The width of the bar and its surroundings, without title and detail."""
_LEAST_DETAIL: Final = 10


class Work:
    """Lines of results, and below them on a terminal the current step; to be used in ``with``.

    Any thread may call it.

    Args:
        title: The title of the work, such as ``applying``.
        no_color: Whether the option ``--no-color`` is given.
        total: The number of objects; None if unknown.
    """

    def __init__(self, title: str, *, no_color: bool, total: int | None = None) -> None:
        self._title = title
        self._no_color = no_color
        self._total = total
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._lock = threading.Lock()
        self._shown = ExitStack()

    def __enter__(self) -> Self:
        # If only one of the two is a terminal, a bar would clutter the output that is read from the other.
        if is_live() and is_live(sys.stderr):
            self._progress = _bar(no_color=self._no_color, has_total=self._total is not None)
            self._task = self._progress.add_task(self._title, total=self._total, detail="")
            self._shown.enter_context(self._progress)
            self._shown.enter_context(drawing(self._progress.console))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shown.close()

    def line(self, text: str) -> None:
        """Print a line of the result."""
        with self._lock:
            if self._progress is None:
                write(f"{text}\n")
            else:
                # Printed through rich: it moves the bar down, which a plain write would overwrite.
                print_above(self._progress.console, text)

    def advance(self, detail: str = "") -> None:
        """Count one more finished object.

        Args:
            detail: The current step.
        """
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, advance=1, detail=self._cut(detail))

    def detail(self, text: str) -> None:
        """Show the current step."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, detail=self._cut(text))

    def _cut(self, detail: str) -> str:
        """As much of a detail as there is room for: the columns before it would have to make room otherwise."""
        width = self._progress.console.width if self._progress is not None else 0
        room = width - _BESIDE - len(self._title)
        if room < _LEAST_DETAIL:
            return ""
        # Before measuring: an escaped character is longer than the original.
        shown = escape_controls(detail)
        return shown if len(shown) <= room else f"{shown[: room - 3]}..."

    def warn(self, text: str) -> None:
        """Show a warning about a problem that does not end the work: in the bar, or on the error output."""
        if self._progress is None:
            say(text)
        else:
            self.detail(text)


def _bar(*, no_color: bool, has_total: bool) -> Progress:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.table import Column

    shared = [TextColumn("{task.description}"), *([BarColumn(bar_width=20)] if has_total else [])]
    return Progress(
        SpinnerColumn("line"),
        *shared,
        *([MofNCompleteColumn()] if has_total else []),
        TimeElapsedColumn(Column(no_wrap=True, min_width=7)),
        # The last column is cut where the terminal ends.
        TextColumn("{task.fields[detail]}", table_column=Column(no_wrap=True, overflow="ellipsis"), markup=False),
        console=console(no_color=no_color),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
