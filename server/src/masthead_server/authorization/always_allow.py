"""The authorizers that need no rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.authorization.authorizer import Decision, Outcome, UserRules
from masthead_server.authorization.policy_rules import FULL_AUTHORITY
from masthead_server.wire.user_info import is_unauthenticated

if TYPE_CHECKING:
    from masthead_server.authorization.authorizer import AuthorizationAttributes
    from masthead_server.wire.user_info import UserInfo

__all__ = ["PUBLIC_PATHS", "AlwaysAllow", "AlwaysDeny"]

PUBLIC_PATHS: Final = frozenset({"/healthz", "/livez", "/readyz", "/version"})
"""Paths that are open to everyone, as kube-apiserver's role ``system:public-info-viewer`` permits."""
_ALLOWED: Final = Outcome(Decision.ALLOW)
_NO_OPINION: Final = Outcome(Decision.NO_OPINION)
_FORBIDDEN: Final = Outcome(Decision.NO_OPINION, "Everything is forbidden.")


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

    def rules_for(self, _user: UserInfo, _namespace: str) -> UserRules:
        """Return rules that allow everything."""
        return UserRules(FULL_AUTHORITY)


class AlwaysDeny:
    """Allows nothing, for tests of clients that are refused."""

    def authorize(self, _attributes: AuthorizationAttributes) -> Outcome:
        """Refuse a request."""
        return _FORBIDDEN

    def rules_for(self, _user: UserInfo, _namespace: str) -> UserRules:
        """Return no rules."""
        return UserRules()
