"""Requests through a proxy that switch protocols, such as WebSockets of a pod."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from aiohttp.web_response import StreamResponse

from masthead._meta.quoting import quoted
from masthead_server.kubelet.proxy_rules import forwarded_headers
from masthead_server.kubelet.racing import until_first_ends
from masthead_server.kubelet.target_connection import TargetConnection
from masthead_server.kubelet.upgraded import RawCarrier
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from aiohttp.web_request import BaseRequest

    from masthead_server.kubelet.proxy_rules import ProxyPath

__all__ = ["relay_upgrade"]

_MOST_HEAD: Final = 64 * 1024
_END: Final = b"\r\n\r\n"
_SWITCHING: Final = 101
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
    incoming: BaseRequest,
    dial: Callable[[Callable[[], TargetConnection]], Awaitable[TargetConnection]],
    path: ProxyPath,
    on_response: Callable[[int], None],
) -> StreamResponse:
    """Ask the target to switch protocols; if it does, copy bytes both ways until either side has ended.

    Args:
        incoming: The request.
        dial: Connects to the target.
        path: The path.
        on_response: Called with the status code, right before the response begins.

    Raises:
        StatusFailure: If the target does not respond as it should.
        ConnectionError: If the client is gone.
    """
    target = await dial(TargetConnection)
    try:
        head = await _ask(target, _request_head(incoming, path))
        if head.code != _SWITCHING and head.code not in _FAILURES:
            raise StatusFailure(500, "", f"invalid upgrade response: status code {head.code}")
        on_response(head.code)
        if head.code != _SWITCHING:
            return await _pass_on(incoming, target, head)
        carrier = await RawCarrier.open(
            incoming, [header for header in head.headers if header[0].lower() != "connection"]
        )
        if head.rest:
            await carrier.send(head.rest)
        await _copy_both_ways(carrier, target)
        return carrier.response
    finally:
        target.release()


def _request_head(incoming: BaseRequest, path: ProxyPath) -> bytes:
    query = incoming.rel_url.raw_query_string
    lines = [f"{incoming.method} {path.target}{f'?{query}' if query else ''} HTTP/1.1"]
    headers = forwarded_headers(incoming.headers.items(), path, incoming.remote or "", is_upgrade=True)
    lines += [f"{name}: {value}" for name, value in headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")


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
            if not piece or len(received) > _MOST_HEAD:
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


async def _pass_on(incoming: BaseRequest, target: TargetConnection, head: _Head) -> StreamResponse:
    """Pass on what a target says that does not switch protocols, until it ends."""
    response = StreamResponse(status=head.code, reason=head.reason)
    length = _UNTIL_THE_END
    for name, value in head.headers:
        if name.lower() == "content-length" and value.isdecimal():
            length = int(value)
        if name.lower() not in {"connection", "transfer-encoding"}:
            response.headers.add(name, value)
    response.force_close()
    await response.prepare(incoming)
    piece: bytes | memoryview = head.rest or await target.read()
    while piece and length > 0:
        await response.write(piece[:length])
        length -= len(piece)
        piece = await target.read() if length > 0 else b""
    await response.write_eof()
    return response


async def _copy_both_ways(carrier: RawCarrier, target: TargetConnection) -> None:
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
