"""What one gets for a handler: a way to see how it is doing, and to take it away."""

from __future__ import annotations

import contextlib

from masthead._cache.informer.registration import Registration as AsyncRegistration
from masthead._sync.facade import Facade
from masthead.errors import ClosedError

__all__ = ["Registration"]


class Registration(Facade[AsyncRegistration]):
    """A handler of an informer.

    The same handler may be added several times; each is told, and removed, by itself.
    """

    @property
    def name(self) -> str:
        """The handler's name, as logs and metrics have it."""
        result: str = self._async.name
        return result

    @property
    def has_synced(self) -> bool:
        """Whether the handler has returned from every initial add, even if one raised."""
        result: bool = self._async.has_synced
        return result

    @property
    def pending(self) -> int:
        """How many notices it has yet to hear."""
        result: int = self._async.pending
        return result

    @property
    def failures(self) -> int:
        """How often the handler has raised."""
        result: int = self._async.failures
        return result

    def wait_synced(self, timeout: float | None = None) -> bool:
        """Wait until the handler has returned from every initial add.

        Returns:
            True. Being late is an error, not a False that can be overlooked; ``if not ...`` of ported code is right.

        Raises:
            DeadlineError: if that takes longer than `timeout` seconds.
            ClosedError: if it will never be so: the handler is removed, or the informer has stopped.
        """
        result: bool = self._portal.call(self._async.wait_synced(timeout))
        return result

    def remove(self) -> None:
        """Tell the handler nothing more: what it has not heard is dropped, and a call that is under way waited for.

        Removing twice does nothing. A handler may remove itself, or another one of its informer; then nothing is waited
        for.
        """
        if self._async.is_called_from_handler:
            self._async.leave()
            return
        with contextlib.suppress(ClosedError):  # the client is, and its handlers went with it
            self._portal.call(self._async.remove())

    def __repr__(self) -> str:
        return repr(self._async)
