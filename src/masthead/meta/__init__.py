"""The vocabulary of the API: how it names things, and the types that every group shares.

| module | what lives there |
|---|---|
| `gvk`, `resource`, `registry` | kinds, resources, and which class stands for which |
| `typeinfo`, `apitype`, `shape`, `slots`, `widen`, `cut`, `wire`, `walk`, `shown`, `model` | how types are made, read, compared, written and shown |
| `kinds`, `parts`, `object`, `unstructured` | objects and lists, with a type and without |
| `metadata`, `v1`, `merge` | ObjectMeta and the rest of meta/v1; how fields merge |
| `quantity`, `time`, `intstr`, `names`, `labels`, `fields`, `patch`, `yaml` | the small grammars |
| `secret`, `locks` | text that must not be shown by accident; locks that survive a fork |
| `conditions`, `owners`, `finalizers` | what every controller does with metadata and status |

The names below can be imported from here; each is imported when it is first used.
"""

from masthead.lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead.meta import fields as fields
    from masthead.meta import labels as labels
    from masthead.meta import registry as registry
    from masthead.meta.conditions import find_condition as find_condition
    from masthead.meta.conditions import has_condition_status as has_condition_status
    from masthead.meta.conditions import is_condition_false as is_condition_false
    from masthead.meta.conditions import is_condition_true as is_condition_true
    from masthead.meta.conditions import remove_condition as remove_condition
    from masthead.meta.conditions import set_condition as set_condition
    from masthead.meta.fields import FieldSelector as FieldSelector
    from masthead.meta.finalizers import add_finalizer as add_finalizer
    from masthead.meta.finalizers import has_finalizer as has_finalizer
    from masthead.meta.finalizers import is_deleting as is_deleting
    from masthead.meta.finalizers import remove_finalizer as remove_finalizer
    from masthead.meta.gvk import GroupKind as GroupKind
    from masthead.meta.gvk import GroupResource as GroupResource
    from masthead.meta.gvk import GroupVersion as GroupVersion
    from masthead.meta.gvk import GroupVersionKind as GroupVersionKind
    from masthead.meta.gvk import GroupVersionResource as GroupVersionResource
    from masthead.meta.intstr import IntOrString as IntOrString
    from masthead.meta.labels import Requirement as Requirement
    from masthead.meta.labels import Selector as Selector
    from masthead.meta.merge import Merge as Merge
    from masthead.meta.metadata import ListMeta as ListMeta
    from masthead.meta.metadata import ManagedFieldsEntry as ManagedFieldsEntry
    from masthead.meta.metadata import ObjectMeta as ObjectMeta
    from masthead.meta.metadata import OwnerReference as OwnerReference
    from masthead.meta.model import Struct as Struct
    from masthead.meta.model import field as field
    from masthead.meta.model import unknown_fields as unknown_fields
    from masthead.meta.object import Object as Object
    from masthead.meta.object import ObjectList as ObjectList
    from masthead.meta.owners import controller_of as controller_of
    from masthead.meta.owners import is_controlled_by as is_controlled_by
    from masthead.meta.owners import owner_reference as owner_reference
    from masthead.meta.owners import remove_owner as remove_owner
    from masthead.meta.owners import set_controller as set_controller
    from masthead.meta.owners import set_owner as set_owner
    from masthead.meta.patch import JsonOperation as JsonOperation
    from masthead.meta.patch import Patch as Patch
    from masthead.meta.patch import PatchType as PatchType
    from masthead.meta.patch import merge_patch as merge_patch
    from masthead.meta.quantity import Quantity as Quantity
    from masthead.meta.quantity import QuantityFormat as QuantityFormat
    from masthead.meta.registry import Registry as Registry
    from masthead.meta.registry import register as register
    from masthead.meta.resource import Resource as Resource
    from masthead.meta.resource import Subresource as Subresource
    from masthead.meta.shape import JSON as JSON
    from masthead.meta.time import MicroTime as MicroTime
    from masthead.meta.time import Time as Time
    from masthead.meta.time import format_micro_time as format_micro_time
    from masthead.meta.time import format_time as format_time
    from masthead.meta.time import parse_micro_time as parse_micro_time
    from masthead.meta.time import parse_time as parse_time
    from masthead.meta.unstructured import Unstructured as Unstructured
    from masthead.meta.unstructured import UnstructuredList as UnstructuredList
    from masthead.meta.v1 import APIResource as APIResource
    from masthead.meta.v1 import APIResourceList as APIResourceList
    from masthead.meta.v1 import Condition as Condition
    from masthead.meta.v1 import DeleteOptions as DeleteOptions
    from masthead.meta.v1 import LabelSelector as LabelSelector
    from masthead.meta.v1 import LabelSelectorRequirement as LabelSelectorRequirement
    from masthead.meta.v1 import ListOptions as ListOptions
    from masthead.meta.v1 import PartialObjectMetadata as PartialObjectMetadata
    from masthead.meta.v1 import PartialObjectMetadataList as PartialObjectMetadataList
    from masthead.meta.v1 import Preconditions as Preconditions
    from masthead.meta.v1 import Status as Status
    from masthead.meta.v1 import StatusCause as StatusCause
    from masthead.meta.v1 import StatusDetails as StatusDetails
    from masthead.meta.v1 import StatusReason as StatusReason
    from masthead.meta.v1 import Table as Table
    from masthead.meta.v1 import WatchEvent as WatchEvent

_HOMES = {
    "fields": "masthead.meta",
    "labels": "masthead.meta",
    "registry": "masthead.meta",
    "find_condition": "masthead.meta.conditions",
    "has_condition_status": "masthead.meta.conditions",
    "is_condition_false": "masthead.meta.conditions",
    "is_condition_true": "masthead.meta.conditions",
    "remove_condition": "masthead.meta.conditions",
    "set_condition": "masthead.meta.conditions",
    "FieldSelector": "masthead.meta.fields",
    "add_finalizer": "masthead.meta.finalizers",
    "has_finalizer": "masthead.meta.finalizers",
    "is_deleting": "masthead.meta.finalizers",
    "remove_finalizer": "masthead.meta.finalizers",
    "GroupKind": "masthead.meta.gvk",
    "GroupResource": "masthead.meta.gvk",
    "GroupVersion": "masthead.meta.gvk",
    "GroupVersionKind": "masthead.meta.gvk",
    "GroupVersionResource": "masthead.meta.gvk",
    "IntOrString": "masthead.meta.intstr",
    "Requirement": "masthead.meta.labels",
    "Selector": "masthead.meta.labels",
    "Merge": "masthead.meta.merge",
    "ListMeta": "masthead.meta.metadata",
    "ManagedFieldsEntry": "masthead.meta.metadata",
    "ObjectMeta": "masthead.meta.metadata",
    "OwnerReference": "masthead.meta.metadata",
    "Struct": "masthead.meta.model",
    "field": "masthead.meta.model",
    "unknown_fields": "masthead.meta.model",
    "Object": "masthead.meta.object",
    "ObjectList": "masthead.meta.object",
    "controller_of": "masthead.meta.owners",
    "is_controlled_by": "masthead.meta.owners",
    "owner_reference": "masthead.meta.owners",
    "remove_owner": "masthead.meta.owners",
    "set_controller": "masthead.meta.owners",
    "set_owner": "masthead.meta.owners",
    "JsonOperation": "masthead.meta.patch",
    "Patch": "masthead.meta.patch",
    "PatchType": "masthead.meta.patch",
    "merge_patch": "masthead.meta.patch",
    "Quantity": "masthead.meta.quantity",
    "QuantityFormat": "masthead.meta.quantity",
    "Registry": "masthead.meta.registry",
    "register": "masthead.meta.registry",
    "Resource": "masthead.meta.resource",
    "Subresource": "masthead.meta.resource",
    "JSON": "masthead.meta.shape",
    "MicroTime": "masthead.meta.time",
    "Time": "masthead.meta.time",
    "format_micro_time": "masthead.meta.time",
    "format_time": "masthead.meta.time",
    "parse_micro_time": "masthead.meta.time",
    "parse_time": "masthead.meta.time",
    "Unstructured": "masthead.meta.unstructured",
    "UnstructuredList": "masthead.meta.unstructured",
    "APIResource": "masthead.meta.v1",
    "APIResourceList": "masthead.meta.v1",
    "Condition": "masthead.meta.v1",
    "DeleteOptions": "masthead.meta.v1",
    "LabelSelector": "masthead.meta.v1",
    "LabelSelectorRequirement": "masthead.meta.v1",
    "ListOptions": "masthead.meta.v1",
    "PartialObjectMetadata": "masthead.meta.v1",
    "PartialObjectMetadataList": "masthead.meta.v1",
    "Preconditions": "masthead.meta.v1",
    "Status": "masthead.meta.v1",
    "StatusCause": "masthead.meta.v1",
    "StatusDetails": "masthead.meta.v1",
    "StatusReason": "masthead.meta.v1",
    "Table": "masthead.meta.v1",
    "WatchEvent": "masthead.meta.v1",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
