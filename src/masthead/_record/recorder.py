"""The event recorder: writes Events in the background."""

from __future__ import annotations

import asyncio
import platform
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from masthead._module import set_module
from masthead._record.bodies import EventSource
from masthead._record.buffer import EventBuffer
from masthead._record.metrics import RecorderMetrics
from masthead._record.references import check_source, occurrence_of, reference_to
from masthead._record.sender import EventSender
from masthead._record.sink import EventSink
from masthead._sansio.randomness import random
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
    """Read the wall clock."""
    return datetime.now(UTC)


@set_module("masthead.aio")
class EventRecorder:
    """Records Events about objects, and writes them in the background.

    ::

        async with EventRecorder(client, "website-operator") as recorder:
            recorder.record(site, "Normal", "Created", "Created Deployment web")

    Guarantees:
        `record` returns immediately, whatever the server does: it neither waits nor raises for failures of the API.
        Events about one object are written in the order of their recording. Equal occurrences become one Event with a
        series; many that differ only in their message are combined; a spam filter limits the writes about each object
        (`masthead.record.CorrelatorOptions`). At most `queue_limit` new Events wait; further ones are dropped and
        counted. A server without ``events.k8s.io/v1`` gets core/v1 Events.

    Threads:
        Any thread may call `record`, also signal handlers and finalizers; all else belongs to the client's event loop.
        Events recorded before the start are written after it. If the client is closed first, the recorder has two
        seconds for the remaining Events.
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
        """Create a recorder; it writes after `start`, or in ``async with``.

        Args:
            client: Writes the Events.
            component: The reporting controller: ``my-operator`` or ``example.com/my-operator``.
            instance: The reporting instance; component and host name by default.
            host: The host name; that of the machine by default. Core/v1 Events have an explicit one in ``source``.
            clock: The wall clock, for timestamps.
            metrics: Receives the counts.
            queue_limit: The maximum number of waiting new Events.
            options: The limits of correlation.

        Raises:
            ArgumentError: If an argument is invalid.
        """
        # With 0, every Event would be dropped without an error.
        if queue_limit < 1:
            raise ArgumentError(f"queue_limit must be at least 1, not {queue_limit}", value=queue_limit)
        component, instance = check_source(component, instance, platform.node() if host is None else host)
        self._client = client
        self._source = EventSource(component, instance, host or "")
        self._clock = clock
        self._buffer = EventBuffer(queue_limit, options, RecorderMetrics(metrics, component), random)
        self._sender: EventSender | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_stopped = False
        # The blocking façade replaces it: a portal ends the task before the client is closed.
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
            obj: The object as the server returned it, or a reference with its uid.
            type: ``Normal`` or ``Warning``.
            reason: One word in CamelCase, such as ``FailedCreate``, by which programs select Events.
            message: A sentence for people, truncated to 1024 bytes.
            action: The action taken or attempted, such as ``Scaling``; the reason by default.
            related: A second object, such as a created one.

        Raises:
            ArgumentError: If an argument is invalid; never for failures of the API.
            TimeError: If the clock returns a time without a time zone.
        """
        # Checked in the caller, who can correct the arguments; everything later is logged.
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
        """Counts since the creation of the recorder."""
        return replace(self._buffer.counts, pending=len(self._buffer))

    async def start(self) -> None:
        """Start writing. Starting twice does nothing.

        Raises:
            ClosedError: If the recorder has stopped, or its client is closed.
        """
        if self._is_stopped:
            raise ClosedError("the recorder has stopped; make a new one")
        if self._task is not None:
            return
        loop = asyncio.get_running_loop()
        # uvloop caches its time while it waits, but other threads read the clock, too; both are the monotonic clock.
        monotonic = loop.time if isinstance(loop, asyncio.BaseEventLoop) else time.monotonic
        sender = EventSender(
            self._buffer, EventSink(self._client.rest, self._source), monotonic, self._source.component
        )
        self._sender, self._task = sender, self._spawn(sender.run())
        self._buffer.open(monotonic, sender.wake)
        await asyncio.sleep(0)  # a task that is cancelled before its first step could not write the remaining Events

    async def flush(self, timeout: float = STOP_TIMEOUT) -> bool:
        """Wait until all recorded Events are written or abandoned, including the counts of series.

        Args:
            timeout: Seconds to wait.

        Returns:
            Whether no Event is left; False before `start` if any was recorded.
        """
        if self._sender is None or self._task is None or self._task.done():
            return not len(self._buffer)
        return await self._sender.flush(timeout)

    async def stop(self, timeout: float = STOP_TIMEOUT) -> None:
        """Give every remaining Event one last attempt, and stop. Stopping twice does nothing.

        Events recorded afterwards are dropped and counted.

        Args:
            timeout: Seconds until the recorder stops in any case; remaining Events count as failed.
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
