"""The streams of remote commands: stdin with back-pressure, sizes, protocols, the Status."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.kubelet.handlers import PodPattern
from masthead_server.kubelet.process import CommandLine
from masthead_server.kubelet.stdio import OutputStream, StdinPipe, TerminalSizes
from masthead_server.kubelet.streams import exit_status, internal_error, parse_terminal_size
from masthead_server.kubelet.websocket import V4, V5, choose_protocol


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (V5, V5),
        (V4, V4),
        (f"{V4}, {V5}", V5),
        (f" {V4} ,channel.k8s.io", V4),
        ("a, base64.channel.k8s.io, channel.k8s.io", "base64.channel.k8s.io"),
        ("v4.base64.channel.k8s.io", "v4.base64.channel.k8s.io"),
        ("", ""),
        ("v3.channel.k8s.io", None),
    ],
)
def test_version_5_is_preferred_and_then_the_client_decides(header: str, expected: str | None) -> None:
    assert choose_protocol(header) == expected


@pytest.mark.parametrize(
    "message", [None, [], "x", {"Width": "80"}, {"Width": 1.5}, {"Width": True}, {"Height": 70_000}]
)
def test_an_invalid_size_is_none(message: Any) -> None:
    assert parse_terminal_size(message) is None


@given(st.integers(0, 65_535), st.integers(0, 65_535))
def test_names_of_sizes_may_have_any_case(width: int, height: int) -> None:
    assert parse_terminal_size({"WIDTH": width, "height": height, "more": 1}) == (width, height)
    assert parse_terminal_size({}) == (0, 0)


def test_the_status_says_how_a_command_has_ended() -> None:
    assert exit_status(0) == {"metadata": {}, "status": "Success"}
    assert exit_status(3)["details"]["causes"] == [{"reason": "ExitCode", "message": "3"}]
    assert internal_error("x")["message"] == "Internal error occurred: x"


@given(st.lists(st.binary(max_size=200_000), max_size=5))
def test_stdin_is_read_as_it_was_fed(pieces: list[bytes]) -> None:
    async def run() -> bytes:
        pipe = StdinPipe()

        async def feed() -> None:
            for piece in pieces:
                await pipe.feed(piece)
            pipe.close()
            await pipe.feed(b"dropped")

        async with asyncio.TaskGroup() as group:
            group.create_task(feed())
            return await pipe.reader.read()

    assert asyncio.run(run()) == b"".join(pieces)


async def test_what_is_not_read_holds_the_feeder_back_until_the_end() -> None:
    pipe = StdinPipe()
    await pipe.feed(bytes(1_000_000))
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(pipe.feed(b"more"))
        await asyncio.sleep(0)
        assert not waiting.done()
        pipe.close()
    assert pipe.is_closed


async def test_output_goes_in_pieces() -> None:
    sent: list[bytes] = []

    async def send(data: bytes) -> None:
        sent.append(data)

    stream = OutputStream(send)
    await stream.write("é")
    await stream.write(bytes(70_000))

    assert [len(each) for each in sent] == [2, 32_768, 32_768, 4464]


async def test_a_slow_reader_of_sizes_gets_the_newest() -> None:
    sizes = TerminalSizes()
    for width in (80, 100, 120):
        sizes.put(parse_terminal_size({"width": width, "height": 1}) or (0, 0))  # type: ignore[arg-type]
    found = []
    async for size in sizes:
        found.append(size.width)
        sizes.close()

    assert found == [120]


@pytest.mark.parametrize(
    ("pattern", "options", "expected"),
    [
        ("web", {}, True),
        ("shop/web", {}, True),
        ("other/web", {}, False),
        ("*", {"command": "ls"}, True),
        ("shop/*", {"container": "app"}, True),
        ("*/web", {"container": "side"}, False),
        ("web", {"command": "cat"}, False),
    ],
)
def test_patterns(pattern: str, options: dict[str, str], expected: bool) -> None:
    line = CommandLine("shop", "web", "app", ("ls", "-l"), {})

    assert PodPattern.of(pattern, options.get("container"), options.get("command")).matches(line) is expected
