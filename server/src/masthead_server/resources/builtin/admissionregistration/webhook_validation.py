"""Validation of webhooks, which the configurations of validating and of mutating ones share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import duplicate, invalid, not_supported, required, too_many
from masthead_server.resources import names
from masthead_server.resources.validation.checks import (
    each_of,
    follows,
    known_or_nothing,
    label_selector,
    unsupported,
    words,
)
from masthead_server.resources.validation.webhooks import webhook_service_errors, webhook_url_errors
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["configuration_errors"]

_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_MAX_CONDITIONS: Final = 64


def configuration_errors(configuration: Plain) -> Errors:
    """Return the errors of the configuration of webhooks.

    The expressions of match conditions are not compiled.
    """
    errors: Errors = []
    seen: set[str] = set()
    for index, hook in enumerate(configuration.get("webhooks") or []):
        path = f"webhooks[{index}]"
        errors += _hook_errors(hook, path)
        # Review versions come last in the hook, as kube-apiserver validates them in the caller.
        errors += _version_errors(words(hook, "admissionReviewVersions"), f"{path}.admissionReviewVersions")
        name = text(hook, "name")
        # A missing name has its own error; two of them are no duplicates.
        if name and name in seen:
            errors.append(duplicate(f"{path}.name", name))
        seen.add(name)
    return errors


def _hook_errors(hook: Plain, path: str) -> Errors:
    errors = _name_errors(text(hook, "name"), f"{path}.name")
    for at, rule in each_of(hook, "rules", path):
        errors += _rule_errors(rule, at)
    errors += known_or_nothing(f"{path}.failurePolicy", hook.get("failurePolicy"), ("Fail", "Ignore"))
    errors += known_or_nothing(f"{path}.matchPolicy", hook.get("matchPolicy"), ("Equivalent", "Exact"))
    effects = hook.get("sideEffects")
    # There is no default: dry runs must know whether they may call the webhook.
    if effects is None:
        why = f"must specify one of {', '.join(_SIDE_EFFECTS)}"
        errors.append(required(f"{path}.sideEffects", why))
    elif effects not in _SIDE_EFFECTS:
        errors.append(unsupported(f"{path}.sideEffects", effects, _SIDE_EFFECTS))
    seconds = hook.get("timeoutSeconds")
    # The API server waits for the webhook within a request, which itself has a deadline.
    if seconds is not None and not 1 <= seconds <= 30:
        why = "the timeout value must be between 1 and 30 seconds"
        errors.append(invalid(f"{path}.timeoutSeconds", seconds, why))
    for field in ("namespaceSelector", "objectSelector"):
        # An absent selector matches everything, and is defaulted to an empty one.
        errors += label_selector(f"{path}.{field}", part(hook, field))
    policies = ("IfNeeded", "Never")
    errors += known_or_nothing(f"{path}.reinvocationPolicy", hook.get("reinvocationPolicy"), policies)
    errors += _client_errors(part(hook, "clientConfig"), f"{path}.clientConfig")
    return errors + _condition_errors(hook, path)


def _name_errors(name: str, path: str) -> Errors:
    if not name:
        return [required(path)]
    if problems := names.SUBDOMAIN(name):
        return [invalid(path, name, ",".join(problems))]
    # Names are global, so that they need the domain of their owner.
    if name.count(".") < 2:
        why = "should be a domain with at least three segments separated by dots"
        return [invalid(path, name, why)]
    return []


def _rule_errors(rule: Plain, path: str) -> Errors:
    operations = words(rule, "operations")
    errors = _wildcard_errors(operations, f"{path}.operations", "operations")
    errors += [
        not_supported(f"{path}.operations[{index}]", operation, _OPERATIONS)
        for index, operation in enumerate(operations)
        if operation not in _OPERATIONS
    ]
    errors += _wildcard_errors(words(rule, "apiGroups"), f"{path}.apiGroups", "API groups")
    versions = words(rule, "apiVersions")
    errors += _wildcard_errors(versions, f"{path}.apiVersions", "API versions")
    errors += [required(f"{path}.apiVersions[{index}]") for index, version in enumerate(versions) if not version]
    errors += _resource_errors(words(rule, "resources"), f"{path}.resources")
    return errors + known_or_nothing(f"{path}.scope", rule.get("scope"), _SCOPES)


def _wildcard_errors(values: list[str], path: str, noun: str) -> Errors:
    if not values:
        return [required(path)]
    # The others would be redundant, and hide a mistake.
    if len(values) > 1 and "*" in values:
        return [invalid(path, values, f"if '*' is present, must not specify other {noun}")]
    return []


def _resource_errors(resources: list[str], path: str) -> Errors:
    errors: Errors = [] if resources else [required(path)]
    whole: set[str] = set()
    everywhere: set[str] = set()
    has_plain = False
    for index, pattern in enumerate(resources):
        at = f"{path}[{index}]"
        if not pattern:
            errors.append(required(at))
            continue
        resource, slash, subresource = pattern.partition("/")
        if not slash:
            # As in kube-apiserver, only the last one counts.
            has_plain = pattern != "*"
            continue
        # Only patterns before this one count, as in kube-apiserver: "pods/log" before "pods/*" is accepted.
        if resource in whole:
            errors.append(invalid(at, pattern, f"if '{resource}/*' is present, must not specify {pattern}"))
        if subresource in everywhere:
            errors.append(invalid(at, pattern, f"if '*/{subresource}' is present, must not specify {pattern}"))
        whole |= {resource} if subresource == "*" else set()
        everywhere |= {subresource} if resource == "*" else set()
    if len(resources) > 1 and "*/*" in resources:
        errors.append(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and has_plain:
        why = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid(path, resources, why))
    return errors


def _client_errors(client: Plain, path: str) -> Errors:
    url, service = client.get("url"), client.get("service")
    # Neither or both.
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if url is not None:
        return webhook_url_errors(f"{path}.url", url)
    return webhook_service_errors(
        f"{path}.service",
        # kube-apiserver confuses the two here.
        name=text(part(client, "service"), "namespace"),
        namespace=text(part(client, "service"), "name"),
        url_path=part(client, "service").get("path"),
        port=part(client, "service").get("port", 443),
    )


def _condition_errors(hook: Plain, path: str) -> Errors:
    conditions = items(hook, "matchConditions")
    errors: Errors = []
    if len(conditions) > _MAX_CONDITIONS:
        errors.append(too_many(f"{path}.matchConditions", len(conditions), _MAX_CONDITIONS))
    seen: set[str] = set()
    for at, condition in each_of(hook, "matchConditions", path):
        name = text(condition, "name")
        # kube-apiserver trims the expression first, so that blank text counts as missing.
        if not text(condition, "expression").strip():
            errors.append(required(f"{at}.expression"))
        errors += follows(f"{at}.name", name, names.qualified_name) if name else [required(f"{at}.name")]
        if name and name in seen:
            errors.append(duplicate(f"{at}.name", name))
        seen.add(name)
    return errors


def _version_errors(versions: list[str], path: str) -> Errors:
    if not versions:
        return [required(path, f"must specify one of {', '.join(_REVIEW_VERSIONS)}")]
    errors: Errors = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            errors.append(invalid(f"{path}[{index}]", version, "duplicate version"))
        else:
            errors += follows(f"{path}[{index}]", version, names.LABEL_1035)
    # Unknown versions are allowed, as long as this server can send one of the list.
    if not set(versions) & set(_REVIEW_VERSIONS):
        why = f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"
        errors.append(invalid(path, versions, why))
    return errors
