"""The metadata that every object and every list carries."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from masthead._meta import names
from masthead._meta.merge import Merge
from masthead._meta.model import Struct, field
from masthead._meta.shape import FieldsV1, ShapeError
from masthead._meta.time import Time
from masthead.errors import DecodeError


class OwnerReference(Struct):
    """Names an object that this one belongs to; it goes when all its owners have gone."""

    ATOMIC: ClassVar[bool] = True

    api_version: str = ""
    block_owner_deletion: bool | None = None
    controller: bool | None = None
    kind: str = ""
    name: str = ""
    uid: str = ""


class ManagedFieldsEntry(Struct):
    """Which fields a manager has set, and how."""

    api_version: str | None = None
    fields_type: str | None = None
    fields_v1: FieldsV1 | None = field(default=None, name="fieldsV1")
    manager: str | None = None
    operation: str | None = None
    subresource: str | None = None
    time: Time | None = None


_MAPS_AND_LISTS = ("annotations", "finalizers", "labels", "managed_fields", "owner_references")


# plain: names and versions are read millions of times, so they are bare slots and an explicit "" counts as
# unset, which is what it means to the server. lazy: nine tenths of the bytes are in these, and most readers of a
# list look at few of them; waiting saves a fifth of the time and of the memory that a list takes.
class ObjectMeta(Struct, plain=True, lazy=_MAPS_AND_LISTS):
    """What every object has. Strings are never None: an unset one is empty. Maps and lists wait to be read."""

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
        """Say what is wrong with a field; metadata knows whose it is, though not of which kind."""
        subject = "/".join(part for part in (self.namespace, self.name) if part)
        return DecodeError(
            fault.problem, kind=type(self).__name__, subject=subject, path=f"metadata.{fault.path}"
        )


class ShardInfo(Struct):
    """Which part of a collection a sharded list holds."""

    selector: str = ""


class ListMeta(Struct, plain=True):
    """What every list has. Strings are never None: an unset one is empty."""

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
    """Metadata of an object to be created: names must be able to stand in a path, labels be labels.

    What else a kind asks of its names, the server knows.

    Raises:
        DecodeError: If something is of the wrong type.
        NameFormatError: If a name or label is none.
    """
    given = {
        "name": name,
        "namespace": namespace,
        "generate_name": generate_name,
        "labels": labels,
        "annotations": annotations,
    }
    made = ObjectMeta(**cast("Any", {key: value for key, value in given.items() if value}))
    for each in (made.name, made.namespace, made.generate_name):
        if each:
            names.check_path_segment_name(each)
    if labels:  # or reading them would bring an empty map to life, for which `to_json` has to look
        for key, value in made.labels.items():
            names.check_qualified_name(key)
            names.check_label_value(value)
    return made
