"""The event recorder, which writes Events in the background."""

from __future__ import annotations

import asyncio
import platform
import random
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from masthead._module import set_module
from masthead._record.bodies import EventSource
from masthead._record.buffer import EventBuffer
from masthead._record.metrics import RecorderMetrics
from masthead._record.references import checked_source, occurrence_of, reference_to
from masthead._record.sender import EventSender
from masthead._record.sink import EventSink
from masthead.errors import ArgumentError, ClosedError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Self

    from masthead._client.client import Client
    from masthead._record.buffer import EventCounts
    from masthead._record.references import EventSubject
    from masthead._sansio.event_limits import CorrelatorOptions
    from masthead.metrics import Metrics

__all__ = ["EventRecorder", "ObjectEventRecorder"]

QUEUE_LIMIT: Final = 1000
STOP_TIMEOUT: Final = 5.0


def utc_now() -> datetime:
    """The wall clock."""
    return datetime.now(UTC)


@set_module("masthead.aio")
class EventRecorder:
    """Records Events about objects, and writes them in the background.

    ::

        async with EventRecorder(client, "website-operator") as recorder:
            recorder.record(site, "Normal", "Created", "Created Deployment web")

    Guarantees:
        `record` returns at once, whatever the server does: it neither waits nor raises for failures of the API. Events
        about one object are written in the order in which they were recorded. Occurrences that agree in everything become
        one Event with a series; many that differ in their message only are combined; a spam filter limits the writes about
        each object (`masthead.record.CorrelatorOptions`). At most `queue_limit` new Events wait; beyond that they are
        dropped and counted. A server without ``events.k8s.io/v1`` gets core/v1 Events.

    Threads:
        `record` may be called from any thread, also in signal handlers and finalizers; all else on the client's event loop.
        What is recorded before the recorder is started is written when it starts. If the client is closed first, what is left
        has two seconds.
    """

    def __init__(
        self,
        client: Client,
        component: str,
        *,
        instance: str | None = None,
        host: str | None = None,
        clock: Callable[[], datetime] = utc_now,
        metrics: Metrics | None = None,
        queue_limit: int = QUEUE_LIMIT,
        options: CorrelatorOptions | None = None,
    ) -> None:
        """Create a recorder; it writes from `start` on, or in ``async with``.

        Args:
            client: Writes the Events.
            component: The controller that reports: ``my-operator`` or ``example.com/my-operator``.
            instance: Which of its instances; by default its component and host name.
            host: The host name; by default that of the machine. Core/v1 Events have it in ``source`` if it is given.
            clock: The wall clock, for timestamps.
            metrics: Where to count.
            queue_limit: How many new Events may wait to be written.
            options: The limits of correlation.

        Raises:
            ArgumentError: If an argument is invalid.
        """
        if queue_limit < 1:
            raise ArgumentError(f"queue_limit must be at least 1, not {queue_limit}", value=queue_limit)
        component, instance = checked_source(component, instance, platform.node() if host is None else host)
        self._client = client
        self._source = EventSource(component, instance, host or "")
        self._clock = clock
        self._buffer = EventBuffer(queue_limit, options, RecorderMetrics(metrics, component), random.random)
        self._sender: EventSender | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_stopped = False
        # The blocking façade has its own.
        self._spawn: Callable[[Coroutine[object, None, None]], asyncio.Task[None]] = _spawn

    def record(
        self,
        obj: EventSubject,
        type: str,
        reason: str,
        message: str,
        *,
        action: str = "",
        related: EventSubject | None = None,
    ) -> None:
        """Record that something happened to an object.

        Args:
            obj: The object, as the server returned it; or a reference to it, with its uid.
            type: ``Normal`` or ``Warning``.
            reason: Why, as one word in CamelCase, such as ``FailedCreate``; programs may select Events by it.
            message: What happened, for people. The server keeps 1024 bytes of it; longer ones are cut.
            action: What was done or attempted, such as ``Scaling``; the reason by default.
            related: A second object, such as one that was created.

        Raises:
            ArgumentError: If an argument is invalid; never for failures of the API.
            TimeError: If the clock returns a time without a time zone.
        """
        self._buffer.offer(occurrence_of(obj, type, reason, message, action=action, related=related, at=self._clock()))

    def for_object(self, obj: EventSubject) -> ObjectEventRecorder:
        """Return a recorder of Events about one object.

        Raises:
            ArgumentError: If the object has no name or uid.
        """
        reference_to(obj)
        return ObjectEventRecorder(self.record, obj)

    @property
    def counts(self) -> EventCounts:
        """What it has done so far."""
        return replace(self._buffer.counts, pending=len(self._buffer))

    async def start(self) -> None:
        """Start writing. Starting twice does nothing.

        Raises:
            ClosedError: If it has stopped, or its client is closed.
        """
        if self._is_stopped:
            raise ClosedError("the recorder has stopped; make a new one")
        if self._task is not None:
            return
        loop = asyncio.get_running_loop()
        # uvloop's own clock stands still while it waits, and other threads read it, too; it is the same one.
        monotonic = loop.time if isinstance(loop, asyncio.BaseEventLoop) else time.monotonic
        sender = EventSender(
            self._buffer, EventSink(self._client.rest, self._source), monotonic, self._source.component
        )
        self._sender, self._task = sender, self._spawn(sender.run())
        self._buffer.open(monotonic, sender.wake)
        await asyncio.sleep(0)  # a task that is cancelled before its first step would have no last words

    async def flush(self, timeout: float = STOP_TIMEOUT) -> bool:
        """Wait until everything recorded so far is written or given up, the counts of series included.

        Args:
            timeout: Seconds to wait.

        Returns:
            Whether nothing is left; always False before `start`, if something was recorded.
        """
        if self._sender is None or self._task is None or self._task.done():
            return not len(self._buffer)
        return await self._sender.flush(timeout)

    async def stop(self, timeout: float = STOP_TIMEOUT) -> None:
        """Write what is left, with one last attempt each, and end. Stopping twice does nothing.

        What is recorded afterwards is dropped and counted.

        Args:
            timeout: Seconds after which it ends in any case; Events that are left are counted as failed.
        """
        self._is_stopped = True
        self._buffer.close()
        if self._sender is None or self._task is None:
            self._buffer.abandon()
            return
        if not self._task.done():
            self._sender.stop(timeout)
        await asyncio.wait([self._task])

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    def __repr__(self) -> str:
        return f"<EventRecorder of {self._source.component}>"


@set_module("masthead.record")
@dataclass(frozen=True, slots=True)
class ObjectEventRecorder:
    """Records Events about one object; `EventRecorder.for_object` returns it.

    Attributes:
        obj: The object.
    """

    _record: Callable[..., None]
    obj: EventSubject

    def record(
        self,
        type: str,
        reason: str,
        message: str,
        *,
        action: str = "",
        related: EventSubject | None = None,
    ) -> None:
        """Record that something happened to the object; see `EventRecorder.record`.

        Raises:
            ArgumentError: If an argument is invalid; never for failures of the API.
        """
        self._record(self.obj, type, reason, message, action=action, related=related)


def _spawn(coroutine: Coroutine[object, None, None]) -> asyncio.Task[None]:
    return asyncio.get_running_loop().create_task(coroutine)
