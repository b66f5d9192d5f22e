"""Bar charts as SVG: the same figures give the same bytes, and they can be read on a light and on a dark page.

A chart has one row for each contender and one panel for each figure, so that each figure has a scale of its own. Scales
are linear and begin at zero, and every bar says its value.
"""

from __future__ import annotations

import dataclasses
import html
import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WIDTH: Final = 880
_MARGIN: Final = 24
_GAP: Final = 28
_ROW: Final = 26
_BAR: Final = 16
_HEAD: Final = 62
_PANEL_HEAD: Final = 44
_FOOT: Final = 34
_LABEL: Final = 12.0
_LONGEST_LABEL: Final = 390.0
_PER_CHARACTER: Final = 0.58
"""The width of a character, of its size: an average of the usual fonts, on the safe side."""
_PANELS_SIDE_BY_SIDE: Final = 3

_STYLE: Final = """
svg{--page:#fff;--text:#1f2328;--faint:#656d76;--line:#d0d7de;--ours:#2563eb;--other:#9aa4b2}
@media(prefers-color-scheme:dark){svg{--page:#0d1117;--text:#e6edf3;--faint:#8d96a0;--line:#30363d;--ours:#58a6ff;--other:#6e7681}}
text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:var(--text)}
.page{fill:var(--page);stroke:var(--line)}
.title{font-size:16px;font-weight:600}
.head{font-weight:600}
.faint{fill:var(--faint);font-size:11px}
.label{text-anchor:end}
.ours{fill:var(--ours)}
.other{fill:var(--other)}
.axis{stroke:var(--line)}
""".replace("\n", "")


@dataclasses.dataclass(frozen=True)
class Panel:
    """One figure of every row.

    Attributes:
        title: What it is, and its unit.
        hint: What is better: less, or more.
        values: One for each row of the chart; None where none was measured.
        digits: How many to print behind the point.
    """

    title: str
    hint: str
    values: tuple[float | None, ...]
    digits: int = 0

    def text(self, value: float | None) -> str:
        """A value as the chart prints it."""
        return "not measured" if value is None else f"{value:,.{self.digits}f}"


@dataclasses.dataclass(frozen=True)
class Chart:
    """Rows and panels.

    Attributes:
        title: What was measured.
        subtitle: How.
        labels: Of the rows.
        emphasized: The rows that are ours.
        panels: At least one.
        footer: Where and when.
    """

    title: str
    subtitle: str
    labels: tuple[str, ...]
    emphasized: frozenset[int]
    panels: tuple[Panel, ...]
    footer: str


def to_svg(chart: Chart) -> str:
    """Draw a chart.

    Raises:
        ValueError: If a panel does not have one value for each row.
    """
    if any(len(panel.values) != len(chart.labels) for panel in chart.panels):
        raise ValueError(f"{chart.title}: every panel needs one value for each of {len(chart.labels)} rows")
    labels_end = _MARGIN + min(_LONGEST_LABEL, max(map(_width, chart.labels)))
    lines = _lines(chart.panels, WIDTH - _MARGIN - labels_end)
    line_height = _PANEL_HEAD + _ROW * len(chart.labels) + 12
    height = _HEAD + line_height * len(lines) + _FOOT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{html.escape(chart.title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="page" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>',
        _text(_MARGIN, 32, chart.title, "title"),
        _text(_MARGIN, 52, chart.subtitle, "faint"),
    ]
    for index, panels in enumerate(lines):
        parts += _line(chart, panels, labels_end, top=_HEAD + index * line_height)
    parts += [_text(_MARGIN, height - 14, chart.footer, "faint"), "</svg>"]
    return "\n".join(parts) + "\n"


def _lines(panels: tuple[Panel, ...], room: float) -> list[tuple[Panel, ...]]:
    """The panels that stand side by side: as many as have room for their titles, in lines as even as can be."""
    widest = max(_width(panel.title) for panel in panels)
    fitting = max(1, min(_PANELS_SIDE_BY_SIDE, int(room / (widest + _GAP))))
    each = math.ceil(len(panels) / math.ceil(len(panels) / fitting))
    return [panels[first : first + each] for first in range(0, len(panels), each)]


def _line(chart: Chart, panels: Sequence[Panel], labels_end: float, *, top: float) -> Iterator[str]:
    """Some panels side by side, with the labels of their rows."""
    width = (WIDTH - _MARGIN - labels_end - _GAP * (len(panels) - 1) - 12) / len(panels)
    first = top + _PANEL_HEAD
    for index, label in enumerate(chart.labels):
        yield _text(labels_end, first + index * _ROW + _BAR - 3, _shortened(label), "label")
    for index, panel in enumerate(panels):
        yield from _panel(chart, panel, labels_end + 12 + index * (width + _GAP), first, width)


def _panel(chart: Chart, panel: Panel, left: float, top: float, width: float) -> Iterator[str]:
    yield _text(left, top - 24, panel.title, "head")
    yield _text(left, top - 9, panel.hint, "faint")
    texts = [panel.text(value) for value in panel.values]
    room = max(8.0, width - max(map(_width, texts)) - 8)
    most = max((value for value in panel.values if value is not None), default=0) or 1
    for index, (value, text) in enumerate(zip(panel.values, texts, strict=True)):
        y = top + index * _ROW
        long = max(0.0, (value or 0) / most) * room
        kind = "ours" if index in chart.emphasized else "other"
        if long:
            place = f'x="{_number(left)}" y="{_number(y)}" width="{_number(max(long, 1))}" height="{_BAR}"'
            yield f'<rect class="{kind}" {place}/>'
        yield _text(left + long + 6, y + _BAR - 3, text, "" if value is not None else "faint")
    end = top + len(texts) * _ROW - (_ROW - _BAR) + 3
    yield f'<path class="axis" d="M{_number(left)} {_number(top - 3)}V{_number(end)}"/>'


def _shortened(label: str) -> str:
    most = int(_LONGEST_LABEL / _LABEL / _PER_CHARACTER)
    return label if len(label) <= most else f"{label[: most - 1]}…"


def _width(text: str) -> float:
    return len(text) * _LABEL * _PER_CHARACTER


def _text(x: float, y: float, text: str, kind: str) -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{_number(x)}" y="{_number(y)}">{html.escape(text, quote=False)}</text>'


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
