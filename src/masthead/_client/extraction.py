"""What a manager owns of an object: where a server-side apply begins that changes something.

::

    mine = extract(await deployments.get("web"), "my-controller")
    mine.spec.replicas = 3
    await deployments.apply(mine, field_manager="my-controller")

Applying what was extracted, unchanged, changes nothing. Two things cannot be seen in an object, though: which type a
kind of one's own has, if none is registered, so that what is owned as a whole is taken as it stands; and an owned text
or number that the server left out because it is empty or zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar, cast

from masthead._client.fields_v1 import OwnedFields, read_fields_v1
from masthead._meta import shape
from masthead._meta.merge import Merge
from masthead._meta.object import Object
from masthead._meta.registry import registry
from masthead._meta.unstructured import Unstructured
from masthead.errors import InvalidValueError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.apitype import ApiType
    from masthead._meta.metadata import ManagedFieldsEntry
    from masthead._meta.model import Struct

__all__ = ["extract"]

T = TypeVar("T", bound=Object)


def extract(obj: T, field_manager: str, *, subresource: str = "") -> T:
    """The part of an object that a manager has applied, and nothing else.

    Args:
        obj: An object with its managed fields, as it was read.
        field_manager: Who applied it.
        subresource: Where, if not to the object itself: ``status``, ``scale``.

    Returns:
        An object of its own with the owned fields, ready to be changed and applied again. Where the manager owns
        nothing, it has its name only.

    Raises:
        InvalidValueError: if no manager is named.
        DecodeError: if the managed fields, or what they speak of, cannot be read.
    """
    if not field_manager:
        raise InvalidValueError("say whose fields to extract: the field_manager that applied them", value="")
    entry = _entry_of(obj, field_manager, subresource)
    data = obj.to_dict()
    if entry is not None and entry.fields_v1:
        owned = read_fields_v1(entry.fields_v1)
        taken = cast("dict[str, object]", _taken(data, owned, FieldSchema.of(obj)))
    else:
        taken = {}
    metadata = cast("dict[str, object]", taken.get("metadata", {}))
    names = {name: value for name in _NAMES if (value := data["metadata"].get(name))}
    said = {"apiVersion": obj.api_version, "kind": obj.kind}
    return cast("type[T]", type(obj).api_type).from_dict({**said, **taken, "metadata": {**names, **metadata}})


_NAMES: Final = ("name", "namespace")


def _entry_of(obj: Object, manager: str, subresource: str) -> ManagedFieldsEntry | None:
    """What the manager applied; of several, what was applied in the version that the object is in."""
    found = [
        entry
        for entry in obj.metadata.managed_fields
        if entry.operation == "Apply"
        and entry.manager == manager
        and (entry.subresource or "") == subresource
    ]
    fitting = (entry for entry in found if entry.api_version == obj.api_version)
    return next(fitting, found[0] if found else None)


@dataclass(frozen=True, slots=True)
class FieldSchema:
    """What is known of the type of a place in an object.

    Attributes:
        shape: What the type is; None if nothing is known.
        merge: How it merges.
    """

    shape: shape.Shape | None = None
    merge: Merge = field(default_factory=Merge)

    @classmethod
    def of(cls, obj: Object) -> FieldSchema:
        """What is known of an object: by its own type or, where it has none, by that of its kind."""
        known = type(obj)
        if isinstance(obj, Unstructured):
            try:
                known = registry.object_class(obj.gvk)
            except UnknownKindError:
                return cls()
        return cls(shape.StructShape(cast("ApiType", known).api_type))

    def below(self, name: str) -> FieldSchema:
        """What is known of a field, or of a map's entries."""
        if isinstance(self.shape, shape.StructShape):
            this = shape.fields_of(self.shape.cls).get(name)
            merge = _struct(self.shape).MERGE.get(name, Merge())
            return FieldSchema() if this is None else FieldSchema(this.shape, merge)
        if isinstance(self.shape, shape.MapShape):
            return FieldSchema(_not_null(self.shape.value))
        return FieldSchema()

    def item(self) -> FieldSchema:
        """What is known of a list's items."""
        return (
            FieldSchema(_not_null(self.shape.item))
            if isinstance(self.shape, shape.ListShape)
            else FieldSchema()
        )

    @property
    def defaults(self) -> Mapping[str, object]:
        """What the server takes an item's fields to be that are not there."""
        return _struct(self.shape).DEFAULTS if isinstance(self.shape, shape.StructShape) else {}

    @property
    def empty(self) -> object:
        """What a list or map is that was set to nothing; None for everything else."""
        if isinstance(self.shape, shape.ListShape):
            return []
        return {} if isinstance(self.shape, shape.MapShape) else None

    @property
    def is_merged(self) -> bool:
        """Whether several can own parts of it, so that who owns it without any part set it to nothing."""
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


def _taken(value: object, owned: OwnedFields, facts: FieldSchema) -> object:
    """The owned part of a value."""
    if isinstance(value, dict):
        held = cast("dict[str, object]", value)
        if owned.is_leaf:
            return {} if facts.is_merged else held
        return _taken_fields(held, owned, facts)
    if isinstance(value, list):
        items = cast("list[object]", value)
        if owned.is_leaf:
            return [] if facts.is_merged else items
        return _taken_items(items, owned, facts)
    return value


def _taken_fields(held: dict[str, object], owned: OwnedFields, facts: FieldSchema) -> dict[str, object]:
    taken: dict[str, object] = {}
    for name, below in owned.fields.items():
        known = facts.below(name)
        if name in held:
            taken[name] = _taken(held[name], below, known)
        elif below.is_leaf and known.empty is not None:
            taken[name] = known.empty  # the server leaves out what is empty, but it is owned all the same
    return taken


def _taken_items(items: list[object], owned: OwnedFields, facts: FieldSchema) -> list[object]:
    """The owned items, in the order in which they are."""
    taken: list[object] = []
    known = facts.item()
    for place, item in enumerate(items):
        found = owned.of_item(place, item, known.defaults)
        if found is None:
            continue
        keys, below = found
        part = _taken(item, below, known)
        if keys:
            named = _keys_of(cast("dict[str, object]", item), keys, known)
            part = named | cast("dict[str, object]", part)
        taken.append(part)
    return taken


def _keys_of(item: dict[str, object], keys: tuple[str, ...], facts: FieldSchema) -> dict[str, object]:
    """What names an item; without keys that the server fills in, or the manager would come to own them."""
    return {name: item[name] for name in keys if name in item and facts.defaults.get(name) != item[name]}
