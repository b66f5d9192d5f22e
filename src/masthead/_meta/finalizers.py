"""Finalizers: what holds an object back from going."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta import names

if TYPE_CHECKING:
    from masthead._meta.object import Object


def has_finalizer(target: Object, finalizer: str) -> bool:
    """Whether an object waits for this finalizer."""
    return finalizer in target.metadata.finalizers


def add_finalizer(target: Object, finalizer: str) -> bool:
    """Add a finalizer; returns whether anything changed.

    Raises:
        NameFormatError: If it is no name such as ``example.com/cleanup``.
    """
    names.check_qualified_name(finalizer)
    if has_finalizer(target, finalizer):
        return False
    target.metadata.finalizers.append(finalizer)
    return True


def remove_finalizer(target: Object, finalizer: str) -> bool:
    """Remove a finalizer; returns whether it was there."""
    kept = [each for each in target.metadata.finalizers if each != finalizer]
    removed = len(kept) != len(target.metadata.finalizers)
    if removed:
        target.metadata.finalizers[:] = kept
    return removed


def is_deleting(target: Object) -> bool:
    """Whether an object is on its way out, and only its finalizers or grace period hold it back."""
    return target.metadata.deletion_timestamp is not None
