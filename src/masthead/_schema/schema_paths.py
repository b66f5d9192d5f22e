"""Paths to the fields of a schema, as selectable fields and validation rules name them: ``.spec.color``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FieldPathError", "find_field"]

_TOKEN: Final = re.compile(r"'(?:[^\\']|\\.|\\$)*(?:'|$)|[.\[\]]|[^'.\[\]][^.\[\]]*", re.DOTALL)
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
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)


class FieldPathError(ValueError):
    """A path names no field of a schema."""


def find_field(
    path: str, schema: Schema | None, *, allows_brackets: bool = True
) -> tuple[str, Schema | None]:
    """Find the field that a path names.

    Args:
        path: The path, such as ``.spec.labels['app']``.
        schema: The schema of the object.
        allows_brackets: Whether names may stand in brackets and quotes.

    Returns:
        The path in the form of error messages, such as ``spec.labels[app]``, and the schema of the field.

    Raises:
        FieldPathError: If the path is malformed, or the schema has no such field.
    """
    found = ""
    tokens = iter(each[0] for each in _TOKEN.finditer(path))
    for token in tokens:
        if token == "[":
            if not allows_brackets:
                raise FieldPathError("array notation is not allowed")
            found, schema = _step(found, schema, _unquoted(_next(tokens)))
            if (closing := _next(tokens)) != "]":
                raise FieldPathError(f"expected ] but got {closing}")
        elif token == ".":
            found, schema = _step(found, schema, _next(tokens))
        else:
            raise FieldPathError(f"expected [ or . but got: {token}")
    return found, schema


def _next(tokens: Iterator[str]) -> str:
    token = next(tokens, None)
    if token is None:
        raise FieldPathError("unexpected end of JSON path")
    return token


def _step(found: str, schema: Schema | None, name: str) -> tuple[str, Schema | None]:
    if schema is None:
        raise FieldPathError("does not refer to a valid field")
    if schema.properties:
        if name not in schema.properties:
            raise FieldPathError("does not refer to a valid field")
        return (f"{found}.{name}" if found else name), schema.properties[name]
    if schema.additional_properties is None:
        raise FieldPathError("does not refer to a valid field")
    values = schema.additional_properties
    return f"{found}[{name}]", values if isinstance(values, Schema) else None


def _unquoted(token: str) -> str:
    if len(token) < 2 or not (token.startswith("'") and token.endswith("'")):
        raise FieldPathError(f"expected single quoted string but got {token}")
    inner = token[1:-1]
    if "\\" not in inner:
        return inner
    if bad := next((each for each in _ESCAPE.finditer(inner) if each[1] not in _ESCAPES), None):
        raise FieldPathError(f"invalid string literal: invalid escape char {bad[0]}")
    return _ESCAPE.sub(lambda match: _ESCAPES[match[1]], inner)
