"""Access reviews: what a user may do, asked of the authorizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

from masthead._meta import fields, labels
from masthead._meta.labels import Operator
from masthead._schema.errors import invalid, required
from masthead.errors import SelectorError
from masthead_server.authorization.authorizer import AuthorizationAttributes, Decision
from masthead_server.resources import names
from masthead_server.resources.validation.checks import each_of, follows, operands, texts_of
from masthead_server.wire.plain import Plain, items, part, text
from masthead_server.wire.user_info import UserInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._schema.errors import FieldError
    from masthead_server.authorization.authorizer import Authorizer
    from masthead_server.authorization.policy_rules import PolicyRule

__all__ = ["decide_access", "find_access_errors", "list_rules"]

_SELF: Final = "selfsubjectaccessreviews"
_LOCAL: Final = "localsubjectaccessreviews"
_RESOURCE: Final = "spec.resourceAttributes"
_SELECTORS: Final = ("fieldSelector", "labelSelector")
_METADATA_ORDER: Final = (
    *("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers"),
    "managedFields",
)
"""The fields of metadata in the order of Go's struct."""


def find_access_errors(review: Plain, resource: str, namespace: str) -> list[FieldError]:
    """Validate an access review.

    Args:
        review: The review.
        resource: The kind of review, by its resource.
        namespace: The namespace of the request.
    """
    spec = part(review, "spec")
    wanted, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    shown = None if other is None else {"Path": text(other, "path"), "Verb": text(other, "verb")}
    errors: list[FieldError] = []
    if wanted is not None and other is not None:
        why = "cannot be specified in combination with resourceAttributes"
        errors.append(invalid("spec.nonResourceAttributes", shown, why))
    if wanted is None and other is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.append(invalid(_RESOURCE, None, why))
    if resource != _SELF and not spec.get("user") and not spec.get("groups"):
        errors.append(invalid("spec.user", "", "at least one of user or group must be specified"))
    for kind in _SELECTORS:
        errors += _selector_errors(part(spec, "resourceAttributes"), kind)
    errors += _metadata_errors(part(review, "metadata"), is_local=resource == _LOCAL)
    if resource == _LOCAL:
        inside = text(wanted, "namespace") if wanted is not None else namespace
        if inside != namespace:
            errors.append(invalid(f"{_RESOURCE}.namespace", inside, "must match metadata.namespace"))
        if other is not None:
            errors.append(invalid("spec.nonResourceAttributes", shown, "disallowed on this kind of request"))
    return errors


def _metadata_errors(meta: Plain, *, is_local: bool) -> list[FieldError]:
    ignored = {"managedFields", "namespace"} if is_local else {"managedFields"}
    if not any(value for name, value in meta.items() if name not in ignored):
        return []
    shown = {name: meta[name] for name in _METADATA_ORDER if meta.get(name)}
    return [invalid("metadata", shown, f"must be empty{' except for namespace' if is_local else ''}")]


def _selector_errors(attributes: Plain, kind: str) -> list[FieldError]:
    if attributes.get(kind) is None:
        return []
    selector, path = part(attributes, kind), f"{_RESOURCE}.{kind}"
    raw, has_requirements = text(selector, "rawSelector"), bool(selector.get("requirements"))
    errors: list[FieldError] = []
    if raw and has_requirements:
        errors.append(invalid(f"{path}.rawSelector", raw, "may not specified at the same time as requirements"))
    if not raw and not has_requirements:
        why = f"when {path} is specified, requirements or rawSelector is required"
        errors.append(required(f"{path}.requirements", why))
    for at, requirement in each_of(selector, "requirements", path):
        key = text(requirement, "key")
        if kind == "fieldSelector" and not key:
            errors.append(required(f"{at}.key", "must be specified"))
        errors += operands(at, requirement)
        if kind == "labelSelector":
            errors += follows(f"{at}.key", key, names.qualified_name)
            for place, value in texts_of(requirement, "values", at):
                errors += follows(place, value, names.LABEL_VALUE)
    return errors


class _Selector(NamedTuple):
    """A selector of a review."""

    text: str
    problem: str = ""
    """How much of it is ignored; empty if it could be read."""


def decide_access(authorizer: Authorizer, review: Plain, resource: str, asking: UserInfo) -> Plain:
    """Return the status of an access review.

    Args:
        authorizer: What decides.
        review: The review.
        resource: The kind of review, by its resource.
        asking: Who sends the review.
    """
    spec = part(review, "spec")
    user = asking if resource == _SELF else _read_user(spec)
    problems: list[str] = []
    if spec.get("resourceAttributes") is None:
        other = part(spec, "nonResourceAttributes")
        attributes = AuthorizationAttributes(user, text(other, "verb"), path=text(other, "path"))
    else:
        wanted = part(spec, "resourceAttributes")
        selectors = [_read_field_selector(wanted), _read_label_selector(wanted)]
        for kind, selector in zip(_SELECTORS, selectors, strict=True):
            if selector.problem:
                problems.append(f"{_RESOURCE}.{kind} {selector.problem} due to parse error")
        attributes = AuthorizationAttributes(
            user,
            text(wanted, "verb"),
            namespace=text(wanted, "namespace"),
            group=text(wanted, "group"),
            version=text(wanted, "version") or "*",
            resource=text(wanted, "resource"),
            subresource=text(wanted, "subresource"),
            name=text(wanted, "name"),
            field_selector=selectors[0].text,
            label_selector=selectors[1].text,
        )
    outcome = authorizer.authorize(attributes)
    status: Plain = {"allowed": outcome.is_allowed}
    if outcome.decision is Decision.DENY:
        status["denied"] = True
    if outcome.reason:
        status["reason"] = outcome.reason
    if problems:
        status["evaluationError"] = "; ".join(problems)
    return status


def _read_user(spec: Plain) -> UserInfo:
    extra = {key: tuple(values or ()) for key, values in part(spec, "extra").items()}
    groups = tuple(cast("list[str]", spec.get("groups") or ()))
    return UserInfo(text(spec, "user"), text(spec, "uid"), groups, extra)


def _read_field_selector(attributes: Plain) -> _Selector:
    selector = part(attributes, "fieldSelector")
    if raw := text(selector, "rawSelector"):
        try:
            return _Selector(str(fields.parse(raw)))
        except SelectorError:
            return _Selector("", "ignored")
    requirements, terms = items(selector, "requirements"), list[str]()
    for requirement in requirements:
        operator = _FIELD_OPERATORS.get(text(requirement, "operator"))
        values = cast("list[str]", requirement.get("values") or ())
        if operator is not None and len(values) == 1:
            terms.append(str(fields.FieldRequirement(text(requirement, "key"), operator, values[0])))
    return _join_terms(terms, requirements)


def _read_label_selector(attributes: Plain) -> _Selector:
    selector = part(attributes, "labelSelector")
    if raw := text(selector, "rawSelector"):
        try:
            return _Selector(str(labels.parse(raw)))
        except SelectorError:
            return _Selector("", "ignored")
    requirements, terms = items(selector, "requirements"), list[str]()
    for requirement in requirements:
        operator = _LABEL_OPERATORS.get(text(requirement, "operator"))
        if operator is not None:
            values = tuple(cast("list[str]", requirement.get("values") or ()))
            terms.append(str(labels.Requirement(text(requirement, "key"), operator, values)))
    return _join_terms(terms, requirements)


def _join_terms(terms: list[str], requirements: list[Plain]) -> _Selector:
    # Ignoring a requirement makes the question broader, never narrower: all of them must be met.
    if len(terms) == len(requirements):
        return _Selector(",".join(terms))
    return _Selector(",".join(terms), "partially ignored" if terms else "ignored")


_FIELD_OPERATORS: Final = {"In": Operator.EQUALS, "NotIn": Operator.NOT_EQUALS}
_LABEL_OPERATORS: Final = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


def list_rules(authorizer: Authorizer, user: UserInfo, namespace: str) -> Plain:
    """Return the status of a rules review: all that a user may do in a namespace."""
    found = authorizer.rules_for(user, namespace)
    status: Plain = {
        "resourceRules": [_resource_rule(rule) for rule in found.rules if rule.resources],
        "nonResourceRules": [
            {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.urls)} for rule in found.rules if rule.urls
        ],
        "incomplete": found.is_incomplete,
    }
    if found.errors:
        status["evaluationError"] = "; ".join(found.errors)
    return status


def _resource_rule(rule: PolicyRule) -> Plain:
    parts: Sequence[tuple[str, tuple[str, ...]]] = (
        ("verbs", rule.verbs),
        ("apiGroups", rule.groups),
        ("resources", rule.resources),
        ("resourceNames", rule.names),
    )
    return {name: list(values) for name, values in parts if values or name == "verbs"}
