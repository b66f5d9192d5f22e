"""Exec over WebSockets: handlers, streams, the Status at the end, and requests that are refused."""

from __future__ import annotations

import asyncio
import base64
import logging
from typing import TYPE_CHECKING

import aiohttp
import pytest
from tests.server.kubelet.remote import (
    CLOSE,
    ERROR,
    PODS,
    RESIZE,
    STDERR,
    STDIN,
    STDOUT,
    V4,
    V5,
    pod,
)

import masthead.server

if TYPE_CHECKING:
    from tests.server.kubelet.remote import Remote

    from masthead.server import BlockingExecProcess, ExecProcess, TerminalSize


async def test_a_handler_sees_the_command_and_its_streams_are_the_clients(remote: Remote) -> None:
    @remote.server.kubelet.exec("web")
    async def handler(process: ExecProcess) -> int:
        assert (process.namespace, process.pod, process.container) == ("default", "web", "app")
        assert process.env["COLOUR"] == "blue"
        assert process.env["NAME"] == "web"
        assert not process.is_tty
        await process.stdout.write(f"{process.argv}\n")
        async for line in process.stdin:
            await process.stderr.write(line.upper())
        return 3

    body = pod()
    body["spec"]["containers"][0]["env"] = [
        {"name": "COLOUR", "value": "blue"},
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ]
    await remote.create(body)

    result = await remote.exec("sed", "-n", stdin=b"a\nb")

    assert (result.stdout, result.stderr, result.code) == ("('sed', '-n')\n", "A\nB", 3)
    assert result.close_code == 1000
    assert remote.server.requests[-1].info.subresource == "exec"
    assert remote.server.requests[-1].code == 101


async def test_metrics_count_connections_under_a_verb_of_their_own(remote: Remote) -> None:
    await remote.create(pod())
    await remote.exec("true")
    await remote.log()

    async with remote.http.get("/metrics") as response:
        shown = await response.text()

    for code, subresource in ((101, "exec"), (200, "log")):
        labels = f'code="{code}",group="",resource="pods",scope="resource",subresource="{subresource}",verb="CONNECT"'
        assert labels in shown


async def test_a_plain_function_runs_in_a_thread_and_blocks(remote: Remote) -> None:
    @remote.server.kubelet.exec("web")
    def handler(process: BlockingExecProcess) -> None:
        first = process.stdin.readline()
        process.stdout.write(first)
        for line in process.stdin:
            process.stderr.write(line)
        assert process.stdin.read() == b""
        raise SystemExit(7)

    await remote.create(pod())

    result = await remote.exec("cat", stdin=b"one\ntwo\nthree\n")

    assert (result.stdout, result.stderr, result.code) == ("one\n", "two\nthree\n", 7)


@pytest.mark.parametrize(("raised", "code", "stderr"), [(None, 0, ""), (4, 4, ""), ("no luck", 1, "no luck\n")])
async def test_a_handler_may_exit_as_python_programs_do(
    remote: Remote, raised: int | str | None, code: int, stderr: str
) -> None:
    @remote.server.kubelet.exec("web")
    async def handler(_process: ExecProcess) -> None:
        raise SystemExit(raised)

    await remote.create(pod())

    result = await remote.exec("x")

    assert (result.code, result.stderr) == (code, stderr)


async def test_an_error_of_a_handler_is_logged_and_an_internal_error_for_the_client(
    remote: Remote, caplog: pytest.LogCaptureFixture
) -> None:
    @remote.server.kubelet.exec("*")
    async def handler(_process: ExecProcess) -> None:
        raise KeyError("oops")

    await remote.create(pod())

    with caplog.at_level(logging.ERROR, "masthead.server.kubelet"):
        status = (await remote.exec("x")).status

    assert (status["reason"], status["code"]) == ("InternalError", 500)
    assert "error executing command in container: KeyError: 'oops'" in status["message"]
    assert "['x'] in default/web app" in caplog.text


async def test_the_most_precise_handler_is_chosen_and_of_those_the_last(remote: Remote) -> None:
    def register(answer: str, pattern: str, **options: str) -> None:
        @remote.server.kubelet.exec(pattern, **options)
        async def handler(process: ExecProcess) -> None:
            await process.stdout.write(answer)

    register("precise", "default/web", container="app", command="psql")
    register("older", "web")
    register("newer", "web")
    register("any", "*")
    await remote.create(pod())
    await remote.create(pod("db"))

    assert (await remote.exec("psql")).stdout == "precise"
    assert (await remote.exec("ls")).stdout == "newer"
    assert (await remote.exec("ls", name="db")).stdout == "any"


async def test_version_4_has_no_close_signal_and_the_rest_is_the_same(remote: Remote) -> None:
    await remote.create(pod())

    async with remote.open("exec", command=["head", "-n", "1"], stdin=True, protocols=[V4]) as session:
        assert session.socket.protocol == V4
        await session.send(b"\0", CLOSE)  # is a channel that does not exist
        await session.send(b"line\n")
        result = await session.result()

    assert (result.stdout, result.code) == ("line\n", 0)


async def test_version_5_is_chosen_whatever_the_order_of_the_client(remote: Remote) -> None:
    await remote.create(pod())

    async with remote.open("exec", command=["true"], protocols=[V4, V5]) as session:
        assert session.socket.protocol == V5


async def test_the_first_message_is_empty_and_shows_that_the_connection_stands(remote: Remote) -> None:
    await remote.create(pod())

    async with remote.open("exec", command=["true"]) as session:
        assert (await session.socket.receive()).data == bytes((STDOUT,))


async def test_streams_that_the_client_does_not_ask_for_are_dropped(remote: Remote) -> None:
    await remote.create(pod())
    url = f"{PODS}/web/exec?command=sh&command=-c&command=echo+a%3Becho+b+>%262&stderr=1"

    async with remote.http.ws_connect(url, protocols=[V5]) as socket:
        messages = [each.data async for each in socket]

    assert [message[:1] for message in messages] == [bytes((each,)) for each in (STDERR, STDERR, ERROR)]
    assert messages[1] == b"\2b\n"


async def test_messages_of_unknown_channels_are_ignored(remote: Remote) -> None:
    await remote.create(pod())

    async with remote.open("exec", command=["cat"], stdin=True) as session:
        await session.send(b"what", 9)
        await session.socket.send_bytes(b"")
        await session.send(b"no size", RESIZE)
        await session.send(b"kept")
        await session.end_stdin()
        assert (await session.result()).stdout == "kept"


@pytest.mark.parametrize("broken", [b"\xff", b"\xff\0\0", b"\xff\x09"])
async def test_a_malformed_close_signal_ends_the_session(remote: Remote, broken: bytes) -> None:
    cancelled = asyncio.Event()
    await _register_patient(remote, cancelled)

    async with remote.open("exec", command=["x"], stdin=True) as session:
        await session.read()
        await session.socket.send_bytes(broken)
        await asyncio.wait_for(cancelled.wait(), 10)


async def _register_patient(remote: Remote, cancelled: asyncio.Event) -> None:
    """Register a handler that says hello, and waits until it is cancelled."""

    @remote.server.kubelet.exec("web")
    async def handler(process: ExecProcess) -> None:
        await process.stdout.write("hello")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    await remote.create(pod())


async def test_a_handler_is_cancelled_when_its_client_goes_away(remote: Remote) -> None:
    cancelled = asyncio.Event()
    await _register_patient(remote, cancelled)

    async with remote.open("exec", command=["x"]) as session:
        await session.read()
    await asyncio.wait_for(cancelled.wait(), 10)


async def test_a_plain_function_finds_its_streams_closed_when_its_client_goes_away(remote: Remote) -> None:
    outcome: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    @remote.server.kubelet.exec("web")
    def handler(process: BlockingExecProcess) -> None:
        process.stdout.write("hello")
        assert process.stdin.read() == b""
        try:
            process.stdout.write("more")
        except BrokenPipeError:
            loop.call_soon_threadsafe(outcome.put_nowait, "broken")

    await remote.create(pod())
    async with remote.open("exec", command=["x"], stdin=True) as session:
        await session.read()

    assert await asyncio.wait_for(outcome.get(), 10) == "broken"


async def test_a_command_ends_with_its_container(remote: Remote) -> None:
    cancelled = asyncio.Event()
    await _register_patient(remote, cancelled)

    async with remote.open("exec", command=["x"]) as session:
        await session.read()
        remote.server.kubelet.restart("web")
        result = await session.result()

    assert result.code == 137
    assert cancelled.is_set()


async def test_a_terminal_has_one_output_and_sizes(remote: Remote) -> None:
    sizes: list[TerminalSize | None] = []

    @remote.server.kubelet.exec("web")
    async def handler(process: ExecProcess) -> None:
        assert process.is_tty
        await process.stderr.write("ready")
        async for size in process.resizes():
            sizes.append(size)
            await process.stdout.write("ok")
            if size.width == 100:
                assert process.terminal_size == (100, 50)
                return

    await remote.create(pod())
    async with remote.open("exec", command=["x"], stdin=True, tty=True) as session:
        assert await session.read() == b"ready"
        await session.send(b'{"Width":80,"Height":24}\n', RESIZE)
        assert await session.read() == b"ok"
        await session.send(b'{"Width":-1,"Height":24}', RESIZE)
        await session.send(b'{"width":100,"height":50}', RESIZE)
        assert (await session.result()).code == 0

    assert sizes == [(80, 24), (100, 50)]


async def test_a_client_that_does_not_read_holds_the_command_back(remote: Remote) -> None:
    sent = 0

    @remote.server.kubelet.exec("web")
    async def handler(process: ExecProcess) -> None:
        nonlocal sent
        for _ in range(1000):
            await process.stdout.write(bytes(32 * 1024))
            sent += 1

    await remote.create(pod())
    async with remote.open("exec", command=["x"]) as session:
        connection = session.socket._conn
        assert connection is not None
        transport = connection.transport
        assert transport is not None
        transport.pause_reading()
        last = -1
        while last != sent:  # until nothing moves for many turns of the loop
            last = sent
            for _ in range(200):
                await asyncio.sleep(0)
        assert sent < 1000
        transport.resume_reading()
        result = await session.result()

    assert len(result.outputs[STDOUT]) == 1000 * 32 * 1024


async def test_a_command_that_does_not_read_holds_the_client_back(remote: Remote) -> None:
    go_on = asyncio.Event()
    size = 0

    @remote.server.kubelet.exec("web")
    async def handler(process: ExecProcess) -> None:
        nonlocal size
        await process.stdout.write("hello")
        await go_on.wait()
        while data := await process.stdin.read(1_000_000):
            assert len(data) <= 1_000_000
            size += len(data)

    await remote.create(pod())
    async with remote.open("exec", command=["x"], stdin=True) as session:
        await session.read()
        async with asyncio.TaskGroup() as group:
            writing = group.create_task(_write(session.socket, 64 * 1024 * 1024))
            for _ in range(2000):
                await asyncio.sleep(0)
            assert not writing.done()
            go_on.set()
        await session.end_stdin()
        assert (await session.result()).code == 0

    assert size == 64 * 1024 * 1024


async def _write(socket: aiohttp.ClientWebSocketResponse, size: int) -> None:
    for _ in range(size // 65_536):
        await socket.send_bytes(bytes((STDIN,)) + bytes(65_536))


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("absent/exec?command=ls&stdout=1", (404, 'pods "absent" not found')),
        ("web/exec?command=ls&stdout=1", (400, "Upgrade request required")),
        ("web/exec?command=ls", (400, "you must specify at least 1 of stdin, stdout, stderr")),
        ("web/exec?stdout=1", (400, "you must specify at least one command for the container")),
        ("web/exec?command=ls&stdout=1&container=no", (400, "container no is not valid for pod web")),
        (
            "two/exec?command=ls&stdout=1",
            (400, "a container name must be specified for pod two, choose one of: [setup a b]"),
        ),
        ("pending/exec?command=ls&stdout=1", (400, "pod pending does not have a host assigned")),
    ],
)
async def test_requests_are_refused_in_the_words_of_the_api_server(
    remote: Remote, query: str, problem: tuple[int, str]
) -> None:
    await remote.create(pod())
    await remote.create(pod("two", "a", "b", initContainers=[{"name": "setup", "image": "x"}]))
    await remote.create(pod("pending"), start=False)

    assert await remote.failure(query) == problem
    assert await remote.failure(query.replace("exec", "attach").replace("stdout=1", "")) != (200, "")


async def test_other_subprotocols_are_refused_without_a_body(remote: Remote) -> None:
    await remote.create(pod())
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(bytes(16)).decode(),
        "Sec-WebSocket-Protocol": "v9.channel.k8s.io",
    }

    async with remote.http.get(f"{PODS}/web/exec?command=ls&stdout=1", headers=headers) as response:
        assert (response.status, await response.read()) == (403, b"")


async def test_a_handshake_without_a_key_is_a_bad_request(remote: Remote) -> None:
    await remote.create(pod())
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Protocol": V5}

    async with remote.http.get(f"{PODS}/web/exec?command=ls&stdout=1", headers=headers) as response:
        assert response.status == 400


async def test_a_container_that_does_not_run_is_an_internal_error_after_the_upgrade(remote: Remote) -> None:
    await remote.create(pod())
    remote.server.kubelet.succeed("web")

    status = (await remote.exec("ls")).status
    assert status["message"].endswith('unable to upgrade connection: container not found ("app")')
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await remote.exec("ls", protocols=[V4])
    assert refused.value.status == 500


async def test_stopping_the_server_ends_sessions_and_handlers() -> None:
    from tests.server.kubelet.remote import connected

    cancelled = asyncio.Event()
    async with masthead.server.run(token=None, bootstrap=False) as server, connected(server) as remote:
        await _register_patient(remote, cancelled)
        async with remote.open("exec", command=["x"]) as session:
            await session.read()
            await server.stop()
            assert (await session.socket.receive()).type in {
                aiohttp.WSMsgType.CLOSE,
                aiohttp.WSMsgType.CLOSED,
                aiohttp.WSMsgType.CLOSING,
                aiohttp.WSMsgType.ERROR,
            }
    assert cancelled.is_set()


def test_a_server_in_a_thread_takes_handlers_from_other_threads() -> None:
    from tests.server.kubelet.remote import connected

    with masthead.server.run(token=None, bootstrap=False) as server:

        @server.kubelet.exec("web")
        def handler(process: BlockingExecProcess) -> None:
            server.kubelet.log("web").print("exec")
            process.stdout.write("from a thread")

        async def use() -> tuple[str, tuple[int, str]]:
            async with connected(server) as remote:
                await remote.create(pod())
                return (await remote.exec("x")).stdout, await remote.log()

        assert asyncio.run(use()) == ("from a thread", (200, "exec\n"))


async def test_text_messages_are_bytes_as_the_official_python_client_sends_them(remote: Remote) -> None:
    @remote.server.kubelet.exec("web")
    async def handler(process: ExecProcess) -> int:
        line = await process.stdin.readline()
        await process.stdout.write(b"got " + line)
        return 0

    await remote.create(pod())
    async with remote.open("exec", command=["sh"], stdin=True, protocols=(V4,)) as session:
        await session.socket.send_str("\x00echo h\N{LATIN SMALL LETTER E WITH ACUTE}llo\n")
        result = await session.result()

    assert (result.stdout, result.code) == ("got echo h\N{LATIN SMALL LETTER E WITH ACUTE}llo\n", 0)
