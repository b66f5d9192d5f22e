"""Warnings about Ingresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

_INGRESS_CLASS: Final = "kubernetes.io/ingress.class"


def ingress_warnings(obj: Plain) -> list[str]:
    """Return the warnings about an Ingress."""
    annotations = part(part(obj, "metadata"), "annotations")
    if _INGRESS_CLASS not in annotations or part(obj, "spec").get("ingressClassName") is not None:
        return []
    return [f"annotation {quoted(_INGRESS_CLASS)} is deprecated, please use 'spec.ingressClassName' instead"]
