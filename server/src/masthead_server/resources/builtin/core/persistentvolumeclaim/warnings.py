"""Warnings about PersistentVolumeClaims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.warnings.quantities import claim_warnings
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
CLASS_FIELD_WARNING: Final = 'deprecated since v1.8; use "storageClassName" attribute instead'


def annotation_warnings(obj: Plain, known: dict[str, str]) -> list[str]:
    """Return the warnings about deprecated annotations."""
    given = part(part(obj, "metadata"), "annotations")
    return [f"metadata.annotations[{key}]: {message}" for key, message in known.items() if key in given]


def persistent_volume_claim_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a PersistentVolumeClaim."""
    return annotation_warnings(obj, {CLASS_ANNOTATION: CLASS_FIELD_WARNING}) + claim_warnings("spec", part(obj, "spec"))
