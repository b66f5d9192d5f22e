"""Go's types of the group authentication; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
BoundObjectReference uid:types.UID
TokenRequestSpec audiences! boundObjectRef:*! expirationSeconds:*!
TokenRequestStatus expirationTimestamp!
UserInfo extra:map[string]ExtraValue
""",
}
