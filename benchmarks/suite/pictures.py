"""Results as charts."""

from __future__ import annotations

import dataclasses
import fnmatch
from typing import TYPE_CHECKING, Any, Final

from benchmarks.suite.charts import Chart, Panel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.suite.catalog import Benchmark, Figure, Picture
    from benchmarks.suite.results import Result

_OTHERS: Final = (
    "asyncio.Queue",
    "bare interpreter",
    "bare sockets",
    "client-go",
    "json.loads",
    "kopf",
    "kr8s",
    "kube-apiserver",
    "kubernetes",
    "lightkube",
    "msgspec",
)
"""How the titles of rows begin that are not ours."""


@dataclasses.dataclass(frozen=True)
class Drawing:
    """A chart, and the name of its file.

    Attributes:
        file: The name.
        chart: What is drawn.
    """

    file: str
    chart: Chart


def drawings(benchmark: Benchmark, result: Result) -> list[Drawing]:
    """The charts of a result: those for which it has figures."""
    charts = ((picture, chart_of(picture, result)) for picture in benchmark.pictures)
    return [Drawing(f"{picture.name}.svg", chart) for picture, chart in charts if chart is not None]


def chart_of(picture: Picture, result: Result) -> Chart | None:
    """The chart of a picture; None if nothing of it was measured."""
    tables = {figure: _table_of(figure, result) for figure in picture.figures}
    found = {figure: table for figure, table in tables.items() if table is not None}
    if not found:
        return None
    first = next(iter(found.values()))
    labels: Mapping[str, str] = result.report["labels"][first]["rows"]
    rows = [name for name in labels if any(fnmatch.fnmatch(name, row) for row in picture.rows)]
    titles = tuple(labels[name].strip() for name in rows)
    return Chart(
        picture.title,
        picture.subtitle or result.report["labels"][first]["title"],
        titles,
        frozenset(index for index, title in enumerate(titles) if not title.startswith(_OTHERS)),
        tuple(_panel(figure, table, rows, result.report) for figure, table in found.items()),
        f"{result.date} · {result.place} · masthead {result.versions['masthead']}",
    )


def _table_of(figure: Figure, result: Result) -> str | None:
    """The name of the first table that has a figure; None if there is none."""
    for name, labels in result.report["labels"].items():
        if fnmatch.fnmatch(name, figure.table) and figure.column in labels["columns"]:
            return str(name)
    return None


def _panel(figure: Figure, table: str, rows: list[str], report: Mapping[str, Any]) -> Panel:
    figures: Mapping[str, Mapping[str, float | None]] = report["tables"][table]
    digits: int = report["labels"][table]["columns"][figure.column]["digits"]
    values = tuple(figures.get(row, {}).get(figure.column) for row in rows)
    return Panel(figure.title, figure.hint, values, digits)
