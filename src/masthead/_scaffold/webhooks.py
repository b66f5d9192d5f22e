"""The Service, the webhook configurations and the certificate of an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._webhook.configurations import PORT_NAME, configuration_objects
from masthead._webhook.locations import SERVICE_PORT, server_names, service_location, service_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._scaffold.settings import Deploy

__all__ = ["CERTIFICATE_FOLDER", "ca_annotations", "webhook_objects"]

CERTIFICATE_FOLDER: Final = "/var/run/masthead/webhook"
_CERT_MANAGER: Final = "cert-manager.io/v1"
_INJECT: Final = "cert-manager.io/inject-ca-from"


def webhook_objects(deploy: Deploy) -> Iterator[dict[str, object]]:
    """Yield the Service, the configurations, and with cert-manager the Certificate and its Issuer."""
    webhooks = deploy.manager.webhooks
    if not deploy.serves_webhooks:
        return
    name = service_name(deploy.name)
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**deploy.metadata(deploy.namespace), "name": name},
        "spec": {
            "selector": deploy.selector,
            "ports": [{"name": PORT_NAME, "port": SERVICE_PORT, "targetPort": PORT_NAME}],
        },
    }
    if deploy.uses_cert_manager:
        yield from _certificate(deploy, name)
    metadata = deploy.metadata()
    if annotations := ca_annotations(deploy):
        metadata["annotations"] = annotations
    yield from configuration_objects(webhooks, metadata, service_location(deploy.namespace, name))


def ca_annotations(deploy: Deploy) -> dict[str, str]:
    """Return the annotations that make cert-manager inject its authority; empty if the manager does it."""
    if not deploy.uses_cert_manager:
        return {}
    return {_INJECT: f"{deploy.namespace}/{service_name(deploy.name)}"}


def _certificate(deploy: Deploy, name: str) -> Iterator[dict[str, object]]:
    metadata = {**deploy.metadata(deploy.namespace), "name": name}
    yield {"apiVersion": _CERT_MANAGER, "kind": "Issuer", "metadata": metadata, "spec": {"selfSigned": {}}}
    yield {
        "apiVersion": _CERT_MANAGER,
        "kind": "Certificate",
        "metadata": metadata,
        "spec": {
            "dnsNames": sorted(server_names(deploy.namespace, name)),
            "issuerRef": {"kind": "Issuer", "name": name},
            "secretName": name,
        },
    }
