"""The base of every class of the blocking façade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from masthead._errors.facades import BLOCKING_ONLY

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._sync.portal import Portal

__all__ = ["Facade", "behind"]

AsyncT = TypeVar("AsyncT")
AsyncT_co = TypeVar("AsyncT_co", covariant=True)
R = TypeVar("R")


class Facade(Generic[AsyncT_co]):
    """Calls an object of the async façade and waits for the result.

    A subclass narrows the type of `_async` to its async namesake.

    Threads: may be shared by any number of threads.
    """

    # Not `_portal`, which is imported for type checkers only: tools that evaluate class annotations would fail on it.
    _async: AsyncT_co

    # For all classes; the error of a class without a context manager is clearer.
    if not TYPE_CHECKING:
        __aenter__ = __aexit__ = BLOCKING_ONLY

    def __init__(self, portal: Portal, inner: AsyncT_co) -> None:
        self._portal = portal
        self._async = inner

    def _on_loop(self, function: Callable[[], R]) -> R:
        """Call a plain function on the client's event loop, and wait for the result.

        Raises:
            ClosedError: If the client is closed, or the process was forked.
            RuntimeError: If it is called on the loop's own thread.
            BaseException: Whatever the function raises.
        """

        # A coroutine, because only calls of coroutines return results and errors to the waiting thread.
        async def call() -> R:
            return function()

        return self._portal.call(call())


class Declares(Protocol[AsyncT_co]):
    """A façade, typed by the async object behind it."""

    @property
    def _portal(self) -> Portal: ...
    @property
    def _async(self) -> AsyncT_co: ...


def behind(facade: Declares[AsyncT]) -> tuple[Portal, AsyncT]:
    """Return the portal of a façade and the async object behind it."""
    return facade._portal, facade._async  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
