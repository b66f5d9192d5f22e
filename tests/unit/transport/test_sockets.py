"""Sockets: whether a peer that is silent is there, and does not read."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress

import pytest

from masthead._transport.sockets import SocketTracker, let_peer_pause, read_by_pausing_peer

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say it")


@pytest.fixture
def pair() -> tuple[socket.socket, socket.socket]:
    """Our side of a connection, and the peer's."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        ours = SocketTracker().open(found)
        with suppress(BlockingIOError):
            ours.connect(server.getsockname())
        peer, _ = server.accept()
    return ours, peer


def fill(ours: socket.socket) -> None:
    with suppress(BlockingIOError):
        while ours.send(bytes(2**16)):
            pass


@on_linux
def test_a_peer_pauses_if_bytes_wait_for_it(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, peer = pair
    with ours, peer:
        assert read_by_pausing_peer(ours) is None
        ours.send(b"few")
        assert peer.recv(10) == b"few"
        assert read_by_pausing_peer(ours) is None
        fill(ours)
        assert read_by_pausing_peer(ours)


@on_linux
def test_a_peer_that_is_closed_does_not_pause(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, peer = pair
    ours.close()
    peer.close()
    assert read_by_pausing_peer(ours) is None
    let_peer_pause(ours)


@on_linux
def test_unread_bytes_have_a_timeout_unless_the_peer_may_pause(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    ours, peer = pair
    with ours, peer:
        assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 25_000
        let_peer_pause(ours)
        assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 0
