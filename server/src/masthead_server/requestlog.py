"""The request log: a line per request, on the logger ``masthead.server.requests``."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from masthead_server.web.request import Request

__all__ = ["REQUESTS", "RequestLogLine"]

REQUESTS: Final = logging.getLogger("masthead.server.requests")
"""The logger of requests, at level INFO; silent by default."""
REQUESTS.setLevel(logging.WARNING)
_MAX_LENGTH: Final = 2000
"""Characters of a path or a user agent that are logged."""


class RequestLogLine:
    """The line of one request, logged with the head of its response: a watch need not end first.

    Args:
        incoming: The request.
    """

    __slots__ = ("_began", "_incoming")

    def __init__(self, incoming: Request) -> None:
        self._incoming = incoming
        self._began = time.perf_counter()

    def write(self, code: int) -> None:
        """Log the request with the status code of its response."""
        # The request log is off by default, and then costs nothing.
        if not REQUESTS.isEnabledFor(logging.INFO):
            return
        incoming = self._incoming
        milliseconds = (time.perf_counter() - self._began) * 1000
        agent = _printable(incoming.headers.get("User-Agent")) or "-"
        path = _printable(incoming.target)
        REQUESTS.info('%s %s %d %.1fms "%s"', incoming.method, path, code, milliseconds, agent)


def _printable(text: str) -> str:
    """Text from a client, made safe to log: no line breaks, no terminal escapes, no endless lines."""
    cut = text if len(text) <= _MAX_LENGTH else f"{text[:_MAX_LENGTH]}..."
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in cut)
