"""Several authorizers in a row, behind the group that may do everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.authorization.authorizer import Decision, Outcome, UserRules
from masthead_server.authorization.rbac import join_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.authorization.authorizer import AuthorizationAttributes, Authorizer
    from masthead_server.wire.user_info import UserInfo

__all__ = ["PRIVILEGED_GROUP", "AuthorizerUnion"]

PRIVILEGED_GROUP: Final = "system:masters"
"""The group whose members may do everything, whatever the roles are."""
_ALLOWED: Final = Outcome(Decision.ALLOW)


class AuthorizerUnion:
    """Asks one authorizer after the other until one decides, as kube-apiserver does.

    Args:
        authorizers: The authorizers, in their order.
    """

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)

    def authorize(self, attributes: AuthorizationAttributes) -> Outcome:
        """Decide about a request."""
        # First, so that broken roles cannot lock administrators out.
        if PRIVILEGED_GROUP in attributes.user.groups:
            return _ALLOWED
        reasons: list[str] = []
        for authorizer in self._authorizers:
            outcome = authorizer.authorize(attributes)
            # The reasons of earlier authorizers do not matter once one of them decides.
            if outcome.decision is not Decision.NO_OPINION:
                return outcome
            if outcome.reason:
                reasons.append(outcome.reason)
        return Outcome(Decision.NO_OPINION, "\n".join(reasons))

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return the rules of all authorizers that apply to a user in a namespace."""
        found = [authorizer.rules_for(user, namespace) for authorizer in self._authorizers]
        errors = [error for user_rules in found for error in user_rules.errors]
        return UserRules(
            tuple(rule for user_rules in found for rule in user_rules.rules),
            is_incomplete=any(user_rules.is_incomplete for user_rules in found),
            errors=(join_errors(errors),) if errors else (),
        )
