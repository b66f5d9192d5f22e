"""ObjectMeta and ListMeta."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, cast

from masthead._meta import names
from masthead._meta.merge import Merge
from masthead._meta.model import Struct, field
from masthead._meta.shape import FieldsV1, ShapeError
from masthead._meta.time import Time
from masthead._module import set_module
from masthead.errors import DecodeError


@set_module("masthead.meta")
class OwnerReference(Struct):
    """A reference to an owner; the garbage collector deletes an object after all its owners."""

    ATOMIC: ClassVar[bool] = True

    api_version: str = ""
    block_owner_deletion: bool | None = None
    controller: bool | None = None
    kind: str = ""
    name: str = ""
    uid: str = ""


@set_module("masthead.meta")
class ManagedFieldsEntry(Struct):
    """The fields that a field manager owns."""

    api_version: str | None = None
    fields_type: str | None = None
    fields_v1: FieldsV1 | None = field(default=None, name="fieldsV1")
    manager: str | None = None
    operation: Literal["Apply", "Update"] | None = None
    subresource: str | None = None
    time: Time | None = None


_MAPS_AND_LISTS = ("annotations", "finalizers", "labels", "managed_fields", "owner_references")


# plain: names and versions are read millions of times, so they are bare slots, and an explicit "" counts as unset, as
# it does for the server. lazy: these fields hold nine tenths of the bytes, and most readers of a list use few of them;
# decoding them on demand saves a fifth of the time and memory of a list.
@set_module("masthead.meta")
class ObjectMeta(Struct, plain=True, lazy=_MAPS_AND_LISTS):
    """The metadata of an object. Strings are never None: an unset one is empty. Maps and lists are decoded lazily."""

    MERGE: ClassVar[Mapping[str, Merge]] = {
        "finalizers": Merge(list_type="set", strategy=("merge",)),
        "ownerReferences": Merge(list_type="map", keys=("uid",), strategy=("merge",), merge_key="uid"),
    }

    annotations: dict[str, str] = {}
    creation_timestamp: Time | None = None
    deletion_grace_period_seconds: int | None = None
    deletion_timestamp: Time | None = None
    finalizers: list[str] = []
    generate_name: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    managed_fields: list[ManagedFieldsEntry] = []
    name: str = ""
    namespace: str = ""
    owner_references: list[OwnerReference] = []
    resource_version: str = ""
    self_link: str = ""
    uid: str = ""

    def decode_error(self, fault: ShapeError) -> DecodeError:
        """Create the error for an invalid field; metadata knows the name of its object, but not the kind."""
        subject = "/".join(part for part in (self.namespace, self.name) if part)
        return DecodeError(fault.problem, kind=type(self).__name__, subject=subject, path=f"metadata.{fault.path}")


@set_module("masthead.meta.v1")
class ShardInfo(Struct):
    """The shard of a collection that a list contains."""

    selector: str = ""


@set_module("masthead.meta")
class ListMeta(Struct, plain=True):
    """The metadata of a list. Strings are never None: an unset one is empty."""

    continue_: str = field(default="", name="continue")
    remaining_item_count: int | None = None
    resource_version: str = ""
    self_link: str = ""
    shard_info: ShardInfo | None = None


def new_metadata(
    name: str,
    namespace: str,
    generate_name: str,
    labels: Mapping[str, str] | None,
    annotations: Mapping[str, str] | None,
) -> ObjectMeta:
    """Build the metadata of an object to create: names must be valid in a URL path, and labels must be valid.

    Further rules for names depend on the kind, and are left to the server.

    Raises:
        DecodeError: If a value has the wrong type.
        NameFormatError: If a name or label is invalid.
    """
    given = {
        "name": name,
        "namespace": namespace,
        "generate_name": generate_name,
        "labels": labels,
        "annotations": annotations,
    }
    made = ObjectMeta(**cast("Any", {key: value for key, value in given.items() if value}))
    for text in (made.name, made.namespace, made.generate_name):
        if text:
            names.check_path_segment_name(text)
    if labels:  # reading unset labels would create an implicit map, which `to_json` must then check
        for key, value in made.labels.items():
            names.check_qualified_name(key)
            names.check_label_value(value)
    return made
