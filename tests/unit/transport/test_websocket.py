"""WebSockets: messages, limits, close codes, pings, flow control and cancellation."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.transport.servers import CertificateAuthority, receive, serving
from tests.unit.transport.test_proxies import HttpProxy
from tests.unit.transport.websocket_peer import PROTOCOL, Peer, frame, switching, websocket
from websockets.frames import Close, Opcode

from masthead._transport.contract import TransportRequest, UpgradedResponse
from masthead._transport.http import HttpTransport
from masthead._transport.websocket import MAX_MESSAGE, FrameLengths, Handshake
from masthead.errors import ClosedError, DeadlineError, ProtocolError
from masthead.testing.virtual_time import in_virtual_time, run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead._transport.websocket import WebSocket

CLOSE = frame(Close(1000, "").serialize(), Opcode.CLOSE)


async def until_gone(peer: Peer) -> None:
    """Read until the client has closed the connection."""
    while await peer.reader.read(2**16):
        pass


def sends(*parts: bytes) -> Callable[[Peer], Awaitable[None]]:
    async def script(peer: Peer) -> None:
        await peer.send(*parts)
        await until_gone(peer)

    return script


async def all_of(socket: WebSocket) -> list[bytes]:
    """Every message until the normal end."""
    found = []
    while (message := await socket.receive()) is not None:
        found.append(message)
    return found


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_split_of_the_bytes_gives_the_same_messages(data: st.DataObject) -> None:
    messages = data.draw(st.lists(st.binary(max_size=300), max_size=6))
    wire = bytearray()
    for message in messages:
        cut = data.draw(st.integers(0, len(message)))
        if data.draw(st.booleans()):
            wire += frame(message[:cut], fin=False)
            if data.draw(st.booleans()):
                wire += frame(b"", Opcode.PING)  # control frames may come between the fragments of a message
            wire += frame(message[cut:], Opcode.CONT)
        else:
            wire += frame(message)
    wire += CLOSE
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=8)))
    parts = [bytes(wire[start:end]) for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True)]

    async def main() -> None:
        async with websocket(sends(*parts)) as socket:
            assert await all_of(socket) == messages

    run(main())


async def test_messages_of_the_client_are_masked_and_whole() -> None:
    got: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def script(peer: Peer) -> None:
        got.set_result(bytes((await peer.receive()).data))
        await until_gone(peer)

    async with websocket(script) as socket:
        await socket.send(b"x" * 100_000)
        assert await got == b"x" * 100_000


async def test_a_head_and_the_first_frames_may_come_together() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await receive(reader)
        writer.write(switching(request.headers["sec-websocket-key"]) + b"early bytes")
        await reader.read()

    async with serving(handle) as server:
        transport = HttpTransport(server.url, tls=None)
        handshake = Handshake([PROTOCOL])
        response = await transport.send(
            TransportRequest("GET", "/", handshake.headers, read_timeout=60, is_upgrade=True)
        )
        assert isinstance(response, UpgradedResponse)
        received = b""
        while len(received) < len(b"early bytes"):
            received += await response.receive()
        assert received == b"early bytes"
        await transport.close()
        with pytest.raises(ClosedError):
            await response.receive()


async def test_a_ping_is_answered_with_its_contents() -> None:
    answered: asyncio.Future[tuple[Opcode, bytes]] = asyncio.get_running_loop().create_future()

    async def script(peer: Peer) -> None:
        await peer.send(frame(b"are you there", Opcode.PING))
        pong = await peer.receive()
        answered.set_result((pong.opcode, bytes(pong.data)))
        await peer.send(frame(b"message"))
        await until_gone(peer)

    async with websocket(script) as socket:
        assert await socket.receive() == b"message"
        assert await answered == (Opcode.PONG, b"are you there")


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        (frame(b"text", Opcode.TEXT), "text, where only bytes are allowed"),
        (frame(Close(1011, "the node is gone").serialize(), Opcode.CLOSE), r"code 1011: the node is gone"),
        (b"\xff" * 20, "broke the WebSocket protocol"),
        (frame(b"x", Opcode.CONT), "broke the WebSocket protocol"),
        (b"\x82\x7f" + (MAX_MESSAGE + 1).to_bytes(8, "big"), "a message of more than 16,777,216 bytes"),
    ],
)
async def test_a_peer_that_breaks_the_rules_is_an_error_that_says_which(sent: bytes, problem: str) -> None:
    async with websocket(sends(sent)) as socket:
        with pytest.raises(ProtocolError, match=problem):
            await socket.receive()


async def test_messages_before_an_error_are_received() -> None:
    async with websocket(sends(frame(b"one") + frame(b"two") + b"\xff" * 9)) as socket:
        assert [await socket.receive(), await socket.receive()] == [b"one", b"two"]
        with pytest.raises(ProtocolError):
            await socket.receive()


@pytest.mark.parametrize("sent", [b"", frame(b"x" * 100)[:50]])
async def test_a_connection_that_ends_without_a_close_was_lost(sent: bytes) -> None:
    async def script(peer: Peer) -> None:
        await peer.send(sent)

    async with websocket(script) as socket:
        with pytest.raises(ProtocolError, match="ended without a close"):
            await socket.receive()


async def test_after_a_normal_close_there_are_no_more_messages_and_nothing_can_be_sent() -> None:
    async with websocket(sends(frame(b"last") + CLOSE)) as socket:
        assert await all_of(socket) == [b"last"]
        assert await socket.receive() is None
        with pytest.raises(ProtocolError, match="has ended"):
            await socket.send(b"late")


@in_virtual_time
async def test_a_peer_that_does_not_even_answer_pings_is_dead() -> None:
    async with websocket(until_gone, read_timeout=60, ping_interval=15) as socket:
        with pytest.raises(DeadlineError, match="sent nothing for 60 s"):
            await socket.receive()


@in_virtual_time
async def test_a_peer_that_answers_pings_may_be_silent_for_ever() -> None:
    async def script(peer: Peer) -> None:
        for _ in range(100):
            ping = await peer.receive()
            assert ping.opcode is Opcode.PING
            await peer.send(frame(bytes(ping.data), Opcode.PONG))
        await peer.send(frame(b"at last"))
        await until_gone(peer)

    async with websocket(script, read_timeout=60, ping_interval=15) as socket:
        assert await socket.receive() == b"at last"


@in_virtual_time
async def test_sending_waits_while_the_peer_does_not_read_and_goes_on_when_it_does() -> None:
    go_on = asyncio.Event()
    sizes: list[int] = []

    async def script(peer: Peer) -> None:
        await go_on.wait()
        while True:
            sizes.append(len((await peer.receive()).data))

    async with websocket(script) as socket:

        async def send_all() -> None:
            for _ in range(400):
                await socket.send(b"x" * 2**16)

        sending = asyncio.get_running_loop().create_task(send_all())
        done, _ = await asyncio.wait([sending], timeout=0.05)
        assert not done
        go_on.set()
        await sending
        await socket.close()
    assert sum(sizes) >= 399 * 2**16


@in_virtual_time
async def test_what_is_not_received_is_not_read_from_the_network() -> None:
    written = 0
    stuck = asyncio.Event()

    async def script(peer: Peer) -> None:
        nonlocal written
        message = frame(b"x" * 2**16)
        while True:
            peer.writer.write(message)
            waiting = asyncio.get_running_loop().create_task(peer.writer.drain())
            if not (await asyncio.wait([waiting], timeout=0.1))[0]:
                stuck.set()
            await waiting
            written += len(message)

    async with websocket(script) as socket:
        await socket.receive()
        await stuck.wait()
        assert written < 2**25  # what the kernel buffers, and half a megabyte


async def test_a_cancelled_receive_loses_nothing() -> None:
    go_on = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.send(frame(b"whole")[:3])
        await go_on.wait()
        await peer.send(frame(b"whole")[3:], CLOSE)
        await until_gone(peer)

    async with websocket(script) as socket:
        receiving = asyncio.get_running_loop().create_task(socket.receive())
        await asyncio.sleep(0)
        receiving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await receiving
        go_on.set()
        assert await all_of(socket) == [b"whole"]


async def test_two_tasks_cannot_receive_at_once() -> None:
    async with websocket(until_gone) as socket:
        first = asyncio.get_running_loop().create_task(socket.receive())
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="one receiver"):
            await socket.receive()
        socket.abort()
        with pytest.raises(ClosedError):
            await first


async def test_closing_says_so_to_the_peer_and_ends_what_is_used_later() -> None:
    closed: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def script(peer: Peer) -> None:
        said = await peer.receive()
        closed.set_result(bytes(said.data))
        await peer.send(frame(b"on its way"), CLOSE)
        await until_gone(peer)

    async with websocket(script) as socket:
        await socket.close()
        await socket.close()
        assert await closed == Close(1000, "").serialize()
        for use in (socket.receive(), socket.send(b"x")):
            with pytest.raises(ClosedError):
                await use


@in_virtual_time
async def test_closing_does_not_wait_for_a_peer_that_is_dead() -> None:
    async with websocket(until_gone) as socket:
        began = asyncio.get_running_loop().time()
        await socket.close()
        assert asyncio.get_running_loop().time() - began <= 2.5


async def test_tls_carries_websockets() -> None:
    authority = CertificateAuthority()
    script, context = sends(frame(b"secret"), CLOSE), authority.server("127.0.0.1")
    async with websocket(script, context=context, tls=authority.client()) as socket:
        assert await all_of(socket) == [b"secret"]


async def test_plain_http_goes_through_a_tunnel_of_a_proxy_that_would_forward_it() -> None:
    proxy = HttpProxy()
    script = sends(frame(b"through"), CLOSE)
    async with serving(proxy.handle) as running, websocket(script, proxy_url=running.url) as socket:
        assert await all_of(socket) == [b"through"]
    assert [each.line.split()[0] for each in proxy.seen] == ["CONNECT"]


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        (b"Upgrade: h2c\r\n", "upgraded to 'h2c'"),
        (b"Upgrade: websocket\r\nSec-WebSocket-Accept: AAAA\r\n", "belongs to another request"),
    ],
)
async def test_an_answer_to_another_handshake_is_refused(head: bytes, problem: str) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n" + head + b"\r\n")
        await reader.read()

    async with serving(handle) as server:
        transport = HttpTransport(server.url, tls=None)
        handshake = Handshake([PROTOCOL])
        response = await transport.send(
            TransportRequest("GET", "/", handshake.headers, read_timeout=60, is_upgrade=True)
        )
        with pytest.raises(ProtocolError, match=problem):
            handshake.check(response)
        await transport.close()


async def test_a_subprotocol_that_was_not_offered_is_refused() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await receive(reader)
        writer.write(switching(request.headers["sec-websocket-key"], protocol="v9"))
        await reader.read()

    async with serving(handle) as server:
        transport = HttpTransport(server.url, tls=None)
        handshake = Handshake([PROTOCOL])
        response = await transport.send(
            TransportRequest("GET", "/", handshake.headers, read_timeout=60, is_upgrade=True)
        )
        with pytest.raises(ProtocolError, match="subprotocol 'v9'"):
            handshake.check(response)
        await transport.close()


async def test_an_upgrade_that_was_not_asked_for_is_still_refused() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        await reader.read()

    async with serving(handle) as server:
        transport = HttpTransport(server.url, tls=None)
        with pytest.raises(ProtocolError):
            await transport.send(TransportRequest("GET", "/", timeout=60))
        await transport.close()


async def test_a_task_that_only_sends_notices_that_the_connection_is_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def script(peer: Peer) -> None:
        await peer.receive()
        peer.writer.transport.abort()

    async def send_all(socket: WebSocket) -> None:
        for _ in range(10_000):
            await socket.send(b"x" * 2**16)

    async with websocket(script) as socket:
        with pytest.raises(ProtocolError):
            await send_all(socket)
    assert not caplog.records  # asyncio would warn of each write behind the end


@pytest.mark.slow
async def test_a_flood_of_tiny_frames_lets_other_tasks_run() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    flood = frame(b"") * 100_000
    async with websocket(sends(flood + CLOSE)) as socket, asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(count())
        received = len(await all_of(socket))
        counting.cancel()
    assert received == 100_000
    assert turns >= 150  # a slice has at most 512 frames, but for the first few


@given(st.lists(st.integers(0, 70_000), max_size=5), st.data())
def test_minimal_lengths_are_accepted_however_the_bytes_are_split(sizes: list[int], data: st.DataObject) -> None:
    wire = b"".join(frame(bytes(size)) for size in sizes)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=8)))
    lengths = FrameLengths()

    assert all(lengths.are_minimal(wire[start:end]) for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True))


@given(
    st.sampled_from([(b"\x7e", 2, 125), (b"\x7f", 8, 65_535)]).flatmap(
        lambda form: st.integers(0, form[2]).map(lambda size: form[0] + size.to_bytes(form[1]))
    ),
    st.lists(st.integers(0, 300), max_size=3),
    st.data(),
)
def test_lengths_that_are_not_minimal_are_found(head: bytes, before: list[int], data: st.DataObject) -> None:
    wire = b"".join(frame(bytes(size)) for size in before) + b"\x82" + head
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=8)))
    lengths = FrameLengths()
    found = [
        lengths.are_minimal(wire[start:end])
        for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True)
        if start < end
    ]

    assert found[-1] is False
    assert all(found[:-1])


@pytest.mark.parametrize("head", [b"\x82\x7e\x00\x01", b"\x82\x7f" + bytes(7) + b"\x01"])
async def test_a_length_longer_than_it_needs_to_be_breaks_the_protocol(head: bytes) -> None:
    async with websocket(sends(frame(b"first"), head + b"x", CLOSE)) as socket:
        with pytest.raises(ProtocolError, match="a length is longer than it needs to be"):
            await all_of(socket)
