"""Commands in containers, for clients that can only put their token among the protocols of a WebSocket."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from tests.server.kubelet.wires import POD, WebSocketWire, start_pod, websocket_headers

if TYPE_CHECKING:
    from tests.server.calls import Caller

    from masthead.server import ExecProcess, Server

EXEC = f"{POD}/exec?command=greet&stdout=1"


def test_a_token_among_the_protocols_authenticates_and_is_not_chosen(server: Server, caller: Caller) -> None:
    start_pod(server, caller)

    @server.kubelet.exec("web", command="greet")
    async def greet(process: ExecProcess) -> None:
        await process.stdout.write("hello")

    encoded = base64.urlsafe_b64encode(str(server.token).encode()).rstrip(b"=").decode()
    token = f"base64url.bearer.authorization.k8s.io.{encoded}"
    headers = {**websocket_headers(token, "v5.channel.k8s.io"), "Authorization": ""}

    with WebSocketWire(caller, None, EXEC, headers) as client:
        assert b"v5.channel.k8s.io" in client.head
        assert encoded.encode() not in client.head
        assert b"hello" in client.read_all()


def test_a_wrong_token_among_the_protocols_is_refused(server: Server, caller: Caller) -> None:
    start_pod(server, caller)
    headers = websocket_headers("base64url.bearer.authorization.k8s.io.AAAA", "v5.channel.k8s.io")

    assert caller.call("GET", EXEC, headers={**headers, "Authorization": ""}).failure[0] == 401
