"""What a kubelet's streaming server sends, recorded behind a kube-apiserver's stream translation, and cut anywhere."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.transport.servers import receive, serving
from tests.unit.transport.websocket_peer import switching

import masthead.aio
from masthead.config import Config
from masthead.errors import ExecError, ProtocolError
from masthead.testing.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Sequence

RECORDED = {
    load["name"]: load
    for load in json.loads((Path(__file__).parents[2] / "data/streams/recorded.json").read_text(encoding="utf-8"))
}
RESULTS = {
    "output on both channels": (0, b"out\n", b"err\n"),
    "an exit code": (3, b"", b"no\n"),
    "an exit code over v4": (3, b"", b"no\n"),
    "stdin that is closed": (0, b"hello\n", b""),
    "a terminal": (0, b"40 100\r\n", b""),
    "a process that is killed": (137, b"", b""),
    "attach": (0, b"attached to default/web/main\nhello\n", b"attach stderr\n"),
}


async def replay(recorded: dict[str, Any], parts: Sequence[bytes]) -> tuple[int, bytes, bytes]:
    """Run a command against a server that answers with a recording."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await receive(reader)
        writer.write(switching(request.headers["sec-websocket-key"], protocol=recorded["protocol"]))
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0)

    async with serving(handle) as server, masthead.aio.Client(Config(server=server.url)) as client:
        pods = client.core_v1.pods("default")
        is_attach = recorded["subresource"] == "attach"
        async with pods.attach("web") if is_attach else pods.open_exec("web", ["command"]) as process:
            out, err = await asyncio.gather(process.stdout.read(), process.stderr.read())
            return await process.wait(), out, err


@pytest.mark.parametrize("name", RESULTS)
async def test_recorded_streams_are_understood(name: str) -> None:
    recorded = RECORDED[name]
    assert await replay(recorded, [bytes.fromhex(recorded["frames"])]) == RESULTS[name]


async def test_a_recorded_refusal_of_the_runtime_is_understood() -> None:
    recorded = RECORDED["a command that does not exist"]
    with pytest.raises(ExecError, match="executable file not found") as caught:
        await replay(recorded, [bytes.fromhex(recorded["frames"])])
    assert caught.value.exit_code is None


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(RESULTS)), st.lists(st.integers(0, 300), max_size=10))
def test_any_split_of_recorded_bytes_gives_the_same(name: str, cuts: list[int]) -> None:
    recorded = RECORDED[name]
    wire = bytes.fromhex(recorded["frames"])
    ends = sorted(min(cut, len(wire)) for cut in cuts)
    parts = [wire[start:end] for start, end in zip([0, *ends], [*ends, len(wire)], strict=True)]
    assert run(replay(recorded, parts)) == RESULTS[name]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(RESULTS)), st.integers(0, 300))
def test_a_connection_that_is_cut_anywhere_gives_the_whole_result_or_an_error(name: str, length: int) -> None:
    recorded = RECORDED[name]
    wire = bytes.fromhex(recorded["frames"])
    found: object = None
    with suppress(ProtocolError):  # any other error would be a defect
        found = run(replay(recorded, [wire[:length]]))
    # The close that follows the Status may be missing; the Status says it all.
    assert found in {None, RESULTS[name]}
