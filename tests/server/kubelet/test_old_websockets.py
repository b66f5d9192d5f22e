"""WebSockets of older clients: exec without a Status, channels in base64, logs and watches as messages."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import aiohttp
import pytest
from tests.server.kubelet.remote import PATIENCE, PODS, pod

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.server.kubelet.remote import Remote

    from masthead.server import ExecProcess

EXEC = f"{PODS}/web/exec?command=run&stdin=true&stdout=true&stderr=true"
ORIGIN = "http://localhost"


async def serve_echo(remote: Remote, code: int) -> None:
    @remote.server.kubelet.exec("web")
    async def handler(process: ExecProcess) -> int:
        async for line in process.stdin:
            await process.stdout.write(line)
            break
        return code

    await remote.create(pod())


async def collect(remote: Remote, path: str, *sent: bytes | str, protocols: Iterable[str] = ()) -> list[bytes | str]:
    """Open a WebSocket, send messages, and return all messages that are not empty until its end."""
    async with remote.http.ws_connect(path, protocols=tuple(protocols), origin=ORIGIN) as socket:
        for message in sent:
            await (socket.send_str(message) if isinstance(message, str) else socket.send_bytes(message))
        return [message.data async for message in socket if len(message.data) > 1]


@pytest.mark.parametrize("protocols", [(), ("channel.k8s.io",)], ids=["none", "channel"])
async def test_an_old_client_gets_no_status_of_a_success(remote: Remote, protocols: tuple[str, ...]) -> None:
    await serve_echo(remote, 0)

    assert await collect(remote, EXEC, b"\x00hello\n", protocols=protocols) == [b"\x01hello\n"]


async def test_an_old_client_gets_the_message_of_a_failure(remote: Remote) -> None:
    await serve_echo(remote, 3)

    messages = await collect(remote, EXEC, b"\x00hello\n", protocols=["channel.k8s.io"])

    problem = b"command terminated with non-zero exit code: command terminated with exit code 3"
    assert messages == [b"\x01hello\n", b"\x03" + problem]


async def test_a_channel_in_base64_is_text(remote: Remote) -> None:
    await serve_echo(remote, 0)
    line = base64.b64encode(b"hello\n").decode()

    messages = await collect(remote, EXEC, f"0{line}", protocols=["base64.channel.k8s.io"])

    assert messages == [f"1{line}"]


async def test_version_4_in_base64_ends_with_a_status(remote: Remote) -> None:
    await serve_echo(remote, 0)
    line = base64.b64encode(b"hello\n").decode()

    _, status = await collect(remote, EXEC, f"0{line}", protocols=["v4.base64.channel.k8s.io"])

    assert isinstance(status, str)
    assert json.loads(base64.b64decode(status[1:]))["status"] == "Success"


async def test_messages_that_are_no_base64_are_ignored(remote: Remote) -> None:
    await serve_echo(remote, 0)
    line = base64.b64encode(b"hello\n").decode()

    messages = await collect(remote, EXEC, "0***", "9aaaa", f"0{line}", protocols=["base64.channel.k8s.io"])

    assert messages == [f"1{line}"]


async def test_the_first_known_protocol_is_chosen_and_an_unknown_one_is_refused(remote: Remote) -> None:
    await serve_echo(remote, 0)

    async with remote.http.ws_connect(EXEC, protocols=("a", "channel.k8s.io", "v4.channel.k8s.io")) as socket:
        assert socket.protocol == "channel.k8s.io"
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await collect(remote, EXEC, protocols=["a"])
    assert refused.value.status == 403


async def write_log(remote: Remote) -> str:
    await remote.create(pod())
    remote.server.kubelet.log("web").print("hello" * 1000)
    _, text = await remote.log()
    return text


@pytest.mark.parametrize("protocols", [(), ("binary.k8s.io",)], ids=["none", "binary"])
async def test_a_log_is_sent_as_binary_messages(remote: Remote, protocols: tuple[str, ...]) -> None:
    text = await write_log(remote)

    messages = await collect(remote, f"{PODS}/web/log", protocols=protocols)

    assert b"".join(message for message in messages if isinstance(message, bytes)).decode() == text


async def test_a_log_is_sent_in_base64(remote: Remote) -> None:
    text = await write_log(remote)

    messages = await collect(remote, f"{PODS}/web/log", protocols=["base64.binary.k8s.io"])

    assert b"".join(map(base64.b64decode, messages)).decode() == text


async def test_a_followed_log_ends_when_the_client_leaves(remote: Remote) -> None:
    await write_log(remote)

    async with remote.http.ws_connect(f"{PODS}/web/log?follow=true") as socket:
        first = await socket.receive_bytes(timeout=PATIENCE)
        assert first == b""
        await socket.receive_bytes(timeout=PATIENCE)


async def test_a_watch_sends_each_event_as_a_text_message(remote: Remote) -> None:
    await remote.create(pod(), start=False)

    async with remote.http.ws_connect(f"{PODS}?watch=true", protocols=("a",), origin=ORIGIN) as socket:
        assert socket.protocol == "a"
        added = await socket.receive_str(timeout=PATIENCE)
        await remote.create(pod("other"), start=False)
        second = await socket.receive_str(timeout=PATIENCE)

    assert [json.loads(line)["object"]["metadata"]["name"] for line in (added, second)] == ["web", "other"]
    assert added.endswith("}\n")


@pytest.mark.parametrize(
    ("origin", "protocols", "code"), [(None, (), 403), (ORIGIN, ("a", "b"), 400)], ids=["no origin", "two protocols"]
)
async def test_the_handshake_of_a_watch_has_an_origin_and_one_protocol(
    remote: Remote, origin: str | None, protocols: tuple[str, ...], code: int
) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await remote.http.ws_connect(f"{PODS}?watch=true", protocols=protocols, origin=origin)

    assert refused.value.status == code
