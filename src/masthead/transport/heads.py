"""The head of a request, as it goes over the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead.transport.contract import Request

__all__ = ["Heads"]

_WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that say nothing of a length when they have no body."""
_LENGTHS: Final = frozenset({"content-length", "transfer-encoding"})


class Heads:
    """Puts together what stands before the body.

    Args:
        base: What goes before every target.
        headers: What every request says, unless it says otherwise itself.
    """

    def __init__(self, base: str, headers: Mapping[str, str]) -> None:
        self._base = base
        self._headers = {name.lower(): f"{name}: {value}\r\n" for name, value in headers.items()}
        self._lines = "".join(self._headers.values())
        self._special = frozenset(self._headers) | _LENGTHS

    def write(self, request: Request) -> bytes:
        """The request line and all headers, to the last line break.

        Raises:
            InvalidValueError: if one of them cannot be sent. The message repeats no value.
        """
        headers = request.headers
        special = self._special.intersection([name.lower() for name, _ in headers])
        lines = self._lines if not special else self._others(special, request)
        given = "".join([f"{name}: {value}\r\n" for name, value in headers])
        body = request.body
        length = ""
        if body is not None:
            length = f"Content-Length: {len(body)}\r\n"
        elif request.method not in _WITHOUT_BODY:
            length = "Content-Length: 0\r\n"
        # Any line break more than there are lines would begin a header, or a request, that nobody wrote.
        breaks = len(headers)
        if given.count("\n") != breaks or given.count("\r") != breaks or "\0" in given:
            raise InvalidValueError(f"{_what(request)}: a header cannot be sent: it holds a line break")
        line = f"{request.method} {self._base}{request.target} HTTP/1.1\r\n"
        if line.count(" ") != 2 or line.count("\n") != 1 or line.count("\r") != 1 or "\0" in line:
            raise InvalidValueError(
                f"{_what(request)}: the target is not escaped: it holds a space or line break"
            )
        try:
            return f"{line}{lines}{given}{length}\r\n".encode()
        except UnicodeEncodeError:
            pass
        raise InvalidValueError(f"{_what(request)}: a header cannot be sent: it is no text")

    def _others(self, given: frozenset[str], request: Request) -> str:
        if given & _LENGTHS:
            raise InvalidValueError(
                f"{_what(request)}: {', '.join(sorted(given & _LENGTHS))} cannot be set: it follows from the body"
            )
        return "".join(line for name, line in self._headers.items() if name not in given)


def _what(request: Request) -> str:
    return repr(f"{request.method} {request.target.partition('?')[0]}")[1:-1]
