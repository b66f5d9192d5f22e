"""The stacks of asyncio tasks and threads, like pprof's goroutine profile: equal stacks are merged, with a count."""

from __future__ import annotations

import asyncio
import linecache
import os
import sys
import threading
import traceback
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from masthead import _version

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType

__all__ = [
    "StackFrame",
    "TaskStack",
    "describe_task",
    "format_task_stacks",
    "format_thread_stacks",
    "task_stacks",
]

MAX_TASKS: Final = 2_000
_MAX_FRAMES: Final = 50
_MAX_GROUPS: Final = 200
_LIBRARIES: Final = tuple(f"{Path(file).parent}{os.sep}" for file in (_version.__file__, asyncio.__file__))
"""The folders of this package and of asyncio."""


class StackFrame(NamedTuple):
    """A line of a stack."""

    file: str
    line: int
    function: str


class TaskStack(NamedTuple):
    """The stack of a suspended task.

    Attributes:
        name: The name of the task.
        frames: The frames from the task's coroutine to the innermost one.
        awaits: The type of the awaited object.
    """

    name: str
    frames: tuple[StackFrame, ...]
    awaits: str


def task_stacks(tasks: Iterable[asyncio.Task[object]] | None = None) -> list[TaskStack]:
    """Return the stacks of up to `MAX_TASKS` tasks, without reading source files.

    Args:
        tasks: The tasks; None for all tasks of the running loop.
    """
    # Bounded, because a manager with many informers and reconciles may have thousands of tasks.
    found = asyncio.all_tasks() if tasks is None else tasks
    return [_task_stack(task) for task in islice(found, MAX_TASKS)]


def _task_stack(task: asyncio.Task[object]) -> TaskStack:
    frames: list[StackFrame] = []
    awaited: object = task.get_coro()
    # A suspended coroutine has only its own frame; the next frame is that of the awaited coroutine.
    while awaited is not None and len(frames) < _MAX_FRAMES:
        frame = _first(awaited, "cr_frame", "gi_frame", "ag_frame")
        if frame is None:
            break
        frames.append(_stack_frame(frame))
        awaited = _first(awaited, "cr_await", "gi_yieldfrom", "ag_await")
    return TaskStack(task.get_name(), tuple(frames), "" if awaited is None else type(awaited).__name__)


def describe_task(what: str, task: asyncio.Task[Any]) -> str:
    """Describe the work of a task with the user's current line: ``default/web (app.py:12 in reconcile)``."""
    frames = [frame for frame in _task_stack(task).frames if not frame.file.startswith(_LIBRARIES)]
    return f"{what} ({frames[-1].file}:{frames[-1].line} in {frames[-1].function})" if frames else what


def _first(of: object, *names: str) -> object:
    """Return the first existing attribute of several names, or None."""
    return next((getattr(of, name) for name in names if hasattr(of, name)), None)


def _stack_frame(frame: object) -> StackFrame:
    code = getattr(frame, "f_code", None)
    return StackFrame(
        getattr(code, "co_filename", "?"),
        getattr(frame, "f_lineno", 0) or 0,
        getattr(code, "co_qualname", "?"),
    )


def format_task_stacks(stacks: list[TaskStack]) -> str:
    """Format the stacks of tasks, the most frequent first. Reads source files."""
    # Most workers wait at the same line, so equal stacks are counted instead of repeated.
    groups = Counter((stack.frames, stack.awaits) for stack in stacks)
    names: dict[tuple[tuple[StackFrame, ...], str], list[str]] = {}
    for stack in stacks:
        names.setdefault((stack.frames, stack.awaits), []).append(stack.name)
    parts = [f"{len(stacks)} tasks{' or more' if len(stacks) >= MAX_TASKS else ''}\n"]
    for (frames, awaits), count in groups.most_common(_MAX_GROUPS):
        shown = ", ".join(names[frames, awaits][:5]) + (", …" if count > 5 else "")
        lines = "".join(_frame_lines(frame) for frame in frames)
        parts.append(f"{count} waiting here: {shown}\n{lines}  awaiting {awaits or 'nothing'}\n")
    if len(groups) > _MAX_GROUPS:
        parts.append(f"{len(groups) - _MAX_GROUPS} more stacks\n")
    return "\n".join(parts)


def _frame_lines(frame: StackFrame) -> str:
    source = linecache.getline(frame.file, frame.line).strip()
    return f"  {frame.file}:{frame.line} in {frame.function}\n" + (f"    {source}\n" if source else "")


def format_thread_stacks() -> str:
    """Format the stacks of all threads of the process. Reads source files."""
    names = {thread.ident: f"{thread.name}{' (daemon)' if thread.daemon else ''}" for thread in threading.enumerate()}
    frames: dict[int, FrameType] = sys._current_frames()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    parts = [f"{len(frames)} threads\n"]
    for ident, frame in frames.items():
        # The innermost frames: they show where the thread is.
        lines = "".join(traceback.format_stack(frame, limit=-_MAX_FRAMES))
        parts.append(f"{names.get(ident, 'unknown to Python')} {ident}\n{lines}")
    return "\n".join(parts)
