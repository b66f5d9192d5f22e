"""Addresses of servers, in the notation of controller-runtime and Go's net package."""

from __future__ import annotations

from dataclasses import dataclass

from masthead.errors import ArgumentError

__all__ = ["BindAddress", "parse_bind_address"]

_EXAMPLES = "':8080' for all interfaces, '127.0.0.1:8080', '[::1]:8080', ':0' for any free port, '0' for off"
_MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class BindAddress:
    """A host and a port to listen on.

    Attributes:
        host: A host name or IP address; empty for all interfaces.
        port: The port; 0 for any free port.
    """

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_bind_address(text: str, what: str = "bind address") -> BindAddress | None:
    """Parse an address; None for ``0``, which turns the server off.

    Args:
        text: ``HOST:PORT``, ``:PORT``, or ``0`` for off.
        what: The name of the option in messages.

    Raises:
        ArgumentError: If the address is invalid.
    """
    if text == "0":
        return None
    host, colon, port = text.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    is_port = port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= _MAX_PORT
    # A host with a colon is an IPv6 address, which is ambiguous without brackets.
    if not colon or not is_port or (":" in host and not is_bracketed) or not host.isprintable():
        raise ArgumentError(f"{what}: {text!r} is not an address; write {_EXAMPLES}", value=text)
    return BindAddress(host.strip("[]"), int(port))
