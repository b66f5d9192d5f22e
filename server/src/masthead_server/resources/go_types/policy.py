"""Go's types of the group policy; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
PodDisruptionBudgetSpec unhealthyPodEvictionPolicy:*UnhealthyPodEvictionPolicyType
""",
}
