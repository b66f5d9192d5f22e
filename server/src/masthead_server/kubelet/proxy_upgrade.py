"""Requests through a proxy that switch protocols, such as WebSockets of a pod."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._meta.quoting import quoted
from masthead_server.kubelet.first_completed import until_first_ends
from masthead_server.kubelet.proxy_rules import forwarded_headers
from masthead_server.web.byte_stream import TargetConnection
from masthead_server.web.client import encode_request
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead_server.kubelet.proxy_rules import ProxyPath
    from masthead_server.web.byte_stream import ClientStream
    from masthead_server.web.request import Request

__all__ = ["relay_upgrade"]

_MAX_HEAD: Final = 64 * 1024
_END: Final = b"\r\n\r\n"
_SWITCHING: Final = 101
_FRAMING: Final = frozenset({"connection", "content-length", "transfer-encoding"})
_FAILURES: Final = range(400, 1000)
_UNTIL_THE_END: Final = 2**62
"""The length of a body that ends with its connection."""


class _Head(NamedTuple):
    """The head of a target's response, and the bytes that came with it."""

    code: int
    reason: str
    headers: list[tuple[str, str]]
    rest: bytes


async def relay_upgrade(
    incoming: Request,
    dial: Callable[[Callable[[], TargetConnection]], Awaitable[TargetConnection]],
    path: ProxyPath,
    on_response: Callable[[int], None],
) -> None:
    """Ask the target to switch protocols; if it does, copy bytes both ways until either side has ended.

    Args:
        incoming: The request.
        dial: Connects to the target.
        path: The path.
        on_response: Called with the status code, right before the response begins.

    Raises:
        StatusFailure: If the target does not respond as it should.
        ConnectionError: If the client has disconnected.
    """
    target = await dial(TargetConnection)
    try:
        head = await _ask(target, _request_head(incoming, path))
        # A success that does not switch is a misunderstanding.
        if head.code != _SWITCHING and head.code not in _FAILURES:
            raise StatusFailure(500, "", f"invalid upgrade response: status code {head.code}")
        on_response(head.code)
        if head.code != _SWITCHING:
            await _pass_on(incoming, target, head)
            return
        carrier = await incoming.switch([header for header in head.headers if header[0].lower() != "connection"])
        # The target may speak first, in the packet of its response.
        if head.rest:
            await carrier.send(head.rest)
        await _copy_both_ways(carrier, target)
    finally:
        target.release()


def _request_head(incoming: Request, path: ProxyPath) -> bytes:
    target = f"{path.target}?{incoming.query}" if incoming.query else path.target
    headers = forwarded_headers(incoming.headers.pairs, path, incoming.remote, is_upgrade=True)
    return encode_request(incoming.method, target, headers)


async def _ask(target: TargetConnection, request: bytes) -> _Head:
    """Send a request, and read the head of the response.

    Raises:
        StatusFailure: If there is no valid one.
    """
    received = b""
    try:
        await target.write(request)
        while _END not in received:
            piece = await target.read()
            # A target that sends no end of its head must not fill the memory.
            if not piece or len(received) > _MAX_HEAD:
                raise StatusFailure(500, "", "unexpected EOF")
            received += piece
    except OSError:
        raise StatusFailure(500, "", "unexpected EOF") from None
    head, _, rest = received.partition(_END)
    first, *lines = head.decode("utf-8", "surrogateescape").split("\r\n")
    version, code, reason, *_ = *first.split(" ", 2), "", ""
    if not version.startswith("HTTP/1.") or not code.isdecimal() or len(code) != len("200"):
        raise StatusFailure(500, "", f"malformed HTTP response {quoted(first)}")
    pairs = [line.partition(":") for line in lines]
    return _Head(int(code), reason, [(name.strip(), value.strip()) for name, _, value in pairs], rest)


async def _pass_on(incoming: Request, target: TargetConnection, head: _Head) -> None:
    """Pass on the response of a target that does not switch protocols."""
    lengths = [value for name, value in head.headers if name.lower() == "content-length" and value.isdecimal()]
    length = int(lengths[0]) if lengths else None
    headers = [pair for pair in head.headers if pair[0].lower() not in _FRAMING]
    # The end of the body may be the end of the connection.
    incoming.close_after_response()
    response = await incoming.stream(head.code, headers, length=length, reason=head.reason)
    left = _UNTIL_THE_END if length is None else length
    piece: bytes | memoryview = head.rest or await target.read()
    while piece and left > 0:
        await response.write(piece[:left])
        left -= len(piece)
        piece = await target.read() if left > 0 else b""
    await response.finish()


async def _copy_both_ways(carrier: ClientStream, target: TargetConnection) -> None:
    """Copy until either side has ended, as kube-apiserver does."""

    async def up() -> None:
        while piece := await carrier.receive():
            await target.write(piece)

    async def down() -> None:
        while piece := await target.read():
            await carrier.send(bytes(piece))

    with suppress(OSError):  # either side may break the connection
        await until_first_ends(up(), down())
    await carrier.close()
