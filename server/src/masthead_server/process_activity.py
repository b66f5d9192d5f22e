"""Which processes of containers compute, and which pause: a server whose processes compute is not idle.

A process pauses where its coroutine waits for a future: on the clock, for input, or for another process.
``asyncio.sleep(0)`` is no pause: the coroutine continues in the next iteration of the event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from masthead_server.wrapped_coroutine import WrappedCoroutine

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine
    from types import TracebackType

__all__ = ["ITERATIONS_TO_PAUSE", "ProcessActivity", "ProcessObserver"]

ResultT = TypeVar("ResultT")
ITERATIONS_TO_PAUSE: Final = 8
"""Iterations of the event loop without a step after which a process has paused.

The end of a task reaches what waits for it only two or three iterations later.
"""


class ProcessActivity:
    """Observes the processes of all containers.

    Args:
        on_idle: Called when work outside of the event loop has ended.

    Attributes:
        steps: The number of steps of all processes so far.
    """

    def __init__(self, on_idle: Callable[[], object] = lambda: None) -> None:
        self.steps: int = 0
        self._on_idle = on_idle
        self._running: dict[_ObservedCoroutine[Any], None] = {}
        self._held: dict[object, str] = {}

    def observer(self, name: str) -> ProcessObserver:
        """Return the observer of a process.

        Args:
            name: What messages call the process.
        """
        return ProcessObserver(self, name)

    @property
    def computing(self) -> list[str]:
        """The names of the processes that continue without an event from outside."""
        # In one pass and without calls of our own: there may be thousands, and nearly all of them pause.
        found = [
            coroutine.observer.name
            for coroutine in self._running
            if (awaited := coroutine.awaited) is None or awaited.done()
        ]
        return list(dict.fromkeys(found))

    @property
    def held(self) -> list[str]:
        """The names of the processes whose work outside of the event loop is waited for."""
        return list(self._held.values())

    def hold(self, name: str) -> Callable[[], None]:
        """Wait for work outside of the event loop, such as that of a thread; return a function that ends the wait."""
        key = object()
        self._held[key] = name

        def release() -> None:
            if self._held.pop(key, None) is not None:
                self._on_idle()

        return release

    def count_step(self, coroutine: _ObservedCoroutine[Any]) -> None:
        """Count a step of a coroutine, which may be its first."""
        self.steps += 1
        self._running[coroutine] = None

    def forget(self, coroutine: _ObservedCoroutine[Any]) -> None:
        """Forget a coroutine that has ended."""
        self._running.pop(coroutine, None)


class ProcessObserver:
    """Observes the coroutines of a process: its own, and those of its children.

    Args:
        activity: Counts the steps of all processes.
        name: What messages call the process.
    """

    __slots__ = ("_activity", "_coroutines", "name", "steps")

    def __init__(self, activity: ProcessActivity, name: str) -> None:
        self._activity = activity
        self._coroutines: set[_ObservedCoroutine[Any]] = set()
        self.name: str = name
        self.steps: int = 0
        """The number of steps so far."""

    @property
    def is_computing(self) -> bool:
        """Whether a coroutine continues without an event from outside."""
        return any((awaited := coroutine.awaited) is None or awaited.done() for coroutine in self._coroutines)

    def observe(self, coroutine: Coroutine[Any, Any, ResultT]) -> Coroutine[Any, Any, ResultT]:
        """Return a coroutine that does the same, under observation."""
        return _ObservedCoroutine(self, coroutine)

    def begin_step(self, coroutine: _ObservedCoroutine[Any]) -> None:
        """Count a step of a coroutine, which may be its first."""
        self.steps += 1
        self._coroutines.add(coroutine)
        self._activity.count_step(coroutine)

    def forget(self, coroutine: _ObservedCoroutine[Any]) -> None:
        """Forget a coroutine that has ended."""
        self._coroutines.discard(coroutine)
        self._activity.forget(coroutine)


class _ObservedCoroutine(WrappedCoroutine[ResultT]):
    """A coroutine under observation."""

    __slots__ = ("awaited", "observer")

    def __init__(self, observer: ProcessObserver, coroutine: Coroutine[Any, Any, ResultT]) -> None:
        super().__init__(coroutine)
        self.observer: ProcessObserver = observer
        self.awaited: asyncio.Future[object] | None = None
        """What it waits for; None between two turns."""

    def send(self, value: object, /) -> object:
        """Make a step; return what it waits for."""
        return self._observe(lambda: super(_ObservedCoroutine, self).send(value))

    def throw(
        self,
        error: type[BaseException] | BaseException,
        value: object = None,
        trace: TracebackType | None = None,
        /,
    ) -> object:
        """Make a step that begins with an error, such as a cancellation; return what it waits for."""
        return self._observe(lambda: super(_ObservedCoroutine, self).throw(error, value, trace))

    def _observe(self, step: Callable[[], object]) -> object:
        self.observer.begin_step(self)
        try:
            awaited = step()
        except BaseException:
            self.observer.forget(self)
            raise
        self.awaited = cast("asyncio.Future[object] | None", awaited)
        return awaited

    def close(self) -> None:
        """End it."""
        self.observer.forget(self)
        super().close()
