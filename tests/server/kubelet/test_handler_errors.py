"""Handlers and functions behind ports that raise what is no ordinary exception: it is their failure alone."""

from __future__ import annotations

import asyncio
import concurrent.futures
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from tests.server.kubelet.remote import connected, pod

import masthead.server
from masthead_server.kubelet.handlers import HandlerError, ordinary_errors

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from tests.server.kubelet.remote import Remote

    from masthead.server import BlockingExecProcess, ExecProcess, Server


def fail() -> NoReturn:
    pytest.fail("unexpected command")


def interrupt() -> NoReturn:
    raise KeyboardInterrupt("not of the user")


def cancel() -> NoReturn:
    raise asyncio.CancelledError("of its own")


def cancel_future() -> NoReturn:
    raise concurrent.futures.CancelledError("of its own")


def exhaust() -> NoReturn:
    raise StopIteration("no more answers")


IN_BOTH = [
    (fail, "Failed: unexpected command"),
    (interrupt, "KeyboardInterrupt: not of the user"),
    (cancel, "CancelledError: of its own"),
    (cancel_future, "CancelledError: of its own"),
]


@pytest.fixture
def server() -> Iterator[Server]:
    """A server in a thread of its own: in the main thread, an interrupt is the user's."""
    with masthead.server.run(token=None, bootstrap=False) as running:
        yield running


@asynccontextmanager
async def client(server: Server, **spec: str) -> AsyncIterator[Remote]:
    """A client with a pod; at the end of the block, the server is still there."""
    async with connected(server) as made:
        await made.create(pod(**spec))
        yield made
        assert (await made.get())["kind"] == "Pod"


@pytest.mark.parametrize(("act", "problem"), [*IN_BOTH, (exhaust, "StopIteration: no more answers")])
async def test_whatever_a_plain_handler_raises_is_logged_and_an_internal_error(
    act: Callable[[], NoReturn], problem: str, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    @server.kubelet.exec("web")
    def handler(_process: BlockingExecProcess) -> None:
        act()

    async with client(server) as remote:
        status = (await remote.exec("x")).status

    assert status["message"].endswith(f"error executing command in container: {problem}")
    assert "['x'] in default/web app> failed: an error in its handler" in caplog.text


@pytest.mark.parametrize("subresource", ["exec", "attach"])
@pytest.mark.parametrize(("act", "problem"), IN_BOTH)
async def test_whatever_a_coroutine_raises_is_logged_and_an_internal_error(
    act: Callable[[], NoReturn],
    problem: str,
    subresource: str,
    server: Server,
    caplog: pytest.LogCaptureFixture,
) -> None:
    @server.kubelet.exec("web")
    @server.kubelet.attach("web")
    async def handler(_process: ExecProcess) -> None:
        act()

    command = ["x"] if subresource == "exec" else []
    async with client(server) as remote, remote.open(subresource, command=command) as session:
        status = (await session.result()).status

    assert status["reason"] == "InternalError"
    assert status["message"].endswith(f"container: {problem}")
    assert "in default/web app> failed: an error in its handler" in caplog.text


@pytest.mark.parametrize("act", [fail, interrupt, cancel])
async def test_whatever_a_main_process_raises_is_its_crash(
    act: Callable[[], NoReturn], server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    @server.kubelet.main("web")
    async def handler(_process: ExecProcess) -> None:
        act()

    async with client(server, restartPolicy="Never") as remote:
        await remote.log(follow="true")  # to its end
        found = (await remote.get())["status"]

    assert found["phase"] == "Failed"
    assert found["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1
    assert "in default/web app> crashed: an error in its handler" in caplog.text


@pytest.mark.parametrize("result", [True, 1.5, "x", b"x"])
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_main_process_that_returns_no_exit_code_crashes_and_is_reported(
    result: Any, is_async: bool, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(_process: ExecProcess) -> int:
        return result  # type: ignore[no-any-return] # the mistake

    def handle_in_thread(_process: BlockingExecProcess) -> int:
        return result  # type: ignore[no-any-return] # the mistake

    server.kubelet.main("web")(handle if is_async else handle_in_thread)
    async with client(server, restartPolicy="Never") as remote:
        await remote.log(follow="true")  # to its end
        found = (await remote.get())["status"]

    assert found["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1
    assert f"a handler returns its exit code, a whole number or None for 0, not {result!r}" in caplog.text


@pytest.mark.parametrize(("result", "code"), [(None, 0), (0, 0), (255, 255), (256, 0), (300, 44), (-1, 255)])
async def test_of_an_exit_code_its_parent_sees_the_low_byte(result: int | None, code: int, server: Server) -> None:
    @server.kubelet.exec("web")
    async def handle(_process: ExecProcess) -> int | None:
        return result

    async with client(server) as remote:
        assert (await remote.exec("x")).code == code


@pytest.mark.parametrize("act", [fail, interrupt, cancel, sys.exit])
async def test_whatever_a_function_behind_a_port_raises_breaks_its_connection(
    act: Callable[[], NoReturn], server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        act()

    listener = server.kubelet.listen("web", 80, serve)
    async with client(server) as remote:
        assert await remote.failure("web:80/proxy/") == (503, "error trying to reach service: EOF")
    listener.close()

    assert "the function that serves <PortListener */web:80> failed" in caplog.text


async def test_a_cancellation_by_the_server_is_no_error_of_the_handler() -> None:
    waiting = asyncio.Event()

    async def handle() -> None:
        with ordinary_errors():
            waiting.set()
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(handle())
        await waiting.wait()
        task.cancel()

    assert task.cancelled()


def test_an_interrupt_in_the_main_thread_may_be_the_users() -> None:
    with pytest.raises(KeyboardInterrupt), ordinary_errors():
        raise KeyboardInterrupt


async def test_a_coroutine_that_is_closed_ends_as_usual() -> None:
    async def handle() -> None:
        with ordinary_errors():
            await asyncio.sleep(0)

    running = handle()
    running.send(None)
    running.close()


def test_the_error_tells_what_was_raised() -> None:
    with pytest.raises(HandlerError, match=r"^Failed: unexpected command$") as raised, ordinary_errors():
        fail()

    assert isinstance(raised.value.__cause__, pytest.fail.Exception)
