"""Clients of streams, on plain sockets: WebSocket messages, SPDY, and SPDY in a WebSocket."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, Self

from masthead._spdy.events import StreamData, StreamEnded, StreamReset
from masthead._spdy.session import SpdySession

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterable, Mapping

    from tests.server.calls import Caller

    from masthead.server import Server

POD = "/api/v1/namespaces/default/pods/web"
TUNNEL = "SPDY/3.1+portforward.k8s.io"
_KEY = "dGhlIHNhbXBsZSBub25jZQ=="


def start_pod(server: Server, caller: Caller, name: str = "web", **labels: str) -> None:
    """Create a pod with the port 8080, called ``http``, and start it."""
    container = {"name": "main", "image": "web", "ports": [{"name": "http", "containerPort": 8080}]}
    pod = {"metadata": {"name": name, "labels": labels}, "spec": {"containers": [container]}}
    created = caller.call("POST", "/api/v1/namespaces/default/pods", pod)
    assert created.code == 201, created.body
    server.kubelet.start(name)


def websocket_headers(*protocols: str) -> dict[str, str]:
    """The headers of a WebSocket's handshake."""
    offered = {"Sec-WebSocket-Protocol": ", ".join(protocols)} if protocols else {}
    return {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": _KEY,
        **offered,
    }


def spdy_headers(*versions: str) -> dict[str, str]:
    """The headers of an upgrade to SPDY."""
    offered = {"X-Stream-Protocol-Version": ", ".join(versions)} if versions else {}
    return {"Connection": "Upgrade", "Upgrade": "SPDY/3.1", **offered}


class Upgraded:
    """A connection that has switched protocols.

    Attributes:
        head: The head of the response.
    """

    def __init__(
        self, caller: Caller, token: str | None, path: str, headers: Mapping[str, str], method: str = "GET"
    ) -> None:
        self.socket: socket.socket = caller.socket()
        self._file = self.socket.makefile("rb")
        sent = {"Host": "localhost", "Authorization": f"Bearer {token}", **headers}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items()), "", ""]
        self.socket.sendall("\r\n".join(lines).encode())
        self.head = b"".join(iter(self._file.readline, b"\r\n"))
        assert self.head.startswith(b"HTTP/1.1 101 "), self.head

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()
        self.socket.close()

    def read(self, size: int) -> bytes:
        """Read so many bytes; fewer if the connection ends before."""
        return self._file.read(size)

    def read_all(self) -> bytes:
        """Read to the end of the connection."""
        return self._file.read()


class WebSocketWire(Upgraded):
    """Messages over a WebSocket."""

    def send(self, payload: bytes, opcode: int = 2) -> None:
        """Send one message."""
        size = len(payload)
        if size < 126:
            length = bytes((0x80 | size,))
        else:
            length = b"\xfe" + struct.pack(">H", size) if size < 2**16 else b"\xff" + struct.pack(">Q", size)
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        self.socket.sendall(bytes((0x80 | opcode,)) + length + mask + masked)

    def receive(self) -> tuple[int, bytes] | None:
        """Receive the opcode and the payload of the next frame; None at the end of the connection."""
        head = self.read(2)
        if len(head) < 2:
            return None
        size = head[1]
        if size >= 126:
            size = int.from_bytes(self.read(2 if size == 126 else 8))
        return head[0] & 0xF, self.read(size)


class SpdyWire:
    """A client of SPDY streams over some connection."""

    def __init__(self, connection: Upgraded) -> None:
        self.session = SpdySession(is_client=True)
        self.received: dict[int, bytes] = {}
        self.ended: set[int] = set()
        self.reset: set[int] = set()
        self.is_over = False
        self._connection = connection

    def open(self, headers: Mapping[str, str], *, fin: bool = False) -> int:
        """Open a stream."""
        stream = self.session.open_stream(headers, fin=fin)
        self.received[stream] = b""
        self.flush()
        return stream

    def send(self, stream: int, data: bytes = b"", *, fin: bool = False) -> None:
        """Send bytes of a stream, and perhaps its end."""
        self.session.send_data(stream, data, fin=fin)
        self.flush()

    def flush(self) -> None:
        """Send what the session has to send."""
        data = self.session.data_to_send()
        if isinstance(self._connection, WebSocketWire):
            self._connection.send(data)
        else:
            self._connection.socket.sendall(data)

    def read_to_end(self, *streams: int) -> None:
        """Receive until these streams have ended or were reset, or the connection has ended."""
        while not self.is_over and not self.ended.union(self.reset).issuperset(streams):
            self.step()

    def read_until(self, stream: int, size: int) -> bytes:
        """Receive until a stream has so many bytes, or the connection has ended; returns all it has."""
        while not self.is_over and len(self.received[stream]) < size:
            self.step()
        return self.received[stream]

    def step(self) -> None:
        """Receive something."""
        for event in self.session.receive(self._receive()):
            match event:
                case StreamData(stream_id=stream, data=data):
                    self.received[stream] += data
                case StreamEnded(stream_id=stream):
                    self.ended.add(stream)
                case StreamReset(stream_id=stream):
                    self.reset.add(stream)
                case _:
                    pass

    def _receive(self) -> bytes:
        if isinstance(self._connection, WebSocketWire):
            frame = self._connection.receive()
            self.is_over = frame is None or frame[0] == 8
            return frame[1] if frame is not None and frame[0] == 2 else b""
        data = self._connection.socket.recv(65536)
        self.is_over = not data
        return data


class ForwardWire(SpdyWire):
    """A client of port-forward."""

    def forward(self, port: int | str, request: str = "0") -> tuple[int, int]:
        """Open the error stream and the data stream of a connection; returns both."""
        headers = {"port": str(port), "requestID": request}
        error = self.open({**headers, "streamType": "error"}, fin=True)
        return error, self.open({**headers, "streamType": "data"})

    def exchange(self, port: int, data: bytes, request: str = "0") -> bytes:
        """Send all of a connection, and return all that comes back."""
        error, stream = self.forward(port, request)
        self.send(stream, data, fin=True)
        self.read_to_end(error, stream)
        assert not self.received[error], self.received[error]
        return self.received[stream]


def connect_forward(caller: Caller, server: Server, carrier: str) -> tuple[Upgraded, ForwardWire]:
    """Open a port-forward to the pod; the carrier is ``tunnel`` or ``spdy``."""
    path = f"{POD}/portforward"
    connection: Upgraded
    if carrier == "tunnel":
        connection = WebSocketWire(caller, server.token, path, websocket_headers(TUNNEL))
    else:
        connection = Upgraded(caller, server.token, path, spdy_headers("portforward.k8s.io"), "POST")
    return connection, ForwardWire(connection)


def lines_of(head: bytes) -> Iterable[str]:
    """The lines of a head."""
    return head.decode().splitlines()
