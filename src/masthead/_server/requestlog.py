"""A line for each request, for those who want to see what their clients ask: the logger ``masthead.server.requests``."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aiohttp.web_request import BaseRequest

__all__ = ["REQUESTS", "LogLine"]

REQUESTS: Final = logging.getLogger("masthead.server.requests")
"""Where requests are logged, as INFO; silent unless somebody sets its level."""
REQUESTS.setLevel(logging.WARNING)
_LONGEST: Final = 2000
"""Characters of a path or a user agent."""


class LogLine:
    """The line of one request, written when its answer begins: a watch is not waited for.

    Args:
        incoming: The request, just come in.
    """

    __slots__ = ("_began", "_incoming")

    def __init__(self, incoming: BaseRequest) -> None:
        self._incoming = incoming
        self._began = time.perf_counter()

    def write(self, code: int) -> None:
        """Log the request with the status of its answer."""
        if not REQUESTS.isEnabledFor(logging.INFO):
            return
        incoming = self._incoming
        milliseconds = (time.perf_counter() - self._began) * 1000
        agent = _printable(incoming.headers.get("User-Agent", "")) or "-"
        path = _printable(incoming.raw_path)
        REQUESTS.info('%s %s %d %.1fms "%s"', incoming.method, path, code, milliseconds, agent)


def _printable(text: str) -> str:
    """Text from a client as it can be shown: no line breaks, no escapes of terminals, no endless lines."""
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in cut)
