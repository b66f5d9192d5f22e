"""Go's types of the group networking; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
HTTPIngressPath pathType:*PathType!
HTTPIngressRuleValue paths!
IngressClassParametersReference apiGroup:* namespace:* scope:*!
IngressPortStatus error:* protocol:Protocol
IngressRule IngressRuleValue(http)
IngressSpec ingressClassName:*
NetworkPolicyPort endPort:* protocol:*Protocol
NetworkPolicySpec policyTypes:[]PolicyType
""",
}
