"""Calls of a reconciler's thread: a blocking client on the manager's event loop, and cleanups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._controller.finalization import check_cleaned_up
from masthead._sync.client import Client

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._client.client import Client as AsyncClient
    from masthead._sync.portal import Portal

__all__ = ["client_of_loop", "run_cleanup"]


def client_of_loop(portal: Portal, client: AsyncClient) -> Client:
    """Wrap an async client whose event loop runs already."""
    wrapper = Client.__new__(Client)  # its constructor would create another async client
    wrapper._portal, wrapper._async = portal, client  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return wrapper


def run_cleanup(cleanup: Callable[[], object]) -> None:
    """Call a cleanup in the caller's thread.

    Raises:
        ArgumentError: If it is a coroutine function.
    """
    check_cleaned_up(cleanup())
