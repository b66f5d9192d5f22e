"""The event loops that blocking clients run on."""

from __future__ import annotations

import asyncio
import functools
import socket
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from typing import TypeAlias

    _AddressInfo: TypeAlias = tuple[
        socket.AddressFamily,
        socket.SocketKind,
        int,
        str,
        tuple[str, int] | tuple[str, int, int, int],
    ]

__all__ = ["new_loop"]


def new_loop() -> asyncio.AbstractEventLoop:
    """Create an event loop: uvloop's if it is installed, else asyncio's."""
    quick = _quick_loop()
    return asyncio.new_event_loop() if quick is None else quick()


@functools.cache
def _quick_loop() -> type[asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None

    class QuickLoop(uvloop.Loop):
        """Resolves host names in Python's threads, not in libuv's.

        libuv joins its threads when a process exits; in a forked child, where they do not exist, that crashes.
        """

        # The signature of uvloop, which differs slightly from asyncio's.
        async def getaddrinfo(  # type: ignore[override]
            self,
            host: str | bytes | None,
            port: str | bytes | int | None,
            *,
            family: int = 0,
            type: int = 0,
            proto: int = 0,
            flags: int = 0,
        ) -> list[_AddressInfo]:
            look_up = functools.partial(socket.getaddrinfo, host, port, family, type, proto, flags)
            return cast("list[_AddressInfo]", await self.run_in_executor(None, look_up))

    return QuickLoop
