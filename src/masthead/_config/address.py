"""URLs of servers and proxies: their parts, and removal of user and password."""

from __future__ import annotations

import ipaddress
import re
from typing import Final, NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit

from masthead._meta.secret import Secret

__all__ = [
    "Address",
    "as_ip",
    "is_loopback",
    "mask_password",
    "mask_token",
    "split_address",
    "with_scheme",
    "without_token",
    "without_userinfo",
]

_UNFIT: Final = re.compile(r"[\x00-\x20\x7f\\]")
"""Characters that are invalid in a URL. The standard library silently drops some of them."""
_HOST_AND_PORT: Final = re.compile(r"([\w.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?", re.ASCII)
_TOKEN_SEGMENT: Final = re.compile(r"/~[^/?#]+")
"""A path segment with a token, as in the addresses of the embedded server for Go's clients."""

_PASSWORD: Final = re.compile(r"(://[^/?#:@]*:)[^/?#]*@")


class Address(NamedTuple):
    """Scheme, host and port of a URL.

    Attributes:
        scheme: The scheme, in lower case.
        host: The host name or IP address, in lower case; an IPv6 address without its brackets.
        port: The port; None if not given.
    """

    scheme: str
    host: str
    port: int | None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" if self.port is None else f"{self.scheme}://{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether the host is this machine."""
        return is_loopback(self.host)


def split_address(url: str) -> Address:
    """Split a URL.

    Raises:
        ValueError: If the URL is invalid. The message does not repeat it, because it may contain a password.
    """
    parts, port = _split(url)
    if not parts.hostname:
        raise ValueError("has no host")
    return Address(parts.scheme.lower(), parts.hostname, port)


def _split(url: str) -> tuple[SplitResult, int | None]:
    if _UNFIT.search(url):
        raise ValueError("contains a space, a backslash or a control character")
    if "://" not in url:
        raise ValueError("has no scheme; write https:// before it")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError("has brackets that do not enclose an IPv6 address") from None
    # urlsplit does not check the port until it is read.
    try:
        return parts, parts.port
    except ValueError:
        raise ValueError("has a port that is not a number up to 65535") from None


def with_scheme(server: str, *, has_tls: bool) -> str:
    """Add the scheme to a server that is only a host, or a host and a port; anything else is returned unchanged.

    differs from client-go: there, a server on another machine gets ``http`` if nothing about TLS is configured.

    Args:
        server: The configured server.
        has_tls: Whether an authority or a client certificate is configured, or that none is verified.
    """
    if not (found := _HOST_AND_PORT.fullmatch(server)):
        return server
    if has_tls:
        return f"https://{server}"
    return f"http://{server}" if is_loopback(found[1].strip("[]")) else server


def without_userinfo(url: str) -> tuple[str, str, Secret]:
    """Remove user and password from a URL; return the URL, the user and the password.

    An invalid URL is returned unchanged.
    """
    try:
        parts, _ = _split(url)
    except ValueError:
        return url, "", Secret()
    # The last "@" ends the user info: a password may contain others.
    userinfo, has_userinfo, host = parts.netloc.rpartition("@")
    if not has_userinfo:
        return url, "", Secret()
    username, _, password = userinfo.partition(":")
    return parts._replace(netloc=host).geturl(), unquote(username), Secret(unquote(password))


def without_token(url: str, token: str) -> str:
    """Remove a token from the end of a URL, where the embedded server's kubeconfig has it for Go's clients.

    They send no token without TLS. We do, to a server on this machine, so that addresses in messages need not contain
    it.
    """
    return url.removesuffix(f"/~{quote(token, safe='')}") if token else url


def mask_token(url: str) -> str:
    """Mask tokens in the path of a URL, for reprs and messages."""
    return _TOKEN_SEGMENT.sub("/~***", url)


def mask_password(url: str) -> str:
    """Mask the password before the host of a URL."""
    return _PASSWORD.sub(r"\1***@", url)


def is_loopback(host: str) -> bool:
    """Whether a host name or IP address always denotes this machine."""
    number = as_ip(host)
    return number.is_loopback if number is not None else host.lower().rstrip(".") == "localhost"


def as_ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse an IP address; None for a host name. An IPv4-mapped IPv6 address becomes an IPv4 address."""
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return None
    # Only Python 3.13 and later treat mapped addresses as loopback.
    return getattr(number, "ipv4_mapped", None) or number
