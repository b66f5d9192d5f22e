"""Parse ``Warning`` headers: deprecated versions, unknown fields, risky settings."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._errors.base import printable
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["ServerWarning", "parse_warnings"]

_CODE: Final = 299
"""The code of "miscellaneous persistent warning", the only one that the API uses."""

_MAX_WARNINGS: Final = 100
"""The maximum number of warnings per response: each may become a log line."""

# code agent "text" "date", then a comma or the end (RFC 7234, section 5.5).
_VALUE: Final = re.compile(
    r'\s*(\d{3})[ \t]+([^\s"]+)[ \t]+"([^"\\]*(?:\\.[^"\\]*)*)"(?:[ \t]+"[^"]*")?\s*(?:,|$)',
    re.ASCII | re.DOTALL,
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


@set_module("masthead.rest")
@dataclass(frozen=True, slots=True)
class ServerWarning:
    """One warning of a response.

    Attributes:
        text: The text, safe for terminals: control characters are replaced by blanks.
        agent: The sending component; mostly ``-``.
        code: 299.
    """

    text: str
    agent: str = "-"
    code: int = _CODE


def parse_warnings(headers: Iterable[str]) -> list[ServerWarning]:
    """Parse the ``Warning`` headers of one response, in their order; never raises.

    At most a hundred warnings are returned. Warnings with another code than 299, or without text, are skipped. A header
    is read up to the first invalid part, because the remainder could be inside a badly quoted text.
    """
    warnings = (warning for header in headers for warning in _parse(header))
    return list(itertools.islice(warnings, _MAX_WARNINGS))


def _parse(header: str) -> Iterator[ServerWarning]:
    position = 0
    while match := _VALUE.match(header, position):
        position = match.end()
        code, agent, quoted = int(match[1]), match[2], match[3]
        text = _printable(_ESCAPED.sub(r"\1", quoted)).strip()
        if code == _CODE and text:
            yield ServerWarning(text, _printable(agent), code)


def _printable(text: str) -> str:
    return " ".join(printable(text).split("\n"))
