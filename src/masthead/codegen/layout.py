"""Lays out Python expressions as the formatter would, so that generated code needs no formatter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH: Final = 110
"""How long a line may get."""


@dataclass(frozen=True, slots=True)
class Brackets:
    """Something in brackets: a call, a signature, a list, a dict.

    Attributes:
        opening: Up to and with the opening bracket: ``Merge(``.
        parts: What stands between the commas.
        closing: From the closing bracket on.
        is_call: A call or signature, whose parts may share one line of their own.
        is_spread: One part to a line even if they would fit on one.
    """

    opening: str
    parts: Sequence[Node]
    closing: str = ")"
    is_call: bool = True
    is_spread: bool = False


Node: TypeAlias = "str | Brackets"


def lay_out(head: str, node: Node, tail: str = "", *, indent: int = 0) -> list[str]:
    """Write `head`, the node and `tail` as lines, which will be indented by so many columns."""
    if isinstance(node, str):
        return [f"{head}{node}{tail}"]
    line = f"{head}{flat(node)}{tail}"
    if not node.is_spread and (len(line) + indent <= WIDTH or not node.parts):
        return [line]
    first, last = f"{head}{node.opening}", f"{node.closing}{tail}"
    inner = ", ".join(flat(part) for part in node.parts)
    if node.is_call and not node.is_spread and indent + 4 + len(inner) <= WIDTH:
        return [first, f"    {inner}", last]
    body = [line for part in node.parts for line in lay_out("", part, ",", indent=indent + 4)]
    return [first, *(f"    {line}" for line in body), last]


def flat(node: Node) -> str:
    """The node on one line."""
    if isinstance(node, str):
        return node
    return f"{node.opening}{', '.join(flat(part) for part in node.parts)}{node.closing}"


def quoted(values: Sequence[str]) -> list[str]:
    """Strings as Python writes them."""
    return [text(value) for value in values]


def text(value: str) -> str:
    """A string as Python writes it, in double quotes."""
    escaped = repr(f"'{value}")[2:-1]  # a single quote inside makes repr choose double quotes outside
    return f'"{escaped}"' if '"' not in value else repr(value)


def tuple_of(values: Sequence[str]) -> str:
    """A tuple of strings."""
    inner = ", ".join(quoted(values))
    return f"({inner},)" if len(values) == 1 else f"({inner})"


def docstring(content: str) -> list[str]:
    """A docstring of any text, which may hold quotes and backslashes."""
    safe = content.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    lines = [line.rstrip() for line in safe.splitlines()]
    if len(lines) == 1 and not lines[0].endswith('"'):
        return [f'"""{lines[0]}"""']
    return [f'"""{lines[0]}', *lines[1:], '"""']
