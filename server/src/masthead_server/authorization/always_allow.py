"""The authorizer of a server without authorization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.authorization.authorizer import Decision, Outcome
from masthead_server.wire.user_info import is_unauthenticated

if TYPE_CHECKING:
    from masthead_server.authorization.authorizer import AuthorizationAttributes

__all__ = ["PUBLIC_PATHS", "AlwaysAllow"]

PUBLIC_PATHS: Final = frozenset({"/healthz", "/livez", "/readyz", "/version"})
"""Paths that are open to everyone, as kube-apiserver's role ``system:public-info-viewer`` permits."""
_ALLOWED: Final = Outcome(Decision.ALLOW)
_NO_OPINION: Final = Outcome(Decision.NO_OPINION)


class AlwaysAllow:
    """Allows everything to everyone who is authenticated, and health and version to everyone else.

    Args:
        anonymous: Whether requests without credentials are allowed everything, too.
    """

    def __init__(self, *, anonymous: bool = False) -> None:
        self._anonymous = anonymous

    def authorize(self, attributes: AuthorizationAttributes) -> Outcome:
        """Allow a request."""
        if self._anonymous or not is_unauthenticated(attributes.user):
            return _ALLOWED
        is_public = not attributes.is_resource_request and attributes.path.rstrip("/") in PUBLIC_PATHS
        return _ALLOWED if is_public else _NO_OPINION
