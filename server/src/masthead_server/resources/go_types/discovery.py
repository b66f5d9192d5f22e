"""Go's types of the group discovery; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
Endpoint addresses! hostname:* nodeName:* zone:*
EndpointConditions ready:* serving:* terminating:*
EndpointPort appProtocol:* name:* port:* protocol:*Protocol
EndpointSlice addressType:AddressType endpoints! ports!
""",
}
