"""A server's address, taken apart once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from masthead.errors import ConfigError

__all__ = ["ServerAddress", "bracketed"]

_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where requests go.

    Attributes:
        is_secure: Whether it speaks TLS.
        host: Its name or address, as the network knows it.
        port: On which port.
        prefix: The path that goes before every target; it does not end with a slash.
    """

    is_secure: bool
    host: str
    port: int
    prefix: str

    @classmethod
    def parse(cls, url: str) -> ServerAddress:
        """Read a server's address, such as ``https://host:6443/k8s``. A user and a password in it are left out.

        Raises:
            ConfigError: If it is not one.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
            name = (parts.hostname or "").replace("%25", "%")  # so is an address' zone escaped
            host = name if name.isascii() else name.encode("idna").decode()
        except ValueError as error:
            raise ConfigError(
                f"the server's address is not one ({error}); write it as https://host:port"
            ) from None
        if parts.scheme not in _PORTS or not host:
            raise ConfigError("the server's address needs a scheme and a host; write it as https://host:port")
        return cls(
            parts.scheme == "https",
            host,
            _PORTS[parts.scheme] if port is None else port,
            parts.path.rstrip("/"),
        )

    @property
    def place(self) -> str:
        """``host:port``."""
        return f"{bracketed(self.host)}:{self.port}"

    @property
    def authority(self) -> str:
        """What a ``Host`` header says: without the port that goes without saying, or the zone of an address."""
        scheme = "https" if self.is_secure else "http"
        host = bracketed(self.host.partition("%")[0])
        return host if self.port == _PORTS[scheme] else f"{host}:{self.port}"


def bracketed(host: str) -> str:
    """A host as it stands before a colon and a port."""
    return f"[{host}]" if ":" in host else host
