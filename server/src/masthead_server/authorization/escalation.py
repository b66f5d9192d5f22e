"""Escalation checks: users grant only their own permissions, unless they may ``escalate`` or ``bind``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.authorization.covering import compact, find_missing
from masthead_server.authorization.policy_rules import ANY, FULL_AUTHORITY, PolicyRule, describe_list
from masthead_server.authorization.rbac import join_errors
from masthead_server.authorization.role_index import RBAC_GROUP, RoleRef
from masthead_server.authorization.union import PRIVILEGED_GROUP
from masthead_server.wire.failures import StatusFailure, bad_request, details_of, not_found, qualified
from masthead_server.wire.plain import Plain, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.authorization.authorizer import AuthorizationAttributes, Authorizer
    from masthead_server.authorization.role_index import RoleIndex

__all__ = ["EscalationGuard"]

_ROLES: Final = frozenset({"roles", "clusterroles"})
_BINDINGS: Final = frozenset({"rolebindings", "clusterrolebindings"})
_GARBAGE_FIELDS: Final = frozenset({"ownerReferences", "finalizers", "managedFields", "selfLink"})
"""The metadata that a garbage collector changes."""


class EscalationGuard:
    """Checks every write of roles and bindings.

    Args:
        authorizer: What decides who may escalate and bind.
        index: The roles and bindings.
    """

    def __init__(self, authorizer: Authorizer, index: RoleIndex) -> None:
        self._authorizer = authorizer
        self._index = index

    def check(self, request: AuthorizationAttributes, new: Plain, old: Plain | None) -> None:
        """Refuse a role or binding that grants more than its author may do.

        Args:
            request: The write.
            new: The object to store.
            old: The stored object; None for a new one.

        Raises:
            StatusFailure: If it is refused.
        """
        if request.group != RBAC_GROUP or PRIVILEGED_GROUP in request.user.groups:
            return
        # The garbage collector finishes the deletion of roles that it could not have written.
        if old is not None and _changes_garbage_fields_only(new, old):
            return
        if request.resource in _ROLES:
            self._check_role(request, new, old)
        elif request.resource in _BINDINGS:
            self._check_binding(request, new)

    def _check_role(self, request: AuthorizationAttributes, new: Plain, old: Plain | None) -> None:
        # By the name in the path: a rule for one name permits no create.
        if self._authorizer.authorize(replace(request, verb="escalate", version=ANY)).is_allowed:
            return
        rules = [PolicyRule.of(rule) for rule in items(new, "rules")]
        if problem := self._find_escalation(request, rules):
            raise _refuse(request, new, problem)
        # An aggregated role can gain any rule later.
        is_aggregated = _is_aggregated(new) or (old is not None and _is_aggregated(old))
        if is_aggregated and self._find_escalation(request, FULL_AUTHORITY):
            raise _refuse(request, new, "must have cluster-admin privileges to use the aggregationRule")

    def _check_binding(self, request: AuthorizationAttributes, new: Plain) -> None:
        role = RoleRef.of(new)
        resource = {"ClusterRole": "clusterroles", "Role": "roles"}.get(role.kind, "")
        bind = replace(request, verb="bind", version=ANY, resource=resource, name=role.name)
        if resource and self._authorizer.authorize(bind).is_allowed:
            return
        if not resource:
            raise StatusFailure(500, "", f"unsupported role reference kind: {quoted(role.kind)}")
        if not role.name:
            raise bad_request("Name parameter required.")
        rules = self._index.find_rules(role, request.namespace)
        if rules is None:
            # With the resource of the request, as in kube-apiserver's message.
            raise not_found(RBAC_GROUP, request.resource, role.name)
        if problem := self._find_escalation(request, rules.rules):
            raise _refuse(request, new, problem)

    def _find_escalation(self, request: AuthorizationAttributes, wanted: Sequence[PolicyRule]) -> str:
        """Return why a user may not grant rules; empty if nothing is wrong."""
        user = request.user
        held, lost = self._index.collect_rules(user, request.namespace)
        missing = find_missing(held, wanted)
        if not missing:
            return ""
        author = f"user {quoted(user.name)} (groups={describe_list(user.groups)})"
        # Sorted and distinct, so that a repeated request gets the same message.
        lines = "\n".join(sorted({str(rule) for rule in compact(missing)}))
        problem = f"{author} is attempting to grant RBAC permissions not currently held:\n{lines}"
        if not lost:
            return problem
        errors = [not_found(RBAC_GROUP, request.resource, role.name).message for role in lost]
        return f"{problem}; resolution errors: [{join_errors(errors)}]"


def _refuse(request: AuthorizationAttributes, new: Plain, problem: str) -> StatusFailure:
    name, resource = text(metadata(new), "name"), request.resource
    message = f"{qualified(RBAC_GROUP, resource)}{f' {quoted(name)}' if name else ''} is forbidden: {problem}"
    return StatusFailure(403, "Forbidden", message, details=details_of(name, RBAC_GROUP, resource))


def _is_aggregated(role: Plain) -> bool:
    return bool(part(role, "aggregationRule").get("clusterRoleSelectors"))


def _changes_garbage_fields_only(new: Plain, old: Plain) -> bool:
    return _without_garbage_fields(new) == _without_garbage_fields(old)


def _without_garbage_fields(found: Plain) -> Plain:
    """Return an object without the fields of a garbage collector, and without empty fields."""
    kept = {name: value for name, value in metadata(found).items() if name not in _GARBAGE_FIELDS and value}
    return {**{name: value for name, value in found.items() if value}, "metadata": kept}
