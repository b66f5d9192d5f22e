"""``pods/portforward`` over HTTP: SPDY, SPDY in a WebSocket, and the channels of older WebSocket clients."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead_server.kubelet.error_responses import build_text_response, send_error
from masthead_server.kubelet.first_completed import until_first_ends
from masthead_server.kubelet.pod_observer import PodObserver, is_up
from masthead_server.kubelet.pods import check_assigned
from masthead_server.kubelet.portforward import PodPorts, PortForwardSession, Sandbox
from masthead_server.kubelet.portforward_channels import (
    CHANNEL_PROTOCOLS,
    ChannelSession,
    parse_ports,
)
from masthead_server.kubelet.spdy_upgrade import SPDY, negotiate, upgrade_headers
from masthead_server.kubelet.websocket_stream import WebSocketStream
from masthead_server.web.request_head import BadRequestError
from masthead_server.web.response import Response
from masthead_server.wire.failures import StatusFailure, bad_request
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.web.byte_stream import ClientStream
    from masthead_server.web.request import Request
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.request import ApiRequest
    from masthead_server.wire.request_info import RequestInfo

    ForwardSession: TypeAlias = PortForwardSession | ChannelSession
    Carrier: TypeAlias = ClientStream | WebSocketStream

__all__ = ["PortForwardConnecter", "subprotocols"]

_PROTOCOLS: Final = ("portforward.k8s.io",)
_TUNNEL: Final = f"{SPDY}+"
_SUFFIX: Final = ".k8s.io"


class PortForwardConnecter:
    """The portforward subresource.

    Args:
        runtime: The pods, and what listens on their ports.
    """

    def __init__(self, runtime: PodRuntime) -> None:
        self._runtime = runtime

    def connect(self, request: ApiRequest, info: RequestInfo) -> PortForwardHandler:
        """Check a request.

        Raises:
            StatusFailure: If there is no such pod, if it has no node, or if the request is no upgrade.
        """
        pod = self._runtime.find(info.namespace, info.name)
        check_assigned(pod)
        connection, upgrade = (request.headers.get(name, "").lower() for name in ("connection", "upgrade"))
        if "upgrade" not in connection or not upgrade:
            raise bad_request("Upgrade request required")
        return PortForwardHandler(self._runtime, pod, tuple(request.query.get("ports", ())))


class PortForwardHandler:
    """Forwards the connections of one client.

    Args:
        runtime: The pods, and what listens on their ports.
        pod: The pod.
        wanted: The ports in the query, which only clients that speak channels need.
    """

    def __init__(self, runtime: PodRuntime, pod: Plain, wanted: tuple[str, ...]) -> None:
        self._runtime = runtime
        self._pod = pod
        self._wanted = wanted
        meta = metadata(pod)
        self._namespace, self._name = text(meta, "namespace"), text(meta, "name")
        sandbox = hashlib.sha256(text(meta, "uid").encode()).hexdigest()
        where = Sandbox(self._namespace, self._name, sandbox)
        self._pod_ports = PodPorts(runtime.ports, where, lambda: is_up(runtime.load(self._namespace, self._name)))

    async def serve(self, incoming: Request, on_response: Callable[[int], None]) -> None:
        """Upgrade the connection, and forward until the client goes away or the pod ends.

        Args:
            incoming: The request.
            on_response: Called with the status code, right before the response begins.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        try:
            upgraded = await self._upgrade(incoming)
        except BadRequestError as error:  # the handshake of the WebSocket is invalid
            upgraded = build_text_response(error.code, error.text)
        if isinstance(upgraded, Response):
            await send_error(incoming, upgraded, on_response)
            return
        on_response(101)
        carrier, session = upgraded
        try:
            await self._run(session)
        finally:
            await carrier.close()

    async def _upgrade(self, incoming: Request) -> Response | tuple[Carrier, ForwardSession]:
        # Asked of the kubelet, which answers in plain text.
        if text(part(self._pod, "status"), "phase") != "Running":
            return build_text_response(500, f'pod not found ("{self._name}_{self._namespace}")')
        if not incoming.is_websocket:
            return await self._upgrade_to_spdy(incoming)
        protocols = subprotocols(incoming)
        # Newer clients tunnel SPDY; they may offer channels, too.
        tunnelled = [protocol for protocol in protocols if protocol.startswith(_TUNNEL) and protocol.endswith(_SUFFIX)]
        if tunnelled:
            return await self._upgrade_to_tunnel(incoming, tunnelled)
        return await self._upgrade_to_channels(incoming, protocols)

    async def _upgrade_to_spdy(self, incoming: Request) -> Response | tuple[ClientStream, PortForwardSession]:
        chosen = negotiate(incoming.headers.get_all("X-Stream-Protocol-Version"), _PROTOCOLS)
        if isinstance(chosen, Response):
            return chosen
        if SPDY.lower() not in incoming.headers.get("Upgrade").lower():
            return build_text_response(400, "unable to upgrade: missing upgrade headers in request")
        carrier = await incoming.switch(upgrade_headers(chosen))
        return carrier, PortForwardSession(carrier, self._pod_ports, self._runtime.cluster.clock)

    async def _upgrade_to_tunnel(
        self, incoming: Request, protocols: list[str]
    ) -> Response | tuple[WebSocketStream, PortForwardSession]:
        chosen = negotiate([protocol.removeprefix(_TUNNEL) for protocol in protocols], _PROTOCOLS)
        if isinstance(chosen, Response):
            return chosen
        carrier = await WebSocketStream.open(incoming, f"{_TUNNEL}{chosen}")
        return carrier, PortForwardSession(carrier, self._pod_ports, self._runtime.cluster.clock)

    async def _upgrade_to_channels(
        self, incoming: Request, protocols: list[str]
    ) -> Response | tuple[WebSocketStream, ChannelSession]:
        try:
            wanted = parse_ports(self._wanted)
        except StatusFailure as failure:
            return build_text_response(400, failure.message)
        # Subprotocols are optional for clients that speak channels.
        chosen = next((protocol for protocol in protocols or [""] if protocol in CHANNEL_PROTOCOLS), None)
        if chosen is None:
            return Response(403)
        carrier = await WebSocketStream.open(incoming, chosen)
        return carrier, ChannelSession(carrier, self._pod_ports, wanted)

    async def _run(self, session: ForwardSession) -> None:
        """Forward until the client goes away, or the pod ends.

        A restart of a container breaks the connections to what ran in it, and no more.
        """
        observer = PodObserver(self._runtime, self._pod, self._pod_ports.break_connections)
        with observer.observing():
            await until_first_ends(session.run(), observer.ended.wait())


def subprotocols(incoming: Request) -> list[str]:
    """Return the subprotocols that the client of a WebSocket offers, in its order."""
    lines = incoming.headers.get_all("Sec-WebSocket-Protocol")
    return [name for line in lines for field in line.split(",") if (name := field.strip())]
