"""Validation of how the objects of a definition are converted between its versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid, not_supported, required
from masthead_server.resources import names
from masthead_server.resources.validation.ca_bundles import ca_bundle_errors
from masthead_server.resources.validation.webhooks import webhook_service_errors, webhook_url_errors
from masthead_server.wire.plain import Plain, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.resources.builtin.apiextensions.customresourcedefinition.ratchet import Ratchet

__all__ = ["KNOWN_REVIEWS", "conversion_errors"]

KNOWN_REVIEWS: Final = ("v1", "v1beta1")
"""The versions of ConversionReview that the server sends."""
_STRATEGIES: Final = ("None", "Webhook")


def conversion_errors(conversion: Plain, path: str, ratchet: Ratchet) -> Errors:
    """Return the errors of a conversion, in the paths of the internal form."""
    strategy = text(conversion, "strategy")
    webhook = part(conversion, "webhook")
    config = part(webhook, "clientConfig") if webhook.get("clientConfig") is not None else None
    reviews: list[str] = webhook.get("conversionReviewVersions") or []
    errors: Errors = []
    if strategy not in _STRATEGIES:
        at = f"{path}.strategy"
        errors.append(not_supported(at, strategy, _STRATEGIES) if strategy else required(at))
    if strategy == "Webhook":
        errors += _client_errors(config, f"{path}.webhookClientConfig", ratchet)
        return errors + _review_errors(reviews, f"{path}.conversionReviewVersions", ratchet)
    why = "should not be set when strategy is not set to Webhook"
    if config is not None:
        errors.append(forbidden(f"{path}.webhookClientConfig", why))
    if reviews:
        errors.append(forbidden(f"{path}.conversionReviewVersions", why))
    return errors


def _client_errors(config: Plain | None, path: str, ratchet: Ratchet) -> Errors:
    if config is None:
        return [required(path, "required when strategy is set to Webhook")]
    url, service = config.get("url"), config.get("service")
    errors: Errors = []
    if (url is None) == (service is None):
        errors.append(required(path, "exactly one of url or service is required"))
    elif url is not None:
        errors += webhook_url_errors(f"{path}.url", url)
    else:
        found = part(config, "service")
        # kube-apiserver passes the two in the other order, and so reports a missing name as a missing namespace.
        errors += webhook_service_errors(
            f"{path}.service",
            name=text(found, "namespace"),
            namespace=text(found, "name"),
            url_path=found.get("path"),
            port=found.get("port") or 0,
        )
    bundle = text(config, "caBundle")
    if bundle and not ratchet.allows_bad_ca_bundle:
        errors += ca_bundle_errors(f"{path}.caBundle", bundle)
    return errors


def _review_errors(versions: list[str], path: str, ratchet: Ratchet) -> Errors:
    if not versions:
        return [required(path)]
    errors: Errors = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            errors.append(invalid(f"{path}[{index}]", version, "duplicate version"))
        else:
            errors += [invalid(f"{path}[{index}]", version, problem) for problem in names.LABEL_1035(version)]
    if not ratchet.allows_unknown_reviews and not set(versions) & set(KNOWN_REVIEWS):
        errors.append(invalid(path, versions, f"must include at least one of {', '.join(KNOWN_REVIEWS)}"))
    return errors
