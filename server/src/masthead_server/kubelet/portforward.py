"""``pods/portforward``: connections to the ports of a pod, many over one SPDY connection.

For each forwarded connection, a client opens two streams, an error stream and a data stream, which have the same
``requestID``. The error stream carries the reason of a failure.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from masthead._meta.quoting import quoted
from masthead_server.kubelet.ports import PortAddress
from masthead_server.kubelet.spdy import SpdyConnection
from masthead_server.web.byte_stream import TargetConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from masthead_server.clock import Clock, Timer
    from masthead_server.kubelet.ports import Ports
    from masthead_server.kubelet.spdy import SpdyStream
    from masthead_server.web.byte_stream import ByteStream

__all__ = ["ForwardedStream", "PodPorts", "PortForwardSession", "Sandbox", "forward"]

_PAIR_SECONDS: Final = 30.0
"""Time for the second stream of a pair to be opened, as of the kubelet."""
_TYPES: Final = frozenset({"error", "data"})


class ForwardedStream(Protocol):
    """A stream of a client, whatever carries it."""

    async def read(self) -> bytes | memoryview:
        """Read the next piece; empty when the client sends nothing more.

        Raises:
            ConnectionError: If the client has reset the stream, or has disconnected.
        """
        ...

    async def write(self, data: bytes | memoryview) -> None:
        """Send a piece; waits while the client reads too slowly.

        Raises:
            ConnectionError: If the stream is closed, or the client has disconnected.
        """
        ...

    async def end(self) -> None:
        """Send nothing more.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        ...

    async def reset(self) -> None:
        """End the stream in both directions.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        ...

    def discard(self) -> None:
        """Drop whatever the client sends."""
        ...


class Sandbox(NamedTuple):
    """A pod, and the name of its sandbox, which is what messages of the kubelet have of it."""

    namespace: str
    pod: str
    name: str


class PodPorts:
    """The ports of one pod, and how the kubelet speaks of them.

    Args:
        ports: What listens.
        sandbox: The pod.
        is_up: Tells whether anything runs in it.
    """

    def __init__(self, ports: Ports, sandbox: Sandbox, is_up: Callable[[], bool]) -> None:
        self._ports = ports
        self._sandbox = sandbox
        self._is_up = is_up
        self.connected: set[TargetConnection] = set()
        """The connections that are open."""

    def break_connections(self) -> None:
        """Break all connections, because what listened has ended."""
        for target in self.connected:
            target.fail()

    async def connect(self, port: int) -> TargetConnection:
        """Connect to what listens on a port.

        Raises:
            OSError: If nothing does.
        """
        listener = self._ports.find(PortAddress(self._sandbox.namespace, self._sandbox.pod, port))
        if listener is None or not self._is_up():
            raise ConnectionRefusedError("nothing listens on the port")
        return await listener.connect(TargetConnection)

    def refusal(self, port: int) -> str:
        """Return the message for a port on which nothing listens, in the words of kubelet and containerd."""
        namespace = f'"/var/run/netns/cni-{self._sandbox.name[:8]}"'
        dialled = f"failed to connect to localhost:{port} inside namespace {quoted(self._sandbox.name)}"
        refused = (
            f"IPv4: dial tcp4 127.0.0.1:{port}: connect: connection refused "
            f"IPv6 dial tcp6 [::1]:{port}: connect: connection refused "
        )
        return self.failure(
            port, f"failed to execute portforward in network namespace {namespace}: {dialled}, {refused}"
        )

    def failure(self, port: int, problem: str) -> str:
        """Return the message for a connection that failed."""
        return f"error forwarding port {port} to pod {self._sandbox.name}, uid : {problem}"


class _Pair:
    """The two streams of a forwarded connection, as far as they have been opened."""

    def __init__(self) -> None:
        self.streams: dict[str, SpdyStream] = {}
        self.timer: Timer | None = None


class PortForwardSession:
    """All forwarded connections of one client, over one SPDY connection.

    Args:
        carrier: What carries the bytes.
        ports: The pod's ports.
        clock: Times out a stream without its pair.
    """

    def __init__(self, carrier: ByteStream, ports: PodPorts, clock: Clock) -> None:
        self._connection = SpdyConnection(carrier, self._accept)
        self._ports = ports
        self._clock = clock
        self._pairs: dict[str, _Pair] = {}
        self._forwarding = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Forward until the client goes away."""
        try:
            async with self._forwarding:
                await self._connection.run()
                # The task group would wait for connections that only the client could end.
                for task in self._tasks:
                    task.cancel()
        finally:
            for pair in self._pairs.values():
                if pair.timer is not None:
                    pair.timer.cancel()

    def _accept(self, stream: SpdyStream) -> bool:
        """Take a stream that the client opens; those with invalid headers are reset."""
        headers = stream.headers
        kind, port = headers.get("streamtype", ""), headers.get("port", "")
        # Reset, and no message: which stream would carry it is unknown.
        if kind not in _TYPES or not _is_port(port):
            return False
        # Clients of long ago send no id: of theirs, the error stream comes right before the data stream.
        request_id = headers.get("requestid") or str(stream.stream_id - (2 if kind == "data" else 0))
        pair = self._pairs.get(request_id)
        if pair is None:
            pair = self._pairs[request_id] = _Pair()
            # A client that opens one stream of many pairs must not fill the table.
            pair.timer = self._clock.call_later(_PAIR_SECONDS, lambda: self._expire(request_id))
        if kind in pair.streams:
            self._say(pair, f"error processing stream for request {request_id}: {kind} stream already assigned")
            return False
        pair.streams[kind] = stream
        if len(pair.streams) == len(_TYPES):
            self._drop(request_id)
            self._start(forward(pair.streams["data"], pair.streams["error"], self._ports, int(port)))
        return True

    def _expire(self, request_id: str) -> None:
        pair = self._drop(request_id)
        self._say(pair, f"(request={request_id}) timed out waiting for streams")
        for stream in pair.streams.values():
            # What the client sends on it would fill the queue of the whole connection.
            stream.discard()

    def _drop(self, request_id: str) -> _Pair:
        pair = self._pairs.pop(request_id)
        if pair.timer is not None:
            pair.timer.cancel()
        return pair

    def _say(self, pair: _Pair, problem: str) -> None:
        """Write to the error stream, if there is one."""
        if (stream := pair.streams.get("error")) is not None:
            self._start(_write(stream, problem))

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = self._forwarding.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def forward(data: ForwardedStream, error: ForwardedStream, ports: PodPorts, port: int) -> None:
    """Forward one connection to its end; whatever goes wrong concerns this one only.

    Args:
        data: The stream of the connection's bytes.
        error: The stream for the reason of a failure.
        ports: The pod's ports.
        port: The port.
    """
    problem = ""
    try:
        target = await ports.connect(port)
    except OSError:
        problem = ports.refusal(port)
    else:
        ports.connected.add(target)
        try:
            await _copy(data, target)
            target.close()
        except _TargetError as broken:
            problem = ports.failure(port, str(broken))
        except ConnectionError:
            pass  # the client has reset the stream, or has disconnected
        finally:
            ports.connected.discard(target)
            target.release()
    # The reason before the reset: a client may close both streams then.
    with suppress(ConnectionError):
        if problem:
            await error.write(problem.encode())
            await data.reset()
        await error.end()


class _TargetError(Exception):
    """What listens on the port has broken the connection."""


async def _copy(data: ForwardedStream, target: TargetConnection) -> None:
    """Copy both ways, until both directions have ended.

    Raises:
        _TargetError: If the target breaks the connection.
        ConnectionError: If the client resets the stream, or has disconnected.
    """
    try:
        async with asyncio.TaskGroup() as both:
            both.create_task(_copy_up(data, target))
            both.create_task(_copy_down(target, data))
    except ExceptionGroup as errors:
        # Either direction may fail; the other one is cancelled with it.
        raise errors.exceptions[0] from None


async def _copy_up(data: ForwardedStream, target: TargetConnection) -> None:
    while piece := await data.read():
        try:
            await target.write(piece)
        except OSError:
            # It reads no more; what it still sends is for the other direction to find out.
            data.discard()
            return
    # Half-close: the target may answer once it has read everything.
    target.end()


async def _copy_down(target: TargetConnection, data: ForwardedStream) -> None:
    while piece := await _read(target):
        await data.write(piece)
    await data.end()


async def _read(target: TargetConnection) -> bytes | memoryview:
    try:
        return await target.read()
    except OSError as error:
        raise _TargetError(f"read: {(error.strerror or str(error)).lower()}") from None


async def _write(stream: ForwardedStream, problem: str) -> None:
    with suppress(ConnectionError):
        await stream.write(problem.encode())


def _is_port(text: str) -> bool:
    # The slice keeps `int` from a text of any length.
    return text.isascii() and text.isdecimal() and 0 < int(text[:6]) < 65536
