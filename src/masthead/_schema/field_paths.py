"""Field paths of typed and untyped objects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from masthead._meta import shape, walk, wire
from masthead._meta.model import Struct
from masthead._meta.unstructured import Unstructured
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from masthead._meta.apitype import ApiType
    from masthead._meta.object import Object

__all__ = ["Step", "parse_path", "plain", "value_at"]

Step: TypeAlias = str | int
"""The name of a field, the key of a map entry, or the index of a list item."""

_STEP: Final = re.compile(
    r"""\.? (?P<name> [^.\[\]"']+ )
      | \[ (?P<index> -?\d+ ) \]
      | \[ (?P<quote> ["'] ) (?P<key> .*? ) (?P=quote) \]""",
    re.VERBOSE,
)
_ATTRIBUTES: Final = {"apiVersion": "api_version", "kind": "kind", "metadata": "metadata"}


def parse_path(path: str) -> tuple[Step, ...]:
    """Parse a path: ``status.phase``, ``spec.containers[0].image``, ``metadata.labels["example.com/a"]``.

    Raises:
        ArgumentError: If the path is invalid.
    """
    steps: list[Step] = []
    at = 1 if path.startswith(".") else 0
    while at < len(path):
        found = _STEP.match(path, at)
        # An index or a key needs a field before it.
        if found is None or (not steps and found["name"] is None):
            break
        name, index, key = found["name"], found["index"], found["key"]
        steps.append(int(index) if index is not None else key if name is None else name)
        at = found.end()
    if not steps or at < len(path):
        raise ArgumentError(
            f"{path!r} is not a field path; write it like status.phase, spec.containers[0].image or "
            'metadata.labels["example.com/name"]',
            value=path,
        )
    return tuple(steps)


def value_at(obj: Object, steps: tuple[Step, ...], *, strict: bool = False) -> object:
    """The value at a path of an object, as an attribute of its type; None if it is unset.

    Args:
        obj: The object.
        steps: The path, with JSON names.
        strict: Reject fields that the object's type does not have: a wait for one would never end.

    Raises:
        ArgumentError: If `strict`, and there is no such field.
        DecodeError: If the value cannot be decoded.
    """
    value: object = obj
    for step in steps:
        value = _below(value, step, strict=strict)
        if value is None:
            return None
    return value


def plain(value: object) -> object:
    """A value as plain JSON data: numbers, strings, lists and dicts."""
    if value is None or type(value) in {str, int, bool}:
        return value
    return wire.decode_plain(wire.encode(walk.to_encode(value)))


def _below(value: object, step: Step, *, strict: bool) -> object:
    if isinstance(value, Unstructured) and isinstance(step, str):
        return getattr(value, _ATTRIBUTES[step]) if step in _ATTRIBUTES else value.get(step)
    if isinstance(value, Struct):
        return _field(value, step, strict=strict)
    if isinstance(value, dict):
        return cast("dict[object, object]", value).get(step)
    if isinstance(value, list) and isinstance(step, int):
        items = cast("list[object]", value)
        return items[step] if -len(items) <= step < len(items) else None
    return None


def _field(value: Struct, step: Step, *, strict: bool) -> object:
    cls = cast("ApiType", type(value)).api_type
    this = shape.fields_of(cls).get(str(step))
    if this is not None:
        return getattr(value, this.attribute)
    unknown = walk.unknown_fields(value)
    if strict and step not in unknown:
        raise ArgumentError(shape.unknown_field(cls, str(step), shape.fields_of(cls)), value=step)
    return unknown.get(str(step))
