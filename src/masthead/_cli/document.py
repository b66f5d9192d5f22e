"""Text for people: headings, fields, tables and outlines, in lines of styled spans. Pure.

All values come from a server, so no control sequence in them reaches the terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, cast

from masthead._cli.terminal import style
from masthead._errors.base import counted, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.text import Text

__all__ = ["Line", "Span", "as_rich", "as_text", "fields", "heading", "line", "outline", "table"]

Span: TypeAlias = tuple[str, str]
"""Text, and the name of its style; empty for none."""
Line: TypeAlias = tuple[Span, ...]

_STEP: Final = "  "
_GAP: Final = 3
_MAX_LABEL_WIDTH: Final = 20
_INLINE: Final = 60
"""The maximum length of a list on one line."""
_TEXT_LINES: Final = 12
"""The maximum number of lines of a text."""
_CELL: Final = 400
"""The maximum number of characters of one value."""
_MAX_DEPTH: Final = 20


def line(*spans: str | Span, indent: int = 0) -> Line:
    """Make a line of text and styled text.

    Args:
        spans: Its parts, each plain text or a pair of text and style.
        indent: How deep it is indented.
    """
    made = [(span, "") if isinstance(span, str) else span for span in spans]
    lead = [(_STEP * indent, "")] if indent else []
    return (*lead, *((clean(text), name) for text, name in made))


def heading(title: str) -> Line:
    """Make the line above a section."""
    return line((title, "bold"))


def clean(text: str) -> str:
    """One line of bounded length, without control sequences."""
    shown = printable(text).replace("\n", " ")
    # A ConfigMap's value may be a megabyte; the terminal would scroll past everything else.
    return shown if len(shown) <= _CELL else f"{shown[:_CELL]}..."


def fields(pairs: Iterable[tuple[str, object]], *, indent: int = 1) -> list[Line]:
    """Lay out labels and values below each other; empty values are left out.

    Args:
        pairs: Labels and values; a value may be a span.
        indent: How deep the lines are indented.
    """
    shown = [(label, _span(value)) for label, value in pairs if value is not None]
    shown = [(label, value) for label, value in shown if value[0]]
    width = min(_MAX_LABEL_WIDTH, max((len(label) for label, _ in shown), default=0)) + 2
    return [line((f"{label}:".ljust(width), "cyan"), value, indent=indent) for label, value in shown]


def _span(value: object) -> Span:
    return cast("Span", value) if isinstance(value, tuple) else (str(value), "")


def table(head: Sequence[str], rows: Sequence[Sequence[str | Span]], *, indent: int = 1) -> list[Line]:
    """Lay out a table; columns without a value in any row are left out.

    Args:
        head: The headings.
        rows: The cells; each may be a span.
        indent: How deep the lines are indented.
    """
    cells = [[(clean(text), name) for text, name in map(_span, row)] for row in rows]
    kept = [at for at in range(len(head)) if any(row[at][0] for row in cells)]
    every = [[(title, "dim") for title in head], *cells] if kept else []
    widths = {at: max(len(row[at][0]) for row in every) + _GAP for at in kept}
    lines: list[Line] = []
    for row in every:
        spans: list[Span] = []
        for at in kept:
            spans += [row[at], (" " * (widths[at] - len(row[at][0])), "")]
        lines.append(line(*spans[:-1], indent=indent))
    return lines


def outline(value: object, *, indent: int = 1, limit: int = 300) -> list[Line]:
    """Lay out plain data of any shape as an indented outline.

    Args:
        value: The data, in the types of JSON.
        indent: How deep it is indented.
        limit: The maximum number of lines.
    """
    lines = _outline(value, indent, _MAX_DEPTH)
    if len(lines) <= limit:
        return lines
    return [
        *lines[:limit],
        line((f"... and {counted(len(lines) - limit, 'more line')}", "dim"), indent=indent),
    ]


def _outline(value: object, indent: int, depth_left: int) -> list[Line]:
    # Custom resources without a schema may nest without end.
    if depth_left == 0:
        return [line(("...", "dim"), indent=indent)]
    if isinstance(value, dict):
        found: list[Line] = []
        for key, entry in cast("dict[object, object]", value).items():
            found += _entry(str(key), entry, indent, depth_left)
        return found
    if isinstance(value, list):
        return _items(cast("list[object]", value), indent, depth_left)
    return _text_lines(_scalar(value), indent)


def _entry(key: str, value: object, indent: int, depth_left: int) -> list[Line]:
    label = (f"{key}: ", "cyan")
    inline = _inline(value)
    if inline is not None:
        return [line(label, inline, indent=indent)]
    return [line((f"{key}:", "cyan"), indent=indent), *_outline(value, indent + 1, depth_left - 1)]


def _inline(value: object) -> str | None:
    """Return the text of a value that fits into the line of its label."""
    if isinstance(value, str):
        return value if "\n" not in value.rstrip("\n") else None
    if isinstance(value, dict):
        return "{}" if not value else None
    if not isinstance(value, list):
        return _scalar(value)
    items = cast("list[object]", value)
    if any(isinstance(item, dict | list) for item in items):
        return None
    joined = ", ".join(_scalar(item) or '""' for item in items) or "[]"
    return joined if len(joined) <= _INLINE and "\n" not in joined else None


def _items(items: list[object], indent: int, depth_left: int) -> list[Line]:
    found: list[Line] = []
    for item in items:
        inner = _outline(item, 0, depth_left - 1) or [line("{}")]
        for at, one in enumerate(inner):
            found.append(((_STEP * indent, ""), ("- " if at == 0 else "  ", "dim"), *one))
    return found


def _text_lines(text: str, indent: int) -> list[Line]:
    every = text.rstrip("\n").split("\n")
    shown = [line(text_line, indent=indent) for text_line in every[:_TEXT_LINES]]
    hidden = len(every) - len(shown)
    return [
        *shown,
        *([line((f"... and {counted(hidden, 'more line')}", "dim"), indent=indent)] if hidden else []),
    ]


def _scalar(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def as_text(lines: Iterable[Line], *, color: bool) -> str:
    """Return lines as text, each with its newline.

    Args:
        lines: The lines.
        color: Whether styles become escape sequences.
    """
    return "".join(
        "".join(style(text, name if color and text.strip() else "") for text, name in spans).rstrip() + "\n"
        for spans in lines
    )


def as_rich(lines: Iterable[Line]) -> list[Text]:
    """Return lines for a live view: each is cut where the terminal ends."""
    from rich.text import Text

    return [Text.assemble(*spans, no_wrap=True, overflow="ellipsis") for spans in lines]
