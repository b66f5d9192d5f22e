"""Finalizers: the patches that add and remove them, and the cleanup between."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, cast

from masthead._meta.finalizers import has_finalizer
from masthead._meta.names import check_qualified_name
from masthead.errors import ArgumentError, StaleObjectError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from masthead._controller.primary_writer import PrimaryWriter
    from masthead._meta.object import Object

__all__ = ["Finalization", "check_cleaned_up", "check_cleanup", "run_cleanup"]


class Finalization:
    """Adds and removes the finalizer of the reconciled object.

    Args:
        primary: The reconciled object.
        declared: The finalizer that the controller has declared; empty for none.
        cleaned: Cleanups that are done although their finalizer is not removed yet, as UID and finalizer. Shared by the
            reconciles of a controller.
    """

    def __init__(self, primary: PrimaryWriter[Any], declared: str, cleaned: set[tuple[str, str]]) -> None:
        self._primary = primary
        self._declared = declared
        self._cleaned = cleaned

    async def begin(self, name: str) -> bool:
        """Add the finalizer, unless the object is being deleted.

        Returns:
            Whether to clean up now.

        Raises:
            StaleObjectError: If the cache does not show the present spec or the deletion of the object.
        """
        finalizer = self._choose(name)
        if _is_alive(self._primary.latest):
            await self._primary.patch(lambda obj: _add_finalizer(obj, finalizer))
        # Checked again: that write may have found a deletion that the cache does not show yet.
        if not self._is_due(finalizer):
            return False
        # The cache may be older than the end of the deletion, and another object may have the name by now.
        is_confirmed = await self._primary.confirm()
        current = self._primary.latest
        if current is None or not self._is_due(finalizer):
            return False
        # The cleanup would work with the cached spec, and an effect of the current one would be left over.
        if not is_confirmed:
            raise StaleObjectError(
                f"{current.key} is being deleted, and was changed in a way that the cache does not show "
                "yet: its cleanup waits"
            )
        return True

    async def end(self, name: str, *, is_cleaned: bool) -> bool:
        """Remove the finalizer if the object is being deleted and its cleanup is done.

        Args:
            name: The finalizer; empty for the declared one.
            is_cleaned: Whether `begin` asked for a cleanup, and it is done.

        Returns:
            Whether the object is being deleted, or was deleted.
        """
        finalizer = self._choose(name)
        current = self._primary.latest
        if current is None or _is_alive(current):
            return current is None
        cleanup = (current.metadata.uid, finalizer)
        if is_cleaned:
            # Remembered, so that a failing removal does not repeat the cleanup.
            self._cleaned.add(cleanup)
        # An object that was deleted only after `begin` is cleaned up by the reconcile of its deletion event.
        if cleanup in self._cleaned:
            await self._primary.patch(lambda obj: _remove_finalizer(obj, finalizer))
            self._cleaned.discard(cleanup)
        return True

    def _is_due(self, finalizer: str) -> bool:
        current = self._primary.latest
        if current is None or _is_alive(current):
            return False
        return has_finalizer(current, finalizer) and (current.metadata.uid, finalizer) not in self._cleaned

    def _choose(self, name: str) -> str:
        if name:
            check_qualified_name(name)
        elif not self._declared:
            raise ArgumentError(
                "name the finalizer in the declaration of the controller: finalizer='example.com/bucket'"
            )
        return name or self._declared


def check_cleanup(cleanup: object) -> None:
    """Check that a cleanup can be called: in every reconcile, not only when an object is deleted.

    Raises:
        ArgumentError: If it cannot.
    """
    if inspect.iscoroutine(cleanup):
        cleanup.close()
    if not callable(cleanup):
        raise ArgumentError(
            f"the cleanup must be a function, and is of type {type(cleanup).__name__}: "
            "ctx.finalize(lambda: clean_up(obj))",
            value=cleanup,
        )


async def run_cleanup(cleanup: Callable[[], object]) -> None:
    """Call a cleanup, and await its result if it is awaitable."""
    result = cleanup()
    if hasattr(result, "__await__"):
        await cast("Awaitable[object]", result)


def check_cleaned_up(result: object) -> None:
    """Check that a cleanup has run in its thread.

    Raises:
        ArgumentError: If it returned an awaitable instead.
    """
    if inspect.iscoroutine(result):
        result.close()
    if hasattr(result, "__await__"):
        raise ArgumentError(
            "the cleanup is a coroutine function, and nothing awaits it in a thread: make it a plain function, or the "
            "reconciler a coroutine function",
            value=result,
        )


def _is_alive(obj: Object | None) -> bool:
    """Whether an object exists, and is not being deleted."""
    return obj is not None and obj.metadata.deletion_timestamp is None


def _add_finalizer(obj: Object, finalizer: str) -> Mapping[str, object] | None:
    """Return the patch that adds a finalizer; None if the object has it, or is being deleted."""
    finalizers = obj.metadata.finalizers
    # The API server rejects new finalizers on an object that is being deleted.
    if finalizer in finalizers or obj.metadata.deletion_timestamp is not None:
        return None
    return _patch(obj, [*finalizers, finalizer])


def _remove_finalizer(obj: Object, finalizer: str) -> Mapping[str, object] | None:
    """Return the patch that removes a finalizer; None if the object does not have it."""
    finalizers = obj.metadata.finalizers
    return _patch(obj, [name for name in finalizers if name != finalizer]) if finalizer in finalizers else None


def _patch(obj: Object, finalizers: list[str]) -> Mapping[str, object]:
    # The version turns a concurrent change into a conflict, so that none is lost.
    metadata = {"resourceVersion": obj.metadata.resource_version, "uid": obj.metadata.uid}
    return {"metadata": {**metadata, "finalizers": finalizers}}
