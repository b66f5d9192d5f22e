"""Who may do what: RBAC."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from masthead._server.resources import names
from masthead._server.resources.behavior import StrategyHooks
from masthead._server.resources.validation.checks import (
    each_of,
    follows,
    given,
    label_selector,
    same,
    unsupported,
)
from masthead._server.wire.failures import invalid, required
from masthead._server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead._server.resources.behavior import Errors
    from masthead._server.wire.plain import Plain

_GROUP: Final = "rbac.authorization.k8s.io"


def _rule_errors(rule: Plain, path: str, *, namespaced: bool) -> Errors:
    errors: Errors = []
    if not rule.get("verbs"):
        errors.append(required(f"{path}.verbs", "verbs must contain at least one value"))
    urls, at = rule.get("nonResourceURLs"), f"{path}.nonResourceURLs"
    if urls:
        if namespaced:
            errors.append(invalid(at, urls, "namespaced rules cannot apply to non-resource URLs"))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(invalid(at, urls, why))
        return errors
    if not rule.get("apiGroups"):
        errors.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        errors.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return errors


def _role_errors(role: Plain, *, namespaced: bool) -> Errors:
    errors: Errors = []
    for index, rule in enumerate(items(role, "rules")):
        errors += _rule_errors(rule, f"rules[{index}]", namespaced=namespaced)
    if role.get("aggregationRule") is not None:
        aggregation, path = part(role, "aggregationRule"), "aggregationRule"
        if not aggregation.get("clusterRoleSelectors"):
            why = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            errors.append(required(f"{path}.clusterRoleSelectors", why))
        for at, selector in each_of(aggregation, "clusterRoleSelectors", path):
            errors += label_selector(at, selector)
    return errors


def _subject_errors(subject: Plain, path: str, *, namespaced: bool) -> Errors:
    kind, name, group = text(subject, "kind"), text(subject, "name"), text(subject, "apiGroup")
    errors: Errors = [] if name else [required(f"{path}.name")]
    if kind == "ServiceAccount":
        errors += follows(f"{path}.name", name, names.SUBDOMAIN) if name else []
        if group:
            errors.append(unsupported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(f"{path}.namespace"))
    elif kind not in {"User", "Group"}:
        errors.append(unsupported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group")))
    elif group != _GROUP:
        errors.append(unsupported(f"{path}.apiGroup", group, (_GROUP,)))
    return errors


def _binding_errors(binding: Plain, *, namespaced: bool) -> Errors:
    reference = part(binding, "roleRef")
    errors: Errors = []
    if reference.get("apiGroup") != _GROUP:
        errors.append(unsupported("roleRef.apiGroup", text(reference, "apiGroup"), (_GROUP,)))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if reference.get("kind") not in kinds:
        errors.append(unsupported("roleRef.kind", text(reference, "kind"), kinds))
    errors += given("roleRef.name", reference.get("name"), names.path_segment)
    for index, subject in enumerate(items(binding, "subjects")):
        errors += _subject_errors(subject, f"subjects[{index}]", namespaced=namespaced)
    return errors


def _binding_changes(new: Plain, old: Plain, *, namespaced: bool) -> Errors:
    errors = _binding_errors(new, namespaced=namespaced)
    if not same(new.get("roleRef"), old.get("roleRef")):
        reference = part(new, "roleRef")
        shown = {field[0].upper() + field[1:]: text(reference, field) for field in ("kind", "name")}
        shown = {"APIGroup": text(reference, "apiGroup"), **shown}
        errors.append(invalid("roleRef", shown, "cannot change roleRef"))
    return errors


def _role_rules(*, namespaced: bool) -> StrategyHooks:
    check = partial(_role_errors, namespaced=namespaced)
    return StrategyHooks(validate_create=check, validate_update=lambda new, _old: check(new))


def _binding_rules(*, namespaced: bool) -> StrategyHooks:
    return StrategyHooks(
        validate_create=partial(_binding_errors, namespaced=namespaced),
        validate_update=partial(_binding_changes, namespaced=namespaced),
    )


RULES: Final = {
    "roles": _role_rules(namespaced=True),
    "clusterroles": _role_rules(namespaced=False),
    "rolebindings": _binding_rules(namespaced=True),
    "clusterrolebindings": _binding_rules(namespaced=False),
}
