"""What the server warns of, and who is told."""

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
"""How many texts are told apart. They may hold names of objects, of which there is no end."""


class WarningHandler:
    """Hands each warning to a hook or, where there is none, logs each text once.

    Args:
        hook: Is told; what it raises is logged, and the call goes on.
        server: What logs call the server.
    """

    def __init__(self, hook: Callable[[ServerWarning], None] | None, server: str = "the API server") -> None:
        self._server = server
        self._hook = hook
        self._told: set[str] = set()

    def read(self, call: Call, response: TransportResponse) -> tuple[ServerWarning, ...]:
        """Pass on what an answer to a call warns of."""
        values = response.headers_of("Warning")
        if not values:
            return ()
        found = tuple(parse_warnings(values))
        for each in found:
            try:
                self._tell(call, each)
            except Exception:  # noqa: BLE001 - whatever a hook does, the call is not about it
                _log.exception("on_warning failed; the call goes on")
        return found

    def _tell(self, call: Call, warning: ServerWarning) -> None:
        if self._hook is not None:
            self._hook(warning)
        elif warning.text not in self._told:
            self._log(call, warning)

    def _log(self, call: Call, warning: ServerWarning) -> None:
        if len(self._told) == _REMEMBERED:
            self._told.clear()
        self._told.add(warning.text)
        _log.warning("%s warns: %s: %s", self._server, call.subject, warning.text)
