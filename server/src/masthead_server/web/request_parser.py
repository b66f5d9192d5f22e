"""Parses the bytes of a connection into requests, with llhttp."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn, Protocol

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from masthead_server.head_limits import HEADER_COUNT_LIMIT
from masthead_server.web.request_head import BadRequestError, check_head

if TYPE_CHECKING:
    from masthead_server.web.request_head import RequestHead

__all__ = ["TOO_LARGE", "RequestParser", "RequestReceiver"]

TOO_LARGE: Final = "431 Request Header Fields Too Large"


class RequestReceiver(Protocol):
    """Takes what the parser finds."""

    def on_request(self, head: RequestHead) -> None:
        """The head of a request is complete.

        Raises:
            BadRequestError: If the request is refused.
        """
        ...

    def on_body(self, piece: bytes) -> None:
        """Bytes of the body have arrived."""
        ...

    def on_end(self) -> None:
        """The request is complete."""
        ...


class RequestParser:
    """Parses one request after the other.

    Args:
        receiver: Takes the requests.

    Attributes:
        heads: Heads that were completed during the last call of `feed`.
        body_size: Bytes of bodies that arrived during the last call of `feed`.
        is_in_body: Whether a body is arriving.
    """

    def __init__(self, receiver: RequestReceiver) -> None:
        self.heads = 0
        self.body_size = 0
        self.is_in_body = False
        self._receiver: RequestReceiver | None = receiver
        self._llhttp: HttpRequestParser | None = HttpRequestParser(self)
        self._target = b""
        self._fields: list[tuple[bytes, bytes]] = []
        self._trailers = 0
        self._is_last = False
        self._refusal: BadRequestError | None = None

    def feed(self, data: bytes) -> bytes | None:
        """Parse more bytes.

        Returns:
            None; behind a request for another protocol, the bytes that follow it, which may be HTTP or not.

        Raises:
            BadRequestError: If the bytes are no valid requests. Nothing can be parsed after that.
        """
        self.heads = self.body_size = 0
        if self._llhttp is None or (self._is_last and not self.is_in_body):
            return None  # the client has said that it sends nothing more
        try:
            self._llhttp.feed_data(data)
        except HttpParserUpgrade as upgrade:
            # llhttp stops here, and has resumed itself: what follows may be fed again as HTTP.
            return data[upgrade.args[0] :]
        except HttpParserError as error:
            # Bytes behind the last request are an error to llhttp; Go's server ignores them.
            if self._is_last and not self.is_in_body:
                return None
            raise self._refusal or BadRequestError(400, f"Bad Request: {error}") from None
        return None

    def close(self) -> None:
        """Release llhttp and the receiver, to break the reference cycles with them."""
        self._llhttp = self._receiver = None

    # Called by llhttp:

    def on_message_begin(self) -> None:
        """A request begins."""
        self._target = b""
        self._fields = []
        self._trailers = 0

    def on_url(self, piece: bytes) -> None:
        """A part of the target has arrived."""
        self._target += piece

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header has arrived, or a trailer, which is ignored."""
        # Trailers could contradict the head that was already checked.
        if self.is_in_body:
            self._trailers += 1
        else:
            self._fields.append((name, value))
        # Each costs far more memory than its bytes.
        if len(self._fields) + self._trailers > HEADER_COUNT_LIMIT:
            self._refuse(BadRequestError(431, TOO_LARGE))

    def on_headers_complete(self) -> None:
        """The head is complete."""
        llhttp, receiver = self._llhttp, self._receiver
        assert llhttp is not None
        assert receiver is not None
        self.heads += 1
        try:
            head = check_head(
                llhttp.get_method().decode("ascii"),
                self._target,
                llhttp.get_http_version(),
                self._fields,
                keep_alive=llhttp.should_keep_alive(),
                is_upgrade=llhttp.should_upgrade(),
            )
            receiver.on_request(head)
        except BadRequestError as refusal:
            self._refuse(refusal)
        else:
            self.is_in_body = True
            self._is_last = not head.keep_alive

    def on_body(self, piece: bytes) -> None:
        """Bytes of the body have arrived."""
        self.body_size += len(piece)
        if self._receiver is not None:
            self._receiver.on_body(piece)

    def on_message_complete(self) -> None:
        """The request is complete."""
        self.is_in_body = False
        if self._receiver is not None:
            self._receiver.on_end()

    def _refuse(self, refusal: BadRequestError) -> NoReturn:
        # llhttp wraps whatever a callback raises.
        self._refusal = refusal
        raise refusal
