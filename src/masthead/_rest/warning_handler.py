"""Warnings of the server: passed to a callback, or logged."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from masthead._sansio.warnings import parse_warnings

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._rest.call import Call
    from masthead._sansio.warnings import ServerWarning
    from masthead._transport.contract import TransportResponse

__all__ = ["WarningHandler"]

_log: Final = logging.getLogger("masthead.rest")

_REMEMBERED: Final = 1000
"""How many texts are remembered as logged. They may hold names of objects, so their number is unbounded."""


class WarningHandler:
    """Passes each warning to a callback or, without one, logs each text once.

    Args:
        callback: Called with each warning; its exceptions are logged, and the call continues.
        server: The server's name in logs.
    """

    def __init__(self, callback: Callable[[ServerWarning], None] | None, server: str = "the API server") -> None:
        self._server = server
        self._callback = callback
        self._logged: set[str] = set()

    def read(self, call: Call, response: TransportResponse) -> tuple[ServerWarning, ...]:
        """Handle the warnings of a response, and return them."""
        values = response.headers_of("Warning")
        if not values:
            return ()
        found = tuple(parse_warnings(values))
        for warning in found:
            try:
                self._handle(call, warning)
            except Exception:  # noqa: BLE001 - a failing callback must not fail the call
                _log.exception("on_warning failed; the call goes on")
        return found

    def _handle(self, call: Call, warning: ServerWarning) -> None:
        if self._callback is not None:
            self._callback(warning)
        elif warning.text not in self._logged:
            self._log(call, warning)

    def _log(self, call: Call, warning: ServerWarning) -> None:
        # Forgetting all of them is simple, and at worst logs a text again.
        if len(self._logged) == _REMEMBERED:
            self._logged.clear()
        self._logged.add(warning.text)
        _log.warning("%s warns: %s: %s", self._server, call.subject, warning.text)
