"""The head of a request, as it goes over the wire."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead.errors import InvalidValueError
from masthead.meta.secret import Hidden, Secret, revealed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead.transport.contract import Request

__all__ = ["Heads"]

_WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that say nothing of a length when they have no body."""
_LENGTHS: Final = frozenset({"content-length", "transfer-encoding"})

# A blank behind a name, or a colon in one, and servers disagree about which header it is.
_NAMES: Final = re.compile(r"(?:[!#$%&'*+.^_`|~0-9a-z-]+\n)*")
"""Names of headers in small letters, one to a line (RFC 9110, section 5.6.2)."""
_UNFIT: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""What no value may hold. A line break would begin a header, or a request, that nobody wrote."""


class Heads:
    """Puts together what stands before the body.

    Nothing here gives a name to what is secret: where a request is refused, its frames may be shown.

    Args:
        base: What goes before every target.
        headers: What every request says, unless it says otherwise itself.
    """

    def __init__(self, base: str, headers: Mapping[str, str | Secret]) -> None:
        self._base = base
        self._headers = {name.lower(): Secret(_line(name, value)) for name, value in headers.items()}
        self._lines = Secret("".join([each.reveal() for each in self._headers.values()]))
        self._special = frozenset(self._headers) | _LENGTHS

    def write(self, request: Request) -> Hidden[bytes]:
        """The request line and all headers, to the last line break.

        Raises:
            InvalidValueError: if one of them cannot be sent. The message repeats no value.
        """
        headers = request.headers
        names = [name.lower() for name, _ in headers]
        if not _NAMES.fullmatch("".join([f"{name}\n" for name in names])):
            raise InvalidValueError(
                f"{_what(request)}: a header cannot be sent: its name is empty, or holds a blank or something else that "
                "is neither a letter, a digit nor one of !#$%&'*+-.^_`|~"
            )
        if _UNFIT.search("".join([f"{revealed(value)}" for _, value in headers])):
            raise InvalidValueError(
                f"{_what(request)}: a header cannot be sent: its value holds a line break or another control character"
            )
        special = self._special.intersection(names)
        if special & _LENGTHS:
            raise InvalidValueError(
                f"{_what(request)}: {', '.join(sorted(special & _LENGTHS))} cannot be set: it follows from the body"
            )
        line = f"{request.method} {self._base}{request.target} HTTP/1.1\r\n"
        if line.count(" ") != 2 or line.count("\n") != 1 or line.count("\r") != 1 or "\0" in line:
            raise InvalidValueError(
                f"{_what(request)}: the target is not escaped: it holds a space or line break"
            )
        try:
            return Hidden(f"{line}{self._others(special)}{_given(request)}\r\n".encode())
        except UnicodeEncodeError:
            pass
        raise InvalidValueError(f"{_what(request)}: a header cannot be sent: it is no text")

    def _others(self, given: frozenset[str]) -> str:
        if not given:
            return self._lines.reveal()
        return "".join([line.reveal() for name, line in self._headers.items() if name not in given])


def _given(request: Request) -> str:
    """The lines that the request brings, and that of its body's length."""
    lines = "".join([_line(name, value) for name, value in request.headers])
    if request.body is not None:
        return f"{lines}Content-Length: {len(revealed(request.body))}\r\n"
    return lines if request.method in _WITHOUT_BODY else f"{lines}Content-Length: 0\r\n"


def _line(name: str, value: str | Secret) -> str:
    return f"{name}: {revealed(value)}\r\n"


def _what(request: Request) -> str:
    return repr(f"{request.method} {request.target.partition('?')[0]}")[1:-1]
