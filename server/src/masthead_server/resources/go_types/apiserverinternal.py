"""Go's types of the group apiserverinternal; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1alpha1": """
StorageVersionCondition lastTransitionTime! status:ConditionStatus type:StorageVersionConditionType
StorageVersionStatus commonEncodingVersion:*
""",
}
