"""Role-based access control: decides by the stored roles and bindings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.quoting import quoted
from masthead_server.authorization.authorizer import Decision, Outcome, UserRules
from masthead_server.authorization.role_index import RBAC_GROUP
from masthead_server.wire.failures import qualified

if TYPE_CHECKING:
    from masthead_server.authorization.authorizer import AuthorizationAttributes
    from masthead_server.authorization.role_index import RoleIndex, RoleRef
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
        user = attributes.user
        missing: list[RoleRef] = []
        for binding, namespace in self._index.bindings_of(user, attributes.namespace):
            rules = self._index.find_rules(binding.role, namespace)
            # A binding may come before its role, or outlive it. Only a refusal mentions that.
            if rules is None:
                missing.append(binding.role)
            elif rules.allows(attributes):
                return Outcome(Decision.ALLOW, f"RBAC: allowed by {binding.describe(user)}")
        return Outcome(Decision.NO_OPINION, f"RBAC: {_describe_missing(missing)}" if missing else "")

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return the rules that apply to a user in a namespace."""
        rules, missing = self._index.collect_rules(user, namespace)
        return UserRules(tuple(rules), errors=(_describe_missing(missing),) if missing else ())


def _describe_missing(roles: list[RoleRef]) -> str:
    # kube-apiserver's caches name the resource in the singular.
    return join_errors([f"{qualified(RBAC_GROUP, role.kind.lower())} {quoted(role.name)} not found" for role in roles])


def join_errors(errors: list[str]) -> str:
    """Join messages as Go joins an aggregate of errors, each of them once."""
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
