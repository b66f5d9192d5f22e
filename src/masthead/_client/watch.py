"""Watches that outlive their connections.

`masthead._sansio.watching` decides when and from where a stream is opened again; here the streams are opened, read, and
turned into events.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

import msgspec

from masthead._client.watch_event import (
    WatchEvent,
    broken_event,
    end_of_initial_events,
    read_events,
)
from masthead._meta.object import Object
from masthead._sansio.watching import Open, State, Watching
from masthead.errors import (
    ClosedError,
    ConnectError,
    ExpiredError,
    InvalidValueError,
    MastheadError,
    StatusError,
    TransportError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from typing import Self

    from masthead._client.base import ClientContext
    from masthead._client.options import Query
    from masthead._client.pagination import ListQuery
    from masthead._client.target import ResourceTarget
    from masthead._meta.object import ObjectList
    from masthead._rest.call import Call
    from masthead._rest.response_stream import ResponseStream
    from masthead._sansio.watching import Step
    from masthead.errors import DecodeError

__all__ = ["QUIET", "Watch", "WatchSource", "refuses_initial_events", "watch_query"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.client")
_NO_SUCH_OPTION: Final = frozenset({400, 422})
_NO_VERSION: Final = "resourceVersion: Invalid value"
"""What servers say to a version that is none. They say it with 500, as if it could pass."""

QUIET: Final = 10.0
"""After how many seconds without a byte a server has plainly not understood that it should begin with what there is:
one that does sends the objects at once, and the bookmark right behind them."""


def watch_query(wish: ListQuery, step: Open) -> Query:
    """The query of one stream of a watch.

    Bookmarks are always asked for: they keep the version fresh, and a stream without them cannot be told from a dead
    connection.
    """
    query = [*replace(wish, resource_version=step.version or None).params(), ("watch", "true")]
    query.append(("allowWatchBookmarks", "true"))
    if step.initial_events:
        query += [("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")]
    return query


def refuses_initial_events(error: StatusError) -> bool:
    """Whether a server says that it cannot begin a watch with what there is."""
    return error.code in _NO_SUCH_OPTION


class ReadWhole(Protocol[T]):
    """Reads everything that is wished for, as a plain list."""

    async def __call__(
        self, query: ListQuery, on_error: Callable[[DecodeError], None] | None, *, retries: int | None = None
    ) -> ObjectList[T]:
        """Read it.

        Args:
            query: What.
            on_error: Is called with each object that cannot be decoded; without it, the first one raises.
            retries: How often each page is asked for again at most; None for the client's own.
        """
        ...


@dataclass(frozen=True, slots=True)
class WatchSource(Generic[T]):
    """What a watch needs of its resource.

    Attributes:
        item: What one object becomes.
        title: The resource as messages have it; before the first call, as whoever asked for it called it.
        access: The connection, and what is known of the server.
        target: Finds out which resource it is.
        call: Makes the call for a verb, ``list`` or ``watch``, and a query, and how long it may be silent.
        whole: Reads everything as a plain list.
    """

    item: type[T]
    title: str
    access: ClientContext
    target: Callable[[], Awaitable[ResourceTarget[T]]]
    call: Callable[[str, Query, float | None], Awaitable[Call]]
    whole: ReadWhole[T]


class Watch(Generic[T]):
    """The changes of a resource, one after the other; an async iterator, to be used in ``async with``.

    What is there at the beginning is told as ADDED and, however often the connection breaks, once; each change after
    it is told once, in the server's order. Bookmarks move `version`, and are delivered only if they were asked for.

    One watch is for one reader.
    """

    def __init__(
        self,
        source: WatchSource[T],
        wish: ListQuery,
        *,
        since: str | None,
        bookmarks: bool,
        raw: bool,
        send_initial_events: bool | None = None,
    ) -> None:
        if send_initial_events is not None and not raw:
            raise InvalidValueError("send_initial_events is for raw watches; others see to it themselves")
        self._source = source
        self._wish = wish
        self._bookmarks = bookmarks
        self._raw = raw
        self._send_initial_events = send_initial_events
        self._machine = self._machine_from(since or "", initial_events=not raw and not since)
        self._next = self._machine.start()
        self._due = 0.0
        self._lists_first = False
        self._is_known_refusal = False
        self._stream: ResponseStream | None = None
        self._batches: AsyncIterator[list[bytes]] | None = None
        self._ready: deque[WatchEvent[T]] = deque()
        self._held: list[WatchEvent[T]] = []
        self._error: MastheadError | None = None
        self._failures = 0
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

    async def __anext__(self) -> WatchEvent[T]:
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
            async with asyncio.timeout(QUIET if self._is_beginning else None):
                batch = await anext(self._batches, None)
        except TimeoutError as error:  # DeadlineError among them
            self._after_silence(error)
        except TransportError as error:
            self._after(error)
        except ClosedError:
            if not self._closed.is_set():
                raise
        else:
            await self._take(batch) if batch is not None else self._after(None)

    @property
    def _is_beginning(self) -> bool:
        """Whether the server is still telling what there is, and has promised to say when that is all."""
        return self._next.initial_events and self._machine.state is State.INITIAL

    async def _open(self) -> None:
        if await self._closed_before(self._due):
            return
        target = await self._source.target()
        refused = self._lists_first or target.resource in self._source.access.without_initial_events
        self._held.clear()
        self._machine.opening(_now())
        try:
            if self._next.initial_events and refused:
                await self._list_first(target)
            else:
                await self._open_stream()
        except StatusError as error:
            if self._next.initial_events and not refused and refuses_initial_events(error):
                self._lists_first = self._is_known_refusal = True
            else:
                self._after(error)
        except TransportError as error:
            if isinstance(error, ConnectError) and not self._source.access.rest.has_reached:
                raise  # an address that is wrong stays wrong
            self._after(error)

    async def _open_stream(self) -> None:
        query = watch_query(self._wish, self._next)
        if self._send_initial_events is not None:
            query.append(("sendInitialEvents", "true" if self._send_initial_events else "false"))
        rest, call = self._source.access.rest, await self._source.call("watch", query, None)
        if rest.has_reached:
            # Sent once: when it is sent again is the machine's decision, and no pause may be added to its own.
            call = msgspec.structs.replace(call, retries=0)
        self._stream = await rest.open(call)
        self._machine.opened()
        self._batches = self._stream.batches()

    async def _take(self, batch: list[bytes]) -> None:
        """Turn lines into events, and tell the machine of each."""
        machine, target, self._failures = self._machine, await self._source.target(), 0
        holds = self._is_beginning
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
            if self._bookmarks or event.type != "BOOKMARK":
                (self._held if holds else self._ready).append(event)

    async def _list_first(self, target: ResourceTarget[T]) -> None:
        """What a server that cannot begin a watch with what there is makes necessary."""
        broken: list[DecodeError] = []
        found = await self._source.whole(self._wish, broken.append, retries=0)
        if self._is_known_refusal:
            # Only now: what was refused may have been something else in the request, which this list is refused for too.
            self._source.access.without_initial_events.add(target.resource)
        version = found.metadata.resource_version
        self._ready.extend(WatchEvent("ADDED", item, data=item.wire_bytes or b"") for item in found.items)
        self._ready.extend(broken_event(error) for error in broken)
        if self._bookmarks:
            self._ready.append(end_of_initial_events(target.item, version))
        self._machine = self._machine_from(version, initial_events=False)
        self._next = self._machine.start()

    def _after_silence(self, error: TimeoutError) -> None:
        """Nothing came for too long: a dead connection or, at the beginning, a server that does not know how."""
        if self._is_beginning:
            _log.warning(
                "%s: a watch of %s is not told where what there is ends; it lists that first",
                self._source.access.rest.server,
                self._source.title,
            )
            self._lists_first = True
            # Without a single object, it may just as well have been the connection.
            self._is_known_refusal = bool(self._held)
            self._drop()
        elif isinstance(error, TransportError):
            self._after(error)

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
            self._due = _now() + step.after
            if error is not None:
                self._log_failure(error, step)
        elif error is not None:
            self._error = _expired(error) if step.expired else error

    def _log_failure(self, error: MastheadError, step: Open) -> None:
        """Say that it goes on. A watch that breaks off is everyday; one that cannot go on is not."""
        self._failures += 1
        is_dropped = isinstance(error, TransportError) and not isinstance(error, ConnectError)
        _log.log(
            logging.INFO if is_dropped and self._failures == 1 else logging.WARNING,
            "%s: a watch %s in %.1f s after %s",
            self._source.access.rest.server,
            f"goes on from version {step.version!r}" if step.version else "begins anew",
            step.after,
            error,
        )

    def _decide(self, error: MastheadError | None) -> Step:
        if error is None:
            return self._machine.closed(_now())
        if isinstance(error, StatusError):
            return self._machine.failed(
                _now(),
                code=error.code,
                reason=error.reason,
                retry_after=error.retry_after,
                is_final=_NO_VERSION in error.message,
            )
        return self._machine.failed(_now())

    def _drop(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = self._batches = None

    async def _closed_before(self, due: float) -> bool:
        """Wait until something is due; whether the watch was closed meanwhile.

        The moment counts, not the length of the wait: a reader may give up and come back many times before it.
        """
        if due > _now():
            try:
                async with asyncio.timeout_at(due):
                    await self._closed.wait()
            except TimeoutError:
                pass
        return self._closed.is_set()

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
