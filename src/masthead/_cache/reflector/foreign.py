"""Callers' own sources, adapted to the interface of `ListWatch` and checked."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar, cast

from masthead._client.listwatch import ListWatch
from masthead._client.watch_event import EVENT_TYPES, WatchEvent
from masthead._meta.object import Object, ObjectList
from masthead._module import set_module
from masthead._sansio.listwatch_steps import SILENCE_LIMIT
from masthead.errors import DecodeError, ProtocolError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from typing import Self

    from masthead._client.listwatch import ListerWatcher, ListWatchOptions

__all__ = ["ForeignListWatch", "Source", "as_source"]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio.cache")
class ForeignListWatch(Generic[T]):
    """A `ListerWatcher` behind the interface of `ListWatch`. Its results are checked.

    Args:
        wrapped: The implementation.
    """

    def __init__(self, wrapped: ListerWatcher[T]) -> None:
        self._wrapped = wrapped

    @property
    def item(self) -> type[T]:
        """The class of the objects."""
        return self._wrapped.item

    @property
    def resource(self) -> str:
        """The resource's name."""
        return self._wrapped.resource

    @property
    def checks_watch_lists(self) -> bool:
        """False: watch-lists are compared with plain lists for clients only."""
        return False

    @property
    def silence_limit(self) -> float:
        """Seconds without a byte after which a watch counts as dead by default."""
        return SILENCE_LIMIT

    @property
    def supports_initial_events(self) -> bool:
        """Whether the source supports watch-lists, as far as that is known."""
        return self._wrapped.supports_initial_events

    def disable_initial_events(self) -> None:
        """Remember that the source does not support watch-lists."""
        self._wrapped.disable_initial_events()

    async def list_page(self, options: ListWatchOptions, on_broken: Callable[[DecodeError], None]) -> ObjectList[T]:
        """Request one page.

        Raises:
            ProtocolError: If the result is not a list of objects.
            MastheadError: If the request fails.
        """
        page = await self._wrapped.list(options, on_broken)
        if not isinstance(cast("object", page), ObjectList):
            raise ProtocolError(
                f"the list of {self.resource} returned a {type(page).__name__}; it must return an ObjectList"
            )
        return page

    async def open_watch(self, options: ListWatchOptions) -> ForeignStream[T]:
        """Open one connection.

        Raises:
            ProtocolError: If the result is not a generator of batches of events.
            MastheadError: If it cannot be opened.
        """
        batches = self._wrapped.watch(options)
        if not (hasattr(batches, "__aiter__") and hasattr(batches, "aclose")):
            # An "async def" without yield. Python warns about a coroutine that was neither awaited nor closed.
            if inspect.iscoroutine(coroutine := cast("object", batches)):
                coroutine.close()
            raise ProtocolError(
                f"the watch of {self.resource} returned a {type(batches).__name__}; "
                "it must be an async generator, which yields lists of events"
            )
        stream = ForeignStream(batches, self.resource)
        try:
            await stream.open()
        except BaseException:
            # Also on cancellation: nothing else refers to the generator, so it is closed here.
            await stream.aclose()
            raise
        return stream


@set_module("masthead.aio.cache")
class ForeignStream(Generic[T]):
    """One connection of a foreign watch, as an async iterator of batches of events."""

    def __init__(self, batches: AsyncGenerator[Sequence[WatchEvent[T]], None], resource: str) -> None:
        self._batches = batches
        self._resource = resource
        self._first: Sequence[WatchEvent[T]] | None = None
        self._error: Exception | None = None

    async def open(self) -> None:
        """Wait for the first batch, which proves that the watch was accepted."""
        self._first = await anext(self._batches, None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Sequence[WatchEvent[T]]:
        # The previous call has returned the events before the malformed one.
        if self._error is not None:
            raise self._error
        if self._first is not None:
            # open() has read it.
            batch, self._first = self._first, None
        else:
            batch = await anext(self._batches)
        if not isinstance(cast("object", batch), Sequence):
            raise ProtocolError(
                f"the watch of {self._resource} yielded a {type(batch).__name__}; it must yield lists of events"
            )
        return self._check(batch)

    async def aclose(self) -> None:
        """Close the generator."""
        await self._batches.aclose()

    def _check(self, batch: Sequence[WatchEvent[T]]) -> Sequence[WatchEvent[T]]:
        """Return the events of a batch up to a malformed one, whose error the next call raises."""
        events: list[WatchEvent[T]] = []
        for event in batch:
            if not isinstance(cast("object", event), WatchEvent):
                self._error = ProtocolError(
                    f"the watch of {self._resource} yielded a {type(event).__name__} among its events"
                )
                # The events before it are valid, and must not be lost.
                break
            events.append(event if event.type in EVENT_TYPES else _broken(event))
        return events


def _broken(event: WatchEvent[T]) -> WatchEvent[T]:
    """Return a BROKEN event for an event of unknown type."""
    error = DecodeError(f"the type of the event is {event.type!r}", subject=event.object.key)
    return WatchEvent("BROKEN", None, error=error, data=event.data or event.object.to_json())


Source: TypeAlias = ListWatch[T] | ForeignListWatch[T]
"""The source of a reflector."""


def as_source(source: Source[T] | ListerWatcher[T]) -> Source[T]:
    """Wrap a caller's own source; return the library's sources unchanged."""
    return source if isinstance(source, ListWatch | ForeignListWatch) else ForeignListWatch(source)
