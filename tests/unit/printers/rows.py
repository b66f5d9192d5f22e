"""Rows of single objects, for tests of their cells."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from masthead._printers.kinds import printer_for

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
EARLIER = "2026-05-04T03:00:01Z"
BEFORE = "2026-05-04T02:00:01Z"
Plain = dict[str, Any]
SELECTOR: Plain = {
    "matchLabels": {"app": "web"},
    "matchExpressions": [{"key": "tier", "operator": "In", "values": ["b", "a"]}],
}


def row(group: str, kind: str, obj: Plain) -> list[object]:
    """The cells, without the name if it is first and the age wherever it is."""
    printer = printer_for(group, kind)
    metadata = {"name": "x", "creationTimestamp": EARLIER, **obj.get("metadata", {})}
    cells = printer.cells({**obj, "metadata": metadata}, NOW)
    shown = zip(printer.columns, cells, strict=False)
    return [cell for column, cell in shown if column.name != "Age" and (column.name != "Name" or cell != "x")]
