"""Remove the fields of managers that leave an object, as server-side apply removes what a manager no longer applies."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from masthead._schema.extraction import builtin_class
from masthead._schema.field_sets import FieldSet
from masthead._schema.structured_merge.class_types import merge_type_of_class, merge_type_of_fields
from masthead._schema.structured_merge.items import UnidentifiedItemError
from masthead._schema.structured_merge.managers import ManagedSet, ManagerKey, Updater, remove_abandoned
from masthead.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead._meta.metadata import ManagedFieldsEntry
    from masthead._meta.object import Object
    from masthead._schema.schema import Json
    from masthead._schema.structured_merge.types import MergeType

__all__ = ["remove_fields_of"]


def remove_fields_of(
    obj: Object, abandoned: Iterable[ManagedFieldsEntry], kept: Iterable[ManagedFieldsEntry]
) -> dict[str, object]:
    """Remove the fields of some managers from an object, except for fields that others own as well.

    How fields merge follows from the class of a built-in kind, and from the managed fields of a custom one.

    Args:
        obj: The object; it is not modified.
        abandoned: The entries whose fields are removed, in the version of the object.
        kept: The entries of all remaining managers.

    Returns:
        The object as plain data; a map or list that becomes empty is null.

    Raises:
        DecodeError: If managed fields, or the fields that they name, cannot be decoded.
    """
    going, owned = _union_of(abandoned), _union_of(kept)
    cls = builtin_class(obj.gvk)
    type_ = merge_type_of_fields(going | owned) if cls is None else merge_type_of_class(cls)
    version = obj.api_version
    # No manager owns the name, but every object keeps it.
    managed = ManagedSet(owned | FieldSet.of(("f:metadata", "f:name")), version)
    updater = Updater(version, _SingleVersion(type_), {})
    try:
        left = remove_abandoned(
            updater, obj.to_dict(), {ManagerKey("", "Apply", "", ""): managed}, ManagedSet(going, version)
        )
    except UnidentifiedItemError as error:
        raise DecodeError(str(error), kind=obj.kind, subject=obj.key) from None
    return cast("dict[str, object]", left)


class _SingleVersion:
    """The versions of a kind of which only one is known."""

    def __init__(self, type_: MergeType) -> None:
        self._type = type_

    def convert(self, value: Json, to: str) -> None:
        """There is no other version."""
        del value, to

    def type_of(self, api_version: str) -> MergeType:
        """Return the type of the version."""
        del api_version
        return self._type


def _union_of(entries: Iterable[ManagedFieldsEntry]) -> FieldSet:
    fields = FieldSet()
    for entry in entries:
        fields |= FieldSet.from_fields_v1(entry.fields_v1 or {})
    return fields
