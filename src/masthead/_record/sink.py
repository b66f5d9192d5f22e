"""Writes one Event: chooses the API, and classifies failures."""

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
"""The timeout of one request, in seconds."""
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_TOO_MANY_REQUESTS: Final = 429
_TEMPORARY: Final = frozenset({_TOO_MANY_REQUESTS, 502, 503, 504})
_NOT_FOUND: Final = 404
_TERMINATING: Final = "NamespaceTerminating"

Verdict: TypeAlias = Literal["retry", "refused", "quiet", "closed"]


@dataclass(frozen=True, slots=True)
class WriteFailure:
    """The class of a failed write.

    Attributes:
        verdict: ``retry`` for a temporary failure; ``refused`` for a lasting one; ``quiet`` for a lasting failure
            without need for attention; ``closed`` if no further write is possible.
        kind: The kind of failure, for logs and metrics.
        after: The delay that the server asks for, in seconds.
        is_ambiguous: Whether the server may have performed the write.
    """

    verdict: Verdict
    kind: str
    after: float = 0.0
    is_ambiguous: bool = False


def failure_of(error: Exception) -> WriteFailure:
    """Classify an error as temporary or lasting."""
    match error:
        case StatusError():
            # differs from client-go: its REST client retries only with a Retry-After, which a load balancer in front
            # of a
            # restarting server hardly ever sends.
            kind = error.reason_name or str(error.code)  # a label of metrics: the server's own reason is unbounded
            if error.code in _TEMPORARY or error.retry_after:
                is_ambiguous = error.code != _TOO_MANY_REQUESTS
                return WriteFailure("retry", kind, error.retry_after or 0.0, is_ambiguous)
            is_quiet = _is_terminating(error) or is_about_namespace(error)
            return WriteFailure("quiet" if is_quiet else "refused", kind)
        case ClosedError():
            return WriteFailure("closed", "Closed")
        case TransportError() | AuthError():
            # Nothing was sent without a connection or a credential.
            is_sent = not isinstance(error, ConnectError | AuthError)
            return WriteFailure("retry", type(error).__name__, is_ambiguous=is_sent)
        case _:
            return WriteFailure("refused", type(error).__name__)


def _is_terminating(error: StatusError) -> bool:
    causes = error.details.causes if error.details is not None else None
    return any(cause.reason == _TERMINATING for cause in causes or ())


def is_about_namespace(error: StatusError) -> bool:
    """Whether a 404 is about a missing namespace."""
    details = error.details
    return error.code == _NOT_FOUND and details is not None and details.kind == "namespaces"


class EventSink:
    """Writes Events to the newest API that the server supports.

    Args:
        rest: The client.
        source: The reporting controller.

    Attributes:
        api: The chosen API; None before the first write.
    """

    def __init__(self, rest: RestClient, source: EventSource) -> None:
        self._rest = rest
        self._source = source
        self.api: EventApi | None = None
        # Many Events start at the same time; one discovery request serves all.
        self._choosing = asyncio.Lock()

    async def write(self, write: EventWrite) -> str:
        """Create the Event, or update its count; a deleted Event is created again. Return the verb.

        Raises:
            MastheadError: If it fails; see `failure_of`.
        """
        api = await self.choose()
        if not write.is_create:
            try:
                await self._patch(api, write)
            except NotFoundError:
                pass  # expired: servers delete Events after an hour
            else:
                return "patch"
        try:
            await self._create(api, write)
        except NotFoundError as error:
            # A server that was downgraded meanwhile may have lost the API.
            if is_about_namespace(error) or await self._choose_again() == api:
                raise
            return await self.write(write)
        return "create"

    async def choose(self) -> EventApi:
        """Choose the API, once.

        Raises:
            MastheadError: If discovery fails.
        """
        async with self._choosing:
            if self.api is None:
                self.api = await self._find()
            return self.api

    async def _choose_again(self) -> EventApi:
        self.api = None
        return await self.choose()

    async def _find(self) -> EventApi:
        # Discovery, because every user may read it. A trial write would not do: a user without permission is refused
        # whether the API exists or not.
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
            # The write itself will fail with the reason.
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
