"""Pure functions that parse the head of an HTTP/1.x request and format a response."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, unquote

from masthead._config.address import is_loopback

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

__all__ = [
    "READ_METHODS",
    "EndpointRequest",
    "EndpointResponse",
    "RequestError",
    "encode_response",
    "parse_request",
    "text_response",
]

MAX_HEADERS: Final = 100
_MAX_TARGET: Final = 4096
_MAX_PARAMETERS: Final = 50
_MAX_LENGTH_DIGITS: Final = 18
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HOST: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9A-Za-z._-]+))(?::[0-9]*)?")
_VERSION: Final = re.compile(r"HTTP/1\.[01]")
READ_METHODS: Final = ("GET", "HEAD")
TEXT: Final = "text/plain; charset=utf-8"


class RequestError(Exception):
    """An invalid request. The response is an error, and the connection is closed.

    Attributes:
        status: The status code.
    """

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class EndpointRequest:
    """A request.

    Attributes:
        method: The method, such as ``GET``.
        path: The path, unescaped.
        query: The parameters with all their values.
        headers: The headers by lower-case name; repeated headers are joined by commas.
        keeps_alive: Whether the client may send another request on this connection.
        peer: The IP address of the client.
        body_length: The length of the body that follows.
        body: The body, once it is read.
    """

    method: str
    path: str
    query: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    headers: dict[str, str] = field(default_factory=dict[str, str])
    keeps_alive: bool = False
    peer: str = ""
    body_length: int = 0
    body: bytes = b""

    @property
    def is_from_loopback(self) -> bool:
        """Whether the client runs on this machine."""
        return is_loopback(self.peer)

    @property
    def names_loopback(self) -> bool:
        """Whether ``Host`` is a name of this machine, and not that of a web page that uses DNS rebinding."""
        return is_loopback(_host_name(self.headers.get("host", "")))


@dataclass(frozen=True, slots=True)
class EndpointResponse:
    """A response.

    Attributes:
        status: The status code.
        body: The body.
        content_type: Its type.
        headers: Further headers.
        stream: The pieces that are sent instead of a body, until it ends or the client leaves.
    """

    status: HTTPStatus
    body: bytes
    content_type: str = TEXT
    headers: tuple[tuple[str, str], ...] = ()
    stream: AsyncGenerator[bytes] | None = None


def text_response(text: str, status: HTTPStatus = HTTPStatus.OK) -> EndpointResponse:
    """Return a response of plain text."""
    # Lone surrogates in names or errors must not fail the response.
    return EndpointResponse(status, text.encode("utf-8", "backslashreplace"))


def parse_request(
    head: bytes, peer: str = "", *, methods: tuple[str, ...] = READ_METHODS, max_body: int = 0
) -> EndpointRequest:
    """Parse the head of a request: everything before the empty line.

    Args:
        head: The head.
        peer: The IP address of the client.
        methods: The served methods.
        max_body: The maximum number of bytes of a body; 0 to refuse bodies.

    Raises:
        RequestError: If it is not a served request of HTTP/1.0 or HTTP/1.1, or its body is refused.
    """
    request_line, *lines = head.decode("latin-1").split("\r\n")
    method, target, version = _parse_request_line(request_line)
    headers = _parse_headers(lines)
    if method not in methods:
        raise RequestError(HTTPStatus.METHOD_NOT_ALLOWED, f"only {' and '.join(methods)} are served here")
    length = _body_length(headers, max_body)
    if target.startswith("/"):
        path_and_query = target
    else:
        # Clients send the absolute form to proxies.
        scheme, _, rest = target.partition("://")
        if scheme.lower() not in {"http", "https"}:
            raise RequestError(HTTPStatus.BAD_REQUEST, "the request target must be a path")
        path_and_query = "/" + rest.partition("/")[2]
    # Clients should not send a fragment, but some do.
    path, _, query = path_and_query.partition("#")[0].partition("?")
    try:
        parameters = parse_qs(query, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS)
    except ValueError:
        raise RequestError(HTTPStatus.BAD_REQUEST, "the query has too many parameters") from None
    return EndpointRequest(method, unquote(path), parameters, headers, _keeps_alive(version, headers), peer, length)


def _body_length(headers: dict[str, str], max_body: int) -> int:
    """Return the length of the body.

    Raises:
        RequestError: If it is unknown or too large. An unread body would be parsed as the next request.
    """
    text = headers.get("content-length", "0")
    if max_body == 0 and ("transfer-encoding" in headers or text != "0"):
        raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "a request must not have a body here")
    if "transfer-encoding" in headers:
        raise RequestError(HTTPStatus.LENGTH_REQUIRED, "a request must have a Content-Length here")
    # Two lengths, which smuggle requests, are joined by a comma.
    if not text.isascii() or not text.isdigit() or len(text) > _MAX_LENGTH_DIGITS:
        raise RequestError(HTTPStatus.BAD_REQUEST, "the Content-Length is invalid")
    if int(text) > max_body:
        raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {max_body} bytes here")
    return int(text)


def _host_name(host: str) -> str:
    """Return the name in a Host header, without port and brackets; empty if the header is invalid."""
    found = _HOST.fullmatch(host)
    return "" if found is None else found[1] or found[2]


def _parse_request_line(line: str) -> tuple[str, str, str]:
    parts = line.split(" ")
    if len(parts) != 3 or not _TOKEN.fullmatch(parts[0]) or not parts[1]:
        raise RequestError(HTTPStatus.BAD_REQUEST, "this is not an HTTP request")
    method, target, version = parts
    if not _VERSION.fullmatch(version):
        raise RequestError(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "only HTTP/1.0 and HTTP/1.1 are served here")
    if len(target) > _MAX_TARGET:
        raise RequestError(HTTPStatus.REQUEST_URI_TOO_LONG, "the request target is too long")
    if not target.isascii() or not target.isprintable():
        raise RequestError(HTTPStatus.BAD_REQUEST, "the request target has invalid characters")
    return method, target, version


def _parse_headers(lines: list[str]) -> dict[str, str]:
    if len(lines) > MAX_HEADERS:
        raise RequestError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the request has too many headers")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        # HTTP/1.1 no longer allows a line with leading space, which would continue the previous header.
        if not colon or not _TOKEN.fullmatch(name) or "\n" in value or "\0" in value:
            raise RequestError(HTTPStatus.BAD_REQUEST, "the request has an invalid header")
        # Header names are case-insensitive, and repeated headers are a list.
        key = name.lower()
        headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
    return headers


def _keeps_alive(version: str, headers: dict[str, str]) -> bool:
    # HTTP/1.0 clients may ask for keep-alive, but probes and scrapers speak HTTP/1.1.
    wanted = {option.strip().lower() for option in headers.get("connection", "").split(",")}
    return "close" not in wanted and version == "HTTP/1.1"


def encode_response(response: EndpointResponse, *, has_body: bool, keeps_alive: bool) -> bytes:
    """Return the bytes of a response.

    Args:
        response: The response.
        has_body: False for the response to a HEAD request: the same headers without the body.
        keeps_alive: Whether the connection stays open.
    """
    status = response.status
    head = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {response.content_type}",
        # The end of the connection ends a stream: that needs no framing.
        *([] if response.stream is not None else [f"Content-Length: {len(response.body)}"]),
        # A browser must not render the names of objects as HTML.
        "X-Content-Type-Options: nosniff",
        "Cache-Control: no-store",
        *(f"{name}: {value}" for name, value in response.headers),
        *([] if keeps_alive else ["Connection: close"]),
        "\r\n",
    ]
    return "\r\n".join(head).encode("latin-1") + (response.body if has_body else b"")
