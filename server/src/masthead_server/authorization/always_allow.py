"""The authorizer of a server without authorization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.authorization.authorizer import Decision, Outcome

if TYPE_CHECKING:
    from masthead_server.authorization.authorizer import AuthorizationAttributes

__all__ = ["AlwaysAllow"]

_ALLOWED: Final = Outcome(Decision.ALLOW)


class AlwaysAllow:
    """Allows everything to everyone who is authenticated."""

    def authorize(self, _attributes: AuthorizationAttributes) -> Outcome:
        """Allow a request."""
        return _ALLOWED
