"""The patches that add and remove a finalizer, and checks of cleanups.

The patches name the version: a concurrent change is a conflict, never lost.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.object import Object

__all__ = ["add_finalizer", "check_cleaned_up", "check_cleanup", "remove_finalizer"]


def check_cleanup(cleanup: object) -> None:
    """Check that a cleanup can be called: long before an object is deleted, not only then.

    Raises:
        ArgumentError: If it cannot.
    """
    if inspect.iscoroutine(cleanup):
        cleanup.close()
    if not callable(cleanup):
        raise ArgumentError(
            f"the cleanup must be a function, and is of type {type(cleanup).__name__}: ctx.finalize(lambda: clean_up(obj))",
            value=cleanup,
        )


def check_cleaned_up(made: object) -> None:
    """Check that a cleanup that was called in a thread has cleaned up.

    Raises:
        ArgumentError: If it has returned an awaitable instead.
    """
    if inspect.iscoroutine(made):
        made.close()
    if hasattr(made, "__await__"):
        raise ArgumentError(
            "the cleanup is a coroutine function, and nothing awaits it in a thread: make it a plain function, or the "
            "reconciler a coroutine function",
            value=made,
        )


def add_finalizer(obj: Object, finalizer: str) -> Mapping[str, object] | None:
    """The patch that adds a finalizer; None if it is there, or the object is being deleted, which forbids it."""
    there = obj.metadata.finalizers
    if finalizer in there or obj.metadata.deletion_timestamp is not None:
        return None
    return _patch(obj, [*there, finalizer])


def remove_finalizer(obj: Object, finalizer: str) -> Mapping[str, object] | None:
    """The patch that removes a finalizer; None if it is not there."""
    there = obj.metadata.finalizers
    return _patch(obj, [each for each in there if each != finalizer]) if finalizer in there else None


def _patch(obj: Object, finalizers: list[str]) -> Mapping[str, object]:
    metadata = {"resourceVersion": obj.metadata.resource_version, "uid": obj.metadata.uid}
    return {"metadata": {**metadata, "finalizers": finalizers}}
