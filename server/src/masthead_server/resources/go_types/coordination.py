"""Go's types of the group coordination; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
LeaseSpec holderIdentity:* leaseDurationSeconds:* leaseTransitions:* preferredHolder:*
    strategy:*CoordinatedLeaseStrategy
""",
    "v1alpha2": """
LeaseCandidateSpec strategy:v1.CoordinatedLeaseStrategy
""",
    "v1beta1": """
LeaseCandidateSpec strategy:v1.CoordinatedLeaseStrategy
""",
}
