"""The four kinds of patches, and what each looks like on the wire."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, NotRequired, TypeAlias, TypedDict, cast

from masthead._meta import wire
from masthead._meta.model import Struct
from masthead._meta.walk import same

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self


class PatchType(StrEnum):
    """What a patch is; the value is its content type."""

    JSON = "application/json-patch+json"
    """RFC 6902: a list of operations."""
    MERGE = "application/merge-patch+json"
    """RFC 7386: an object that is laid over; null removes, lists are replaced."""
    STRATEGIC = "application/strategic-merge-patch+json"
    """As merge, but lists of built-in types merge by their keys; custom resources refuse it."""
    APPLY = "application/apply-patch+yaml"
    """Server-side apply: the fields that one manager wants, and owns."""


_JsonOperation = TypedDict(
    "_JsonOperation",
    {
        "op": Literal["add", "remove", "replace", "move", "copy", "test"],
        "path": str,
        "from": NotRequired[str],
        "value": NotRequired[object],
    },
)
JsonOperation: TypeAlias = _JsonOperation
"""One operation of a JSON patch."""


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch ready to be sent: what it is and its body."""

    type: PatchType
    body: bytes

    def __repr__(self) -> str:
        """Say what it is, not what is in it, which may be a secret."""
        return f"Patch({self.type.name}, {len(self.body)} bytes)"

    @classmethod
    def json(cls, operations: Sequence[JsonOperation]) -> Self:
        """A JSON patch of these operations, in order."""
        return cls(PatchType.JSON, wire.encode(list(operations)))

    @classmethod
    def merge(cls, changes: Mapping[str, object] | Struct) -> Self:
        """A merge patch; None removes a field."""
        return cls(PatchType.MERGE, _body(changes))

    @classmethod
    def strategic(cls, changes: Mapping[str, object] | Struct) -> Self:
        """A strategic merge patch; not for custom resources."""
        return cls(PatchType.STRATEGIC, _body(changes))

    @classmethod
    def apply(cls, wanted: Mapping[str, object] | Struct) -> Self:
        """A server-side apply of the fields that are set."""
        return cls(PatchType.APPLY, _body(wanted))


def _body(content: Mapping[str, object] | Struct) -> bytes:
    return content.to_json() if isinstance(content, Struct) else wire.encode(dict(content))


def merge_patch(old: Mapping[str, object] | Struct, new: Mapping[str, object] | Struct) -> dict[str, object]:
    """The smallest merge patch that turns one object, or its data, into another.

    A value of None in `new` cannot be told from a removal; merge patches have no way to say it.
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
    """Lay a merge patch over data, as RFC 7386 says; neither is changed."""
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
    """Make a map's key part of a JSON patch's path: ``a/b`` becomes ``a~1b``."""
    return part.replace("~", "~0").replace("/", "~1")
