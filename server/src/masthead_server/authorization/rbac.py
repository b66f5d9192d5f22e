"""Role-based access control: decides by the stored roles and bindings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.authorization.authorizer import Decision, Outcome, UserRules
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from masthead_server.authorization.authorizer import AuthorizationAttributes
    from masthead_server.authorization.policy_rules import PolicyRule
    from masthead_server.authorization.role_index import RoleIndex
    from masthead_server.wire.user_info import UserInfo

__all__ = ["RbacAuthorizer", "join_errors"]


class RbacAuthorizer:
    """Allows what any role that is bound to the user allows.

    Args:
        index: The roles and bindings.
    """

    def __init__(self, index: RoleIndex) -> None:
        self._index = index

    def authorize(self, attributes: AuthorizationAttributes) -> Outcome:
        """Decide about a request. RBAC never denies: another authorizer may allow it."""
        errors: list[str] = []
        user = attributes.user
        for binding, namespace in self._index.bindings_of(user, attributes.namespace):
            try:
                rules = self._index.find_rules(binding.role, namespace)
            except StatusFailure as failure:
                errors.append(failure.message)
                continue
            if rules.allows(attributes):
                return Outcome(Decision.ALLOW, f"RBAC: allowed by {binding.describe(user)}")
        return Outcome(Decision.NO_OPINION, f"RBAC: {join_errors(errors)}" if errors else "")

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return the rules that apply to a user in a namespace."""
        rules: list[PolicyRule] = []
        errors: list[str] = []
        for binding, place in self._index.bindings_of(user, namespace):
            try:
                rules.extend(self._index.find_rules(binding.role, place).rules)
            except StatusFailure as failure:
                errors.append(failure.message)
        return UserRules(tuple(rules), errors=(join_errors(errors),) if errors else ())


def join_errors(errors: list[str]) -> str:
    """Join messages as Go joins an aggregate of errors, each of them once."""
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
