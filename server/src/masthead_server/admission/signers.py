"""Signers of certificates: who may act for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.authorization.authorizer import AuthorizationAttributes
from masthead_server.wire.plain import part, text
from masthead_server.wire.user_info import CONTROLLER_USER

if TYPE_CHECKING:
    from masthead_server.cluster import ClusterState
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.user_info import UserInfo

__all__ = ["REQUESTS", "may_use_signer", "signer_of"]

REQUESTS: Final = "certificates.k8s.io/certificatesigningrequests"
"""The table of CertificateSigningRequests."""


def may_use_signer(cluster: ClusterState, user: UserInfo, verb: str, signer: str) -> bool:
    """Tell whether a user may act for a signer, by its name or for all signers of its domain."""
    # The server's own controllers need no roles.
    if user is CONTROLLER_USER:
        return True
    domain = signer.partition("/")[0]
    return any(
        cluster.authorizer.authorize(
            AuthorizationAttributes(user, verb, group="certificates.k8s.io", version="*", resource="signers", name=name)
        ).is_allowed
        for name in (signer, f"{domain}/*")
    )


def signer_of(found: Plain | None) -> str:
    """Return the signer that a request or a bundle names."""
    return text(part(found or {}, "spec"), "signerName")
