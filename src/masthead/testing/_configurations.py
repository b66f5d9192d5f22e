"""Client configurations for embedded servers of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from masthead._config.model import Config
    from masthead_server.server import Server

__all__ = ["config_of"]


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
