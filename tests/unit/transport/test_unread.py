"""Bytes that have arrived but were not read yet are neither lost nor misattributed."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest
from tests.unit.transport.servers import OK, CertificateAuthority, http_response

from masthead._meta.secret import SecretValue
from masthead._transport.connection import Connection
from masthead._transport.contract import TransportRequest
from masthead._transport.failures import TransportFault
from masthead._transport.http import HttpTransport
from masthead._transport.pool import ConnectionPool
from masthead.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from masthead._transport.incoming_response import IncomingResponse

GET = TransportRequest("GET", "/")
UNTIL_CLOSE = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority()


@contextmanager
def threaded(handle: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server in a thread, which runs while the client's loop is blocked: one connection after the other."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    accepted, _ = listening.accept()
                    with accepted, suppress(OSError):
                        handle(accepted)

        serving = threading.Thread(target=serve)
        serving.start()
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            serving.join()


def send_close_notify(secured: ssl.SSLSocket) -> None:
    """Send close_notify without waiting for the peer's."""
    secured.setblocking(False)
    with suppress(ssl.SSLWantReadError):
        secured.unwrap()


LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
with suppress(ImportError):
    import uvloop

    LOOPS["uvloop"] = uvloop.new_event_loop


@pytest.mark.parametrize("make_loop", LOOPS.values(), ids=LOOPS.keys())
def test_a_response_before_an_immediate_close_is_read_to_the_end(
    authority: CertificateAuthority, make_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    """More than fits in one read waits inside TLS when the end of the connection comes."""
    context, body = authority.server(), b"x" * 300_000

    def handle(accepted: socket.socket) -> None:
        with context.wrap_socket(accepted, server_side=True) as secured:
            secured.recv(2**16)
            secured.sendall(UNTIL_CLOSE + body)
            send_close_notify(secured)

    async def fetch(place: str) -> list[int]:
        transport = HttpTransport(f"https://{place}", tls=authority.client())
        lengths = [len(await (await transport.send(GET)).read()) for _ in range(5)]
        await transport.close()
        return lengths

    with threaded(handle) as place, asyncio.Runner(loop_factory=make_loop) as runner:
        assert runner.run(fetch(place)) == [len(body)] * 5


@pytest.mark.parametrize(
    "last_words",
    [b"", b"junk", http_response(b"not yours"), b"HTTP/1.1 408 Request Timeout\r\n\r\n"],
    ids=["nothing", "junk", "a response", "a refusal"],
)
async def test_a_connection_that_ended_before_the_loop_could_see_it_is_not_used(last_words: bytes) -> None:
    responded, ended = threading.Event(), threading.Event()

    def handle(accepted: socket.socket) -> None:
        accepted.recv(2**16)
        accepted.sendall(OK)
        if ended.is_set():
            return
        responded.wait()
        accepted.sendall(last_words)
        accepted.close()
        ended.set()

    with threaded(handle) as place:
        transport = HttpTransport(f"http://{place}", tls=None)
        await (await transport.send(GET)).read()
        responded.set()
        ended.wait()  # the loop is held up here, and does not look at its sockets

        assert await (await transport.send(TransportRequest("POST", "/", body=b"{}"))).read() == b"ok"
        await transport.close()


async def test_a_close_without_eof_does_not_complete_a_body() -> None:
    loop = asyncio.get_running_loop()
    for is_announced, fault in ((True, None), (False, TransportFault.CUT_SHORT)):
        line = Line(loop)
        response = line.send(GET)
        line.receive(UNTIL_CLOSE + b"so far")
        if is_announced:
            line.connection.eof_received()
        line.connection.connection_lost(None)

        assert (response.fault, response.is_complete, response.take()) == (fault, is_announced, b"so far")


async def test_a_blocked_loop_does_not_trigger_the_read_timeout() -> None:
    """The timer was set before the last byte arrived; when it fires at last, the next bytes wait to be read."""
    clock = Clock()
    line = Line(clock)
    response = line.send(TransportRequest("GET", "/", read_timeout=10.0))
    clock.now = 5.0
    line.receive(UNTIL_CLOSE)
    clock.now = 30.0  # something else took all the time between 10 and 30
    clock.ring()
    assert response.fault is None

    line.receive(b"x")  # the loop reads before it looks at the clock
    clock.ring()
    assert (response.fault, clock.due) == (None, 40.0)

    clock.now = 40.0
    clock.ring()
    assert response.fault is TransportFault.READ_TIMEOUT


async def test_a_deadline_applies_even_if_the_loop_was_blocked() -> None:
    clock = Clock()
    line = Line(clock)
    response = line.send(TransportRequest("GET", "/", read_timeout=10.0), deadline=12.0)
    clock.now = 5.0
    line.receive(UNTIL_CLOSE)
    clock.now = 30.0
    clock.ring()
    assert response.fault is None

    clock.ring()
    assert response.fault is TransportFault.LATE


async def test_a_truncated_body_is_an_error_for_its_reader(authority: CertificateAuthority) -> None:
    context = authority.server()

    def handle(accepted: socket.socket) -> None:
        with context.wrap_socket(accepted, server_side=True) as secured:
            secured.recv(2**16)
            secured.sendall(http_response(b"x" * 300_000)[:-1])
            send_close_notify(secured)

    with threaded(handle) as place:
        transport = HttpTransport(f"https://{place}", tls=authority.client())
        response = await transport.send(GET)
        with pytest.raises(ProtocolError, match="cut short"):
            await response.read()
        await transport.close()


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time stands still, and whose single timer is fired by a test."""

    def __init__(self) -> None:
        self.now = 0.0
        self.due = 0.0
        super().__init__()
        self._alarm: Callable[..., object] | None = None
        self.close()

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[..., object], *args: object, **_: object) -> Handle:  # type: ignore[override]
        assert not args
        self.due, self._alarm = when, callback
        return Handle()

    def ring(self) -> None:
        assert self._alarm is not None
        self._alarm()


class Handle:
    """A timer handle; setting another timer replaces it."""

    def cancel(self) -> None:
        pass


class Silent(asyncio.Transport):
    """Discards what is written, and closes silently."""

    def write(self, data: object) -> None:
        pass

    def abort(self) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0


class Line:
    """A connection, and its other end in the hands of a test."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.connection = Connection(loop, ConnectionPool(loop, 0), None, 30.0)
        self.connection.connection_made(Silent())

    def send(self, request: TransportRequest, deadline: float = float("inf")) -> IncomingResponse:
        return self.connection.send(SecretValue(b""), request, deadline)

    def receive(self, data: bytes) -> None:
        self.connection.get_buffer(-1)[: len(data)] = data
        self.connection.buffer_updated(len(data))
