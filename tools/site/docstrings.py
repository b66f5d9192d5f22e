"""Markdown of a docstring in Google's style."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["to_markdown"]

_SECTION: Final = re.compile(r"[A-Z][a-z]+( [a-z]+)*:")
_LISTS: Final = frozenset({"Args:", "Attributes:", "Raises:"})
_ENTRY: Final = re.compile(r"(\*{0,2}[\w.]+)(?: \([^)]*\))?: (.*)", re.DOTALL)
_RULE: Final = re.compile(r"=+( +=+)+")
_NAME: Final = re.compile(r"(?<!`)(?<!^- )`(\w[\w.]*)`(?!`)", re.MULTILINE)


def to_markdown(docstring: str, link: Callable[[str], str | None] | None = None) -> str:
    """Write a docstring as Markdown: literal blocks as code, tables as tables, sections as lists.

    Args:
        docstring: The docstring in the code.
        link: Finds the address of a name in single backticks; None for a name without one.
    """
    lines = inspect.cleandoc(docstring).splitlines()
    text = "\n".join(_blocks(lines)).strip() + "\n"
    parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if index % 2 else _prose(part, link) for index, part in enumerate(parts))


def _blocks(lines: Sequence[str]) -> Iterator[str]:
    index = 0
    while index < len(lines):
        line = lines[index]
        if line.endswith("::"):
            block, index = _take_indented(lines, index + 1)
            yield from ([f"{line[:-1]}", ""] if len(line) > 2 else [])
            yield from _code(block)
        elif _SECTION.fullmatch(line) and index + 1 < len(lines) and lines[index + 1].startswith("    "):
            block, index = _take_indented(lines, index + 1)
            yield from ["", f"**{line[:-1]}**", "", *_section(line, block), ""]
        elif _RULE.fullmatch(line):
            table, index = _until_last_rule(lines, index)
            yield from ["", *_table(table), ""]
        else:
            yield line
            index += 1


def _take_indented(lines: Sequence[str], start: int) -> tuple[Sequence[str], int]:
    """The indented block that begins here, and the index of what follows it."""
    end = start
    while end < len(lines) and (not lines[end] or lines[end].startswith(" ")):
        end += 1
    return inspect.cleandoc("\n" + "\n".join(lines[start:end])).splitlines(), end


def _code(block: Sequence[str]) -> Iterator[str]:
    """A literal block: Python, unless it is a diagram or output."""
    text = "\n".join(block)
    try:
        compile(text, "docstring", "exec", flags=0x2000)  # a top-level await is fine
    except SyntaxError:
        language = "text"
    else:
        language = "python"
    yield from ["", f"```{language}", *block, "```", ""]


def _section(heading: str, block: Sequence[str]) -> Iterator[str]:
    if heading not in _LISTS:
        yield from _blocks(block)
        return
    for entry in _entries(block):
        found = _ENTRY.fullmatch(entry)
        yield f"- `{found[1]}`: {found[2]}" if found else f"- {entry}"


def _entries(block: Sequence[str]) -> Iterator[str]:
    """The entries of a list, each in one line: an indented line continues an entry."""
    entry: list[str] = []
    for line in block:
        if entry and not line.startswith(" "):
            yield " ".join(entry)
            entry = []
        entry.append(line.strip())
    yield " ".join(entry)


def _until_last_rule(lines: Sequence[str], start: int) -> tuple[Sequence[str], int]:
    """The lines of a simple table of reStructuredText, whose third rule is its last."""
    rules = [at for at in range(start, len(lines)) if _RULE.fullmatch(lines[at])][:3]
    return lines[start : rules[-1] + 1], rules[-1] + 1


def _table(lines: Sequence[str]) -> Iterator[str]:
    cut = re.search(r" +", lines[0])
    column = cut.end() if cut else 0
    rows: list[list[str]] = []
    for line in lines:
        first, second = line[:column].strip(), line[column:].strip()
        if _RULE.fullmatch(line):
            continue
        if first or not rows:
            rows.append([first, second])
        else:
            rows[-1][1] += f" {second}"
    for index, (first, second) in enumerate(rows):
        yield f"| {first} | {second} |"
        if not index:
            yield "|---|---|"


def _prose(text: str, link: Callable[[str], str | None] | None) -> str:
    """Text outside of code blocks: names in single backticks are linked."""

    def linked(found: re.Match[str]) -> str:
        address = link(found[1]) if link else None
        return f"[`{found[1]}`]({address})" if address else found[0]

    return _NAME.sub(linked, re.sub(r"\n{3,}", "\n\n", text))
