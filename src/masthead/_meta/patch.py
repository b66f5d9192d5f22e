"""The four types of patches and their encoding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, NotRequired, TypedDict, cast

from masthead._meta import wire
from masthead._meta.model import Struct
from masthead._meta.walk import same
from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self


@set_module("masthead.meta")
class PatchType(StrEnum):
    """The type of a patch; the value is its content type."""

    JSON = "application/json-patch+json"
    """RFC 6902: a list of operations."""
    MERGE = "application/merge-patch+json"
    """RFC 7386: an object that is merged; null removes a field, lists are replaced."""
    STRATEGIC = "application/strategic-merge-patch+json"
    """Like merge, but lists of built-in types merge by their keys; not supported by custom resources."""
    APPLY = "application/apply-patch+yaml"
    """Server-side apply: the fields that a field manager sets and owns."""


JsonOperation = TypedDict(
    "JsonOperation",
    {
        "op": Literal["add", "remove", "replace", "move", "copy", "test"],
        "path": str,
        "from": NotRequired[str],
        "value": NotRequired[object],
    },
)
JsonOperation.__module__ = "masthead.meta"
"""One operation of a JSON patch."""


@set_module("masthead")
@dataclass(frozen=True, slots=True)
class Patch:
    """A patch: its type and its body."""

    type: PatchType
    body: bytes

    def __repr__(self) -> str:
        """Show the type only: the body may contain a secret."""
        return f"Patch({self.type.name}, {len(self.body)} bytes)"

    @classmethod
    def json(cls, operations: Sequence[JsonOperation]) -> Self:
        """Create a JSON patch from operations."""
        return cls(PatchType.JSON, wire.encode(list(operations)))

    @classmethod
    def merge(cls, changes: Mapping[str, object] | Struct) -> Self:
        """Create a merge patch; None removes a field."""
        return cls(PatchType.MERGE, _body(changes))

    @classmethod
    def strategic(cls, changes: Mapping[str, object] | Struct) -> Self:
        """Create a strategic merge patch; not for custom resources."""
        return cls(PatchType.STRATEGIC, _body(changes))

    @classmethod
    def apply(cls, wanted: Mapping[str, object] | Struct) -> Self:
        """Create a server-side apply patch of the fields that are set."""
        return cls(PatchType.APPLY, _body(wanted))


def _body(content: Mapping[str, object] | Struct) -> bytes:
    if not isinstance(cast("object", content), Mapping | Struct):
        raise ArgumentError(
            f"a patch of this kind is a mapping, not a {type(content).__name__}; Patch.json takes a list", value=content
        )
    return content.to_json() if isinstance(content, Struct) else wire.encode(dict(content))


@set_module("masthead.meta")
def merge_patch(old: Mapping[str, object] | Struct, new: Mapping[str, object] | Struct) -> dict[str, object]:
    """Compute the smallest merge patch from one object, or its data, to another.

    A value of None in `new` means removal: merge patches cannot set null.
    """
    old = old.to_dict() if isinstance(old, Struct) else old
    new = new.to_dict() if isinstance(new, Struct) else new
    changes: dict[str, object] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            if nested := merge_patch(cast("dict[str, object]", before), cast("dict[str, object]", value)):
                changes[key] = nested
        elif key not in old or not same(cast("object", before), cast("object", value)):
            changes[key] = value
    return changes


def apply_merge_patch(target: object, patch: object) -> object:
    """Apply a merge patch to data (RFC 7386); neither is modified."""
    if not isinstance(patch, dict):
        return patch
    result = dict(cast("dict[str, object]", target)) if isinstance(target, dict) else {}
    for key, value in cast("dict[str, object]", patch).items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply_merge_patch(result.get(key), value)
    return result


def escape_pointer(part: str) -> str:
    """Escape a key for a JSON Pointer: ``a/b`` becomes ``a~1b``."""
    return part.replace("~", "~0").replace("/", "~1")
