"""Values of Secrets: the page has their sizes alone, as ``masthead describe``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead._errors.base import counted
from masthead._meta.plain import Plain, part, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._recording.differences import FieldChange

__all__ = ["HIDDEN", "is_secret", "mask_changes", "mask_object"]

HIDDEN: Final = "(hidden)"
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""`kubectl apply` keeps the whole manifest there."""
_SECRET_PATHS: Final = ("data", "stringData", f"metadata.annotations[{_LAST_APPLIED}]")


def is_secret(obj: Plain) -> bool:
    """Whether an object is a Secret."""
    return text(obj, "kind") == "Secret" and text(obj, "apiVersion") == "v1"


def mask_object(obj: Plain) -> Plain:
    """Return an object without the values of a Secret; others unchanged."""
    if not is_secret(obj):
        return obj
    # A copy: the differences compare the values themselves.
    masked = {**obj}
    for name in ("data", "stringData"):
        if name in obj:
            masked[name] = {key: _size(value) for key, value in part(obj, name).items()}
    metadata = part(obj, "metadata")
    if _LAST_APPLIED in part(metadata, "annotations"):
        annotations = {**part(metadata, "annotations"), _LAST_APPLIED: HIDDEN}
        masked["metadata"] = {**metadata, "annotations": annotations}
    return masked


def mask_changes(changes: Sequence[FieldChange]) -> list[FieldChange]:
    """Return the changes of the fields of a Secret, without values.

    Args:
        changes: The changes.
    """
    return [_mask_change(change) if change.path.startswith(_SECRET_PATHS) else change for change in changes]


def _mask_change(change: FieldChange) -> FieldChange:
    return replace(change, before=_hide(change.before), after=_hide(change.after))


def _hide(value: object) -> object:
    return None if value is None else HIDDEN


def _size(value: object) -> str:
    # From the length of the base64 text: no value is decoded.
    return f"({counted(len(str(value).rstrip('=')) * 3 // 4, 'byte')})"
