"""Bytes in, answers out: HTTP/1.1 as llhttp reads it, and what it leaves to its user.

llhttp is strict about lengths that contradict each other. What is left: which answers have no body, where a body ends
that says nothing about it, how much is too much, and what may not come at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

if TYPE_CHECKING:
    from masthead._transport.incoming_response import IncomingResponse

__all__ = ["Parser"]

_LONGEST: Final = 2**17
"""How many bytes of a head, or between two pieces of a body, are put up with."""
_HEADER: Final = 32
"""What each header counts beside its letters, so that there are not ten thousands of empty ones."""
_FIRST_FINAL: Final = 200
_SWITCHING: Final = 101


class _RefusedError(Exception):
    """Stops llhttp; it never gets further than that."""


class Parser:
    """Fills one answer after the other with what comes over a connection.

    Attributes:
        can_go_on: Whether another answer may follow the one that is complete.
    """

    def __init__(self) -> None:
        self.can_go_on = False
        self._response: IncomingResponse | None = None
        self._is_bodiless = False
        self._has_moved = False
        self._idle_bytes = 0
        self._header_bytes = 0
        self._llhttp: HttpResponseParser | None = HttpResponseParser(self)

    def begin(self, response: IncomingResponse, method: str) -> None:
        """The next bytes are the answer to a request of this method."""
        if self._is_bodiless:  # llhttp does not know of HEAD, and waits for the body
            self._llhttp = HttpResponseParser(self)
        self._response = response
        self._is_bodiless = method == "HEAD"
        self._idle_bytes = self._header_bytes = 0

    def feed(self, data: bytes | memoryview) -> bool:
        """Read on.

        Returns:
            Whether it makes sense. What comes after a complete answer does not matter to that answer.
        """
        response = self._response
        assert response is not None
        assert self._llhttp is not None
        self._has_moved = False
        try:
            self._llhttp.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self.can_go_on = False
            return response.is_complete
        self._idle_bytes = 0 if self._has_moved else self._idle_bytes + len(data)
        return self._idle_bytes <= _LONGEST

    def end(self) -> bool:
        """There are no more bytes. Whether that completes the answer, because nothing else tells its length."""
        response = self._response
        assert response is not None
        if (
            not response.status
            or b"content-length" in response.headers
            or b"transfer-encoding" in response.headers
        ):
            return False
        response.is_complete = True
        return True

    def close(self) -> None:
        """Let go of llhttp, which holds on to its user, so that both can go at once."""
        self._llhttp = None

    # -- What llhttp calls ---------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Something begins: an answer, or what nobody asked for."""
        if self._response is None or self._response.is_complete:
            self.can_go_on = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer, which nobody reads."""
        self._header_bytes += len(name) + len(value) + _HEADER
        if self._header_bytes > _LONGEST:
            raise _RefusedError
        response = self._response
        if response is not None and not response.status:
            response.headers.setdefault(name.lower(), []).append(value)

    def on_headers_complete(self) -> None:
        """The head of an answer, or of one that only says that the answer is on its way."""
        response, llhttp = self._response, self._llhttp
        if response is None or llhttp is None or response.status:
            return
        status = llhttp.get_status_code()
        if status < _FIRST_FINAL:
            if status < 100 or status == _SWITCHING:  # nobody asked to switch
                raise _RefusedError
            response.headers.clear()
            return
        codings = response.headers.get(b"transfer-encoding")
        if codings is not None and [each.strip().lower() for each in codings] != [b"chunked"]:
            raise _RefusedError
        response.status = status
        self._has_moved = True
        self.can_go_on = llhttp.should_keep_alive()
        if self._is_bodiless:
            response.is_complete = True

    def on_body(self, piece: bytes) -> None:
        """A piece of the body; or of one that there may not be."""
        response = self._response
        if response is None or response.is_complete:
            self.can_go_on = False
            return
        self._has_moved = True
        response.put(piece)

    def on_message_complete(self) -> None:
        """The end, unless only of a word in between."""
        if self._response is not None and self._response.status:
            self._response.is_complete = True
