"""Go's types of the group rbac; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
ClusterRole rules!
PolicyRule verbs!
Role rules!
""",
}
