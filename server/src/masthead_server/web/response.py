"""Responses: heads, framing of bodies, and streams."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from masthead_server.web.connection import HttpConnection

__all__ = ["Framing", "Response", "ResponseStream", "choose_framing", "encode_head", "has_no_body", "http_date"]

_REASONS: Final = {status.value: status.phrase for status in HTTPStatus}
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NO_BODY: Final = frozenset({204, 304})


class Framing(Enum):
    """How a client recognizes the end of a body."""

    NONE = "none"
    """There is no body."""
    LENGTH = "length"
    CHUNKED = "chunked"
    CLOSE = "close"
    """The body ends with the connection."""


@dataclass(slots=True)
class Response:
    """A response that is sent in one piece.

    Attributes:
        code: The status code.
        body: The body.
        headers: Header names and values, in order, but for those of the framing.
        close: Whether the connection ends with it.
    """

    code: int
    body: bytes = b""
    headers: Sequence[tuple[str, str]] = ()
    close: bool = False

    @classmethod
    def of_text(cls, code: int, text: str, headers: Sequence[tuple[str, str]] = (), *, close: bool = False) -> Response:
        """Make a response of plain text."""
        # Lone surrogates are bytes of a header that is no UTF-8.
        return cls(
            code, text.encode("utf-8", "replace"), [("Content-Type", "text/plain; charset=utf-8"), *headers], close
        )


def has_no_body(method: str, code: int) -> bool:
    """Tell whether a response has no body, whatever its headers say."""
    return method == "HEAD" or code in _NO_BODY or code < 200


def choose_framing(method: str, version: str, code: int, length: int | None) -> Framing:
    """Choose the framing of a response.

    Args:
        method: The method of the request.
        version: The version of HTTP that the client speaks.
        code: The status code.
        length: Bytes of the body; None if they are not known yet.
    """
    if has_no_body(method, code):
        return Framing.NONE
    if length is not None:
        return Framing.LENGTH
    return Framing.CHUNKED if version == "1.1" else Framing.CLOSE


def encode_head(code: int, headers: Iterable[tuple[str, str]], reason: str = "") -> bytes:
    """Encode the head of a response.

    Raises:
        ValueError: If a line break in a header would start another one.
    """
    lines = [f"HTTP/1.1 {code} {reason or _REASONS.get(code, 'Unknown')}"]
    lines += [f"{name}: {value}" for name, value in headers]
    encoded = "\r\n".join(lines).encode("utf-8", "surrogateescape")
    # Injected lines would let a proxied server, or a name in an error message, write headers of ours.
    if encoded.count(b"\n") != len(lines) - 1 or encoded.count(b"\r") != len(lines) - 1 or b"\0" in encoded:
        raise ValueError("a header of the response has a line break")
    return encoded + b"\r\n\r\n"


def http_date(seconds: float) -> str:
    """Format a time for the Date header, in English whatever the locale."""
    moment = time.gmtime(seconds)
    day, month = _DAYS[moment.tm_wday], _MONTHS[moment.tm_mon - 1]
    clock = f"{moment.tm_hour:02}:{moment.tm_min:02}:{moment.tm_sec:02}"
    return f"{day}, {moment.tm_mday:02} {month} {moment.tm_year} {clock} GMT"


class ResponseStream:
    """The body of a response, sent piece by piece.

    Args:
        connection: Where to send it.
        framing: How the client recognizes its end.
        length: Its bytes; None if they are not known.

    Attributes:
        is_finished: Whether the client has been sent all of it.
    """

    __slots__ = ("_connection", "_framing", "_left", "is_finished")

    def __init__(self, connection: HttpConnection, framing: Framing, length: int | None) -> None:
        self.is_finished = False
        self._connection = connection
        self._framing = framing
        self._left = length if framing is Framing.LENGTH and length is not None else 0

    async def write(self, data: bytes | memoryview) -> None:
        """Send a piece; waits while the client reads too slowly.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        size = len(data)
        if not size:
            return  # an empty chunk would be the last one
        connection = self._connection
        if self._framing is Framing.CHUNKED:
            # One buffer, so that a small piece is one packet.
            connection.write(b"".join((b"%x\r\n" % size, data, b"\r\n")))
        elif self._framing is Framing.LENGTH:
            connection.write(data[: self._left] if size > self._left else data)
            self._left = max(0, self._left - size)
        elif self._framing is Framing.CLOSE:
            connection.write(data)
        if connection.writing_paused:
            await connection.drain()

    async def finish(self) -> None:
        """End the body. A body that is shorter than announced ends with the connection, so that the client notices.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        if self._framing is Framing.CHUNKED:
            self._connection.write(b"0\r\n\r\n")
            if self._connection.writing_paused:
                await self._connection.drain()
        self.is_finished = not self._left
