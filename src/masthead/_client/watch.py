"""Watches that outlive their connections.

`masthead._sansio.listwatch` decides when, and from which version, a stream is opened again, and whether the current
state is listed first. Here its steps are performed, and the events are delivered.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead._client.listwatch import ListWatchOptions, failure_of
from masthead._client.watch_event import WatchEvent, broken_event, end_of_initial_events
from masthead._errors.facades import ASYNC_ONLY
from masthead._meta.object import Object
from masthead._module import set_module
from masthead._sansio.listwatch import ListWatchMachine
from masthead._sansio.listwatch_steps import (
    INITIAL_EVENTS_TIMEOUT,
    Fail,
    Failure,
    List,
    Phase,
    Policy,
    Role,
    Stream,
    is_worth_a_line,
)
from masthead._sansio.randomness import random
from masthead.errors import (
    ArgumentError,
    ClosedError,
    ConnectError,
    DeadlineError,
    ExpiredError,
    MastheadError,
    StatusError,
    TransportError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from masthead._client.listwatch import ListWatch, WatchConnection
    from masthead._sansio.listwatch_steps import Step
    from masthead.errors import DecodeError

__all__ = ["WatchStream"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.client")


@set_module("masthead.aio")
class WatchStream(Generic[T]):
    """The changes of a resource, one after the other; an async iterator, to be used in ``async with``.

    Without a version to start from, the current objects are delivered first, as ADDED and once, however often the
    connection drops. Each later change is delivered once, in the server's order. Bookmarks advance `version`, and are
    delivered only on request. With a timeout, the iterator ends when that has passed.

    One watch is for one reader.
    """

    def __init__(
        self,
        source: ListWatch[T],
        *,
        resource_version: str | None,
        bookmarks: bool,
        raw: bool,
        send_initial_events: bool | None = None,
        timeout: float | None = None,
    ) -> None:
        if send_initial_events is not None and not raw:
            raise ArgumentError("send_initial_events is for raw watches; others see to it themselves")
        self._source = source
        self._bookmarks = bookmarks
        self._raw = raw
        self._send_initial_events = send_initial_events
        self._machine = ListWatchMachine(
            random=random,
            policy=Policy.FOLLOW_ONLY if raw or resource_version else Policy.STATE_FIRST,
            version=resource_version or "",
            page_size=source.page_size,
            silence_limit=source.silence_limit,
        )
        self._step = self._machine.start()
        self._due = 0.0
        self._timeout = timeout or math.inf
        self._end = math.inf  # set by the first step
        self._is_established = False
        self._is_refused = False
        self._stream: WatchConnection[T] | None = None
        self._ready: deque[WatchEvent[T]] = deque()
        self._initial: list[WatchEvent[T]] = []  # not delivered before all of them have arrived
        self._error: MastheadError | None = None
        self._last_failure: MastheadError | None = None
        self._failures = 0
        self._closed = asyncio.Event()

    @property
    def version(self) -> str:
        """The version of the last event that was read from the server: where another watch can resume.

        Empty while the initial objects are being delivered.
        """
        return self._machine.version

    async def close(self) -> None:
        """End the watch. Closing twice does nothing."""
        self._closed.set()
        self._ready.clear()  # or a reader that closes in its own loop would get the rest of the batch
        self._drop()

    if not TYPE_CHECKING:
        __enter__ = __exit__ = ASYNC_ONLY

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchEvent[T]:
        while not self._ready:
            if self._error is not None:
                # Only now, when all events before it have been consumed.
                await self.close()
                # Raised once: the watch is closed, and ends the next time.
                error, self._error = self._error, None
                raise error
            if self._closed.is_set():
                raise StopAsyncIteration
            if _now() >= self._end:
                self._run_out()
            else:
                await self._advance()
        return self._ready.popleft()

    async def _advance(self) -> None:
        """Perform the next step, or read from the open stream."""
        if self._stream is None:
            await self._perform(self._step)
            return
        try:
            async with asyncio.timeout_at(self._read_deadline()):
                batch = await anext(self._stream, None)
        except (StatusError, DeadlineError) as error:
            self._after(error)
        except TimeoutError:
            if _now() < self._end:
                self._after_initial_timeout()
        except TransportError as error:
            self._after(error)
        except ClosedError:
            # A close() in another task ends a read like this; only the client's own end is an error.
            if not self._closed.is_set():
                raise
        else:
            # The server has ended the connection, as it does every few minutes.
            if batch is None:
                self._after(None)
            else:
                self._take(batch)

    def _read_deadline(self) -> float | None:
        """The time until which a read may wait; None for no limit."""
        initial = _now() + INITIAL_EVENTS_TIMEOUT if self._is_initial else math.inf
        return _finite(min(initial, self._end))

    def _run_out(self) -> None:
        """End a watch whose time is up; with an error if it has not begun, which must not look like no events."""
        self._drop()
        self._closed.set()
        # A watch that has delivered its initial state ends silently, with its time.
        if self._is_established or self._error is not None:
            return
        self._error = self._last_failure or DeadlineError(
            f"watch {self._source.resource}: the existing objects did not arrive within {self._timeout:g} s"
        )

    @property
    def _is_initial(self) -> bool:
        """Whether initial events are expected, and the bookmark behind them."""
        return self._machine.phase is Phase.STREAMING

    async def _perform(self, step: Step) -> None:
        # The time of the watch starts with its first request, and not with its creation.
        if self._end == math.inf:
            self._end = _now() + self._timeout
        if await self._closed_before(min(self._due, self._end)) or _now() >= self._end:
            return
        try:
            async with asyncio.timeout_at(_finite(self._end)):
                await self._source.target()  # a resource that does not exist is the caller's error
                self._machine.begin(_now())
                await self._request(step)
        except TimeoutError as error:
            if isinstance(error, DeadlineError):
                raise
            # Otherwise the time of the watch is up, which the reader finds.

    async def _request(self, step: Step) -> None:
        try:
            if isinstance(step, List):
                await self._list(step)
            else:
                assert isinstance(step, Stream)
                await self._open(step)
        except StatusError as error:
            self._after(error)
        except TransportError as error:
            if isinstance(error, ConnectError) and not self._source.has_reached:
                raise  # a wrong address stays wrong
            self._after(error)

    async def _open(self, step: Stream) -> None:
        # The watch starts over: initial events of the lost connection would come twice.
        if step.restarts:
            self._initial.clear()
        options = ListWatchOptions(
            resource_version=step.version,
            resource_version_match="NotOlderThan" if step.initial_events else None,
            send_initial_events=True if step.initial_events else self._send_initial_events,
            timeout_seconds=self._seconds_for(step),
            # A raw watch ends with its connection, and has the timeouts of any other stream.
            read_timeout=None if self._raw else self._source.silence_limit,
            timeout=None if self._raw else self._source.silence_limit,
        )
        # Once the server has been reached, the machine alone decides about retries and their delays.
        attempts = 1 if self._source.has_reached else None
        self._stream = await self._source.open_watch(options, attempts=attempts, is_raw=self._raw)
        self._machine.opened()
        self._is_established = self._is_established or not self._is_initial

    def _seconds_for(self, step: Stream) -> int:
        """Choose after how many seconds the server is to end a connection; 0 for its default."""
        # Rounded up, or the server would end the last connection before the watch ends.
        left = math.inf if self._end == math.inf else math.ceil(self._end - _now())
        chosen = left if self._raw else min(left, step.seconds)
        return 0 if chosen == math.inf else int(chosen)

    async def _list(self, step: List) -> None:
        """Read a page of the state of a server that does not support initial events."""
        if step.restarts:
            # The list starts over: objects of its earlier pages may have been deleted.
            self._initial.clear()
        broken: list[DecodeError] = []
        options = ListWatchOptions(
            resource_version=step.version,
            resource_version_match="NotOlderThan" if step.version else None,
            limit=step.limit,
            continue_=step.token,
        )
        page = await self._source.list_page(options, broken.append)
        version, token = page.metadata.resource_version, page.metadata.continue_
        self._initial.extend(WatchEvent("ADDED", item, data=item.wire_bytes or b"") for item in page.items)
        self._initial.extend(broken_event(error) for error in broken)
        # Only after the page was read: a failure requests the same page again.
        self._step = self._machine.page(version, token)
        self._due = 0.0
        if not token:
            self._complete_list(version)

    def _complete_list(self, version: str) -> None:
        if self._is_refused:
            # Only now: the refusal may have been about something else, for which the list is refused as well.
            self._source.disable_initial_events()
        if self._bookmarks:
            self._initial.append(end_of_initial_events(self._source.item, version))
        self._deliver_initial()

    def _deliver_initial(self) -> None:
        self._is_established = True
        self._ready.extend(self._initial)
        self._initial.clear()

    def _take(self, batch: Sequence[WatchEvent[T]]) -> None:
        """Report events to the machine, and deliver them unless they are a part of a state that is not complete."""
        # Any event proves that the connection works.
        machine, self._failures = self._machine, 0
        for event in batch:
            kind = event.server_type or "MODIFIED"
            role = machine.event(kind, event.version, ends_initial=event.ends_initial_events)
            if role is Role.COMPLETE:
                self._deliver_initial()
            if self._bookmarks or event.type != "BOOKMARK":
                (self._initial if role is Role.INITIAL else self._ready).append(event)

    def _after_initial_timeout(self) -> None:
        """The bookmark behind the initial events does not arrive."""
        _log.warning(
            "%s: a watch of %s receives no end of its initial events; listing instead",
            self._source.server,
            self._source.resource,
        )
        # Without a single event, the connection may be the reason.
        self._is_refused = bool(self._initial)
        self._drop()
        self._proceed(self._machine.failed(_now(), Failure(silent=True)), None)

    def _after(self, error: MastheadError | None) -> None:
        """A step failed, or a stream ended: decide how to continue."""
        self._drop()
        if self._closed.is_set():
            return
        # Its caller wants the single request, with its error.
        if self._raw:
            self._error = error
            self._closed.set()
            return
        was_initial = self._is_initial
        step = self._machine.closed(_now()) if error is None else self._machine.failed(_now(), failure_of(error))
        if was_initial and isinstance(error, StatusError) and not self._machine.initial_events:
            self._is_refused, error = True, None  # the state is listed: nothing to log
        self._proceed(step, error)

    def _proceed(self, step: Step, error: MastheadError | None) -> None:
        if isinstance(step, Fail):
            self._error = _unify_expiry(error) if step.is_expired and error is not None else error
            return
        assert isinstance(step, List | Stream)  # only informers verify and probe
        self._step = step
        self._due = _now() + step.after
        if error is not None:
            self._log_failure(error, step.version, step.after)

    def _log_failure(self, error: MastheadError, version: str, after: float) -> None:
        """Log that the watch continues. A dropped connection is common; a failure to resume is not."""
        self._failures = 1 if self._machine.is_well else self._failures + 1
        self._last_failure = error
        is_dropped = isinstance(error, TransportError) and not isinstance(error, ConnectError)
        # Servers and load balancers drop watches all the time; only repeated failures deserve a warning.
        level = logging.INFO if is_dropped and self._failures == 1 else logging.WARNING
        _log.log(
            level if is_worth_a_line(self._failures, after) else logging.DEBUG,
            "%s: a watch %s in %.1f s after %s",
            self._source.server,
            f"resumes from version {version!r}" if version else "starts over",
            after,
            error,
        )

    def _drop(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = None

    async def _closed_before(self, due: float) -> bool:
        """Wait until a step is due; return whether the watch was closed during the wait.

        The moment counts, not the length of the wait: a reader may give up and come back many times before it.
        """
        if due > _now():
            try:
                async with asyncio.timeout_at(due):
                    await self._closed.wait()
            except TimeoutError:
                pass
        return self._closed.is_set()


def _now() -> float:
    return asyncio.get_running_loop().time()


def _finite(moment: float) -> float | None:
    return None if moment == math.inf else moment


def _unify_expiry(error: MastheadError) -> MastheadError:
    """Raise one error for an expired version, whichever of the API's two reasons the server sent."""
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
