"""The machinery of API types, and the types that all groups share.

| names | purpose |
|---|---|
| `GroupVersionKind`, `GroupVersionResource`, `Resource`, `registry` | names of kinds and resources, and the registry of classes |
| `Object`, `ObjectList`, `Unstructured`, `Struct`, `field` | objects and lists, typed and unstructured; base of own types |
| `ObjectMeta`, `ListMeta`, `Status`, `Condition`, `LabelSelector` … | the types of meta/v1 |
| `labels`, `fields`, `Quantity`, `Time`, `MicroTime`, `IntOrString`, `Patch` | selectors, quantities, times and patches |
| `set_condition`, `set_controller`, `add_finalizer` … | helpers for controllers |

The names below can be imported from here; each is imported when it is first used.
"""

from masthead._lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead._meta.conditions import find_condition as find_condition
    from masthead._meta.conditions import has_condition_status as has_condition_status
    from masthead._meta.conditions import is_condition_false as is_condition_false
    from masthead._meta.conditions import is_condition_true as is_condition_true
    from masthead._meta.conditions import remove_condition as remove_condition
    from masthead._meta.conditions import set_condition as set_condition
    from masthead._meta.fields import FieldSelector as FieldSelector
    from masthead._meta.finalizers import add_finalizer as add_finalizer
    from masthead._meta.finalizers import has_finalizer as has_finalizer
    from masthead._meta.finalizers import is_deleting as is_deleting
    from masthead._meta.finalizers import remove_finalizer as remove_finalizer
    from masthead._meta.gvk import GroupKind as GroupKind
    from masthead._meta.gvk import GroupVersion as GroupVersion
    from masthead._meta.gvk import GroupVersionKind as GroupVersionKind
    from masthead._meta.gvk import GroupVersionResource as GroupVersionResource
    from masthead._meta.intstr import IntOrString as IntOrString
    from masthead._meta.labels import Requirement as Requirement
    from masthead._meta.labels import Selector as Selector
    from masthead._meta.merge import Merge as Merge
    from masthead._meta.metadata import ListMeta as ListMeta
    from masthead._meta.metadata import ManagedFieldsEntry as ManagedFieldsEntry
    from masthead._meta.metadata import ObjectMeta as ObjectMeta
    from masthead._meta.metadata import OwnerReference as OwnerReference
    from masthead._meta.model import Struct as Struct
    from masthead._meta.model import field as field
    from masthead._meta.model import unknown_fields as unknown_fields
    from masthead._meta.object import Data as Data
    from masthead._meta.object import Object as Object
    from masthead._meta.object import ObjectList as ObjectList
    from masthead._meta.owners import controller_of as controller_of
    from masthead._meta.owners import is_controlled_by as is_controlled_by
    from masthead._meta.owners import owner_reference as owner_reference
    from masthead._meta.owners import remove_owner as remove_owner
    from masthead._meta.owners import set_controller as set_controller
    from masthead._meta.owners import set_owner as set_owner
    from masthead._meta.patch import JsonOperation as JsonOperation
    from masthead._meta.patch import Patch as Patch
    from masthead._meta.patch import PatchType as PatchType
    from masthead._meta.patch import merge_patch as merge_patch
    from masthead._meta.quantity import Quantity as Quantity
    from masthead._meta.quantity import QuantityFormat as QuantityFormat
    from masthead._meta.registry import Registry as Registry
    from masthead._meta.registry import register as register
    from masthead._meta.resource import Resource as Resource
    from masthead._meta.resource import Subresource as Subresource
    from masthead._meta.shape import JSON as JSON
    from masthead._meta.time import MicroTime as MicroTime
    from masthead._meta.time import MicroTimeField as MicroTimeField
    from masthead._meta.time import Time as Time
    from masthead._meta.time import format_micro_time as format_micro_time
    from masthead._meta.time import format_time as format_time
    from masthead._meta.time import parse_micro_time as parse_micro_time
    from masthead._meta.time import parse_time as parse_time
    from masthead._meta.unstructured import Unstructured as Unstructured
    from masthead._meta.unstructured import UnstructuredList as UnstructuredList
    from masthead._meta.v1 import APIResource as APIResource
    from masthead._meta.v1 import APIResourceList as APIResourceList
    from masthead._meta.v1 import Condition as Condition
    from masthead._meta.v1 import DeleteOptions as DeleteOptions
    from masthead._meta.v1 import LabelSelector as LabelSelector
    from masthead._meta.v1 import LabelSelectorRequirement as LabelSelectorRequirement
    from masthead._meta.v1 import ListOptions as ListOptions
    from masthead._meta.v1 import PartialObjectMetadata as PartialObjectMetadata
    from masthead._meta.v1 import PartialObjectMetadataList as PartialObjectMetadataList
    from masthead._meta.v1 import Preconditions as Preconditions
    from masthead._meta.v1 import Status as Status
    from masthead._meta.v1 import StatusCause as StatusCause
    from masthead._meta.v1 import StatusDetails as StatusDetails
    from masthead._meta.v1 import StatusReason as StatusReason
    from masthead._meta.v1 import Table as Table
    from masthead.meta import fields as fields
    from masthead.meta import labels as labels
    from masthead.meta import registry as registry
    from masthead.meta import v1 as v1

_HOMES = {
    "fields": "masthead.meta",
    "labels": "masthead.meta",
    "registry": "masthead.meta",
    "v1": "masthead.meta",
    "find_condition": "masthead._meta.conditions",
    "has_condition_status": "masthead._meta.conditions",
    "is_condition_false": "masthead._meta.conditions",
    "is_condition_true": "masthead._meta.conditions",
    "remove_condition": "masthead._meta.conditions",
    "set_condition": "masthead._meta.conditions",
    "FieldSelector": "masthead._meta.fields",
    "add_finalizer": "masthead._meta.finalizers",
    "has_finalizer": "masthead._meta.finalizers",
    "is_deleting": "masthead._meta.finalizers",
    "remove_finalizer": "masthead._meta.finalizers",
    "GroupKind": "masthead._meta.gvk",
    "GroupVersion": "masthead._meta.gvk",
    "GroupVersionKind": "masthead._meta.gvk",
    "GroupVersionResource": "masthead._meta.gvk",
    "IntOrString": "masthead._meta.intstr",
    "Requirement": "masthead._meta.labels",
    "Selector": "masthead._meta.labels",
    "Merge": "masthead._meta.merge",
    "ListMeta": "masthead._meta.metadata",
    "ManagedFieldsEntry": "masthead._meta.metadata",
    "ObjectMeta": "masthead._meta.metadata",
    "OwnerReference": "masthead._meta.metadata",
    "Struct": "masthead._meta.model",
    "field": "masthead._meta.model",
    "unknown_fields": "masthead._meta.model",
    "Data": "masthead._meta.object",
    "Object": "masthead._meta.object",
    "ObjectList": "masthead._meta.object",
    "controller_of": "masthead._meta.owners",
    "is_controlled_by": "masthead._meta.owners",
    "owner_reference": "masthead._meta.owners",
    "remove_owner": "masthead._meta.owners",
    "set_controller": "masthead._meta.owners",
    "set_owner": "masthead._meta.owners",
    "JsonOperation": "masthead._meta.patch",
    "Patch": "masthead._meta.patch",
    "PatchType": "masthead._meta.patch",
    "merge_patch": "masthead._meta.patch",
    "Quantity": "masthead._meta.quantity",
    "QuantityFormat": "masthead._meta.quantity",
    "Registry": "masthead._meta.registry",
    "register": "masthead._meta.registry",
    "Resource": "masthead._meta.resource",
    "Subresource": "masthead._meta.resource",
    "JSON": "masthead._meta.shape",
    "MicroTime": "masthead._meta.time",
    "MicroTimeField": "masthead._meta.time",
    "Time": "masthead._meta.time",
    "format_micro_time": "masthead._meta.time",
    "format_time": "masthead._meta.time",
    "parse_micro_time": "masthead._meta.time",
    "parse_time": "masthead._meta.time",
    "Unstructured": "masthead._meta.unstructured",
    "UnstructuredList": "masthead._meta.unstructured",
    "APIResource": "masthead._meta.v1",
    "APIResourceList": "masthead._meta.v1",
    "Condition": "masthead._meta.v1",
    "DeleteOptions": "masthead._meta.v1",
    "LabelSelector": "masthead._meta.v1",
    "LabelSelectorRequirement": "masthead._meta.v1",
    "ListOptions": "masthead._meta.v1",
    "PartialObjectMetadata": "masthead._meta.v1",
    "PartialObjectMetadataList": "masthead._meta.v1",
    "Preconditions": "masthead._meta.v1",
    "Status": "masthead._meta.v1",
    "StatusCause": "masthead._meta.v1",
    "StatusDetails": "masthead._meta.v1",
    "StatusReason": "masthead._meta.v1",
    "Table": "masthead._meta.v1",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
