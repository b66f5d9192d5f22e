"""Client configurations for embedded servers of this process."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
    from typing import Unpack

    from masthead import aio
    from masthead._config.model import Config
    from masthead_server.server import Server

__all__ = ["UserAttributes", "acting_clients", "config_as", "config_of"]


def config_of(server: Server) -> Config:
    """Return the configuration of clients in this process.

    Plain HTTP, unless the server requires TLS: certificates and handshakes take a tenth of a second, and a restarted
    server has new certificates.
    """
    from masthead._config.model import Config

    # The kubeconfig has the authority of the server, which a URL and a token lack.
    if server.url.startswith("https:"):
        from masthead._config.loader import from_kubeconfig

        return from_kubeconfig(server.kubeconfig())
    return Config(server=server.url, token=server.token or "")


class UserAttributes(TypedDict, total=False):
    """What a user has besides its name; see `masthead.config.Impersonation`."""

    uid: str
    groups: Iterable[str]
    extra: Mapping[str, Iterable[str]]


def config_as(config: Config, user: str, **attributes: Unpack[UserAttributes]) -> Config:
    """Return the configuration of a client that acts as another user, by the credentials of an administrator."""
    from masthead._config.model import Impersonation

    extra = {key: tuple(values) for key, values in attributes.get("extra", {}).items()}
    groups = tuple(attributes.get("groups", ()))
    return replace(
        config, impersonate=Impersonation(user=user, uid=attributes.get("uid", ""), groups=groups, extra=extra)
    )


@asynccontextmanager
async def acting_clients(config: Config) -> AsyncGenerator[Callable[..., aio.Client]]:
    """Open async clients that act as other users, and close them at the end of the block."""
    import masthead.aio

    async with AsyncExitStack() as stack:

        def open_client(user: str, **attributes: Unpack[UserAttributes]) -> aio.Client:
            client = masthead.aio.Client(config_as(config, user, **attributes))
            stack.push_async_callback(client.close)
            return client

        yield open_client
