"""Sockets in memory behave as the kernel's."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from contextlib import closing
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.webhook.serving import certificates

from masthead.testing._memory_network import MemoryNetwork, MemorySocket
from masthead.testing.virtual_time import VirtualLoop, in_virtual_time, now, process, run

if TYPE_CHECKING:
    from collections.abc import Callable

BUFFERED = 256 * 1024


def virtual_loop() -> VirtualLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop


def connect_in_memory() -> tuple[socket.socket, socket.socket]:
    async def connect() -> tuple[socket.socket, socket.socket]:
        network = MemoryNetwork()
        with socket.create_server(("127.0.0.1", 0)) as inner:
            listener = network.listen(inner)
            near = network.open(socket.AF_INET, listener.address)
            assert near is not None
            await network.connect(asyncio.get_running_loop(), near, listener.address)
            far, address = listener.accept()
            assert address == near.getsockname()
            return cast("socket.socket", near), cast("socket.socket", far)

    return asyncio.run(connect())


def connect_in_kernel() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
        near.setblocking(False)
        far.setblocking(False)
        return near, far


class Actions:
    """Performs actions on both ends of a connection, and records what each returns or raises."""

    def __init__(self, ends: tuple[socket.socket, socket.socket]) -> None:
        self._ends = ends
        self.outcomes: list[object] = []

    def perform(self, end: int, action: str) -> None:
        sock = self._ends[end]
        actions: dict[str, Callable[[], object]] = {
            "send": lambda: sock.send(b"hello"),
            "recv": lambda: sock.recv(3),
            "peek": lambda: sock.recv(1, socket.MSG_PEEK),
            "recv_into": lambda: sock.recv_into(bytearray(2)),
            "end": lambda: sock.shutdown(socket.SHUT_WR),
            "close": sock.close,
        }
        try:
            outcome = actions[action]()
        except OSError as error:
            outcome = errno.errorcode[error.errno or 0]
        self.outcomes.append((end, action, outcome))

    def close(self) -> None:
        for end in self._ends:
            end.close()


ACTIONS = st.sampled_from(["send", "recv", "recv", "peek", "recv_into", "end", "close"])
STEPS = st.lists(st.tuples(st.integers(0, 1), ACTIONS), max_size=12)


@settings(max_examples=150)
@given(STEPS)
def test_every_sequence_of_calls_has_the_outcomes_of_kernel_sockets(steps: list[tuple[int, str]]) -> None:
    with closing(Actions(connect_in_memory())) as memory, closing(Actions(connect_in_kernel())) as kernel:
        for end, action in steps:
            memory.perform(end, action)
            kernel.perform(end, action)
        assert memory.outcomes == kernel.outcomes


def test_a_full_buffer_holds_the_sender_back() -> None:
    near, far = connect_in_memory()
    assert near.send(bytes(2 * BUFFERED)) == BUFFERED
    with pytest.raises(BlockingIOError):
        near.send(b"more")
    assert len(far.recv(10)) == 10
    assert near.send(b"more than there is room") == 10


class Recorder(asyncio.Protocol):
    """Records the calls of a transport."""

    def __init__(self, *, keeps_open: bool = False) -> None:
        self.calls: list[str] = []
        self.data = b""
        self.transport: asyncio.Transport
        self._keeps_open = keeps_open
        self.is_lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.calls.append("made")

    def data_received(self, data: bytes) -> None:
        if self.calls[-1] != "data":
            self.calls.append("data")
        self.data += data

    def eof_received(self) -> bool:
        self.calls.append("eof")
        return self._keeps_open

    def pause_writing(self) -> None:
        self.calls.append("pause")

    def resume_writing(self) -> None:
        self.calls.append("resume")

    def connection_lost(self, exc: Exception | None) -> None:
        self.calls.append("lost" if exc is None else f"lost: {type(exc).__name__}")
        self.is_lost.set()


async def connect(
    server: Recorder, client: Recorder, tls: tuple[ssl.SSLContext, ssl.SSLContext] | None = None
) -> asyncio.Server:
    """Connect two protocols of this loop."""
    loop = virtual_loop()
    theirs, ours = tls or (None, None)
    listening = await loop.create_server(lambda: server, "127.0.0.1", 0, ssl=theirs)
    host, port = listening.sockets[0].getsockname()
    await loop.create_connection(lambda: client, host, port, ssl=ours, server_hostname="localhost" if ours else None)
    await loop.until_idle()
    assert isinstance(client.transport.get_extra_info("socket"), MemorySocket)
    return listening


@in_virtual_time
async def test_a_connection_carries_bytes_both_ways_and_ends_in_order() -> None:
    server, client = Recorder(), Recorder()
    async with await connect(server, client):
        client.transport.write(b"question")
        client.transport.writelines([b" and", b" more"])
        await virtual_loop().until_idle()
        server.transport.write(b"answer")
        server.transport.close()
        await client.is_lost.wait()
        await server.is_lost.wait()
    assert (server.calls, server.data) == (["made", "data", "lost"], b"question and more")
    assert (client.calls, client.data) == (["made", "data", "eof", "lost"], b"answer")
    assert now() == 0


@in_virtual_time
async def test_one_direction_can_end_before_the_other() -> None:
    server, client = Recorder(keeps_open=True), Recorder()
    async with await connect(server, client):
        client.transport.write(b"all")
        client.transport.write_eof()
        await virtual_loop().until_idle()
        assert server.calls == ["made", "data", "eof"]
        server.transport.write(b"late answer")
        server.transport.close()
        await client.is_lost.wait()
    assert client.data == b"late answer"


@in_virtual_time
async def test_an_aborted_connection_with_unread_bytes_is_reset() -> None:
    server, client = Recorder(), Recorder()
    async with await connect(server, client):
        server.transport.pause_reading()
        client.transport.write(b"unread")
        await virtual_loop().until_idle()
        server.transport.abort()
        await client.is_lost.wait()
    assert client.calls == ["made", "lost: ConnectionResetError"]


@in_virtual_time
async def test_a_slow_reader_holds_the_writer_back() -> None:
    server, client = Recorder(), Recorder()
    async with await connect(server, client):
        server.transport.pause_reading()
        client.transport.write(bytes(3 * BUFFERED))
        await asyncio.sleep(60)
        assert client.calls == ["made", "pause"]
        assert client.transport.get_write_buffer_size() == 2 * BUFFERED
        server.transport.resume_reading()
        await virtual_loop().until_idle()
        assert client.calls == ["made", "pause", "resume"]
        assert len(server.data) == 3 * BUFFERED
        client.transport.close()
        await server.is_lost.wait()


def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    from masthead._webhook.certificates import tls_context

    issued = certificates()
    return (
        tls_context(issued.certificate, issued.key),
        ssl.create_default_context(cadata=issued.bundle.decode()),
    )


@in_virtual_time
async def test_tls_runs_on_a_connection_in_memory() -> None:
    server, client = Recorder(), Recorder()
    async with await connect(server, client, contexts()):
        assert client.transport.get_extra_info("ssl_object") is not None
        client.transport.write(b"secret" * 100_000)
        await virtual_loop().until_idle()
        server.transport.close()
        await client.is_lost.wait()
    assert server.data == b"secret" * 100_000
    assert client.calls == ["made", "eof", "lost"]


@in_virtual_time
async def test_tls_can_start_on_an_open_connection() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readline() == b"STARTTLS\n"
        writer.write(b"go\n")
        await writer.start_tls(theirs)
        writer.write(await reader.readline())
        writer.close()

    theirs, ours = contexts()
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
        writer.write(b"STARTTLS\n")
        assert await reader.readline() == b"go\n"
        await writer.start_tls(ours, server_hostname="localhost")
        writer.write(b"hidden\n")
        assert await reader.readline() == b"hidden\n"
        writer.close()
        await writer.wait_closed()


@in_virtual_time
async def test_a_closed_listener_refuses_connections() -> None:
    server, client = Recorder(), Recorder()
    listening = await connect(server, client)
    address = listening.sockets[0].getsockname()
    listening.close()
    with pytest.raises(ConnectionRefusedError):
        await virtual_loop().create_connection(Recorder, *address)
    # The open connection stays.
    client.transport.write(b"still there")
    await virtual_loop().until_idle()
    assert server.data == b"still there"
    client.transport.close()
    await server.is_lost.wait()


@in_virtual_time
async def test_connections_wait_in_the_backlog_and_break_with_the_listener() -> None:
    loop = virtual_loop()
    listening = loop.adopt_listener(socket.create_server(("127.0.0.1", 0)))
    clients = [Recorder() for _ in range(130)]
    unconnected = iter(clients)
    connecting = [
        loop.create_task(loop.create_connection(lambda: next(unconnected), *listening.getsockname())) for _ in clients
    ]
    await asyncio.sleep(60)
    # Two more than the backlog holds.
    assert sum(task.done() for task in connecting) == 128
    listening.accept()[0].close()
    await loop.until_idle()
    assert sum(task.done() for task in connecting) == 129
    listening.close()
    outcomes = await asyncio.gather(*connecting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes if isinstance(outcome, Exception)] == [ConnectionRefusedError]
    for client in clients[:129]:
        await client.is_lost.wait()


@in_virtual_time
async def test_clients_of_other_threads_use_the_socket_of_the_kernel() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert not isinstance(writer.get_extra_info("socket"), MemorySocket)
        writer.write(await reader.readline())
        writer.close()

    def ask(address: tuple[str, int]) -> bytes:
        with socket.create_connection(address, timeout=30) as connection:
            connection.sendall(b"hello\n")
            return connection.recv(100)

    async with await asyncio.start_server(echo, "127.0.0.1", 0) as listening:
        assert await asyncio.to_thread(ask, listening.sockets[0].getsockname()) == b"hello\n"


@pytest.mark.parametrize("bind", ["0.0.0.0", "127.0.0.1", "::1", "::"])
def test_a_listener_is_found_at_each_of_its_addresses(bind: str) -> None:
    async def main() -> None:
        loop = virtual_loop()
        try:
            listening = await loop.create_server(Recorder, bind, 0)
        except OSError:
            pytest.skip("the machine has no IPv6")
        async with listening:
            client = Recorder()
            port = listening.sockets[0].getsockname()[1]
            await loop.create_connection(lambda: client, "::1" if ":" in bind else "127.0.0.1", port)
            assert isinstance(client.transport.get_extra_info("socket"), MemorySocket)
            client.transport.close()
            await client.is_lost.wait()

    run(main())


@in_virtual_time
async def test_a_frozen_process_receives_nothing_and_does_not_stop_time() -> None:
    received: list[tuple[bytes, float]] = []

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(3):
            await asyncio.sleep(1)
            writer.write(b"tick\n")
        writer.close()

    async def listen(port: int) -> None:
        process.set("it")
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while line := await reader.readline():
            received.append((line, now()))
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening, asyncio.TaskGroup() as group:
        group.create_task(listen(listening.sockets[0].getsockname()[1]))
        await asyncio.sleep(1.5)
        virtual_loop().freeze("it")
        await asyncio.sleep(98.5)
        assert received == [(b"tick\n", 1)]
        virtual_loop().thaw("it")
    assert received == [(b"tick\n", 1), (b"tick\n", 100), (b"tick\n", 100)]
