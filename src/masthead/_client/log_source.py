"""The log of one container, as it can be requested: once, or again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from masthead._client.log_pods import view_of
from masthead._client.remotecommand.containers import asks_for_container, default_container
from masthead.errors import BadRequestError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead._client.log_pods import LogPod
    from masthead._client.options import Query
    from masthead._meta.object import Object
    from masthead._rest.call import Call
    from masthead._rest.client import RestClient
    from masthead._rest.response_stream import ResponseStream

__all__ = ["LogSource"]


class LogSource:
    """Opens connections to the log of one container.

    If the server asks which of several containers is meant, the choice is kubectl's: the one that the annotation
    ``kubectl.kubernetes.io/default-container`` names, else the pod's first.

    Attributes:
        container: The container's name; empty while the server has not asked for it.
    """

    def __init__(
        self,
        rest: RestClient,
        build_call: Callable[[Query], Awaitable[Call]],
        get_pod: Callable[[], Awaitable[Object]],
        container: str = "",
    ) -> None:
        """Describe a log. Nothing is sent.

        Args:
            rest: Sends the requests.
            build_call: Builds the call of a query.
            get_pod: Reads the pod.
            container: The container's name; empty to leave it to the server.
        """
        self.container: str = container
        self._rest = rest
        self._build_call = build_call
        self._get_pod = get_pod

    @property
    def server(self) -> str:
        """The server's name in logs."""
        return self._rest.server

    @property
    def has_reached(self) -> bool:
        """Whether the client has ever reached the server."""
        return self._rest.has_reached

    async def open(self, query: Query) -> ResponseStream:
        """Open one connection.

        Raises:
            StatusError: If the server refuses.
            TransportError: If no usable response arrives.
            AuthError: If credentials cannot be obtained.
            ClosedError: If the client is closed.
        """
        is_named = any(name == "container" for name, _ in query)
        try:
            return await self._open(
                [*query, ("container", self.container)] if self.container and not is_named else query
            )
        except BadRequestError as error:
            if not asks_for_container(error):
                raise
            asked = error
        # Remembered, so that a reconnect reads the log of the same container.
        self.container = default_container((await self._get_pod()).to_dict())
        if not self.container:
            raise asked
        return await self._open([*query, ("container", self.container)])

    async def pod(self) -> LogPod | None:
        """Read the pod; None if it was deleted.

        Raises:
            MastheadError: If it cannot be read.
        """
        try:
            return view_of(await self._get_pod())
        except NotFoundError:
            return None

    async def _open(self, query: Query) -> ResponseStream:
        call = await self._build_call(query)
        # Logs are text, and an error of the server is a Status anyway.
        return await self._rest.open(msgspec.structs.replace(call, accept="*/*"))
