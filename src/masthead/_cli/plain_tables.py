"""Tables without the server's columns, for ``get --server-print=false``: names and ages. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from masthead._meta.plain import part, text
from masthead._printers.ages import human_duration
from masthead._printers.printer import Column
from masthead._printers.table import PrintedRow, PrintedTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._meta.plain import Plain

__all__ = ["plain_table"]

_COLUMNS: Final = (Column("Name", "string", "name", 0, ""), Column("Age", "string", "", 0, ""))


def plain_table(objects: Sequence[Plain], *, namespaces: bool, now: datetime | None = None) -> PrintedTable:
    """Make a table of objects of any kind.

    Args:
        objects: The objects.
        namespaces: Whether its text has the namespaces.
        now: The time that ages refer to; None for the current time.
    """
    moment = now or datetime.now(UTC)
    rows = [PrintedRow((text(part(obj, "metadata"), "name"), _age(obj, moment)), obj) for obj in objects]
    return PrintedTable(_COLUMNS, tuple(rows), namespaces=namespaces)


def _age(obj: Plain, now: datetime) -> str:
    created = text(part(obj, "metadata"), "creationTimestamp")
    try:
        # As the server would print it.
        return human_duration((now - datetime.fromisoformat(created)).total_seconds())
    except (ValueError, TypeError):
        return "<unknown>"
