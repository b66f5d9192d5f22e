"""The event recorder of the blocking façade: it runs on the event loop of its client."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, cast

from masthead._module import set_module
from masthead._record.recorder import EventRecorder as AsyncEventRecorder
from masthead._sync.client import Client
from masthead._sync.facade import Facade, behind
from masthead.errors import ClosedError, InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from masthead._client.client import Client as AsyncClient
    from masthead._record.buffer import EventCounts
    from masthead._record.recorder import ObjectEventRecorder
    from masthead._record.references import EventSubject
    from masthead._sansio.event_correlation import CorrelatorOptions
    from masthead._sync.portal import Portal, Spawn
    from masthead.metrics import Metrics

__all__ = ["EventRecorder"]

_QUEUE_LIMIT: Final = 1000
_CLOSE_TIMEOUT: Final = 5.0


def _utc_now() -> datetime:
    return datetime.now(UTC)


class PortalEventRecorder(AsyncEventRecorder):
    """A recorder whose task belongs to a portal, and so ends before the client is closed."""

    def use(self, spawn: Spawn) -> None:
        """Have the task started by a portal."""
        self._spawn = spawn


@set_module("masthead")
class EventRecorder(Facade[PortalEventRecorder]):
    """Records Events about objects, and writes them in the background.

    ::

        with EventRecorder(client, "website-operator") as recorder:
            recorder.record(site, "Normal", "Created", "Created Deployment web")

    Guarantees:
        `record` returns at once, whatever the server does: it neither waits nor raises for failures of the API. Events
        about one object are written in the order in which they were recorded. Occurrences that agree in everything become
        one Event with a series; many that differ in their message only are combined; a spam filter limits the writes about
        each object (`masthead.record.CorrelatorOptions`). At most `queue_limit` new Events wait; beyond that they are
        dropped and counted. A server without ``events.k8s.io/v1`` gets core/v1 Events.

    Threads:
        May be shared by any number of threads; `record` may also be called in signal handlers and finalizers. What is
        recorded before the recorder is started is written when it starts. A client that is closed first gives what is left
        two seconds.
    """

    def __init__(
        self,
        client: Client,
        component: str,
        *,
        instance: str | None = None,
        host: str | None = None,
        clock: Callable[[], datetime] = _utc_now,
        metrics: Metrics | None = None,
        queue_limit: int = _QUEUE_LIMIT,
        options: CorrelatorOptions | None = None,
    ) -> None:
        """Create a recorder; start it in a ``with`` block, or with `start`.

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
            InvalidValueError: If an argument is invalid.
        """
        portal, inner = _client_of(client)
        made = PortalEventRecorder(
            inner,
            component,
            instance=instance,
            host=host,
            clock=clock,
            metrics=metrics,
            queue_limit=queue_limit,
            options=options,
        )
        made.use(portal.spawn)
        super().__init__(portal, made)

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
            InvalidValueError: If an argument is invalid; never for failures of the API.
            TimeError: If the clock returns a time without a time zone.
        """
        self._async.record(obj, type, reason, message, action=action, related=related)

    def for_object(self, obj: EventSubject) -> ObjectEventRecorder:
        """Return a recorder of Events about one object.

        Raises:
            InvalidValueError: If the object has no name or uid.
        """
        return self._async.for_object(obj)

    @property
    def counts(self) -> EventCounts:
        """What it has done so far."""
        return self._async.counts

    def start(self) -> None:
        """Start writing. Starting twice does nothing.

        Raises:
            ClosedError: If it was closed, or its client.
        """
        self._portal.call(self._async.start())

    def flush(self, timeout: float = _CLOSE_TIMEOUT) -> bool:
        """Wait until everything recorded so far is written or given up, the counts of series included.

        Args:
            timeout: Seconds to wait.

        Returns:
            Whether nothing is left; always False before `start`, if something was recorded.

        Raises:
            ClosedError: If the client is closed.
        """
        return self._portal.call(self._async.flush(timeout))

    def close(self, timeout: float = _CLOSE_TIMEOUT) -> None:
        """Write what is left, with one last attempt each, and end. Closing twice does nothing.

        What is recorded afterwards is dropped and counted.

        Args:
            timeout: Seconds after which it ends in any case; Events that are left are counted as failed.
        """
        with suppress(ClosedError):  # of the client, which has ended the recorder
            self._portal.call(self._async.close(timeout))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._async)


def _client_of(client: Client) -> tuple[Portal, AsyncClient]:
    if not isinstance(cast("object", client), Client):
        raise InvalidValueError(
            f"a recorder needs a masthead.Client, and was given a {type(client).__module__}.{type(client).__name__}; for an "
            "async client, use masthead.aio.EventRecorder",
            value=client,
        )
    return behind(client)
