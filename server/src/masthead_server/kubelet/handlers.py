"""Handlers: functions of tests that run commands of pods."""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar, cast

from masthead_server.kubelet.process import BlockingExecProcess

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator
    from concurrent.futures import Executor

    from masthead_server.kubelet.process import CommandLine, ExecProcess

    AsyncHandler: TypeAlias = Callable[[ExecProcess], Awaitable[int | None]]
    BlockingHandler: TypeAlias = Callable[[BlockingExecProcess], int | None]
    Handler: TypeAlias = AsyncHandler | BlockingHandler

__all__ = [
    "ANY",
    "HandlerError",
    "HandlerRegistry",
    "PodPattern",
    "check_handler",
    "describe",
    "invoke",
    "ordinary_errors",
]

ANY: Final = "*"
"""Stands for all pods, or for all namespaces."""
_LOW_BYTE: Final = 0xFF
"""The part of an exit code that its parent sees."""


@dataclass(frozen=True, slots=True)
class PodPattern:
    """The pods, containers and commands of a handler; empty parts match all."""

    namespace: str = ""
    pod: str = ""
    container: str = ""
    command: str = ""

    @classmethod
    def of(cls, pod: str, container: str | None, command: str | None) -> PodPattern:
        """Read ``name``, ``namespace/name`` or ``*``."""
        namespace, _, name = pod.rpartition("/")
        return cls(namespace.replace(ANY, ""), name.replace(ANY, ""), container or "", command or "")

    def matches(self, line: CommandLine) -> bool:
        """Tell whether the pattern matches a command."""
        command = line.argv[0] if line.argv else ""
        pairs = (
            (self.namespace, line.namespace),
            (self.pod, line.pod),
            (self.container, line.container),
            (self.command, command),
        )
        return all(not wanted or wanted == found for wanted, found in pairs)

    @property
    def precision(self) -> int:
        """The number of specified parts: the most precise pattern wins."""
        return sum(map(bool, (self.namespace, self.pod, self.container, self.command)))


HandlerT = TypeVar("HandlerT")


class HandlerRegistry(Generic[HandlerT]):
    """Handlers of one kind of request, by pattern."""

    def __init__(self) -> None:
        self._handlers: list[tuple[PodPattern, HandlerT]] = []

    def add(self, pattern: PodPattern, handler: HandlerT) -> None:
        """Register a handler; among equally precise patterns, the last one wins."""
        self._handlers = [(pattern, handler), *self._handlers]

    def find(self, line: CommandLine) -> HandlerT | None:
        """Return the handler with the most precise pattern for a command; None without any."""
        fitting = [(pattern, handler) for pattern, handler in self._handlers if pattern.matches(line)]
        return max(fitting, key=lambda each: each[0].precision)[1] if fitting else None


def check_handler(handler: object) -> None:
    """Check that a handler can be called.

    Raises:
        TypeError: If it cannot.
    """
    if not callable(handler):
        raise TypeError(f"a handler is a function, not {handler!r}")


class HandlerError(Exception):
    """Wraps a BaseException of a handler that is not an Exception, such as the outcome of ``pytest.fail``.

    Unwrapped, it would end the server, or silently a task.

    Args:
        raised: The BaseException.
    """

    def __init__(self, raised: BaseException) -> None:
        super().__init__(describe(raised))


def describe(raised: BaseException) -> str:
    """Describe the exception of a handler in a line."""
    return str(raised) if isinstance(raised, HandlerError) else f"{type(raised).__name__}: {raised}"


@contextmanager
def ordinary_errors() -> Generator[None]:
    """Run a handler in a task of the server, and convert a BaseException.

    Raises:
        HandlerError: If the handler raises a BaseException that is not an Exception.
    """
    try:
        yield
    except Exception:
        raise
    except BaseException as raised:
        if _is_from_outside(raised):
            raise
        raise HandlerError(raised) from raised


def _is_from_outside(raised: BaseException) -> bool:
    """Tell whether a handler was interrupted, rather than failed."""
    if isinstance(raised, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    if isinstance(raised, KeyboardInterrupt):
        # In the main thread it may be the user's Ctrl-C, which Python raises in no other thread.
        return threading.current_thread() is threading.main_thread()
    return isinstance(raised, GeneratorExit)  # closing a coroutine raises it


async def invoke(handler: Handler, process: ExecProcess, threads: Executor) -> int:
    """Run a handler to its end; return the exit code.

    Args:
        handler: A coroutine function, or a plain one.
        process: The command.
        threads: The executor of plain functions.

    Raises:
        HandlerError: If the handler raises a BaseException that is neither an Exception nor SystemExit.
        TypeError: If it returns neither a whole number nor None.
        Exception: Any other exception of the handler.
    """
    if not _is_async(handler):
        loop = asyncio.get_running_loop()
        blocking = cast("BlockingHandler", handler)
        return await loop.run_in_executor(threads, _run_blocking, blocking, process, loop)
    with ordinary_errors():
        try:
            return _code_of_result(await cast("AsyncHandler", handler)(process))
        except SystemExit as leaving:
            # Caught here rather than in the task, where asyncio would end the loop.
            if isinstance(leaving.code, str):
                await process.stderr.write(f"{leaving.code}\n")
            return _code_of(leaving)


def _run_blocking(handler: BlockingHandler, process: ExecProcess, loop: asyncio.AbstractEventLoop) -> int:
    blocking = BlockingExecProcess(process, loop)
    try:
        return _code_of_result(handler(blocking))
    except SystemExit as leaving:
        if isinstance(leaving.code, str):
            blocking.stderr.write(f"{leaving.code}\n")
        return _code_of(leaving)
    except (StopIteration, CancelledError) as raised:
        # The future that waits for it cannot hold the one, and takes the other for its own cancellation.
        raise HandlerError(raised) from raised
    except Exception:
        raise
    except BaseException as raised:
        raise HandlerError(raised) from raised


def _code_of_result(result: object) -> int:
    """Return the exit code of a handler that returned.

    Raises:
        TypeError: If the result is neither a whole number nor None.
    """
    if result is None:
        return 0
    # True is probably meant as a success, and would be exit code 1.
    if not isinstance(result, int) or isinstance(result, bool):
        raise TypeError(f"a handler returns its exit code, a whole number or None for 0, not {result!r}")
    return int(result) & _LOW_BYTE


def _code_of(leaving: SystemExit) -> int:
    """Return the exit code of a SystemExit, by Python's rules."""
    if leaving.code is None:
        return 0
    return leaving.code & _LOW_BYTE if isinstance(leaving.code, int) else 1


def _is_async(handler: Handler) -> bool:
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
        getattr(handler, "__call__", None)  # noqa: B004 - of an object, the method is asked for
    )
