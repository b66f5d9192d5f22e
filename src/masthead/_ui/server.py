"""Serves the page on an address."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from masthead._config.address import is_loopback
from masthead._endpoint.bind_address import BindAddress
from masthead._endpoint.http_limits import ServerLimits
from masthead._endpoint.http_server import EndpointServer
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from masthead._ui.service import Service
    from masthead._ui.sessions import Gate

__all__ = ["LIMITS", "address_of", "check_host", "serving"]

LIMITS: Final = ServerLimits(
    methods=("GET", "HEAD", "POST"),
    few_connections=32,
    max_connections=64,
    # The token, and nothing else.
    max_body=4_096,
    max_buffered=65_536,
    handler_timeout=60.0,
    close_timeout=1.0,
)


def check_host(host: str, *, allow_remote: bool) -> None:
    """Refuse addresses that others reach, unless they are wanted.

    Raises:
        ArgumentError: If others could reach it.
    """
    if not allow_remote and not is_loopback(host):
        raise ArgumentError(
            f"{host or 'every interface'} can be reached from other machines, which would see what you see, without "
            "TLS; add --allow-remote if that is meant",
            value=host,
        )


@asynccontextmanager
async def serving(service: Service, gate: Gate, *, host: str, port: int) -> AsyncGenerator[str]:
    """Serve the page during a block; yield its address, with the token in the fragment.

    Args:
        service: What answers.
        gate: Who may ask.
        host: The host to listen on.
        port: The port; 0 for any free one.

    Raises:
        ConfigError: If the address is not available.
    """
    async with EndpointServer(service.handle, BindAddress(host, port), "ui", limits=LIMITS) as server:
        yield address_of(gate, host, server.port)


def address_of(gate: Gate, host: str, port: int) -> str:
    """The address for the browser, with the token in the fragment."""
    # "Every interface" is no address that a browser could open.
    return f"http://{BindAddress(host or '127.0.0.1', port)}/#token={gate.token}"
