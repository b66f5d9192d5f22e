"""Helpers for finalizers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta import names
from masthead._module import set_module

if TYPE_CHECKING:
    from masthead._meta.object import Object


@set_module("masthead.meta")
def has_finalizer(target: Object, finalizer: str) -> bool:
    """Whether an object has this finalizer."""
    return finalizer in target.metadata.finalizers


@set_module("masthead.meta")
def add_finalizer(target: Object, finalizer: str) -> bool:
    """Add a finalizer; return whether anything changed.

    Raises:
        NameFormatError: If it is not a qualified name such as ``example.com/cleanup``.
    """
    names.check_qualified_name(finalizer)
    if has_finalizer(target, finalizer):
        return False
    target.metadata.finalizers.append(finalizer)
    return True


@set_module("masthead.meta")
def remove_finalizer(target: Object, finalizer: str) -> bool:
    """Remove a finalizer; return whether it existed."""
    kept = [name for name in target.metadata.finalizers if name != finalizer]
    removed = len(kept) != len(target.metadata.finalizers)
    if removed:
        target.metadata.finalizers[:] = kept
    return removed


@set_module("masthead.meta")
def is_deleting(target: Object) -> bool:
    """Whether an object is being deleted, and waits for its finalizers or grace period."""
    return target.metadata.deletion_timestamp is not None
