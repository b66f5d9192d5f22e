"""Warnings that the kinds of admission configuration share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

_STATIC: Final = ".static.k8s.io"


def admission_warnings(obj: Plain) -> list[str]:
    """Return the warning about names that are reserved for static configuration."""
    if not text(part(obj, "metadata"), "name").endswith(_STATIC):
        return []
    why = "are reserved for static manifest-based configurations and cannot be managed via the API"
    return [f"metadata.name: names ending with {quoted(_STATIC)} {why}"]
