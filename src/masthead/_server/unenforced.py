"""Kinds whose objects are stored and have no effect; the log says so, once for each."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._server.resources.resource import ServedResource
    from masthead._server.storage import Record

__all__ = ["UnenforcedKinds"]

_log: Final = logging.getLogger("masthead.server")
_LACKING: Final[Mapping[str, str]] = {
    "limitranges": "pods get no defaults from it, and none is refused for its limits",
    "resourcequotas": "nothing is counted or refused, and its status stays empty",
}
"""What the server does not do, by the table of the kind."""


class UnenforcedKinds:
    """Warns in the log when the first object of a kind is written that has no effect here."""

    def __init__(self) -> None:
        self._warned: set[str] = set()

    def observe(self, served: ServedResource, _record: Record) -> None:
        """Look at a write."""
        lacking = _LACKING.get(served.table)
        if lacking is not None and served.table not in self._warned:
            self._warned.add(served.table)
            _log.warning("A %s is stored, but has no effect on this server: %s.", served.kind, lacking)
