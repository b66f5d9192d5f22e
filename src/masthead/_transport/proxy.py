"""Proxy addresses."""

from __future__ import annotations

import base64
from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec

from masthead._meta.secret import Secret
from masthead._value import Value
from masthead.errors import ConfigError

__all__ = ["Proxy", "basic"]

_PORTS: Final = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}


def basic(user: Secret, password: Secret) -> Secret:
    """The value of a header for basic authentication."""
    pair = f"{user.reveal()}:{password.reveal()}".encode()
    return Secret(f"Basic {base64.b64encode(pair).decode()}")


class Proxy(Value):
    """The parsed address of a proxy.

    Attributes:
        scheme: ``http``, ``https``, ``socks5`` or ``socks5h``.
        host: The host.
        port: The port.
        user: The user; empty for no authentication. Some proxies take a token here.
        password: The password.
    """

    scheme: str
    host: str
    port: int
    user: Secret = msgspec.field(default_factory=Secret)
    password: Secret = msgspec.field(default_factory=Secret)

    @classmethod
    def parse(cls, url: str | Secret) -> Proxy:
        """Parse an address, such as ``http://user:password@proxy:3128``.

        Raises:
            ConfigError: If the address is invalid. The message does not repeat it: it may hold a password.
        """
        url = url if isinstance(url, Secret) else Secret(url)
        try:
            made = cls._split(url)
        except ValueError:
            made = None
        if made is None:  # raised here, so that the traceback has no frame with the password
            raise ConfigError("proxy-url is not an address; write it as http://proxy.example:3128")
        if made.scheme not in _PORTS:
            raise ConfigError(
                f"proxy-url begins with {made.scheme!r}, but only {', '.join(_PORTS)} are known;"
                " write it as http://proxy.example:3128"
                if made.host and made.scheme
                else "proxy-url has no scheme; write it as http://proxy.example:3128"
            )
        if not made.host:
            raise ConfigError("proxy-url names no host; write it as http://proxy.example:3128")
        return made

    @classmethod
    def _split(cls, url: Secret) -> Proxy:
        parts = urlsplit(url.reveal())
        return cls(
            parts.scheme,
            parts.hostname or "",
            _PORTS.get(parts.scheme, 0) if parts.port is None else parts.port,
            Secret(unquote(parts.username or "")),
            Secret(unquote(parts.password or "")),
        )

    @property
    def place(self) -> str:
        """``host:port``."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """Its address, without user and password."""
        return f"{self.scheme}://{self.place}"

    @property
    def is_socks(self) -> bool:
        """Whether it speaks SOCKS5, not HTTP."""
        return self.scheme.startswith("socks")

    def headers(self) -> dict[str, str | Secret]:
        """The headers that authenticate with an HTTP proxy."""
        if not self.user and not self.password:
            return {}
        return {"Proxy-Authorization": basic(self.user, self.password)}
