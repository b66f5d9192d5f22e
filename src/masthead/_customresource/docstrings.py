"""Documentation of classes and fields, from docstrings."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from masthead._meta.apitype import ApiType

__all__ = ["attribute_docs", "summary_of"]

_SECTION: Final = re.compile(
    r"^(Args|Arguments|Attributes|Example|Examples|Note|Notes|Raises|Returns|See Also|Yields):$"
)
_ENTRY: Final = re.compile(r"^(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")


def summary_of(cls: ApiType) -> str:
    """Return the docstring of a class without its sections; empty if it has only an inherited one."""
    lines = _lines_of(cls)
    end = next((index for index, line in enumerate(lines) if _SECTION.match(line)), len(lines))
    return _join_lines(lines[:end])


def attribute_docs(cls: ApiType, *, of_package: bool = False) -> dict[str, str]:
    """Return the documentation of attributes of a class and its bases.

    The documentation is in the ``Attributes:`` section of the class docstring, or in a string below the attribute,
    which is read from the source file if there is one.

    Args:
        cls: The class.
        of_package: Whether to read the source files of this package, too.
    """
    found: dict[str, str] = {}
    # Derived classes last, so that their documentation wins.
    for base in reversed(cls.__mro__):
        found |= _entries(_lines_of(base))
        file = getattr(base, "module_globals", {}).get("__file__")
        # A definition has no descriptions of what every object has.
        if isinstance(file, str) and (of_package or not (base.__module__ + ".").startswith("masthead.")):
            found |= _strings_in(file).get(base.__qualname__, {})
    return found


@functools.lru_cache(maxsize=64)
def _strings_in(file: str) -> Mapping[str, Mapping[str, str]]:
    """Return the strings below attributes in a source file, by the qualified names of classes."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    # Sources may be missing or changed since the import; documentation is optional.
    except (SyntaxError, ValueError):
        return {}
    return dict(_classes_in(tree, ""))


def _classes_in(node: ast.AST, prefix: str) -> Iterator[tuple[str, dict[str, str]]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            name = f"{prefix}{child.name}"
            yield name, _strings_of(child)
            yield from _classes_in(child, f"{name}.")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            # The qualified name of a class in a function, as in tests.
            yield from _classes_in(child, f"{prefix}{child.name}.<locals>.")
        else:
            yield from _classes_in(child, prefix)


def _strings_of(node: ast.ClassDef) -> dict[str, str]:
    found: dict[str, str] = {}
    for this, below in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(this, ast.AnnAssign)
            and isinstance(this.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
            and isinstance(below.value.value, str)
        ):
            found[this.target.id] = _join_lines(inspect.cleandoc(below.value.value).splitlines())
    return found


def _lines_of(cls: object) -> list[str]:
    text = vars(cls).get("__doc__")
    return inspect.cleandoc(text).splitlines() if isinstance(text, str) else []


def _entries(lines: list[str]) -> dict[str, str]:
    """Read the entries of an ``Attributes:`` section: a name, a colon, and text with indented continuation lines."""
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
        # Text at the margin ends the section.
        if indent == 0:
            is_inside = False
            continue
        # The first entry sets the indentation of the section.
        depth = depth or indent
        if indent <= depth and (entry := _ENTRY.match(line.strip())):
            name = entry[1]
            entries[name] = [entry[2]]
        elif name:
            entries[name].append(line.strip())
    return {name: _join_lines(text) for name, text in entries.items()}


def _join_lines(lines: list[str]) -> str:
    """Join the lines of each paragraph, because viewers wrap documentation themselves."""
    text = "\n".join(line.strip() for line in lines).strip()
    return "\n\n".join(" ".join(paragraph.split("\n")) for paragraph in re.split(r"\n{2,}", text)) if text else ""
