"""Validation of the metadata of templates of objects other than pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden
from masthead_server.resources.validation.checks import annotation_errors, labels
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["template_metadata_errors"]

_FORBIDDEN: Final = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
_WRITTEN: Final = {"uid": "uID"}


def template_metadata_errors(meta: Plain, path: str) -> Errors:
    """Validate metadata that may have labels and annotations only."""
    errors = annotation_errors(f"{path}.annotations", part(meta, "annotations"))
    errors += labels(f"{path}.labels", part(meta, "labels"))
    # Go tells an empty list from none, but no empty text or zero.
    return errors + [
        forbidden(f"{path}.{_WRITTEN.get(field, field)}", "cannot be set")
        for field in _FORBIDDEN
        if meta.get(field) not in (None, "", 0)
    ]
