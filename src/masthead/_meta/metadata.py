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
    """The owner's API version, such as `apps/v1`."""
    block_owner_deletion: bool | None = None
    """Whether a foreground deletion of the owner waits until this object is gone. Setting it needs the permission to
    update the owner's finalizers.
    """
    controller: bool | None = None
    """Whether the owner is the managing controller. At most one owner is."""
    kind: str = ""
    """The owner's kind."""
    name: str = ""
    """The owner's name. It is in the same namespace as the object, or has none: owners in other namespaces count as
    missing, and the object is collected.
    """
    uid: str = ""
    """The owner's uid. A new object of the same name is another owner."""


@set_module("masthead.meta")
class ManagedFieldsEntry(Struct):
    """The fields that a field manager owns."""

    api_version: str | None = None
    """The API version in which `fields_v1` names the fields."""
    fields_type: str | None = None
    """The format of `fields_v1`: always `FieldsV1`."""
    fields_v1: FieldsV1 | None = field(default=None, name="fieldsV1")
    """The set of fields, as a tree of keys: `f:NAME` for a field, `k:{...}` for a list item with these keys,
    `v:VALUE` for a set item.
    """
    manager: str | None = None
    """The name of the manager: the `field_manager` of the request, else derived from its User-Agent."""
    operation: Literal["Apply", "Update"] | None = None
    """`Apply` for server-side apply, `Update` for every other write. One manager may have an entry of each."""
    subresource: str | None = None
    """The subresource through which the manager wrote, such as `status`; empty for the object itself."""
    time: Time | None = None
    """The time of the manager's last change, not of its last request."""


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
    """Notes for people and programs, unlimited in form but not usable in selectors. All keys and values together
    hold at most 256 KiB.
    """
    creation_timestamp: Time | None = None
    """The time of the creation, set by the server. None until the object is created."""
    deletion_grace_period_seconds: int | None = None
    """Seconds between the request to delete and the removal, for graceful deletion. Read-only; it can only be
    shortened.
    """
    deletion_timestamp: Time | None = None
    """Set by the server when a deletion was requested but grace period or finalizers delay it; it cannot be unset.
    Reconcilers clean up and remove their finalizer when they see it.
    """
    finalizers: list[str] = []
    """Names that each hold off the removal of a deleted object until their controller removes them. None can be
    added after `deletion_timestamp` is set.
    """
    generate_name: str = ""
    """A prefix from which the server makes a unique name when `name` is empty. The name is known only from the
    response.
    """
    generation: int = 0
    """A number that grows with each change of the desired state. A status whose `observed_generation` is lower
    describes an earlier spec.
    """
    labels: dict[str, str] = {}
    """Keys and values by which selectors find the object. Values have at most 63 characters: letters, digits, `-`,
    `_` and `.`.
    """
    managed_fields: list[ManagedFieldsEntry] = []
    """Which manager owns which fields, maintained by the server. Informers may drop it to save memory."""
    name: str = ""
    """Unique among the objects of its resource in the namespace. Immutable."""
    namespace: str = ""
    """The namespace; empty for cluster-scoped kinds. Immutable."""
    owner_references: list[OwnerReference] = []
    """The objects that this one depends on. The garbage collector deletes it when all of them are gone."""
    resource_version: str = ""
    """An opaque version that changes with every write. Sent with an update, it makes the server answer 409 Conflict
    if somebody else wrote in between.
    """
    self_link: str = ""
    """Deprecated: servers no longer set it."""
    uid: str = ""
    """Unique in time and space: an object that is deleted and created again has a new one. Set by the server."""

    def decode_error(self, fault: ShapeError) -> DecodeError:
        """Create the error for an invalid field; metadata knows the name of its object, but not the kind."""
        subject = "/".join(part for part in (self.namespace, self.name) if part)
        return DecodeError(fault.problem, kind=type(self).__name__, subject=subject, path=f"metadata.{fault.path}")


@set_module("masthead.meta.v1")
class ShardInfo(Struct):
    """The shard of a collection that a list contains."""

    selector: str = ""
    """The selector that chose the objects of the shard."""


@set_module("masthead.meta")
class ListMeta(Struct, plain=True):
    """The metadata of a list. Strings are never None: an unset one is empty."""

    continue_: str = field(default="", name="continue")
    """The token for the next page; empty on the last one. It expires after some minutes, with 410 Gone."""
    remaining_item_count: int | None = None
    """The number of objects after this page, if the server knows it; never with selectors."""
    resource_version: str = ""
    """The version of the collection, from which a watch continues without a gap."""
    self_link: str = ""
    """Deprecated: servers no longer set it."""
    shard_info: ShardInfo | None = None
    """The shard that the list was limited to; None for a complete list."""


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
