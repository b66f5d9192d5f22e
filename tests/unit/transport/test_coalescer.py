"""Reads of a busy stream are gathered by the kernel; a quiet stream, and a short response, are not delayed."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, cast

import pytest
from tests.unit.transport.servers import chunk, receive, serving

from masthead._transport import coalescer
from masthead._transport.coalescer import ReadCoalescer, can_coalesce
from masthead._transport.contract import TransportRequest
from masthead._transport.http import HttpTransport

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SMALL = 9_000
WINDOW = 0.002
MARK = 2**16


class Timer:
    """A timer of the fake loop."""

    def __init__(self, due: float, callback: Callable[[], object]) -> None:
        self.due = due
        self.callback = callback
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class FakeLoop:
    """A loop whose clock a test moves, and a socket that notes its low-water mark."""

    def __init__(self) -> None:
        self.now = 100.0
        self.mark = 1
        self.timers: list[Timer] = []
        self.coalescer = ReadCoalescer(cast("asyncio.AbstractEventLoop", self), self)

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], object]) -> Timer:
        self.timers.append(Timer(self.now + delay, callback))
        return self.timers[-1]

    def setsockopt(self, level: int, option: int, value: int, /) -> None:
        assert (level, option) == (socket.SOL_SOCKET, socket.SO_RCVLOWAT)
        self.mark = value

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        due = [timer for timer in self.timers if timer.due <= self.now]
        self.timers = [timer for timer in self.timers if timer.due > self.now]
        for each in due:
            if not each.is_cancelled:
                each.callback()

    def read(self, nbytes: int = SMALL, *, every: float = 0.0002, times: int = 1) -> None:
        for _ in range(times):
            self.pass_time(every)
            self.coalescer.add(nbytes, self.now)


@pytest.fixture
def loop() -> FakeLoop:
    return FakeLoop()


def test_a_busy_stream_is_gathered(loop: FakeLoop) -> None:
    loop.read(times=60)

    assert loop.coalescer.is_gathering
    assert loop.mark == MARK


def test_gathering_continues_while_bytes_arrive(loop: FakeLoop) -> None:
    loop.read(times=60)
    loop.read(MARK, every=0.0013, times=20)

    assert loop.mark == MARK


def test_the_rest_of_a_burst_waits_for_one_window_at_most(loop: FakeLoop) -> None:
    loop.read(times=60)
    loop.read(MARK, every=0.001)
    loop.pass_time(WINDOW)
    loop.pass_time(WINDOW)

    assert not loop.coalescer.is_gathering
    assert loop.mark == 1


def test_a_slower_stream_that_is_still_busy_is_gathered_again_at_once(loop: FakeLoop) -> None:
    loop.read(times=60)
    loop.pass_time(WINDOW)
    loop.pass_time(WINDOW)
    assert loop.mark == 1

    loop.read(40_000)

    assert loop.mark == MARK


def test_after_a_pause_a_single_event_is_not_delayed(loop: FakeLoop) -> None:
    loop.read(times=60)
    loop.pass_time(WINDOW)
    loop.pass_time(WINDOW)
    loop.read(every=1.0, times=50)

    assert loop.mark == 1


@pytest.mark.parametrize("every", [0.003, 0.01, 1.0])
def test_a_steady_stream_that_is_not_busy_is_never_gathered(loop: FakeLoop, every: float) -> None:
    loop.read(every=every, times=1000)

    assert loop.mark == 1


def test_a_short_response_is_never_gathered(loop: FakeLoop) -> None:
    loop.read(times=20)

    assert loop.mark == 1


def test_large_reads_that_are_far_apart_are_never_gathered(loop: FakeLoop) -> None:
    loop.read(2**18, every=0.005, times=100)

    assert loop.mark == 1


def test_the_end_of_a_stream_restores_the_socket(loop: FakeLoop) -> None:
    loop.read(times=60)
    loop.coalescer.stop()
    loop.pass_time(1)

    assert loop.mark == 1
    assert not loop.coalescer.is_gathering


@pytest.mark.parametrize(
    ("platform", "release", "expected"),
    [
        ("linux", "6.8.0-45-generic", True),
        ("linux", "4.18.0-553.el8_10.x86_64", True),
        ("linux", "4.4.0", False),  # also what gVisor and the first WSL report
        ("linux", "unknown", False),
        ("darwin", "23.1.0", False),
        ("win32", "10", False),
    ],
)
def test_reads_are_gathered_only_where_the_kernel_takes_the_mark_back_in_time(
    platform: str, release: str, expected: bool
) -> None:
    assert can_coalesce(platform, release) is expected


@pytest.mark.skipif(not can_coalesce(), reason="the kernel cannot gather reads")
async def test_every_byte_of_a_gathered_stream_arrives_and_the_connection_is_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    marks: list[int] = []
    set_mark = ReadCoalescer._set_mark

    def noted(self: ReadCoalescer, nbytes: int) -> None:
        marks.append(nbytes)
        set_mark(self, nbytes)

    monkeypatch.setattr(ReadCoalescer, "_set_mark", noted)
    monkeypatch.setattr(coalescer, "_WINDOW_S", 0.05)  # a busy machine must not make the stream look quiet
    monkeypatch.setattr(coalescer, "_BUSY_WINDOWS", 1)
    count = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        while True:
            await receive(reader)
            count += 1
            writer.write(CHUNKED)
            for _ in range(200):
                writer.write(chunk(b"x" * SMALL))
                await writer.drain()
            writer.write(chunk(b"the end") + b"0\r\n\r\n")

    async with serving(handle) as server:
        transport = HttpTransport(server.url, tls=None)
        for _ in range(2):
            response = await transport.send(TransportRequest("GET", "/", read_timeout=30))
            body = b"".join([each async for each in response.chunks()])
            assert len(body) == 200 * SMALL + len(b"the end")
        await transport.close()

    assert count == 2
    assert marks[0] == MARK
    assert marks[-1] == 1
