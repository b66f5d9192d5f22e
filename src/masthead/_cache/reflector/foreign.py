"""Sources that are not the library's own: adapted to the interface of `ListWatch`, and checked, in one place."""

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
    """A `ListerWatcher` behind the interface of `ListWatch`; everything that it returns is checked.

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
        """Whether watch-lists are compared with plain lists: only those of clients are."""
        return False

    @property
    def silence_limit(self) -> float:
        """Seconds without a byte after which a watch counts as dead by default."""
        return SILENCE_LIMIT

    @property
    def supports_initial_events(self) -> bool:
        """Whether a watch can start with the current objects, as far as that is known."""
        return self._wrapped.supports_initial_events

    def disable_initial_events(self) -> None:
        """Remember that a watch cannot start with the current objects."""
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
            # An "async def" without yield; if it is not closed, Python warns that it was never awaited.
            if inspect.iscoroutine(waste := cast("object", batches)):
                waste.close()
            raise ProtocolError(
                f"the watch of {self.resource} returned a {type(batches).__name__}; "
                "it must be an async generator, which yields lists of events"
            )
        stream = ForeignStream(batches, self.resource)
        try:
            await stream.open()
        except BaseException:
            # Also on cancellation: there is no other reference to the generator, so it is closed here.
            await stream.aclose()
            raise
        return stream


@set_module("masthead.aio.cache")
class ForeignStream(Generic[T]):
    """One connection of a foreign watch: an async iterator of batches of events."""

    def __init__(self, batches: AsyncGenerator[Sequence[WatchEvent[T]], None], resource: str) -> None:
        self._batches = batches
        self._resource = resource
        self._first: Sequence[WatchEvent[T]] | None = None
        self._error: Exception | None = None

    async def open(self) -> None:
        """Wait for the first batch, which says that the watch was accepted."""
        self._first = await anext(self._batches, None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Sequence[WatchEvent[T]]:
        # The events before it have been given out by the previous call.
        if self._error is not None:
            raise self._error
        if self._first is not None:
            # open() has read it, to learn whether the watch was accepted.
            batch, self._first = self._first, None
        else:
            batch = await anext(self._batches)
        if not isinstance(cast("object", batch), Sequence):
            raise ProtocolError(
                f"the watch of {self._resource} yielded a {type(batch).__name__}; it must yield lists of events"
            )
        return self._checked(batch)

    async def aclose(self) -> None:
        """Close the generator."""
        await self._batches.aclose()

    def _checked(self, batch: Sequence[WatchEvent[T]]) -> Sequence[WatchEvent[T]]:
        """The events of a batch, up to the first object that is not an event: its error follows them."""
        events: list[WatchEvent[T]] = []
        for event in batch:
            if not isinstance(cast("object", event), WatchEvent):
                self._error = ProtocolError(
                    f"the watch of {self._resource} yielded a {type(event).__name__} among its events"
                )
                # The events before it are valid, and must not be lost with it.
                break
            events.append(event if event.type in EVENT_TYPES else _broken(event))
        return events


def _broken(event: WatchEvent[T]) -> WatchEvent[T]:
    """An event of an unknown type, of which the meaning is unknown."""
    error = DecodeError(f"the type of the event is {event.type!r}", subject=event.object.key)
    return WatchEvent("BROKEN", None, error=error, data=event.data or event.object.to_json())


Source: TypeAlias = ListWatch[T] | ForeignListWatch[T]
"""What a reflector lists and watches."""


def as_source(given: Source[T] | ListerWatcher[T]) -> Source[T]:
    """The library's own sources as they are, others wrapped."""
    return given if isinstance(given, ListWatch | ForeignListWatch) else ForeignListWatch(given)
