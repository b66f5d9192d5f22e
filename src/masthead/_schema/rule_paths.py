"""Field paths of rules: ``.spec.ports['http']``, checked against the schema."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FieldPathError", "resolve_field_path"]

_TOKEN: Final = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]]+", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "'": "'",
    "\\": "\\",
}


class FieldPathError(ValueError):
    """A path leads to no field of the schema."""


def resolve_field_path(text: str, schema: Schema, *, allow_brackets: bool = True) -> tuple[str, Schema]:
    """Follow a path through a schema.

    Args:
        text: The path, such as ``.spec.replicas`` or ``.labels['app']``.
        schema: The schema that it begins in.
        allow_brackets: Whether names may stand in brackets.

    Returns:
        The path as errors name it, such as ``spec.replicas``, and the schema of the field.

    Raises:
        FieldPathError: If it is no path, or leads to no field.
    """
    path = ""
    tokens = _TOKEN.finditer(text)
    for token in tokens:
        if token.group() == ".":
            name = _next(tokens)
        elif token.group() == "[":
            if not allow_brackets:
                raise FieldPathError("array notation is not allowed")
            name = _unquote(_next(tokens))
            _require_bracket(_next(tokens))
        else:
            raise FieldPathError(f"expected [ or . but got: {token.group()}")
        path, schema = _step(path, schema, name)
    return path, schema


def _next(tokens: Iterator[re.Match[str]]) -> str:
    token = next(tokens, None)
    if token is None:
        raise FieldPathError("unexpected end of JSON path")
    return token.group()


def _require_bracket(token: str) -> None:
    if token != "]":
        raise FieldPathError(f"expected ] but got {token}")


def _unquote(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {token}")
    return _ESCAPE.sub(_unescape, token[1:-1])


def _unescape(match: re.Match[str]) -> str:
    if match[1] not in _ESCAPES:
        raise FieldPathError(f"invalid string literal: invalid escape char {match[0]}")
    return _ESCAPES[match[1]]


def _step(path: str, schema: Schema, name: str) -> tuple[str, Schema]:
    if schema.properties:
        found = schema.properties.get(name)
        if found is None:
            raise FieldPathError("does not refer to a valid field")
        return (f"{path}.{name}" if path else name), found
    if isinstance(schema.additional_properties, Schema):
        return f"{path}[{name}]", schema.additional_properties
    raise FieldPathError("does not refer to a valid field")
