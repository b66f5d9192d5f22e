"""The host names that browsers may use for the server.

A web page can send requests to the machine of its visitor. Two headers show that. ``Host`` is the name that
the browser has resolved: a foreign name means that its DNS points at this machine (DNS rebinding). ``Origin``
is the page that sent the request.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ANY", "AllowedHosts", "is_loopback"]

ANY: Final = "*"
"""Allows every name."""
_AUTHORITY: Final = re.compile(r"(?:\[[^\]]*\]|[^\[\]@:]*)(?::[0-9]*)?")
"""A host and perhaps a port: what browsers send as Host, and after the scheme of an Origin."""
_MAX_SHOWN_LENGTH: Final = 100
_MAX_KNOWN: Final = 64


def is_loopback(host: str) -> bool:
    """Whether a name or an address always means this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name, which may resolve to anything
        return False


class AllowedHosts:
    """The host names that requests may use: those of this machine, and configured ones.

    Args:
        chosen: Further names and addresses; ``*`` allows any.
        allows_addresses: Whether any numeric address is allowed: DNS rebinding cannot use those.
    """

    def __init__(self, chosen: Iterable[str] = (), *, allows_addresses: bool = False) -> None:
        self._chosen = frozenset(each.lower().strip("[]").rstrip(".") for each in chosen)
        self._allows_addresses = allows_addresses
        self._known: set[str] = set()
        """A few Host headers that were allowed: clients send the same one with each request."""

    def check(self, hosts: Iterable[str], origins: Iterable[str]) -> None:
        """Refuse a request of a foreign page, or to a foreign name.

        Args:
            hosts: Its Host headers; there is one, or none in HTTP/1.0.
            origins: Its Origin headers; only browsers send one.

        Raises:
            StatusFailure: If it is refused; the message explains how to allow it.
        """
        for host in hosts:
            if host not in self._known and not self._allows(_name_in(f"//{host}")):
                raise _refused(f"the request is addressed to host {_shown(host)}")
            # Limited in number and length, because clients choose what they send as Host.
            if len(self._known) < _MAX_KNOWN and len(host) <= _MAX_SHOWN_LENGTH:
                self._known.add(host)
        for origin in origins:
            if not self._allows(_name_in(origin)):
                raise _refused(f"the request comes from the web page {_shown(origin)}")

    def _allows(self, name: str) -> bool:
        if ANY in self._chosen or name in self._chosen or is_loopback(name):
            return True
        return self._allows_addresses and _is_address(name)


def _name_in(url: str) -> str:
    """The host of an address, in lower case and without port and brackets; empty if the address has none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    # urlsplit takes "[::1].evil.example" for "[::1]".
    return (parts.hostname or "").rstrip(".") if _AUTHORITY.fullmatch(parts.netloc) else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _shown(text: str) -> str:
    cut = text if len(text) <= _MAX_SHOWN_LENGTH else f"{text[:_MAX_SHOWN_LENGTH]}..."
    return ascii(cut)


def _refused(problem: str) -> StatusFailure:
    advice = "If that is intended, start the server with --allow-host NAME (allowed_hosts=[NAME])."
    message = f"forbidden: {problem}, which is not a name of this server's. {advice}"
    return StatusFailure(403, "Forbidden", message, details={})
