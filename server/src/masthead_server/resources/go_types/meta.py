"""Go's types of the group meta; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
Condition lastTransitionTime! status:ConditionStatus
DeleteOptions gracePeriodSeconds:* ignoreStoreReadErrorWithClusterBreakingPotential:* orphanDependents:*
    propagationPolicy:*DeletionPropagation TypeMeta(apiVersion kind)
FieldSelectorRequirement operator:FieldSelectorOperator
LabelSelectorRequirement operator:LabelSelectorOperator
ListMeta remainingItemCount:*
ManagedFieldsEntry fieldsV1:FieldsV1 operation:ManagedFieldsOperationType
ObjectMeta deletionGracePeriodSeconds:* uid:types.UID
OwnerReference blockOwnerDeletion:* controller:* uid:types.UID
Preconditions resourceVersion:* uid:*types.UID
""",
}
