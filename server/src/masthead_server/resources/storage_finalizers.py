"""Finalizers that protect storage objects while they are in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.resources.validation.checks import words
from masthead_server.wire.plain import metadata

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def protect(obj: Plain, finalizer: str) -> None:
    """Add a finalizer to a new object."""
    meta = metadata(obj)
    held = words(meta, "finalizers")
    if finalizer not in held:
        meta["finalizers"] = [*held, finalizer]
