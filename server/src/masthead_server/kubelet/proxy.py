"""``pods/proxy``, ``services/proxy`` and ``nodes/proxy``: HTTP requests through the API server to what listens on a port."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

import aiohttp
from aiohttp.web_response import Response, StreamResponse
from yarl import URL

from masthead_server.kubelet.proxy_rules import (
    ProxyPath,
    forwarded_headers,
    returned_headers,
    unavailable,
)
from masthead_server.kubelet.proxy_targets import ProxyTargets
from masthead_server.kubelet.proxy_upgrade import relay_upgrade
from masthead_server.kubelet.refusal import refusal, send
from masthead_server.kubelet.upgraded import is_upgrade
from masthead_server.verbs.paths import not_allowed
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from aiohttp.client_proto import ResponseHandler
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.tracing import Trace
    from aiohttp.web_request import BaseRequest

    from masthead_server.kubelet.ports import Ports, ProtocolT
    from masthead_server.kubelet.proxy_targets import ProxyTarget
    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.wire.request import ApiRequest
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["ProxyConnecter"]

_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_REDIRECTED: Final = frozenset({"GET", "HEAD"})
_OWN_HEADERS: Final = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
"""Headers that aiohttp would send by itself."""
_MOST_HEADERS: Final = 64 * 1024


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

    async def serve(self, incoming: BaseRequest, on_response: Callable[[int], None]) -> StreamResponse:
        """Relay the request, and then the response as it comes.

        Args:
            incoming: The request.
            on_response: Called with the status code, right before the response begins.

        Raises:
            ConnectionError: If the client is gone.
        """
        try:
            if is_upgrade(incoming):
                return await relay_upgrade(incoming, self._dial, self._path, on_response)
            if not self._path.rest and incoming.method in _REDIRECTED:
                return await send(incoming, self._redirect(incoming), on_response)
            return await self._relay(incoming, on_response)
        except StatusFailure as failure:
            return await send(incoming, refusal(failure), on_response)

    def _redirect(self, incoming: BaseRequest) -> Response:
        """Lead a client that asks for no path to the root, so that relative links of pages work."""
        query = incoming.rel_url.raw_query_string
        response = Response(status=301)
        response.headers["Cache-Control"] = "no-cache, private"
        response.headers["Location"] = f"{self._path.prefix}/{f'?{query}' if query else ''}"
        return response

    async def _dial(self, make_protocol: Callable[[], ProtocolT]) -> ProtocolT:
        """Connect to the target.

        Raises:
            StatusFailure: If nothing accepts the connection.
        """
        target = self._target
        listener = self._ports.find(target.address)
        if listener is None or not target.is_up:
            raise _refused(target)
        try:
            return await listener.connect(make_protocol, _trusting() if target.scheme == "https" else None)
        except ssl.SSLError:
            raise _unreachable("http: server gave HTTP response to HTTPS client") from None
        except OSError:
            raise _refused(target) from None

    async def _relay(self, incoming: BaseRequest, on_response: Callable[[int], None]) -> StreamResponse:
        async with (
            aiohttp.ClientSession(
                connector=_TargetConnector(self._dial),
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=_OWN_HEADERS,
                timeout=aiohttp.ClientTimeout(total=None),
                max_field_size=_MOST_HEADERS,
                max_line_size=_MOST_HEADERS,
            ) as session,
            await self._request(incoming, session) as answer,
        ):
            response = StreamResponse(status=answer.status, reason=answer.reason)
            for name, value in returned_headers(answer.headers.items(), self._path, self._target.host, incoming.host):
                response.headers.add(name, value)
            on_response(answer.status)
            await response.prepare(incoming)
            await self._copy(incoming, answer, response)
            return response

    async def _request(self, incoming: BaseRequest, session: aiohttp.ClientSession) -> aiohttp.ClientResponse:
        if incoming.headers.get("Expect", "").lower() == "100-continue":
            await incoming.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            incoming.writer.output_size = 0
        client = incoming.remote or ""
        query = incoming.rel_url.raw_query_string
        path = f"{self._path.target}?{query}" if query else self._path.target
        # The scheme is for aiohttp only: what speaks TLS is the connection.
        url = URL(f"http://target{path}", encoded=True)
        try:
            return await session.request(
                incoming.method,
                url,
                headers=forwarded_headers(incoming.headers.items(), self._path, client),
                data=incoming.content if incoming.body_exists else None,
                allow_redirects=False,
            )
        except aiohttp.ServerDisconnectedError:
            raise _unreachable("EOF") from None
        except aiohttp.ClientResponseError as error:
            raise _unreachable(
                f"net/http: HTTP/1.x transport connection broken: malformed HTTP response: {error.message}"
            ) from None
        except aiohttp.ClientError as error:
            raise _unreachable(str(error)) from None

    async def _copy(self, incoming: BaseRequest, answer: aiohttp.ClientResponse, response: StreamResponse) -> None:
        try:
            async for piece in answer.content.iter_any():
                await response.write(piece)
        except aiohttp.ClientPayloadError:
            # The client has to know that the body is not whole.
            if incoming.transport is not None:
                incoming.transport.close()
            return
        await response.write_eof()


class _TargetConnector(aiohttp.BaseConnector):
    """Connects aiohttp to what listens on the port of a pod, whatever the URL."""

    def __init__(self, dial: Callable[[Callable[[], ResponseHandler]], Awaitable[ResponseHandler]]) -> None:
        super().__init__(force_close=True)
        self._dial = dial

    async def _create_connection(
        self,
        req: ClientRequest,  # noqa: ARG002 - the signature is aiohttp's
        traces: list[Trace],  # noqa: ARG002
        timeout: aiohttp.ClientTimeout,  # noqa: ARG002, ASYNC109
    ) -> ResponseHandler:
        return await self._dial(self._factory)


def _trusting() -> ssl.SSLContext:
    """A context that trusts any certificate, as kube-apiserver does on behalf of its clients."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _refused(target: ProxyTarget) -> StatusFailure:
    return _unreachable(f"dial tcp {target.host}: connect: connection refused")


def _unreachable(problem: str) -> StatusFailure:
    return unavailable(f"error trying to reach service: {problem}")
