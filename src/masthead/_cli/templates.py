r"""JSONPath templates and custom columns, as ``kubectl -o jsonpath=`` and ``-o custom-columns=`` have them. Pure.

::

    {range .items[*]}{.metadata.name}{"\t"}{.status.phase}{"\n"}{end}
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from masthead._cli.go_format import FormatLimitError, format_value
from masthead._printers.jsonpath import JsonPathError, VisitLimit, compile_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from masthead._printers.jsonpath import JsonPath

__all__ = [
    "CustomColumn",
    "JsonPathError",
    "Template",
    "parse_column_lines",
    "parse_columns",
    "parse_path_argument",
    "value_text",
]

_MAX_VALUES: Final = 50_000_000
"""The user's own path on the user's own objects: only what would never end is refused."""
_ACTION: Final = re.compile(r"""\{((?:[^{}'"]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")*)\}""")
_QUOTED: Final = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\s*""")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True, slots=True)
class _Text:
    text: str


@dataclass(frozen=True, slots=True)
class _Value:
    path: JsonPath


@dataclass(frozen=True, slots=True)
class _Range:
    path: JsonPath
    body: tuple[_Part, ...]


_Part: TypeAlias = "_Text | _Value | _Range"


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template."""

    _parts: tuple[_Part, ...]
    _allows_missing: bool = True

    @classmethod
    def parse(cls, text: str, *, allows_missing: bool = True) -> Template:
        """Parse a template; a single path may stand without braces.

        Args:
            text: The template.
            allows_missing: Whether fields that do not exist print nothing instead of being an error.

        Raises:
            JsonPathError: If it is invalid.
        """
        # kubectl accepts a bare path as well.
        if "{" not in text:
            return cls((_Value(parse_path_argument(text)),), allows_missing)
        open_ranges: list[tuple[JsonPath, list[_Part]]] = []
        parts: list[_Part] = []
        end = 0
        for match in _ACTION.finditer(text):
            parts += _plain(text[end : match.start()])
            end = match.end()
            action = match[1].strip()
            if action == "end":
                if not open_ranges:
                    raise JsonPathError("{end} without {range}")
                path, outer = open_ranges.pop()
                outer.append(_Range(path, tuple(parts)))
                parts = outer
            elif action.startswith("range "):
                open_ranges.append((compile_path(action.removeprefix("range ").strip()), parts))
                parts = []
            else:
                parts.append(_value_or_text(action))
        # An unclosed range would silently drop its body.
        if open_ranges:
            raise JsonPathError("{range} without {end}")
        return cls((*parts, *_plain(text[end:])), allows_missing)

    def render(self, obj: object) -> str:
        """Return the text for plain data.

        Raises:
            JsonPathError: If a path does not fit the data.
        """
        return "".join(" ".join(map(value_text, values)) for values in self._results(obj))

    def render_json(self, obj: object) -> str:
        """Return what the template finds as JSON: a list for each of its texts and paths.

        Raises:
            JsonPathError: If a path does not fit the data.
        """
        return "".join(
            json.dumps(values, indent=4, sort_keys=True, ensure_ascii=False) + "\n" for values in self._results(obj)
        )

    def _results(self, obj: object) -> Iterator[list[object]]:
        # One limit for the whole template: nested ranges multiply.
        limit = VisitLimit(_MAX_VALUES)
        return _evaluate(self._parts, obj, partial(_find, limit=limit, allows_missing=self._allows_missing))


def _find(path: JsonPath, obj: object, *, limit: VisitLimit, allows_missing: bool) -> list[object]:
    return path.find(obj, allows_missing=allows_missing, limit=limit)


def _plain(text: str) -> list[_Part]:
    if "{" in text or "}" in text:
        raise JsonPathError(f"a brace is not closed in {text!r}")
    return [_Text(text)] if text else []


def _value_or_text(action: str) -> _Part:
    quoted = _QUOTED.fullmatch(action)
    if quoted is None:
        return _Value(compile_path(action))
    # An unmatched group is None; an empty string in double quotes is a match.
    inside = quoted[1] if quoted[1] is not None else quoted[2]
    return _Text(re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), inside))


def _evaluate(
    parts: Sequence[_Part], obj: object, find: Callable[[JsonPath, object], list[object]]
) -> Iterator[list[object]]:
    """Yield the values of each part of a template, in order."""
    for part in parts:
        match part:
            case _Text(text):
                yield [text]
            case _Value(path):
                yield find(path, obj)
            case _Range(path, body):
                for value in find(path, obj):
                    yield from _evaluate(body, value, find)


def value_text(value: object) -> str:
    """The text of a value: strings as they are, all else as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def parse_path_argument(text: str) -> JsonPath:
    """Parse a path that may stand in braces, and may lack its first dot: ``{.spec.x}``, ``.spec.x``, ``spec.x``.

    Raises:
        JsonPathError: If it is invalid.
    """
    inside = text.strip()
    if inside.startswith("{") and inside.endswith("}"):
        inside = inside[1:-1]
    if inside and inside[0] not in ".[$@":
        inside = f".{inside}"
    return compile_path(inside)


@dataclass(frozen=True, slots=True)
class CustomColumn:
    """A column of ``-o custom-columns``.

    Attributes:
        header: Its heading.
        path: What it shows.
    """

    header: str
    path: JsonPath

    def cell(self, obj: object) -> str:
        """The text for plain data: several values with commas between them, maps and lists as Go prints them."""
        found = self.path.find(obj, limit=VisitLimit(_MAX_VALUES))
        try:
            return ",".join(map(format_value, found)) if found else "<none>"
        except FormatLimitError as error:
            raise JsonPathError(str(error)) from None


def parse_columns(text: str) -> list[CustomColumn]:
    """Parse ``NAME:.metadata.name,NODE:.spec.nodeName``.

    Raises:
        JsonPathError: If it is invalid.
    """
    columns: list[CustomColumn] = []
    for part in text.split(","):
        header, colon, path = part.partition(":")
        # As in kubectl, a heading may be empty.
        if not colon or not path:
            raise JsonPathError(f"{part!r} is not HEADER:PATH")
        columns.append(CustomColumn(header, parse_path_argument(path)))
    return columns


def parse_column_lines(text: str) -> list[CustomColumn]:
    """Parse the file of custom columns: a line of headings, and a line of paths, with blanks between them.

    Raises:
        JsonPathError: If it is invalid.
    """
    headers, paths = [*(line.split() for line in text.splitlines()[:2]), [], []][:2]
    if not headers or len(headers) != len(paths):
        raise JsonPathError("the file has a line of headings, and a line with as many paths")
    return [CustomColumn(header, parse_path_argument(path)) for header, path in zip(headers, paths, strict=True)]
