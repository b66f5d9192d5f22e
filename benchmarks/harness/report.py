"""Reports: tables to read and, as the last line, one line of JSON with the same figures."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import platform
import re
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclasses.dataclass(frozen=True)
class Target:
    """A limit that a figure should not be over, or not under.

    Attributes:
        name: What the JSON calls it.
        value: The figure.
        limit: The most that it should be, or the least.
        is_least: Whether it is the least.
    """

    name: str
    value: float
    limit: float
    is_least: bool = False

    @property
    def ok(self) -> bool:
        """Whether the figure is within the limit."""
        return self.value >= self.limit if self.is_least else self.value <= self.limit


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of figures.

    Attributes:
        name: What the JSON calls it.
        title: What they are, and their unit.
        digits: How many to print behind the point.
    """

    name: str
    title: str
    digits: int = 1


@dataclasses.dataclass(frozen=True)
class Row:
    """What was measured of one thing.

    Attributes:
        name: What the JSON calls it.
        title: What the table calls it.
        figures: One for each column; None where none was measured.
        target: What to compare with.
    """

    name: str
    title: str
    figures: tuple[float | None, ...]
    target: Target | None = None


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows that are measured alike.

    Attributes:
        name: What the JSON calls it.
        title: What is measured, and how.
        columns: What the rows' figures mean.
        rows: Them.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


@dataclasses.dataclass(frozen=True)
class Report:
    """All that a benchmark found.

    Attributes:
        benchmark: Its name.
        settings: What it was run with.
        tables: What it measured.
        notes: Remarks.
    """

    benchmark: str
    settings: dict[str, int]
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()

    @property
    def targets(self) -> list[Target]:
        """Every target of every table."""
        return [row.target for table in self.tables for row in table.rows if row.target is not None]


def unjudged(tables: Iterable[Table]) -> tuple[Table, ...]:
    """The same figures, judged by nothing: there was too little to judge by."""
    return tuple(dataclasses.replace(table, rows=tuple(map(_unjudged, table.rows))) for table in tables)


def _unjudged(row: Row) -> Row:
    return dataclasses.replace(row, target=None)


def show(report: Report) -> None:
    """Print a report."""
    print(_machine_line(machine()))
    for table in report.tables:
        print(f"\n{render(table)}")
    print()
    for note in report.notes:
        print(note)
    for line in _verdicts(report.targets):
        print(line)
    print(json.dumps(as_json(report)), flush=True)


def render(table: Table) -> str:
    """Lay a table out in aligned columns."""
    head = ("", *(column.title for column in table.columns), "target", "")
    lines = [head, *(_cells(table, row) for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join([table.title, "", *(_line(cells, widths) for cells in lines)])


def as_json(report: Report) -> dict[str, Any]:
    """A report as plain data."""
    return {
        "benchmark": report.benchmark,
        "machine": machine(),
        "settings": report.settings,
        "tables": {table.name: _table_as_json(table) for table in report.tables},
        "labels": {table.name: _labels(table) for table in report.tables},
        "targets": {
            target.name: {"value": round(target.value, 4), "limit": target.limit, "ok": target.ok}
            for target in report.targets
        },
        "notes": list(report.notes),
    }


def machine() -> dict[str, str | int | None]:
    """What the benchmark ran on."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "msgspec": metadata.version("msgspec"),
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "processor": _processor(),
        "memory_gb": _memory_gb(),
    }


def _processor() -> str:
    """The model of the processor; what the platform calls it where that is not reported."""
    with contextlib.suppress(OSError):
        found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE)
        if found is not None:
            return found[1].strip()
    return platform.processor()


def _memory_gb() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9)
    except (AttributeError, OSError, ValueError):  # no such thing on this platform
        return None


def _verdicts(targets: list[Target]) -> list[str]:
    if targets and all(each.ok for each in targets):
        return ["All targets met."]
    lines: list[str] = []
    for side, is_least in (("Over", False), ("Under", True)):
        names = [each.name for each in targets if not each.ok and each.is_least is is_least]
        if names:
            lines.append(f"{side} target: {', '.join(names)}")
    return lines


def _machine_line(facts: dict[str, str | int | None]) -> str:
    return f"{facts['python']}, msgspec {facts['msgspec']}, {facts['system']}, {facts['cpus']} CPUs"


def _labels(table: Table) -> dict[str, Any]:
    """What tables and pictures call the figures."""
    return {
        "title": table.title,
        "columns": {column.name: {"title": column.title, "digits": column.digits} for column in table.columns},
        "rows": {row.name: row.title for row in table.rows},
    }


def _table_as_json(table: Table) -> dict[str, dict[str, float | None]]:
    return {
        row.name: {
            column.name: None if figure is None else round(figure, 4)
            for column, figure in zip(table.columns, row.figures, strict=True)
        }
        for row in table.rows
    }


def _cells(table: Table, row: Row) -> tuple[str, ...]:
    figures = (
        "-" if figure is None else f"{figure:,.{column.digits}f}"
        for column, figure in zip(table.columns, row.figures, strict=True)
    )
    return (row.title, *figures, *_verdict(row.target))


def _verdict(target: Target | None) -> tuple[str, str]:
    if target is None:
        return "", ""
    sign, missed = (">=", "UNDER") if target.is_least else ("<=", "OVER")
    return f"{sign} {target.limit:g}", "ok" if target.ok else missed


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    title, *others = cells
    title_width, *other_widths = widths
    aligned = [each.rjust(width) for each, width in zip(others, other_widths, strict=True)]
    return "   ".join(["  " + title.ljust(title_width), *aligned]).rstrip()
