"""Attach, and the main processes of containers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tests.server.kubelet.remote import RESIZE, pod

if TYPE_CHECKING:
    from tests.server.kubelet.remote import Plain, Remote

    from masthead.server import BlockingExecProcess, ExecProcess


def interactive(name: str = "web", **container: Any) -> Plain:
    body = pod(name, restartPolicy="Never")
    body["spec"]["containers"][0].update({"stdin": True, **container})
    return body


async def test_an_attached_client_reads_what_is_printed_from_then_on(remote: Remote) -> None:
    await remote.create(pod())
    log = remote.server.kubelet.log("web")
    log.print("before")

    async with remote.open("attach") as session:
        await session.socket.receive()
        log.write("prompt> ")
        assert await session.read() == b"prompt> "
        log.print("trouble", stderr=True)
        assert await session.read(2) == b"trouble\n"
        remote.server.kubelet.succeed("web")
        assert (await session.result()).code == 0


async def test_a_handler_may_serve_attached_clients(remote: Remote) -> None:
    @remote.server.kubelet.attach("web")
    async def handler(process: ExecProcess) -> int:
        await process.stdout.write((await process.stdin.readline()).upper())
        return 2

    await remote.create(pod())

    async with remote.open("attach", stdin=True) as session:
        await session.send(b"hello\n")
        result = await session.result()

    assert (result.stdout, result.code) == ("HELLO\n", 2)


async def test_a_main_process_prints_the_log_and_reads_what_clients_send(remote: Remote) -> None:
    @remote.server.kubelet.main("web")
    async def main(process: ExecProcess) -> int:
        assert process.argv == ("serve", "--port")
        await process.stdout.write("ready\n")
        async for line in process.stdin:
            await process.stdout.write(b"got " + line)
        await process.stderr.write("bye\n")
        return 3

    await remote.create(interactive(command=["serve"], args=["--port"], stdinOnce=True))

    async with remote.open("attach", stdin=True) as session:
        await session.send(b"one\n")
        assert await session.read_until(b"got one\n")
        await session.end_stdin()
        result = await session.result()

    assert result.stderr == "bye\n"
    assert await remote.log() == (200, "ready\ngot one\nbye\n")
    status = (await remote.get())["status"]
    assert status["phase"] == "Failed"
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3


async def test_the_stdin_of_a_container_outlives_a_client_unless_it_is_for_one_only(remote: Remote) -> None:
    await remote.create(interactive(command=["cat"]))

    for line in (b"one\n", b"two\n"):
        async with remote.open("attach", stdin=True) as session:
            await session.send(line)
            assert await session.read() == line
    assert (await remote.get())["status"]["phase"] == "Running"


async def test_a_main_process_may_be_a_plain_function_that_is_ended(remote: Remote) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    @remote.server.kubelet.main("web")
    def main(process: BlockingExecProcess) -> None:
        process.stdout.write("waiting\n")
        assert process.stdin.read() == b""
        loop.call_soon_threadsafe(ended.set)

    await remote.create(interactive())
    async with remote.http.get("/api/v1/namespaces/default/pods/web/log?follow=1") as response:
        assert await response.content.readline() == b"waiting\n"
    remote.server.kubelet.fail("web", exit_code=9, reason="OOMKilled")
    await asyncio.wait_for(ended.wait(), 10)

    ended_as = (await remote.get())["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (ended_as["exitCode"], ended_as["reason"]) == (9, "OOMKilled")


async def test_a_terminal_is_the_containers_and_has_the_size_of_the_client(remote: Remote) -> None:
    @remote.server.kubelet.main("web")
    async def main(process: ExecProcess) -> None:
        assert process.is_tty
        async for size in process.resizes():
            await process.stderr.write(f"{size.width}x{size.height}\n")

    await remote.create(interactive(tty=True))

    async with remote.open("attach", stdin=True, tty=True) as session:
        await session.send(b'{"Width":80,"Height":24}', RESIZE)
        assert await session.read() == b"80x24\n"


async def test_a_container_with_stdin_and_no_command_is_a_shell(remote: Remote) -> None:
    await remote.create(interactive())

    async with remote.open("attach", stdin=True) as session:
        await session.send(b"echo hi\nexit 0\n")
        assert (await session.result()).stdout == "hi\n"
    assert (await remote.get())["status"]["phase"] == "Succeeded"


async def test_a_command_that_the_shell_does_not_know_in_full_does_nothing(remote: Remote) -> None:
    await remote.create(interactive(command=["sh", "-c", "echo starting; exec java -jar app.jar"]))
    await remote.create(interactive("db", command=["postgres"]))
    await remote.server.wait_for_idle()

    assert await remote.log() == (200, "")
    assert (await remote.get("db"))["status"]["phase"] == "Running"


async def test_an_error_of_a_main_process_is_a_crash(remote: Remote) -> None:
    @remote.server.kubelet.main("web")
    async def main(_process: ExecProcess) -> None:
        raise ValueError("oops")

    await remote.create(interactive())
    async with remote.http.get("/api/v1/namespaces/default/pods/web/log?follow=1") as response:
        await response.read()

    assert (await remote.get())["status"]["phase"] == "Failed"
