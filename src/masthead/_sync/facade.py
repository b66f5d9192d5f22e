"""What every class of the blocking façade stands on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._sync.portal import Portal

__all__ = ["Facade", "behind"]

R = TypeVar("R")


class Facade:
    """Does what an object of the async façade does, and waits for it.

    Threads: may be shared by any number of threads.
    """

    # Any: the class of `_async` is this one's namesake, and a class with several bases would have as many of them.
    # That the two fit each other is what the generator and the tests of the façades are for.
    _async: Any

    def __init__(self, portal: Portal, inner: object) -> None:
        self._portal = portal
        self._async = inner

    def _on_loop(self, function: Callable[[], R]) -> R:
        """Call a plain function on the client's loop, and wait for it.

        Raises:
            ClosedError: if the client is closed, or the process was forked.
            RuntimeError: if the loop's own thread asks.
            BaseException: whatever the function raises.
        """

        async def call() -> R:
            return function()

        return self._portal.call(call())


def behind(face: Facade) -> tuple[Portal, Any]:
    """The portal of a façade, and the object that it stands for."""
    return face._portal, face._async  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
