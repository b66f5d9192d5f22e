"""The types of meta/v1, which all API groups share."""

from masthead._lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead._meta.v1 import APIGroup as APIGroup
    from masthead._meta.v1 import APIGroupList as APIGroupList
    from masthead._meta.v1 import APIResource as APIResource
    from masthead._meta.v1 import APIResourceList as APIResourceList
    from masthead._meta.v1 import APIVersions as APIVersions
    from masthead._meta.v1 import ApplyOptions as ApplyOptions
    from masthead._meta.v1 import Condition as Condition
    from masthead._meta.v1 import ConditionStatus as ConditionStatus
    from masthead._meta.v1 import CreateOptions as CreateOptions
    from masthead._meta.v1 import DeleteOptions as DeleteOptions
    from masthead._meta.v1 import DeletionPropagation as DeletionPropagation
    from masthead._meta.v1 import FieldSelectorRequirement as FieldSelectorRequirement
    from masthead._meta.v1 import FieldsV1 as FieldsV1
    from masthead._meta.v1 import GetOptions as GetOptions
    from masthead._meta.v1 import GroupResource as GroupResource
    from masthead._meta.v1 import GroupVersionForDiscovery as GroupVersionForDiscovery
    from masthead._meta.v1 import LabelSelector as LabelSelector
    from masthead._meta.v1 import LabelSelectorRequirement as LabelSelectorRequirement
    from masthead._meta.v1 import ListMeta as ListMeta
    from masthead._meta.v1 import ListOptions as ListOptions
    from masthead._meta.v1 import ManagedFieldsEntry as ManagedFieldsEntry
    from masthead._meta.v1 import MicroTime as MicroTime
    from masthead._meta.v1 import ObjectMeta as ObjectMeta
    from masthead._meta.v1 import OwnerReference as OwnerReference
    from masthead._meta.v1 import PartialObjectMetadata as PartialObjectMetadata
    from masthead._meta.v1 import PartialObjectMetadataList as PartialObjectMetadataList
    from masthead._meta.v1 import PatchOptions as PatchOptions
    from masthead._meta.v1 import Preconditions as Preconditions
    from masthead._meta.v1 import ResourceVersionMatch as ResourceVersionMatch
    from masthead._meta.v1 import RootPaths as RootPaths
    from masthead._meta.v1 import ServerAddressByClientCIDR as ServerAddressByClientCIDR
    from masthead._meta.v1 import ShardInfo as ShardInfo
    from masthead._meta.v1 import Status as Status
    from masthead._meta.v1 import StatusCause as StatusCause
    from masthead._meta.v1 import StatusDetails as StatusDetails
    from masthead._meta.v1 import StatusReason as StatusReason
    from masthead._meta.v1 import Table as Table
    from masthead._meta.v1 import TableColumnDefinition as TableColumnDefinition
    from masthead._meta.v1 import TableRow as TableRow
    from masthead._meta.v1 import TableRowCondition as TableRowCondition
    from masthead._meta.v1 import Time as Time
    from masthead._meta.v1 import UpdateOptions as UpdateOptions

_HOMES = {
    "APIGroup": "masthead._meta.v1",
    "APIGroupList": "masthead._meta.v1",
    "APIResource": "masthead._meta.v1",
    "APIResourceList": "masthead._meta.v1",
    "APIVersions": "masthead._meta.v1",
    "ApplyOptions": "masthead._meta.v1",
    "Condition": "masthead._meta.v1",
    "ConditionStatus": "masthead._meta.v1",
    "CreateOptions": "masthead._meta.v1",
    "DeleteOptions": "masthead._meta.v1",
    "DeletionPropagation": "masthead._meta.v1",
    "FieldSelectorRequirement": "masthead._meta.v1",
    "FieldsV1": "masthead._meta.v1",
    "GetOptions": "masthead._meta.v1",
    "GroupResource": "masthead._meta.v1",
    "GroupVersionForDiscovery": "masthead._meta.v1",
    "LabelSelector": "masthead._meta.v1",
    "LabelSelectorRequirement": "masthead._meta.v1",
    "ListMeta": "masthead._meta.v1",
    "ListOptions": "masthead._meta.v1",
    "ManagedFieldsEntry": "masthead._meta.v1",
    "MicroTime": "masthead._meta.v1",
    "ObjectMeta": "masthead._meta.v1",
    "OwnerReference": "masthead._meta.v1",
    "PartialObjectMetadata": "masthead._meta.v1",
    "PartialObjectMetadataList": "masthead._meta.v1",
    "PatchOptions": "masthead._meta.v1",
    "Preconditions": "masthead._meta.v1",
    "ResourceVersionMatch": "masthead._meta.v1",
    "RootPaths": "masthead._meta.v1",
    "ServerAddressByClientCIDR": "masthead._meta.v1",
    "ShardInfo": "masthead._meta.v1",
    "Status": "masthead._meta.v1",
    "StatusCause": "masthead._meta.v1",
    "StatusDetails": "masthead._meta.v1",
    "StatusReason": "masthead._meta.v1",
    "Table": "masthead._meta.v1",
    "TableColumnDefinition": "masthead._meta.v1",
    "TableRow": "masthead._meta.v1",
    "TableRowCondition": "masthead._meta.v1",
    "Time": "masthead._meta.v1",
    "UpdateOptions": "masthead._meta.v1",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
