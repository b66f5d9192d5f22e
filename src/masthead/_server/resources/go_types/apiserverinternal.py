"""Go's types of the group apiserverinternal; `masthead._server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1alpha1": """
ServerStorageVersion apiServerID? encodingVersion?
StorageVersionCondition lastTransitionTime! message? observedGeneration:int64 status:ConditionStatus
    type:StorageVersionConditionType
StorageVersionStatus commonEncodingVersion:*
""",
}
