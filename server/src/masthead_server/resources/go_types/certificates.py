"""Go's types of the group certificates; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
CertificateSigningRequestCondition lastTransitionTime! lastUpdateTime! status:ConditionStatus
    type:RequestConditionType
CertificateSigningRequestSpec expirationSeconds:* extra:map[string]ExtraValue request! usages:[]KeyUsage
""",
    "v1beta1": """
PodCertificateRequestSpec maxExpirationSeconds:* nodeName:types.NodeName nodeUID:types.UID pkixPublicKey!
    podUID:types.UID proofOfPossession! serviceAccountUID:types.UID stubPKCS10Request!
""",
}
