"""Encodes request lines and headers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._meta.secret import Secret, SecretValue, reveal
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead._transport.contract import TransportRequest

__all__ = ["RequestHeadEncoder"]

_WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods without a ``Content-Length`` when they have no body."""
_LENGTHS: Final = frozenset({"content-length", "transfer-encoding"})

# Servers disagree about a header whose name has a blank after it or a colon inside.
_NAMES: Final = re.compile(r"(?:[!#$%&'*+.^_`|~0-9a-z-]+\n)*")
"""Header names in lower case, one per line (RFC 9110, section 5.6.2)."""
_USUAL: Final = frozenset({"user-agent", "accept", "authorization", "content-type"})


class RequestHeadEncoder:
    """Encodes the head of a request.

    No variable here holds a secret: when a request is rejected, its frames may appear in a traceback.

    Args:
        base: Precedes every target.
        headers: The headers of every request, unless it sets them itself.
    """

    def __init__(self, base: str, headers: Mapping[str, str | Secret]) -> None:
        self._base = base
        self._headers = {name.lower(): SecretValue(_join_lines([(name, value)])) for name, value in headers.items()}
        self._lines = SecretValue(b"".join([header.reveal() for header in self._headers.values()]))
        self._special = frozenset(self._headers) | _LENGTHS

    def write(self, request: TransportRequest) -> SecretValue[bytes]:
        """The request line and all headers, with the final line break.

        Raises:
            ArgumentError: If one of them is invalid. The message repeats no value.
        """
        headers = request.headers
        names = [name.lower() for name, _ in headers]
        if not _USUAL.issuperset(names) and not _NAMES.fullmatch("".join([f"{name}\n" for name in names])):
            raise ArgumentError(
                f"{_what(request)}: a header cannot be sent: its name is empty, or holds something other than letters, "
                "digits and !#$%&'*+-.^_`|~"
            )
        special = self._special.intersection(names)
        if special & _LENGTHS:
            raise ArgumentError(
                f"{_what(request)}: {', '.join(sorted(special & _LENGTHS))} cannot be set: it follows from the body"
            )
        line = f"{request.method} {self._base}{request.target} HTTP/1.1\r\n"
        if line.count(" ") != 2 or line.count("\n") != 1 or line.count("\r") != 1 or "\0" in line:
            raise ArgumentError(f"{_what(request)}: the target is not escaped: it holds a space or line break")
        others = self._lines if not special else self._omit(special)
        has_length = request.body is not None or request.method not in _WITHOUT_BODY
        first, own_lines = b"", None
        try:
            first = line.encode()
            own_lines = SecretValue(_join_lines(headers))
        except UnicodeEncodeError:
            pass
        if own_lines is None:  # raised here, because Python's error holds the text
            raise ArgumentError(f"{_what(request)}: a header cannot be sent: it cannot be encoded")
        if _has_other_breaks(own_lines.reveal(), len(headers)):
            raise ArgumentError(f"{_what(request)}: a header cannot be sent: it holds a line break or NUL")
        return SecretValue(
            b"".join(
                (first, others.reveal(), own_lines.reveal(), _length_line(request) if has_length else b"", b"\r\n")
            )
        )

    def _omit(self, given: frozenset[str]) -> SecretValue[bytes]:
        return SecretValue(b"".join([line.reveal() for name, line in self._headers.items() if name not in given]))


def _join_lines(headers: Sequence[tuple[str, str | Secret]]) -> bytes:
    lines = [f"{name}: {value.reveal() if isinstance(value, Secret) else value}\r\n" for name, value in headers]
    return "".join(lines).encode()


def _has_other_breaks(lines: bytes, count: int) -> bool:
    """Whether there are more line breaks than lines, which could inject a header or a request."""
    return lines.count(b"\n") != count or lines.count(b"\r") != count or b"\0" in lines


def _length_line(request: TransportRequest) -> bytes:
    return b"Content-Length: %d\r\n" % (0 if request.body is None else len(reveal(request.body)))


def _what(request: TransportRequest) -> str:
    return repr(f"{request.method} {request.target.partition('?')[0]}")[1:-1]
