"""A request, and the ways to respond to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.web.request_head import split_target
from masthead_server.web.response import Framing, ResponseStream, choose_framing, encode_head

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from masthead_server.web.byte_stream import ClientStream
    from masthead_server.web.connection import HttpConnection
    from masthead_server.web.headers import Headers
    from masthead_server.web.request_body import RequestBody
    from masthead_server.web.request_head import RequestHead
    from masthead_server.web.response import Response

__all__ = ["Request"]


class Request:
    """A request whose head is complete. Its handler responds once, with `send`, `stream` or `switch`.

    Args:
        connection: Where it came from.
        head: Its head.
        body: Its body, as it arrives.

    Attributes:
        path: The path, percent-encoded.
        query: The query, percent-encoded.
        is_too_large: Whether its head exceeds the limits, so that it is refused.
        response: The response that has begun; None before.
        is_switched: Whether the connection speaks another protocol now.
    """

    __slots__ = (
        "_keep_alive", "body", "connection", "head", "is_switched", "is_too_large", "path", "query", "response",
    )  # fmt: skip

    def __init__(self, connection: HttpConnection, head: RequestHead, body: RequestBody) -> None:
        self.connection = connection
        self.head = head
        self.body = body
        self.path, self.query = split_target(head.target)
        self.is_too_large = False
        self.response: ResponseStream | None = None
        self.is_switched = False
        self._keep_alive = head.keep_alive

    @property
    def method(self) -> str:
        """The method."""
        return self.head.method

    @property
    def headers(self) -> Headers:
        """The headers."""
        return self.head.headers

    @property
    def target(self) -> str:
        """Path and query."""
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def remote(self) -> str:
        """The client's address; empty if it is unknown."""
        return self.connection.remote

    @property
    def is_upgrade(self) -> bool:
        """Whether the client asks for another protocol."""
        connection = self.headers.get_all("Connection")
        return any("upgrade" in value.lower() for value in connection) and "Upgrade" in self.headers

    @property
    def is_websocket(self) -> bool:
        """Whether the client asks for a WebSocket."""
        return self.is_upgrade and self.headers.get("Upgrade").lower() == "websocket"

    @property
    def keep_alive(self) -> bool:
        """Whether another request may follow on the connection."""
        # Without a 100 Continue, the client may send its body next, or another request.
        return self._keep_alive and not self.body.expects_continue

    async def send(self, response: Response) -> None:
        """Respond in one piece.

        Raises:
            ConnectionError: If the client has disconnected, or takes too long to read.
        """
        framing = choose_framing(self.method, self.head.version, response.code, len(response.body))
        self._keep_alive = self._keep_alive and not response.close
        # HEAD announces the length that GET would have; 204 and 304 have none.
        has_length = framing is Framing.LENGTH or (self.method == "HEAD" and response.code not in {204, 304})
        headers = [*response.headers, ("Content-Length", str(len(response.body)))] if has_length else response.headers
        # Encoded before anything is recorded: an invalid header must leave the way free for a 500.
        data = self._encode(response.code, headers)
        self.response = ResponseStream(self.connection, Framing.NONE, None)
        # One buffer, and so one packet for a small response.
        self.connection.write(data + response.body if framing is Framing.LENGTH else data)
        self.response.is_finished = True
        if self.connection.writing_paused:
            with self.connection.limit_wait():
                await self.connection.drain()

    async def stream(
        self, code: int, headers: Sequence[tuple[str, str]], *, length: int | None = None, reason: str = ""
    ) -> ResponseStream:
        """Send the head of a response; its body follows piece by piece.

        Args:
            code: The status code.
            headers: Headers but for those of the framing.
            length: Bytes of the body; None if they are not known yet.
            reason: The text behind the code; the usual one if it is empty.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        framing = choose_framing(self.method, self.head.version, code, length)
        added: list[tuple[str, str]] = []
        if length is not None and code not in {204, 304}:
            added.append(("Content-Length", str(length)))
        elif framing is Framing.CHUNKED:
            added.append(("Transfer-Encoding", "chunked"))
        elif framing is Framing.CLOSE:
            self._keep_alive = False
        data = self._encode(code, [*headers, *added], reason)
        self.response = ResponseStream(self.connection, framing, length)
        self.body.discard_unread()
        self.connection.write(data)
        await self.connection.drain()
        return self.response

    def close_after_response(self) -> None:
        """End the connection behind the response."""
        self._keep_alive = False

    async def switch(self, headers: Iterable[tuple[str, str]]) -> ClientStream:
        """Switch to another protocol, with a 101; returns the bytes behind it.

        Args:
            headers: Headers of the response, of which one names the protocol.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        # What is left of a body must not pass for bytes of the new protocol.
        if not self.body.is_complete:
            await self.body.wait_complete()
        self.is_switched = True
        data = encode_head(101, [*headers, ("Connection", "Upgrade"), ("Date", self.connection.server.date())])
        self.connection.write(data)
        stream = self.connection.switch_protocol()
        await self.connection.drain()
        return stream

    def _encode(self, code: int, headers: Sequence[tuple[str, str]], reason: str = "") -> bytes:
        added = [*headers, ("Date", self.connection.server.date())]
        if not self.keep_alive:
            added.append(("Connection", "close"))
        elif self.head.version == "1.0":
            added.append(("Connection", "keep-alive"))
        return encode_head(code, added, reason)
