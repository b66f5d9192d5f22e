"""Waits of an informer: for the first sync, for a resource version, and for a condition of the store."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead._meta.object import Object
from masthead._meta.unstructured import Unstructured
from masthead._meta.v1 import PartialObjectMetadata
from masthead._sansio.versions import is_at_least
from masthead.errors import ArgumentError, DeadlineError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from masthead._cache.informer.handler_registry import HandlerRegistry
    from masthead._cache.informer.lifecycle import InformerLifecycle
    from masthead._cache.informer.pipeline import InformerPipeline
    from masthead._cache.informer.progress import Progress

__all__ = ["InformerWaits"]

T = TypeVar("T", bound=Object)

_UNTYPED_KINDS: Final = {Unstructured.GVK.group_kind, PartialObjectMetadata.GVK.group_kind}
"""The kinds of classes whose objects may be of any kind."""
_BOOKMARKS: Final = (
    "A write of another kind or namespace, or one that its selectors do not match, is passed only with the next "
    "bookmark, about a minute later"
)


class InformerWaits(Generic[T]):
    """Waits for the store and the handlers of an informer.

    Args:
        pipeline: Fills the store.
        handlers: The handlers.
        lifecycle: Ends a wait when the informer stops.
        progress: Wakes the waits.
    """

    def __init__(
        self,
        pipeline: InformerPipeline[T],
        handlers: HandlerRegistry[T],
        lifecycle: InformerLifecycle[T],
        progress: Progress,
    ) -> None:
        self._pipeline = pipeline
        self._processor = pipeline.store.processor
        self._handlers = handlers
        self._lifecycle = lifecycle
        self._progress = progress

    async def wait_for_cache_sync(self, timeout: float | None, *, handlers: bool) -> None:
        """Wait for the first full list, and if asked to for the handlers.

        Raises:
            DeadlineError: If that takes longer than `timeout` seconds.
            ClosedError: If the informer has stopped.
            InformerStateError: If it has not been started.
        """
        if not handlers:
            await self.wait_for(lambda: True, timeout, "has not synced")
        else:
            await self.wait_for(lambda: self._handlers.has_synced, timeout, "and its handlers have not synced")

    async def wait_for_version(self, version: str | int | Object, timeout: float | None) -> None:
        """Wait until the store has reached a resource version.

        Raises:
            DeadlineError: If that takes longer than `timeout` seconds.
            ClosedError: If the informer has stopped.
            InformerStateError: If it has not been started.
            ArgumentError: If `version` is neither a resource version nor an object of this kind.
        """
        expected, scope = _parse_version(version, self._pipeline.item, self._pipeline.sources)
        processor, store = self._processor, self._processor.store

        def current() -> str:
            return store.version if scope is None else store.version_of(scope)

        def describe_current() -> str:
            return f"; it is at {current()}. {_BOOKMARKS}" if processor.is_synced else "; it has not synced"

        await self.wait_for(
            lambda: bool(current()) and is_at_least(current(), expected),
            timeout,
            f"has not reached version {expected}",
            describe_current,
        )

    async def wait_for(
        self,
        is_reached: Callable[[], object],
        timeout: float | None,
        problem: str,
        describe: Callable[[], str] = str,
    ) -> None:
        """Wait until the informer has synced and a condition holds; it is evaluated after every change.

        Args:
            is_reached: The condition.
            timeout: Seconds.
            problem: The unmet expectation, for the error.
            describe: More about the current state, for the error.

        Raises:
            DeadlineError: If that takes longer than `timeout` seconds.
            ClosedError: If the informer has stopped.
            InformerStateError: If it has not been started.
        """
        processor, lifecycle = self._processor, self._lifecycle
        try:
            async with asyncio.timeout(timeout):
                while not (processor.is_synced and is_reached()):
                    # Checked each time: an informer that has stopped will never get there.
                    lifecycle.check_not_stopped("be waited for")
                    lifecycle.check_started()
                    await self._progress.next()
        except TimeoutError:
            # The error says more than the timeout: most late syncs are refused or unreachable.
            last = max(self._pipeline.statuses, key=lambda status: status.error_at).error
            cause = f"; the last error was {last}" if last else ""
            raise DeadlineError(
                f"informer {self._pipeline.name} {problem} within {timeout:g} s{cause}{describe()}"
            ) from None


def _parse_version(version: str | int | Object, item: type[Object], scopes: Collection[str]) -> tuple[str, str | None]:
    """Return the version to wait for, and the scope that must reach it; None for all scopes.

    Raises:
        ArgumentError: If it is neither a version nor an object of this kind.
    """
    if not isinstance(version, Object):
        return _format_version(version), None
    kind, own_kind = version.gvk.group_kind, item.GVK.group_kind
    if kind != own_kind and not {kind, own_kind} & _UNTYPED_KINDS:
        raise ArgumentError(
            f"this informer keeps objects of kind {own_kind.kind}, and never receives {kind.kind} {version.key!r}; "
            "wait with an informer of that kind",
            value=version,
        )
    # In a namespace with its own watch, only that watch has to reach the version.
    namespace = version.metadata.namespace
    return _format_version(version.metadata.resource_version), namespace if namespace in scopes else None


def _format_version(version: object) -> str:
    """Return a resource version as text.

    Raises:
        ArgumentError: If it is not a resource version.
    """
    # A bool is an int, too, but True is no version.
    text = str(version) if isinstance(version, int) and not isinstance(version, bool) else version
    if not isinstance(text, str) or not (text.isascii() and text.isdigit()):
        raise ArgumentError(
            f"{version!r} is no resource version; wait for an object that a server has answered with, or for its "
            "resource version, which is a number",
            value=version,
        )
    return text
