"""Lays out Python code in the style of the formatter, so that generated code needs no formatting."""

from __future__ import annotations

import inspect
import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH: Final = 120
"""The maximum length of a line."""

# Quotes that would end a docstring, or join those at its ends.
_RUN_OF_QUOTES: Final = re.compile(r'("{3,}|\A"+|"+\Z)')
_BULLET: Final = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+|\s*")


@dataclass(frozen=True, slots=True)
class Brackets:
    """Something in brackets: a call, a signature, a list, a dict.

    Attributes:
        opening: The text up to the opening bracket: ``Merge(``.
        parts: The parts between the commas.
        closing: The text from the closing bracket on.
        is_call: A call or signature, whose parts may share one separate line.
        is_spread: One part to a line even if they would fit on one.
        is_tuple: A tuple, whose only part needs a comma on one line, too.
    """

    opening: str
    parts: Sequence[Node]
    closing: str = ")"
    is_call: bool = True
    is_spread: bool = False
    is_tuple: bool = False


Node: TypeAlias = "str | Brackets"


def lay_out(head: str, node: Node, tail: str = "", *, indent: int = 0) -> list[str]:
    """Write `head`, the node and `tail` as lines; `indent` is the number of columns that they will be indented by."""
    if isinstance(node, str):
        return [f"{head}{node}{tail}"]
    is_flat = not _is_spread(node)
    line = f"{head}{flat(node)}{tail}"
    if is_flat and (_fits(line, indent) or not node.parts):
        return [line]
    # On separate lines, the only element of a tuple has the comma already.
    first, last = f"{head}{node.opening}", f"{node.closing.removeprefix(',')}{tail}"
    inner = ", ".join(flat(part) for part in node.parts)
    if node.is_call and is_flat and _fits(inner, indent + 4):
        body = [inner]
    else:
        # A call's only argument goes without a comma.
        comma = "" if node.is_call and len(node.parts) == 1 and not node.is_spread else ","
        body = [line for part in node.parts for line in lay_out("", part, comma, indent=indent + 4)]
    return [first, *(f"    {line}" for line in body), last]


def _is_spread(node: Node) -> bool:
    return isinstance(node, Brackets) and (node.is_spread or any(map(_is_spread, node.parts)))


def lay_out_field(attribute: str, annotation: str, value: Node, *, indent: int) -> list[str]:
    """Write an annotated assignment as lines; `indent` is the number of columns that they will be indented by."""
    head = f"{attribute}: {annotation} = "
    opened = value.opening if isinstance(value, Brackets) else value
    if _fits(f"{head}{opened}", indent):
        return lay_out(head, value, indent=indent)
    if _fits(f"{head}(", indent) and opened not in {"[]", "{}"}:
        return [f"{head}(", *(f"    {line}" for line in lay_out("", value, indent=indent + 4)), ")"]
    if annotation.endswith("]"):
        opening, _, inner = annotation.partition("[")
        return [f"{attribute}: {opening}[", f"    {inner[:-1]}", *lay_out("] = ", value, indent=indent)]
    if annotation.endswith(" | None"):
        return [f"{attribute}: (", f"    {annotation}", *lay_out(") = ", value, indent=indent)]
    return lay_out(head, value, indent=indent)


def _fits(line: str, indent: int) -> bool:
    return len(line) + indent <= WIDTH


def flat(node: Node) -> str:
    """The node on one line."""
    if isinstance(node, str):
        return node
    comma = "," if node.is_tuple and len(node.parts) == 1 else ""
    return f"{node.opening}{', '.join(flat(part) for part in node.parts)}{comma}{node.closing}"


def quoted(values: Sequence[str]) -> list[str]:
    """The literals of strings."""
    return [text(value) for value in values]


def text(value: str) -> str:
    """The literal of a string, in double quotes unless single quotes need fewer backslashes."""
    quote = "'" if value.count('"') > value.count("'") else '"'
    escaped = "".join(f"\\{item}" if item == quote else _escape(item) for item in value)
    return f"{quote}{escaped}{quote}"


def _escape(character: str) -> str:
    is_plain = character.isprintable() and character != "\\"
    return character if is_plain else character.encode("unicode_escape").decode()


def tuple_of(values: Sequence[str], opening: str = "(") -> Brackets:
    """A tuple of strings."""
    return Brackets(opening, quoted(values), is_call=False, is_tuple=True)


def docstring(content: str, *, indent: int) -> list[str]:
    """The docstring for any text, which may contain quotes, backslashes and long lines."""
    plain = inspect.cleandoc("\n".join(re.sub(r"\s", " ", line).rstrip() for line in content.splitlines())).strip()
    width = WIDTH - indent - len('""""""')
    wrapped = [line for part in _between_quotes(plain).splitlines() for line in _wrap(part, width)]
    first, *rest = inspect.cleandoc("\n".join(wrapped)).splitlines()
    return [f'"""{first}', *rest, '"""'] if rest else [f'"""{first}"""']


def _wrap(line: str, width: int) -> list[str]:
    """Wrap a line of prose, indenting all but the first line by the width of its bullet."""
    if not line.strip():
        return [""]
    clear = _BULLET.match(line)
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * len(clear[0] if clear else ""),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _between_quotes(content: str) -> str:
    """The text, escaped for a docstring."""
    parts = _RUN_OF_QUOTES.split(content)
    parts[::2] = ["\n".join("".join(map(_escape, line)) for line in part.split("\n")) for part in parts[::2]]
    parts[1::2] = ['\\"' * len(part) for part in parts[1::2]]
    return "".join(parts)
