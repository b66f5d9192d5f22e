"""The page of a manager, as the manager sees it: a layer above makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from masthead._config.address import is_loopback
from masthead._endpoint.bind_address import BindAddress, parse_bind_address
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from masthead._cache.factory.factory import SharedInformerFactory
    from masthead._client.client import Client
    from masthead._endpoint.http_limits import ServerLimits
    from masthead._endpoint.http_requests import EndpointRequest, EndpointResponse
    from masthead._recording.entries import Reconcile

__all__ = ["ManagerPage", "PageMaker", "TakeReconcile", "page_address"]

_ANY_PORT: Final = BindAddress("127.0.0.1", 0)

TakeReconcile: TypeAlias = "Callable[[Callable[[], Reconcile], int], object]"
"""Takes a reconcile that has ended: a function that makes its entry, and an estimate of its bytes."""


class ManagerPage(Protocol):
    """Shows the caches and the reconciles of a running manager."""

    @property
    def limits(self) -> ServerLimits:
        """The limits of the server that serves it."""
        ...

    def take_reconcile(self, make: Callable[[], Reconcile], size: int) -> object:
        """Show a reconcile that has ended."""
        ...

    def following(self) -> AbstractAsyncContextManager[object]:
        """Follow the informers during a block, on their event loop."""
        ...

    async def respond(self, request: EndpointRequest) -> EndpointResponse:
        """Return the response to a request."""
        ...

    def address(self, port: int) -> str:
        """The address for the browser, with the token that opens it."""
        ...


class PageMaker(Protocol):
    """Makes the page of a manager."""

    def __call__(self, name: str, client: Client, factory: SharedInformerFactory, host: str) -> ManagerPage:
        """Return a page for the informers of a factory, served on a host."""
        ...


def page_address(debug_bind: str) -> BindAddress:
    """The address of the page: that of ``/debug``, or any free port of this machine.

    Raises:
        ConfigError: If other machines reach it.
    """
    address = parse_bind_address(debug_bind, "debug_bind") or _ANY_PORT
    if not is_loopback(address.host):
        raise ConfigError(
            f"debug_bind is {debug_bind!r}, which other machines reach, and ui shows objects without TLS there; "
            "bind it to 127.0.0.1, and use kubectl port-forward"
        )
    return address
