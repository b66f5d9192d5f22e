"""Extract the fields that a manager owns, as the start of a server-side apply.

::

    mine = extract(deployments.get("web"), "my-controller")
    mine.metadata.labels["tier"] = "front"
    deployments.apply(mine, field_manager="my-controller")

Applying the extracted object unchanged is a no-op: it has exactly the fields that were applied, with their values. How
fields merge follows from the class of a built-in kind. For a custom kind it follows from the managed fields themselves,
except for a map that was applied empty: it is extracted with the entries that other managers have added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar, cast

from masthead._meta.object import Object
from masthead._meta.registry import registry
from masthead._module import set_module
from masthead._schema.field_sets import FieldSet
from masthead._schema.structured_merge.class_types import merge_type_of_class, merge_type_of_unknown_kind
from masthead._schema.structured_merge.extraction import extract_items
from masthead._schema.structured_merge.items import UnidentifiedItemError
from masthead.errors import ArgumentError, DecodeError, UnknownKindError

if TYPE_CHECKING:
    from masthead._meta.gvk import GroupVersionKind
    from masthead._meta.metadata import ManagedFieldsEntry
    from masthead._schema.structured_merge.types import MergeType

__all__ = ["applied_entry_of", "builtin_class", "extract"]

T = TypeVar("T", bound=Object)
_NAMES: Final = ("name", "namespace")


@set_module("masthead.managed_fields")
def extract(obj: T, field_manager: str, *, subresource: str = "") -> T:
    """Extract the part of an object that a field manager has applied.

    Args:
        obj: An unmodified object with its managed fields.
        field_manager: The field manager that applied it.
        subresource: The subresource it was applied to: ``status``, ``scale``; empty for the object itself.

    Returns:
        A new object with the owned fields, ready to be changed and applied again. If the manager owns
        nothing, it has only its name.

    Raises:
        ArgumentError: If `field_manager` is empty.
        DecodeError: If the managed fields, or the fields they name, cannot be decoded.
    """
    if not field_manager:
        raise ArgumentError("name the field_manager whose fields to extract", value="")
    entry = applied_entry_of(obj, field_manager, subresource)
    data = obj.to_dict()
    fields = FieldSet.from_fields_v1(entry.fields_v1 or {}) if entry is not None else FieldSet()
    try:
        taken = extract_items(data, fields, _type_of(obj))
    except UnidentifiedItemError as error:
        raise DecodeError(str(error), kind=obj.kind, subject=obj.key) from None
    metadata = taken.get("metadata", {})
    # An applied configuration needs a name, which no manager owns.
    names = {name: value for name in _NAMES if (value := data["metadata"].get(name))}
    type_meta = {"apiVersion": obj.api_version, "kind": obj.kind}
    return cast("type[T]", type(obj).api_type).from_dict({**type_meta, **taken, "metadata": {**names, **metadata}})


def applied_entry_of(obj: Object, manager: str, subresource: str = "") -> ManagedFieldsEntry | None:
    """Return the entry of a manager that applies; of several, the one of the object's API version."""
    found = [
        entry
        for entry in obj.metadata.managed_fields
        if entry.operation == "Apply" and entry.manager == manager and (entry.subresource or "") == subresource
    ]
    # One manager can have applied with several API versions, whose fields may differ.
    fitting = (entry for entry in found if entry.api_version == obj.api_version)
    return next(fitting, found[0] if found else None)


def builtin_class(gvk: GroupVersionKind) -> type[Object] | None:
    """Return the generated class of a built-in kind; None for another kind."""
    try:
        cls = registry.object_class(gvk)
    except UnknownKindError:
        return None
    # A class of a user may declare fields otherwise than the server's schema.
    return cls if cls.__module__.startswith("masthead.api.") else None


def _type_of(obj: Object) -> MergeType:
    """How an object merges. For a custom kind, its managed fields are more reliable than a hand-written class."""
    cls = builtin_class(obj.gvk)
    return merge_type_of_unknown_kind() if cls is None else merge_type_of_class(cls)
