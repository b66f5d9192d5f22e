"""Extract the fields that a manager owns, as the start of a server-side apply.

::

    mine = extract(deployments.get("web"), "my-controller")
    mine.spec.replicas = 3
    deployments.apply(mine, field_manager="my-controller")

Applying the extracted object unchanged is a no-op. Two things cannot be recovered from an object: the type of
a custom kind that is not registered, so a field that is owned as a whole is taken as it is; and an owned
string or number that the server omits because it is empty or zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar, cast

from masthead._meta import shape
from masthead._meta.merge import Merge
from masthead._meta.object import Object
from masthead._meta.registry import registry
from masthead._meta.unstructured import Unstructured
from masthead._module import set_module
from masthead._schema.field_sets import OwnedFields, read_fields_v1
from masthead.errors import InvalidValueError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.apitype import ApiType
    from masthead._meta.metadata import ManagedFieldsEntry
    from masthead._meta.model import Struct

__all__ = ["extract"]

T = TypeVar("T", bound=Object)


@set_module("masthead")
def extract(obj: T, field_manager: str, *, subresource: str = "") -> T:
    """Extract the part of an object that a field manager has applied.

    Args:
        obj: An object with its managed fields, as it was read.
        field_manager: The field manager that applied it.
        subresource: The subresource it was applied to: ``status``, ``scale``; empty for the object itself.

    Returns:
        A new object with the owned fields, ready to be changed and applied again. If the manager owns
        nothing, it has only its name.

    Raises:
        InvalidValueError: If `field_manager` is empty.
        DecodeError: If the managed fields, or the fields they name, cannot be decoded.
    """
    if not field_manager:
        raise InvalidValueError("name the field_manager whose fields to extract", value="")
    entry = _entry_of(obj, field_manager, subresource)
    data = obj.to_dict()
    if entry is not None and entry.fields_v1:
        owned = read_fields_v1(entry.fields_v1)
        taken = cast("dict[str, object]", _owned_part(data, owned, FieldSchema.of(obj)))
    else:
        taken = {}
    metadata = cast("dict[str, object]", taken.get("metadata", {}))
    names = {name: value for name in _NAMES if (value := data["metadata"].get(name))}
    type_meta = {"apiVersion": obj.api_version, "kind": obj.kind}
    return cast("type[T]", type(obj).api_type).from_dict(
        {**type_meta, **taken, "metadata": {**names, **metadata}}
    )


_NAMES: Final = ("name", "namespace")


def _entry_of(obj: Object, manager: str, subresource: str) -> ManagedFieldsEntry | None:
    """The manager's entry; of several, the one of the object's API version."""
    found = [
        entry
        for entry in obj.metadata.managed_fields
        if entry.operation == "Apply"
        and entry.manager == manager
        and (entry.subresource or "") == subresource
    ]
    # One manager can have applied with several API versions, whose fields may differ.
    fitting = (entry for entry in found if entry.api_version == obj.api_version)
    return next(fitting, found[0] if found else None)


@dataclass(frozen=True, slots=True)
class FieldSchema:
    """The schema of a field, as far as it is known.

    Attributes:
        shape: The type; None if unknown.
        merge: The merge strategy.
    """

    shape: shape.Shape | None = None
    merge: Merge = field(default_factory=Merge)

    @classmethod
    def of(cls, obj: Object) -> FieldSchema:
        """The schema of an object: of its own type or, if it is untyped, of its registered kind."""
        known = type(obj)
        if isinstance(obj, Unstructured):
            try:
                known = registry.object_class(obj.gvk)
            except UnknownKindError:
                return cls()
        return cls(shape.StructShape(cast("ApiType", known).api_type))

    def below(self, name: str) -> FieldSchema:
        """The schema of a field, or of a map's entries."""
        if isinstance(self.shape, shape.StructShape):
            this = shape.fields_of(self.shape.cls).get(name)
            merge = _struct(self.shape).MERGE.get(name, Merge())
            return FieldSchema() if this is None else FieldSchema(this.shape, merge)
        if isinstance(self.shape, shape.MapShape):
            return FieldSchema(_not_null(self.shape.value))
        return FieldSchema()

    def item(self) -> FieldSchema:
        """The schema of a list's items."""
        return (
            FieldSchema(_not_null(self.shape.item))
            if isinstance(self.shape, shape.ListShape)
            else FieldSchema()
        )

    @property
    def defaults(self) -> Mapping[str, object]:
        """The server's defaults for absent fields of an item."""
        return _struct(self.shape).DEFAULTS if isinstance(self.shape, shape.StructShape) else {}

    @property
    def empty(self) -> object:
        """The empty value of a list or map; None for other types."""
        if isinstance(self.shape, shape.ListShape):
            return []
        return {} if isinstance(self.shape, shape.MapShape) else None

    @property
    def is_merged(self) -> bool:
        """Whether managers can own parts of it. Then an owner of the whole, but of no part, has set it empty."""
        if isinstance(self.shape, shape.ListShape):
            return self.merge.list_type != "atomic"
        if isinstance(self.shape, shape.MapShape):
            return self.merge.map_type != "atomic"
        if isinstance(self.shape, shape.StructShape):
            whole = self.merge.map_type == "atomic" or (
                not self.merge.map_type and _struct(self.shape).ATOMIC
            )
            return not whole
        return False


def _struct(of: shape.StructShape) -> type[Struct]:
    return cast("type[Struct]", of.cls)


def _not_null(of: shape.Shape) -> shape.Shape:
    return of.shape if isinstance(of, shape.NullableShape) else of


def _owned_part(value: object, owned: OwnedFields, facts: FieldSchema) -> object:
    """The owned part of a value."""
    if isinstance(value, dict):
        held = cast("dict[str, object]", value)
        if owned.is_leaf:
            return {} if facts.is_merged else held
        return _owned_fields(held, owned, facts)
    if isinstance(value, list):
        items = cast("list[object]", value)
        if owned.is_leaf:
            return [] if facts.is_merged else items
        return _owned_items(items, owned, facts)
    return value


def _owned_fields(held: dict[str, object], owned: OwnedFields, facts: FieldSchema) -> dict[str, object]:
    taken: dict[str, object] = {}
    for name, below in owned.fields.items():
        known = facts.below(name)
        if name in held:
            taken[name] = _owned_part(held[name], below, known)
        elif below.is_leaf and known.empty is not None:
            taken[name] = known.empty  # the server omits empty values, but they are owned
    return taken


def _owned_items(items: list[object], owned: OwnedFields, facts: FieldSchema) -> list[object]:
    """The owned items, in their order."""
    taken: list[object] = []
    known = facts.item()
    for index, item in enumerate(items):
        found = owned.of_item(index, item, known.defaults)
        if found is None:
            continue
        keys, below = found
        part = _owned_part(item, below, known)
        if keys:
            # The keys identify the item in its list; without them, it could not be applied again.
            named = _keys_of(cast("dict[str, object]", item), keys, known)
            part = named | cast("dict[str, object]", part)
        taken.append(part)
    return taken


def _keys_of(item: dict[str, object], keys: tuple[str, ...], facts: FieldSchema) -> dict[str, object]:
    """The keys of an item, without defaulted ones, which the manager would come to own."""
    return {name: item[name] for name in keys if name in item and facts.defaults.get(name) != item[name]}
