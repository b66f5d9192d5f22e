"""The objects that an environment installs for a manager: definitions and webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._customresource.resource import CustomResource
from masthead._webhook.configurations import configuration_objects, conversion_of
from masthead._webhook.locations import SERVICE_PORT, service_name

if TYPE_CHECKING:
    from masthead import Manager
    from masthead._meta.object import Object
    from masthead._webhook.locations import Locate

__all__ = ["installed_definitions", "webhook_manifests"]


def installed_definitions(manager: Manager, locate: Locate | None) -> dict[tuple[type[Object], ...], dict[str, object]]:
    """Return the definitions of a manager's custom resources, by the classes of their versions.

    Only classes that the manager names count: other tests of the process may have registered further versions.

    Args:
        manager: The manager.
        locate: Returns the ``clientConfig`` of its webhooks; None to leave out conversions.

    Raises:
        ConfigError: If a version cannot be converted.
    """
    converted = dict.fromkeys(tuple(classes) for classes in manager.webhooks.converted_classes())
    definitions: dict[tuple[type[Object], ...], dict[str, object]] = {}
    for classes in converted:
        plain = classes[0].to_crd(*classes[1:]).to_dict()
        if locate is not None:
            plain["spec"].setdefault("conversion", conversion_of(locate))
        definitions[classes] = plain
    kinds: list[object] = [spec.kind for controller in manager.controllers for spec in controller.specs]
    kinds += [webhook.kind for webhook in manager.webhooks.admission]
    for kind in dict.fromkeys(kinds):
        if not isinstance(kind, type) or not issubclass(kind, CustomResource):
            continue
        if not any(kind in classes for classes in converted):
            definitions[kind,] = kind.to_crd().to_dict()
    return definitions


def webhook_manifests(manager: Manager, namespace: str, locate: Locate) -> list[dict[str, object]]:
    """Return the Service and the configurations of a manager's webhooks.

    Args:
        manager: The manager.
        namespace: The namespace of the Service.
        locate: Returns the ``clientConfig`` of its webhooks.
    """
    service: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": service_name(manager.name), "namespace": namespace},
        "spec": {"ports": [{"port": SERVICE_PORT}]},
    }
    return [service, *configuration_objects(manager.webhooks, {"name": manager.name}, locate)]
