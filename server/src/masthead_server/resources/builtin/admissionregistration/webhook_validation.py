"""Validation of webhooks, which the configurations of validating and of mutating ones share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import duplicate, invalid, required
from masthead_server.resources import names
from masthead_server.resources.builtin.admissionregistration.rule_validation import condition_errors, rule_errors
from masthead_server.resources.validation.checks import (
    each_of,
    follows,
    known_or_nothing,
    label_selector,
    unsupported,
    words,
)
from masthead_server.resources.validation.webhooks import webhook_service_errors, webhook_url_errors
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["configuration_errors"]

_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")


def configuration_errors(configuration: Plain) -> Errors:
    """Return the errors of the configuration of webhooks."""
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
        errors += rule_errors(rule, at)
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
    return errors + condition_errors(hook, path, has_params=False)


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
