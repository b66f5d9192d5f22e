"""Webhook configurations, the Service and the conversion of definitions, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._module import set_module
from masthead._webhook.conversion_handler import CONVERT_PATH
from masthead._webhook.conversions import Converters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from masthead._customresource.resource import CustomResource
    from masthead._webhook.conversions import ConversionSpec
    from masthead._webhook.declarations import AdmissionWebhook, WebhookRole
    from masthead._webhook.locations import Locate

__all__ = ["PORT_NAME", "Webhooks", "configuration_objects", "conversion_of"]

PORT_NAME: Final = "webhooks"
_GROUP: Final = "admissionregistration.k8s.io/v1"
_KINDS: Final[dict[WebhookRole, str]] = {
    "mutate": "MutatingWebhookConfiguration",
    "validate": "ValidatingWebhookConfiguration",
}


@set_module("masthead.webhook")
@dataclass(frozen=True, slots=True)
class Webhooks:
    """The declared webhooks of a manager.

    Attributes:
        admission: The validating and mutating webhooks.
        conversions: The conversions of custom resources.
    """

    admission: tuple[AdmissionWebhook, ...] = ()
    conversions: tuple[ConversionSpec, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.admission or self.conversions)

    def with_role(self, role: WebhookRole) -> list[AdmissionWebhook]:
        """Return the validating or the mutating webhooks, in the order of their declaration."""
        return [webhook for webhook in self.admission if webhook.role == role]

    def converted_classes(self) -> list[list[type[CustomResource]]]:
        """Return the classes of each converted kind.

        Raises:
            ConfigError: If a version cannot be converted.
        """
        return list(Converters(self.conversions).kinds.values())

    def definition_names(self) -> list[str]:
        """Return the names of the definitions with conversions.

        Raises:
            ConfigError: If a version cannot be converted.
        """
        resources = [(classes[0].RESOURCE, classes[0].GVK.group) for classes in self.converted_classes()]
        return sorted(f"{resource.name}.{group}" for resource, group in resources if resource is not None)


def configuration_objects(
    webhooks: Webhooks, metadata: Mapping[str, object], locate: Locate
) -> Iterator[dict[str, object]]:
    """Yield the webhook configurations.

    Args:
        webhooks: The declared webhooks.
        metadata: The metadata of both configurations.
        locate: Returns the ``clientConfig`` of a path.
    """
    for role, kind in _KINDS.items():
        if declared := webhooks.with_role(role):
            yield {
                "apiVersion": _GROUP,
                "kind": kind,
                "metadata": dict(metadata),
                "webhooks": [webhook.to_dict(locate(webhook.path)) for webhook in declared],
            }


def conversion_of(locate: Locate) -> dict[str, object]:
    """Return the ``spec.conversion`` of a definition."""
    webhook = {"clientConfig": locate(CONVERT_PATH), "conversionReviewVersions": ["v1"]}
    return {"strategy": "Webhook", "webhook": webhook}
