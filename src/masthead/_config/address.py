"""Addresses of servers and proxies: their parts, and what of them may be shown."""

from __future__ import annotations

import ipaddress
import re
from typing import Final, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from masthead._meta.secret import Secret

__all__ = ["Address", "as_ip", "is_loopback", "split_address", "without_userinfo"]

_UNFIT: Final = re.compile(r"[\x00-\x20\x7f\\]")
"""What no address holds. The standard library drops some of these without a word."""


class Address(NamedTuple):
    """The parts of an address.

    Attributes:
        scheme: In small letters.
        host: Name or number, in small letters, an IPv6 number without its brackets.
        port: None where none is given.
    """

    scheme: str
    host: str
    port: int | None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" if self.port is None else f"{self.scheme}://{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this machine."""
        return is_loopback(self.host)


def split_address(url: str) -> Address:
    """Take an address apart.

    Raises:
        ValueError: If it is none. The message says what is missing, and never repeats the address: it may hold a
            password where nobody expects one.
    """
    parts, port = _split(url)
    if not parts.hostname:
        raise ValueError("names no host")
    return Address(parts.scheme.lower(), parts.hostname, port)


def _split(url: str) -> tuple[SplitResult, int | None]:
    if _UNFIT.search(url):
        raise ValueError("holds a space, a backslash or a control character")
    if "://" not in url:
        raise ValueError("has no scheme; write https:// before it")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError("has brackets without an IPv6 address in them") from None
    try:
        return parts, parts.port
    except ValueError:
        raise ValueError("has a port that is no number up to 65535") from None


def without_userinfo(url: str) -> tuple[str, str, Secret]:
    """Take user name and password out of an address; returns the rest, the name and the password.

    What is not an address at all is returned as it is.
    """
    try:
        parts, _ = _split(url)
    except ValueError:
        return url, "", Secret()
    userinfo, has_userinfo, host = parts.netloc.rpartition("@")
    if not has_userinfo:
        return url, "", Secret()
    username, _, password = userinfo.partition(":")
    return parts._replace(netloc=host).geturl(), unquote(username), Secret(unquote(password))


def is_loopback(host: str) -> bool:
    """Tell whether a host's name or number always means this machine."""
    number = as_ip(host)
    return number.is_loopback if number is not None else host.lower().rstrip(".") == "localhost"


def as_ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """A host's number, or None for a name; an IPv4 number in IPv6's clothes is the IPv4 number."""
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return None
    # Python 3.13 sees through these by itself, and older ones do not.
    return getattr(number, "ipv4_mapped", None) or number
