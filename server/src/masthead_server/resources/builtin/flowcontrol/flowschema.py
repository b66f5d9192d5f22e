"""FlowSchemas: defaults and validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid, required
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.flowcontrol.cluster_defaults import flow_schemas
from masthead_server.resources.builtin.flowcontrol.conditions import condition_errors
from masthead_server.resources.defaulting.fill import shape
from masthead_server.resources.validation.checks import (
    each_of,
    follows,
    same_structs,
    texts_of,
    unsupported,
    words,
)
from masthead_server.resources.validation.internal_types import inner
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

DEFAULTS: Final[Fill] = shape(always={"spec": shape(blank={"matchingPrecedence": 1000})})

_EXEMPT: Final = "exempt"
_MANDATORY: Final = frozenset({_EXEMPT, "catch-all"})
_MAX_PRECEDENCE: Final = 10_000
_ALL: Final = "*"
_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS: Final = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
"""The field of each kind of subject, in the order in which fields of other kinds are refused."""


def schema_errors(schema: Plain) -> Errors:
    """Return the errors of a FlowSchema."""
    name, spec = text(metadata(schema), "name"), part(schema, "spec")
    errors = _precedence_errors(name, spec.get("matchingPrecedence") or 0)
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in {"ByUser", "ByNamespace"}:
        shown = inner("DistinguisherMethod", method)
        errors.append(unsupported("spec.distinguisherMethod.type", shown, ("ByNamespace", "ByUser")))
    level = text(part(spec, "priorityLevelConfiguration"), "name")
    at = "spec.priorityLevelConfiguration.name"
    errors += follows(at, level, names.SUBDOMAIN) if level else [required(at, "must reference a priority level")]
    for path, rule in each_of(spec, "rules", "spec"):
        errors += _rule_errors(rule, path)
    if name in _MANDATORY and not same_structs(spec, _mandatory_specs()[name]):
        errors.append(invalid("spec", inner("FlowSchemaSpec", spec), f"spec of '{name}' must equal the fixed value"))
    return errors + condition_errors(schema)


def _mandatory_specs() -> Mapping[str, Plain]:
    """Return the specs that kube-apiserver does not allow to change, by name."""
    return {text(metadata(schema), "name"): part(schema, "spec") for schema in flow_schemas("")}


def _precedence_errors(name: str, precedence: int) -> Errors:
    path = "spec.matchingPrecedence"
    if precedence <= 0:
        return [invalid(path, precedence, "must be a positive value")]
    if precedence > _MAX_PRECEDENCE:
        return [invalid(path, precedence, f"must not be greater than {_MAX_PRECEDENCE}")]
    if precedence == 1 and name != _EXEMPT:
        return [invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")]
    return []


def _rule_errors(rule: Plain, path: str) -> Errors:
    errors: Errors = []
    for at, subject in each_of(rule, "subjects", path):
        errors += _subject_errors(subject, at)
    if not rule.get("subjects"):
        errors.append(required(f"{path}.subjects", "subjects must contain at least one value"))
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        errors.append(required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"))
    for at, resource_rule in each_of(rule, "resourceRules", path):
        errors += _resource_rule_errors(resource_rule, at)
    for at, url_rule in each_of(rule, "nonResourceRules", path):
        errors += _verb_errors(url_rule, at) + _url_errors(url_rule, at)
    return errors


def _subject_errors(subject: Plain, path: str) -> Errors:
    kind = text(subject, "kind")
    if kind not in _SUBJECTS:
        return [unsupported(f"{path}.kind", kind, ("Group", "ServiceAccount", "User"))]
    field = _SUBJECTS[kind]
    errors = _named_subject_errors(kind, subject.get(field), f"{path}.{field}")
    for other, name in _SUBJECTS.items():
        if other != kind and subject.get(name) is not None:
            errors.append(forbidden(f"{path}.{name}", f"{name} is forbidden when subject kind is not '{other}'"))
    return errors


def _named_subject_errors(kind: str, subject: Plain | None, path: str) -> Errors:
    if subject is None:
        return [required(path, f"{_SUBJECTS[kind]} is required when subject kind is '{kind}'")]
    name, namespace = text(subject, "name"), text(subject, "namespace")
    errors: Errors = [] if name else [required(f"{path}.name")]
    if kind != "ServiceAccount":
        return errors
    if name and name != _ALL:
        errors += follows(f"{path}.name", name, names.SUBDOMAIN)
    if not namespace:
        return [*errors, required(f"{path}.namespace", "must specify namespace for service account")]
    return errors + follows(f"{path}.namespace", namespace, names.label)


def _verb_errors(rule: Plain, path: str) -> Errors:
    verbs = words(rule, "verbs")
    if verbs and _ALL not in verbs and not set(verbs) <= set(_VERBS):
        return [unsupported(f"{path}.verbs", verbs, _VERBS)]
    return _wildcard_errors(rule, "verbs", path, "verbs must contain at least one value", "verbs")


def _wildcard_errors(rule: Plain, field: str, path: str, missing: str, others: str) -> Errors:
    """Validate a list that has at least one value, and a wildcard only alone."""
    values = words(rule, field)
    if not values:
        return [required(f"{path}.{field}", missing)]
    if _ALL in values and len(values) > 1:
        return [invalid(f"{path}.{field}", values, f"if '*' is present, must not specify other {others}")]
    return []


def _url_errors(rule: Plain, path: str) -> Errors:
    missing = "nonResourceURLs must contain at least one value"
    errors = _wildcard_errors(rule, "nonResourceURLs", path, missing, "non-resource URLs")
    if _ALL in words(rule, "nonResourceURLs"):
        return errors
    for at, url in texts_of(rule, "nonResourceURLs", path):
        if problem := _url_problem(url):
            errors.append(invalid(at, url, problem))
    return errors


def _url_problem(url: str) -> str:
    if not url:
        return "must not be empty"
    if url == "/":
        return ""
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    wildcards = url.count(_ALL)
    suffix_only = wildcards == 0 or (wildcards == 1 and url.endswith("/*"))
    return "" if suffix_only else "wildcard can only do suffix matching"


def _resource_rule_errors(rule: Plain, path: str) -> Errors:
    errors = _verb_errors(rule, path)
    missing = "resource rules must supply at least one {}"
    errors += _wildcard_errors(rule, "apiGroups", path, missing.format("api group"), "api groups")
    errors += _wildcard_errors(rule, "resources", path, missing.format("resource"), "resources")
    namespaces = words(rule, "namespaces")
    # A rule about cluster-scoped objects alone has no namespaces.
    if namespaces or not rule.get("clusterScope"):
        missing = "resource rules that are not cluster scoped must supply at least one namespace"
        errors += _wildcard_errors(rule, "namespaces", path, missing, "namespaces")
    if _ALL not in namespaces:
        for at, namespace in texts_of(rule, "namespaces", path):
            intro = "each member of this list must be '*' or a DNS-1123 label; "
            errors += [invalid(at, namespace, intro + problem) for problem in names.label(namespace)]
    return errors


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        validate_create=schema_errors,
        validate_update=lambda new, _old: schema_errors(new),
        validate_status=lambda new, _old: condition_errors(new),
    ),
)
