"""What a server says in ``Warning`` headers: deprecated versions, unknown fields, risky settings."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._errors.base import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["ServerWarning", "parse_warnings"]

_SHOWN: Final = 299
"""The code of "miscellaneous persistent warning", the only one that the API uses."""

_MOST: Final = 100
"""How many of one answer are read: each may become a line of a log."""

# code agent "text" "date", then a comma or the end (RFC 7234, section 5.5).
_VALUE: Final = re.compile(
    r'\s*(\d{3})[ \t]+([^\s"]+)[ \t]+"([^"\\]*(?:\\.[^"\\]*)*)"(?:[ \t]+"[^"]*")?\s*(?:,|$)',
    re.ASCII | re.DOTALL,
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ServerWarning:
    """One warning.

    Attributes:
        text: What the server has to say. It can be shown on a terminal: control characters are blanks.
        agent: Who says it; mostly ``-``.
        code: 299.
    """

    text: str
    agent: str = "-"
    code: int = _SHOWN


def parse_warnings(headers: Iterable[str]) -> list[ServerWarning]:
    """The warnings in the ``Warning`` headers of one answer, in their order.

    No more than a hundred of them; those of another code than 299, and those without text, are left out. A header is read up to the first thing in it
    that is no warning: what follows could be part of a text whose quotes are wrong. Nothing is ever raised.
    """
    found = (warning for header in headers for warning in _parse(header))
    return list(itertools.islice(found, _MOST))


def _parse(header: str) -> Iterator[ServerWarning]:
    position = 0
    while match := _VALUE.match(header, position):
        position = match.end()
        code, agent, quoted = int(match[1]), match[2], match[3]
        text = _printable(_ESCAPED.sub(r"\1", quoted)).strip()
        if code == _SHOWN and text:
            yield ServerWarning(text, _printable(agent), code)


def _printable(text: str) -> str:
    return " ".join(printable(text).split("\n"))
