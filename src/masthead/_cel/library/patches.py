"""Patches: the types and functions of mutating admission policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from masthead._cel.declarations import Function, function, overload
from masthead._cel.errors import EvaluationError
from masthead._cel.structs import StructValue
from masthead._cel.types import DYN, STRING, Type, object_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._cel.values import Value

__all__ = ["FUNCTIONS", "JSON_PATCH", "OBJECT", "find_patch_type", "make_patch_value"]


class _AnyField(Mapping[str, Type]):
    """The fields of an object without a schema: every name, of any type."""

    def __getitem__(self, _name: str) -> Type:
        return DYN

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


_ANY_FIELD: Final = _AnyField()
OBJECT: Final = object_type("Object", _ANY_FIELD)
"""The type of apply configurations. That of a field is named by its path: ``Object.spec.containers``."""
JSON_PATCH: Final = object_type("JSONPatch", {"op": STRING, "from": STRING, "path": STRING, "value": DYN})
"""The type of one operation of a JSON patch."""


def find_patch_type(name: str) -> Type | None:
    """Return the type of a name; None if it is no type of patches."""
    if name == JSON_PATCH.name:
        return JSON_PATCH
    if name == OBJECT.name or name.startswith(f"{OBJECT.name}."):
        return object_type(name, _ANY_FIELD)
    return None


def make_patch_value(name: str, fields: dict[str, Value]) -> StructValue:
    """Make a value of a type.

    Raises:
        EvaluationError: If a field of a JSON patch has the wrong type.
    """
    if name == JSON_PATCH.name:
        for field in ("op", "path", "from"):
            if field in fields and type(fields[field]) is not str:
                raise EvaluationError(f"unexpected type for JSONPatchType '{field}' field")
    return StructValue(name, fields)


def _escape_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


FUNCTIONS: Final[tuple[Function, ...]] = (
    function("jsonpatch.escapeKey", overload("string_jsonpatch_escapeKey_string", (STRING,), STRING, _escape_key)),
)
