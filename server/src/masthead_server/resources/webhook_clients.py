"""The ``clientConfig`` of webhooks, for admission and for conversion: a URL, or a Service."""

from __future__ import annotations

import base64
import binascii
import functools
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead_server.webhooks import Webhook
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from masthead_server.wire.plain import Plain

__all__ = ["ServiceResolver", "VirtualTime", "webhook_of"]

ServiceResolver: TypeAlias = "Callable[[str, str, int], tuple[str, int]]"
"""Returns the host and port of a Service, given its namespace, name and port; raises LookupError if it is unknown."""
VirtualTime: TypeAlias = "Callable[[], datetime]"
"""Returns the time of a virtual clock."""
_HTTPS: Final = 443


def webhook_of(config: Plain, resolve: ServiceResolver, now: VirtualTime | None = None) -> Webhook:
    """Return the webhook of a ``clientConfig``.

    Args:
        config: The ``clientConfig``.
        resolve: Returns the address of a Service; called for every connection.
        now: The time of a virtual clock; None for the real time.
    """
    bundle = _decode_bundle(text(config, "caBundle"))
    if url := text(config, "url"):
        return Webhook(url, bundle, now=now)
    service = part(config, "service")
    name, namespace, port = text(service, "name"), text(service, "namespace"), int(service.get("port") or _HTTPS)
    path = text(service, "path") or "/"
    url = f"https://{name}.{namespace}.svc:{port}{path}"
    return Webhook(url, bundle, functools.partial(resolve, namespace, name, port), now)


def _decode_bundle(bundle: str) -> str:
    try:
        return base64.b64decode(bundle).decode("ascii", "replace").strip()
    except binascii.Error:
        return ""
