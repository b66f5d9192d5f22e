"""Watches that outlive their connections.

`masthead.sansio.watching` decides when and from where a stream is opened again; here the streams are opened, read, and
turned into events.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead.client.event import Event, EventType, read_events
from masthead.errors import ExpiredError, MastheadError, StatusError, TransportError
from masthead.meta.object import Object
from masthead.sansio.watching import Open, State, Watching

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from typing import Self

    from masthead.client.access import Access
    from masthead.client.listing import ListWish
    from masthead.client.options import Query
    from masthead.client.target import Target
    from masthead.meta.object import ObjectList
    from masthead.rest.call import Call
    from masthead.rest.stream import Stream
    from masthead.sansio.watching import Step

__all__ = ["Watch", "WatchSource", "refuses_initial_events", "watch_query"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.client")
_NO_SUCH_OPTION: Final = frozenset({400, 422})


def watch_query(wish: ListWish, step: Open, *, bookmarks: bool) -> Query:
    """The query of one stream of a watch."""
    query = [*replace(wish, resource_version=step.version or None).query(), ("watch", "true")]
    if bookmarks:
        query.append(("allowWatchBookmarks", "true"))
    if step.initial_events:
        query += [("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")]
    return query


def refuses_initial_events(error: StatusError) -> bool:
    """Whether a server says that it cannot begin a watch with what there is."""
    return error.code in _NO_SUCH_OPTION


@dataclass(frozen=True, slots=True)
class WatchSource(Generic[T]):
    """What a watch needs of its resource.

    Attributes:
        access: The connection, and what is known of the server.
        target: Finds out which resource it is.
        call: Makes the call for a query, and how long it may be silent.
        whole: Reads everything that is wished for, as a plain list.
    """

    access: Access
    target: Callable[[], Awaitable[Target[T]]]
    call: Callable[[Query, float | None], Awaitable[Call]]
    whole: Callable[[ListWish], Awaitable[ObjectList[T]]]


class Watch(Generic[T]):
    """The changes of a resource, one after the other; an async iterator, to be used in ``async with``.

    What is there at the beginning is told as ADDED and, however often the connection breaks, once; each change after
    it is told once, in the server's order. Bookmarks are told too: their version is where another watch can begin.

    One watch is for one reader.
    """

    def __init__(
        self, source: WatchSource[T], wish: ListWish, *, since: str | None, bookmarks: bool, raw: bool
    ) -> None:
        self._source = source
        self._wish = wish
        self._bookmarks = bookmarks
        self._raw = raw
        self._machine = self._machine_from(since or "", initial_events=not raw and not since)
        self._next = self._machine.start()
        self._stream: Stream | None = None
        self._batches: AsyncIterator[list[bytes]] | None = None
        self._ready: deque[Event[T]] = deque()
        self._held: list[Event[T]] = []
        self._error: MastheadError | None = None
        self._closed = asyncio.Event()

    @property
    def version(self) -> str:
        """The version of the last event that was read from the server: where another watch can go on.

        Empty as long as what was there at the beginning is being told.
        """
        return self._machine.version

    async def close(self) -> None:
        """End the watch. Closing twice does nothing."""
        self._closed.set()
        self._ready.clear()  # or a reader who closes in its own loop would be told what came in the same batch
        self._drop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event[T]:
        while not self._ready:
            if self._error is not None:
                await self.close()
                error, self._error = self._error, None
                raise error
            if self._closed.is_set():
                raise StopAsyncIteration
            await self._advance()
        return self._ready.popleft()

    async def _advance(self) -> None:
        """Open a stream, or read from the one that is open."""
        if self._batches is None:
            await self._open()
            return
        try:
            batch = await anext(self._batches, None)
        except TransportError as error:
            self._after(error)
            return
        if batch is None:
            self._after(None)
        else:
            await self._take(batch)

    async def _open(self) -> None:
        step = self._next
        if step.after and await self._closed_within(step.after):
            return
        access = self._source.access
        target = await self._source.target()
        if step.initial_events and target.resource in access.without_initial_events:
            await self._list_first()
            return
        self._held.clear()
        self._machine.opening(_now())
        try:
            query = watch_query(self._wish, step, bookmarks=self._bookmarks or step.initial_events)
            call = await self._source.call(query, None if self._bookmarks else math.inf)
            self._stream = await access.rest.open(call)
        except StatusError as error:
            if step.initial_events and refuses_initial_events(error):
                access.without_initial_events.add(target.resource)
            else:
                self._after(error)
        except TransportError as error:
            self._after(error)
        else:
            self._machine.opened()
            self._batches = self._stream.batches()

    async def _take(self, batch: list[bytes]) -> None:
        """Turn lines into events, and tell the machine of each."""
        machine, target = self._machine, await self._source.target()
        holds = self._next.initial_events and machine.state is State.INITIAL
        for event in read_events(target.item, batch):
            if isinstance(event, StatusError):
                event.resource = event.resource or target.name
                self._after(event)
                return
            ends = event.ends_initial_events
            machine.event(event.type, event.version, ends_initial=ends)
            if holds and ends:
                self._ready.extend(self._held)
                self._held.clear()
                holds = False
            (self._held if holds else self._ready).append(event)

    async def _list_first(self) -> None:
        """What a server that cannot begin a watch with what there is makes necessary."""
        found = await self._source.whole(self._wish)
        self._ready.extend(Event(EventType.ADDED, item, data=item.wire_bytes or b"") for item in found.items)
        self._machine = self._machine_from(found.metadata.resource_version, initial_events=False)
        self._next = self._machine.start()

    def _after(self, error: MastheadError | None) -> None:
        """A stream could not be opened, broke off, or came to its end: what next?"""
        self._drop()
        if self._closed.is_set():
            return
        if self._raw:
            self._error = error
            self._closed.set()
            return
        step = self._decide(error)
        if isinstance(step, Open):
            self._next = step
            if error is not None:
                _log.warning(
                    "a watch goes on from version %r in %.1f s after %s", step.version, step.after, error
                )
        elif error is not None:
            self._error = _expired(error) if step.expired else error

    def _decide(self, error: MastheadError | None) -> Step:
        if error is None:
            return self._machine.closed(_now())
        if isinstance(error, StatusError):
            return self._machine.failed(
                _now(), code=error.code, reason=error.reason, retry_after=error.retry_after
            )
        return self._machine.failed(_now())

    def _drop(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = self._batches = None

    async def _closed_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._closed.wait()
        except TimeoutError:
            return False

    @staticmethod
    def _machine_from(version: str, *, initial_events: bool) -> Watching:
        return Watching(version, random=random.random, initial_events=initial_events)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _expired(error: MastheadError) -> MastheadError:
    """One error for a version that is forgotten, whichever of the API's two words the server used."""
    if isinstance(error, ExpiredError) or not isinstance(error, StatusError):
        return error
    return ExpiredError(
        error.message,
        verb=error.verb,
        resource=error.resource,
        namespace=error.namespace,
        name=error.name,
        code=error.code,
        reason=error.reason,
        details=error.details,
    )
