"""Parses HTTP/1.1 responses with llhttp, and checks what llhttp leaves to its user.

llhttp rejects contradicting lengths. Left to us: which responses have no body, where a body without a length
ends, size limits, and unsolicited responses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

if TYPE_CHECKING:
    from masthead._transport.incoming_response import IncomingResponse

__all__ = ["Parser"]

_MAX_HEAD_BYTES: Final = 2**17
"""The maximum size of a head, and of the framing between two pieces of a body, in bytes."""
_HEADER: Final = 32
"""What each header counts besides its characters, so that there cannot be tens of thousands of empty ones."""
_FIRST_FINAL: Final = 200
_SWITCHING: Final = 101


class _RefusedError(Exception):
    """Stops llhttp; it never leaves this module."""


class Parser:
    """Parses the bytes of a connection into one response after the other.

    Attributes:
        can_reuse: Whether the connection can be reused after the complete response.
    """

    def __init__(self) -> None:
        self.can_reuse = False
        self._response: IncomingResponse | None = None
        self._is_bodiless = False
        self._may_upgrade = False
        self._is_upgraded = False
        self._has_moved = False
        self._idle_bytes = 0
        self._header_bytes = 0
        self._llhttp: HttpResponseParser | None = HttpResponseParser(self)

    def begin(self, response: IncomingResponse, method: str, *, is_upgrade: bool = False) -> None:
        """Start with the response to a request of this method, which may ask for another protocol."""
        if self._is_bodiless:  # llhttp does not know of HEAD, and waits for the body
            self._llhttp = HttpResponseParser(self)
        self._response = response
        self._is_bodiless = method == "HEAD"
        self._may_upgrade = is_upgrade
        self._idle_bytes = self._header_bytes = 0

    def feed(self, data: bytes | memoryview) -> bool:
        """Parse more bytes.

        Returns:
            Whether the response is valid so far. Bytes after a complete response do not invalidate it.
        """
        response = self._response
        assert response is not None
        assert self._llhttp is not None
        if self._is_upgraded:
            response.put(bytes(data))
            return True
        self._has_moved = False
        try:
            self._llhttp.feed_data(data)
        except HttpParserUpgrade as upgrade:
            self.can_reuse = False
            return self._begin_upgraded(response, bytes(data[upgrade.args[0] :]))
        except HttpParserError:
            # Where a next response would begin is unknown now.
            self.can_reuse = False
            return response.is_complete
        # Bounds what a server can send without getting any further.
        self._idle_bytes = 0 if self._has_moved else self._idle_bytes + len(data)
        return self._idle_bytes <= _MAX_HEAD_BYTES

    def _begin_upgraded(self, response: IncomingResponse, data: bytes) -> bool:
        """Bytes that came with the head of a 101; returns whether such a response is valid."""
        if self._is_upgraded and data:
            response.put(data)
        return self._is_upgraded or response.is_complete

    def end(self) -> bool:
        """The connection has ended. Returns whether that completes the response, because its length is not declared."""
        response = self._response
        assert response is not None
        # Without either header, the body ends with the connection (RFC 9112, 6.3); with one, it is cut short.
        has_length = b"content-length" in response.headers or b"transfer-encoding" in response.headers
        if not response.status or (has_length and not self._is_upgraded):
            return False
        response.is_complete = True
        return True

    def close(self) -> None:
        """Release llhttp, to break the reference cycle with it."""
        self._llhttp = None

    # Called by llhttp:

    def on_message_begin(self) -> None:
        """A response begins, perhaps an unsolicited one."""
        if self._response is None or self._response.is_complete:
            self.can_reuse = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer, which is ignored."""
        self._header_bytes += len(name) + len(value) + _HEADER
        # A server could otherwise fill the memory with headers.
        if self._header_bytes > _MAX_HEAD_BYTES:
            raise _RefusedError
        response = self._response
        if response is not None and not response.status:
            response.headers.setdefault(name.lower(), []).append(value)

    def on_headers_complete(self) -> None:
        """The head of a response, final or informational, is complete."""
        response, llhttp = self._response, self._llhttp
        if response is None or llhttp is None or response.status:
            return
        status = llhttp.get_status_code()
        if status < _FIRST_FINAL:
            if status < 100:
                raise _RefusedError
            if status == _SWITCHING:
                self._upgrade(response)
            else:
                response.headers.clear()
            return
        codings = response.headers.get(b"transfer-encoding")
        if codings is not None and [coding.strip().lower() for coding in codings] != [b"chunked"]:
            raise _RefusedError
        response.status = status
        self._has_moved = True
        self.can_reuse = llhttp.should_keep_alive()
        if self._is_bodiless:
            response.is_complete = True

    def on_body(self, piece: bytes) -> None:
        """A piece of the body, perhaps of a response without one."""
        response = self._response
        if response is None or response.is_complete:
            self.can_reuse = False
            return
        self._has_moved = True
        response.put(piece)

    def on_message_complete(self) -> None:
        """The end of a response, final or informational."""
        if self._response is not None and self._response.status and not self._is_upgraded:
            self._response.is_complete = True

    def _upgrade(self, response: IncomingResponse) -> None:
        """From here on, bytes are not HTTP: they are the body, which ends with the connection."""
        # Without the header, llhttp would take the bytes for another response.
        if not self._may_upgrade or b"upgrade" not in response.headers:
            raise _RefusedError
        response.status = _SWITCHING
        self._is_upgraded = self._has_moved = True
        self.can_reuse = False
