"""The parts of the blocking event recorder that are not generated."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, cast

from masthead._record.recorder import EventRecorder
from masthead._sync.client import Client
from masthead._sync.facade import Facade, behind
from masthead.errors import ArgumentError, ClosedError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from masthead._client.client import Client as AsyncClient
    from masthead._sync.portal import Portal, Spawn

__all__ = ["PortalEventRecorder", "RecorderFacade", "recorder_client_of"]


class PortalEventRecorder(EventRecorder):
    """A recorder that runs as a task of a portal, which ends the task before it closes the client."""

    def use(self, spawn: Spawn) -> None:
        """Start the task with a portal."""
        self._spawn = spawn


class RecorderFacade(Facade[PortalEventRecorder]):
    """The base of the blocking event recorder."""

    def __init__(self, portal: Portal, inner: PortalEventRecorder) -> None:
        super().__init__(portal, inner)
        inner.use(portal.spawn)

    def _stop(self, stop: Coroutine[object, None, None]) -> None:
        with suppress(ClosedError):  # a closed client has ended the recorder
            self._portal.call(stop)


def recorder_client_of(client: Client) -> tuple[Portal, AsyncClient]:
    """Unwrap the client of a recorder; return its portal and the async client.

    Raises:
        ArgumentError: If it is not a blocking client.
    """
    if not isinstance(cast("object", client), Client):
        raise ArgumentError(
            f"a recorder needs a masthead.Client, and was given a {type(client).__module__}.{type(client).__name__}; "
            "for an async client, use masthead.aio.EventRecorder",
            value=client,
        )
    return behind(client)
