"""Writes one Event; knows which API the server has, and what a failure means."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from masthead._record.bodies import RESOURCES, create_body, namespace_of, patch_body
from masthead._rest.call import Call, Subject
from masthead._rest.paths import resource_path
from masthead.errors import (
    AuthError,
    ClosedError,
    ConnectError,
    NotFoundError,
    StatusError,
    TransportError,
)

if TYPE_CHECKING:
    from typing import TypeAlias

    from masthead._record.bodies import EventApi, EventSource
    from masthead._rest.client import RestClient
    from masthead._sansio.event_writes import EventWrite

__all__ = ["EventSink", "WriteFailure", "failure_of"]

_TIMEOUT: Final = 30.0
"""Seconds that one request may take."""
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_TOO_MANY_REQUESTS: Final = 429
_TEMPORARY: Final = frozenset({_TOO_MANY_REQUESTS, 502, 503, 504})
_NOT_FOUND: Final = 404
_TERMINATING: Final = "NamespaceTerminating"

Verdict: TypeAlias = Literal["retry", "refused", "quiet", "closed"]


@dataclass(frozen=True, slots=True)
class WriteFailure:
    """What a failed write means.

    Attributes:
        verdict: ``retry`` for a temporary failure; ``refused`` for a lasting one; ``quiet`` for a lasting one that needs
            nobody's attention; ``closed`` if no write is possible any more.
        kind: What failures of the same kind have in common, for logs and metrics.
        after: Seconds that the server asks for.
        is_ambiguous: Whether the server may have carried out the write.
    """

    verdict: Verdict
    kind: str
    after: float = 0.0
    is_ambiguous: bool = False


def failure_of(error: Exception) -> WriteFailure:
    """Tell temporary failures from lasting ones."""
    match error:
        case StatusError():
            # differs from client-go: its REST client retries only what comes with a Retry-After, which a load balancer
            # in front of a restarting server hardly ever sends.
            kind = error.reason_name or str(error.code)  # not its own reason, which may be anything
            if error.code in _TEMPORARY or error.retry_after:
                is_ambiguous = error.code != _TOO_MANY_REQUESTS
                return WriteFailure("retry", kind, error.retry_after or 0.0, is_ambiguous)
            is_quiet = _is_terminating(error) or is_about_namespace(error)
            return WriteFailure("quiet" if is_quiet else "refused", kind)
        case ClosedError():
            return WriteFailure("closed", "Closed")
        case TransportError() | AuthError():
            is_sent = not isinstance(error, ConnectError | AuthError)
            return WriteFailure("retry", type(error).__name__, is_ambiguous=is_sent)
        case _:
            return WriteFailure("refused", type(error).__name__)


def _is_terminating(error: StatusError) -> bool:
    causes = error.details.causes if error.details is not None else None
    return any(caus.reason == _TERMINATING for caus in causes or ())


def is_about_namespace(error: StatusError) -> bool:
    """Whether a 404 says that the namespace does not exist."""
    details = error.details
    return error.code == _NOT_FOUND and details is not None and details.kind == "namespaces"


class EventSink:
    """Writes Events to the API that the server has.

    Args:
        rest: The client.
        source: Who reports.

    Attributes:
        api: The API that the server has; None until it was asked.
    """

    def __init__(self, rest: RestClient, source: EventSource) -> None:
        self._rest = rest
        self._source = source
        self.api: EventApi | None = None
        self._choosing = asyncio.Lock()

    async def write(self, write: EventWrite) -> str:
        """Create the Event, or update its count; an Event that is gone is created anew. Return the verb.

        Raises:
            MastheadError: If it fails; see `failure_of`.
        """
        api = await self.choose()
        if not write.is_create:
            try:
                await self._patch(api, write)
            except NotFoundError:
                pass  # it has lived as long as the server keeps Events
            else:
                return "patch"
        try:
            await self._create(api, write)
        except NotFoundError as error:
            if is_about_namespace(error) or await self._choose_again() == api:
                raise
            return await self.write(write)
        return "create"

    async def choose(self) -> EventApi:
        """The API that the server has.

        Raises:
            MastheadError: If the server cannot be asked.
        """
        async with self._choosing:
            if self.api is None:
                self.api = await self._find()
            return self.api

    async def _choose_again(self) -> EventApi:
        self.api = None
        return await self.choose()

    async def _find(self) -> EventApi:
        # Discovery, which every user may read: a user who may not write to one of the APIs is refused there whether the
        # server has it or not.
        try:
            await self._rest.call(
                Call(
                    "GET",
                    "/apis/events.k8s.io/v1",
                    Subject("get", "/apis/events.k8s.io/v1"),
                    timeout=_TIMEOUT,
                    attempts=1,
                )
            )
        except NotFoundError:
            return "v1"
        except StatusError as error:
            if failure_of(error).verdict == "retry":
                raise
            # Then the write tells.
        return "events.k8s.io/v1"

    async def _create(self, api: EventApi, write: EventWrite) -> None:
        record = write.record
        namespace = namespace_of(record)
        await self._rest.call(
            Call(
                "POST",
                resource_path(RESOURCES[api], namespace=namespace),
                Subject("create", _resource(api), namespace, record.name),
                body=create_body(api, write, self._source),
                timeout=_TIMEOUT,
                attempts=1,
            )
        )

    async def _patch(self, api: EventApi, write: EventWrite) -> None:
        record = write.record
        namespace = namespace_of(record)
        await self._rest.call(
            Call(
                "PATCH",
                resource_path(RESOURCES[api], namespace=namespace, name=record.name),
                Subject("patch", _resource(api), namespace, record.name),
                body=patch_body(api, write),
                content_type=_STRATEGIC,
                timeout=_TIMEOUT,
                attempts=1,
            )
        )


def _resource(api: EventApi) -> str:
    group = RESOURCES[api].group
    return f"events.{group}" if group else "events"
