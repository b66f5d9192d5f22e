"""The types of meta/v1, which every API group shares.

Written by hand, because the rest of the package stands on them; a test compares them with the API's schema.
"""

from enum import StrEnum
from typing import ClassVar, Literal, TypeAlias

from masthead._meta.gvk import GroupVersionKind
from masthead._meta.metadata import (
    ListMeta,
    ManagedFieldsEntry,
    ObjectMeta,
    OwnerReference,
    ShardInfo,
)
from masthead._meta.model import Struct, field
from masthead._meta.object import Object, ObjectList
from masthead._meta.shape import JSON, FieldsV1
from masthead._meta.time import MicroTime, Time

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
    "FieldSelectorRequirement",
    "FieldsV1",
    "GetOptions",
    "GroupResource",
    "GroupVersionForDiscovery",
    "LabelSelector",
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
ResourceVersionMatch: TypeAlias = Literal["Exact", "NotOlderThan"]


# -- Failure ---------------------------------------------------------------------------------------------------


class StatusReason(StrEnum):
    """Why a request failed, as a Status says it; `masthead.errors` has a class for each."""

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


class StatusCause(Struct):
    """One of the reasons of a failure: which field, and what is wrong with it."""

    field: str | None = None
    message: str | None = None
    reason: str | None = None


class StatusDetails(Struct):
    """What a failure is about."""

    causes: list[StatusCause] = []
    group: str | None = None
    kind: str | None = None
    name: str | None = None
    retry_after_seconds: int | None = None
    uid: str | None = None


class Status(Struct):
    """The answer to a request that returns no object, and to one that failed."""

    GVK: ClassVar[GroupVersionKind] = GroupVersionKind("", "v1", "Status")

    api_version: str | None = None
    kind: str | None = None
    metadata: ListMeta = field(default_factory=ListMeta)
    status: str | None = None
    message: str | None = None
    reason: str | None = None
    details: StatusDetails | None = None
    code: int | None = None


# -- Options ---------------------------------------------------------------------------------------------------


class Preconditions(Struct):
    """What must still be true of an object when it is deleted."""

    resource_version: str | None = None
    uid: str | None = None


class GetOptions(Struct):
    """The options of a get."""

    resource_version: str | None = None


class ListOptions(Struct):
    """The options of a list, a watch and a deletecollection."""

    allow_watch_bookmarks: bool | None = None
    continue_: str | None = field(default=None, name="continue")
    field_selector: str | None = None
    label_selector: str | None = None
    limit: int | None = None
    resource_version: str | None = None
    resource_version_match: str | None = None
    send_initial_events: bool | None = None
    shard_selector: str | None = None
    timeout_seconds: int | None = None
    watch: bool | None = None


class CreateOptions(Struct):
    """The options of a create."""

    dry_run: list[str] = []
    field_manager: str | None = None
    field_validation: str | None = None


class UpdateOptions(Struct):
    """The options of an update."""

    dry_run: list[str] = []
    field_manager: str | None = None
    field_validation: str | None = None


class PatchOptions(Struct):
    """The options of a patch."""

    dry_run: list[str] = []
    field_manager: str | None = None
    field_validation: str | None = None
    force: bool | None = None


class ApplyOptions(Struct):
    """The options of a server-side apply."""

    dry_run: list[str] = []
    field_manager: str = ""
    force: bool = False


class DeleteOptions(Struct):
    """The options of a delete, which travel as its body."""

    api_version: str | None = None
    dry_run: list[str] = []
    grace_period_seconds: int | None = None
    ignore_store_read_error_with_cluster_breaking_potential: bool | None = None
    kind: str | None = None
    orphan_dependents: bool | None = None
    preconditions: Preconditions | None = None
    propagation_policy: str | None = None


# -- Selectors and conditions ----------------------------------------------------------------------------------


class LabelSelectorRequirement(Struct):
    """A key, one of In, NotIn, Exists and DoesNotExist, and values."""

    key: str = ""
    operator: str = ""
    values: list[str] = []


class LabelSelector(Struct):
    """Selects objects by their labels; `masthead._meta.labels` matches with it."""

    ATOMIC: ClassVar[bool] = True

    match_expressions: list[LabelSelectorRequirement] = []
    match_labels: dict[str, str] = {}


class FieldSelectorRequirement(Struct):
    """A field, an operator and values."""

    key: str = ""
    operator: str = ""
    values: list[str] = []


class Condition(Struct):
    """What is known of one aspect of an object; `masthead._meta.conditions` helps to keep a list of them."""

    last_transition_time: Time | None = None
    message: str = ""
    observed_generation: int | None = None
    reason: str = ""
    status: str = ""
    type: str = ""


# -- Discovery -------------------------------------------------------------------------------------------------


class GroupResource(Struct):
    """A resource and its group, as some statuses list them."""

    group: str = ""
    resource: str = ""


class GroupVersionForDiscovery(Struct):
    """A version that a group is served at."""

    group_version: str = ""
    version: str = ""


class ServerAddressByClientCIDR(Struct):
    """Which address a client of a network should use."""

    client_cidr: str = field(default="", name="clientCIDR")
    server_address: str = ""


class APIVersions(Struct):
    """The versions of the core group, as ``/api`` answers."""

    api_version: str | None = None
    kind: str | None = None
    server_address_by_client_cidrs: list[ServerAddressByClientCIDR] = field(
        default=[], name="serverAddressByClientCIDRs"
    )
    versions: list[str] = []


class APIGroup(Struct):
    """A group and the versions that it is served at."""

    api_version: str | None = None
    kind: str | None = None
    name: str = ""
    preferred_version: GroupVersionForDiscovery = field(default_factory=GroupVersionForDiscovery)
    server_address_by_client_cidrs: list[ServerAddressByClientCIDR] = field(
        default=[], name="serverAddressByClientCIDRs"
    )
    versions: list[GroupVersionForDiscovery] = []


class APIGroupList(Struct):
    """All groups but the core one, as ``/apis`` answers."""

    api_version: str | None = None
    groups: list[APIGroup] = []
    kind: str | None = None


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


class APIResourceList(Struct):
    """The resources of a group and version."""

    api_version: str | None = None
    group_version: str = ""
    kind: str | None = None
    resources: list[APIResource] = []


class RootPaths(Struct):
    """The paths that a server answers at."""

    paths: list[str] = []


# -- Representations -------------------------------------------------------------------------------------------


class PartialObjectMetadata(Object):
    """An object of any kind of which the server sends the metadata only."""

    GVK = GroupVersionKind("meta.k8s.io", "v1", "PartialObjectMetadata")


class PartialObjectMetadataList(ObjectList[PartialObjectMetadata]):
    """A list of any kind of which the server sends the metadata only."""

    GVK = GroupVersionKind("meta.k8s.io", "v1", "PartialObjectMetadataList")
    ITEM: ClassVar[type[Object]] = PartialObjectMetadata


class TableColumnDefinition(Struct):
    """A column of a Table."""

    description: str = ""
    format: str = ""
    name: str = ""
    priority: int = 0
    type: str = ""


class TableRowCondition(Struct):
    """Something noteworthy about a row, such as that its object has completed."""

    message: str | None = None
    reason: str | None = None
    status: str = ""
    type: str = ""


class TableRow(Struct):
    """An object, as cells."""

    cells: list[JSON] = []
    conditions: list[TableRowCondition] = []
    object: JSON = None


class Table(Struct):
    """Objects as the server would print them, which is what kubectl shows."""

    GVK: ClassVar[GroupVersionKind] = GroupVersionKind("meta.k8s.io", "v1", "Table")

    api_version: str | None = None
    kind: str | None = None
    metadata: ListMeta = field(default_factory=ListMeta)
    column_definitions: list[TableColumnDefinition] = []
    rows: list[TableRow] = []
