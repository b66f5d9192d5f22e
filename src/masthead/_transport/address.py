"""Server addresses."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from masthead._value import Value
from masthead.errors import ConfigError

__all__ = ["ServerAddress", "add_brackets"]

_PORTS: Final = {"http": 80, "https": 443}


class ServerAddress(Value):
    """The parsed address of a server.

    Attributes:
        is_secure: Whether it is an https address.
        host: The host name, in its IDNA form, or the IP address.
        port: The port.
        prefix: The path that precedes every target; it does not end with a slash.
    """

    is_secure: bool
    host: str
    port: int
    prefix: str

    @classmethod
    def parse(cls, url: str) -> ServerAddress:
        """Parse an address, such as ``https://host:6443/k8s``. A user and a password in it are ignored.

        Raises:
            ConfigError: If the address is invalid.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
            name = (parts.hostname or "").replace("%25", "%")  # the escape of an IPv6 zone
            host = name if name.isascii() else name.encode("idna").decode()
        except ValueError as error:
            raise ConfigError(f"the server's address is not one ({error}); write it as https://host:port") from None
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
        return f"{add_brackets(self.host)}:{self.port}"

    @property
    def authority(self) -> str:
        """The ``Host`` header: without the scheme's default port, and without the zone of an address."""
        scheme = "https" if self.is_secure else "http"
        host = add_brackets(self.host.partition("%")[0])
        return host if self.port == _PORTS[scheme] else f"{host}:{self.port}"


def add_brackets(host: str) -> str:
    """Format a host for a URL: IPv6 addresses in brackets."""
    return f"[{host}]" if ":" in host else host
