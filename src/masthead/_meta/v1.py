"""The types of meta/v1, which every API group shares.

Written by hand, because the rest of the package depends on them; a test compares them with the API's schema.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import ClassVar, Literal, Self, TypeAlias

from msgspec import Raw

from masthead._meta.field_decoder import split_fields
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.metadata import (
    ListMeta,
    ManagedFieldsEntry,
    ObjectMeta,
    OwnerReference,
    ShardInfo,
)
from masthead._meta.model import EMPTY, Struct, field
from masthead._meta.object import Object, ObjectList
from masthead._meta.shape import JSON, FieldsV1, ShapeError
from masthead._meta.time import MicroTime, Time
from masthead._module import set_module
from masthead.errors import DecodeError

__all__ = [
    "APIGroup",
    "APIGroupList",
    "APIResource",
    "APIResourceList",
    "APIVersions",
    "ApplyOptions",
    "Condition",
    "ConditionStatus",
    "CreateOptions",
    "DeleteOptions",
    "DeletionPropagation",
    "FieldSelectorOperator",
    "FieldSelectorRequirement",
    "FieldsV1",
    "GetOptions",
    "GroupResource",
    "GroupVersionForDiscovery",
    "LabelSelector",
    "LabelSelectorOperator",
    "LabelSelectorRequirement",
    "ListMeta",
    "ListOptions",
    "ManagedFieldsEntry",
    "MicroTime",
    "ObjectMeta",
    "OwnerReference",
    "PartialObjectMetadata",
    "PartialObjectMetadataList",
    "PatchOptions",
    "Preconditions",
    "ResourceVersionMatch",
    "RootPaths",
    "ServerAddressByClientCIDR",
    "ShardInfo",
    "Status",
    "StatusCause",
    "StatusDetails",
    "StatusReason",
    "Table",
    "TableColumnDefinition",
    "TableRow",
    "TableRowCondition",
    "Time",
    "UpdateOptions",
]

ConditionStatus: TypeAlias = Literal["True", "False", "Unknown"]
DeletionPropagation: TypeAlias = Literal["Orphan", "Background", "Foreground"]
FieldSelectorOperator: TypeAlias = Literal["In", "NotIn", "Exists", "DoesNotExist"]
LabelSelectorOperator: TypeAlias = Literal["In", "NotIn", "Exists", "DoesNotExist"]
ResourceVersionMatch: TypeAlias = Literal["Exact", "NotOlderThan"]


@set_module("masthead.meta")
class StatusReason(StrEnum):
    """The reason of a failure; `masthead.errors` has a class for each."""

    UNKNOWN = ""
    UNAUTHORIZED = "Unauthorized"
    FORBIDDEN = "Forbidden"
    NOT_FOUND = "NotFound"
    ALREADY_EXISTS = "AlreadyExists"
    CONFLICT = "Conflict"
    GONE = "Gone"
    INVALID = "Invalid"
    SERVER_TIMEOUT = "ServerTimeout"
    STORAGE_READ_ERROR = "StorageReadError"
    TIMEOUT = "Timeout"
    TOO_MANY_REQUESTS = "TooManyRequests"
    BAD_REQUEST = "BadRequest"
    METHOD_NOT_ALLOWED = "MethodNotAllowed"
    NOT_ACCEPTABLE = "NotAcceptable"
    REQUEST_ENTITY_TOO_LARGE = "RequestEntityTooLarge"
    UNSUPPORTED_MEDIA_TYPE = "UnsupportedMediaType"
    INTERNAL_ERROR = "InternalError"
    EXPIRED = "Expired"
    SERVICE_UNAVAILABLE = "ServiceUnavailable"


@set_module("masthead.meta")
class StatusCause(Struct):
    """One cause of a failure: the field and the problem."""

    field: str | None = None
    message: str | None = None
    reason: str | None = None


@set_module("masthead.meta")
class StatusDetails(Struct):
    """Details of a failure."""

    causes: list[StatusCause] = []
    group: str | None = None
    kind: str | None = None
    name: str | None = None
    retry_after_seconds: int | None = None
    uid: str | None = None


@set_module("masthead.meta")
class Status(Struct):
    """The response to a request that returns no object, or that failed."""

    GVK: ClassVar[GroupVersionKind] = GroupVersionKind("", "v1", "Status")

    api_version: str | None = None
    kind: str | None = None
    metadata: ListMeta = field(default_factory=ListMeta)
    status: Literal["Success", "Failure"] | None = None
    message: str | None = None
    reason: str | None = None
    details: StatusDetails | None = None
    code: int | None = None


@set_module("masthead.meta")
class Preconditions(Struct):
    """Preconditions of a delete."""

    resource_version: str | None = None
    """Delete only the object with this version; 409 Conflict otherwise."""
    uid: str | None = None
    """Delete only the object with this uid, not a newer one of the same name; 409 Conflict otherwise."""


@set_module("masthead.meta.v1")
class GetOptions(Struct):
    """The options of a get."""

    resource_version: str | None = None


@set_module("masthead.meta")
class ListOptions(Struct):
    """The options of a list, a watch and a deletecollection."""

    allow_watch_bookmarks: bool | None = None
    continue_: str | None = field(default=None, name="continue")
    field_selector: str | None = None
    label_selector: str | None = None
    limit: int | None = None
    resource_version: str | None = None
    resource_version_match: ResourceVersionMatch | None = None
    send_initial_events: bool | None = None
    shard_selector: str | None = None
    timeout_seconds: int | None = None
    watch: bool | None = None


@set_module("masthead.meta.v1")
class CreateOptions(Struct):
    """The options of a create."""

    dry_run: list[str] = []
    field_manager: str | None = None
    field_validation: Literal["Ignore", "Warn", "Strict"] | None = None


@set_module("masthead.meta.v1")
class UpdateOptions(Struct):
    """The options of an update."""

    dry_run: list[str] = []
    field_manager: str | None = None
    field_validation: Literal["Ignore", "Warn", "Strict"] | None = None


@set_module("masthead.meta.v1")
class PatchOptions(Struct):
    """The options of a patch."""

    dry_run: list[str] = []
    field_manager: str | None = None
    field_validation: Literal["Ignore", "Warn", "Strict"] | None = None
    force: bool | None = None


@set_module("masthead.meta.v1")
class ApplyOptions(Struct):
    """The options of a server-side apply."""

    dry_run: list[str] = []
    field_manager: str = ""
    force: bool = False


@set_module("masthead.meta")
class DeleteOptions(Struct):
    """The options of a delete, sent as its body."""

    api_version: str | None = None
    """The API version of the options: `v1`."""
    dry_run: list[str] = []
    """`["All"]` to check and answer the request without changing anything."""
    grace_period_seconds: int | None = None
    """Seconds for an orderly termination; 0 removes the object at once. Default: that of the kind, 30 for Pods
    unless their spec says otherwise.
    """
    ignore_store_read_error_with_cluster_breaking_potential: bool | None = None
    """Delete an object that the server can no longer decode, without finalizers or hooks. Dangerous: dependents stay
    behind.
    """
    kind: str | None = None
    """The kind of the options: `DeleteOptions`."""
    orphan_dependents: bool | None = None
    """Deprecated: use `propagation_policy`. Not both can be set."""
    preconditions: Preconditions | None = None
    """Conditions under which the object is deleted."""
    propagation_policy: DeletionPropagation | None = None
    """What happens to dependents: `Background` deletes them afterwards, `Foreground` before the object, `Orphan`
    leaves them. Default: that of the kind, mostly `Background`.
    """


@set_module("masthead.meta")
class LabelSelectorRequirement(Struct):
    """A key, an operator and values."""

    key: str = ""
    """The label's key."""
    operator: LabelSelectorOperator = EMPTY
    """`In` and `NotIn` compare with `values`; `Exists` and `DoesNotExist` ask for the key alone. `NotIn` also
    matches objects without the label.
    """
    values: list[str] = []
    """The values for `In` and `NotIn`, at least one; empty for the other operators."""


@set_module("masthead.meta")
class LabelSelector(Struct):
    """Selects objects by their labels; `masthead.meta.labels` evaluates it."""

    ATOMIC: ClassVar[bool] = True

    match_expressions: list[LabelSelectorRequirement] = []
    """Requirements that all must match, in addition to `match_labels`."""
    match_labels: dict[str, str] = {}
    """Labels with exactly these values, all of them. An empty selector matches every object."""


@set_module("masthead.meta.v1")
class FieldSelectorRequirement(Struct):
    """A field, an operator and values."""

    key: str = ""
    operator: FieldSelectorOperator = EMPTY
    values: list[str] = []


@set_module("masthead.meta")
class Condition(Struct):
    """The state of one aspect of an object; `masthead.meta` has helpers for lists of conditions."""

    last_transition_time: Time | None = None
    """The time when `status` last changed; changes of the reason or message leave it."""
    message: str = ""
    """Details for people. May be empty."""
    observed_generation: int | None = None
    """The `metadata.generation` that the condition is about. A lower one is out of date."""
    reason: str = ""
    """The cause of the last transition, as one CamelCase word for programs. Required."""
    status: ConditionStatus = EMPTY
    """`True`, `False` or `Unknown`: strings, not booleans."""
    type: str = ""
    """The aspect, in CamelCase, such as `Ready`. A list of conditions has one of each type."""


@set_module("masthead.meta.v1")
class GroupResource(Struct):
    """A resource and its group, as some statuses list them."""

    group: str = ""
    resource: str = ""


@set_module("masthead.meta.v1")
class GroupVersionForDiscovery(Struct):
    """A version of a group."""

    group_version: str = ""
    version: str = ""


@set_module("masthead.meta.v1")
class ServerAddressByClientCIDR(Struct):
    """The server address for clients of a network."""

    client_cidr: str = field(default="", name="clientCIDR")
    server_address: str = ""


@set_module("masthead.meta.v1")
class APIVersions(Struct):
    """The versions of the core group: the response of ``/api``."""

    api_version: str | None = None
    kind: str | None = None
    server_address_by_client_cidrs: list[ServerAddressByClientCIDR] = field(
        default=[], name="serverAddressByClientCIDRs"
    )
    versions: list[str] = []


@set_module("masthead.meta.v1")
class APIGroup(Struct):
    """A group and its versions."""

    api_version: str | None = None
    kind: str | None = None
    name: str = ""
    preferred_version: GroupVersionForDiscovery = field(default_factory=GroupVersionForDiscovery)
    server_address_by_client_cidrs: list[ServerAddressByClientCIDR] = field(
        default=[], name="serverAddressByClientCIDRs"
    )
    versions: list[GroupVersionForDiscovery] = []


@set_module("masthead.meta.v1")
class APIGroupList(Struct):
    """All groups except the core group: the response of ``/apis``."""

    api_version: str | None = None
    groups: list[APIGroup] = []
    kind: str | None = None


@set_module("masthead.meta")
class APIResource(Struct):
    """A resource or subresource, as legacy discovery describes it."""

    categories: list[str] = []
    group: str | None = None
    kind: str = ""
    name: str = ""
    namespaced: bool = False
    short_names: list[str] = []
    singular_name: str = ""
    storage_version_hash: str | None = None
    verbs: list[str] = []
    version: str | None = None


@set_module("masthead.meta")
class APIResourceList(Struct):
    """The resources of a group and version."""

    api_version: str | None = None
    group_version: str = ""
    kind: str | None = None
    resources: list[APIResource] = []


@set_module("masthead.meta.v1")
class RootPaths(Struct):
    """The paths that a server serves."""

    paths: list[str] = []


@set_module("masthead.meta")
class PartialObjectMetadata(Object):
    """The metadata of an object of any kind."""

    GVK = GroupVersionKind("meta.k8s.io", "v1", "PartialObjectMetadata")

    @classmethod
    def from_wire(cls, data: bytes) -> Self:
        """Decode the metadata of an object. Of a whole object, all else is dropped.

        Raises:
            DecodeError: If it is not JSON, is a Status, or its metadata is invalid.
        """
        return super().from_wire(_cut_to_metadata(data, cls.GVK.kind, "metadata"))


@set_module("masthead.meta")
class PartialObjectMetadataList(ObjectList[PartialObjectMetadata]):
    """The metadata of the objects of a list of any kind."""

    GVK = GroupVersionKind("meta.k8s.io", "v1", "PartialObjectMetadataList")
    ITEM: ClassVar[type[Object]] = PartialObjectMetadata

    @classmethod
    def from_wire(cls, data: bytes, *, on_error: Callable[[DecodeError], None] | None = None) -> Self:
        """Decode the metadata of a list and of its items. Of a list of whole objects, all else is dropped.

        Args:
            data: The response body.
            on_error: Called for each undecodable item, which is then skipped; its bytes are the error's ``value``.
                Without it, the first such item raises.

        Raises:
            DecodeError: If it is not JSON or not a list, or an item cannot be decoded.
        """
        cut = _cut_to_metadata(data, cls.GVK.kind, "metadata", "items")
        return super().from_wire(cut, on_error=on_error)


def _cut_to_metadata(data: bytes, kind: str, *names: str) -> bytes:
    """Keep these fields of an object or list of another kind.

    Servers and proxies that cannot send metadata alone send whole objects. An ordinary response is returned unchanged,
    and so is a response without metadata: its decoder reports the error.
    """
    if data.startswith(b'{"kind":"%b"' % kind.encode()):
        return data
    try:
        parts = split_fields(data)
    except ShapeError:
        return data
    if not parts.keys() >= {*names} or parts.get("kind") in (Raw(f'"{kind}"'.encode()), Raw(b'"Status"')):
        return data
    return b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), parts[name]) for name in names)


@set_module("masthead.meta.v1")
class TableColumnDefinition(Struct):
    """A column of a Table."""

    description: str = ""
    format: str = ""
    name: str = ""
    priority: int = 0
    type: str = ""


@set_module("masthead.meta.v1")
class TableRowCondition(Struct):
    """A condition of a row, such as that its object has completed."""

    message: str | None = None
    reason: str | None = None
    status: ConditionStatus = EMPTY
    type: str = ""


@set_module("masthead.meta.v1")
class TableRow(Struct):
    """An object, as cells."""

    cells: list[JSON] = []
    conditions: list[TableRowCondition] = []
    object: JSON = None


@set_module("masthead.meta")
class Table(Struct):
    """Objects in tabular form, as kubectl shows them."""

    GVK: ClassVar[GroupVersionKind] = GroupVersionKind("meta.k8s.io", "v1", "Table")

    api_version: str | None = None
    kind: str | None = None
    metadata: ListMeta = field(default_factory=ListMeta)
    column_definitions: list[TableColumnDefinition] = []
    rows: list[TableRow] = []
