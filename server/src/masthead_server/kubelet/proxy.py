"""``pods/proxy``, ``services/proxy`` and ``nodes/proxy``: HTTP requests through the API server to a port."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.error_responses import build_status_response, send_error
from masthead_server.kubelet.proxy_rules import (
    ProxyPath,
    forwarded_headers,
    returned_headers,
    unavailable,
)
from masthead_server.kubelet.proxy_targets import ProxyTargets
from masthead_server.kubelet.proxy_upgrade import relay_upgrade
from masthead_server.verbs.routing import not_allowed
from masthead_server.web.byte_stream import TargetConnection
from masthead_server.web.client import MalformedResponseError, TruncatedResponseError, encode_request, exchange
from masthead_server.web.response import Response
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable

    from masthead_server.kubelet.ports import Ports, ProtocolT
    from masthead_server.kubelet.proxy_targets import ProxyTarget
    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.web.client import ClientResponse
    from masthead_server.web.request import Request
    from masthead_server.web.response import ResponseStream
    from masthead_server.wire.request import ApiRequest
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["ProxyConnecter"]

_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_REDIRECTED: Final = frozenset({"GET", "HEAD"})


class ProxyConnecter:
    """The proxy subresource.

    Args:
        runtime: The pods, and what listens on their ports.
    """

    def __init__(self, runtime: PodRuntime) -> None:
        self._targets = ProxyTargets(runtime.cluster, runtime.ports)
        self._ports = runtime.ports

    def connect(self, request: ApiRequest, info: RequestInfo) -> ProxyHandler:
        """Find out where a request is to go.

        Raises:
            StatusFailure: If there is no such object, or if the proxy leads nowhere.
        """
        if request.method not in _METHODS:
            raise not_allowed()
        target = self._targets.find(info)
        path = ProxyPath.of(request.path, is_namespaced=bool(info.namespace))
        return ProxyHandler(self._ports, target, path)


class ProxyHandler:
    """Relays one request and its response.

    Args:
        ports: What listens.
        target: Where to.
        path: The path.
    """

    def __init__(self, ports: Ports, target: ProxyTarget, path: ProxyPath) -> None:
        self._ports = ports
        self._target = target
        self._path = path

    async def serve(self, incoming: Request, on_response: Callable[[int], None]) -> None:
        """Relay the request, and then the response as it comes.

        Args:
            incoming: The request.
            on_response: Called with the status code, right before the response begins.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        try:
            if incoming.is_upgrade:
                await relay_upgrade(incoming, self._dial, self._path, on_response)
            elif not self._path.rest and incoming.method in _REDIRECTED:
                await send_error(incoming, self._redirect(incoming), on_response)
            else:
                await self._relay(incoming, on_response)
        except StatusFailure as failure:
            await send_error(incoming, build_status_response(failure), on_response)

    def _redirect(self, incoming: Request) -> Response:
        """Lead a client that asks for no path to the root, so that relative links of pages work."""
        location = f"{self._path.prefix}/{f'?{incoming.query}' if incoming.query else ''}"
        return Response(301, headers=[("Cache-Control", "no-cache, private"), ("Location", location)])

    async def _dial(self, make_protocol: Callable[[], ProtocolT]) -> ProtocolT:
        """Connect to the target.

        Raises:
            StatusFailure: If nothing accepts the connection.
        """
        target = self._target
        listener = self._ports.find(target.address)
        # A listener outlives its pod; a stopped pod refuses connections.
        if listener is None or not target.is_up:
            raise _refuse_connection(target)
        try:
            return await listener.connect(make_protocol, _trusting() if target.scheme == "https" else None)
        except ssl.SSLError:
            raise _unreachable("http: server gave HTTP response to HTTPS client") from None
        except OSError:
            raise _refuse_connection(target) from None

    async def _relay(self, incoming: Request, on_response: Callable[[int], None]) -> None:
        connection = await self._dial(TargetConnection)
        body = self._frame_body(incoming)
        try:
            async with exchange(connection, incoming.method, self._request_head(incoming), body) as answer:
                # Passed on, so that the client sees the progress of a download, and a cut.
                length = answer.headers.get("Content-Length")
                host = incoming.headers.get("Host")
                headers = returned_headers(answer.headers.pairs, self._path, self._target.host, host)
                on_response(answer.code)
                response = await incoming.stream(
                    answer.code,
                    [pair for pair in headers if pair[0].lower() != "content-length"],
                    length=int(length) if length else None,
                    reason=answer.reason,
                )
                await self._copy(incoming, answer, response)
        except TruncatedResponseError:
            raise _unreachable("EOF") from None
        except MalformedResponseError as error:
            raise _unreachable(
                f"net/http: HTTP/1.x transport connection broken: malformed HTTP response: {error}"
            ) from None

    def _request_head(self, incoming: Request) -> bytes:
        headers = forwarded_headers(incoming.headers.pairs, self._path, incoming.remote)
        names = {name.lower() for name, _ in headers}
        # HTTP/1.0 clients need not send one.
        if "host" not in names:
            headers.append(("Host", self._target.host))
        # The framing of the client's body is hop-by-hop: it is framed again for the target.
        if incoming.head.has_body and "content-length" not in names:
            headers.append(("Transfer-Encoding", "chunked"))
        target = f"{self._path.target}?{incoming.query}" if incoming.query else self._path.target
        return encode_request(incoming.method, target, [*headers, ("Connection", "close")])

    def _frame_body(self, incoming: Request) -> AsyncIterable[bytes] | None:
        if not incoming.head.has_body:
            return None
        return incoming.body if incoming.head.content_length is not None else _split_into_chunks(incoming.body)

    async def _copy(self, incoming: Request, answer: ClientResponse, response: ResponseStream) -> None:
        try:
            async for piece in answer:
                await response.write(piece)
        except (MalformedResponseError, TruncatedResponseError):
            # The client has to know that the body is not whole.
            incoming.connection.close()
            return
        await response.finish()


async def _split_into_chunks(body: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    async for piece in body:
        yield b"%x\r\n%b\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"


def _trusting() -> ssl.SSLContext:
    """A context that trusts any certificate, as kube-apiserver does on behalf of its clients."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _refuse_connection(target: ProxyTarget) -> StatusFailure:
    return _unreachable(f"dial tcp {target.host}: connect: connection refused")


def _unreachable(problem: str) -> StatusFailure:
    return unavailable(f"error trying to reach service: {problem}")
