"""The head of a request: which heads are refused, and how long the body behind one is.

llhttp refuses malformed heads: bare line feeds, folded lines, control characters, spaces before a colon, and a
Content-Length that is no number, repeated, or combined with a Transfer-Encoding. This module decides the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead_server.web.headers import Headers

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["BadRequestError", "RequestHead", "check_head", "split_target"]

_VERSIONS: Final = frozenset({"1.0", "1.1"})
_SINGLE: Final = frozenset({
    "authorization", "content-length", "content-location", "content-range", "content-type", "etag", "host",
    "max-forwards", "server", "transfer-encoding", "user-agent",
})  # fmt: skip
"""Headers that may occur once: two servers in a row could disagree about which one counts."""


class BadRequestError(Exception):
    """A request that no handler sees.

    Args:
        code: The status code of the response.
        text: Its body.
    """

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a valid request.

    Attributes:
        method: ``GET`` and so on.
        target: Path and query, or a whole URL, as received.
        version: ``1.0`` or ``1.1``.
        headers: The headers.
        keep_alive: Whether the client may send another request on the connection.
        is_upgrade: Whether the client asks for another protocol.
        content_length: Bytes of the body; None if it is chunked.
    """

    method: str
    target: str
    version: str
    headers: Headers
    keep_alive: bool
    is_upgrade: bool
    content_length: int | None

    @property
    def has_body(self) -> bool:
        """Whether a body follows, even an empty one in chunks."""
        return self.content_length != 0


def check_head(
    method: str,
    target: bytes,
    version: str,
    fields: Iterable[tuple[bytes, bytes]],
    *,
    keep_alive: bool,
    is_upgrade: bool,
) -> RequestHead:
    """Check a head that llhttp has accepted.

    Args:
        method: The method.
        target: What the client asks for.
        version: The version of HTTP.
        fields: The headers.
        keep_alive: Whether llhttp would go on after this request.
        is_upgrade: Whether llhttp expects another protocol behind this request.

    Raises:
        BadRequestError: If the request is refused.
    """
    if version not in _VERSIONS:
        raise BadRequestError(505, "HTTP Version Not Supported: unsupported protocol version")
    if method == "CONNECT":
        # Go's server has no tunnels either; llhttp would take all further bytes for the tunnel's.
        raise BadRequestError(405, "Method Not Allowed")
    # Bytes that are not UTF-8 become lone surrogates, so that they can be sent on as they came.
    headers = Headers(
        [(name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape")) for name, value in fields]
    )
    for name in headers.find_repeated():
        if name in _SINGLE:
            raise BadRequestError(400, f"Bad Request: duplicate {name} header")
    if version == "1.1" and "host" not in headers:
        raise BadRequestError(400, "Bad Request: missing required Host header")
    codings, length = headers.get_all("transfer-encoding"), headers.get_all("content-length")
    content_length = int(length[0]) if length else 0
    if codings:
        if version == "1.0":
            # A proxy of HTTP/1.0 would not know where the body ends.
            raise BadRequestError(400, "Bad Request: chunks need HTTP/1.1")
        if codings[0].strip().lower() != "chunked":
            raise BadRequestError(501, "Not Implemented: unsupported transfer encoding")
        if length or is_upgrade:
            raise BadRequestError(400, "Bad Request: the length of the body is ambiguous")
    return RequestHead(
        method,
        target.decode("utf-8", "surrogateescape"),
        version,
        headers,
        keep_alive,
        is_upgrade,
        None if codings else content_length,
    )


def split_target(target: str) -> tuple[str, str]:
    """Return the path and the query of a target, percent-encoded as they were sent.

    Args:
        target: A path with its query, a whole URL as proxies get it, or ``*``.
    """
    if not target.startswith("/") and "://" in target:
        behind = target.partition("://")[2].partition("#")[0]
        authority_end = min((at for at in map(behind.find, "/?") if at >= 0), default=len(behind))
        target = behind[authority_end:]
        target = target if target.startswith("/") else f"/{target}"
    path, _, query = target.partition("#")[0].partition("?")
    return path, query
