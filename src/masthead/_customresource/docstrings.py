"""Documentation of classes and of their fields, from docstrings."""

from __future__ import annotations

import inspect
import re
from typing import Final

__all__ = ["attribute_docs", "summary_of"]

_SECTION: Final = re.compile(
    r"^(Args|Arguments|Attributes|Example|Examples|Note|Notes|Raises|Returns|See Also|Yields):$"
)
_ENTRY: Final = re.compile(r"^(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")


def summary_of(cls: type) -> str:
    """Return the docstring of a class without its sections; empty if it has none of its own."""
    lines = _lines_of(cls)
    end = next((index for index, line in enumerate(lines) if _SECTION.match(line)), len(lines))
    return _joined(lines[:end])


def attribute_docs(cls: type) -> dict[str, str]:
    """Return the documentation of attributes in the ``Attributes:`` sections of a class and its bases."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        found |= _entries(_lines_of(base))
    return found


def _lines_of(cls: type) -> list[str]:
    text = vars(cls).get("__doc__")
    return inspect.cleandoc(text).splitlines() if isinstance(text, str) else []


def _entries(lines: list[str]) -> dict[str, str]:
    """Read the entries of an ``Attributes:`` section: a name, a colon, and text that goes on in deeper lines."""
    entries: dict[str, list[str]] = {}
    name, depth, is_inside = "", 0, False
    for line in lines:
        if _SECTION.match(line):
            is_inside, name, depth = line == "Attributes:", "", 0
            continue
        indent = len(line) - len(line.lstrip())
        if not is_inside or not line.strip():
            if name:
                entries[name].append("")
            continue
        if indent == 0:
            is_inside = False
            continue
        depth = depth or indent
        if indent <= depth and (entry := _ENTRY.match(line.strip())):
            name = entry[1]
            entries[name] = [entry[2]]
        elif name:
            entries[name].append(line.strip())
    return {name: _joined(each) for name, each in entries.items()}


def _joined(lines: list[str]) -> str:
    """Join the lines of each paragraph: documentation is wrapped by whoever shows it."""
    text = "\n".join(line.strip() for line in lines).strip()
    return "\n\n".join(" ".join(each.split("\n")) for each in re.split(r"\n{2,}", text)) if text else ""
