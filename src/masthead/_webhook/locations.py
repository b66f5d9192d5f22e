"""Where API servers reach the webhook server: a Service, or a URL."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    Locate: TypeAlias = Callable[[str], dict[str, object]]

__all__ = [
    "FIELD_MANAGER",
    "SERVICE_PORT",
    "check_url",
    "server_names",
    "service_location",
    "service_name",
    "url_location",
]

FIELD_MANAGER: Final = "masthead-webhooks"
"""The owner of the certificate and of the bundles in managed fields."""
SERVICE_PORT: Final = 443


def service_name(manager: str) -> str:
    """Return the name of the Service of a manager, and of the Secret with its certificate."""
    return f"{manager}-webhook"


def server_names(namespace: str, service: str) -> frozenset[str]:
    """Return the names of a Service in certificates."""
    name = f"{service}.{namespace}"
    return frozenset({name, f"{name}.svc", f"{name}.svc.cluster.local"})


def service_location(namespace: str, name: str) -> Locate:
    """Return a function from paths to the ``clientConfig`` of a Service."""

    def locate(path: str) -> dict[str, object]:
        return {"service": {"namespace": namespace, "name": name, "path": path, "port": SERVICE_PORT}}

    return locate


def url_location(url: str, bundle: bytes) -> Locate:
    """Return a function from paths to the ``clientConfig`` of a URL."""
    base, encoded = url.rstrip("/"), base64.b64encode(bundle).decode()

    def locate(path: str) -> dict[str, object]:
        return {"url": f"{base}{path}", "caBundle": encoded}

    return locate


def check_url(url: str) -> str:
    """Check the URL of a development server, and return its host name.

    Raises:
        ArgumentError: If an API server would refuse it.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ArgumentError(f"webhook_url {url!r}: {error}", value=url) from None
    if parts.scheme != "https" or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ArgumentError(f"webhook_url must be such as https://host:9443, not {url!r}", value=url)
    return parts.hostname
