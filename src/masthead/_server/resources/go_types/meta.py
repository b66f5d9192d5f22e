"""Go's types of the group meta; `masthead._server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
Condition lastTransitionTime! observedGeneration:int64 status:ConditionStatus
DeleteOptions gracePeriodSeconds:*int64 ignoreStoreReadErrorWithClusterBreakingPotential:*
    orphanDependents:* propagationPolicy:*DeletionPropagation TypeMeta(apiVersion kind)
FieldSelectorRequirement operator:FieldSelectorOperator
LabelSelectorRequirement operator:LabelSelectorOperator
ListMeta continue? remainingItemCount:*int64 resourceVersion? selfLink?
ManagedFieldsEntry fieldsV1:FieldsV1 operation:ManagedFieldsOperationType
ObjectMeta deletionGracePeriodSeconds:*int64 generateName? generation:int64? name? namespace?
    resourceVersion? selfLink? uid:types.UID?
OwnerReference blockOwnerDeletion:* controller:* uid:types.UID
Preconditions resourceVersion:* uid:*types.UID
""",
}
