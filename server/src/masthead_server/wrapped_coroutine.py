"""Coroutines around coroutines, which see each of their steps."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["WrappedCoroutine"]

T = TypeVar("T")


class WrappedCoroutine(Coroutine[object, object, T], Generator[object, object, T]):
    """Does what a coroutine does, for a task or as a part of another coroutine.

    An ``async def`` around it would not do: a task that is cancelled before its first step does not enter it, so that
    the coroutine within would neither be cancelled nor closed.

    Args:
        coroutine: The coroutine, which may have begun.
    """

    __slots__ = ("_coroutine",)

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine

    def send(self, value: object, /) -> object:
        """Make a step; return what it waits for."""
        return self._coroutine.send(value)

    def throw(
        self,
        error: type[BaseException] | BaseException,
        value: object = None,  # noqa: ARG002 - the signature of a time when errors were three values
        trace: TracebackType | None = None,  # noqa: ARG002
        /,
    ) -> object:
        """Make a step that begins with an error, such as a cancellation; return what it waits for."""
        return self._coroutine.throw(error)

    def close(self) -> None:
        """End it."""
        self._coroutine.close()

    def __await__(self) -> Generator[object, object, T]:
        """Return its steps."""
        return self
