"""Refusals of admission plugins, as kube-apiserver words them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.quoting import quoted
from masthead_server.wire.failures import StatusFailure, details_of, qualified
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes

__all__ = ["forbid", "name_object"]


def forbid(attributes: AdmissionAttributes, why: str) -> StatusFailure:
    """Return the refusal of a request: 403 with the name of the object.

    Args:
        attributes: The request.
        why: The reason.
    """
    served, name = attributes.served, name_object(attributes)
    message = f"{qualified(served.group, served.name)} {quoted(name)} is forbidden: {why}"
    return StatusFailure(403, "Forbidden", message, details=details_of(name, served.group, served.name))


def name_object(attributes: AdmissionAttributes) -> str:
    """Return the name of the object in messages: before validation a generated one is not there yet."""
    meta = part(attributes.object or {}, "metadata")
    return attributes.name or text(meta, "name") or text(meta, "generateName") or "Unknown"
