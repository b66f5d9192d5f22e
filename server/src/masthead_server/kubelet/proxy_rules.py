"""The changes of kube-apiserver's proxy to requests and responses: names, paths, headers, redirects."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit

from masthead._meta.quoting import quoted
from masthead_server.wire.failures import StatusFailure, bad_request
from masthead_server.wire.request import unescape

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "ProxyName",
    "ProxyPath",
    "forwarded_headers",
    "returned_headers",
    "rewritten_location",
    "unavailable",
]

_SCHEMES: Final = frozenset({"", "http", "https"})
_UNESCAPED: Final = "$&+,/:;=@~"
"""Characters that Go's URLs do not escape in a path."""
_HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_OF_THE_SERVER: Final = frozenset({"authorization", "expect"})
"""Headers for the API server itself: pods must not see credentials."""


class ProxyName(NamedTuple):
    """The name in the path of a proxy: ``web``, ``web:8080`` or ``https:web:8443``."""

    scheme: str
    name: str
    port: str
    """A number or a name; empty for the default."""

    @classmethod
    def of(cls, text: str, kind: str) -> ProxyName:
        """Split a name.

        Args:
            text: The name.
            kind: ``pod``, ``service`` or ``node``, for the message.

        Raises:
            StatusFailure: If it is malformed.
        """
        parts = text.split(":")
        if len(parts) > 3:
            raise bad_request(f"invalid {kind} request {quoted(text)}")
        scheme = parts[0] if len(parts) == 3 else ""
        name = parts[1] if len(parts) == 3 else parts[0]
        port = parts[-1] if len(parts) > 1 else ""
        if not name or scheme not in _SCHEMES:
            raise bad_request(f"invalid {kind} request {quoted(text)}")
        return cls(scheme, name, port)


class ProxyPath(NamedTuple):
    """A path in two parts."""

    prefix: str
    """Up to ``/proxy``, decoded."""
    rest: str
    """What the target is asked for, decoded; empty if the path ends with ``/proxy``."""

    @classmethod
    def of(cls, path: str, *, is_namespaced: bool) -> ProxyPath:
        """Split the percent-encoded path of a request, and clean what the target gets of it."""
        segments = unescape(path).split("/")
        prefix_length = 8 if is_namespaced else 6  # /api/v1[/namespaces/NAMESPACE]/RESOURCE/NAME/proxy
        prefix, rest = "/".join(segments[:prefix_length]), "/".join(segments[prefix_length:])
        if len(segments) <= prefix_length:
            return cls(prefix, "")
        # ".." must not lead out of the proxied path.
        cleaned = posixpath.normpath(f"/{rest}")
        is_folder = rest.endswith("/") and cleaned != "/"
        # normpath keeps two leading slashes.
        return cls(prefix, f"/{cleaned.lstrip('/')}{'/' if is_folder else ''}")

    @property
    def target(self) -> str:
        """The path that the target gets, percent-encoded."""
        return quote(self.rest, safe=_UNESCAPED) or "/"

    @property
    def forwarded_uri(self) -> str:
        """The path that the client asked for, for the target."""
        return f"{self.prefix}{self.target}"


def forwarded_headers(
    headers: Iterable[tuple[str, str]], path: ProxyPath, client: str, *, is_upgrade: bool = False
) -> list[tuple[str, str]]:
    """Return the headers that the target gets.

    Args:
        headers: The client's.
        path: The path.
        client: The client's address; empty if it is unknown.
        is_upgrade: Whether it is to switch protocols, of which two of the headers speak.
    """
    headers = list(headers)
    dropped = _parse_connection_options(headers) | _HOP_BY_HOP | _OF_THE_SERVER
    if is_upgrade:
        dropped -= {"connection", "upgrade"}
    # A chain of proxies adds to the header.
    before = [value for name, value in headers if name.lower() == "x-forwarded-for"]
    own = {"x-forwarded-for", "x-forwarded-uri"}
    kept = [
        (name, value)
        for name, value in headers
        if name.lower() not in dropped | own and not name.lower().startswith("impersonate-")
    ]
    if client:
        kept.append(("X-Forwarded-For", ", ".join([*before, client])))
    if not is_upgrade:
        kept.append(("X-Forwarded-Uri", path.forwarded_uri))
    return kept


def returned_headers(
    headers: Iterable[tuple[str, str]], path: ProxyPath, backend: str, host: str
) -> list[tuple[str, str]]:
    """Return the headers that the client gets.

    Args:
        headers: The target's.
        path: The path.
        backend: The target's host and port.
        host: The client's Host header.
    """
    headers = list(headers)
    dropped = _parse_connection_options(headers) | _HOP_BY_HOP
    # kube-apiserver has set this before it asks the target, whose own value is added.
    kept = [("Cache-Control", "no-cache, private")]
    for name, value in headers:
        if name.lower() == "location":
            kept.append((name, rewritten_location(value, path.prefix, backend, host)))
        elif name.lower() not in dropped:
            kept.append((name, value))
    return kept


def rewritten_location(location: str, prefix: str, backend: str, host: str) -> str:
    """Lead a redirect through the proxy again, unless it leads to another host or is relative.

    Args:
        location: The target's Location header.
        prefix: The path of the proxy.
        backend: The target's host and port.
        host: The client's Host header.
    """
    try:
        parts = urlsplit(location)
    except ValueError:
        return location
    if (parts.netloc and parts.netloc not in {backend, host}) or not parts.path.startswith("/"):
        return location
    if parts.netloc != host:
        parts = parts._replace(scheme="", netloc="")
    if not parts.path.startswith(prefix):
        parts = parts._replace(path=f"{prefix}{parts.path}")
    return urlunsplit(parts)


def unavailable(problem: str) -> StatusFailure:
    """A target cannot be reached."""
    return StatusFailure(503, "ServiceUnavailable", problem)


def _parse_connection_options(headers: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The headers that concern one connection only, because its Connection header names them."""
    return frozenset(
        field.strip().lower() for name, value in headers if name.lower() == "connection" for field in value.split(",")
    )
