"""HTTP/1.1 with next to nothing around it, so that a load generator costs little beside what it loads.

One connection, one request at a time, blocking. It knows what the servers under test send, and no more: a length or
chunks, no redirects, no compression.
"""

from __future__ import annotations

import dataclasses
import socket
import ssl
from typing import TYPE_CHECKING, BinaryIO, Final, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE: Final = 60.0
"""Seconds without a byte after which a server counts as hung."""


class RefusedError(Exception):
    """The server answered with a status that the load does not expect."""


@dataclasses.dataclass(frozen=True)
class Head:
    """The beginning of an answer.

    Attributes:
        status: HTTP's.
        length: Of the body, in bytes; None if it comes in chunks.
    """

    status: int
    length: int | None


@dataclasses.dataclass(frozen=True)
class Address:
    """Where a server listens, and what to show to be let in.

    Attributes:
        url: Its beginning.
        token: For the Authorization header; empty where everybody is let in.
    """

    url: str
    token: str = ""

    def request(self, method: str, path: str, body: bytes = b"", media: str = "application/json") -> bytes:
        """Write a request, ready to be sent, with a body of a media type."""
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: {urlsplit(self.url).netloc}",
            f"Content-Length: {len(body)}",
            f"Content-Type: {media}",
            "Accept: application/json",
            "User-Agent: benchmark/1",
        ]
        if self.token:
            lines.append(f"Authorization: Bearer {self.token}")
        return "\r\n".join([*lines, "", ""]).encode() + body


class Connection:
    """A connection that is kept alive; close it in the end, or use it in a ``with`` statement."""

    def __init__(self, address: Address) -> None:
        parts = urlsplit(address.url)
        self._socket = socket.create_connection((parts.hostname or "", parts.port or 0), _PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if parts.scheme == "https":
            self._socket = _trusting().wrap_socket(self._socket)
        self._stream = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the socket."""
        self._stream.close()
        self._socket.close()

    def send(self, request: bytes) -> bytes:
        """Send a request and return the answer's body.

        Raises:
            RefusedError: The answer is no success.
        """
        self._socket.sendall(request)
        head = read_head(self._stream)
        body = read_body(self._stream, head)
        _check(head, request, body)
        return body

    def lines(self, request: bytes) -> Iterator[bytes]:
        """Send a request whose answer is a stream; its lines, as they come. Returns once the answer has begun.

        Raises:
            RefusedError: The answer is no success.
        """
        self._socket.sendall(request)
        head = read_head(self._stream)
        if head.length is not None:
            _check(head, request, read_body(self._stream, head))
        return lines_of(chunks_of(self._stream))


def read_head(stream: BinaryIO) -> Head:
    """Read an answer up to its body.

    Raises:
        EOFError: The stream ends before.
    """
    status = _line(stream).split(b" ", 2)[1]
    length: int | None = None
    while (line := _line(stream)) != b"\r\n":
        if line[:15].lower() == b"content-length:":
            length = int(line[15:])
    return Head(int(status), length)


def read_body(stream: BinaryIO, head: Head) -> bytes:
    """Read the body that belongs to a head.

    Raises:
        EOFError: The stream ends before.
    """
    if head.length is None:
        return b"".join(chunks_of(stream))
    return _exactly(stream, head.length)


def chunks_of(stream: BinaryIO) -> Iterator[bytes]:
    """Read a body that comes in chunks.

    Raises:
        EOFError: The stream ends before the last chunk.
    """
    while size := int(_line(stream), 16):
        yield _exactly(stream, size)
        _line(stream)
    _line(stream)


def lines_of(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Cut chunks into lines, wherever the chunks' borders lie; what has no end is no line."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole


def _line(stream: BinaryIO) -> bytes:
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError("the server closed the connection in the middle of an answer")
    return line


def _exactly(stream: BinaryIO, size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise EOFError("the server closed the connection in the middle of an answer")
    return found


def _check(head: Head, request: bytes, body: bytes) -> None:
    if not 200 <= head.status < 300:
        line = request.partition(b" HTTP/1.1")[0].decode()
        raise RefusedError(f"{line} was answered {head.status}: {body[:500].decode(errors='replace')}")


def _trusting() -> ssl.SSLContext:
    """Trusts anybody: the benchmark itself started the server, on loopback."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
