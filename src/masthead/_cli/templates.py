r"""JSONPath templates and custom columns, as ``kubectl -o jsonpath=`` and ``-o custom-columns=`` have them. Pure.

::

    {range .items[*]}{.metadata.name}{"\t"}{.status.phase}{"\n"}{end}
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._printers.jsonpath import JsonPathError, VisitLimit, compile_path

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from masthead._printers.jsonpath import JsonPath

__all__ = ["CustomColumn", "JsonPathError", "Template", "parse_columns", "parse_path_argument", "value_text"]

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

    @classmethod
    def parse(cls, text: str) -> Template:
        """Parse a template; a single path may stand without braces.

        Raises:
            JsonPathError: If it is invalid.
        """
        # kubectl accepts a bare path as well.
        if "{" not in text:
            return cls((_Value(parse_path_argument(text)),))
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
        return cls((*parts, *_plain(text[end:])))

    def render(self, obj: object) -> str:
        """Return the text for plain data.

        Raises:
            JsonPathError: If a path does not fit the data.
        """
        # One limit for the whole template: nested ranges multiply.
        return _render(self._parts, obj, VisitLimit(_MAX_VALUES))


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


def _render(parts: Sequence[_Part], obj: object, limit: VisitLimit) -> str:
    texts: list[str] = []
    for part in parts:
        match part:
            case _Text(text):
                texts.append(text)
            case _Value(path):
                texts.append(" ".join(map(value_text, path.find(obj, limit=limit))))
            case _Range(path, body):
                texts += [_render(body, value, limit) for value in path.find(obj, limit=limit)]
    return "".join(texts)


def value_text(value: object) -> str:
    """The text of a value: strings as they are, all else as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


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
        """The text for plain data: several values with commas between them."""
        found = self.path.find(obj, limit=VisitLimit(_MAX_VALUES))
        return ",".join(map(value_text, found)) if found else "<none>"


def parse_columns(text: str) -> list[CustomColumn]:
    """Parse ``NAME:.metadata.name,NODE:.spec.nodeName``.

    Raises:
        JsonPathError: If it is invalid.
    """
    columns: list[CustomColumn] = []
    for part in text.split(","):
        header, colon, path = part.partition(":")
        if not header or not colon or not path:
            raise JsonPathError(f"{part!r} is not HEADER:PATH")
        columns.append(CustomColumn(header, parse_path_argument(path)))
    return columns
