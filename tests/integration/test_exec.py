"""exec and attach, blocking and async, against the scripted kubelet of the embedded server."""

from __future__ import annotations

import asyncio
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.conftest import connected

import masthead.server
from masthead.api.core.v1 import Container, Pod
from masthead.config import from_kubeconfig
from masthead.errors import (
    ArgumentError,
    BadRequestError,
    ClosedError,
    ExecError,
    ExecTimeoutError,
    NotFoundError,
    ProtocolError,
    RemoteCommandError,
    ResponseTooLargeError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from masthead.server import ExecProcess, Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with masthead.server.run() as running, masthead.Client(kubeconfig=running.kubeconfig()) as client:
        pods = client.core_v1.pods("default")
        both = [Container(name="app", image="app"), Container(name="proxy", image="proxy")]
        chosen = {"kubectl.kubernetes.io/default-container": "proxy"}
        pods.create(Pod.new("web", spec={"containers": [Container(name="app", image="app")]}))
        pods.create(Pod.new("two", spec={"containers": both}))
        pods.create(Pod.new("annotated", annotations=chosen, spec={"containers": both}))
        pods.create(Pod.new("pending", spec={"containers": both[:1]}))
        for name in ("web", "two", "annotated"):
            running.kubelet.start(name)
        register(running)
        yield running


def register(server: Server) -> None:
    """What the commands of these tests do."""
    for command in (cat, fail, hang, where, flood, both, size, crash, crash_at_once):
        server.kubelet.exec("*", command=command.__name__)(command)
    server.kubelet.attach("*")(answer)


async def cat(process: ExecProcess) -> None:
    while data := await process.stdin.read(2**16):
        await process.stdout.write(data)


async def fail(process: ExecProcess) -> int:
    await process.stdout.write("half of it\n")
    await process.stderr.write("no space left\n")
    return 3


async def crash(process: ExecProcess) -> None:
    await process.stdout.write("half of it\n")
    await process.stderr.write("no space left\n")
    raise RuntimeError("the node has lost it")


async def crash_at_once(process: ExecProcess) -> None:
    raise RuntimeError(f"the node does not know {process.argv[0]}")


async def hang(process: ExecProcess) -> None:
    await process.stdout.write("before\n")
    await asyncio.Event().wait()


async def where(process: ExecProcess) -> None:
    await process.stdout.write(process.container)


async def flood(process: ExecProcess) -> None:
    for _ in range(4096):
        await process.stdout.write(b"x" * 2**15)


async def both(process: ExecProcess) -> None:
    for _ in range(100):
        await process.stdout.write(b"o" * 2**15)
        await process.stderr.write(b"e" * 2**15)


async def size(process: ExecProcess) -> None:
    async for resiz in process.resizes():
        await process.stdout.write(f"{resiz.width}x{resiz.height}")
        break


async def answer(process: ExecProcess) -> int:
    line = await process.stdin.readline()
    await process.stdout.write(b"you said " + line)
    return 7


@pytest.fixture(params=["aio", "sync"])
async def pods(server: Server, request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    async with connected(from_kubeconfig(server.kubeconfig()), request.param) as client:
        yield client.core_v1.pods("default")


@pytest.fixture(params=["aio", "sync"])
async def everywhere(server: Server, request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    async with connected(from_kubeconfig(server.kubeconfig()), request.param) as client:
        yield client.core_v1.pods


@pytest.fixture(params=["aio", "sync"])
async def untyped(server: Server, request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    async with connected(from_kubeconfig(server.kubeconfig()), request.param) as client:
        yield client.dynamic("v1", "pods", namespace="default")


async def test_a_command_returns_what_it_printed(pods: Any) -> None:
    result = await pods.exec("web", ["sh", "-c", "echo out; echo err >&2"])
    assert (result.exit_code, result.text, result.stderr) == (0, "out\n", b"err\n")


async def test_the_dynamic_client_runs_commands_too(untyped: Any) -> None:
    assert (await untyped.exec("web", ["echo", "dynamic"])).text == "dynamic\n"


@pytest.mark.parametrize(
    "stdin",
    [
        b"abc" * 100_000,
        "abc" * 100_000,
        io.BytesIO(b"abc" * 100_000),
        [b"abc"] * 10,
        (b"abc" for _ in range(10)),
    ],
    ids=["bytes", "text", "file", "list", "generator"],
)
async def test_stdin_is_sent_to_its_end(server: Server, stdin: Any) -> None:
    # Once for each source, because some can be read once only.
    async with connected(from_kubeconfig(server.kubeconfig()), "sync") as client:
        result = await client.core_v1.pods("default").exec("web", ["cat"], stdin=stdin)
    assert result.stdout == b"abc" * (len(result.stdout) // 3)
    assert len(result.stdout) in {30, 300_000}


async def test_stdin_may_be_an_async_iterator(pods: Any) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"piece "

    assert (await pods.exec("web", ["cat"], stdin=pieces())).text == "piece piece piece "


@pytest.mark.parametrize("stdin", [3, io.StringIO("text"), ["text"]], ids=["number", "text file", "list of text"])
async def test_stdin_that_is_not_bytes_is_refused(pods: Any, stdin: Any) -> None:
    with pytest.raises(ArgumentError, match="stdin"):
        await pods.exec("web", ["cat"], stdin=stdin)


async def test_a_command_that_does_not_read_its_stdin_may_end(pods: Any) -> None:
    assert (await pods.exec("web", ["true"], stdin=b"x" * 2**22)).exit_code == 0


async def test_stdin_that_goes_on_does_not_hold_up_the_end_of_a_command(pods: Any) -> None:
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as silent, open(writing, "wb"):  # noqa: ASYNC230, PTH123 - a pipe
        assert (await pods.exec("web", ["true"], stdin=silent)).exit_code == 0


async def test_a_client_may_be_closed_while_a_source_of_stdin_blocks(server: Server, facade: str) -> None:
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as silent, open(writing, "wb"):  # noqa: ASYNC230, PTH123 - a pipe
        async with connected(from_kubeconfig(server.kubeconfig()), facade) as client:
            with pytest.raises(ExecTimeoutError):
                await client.core_v1.pods("default").exec("web", ["cat"], stdin=silent, timeout=0.01)


async def test_what_a_file_has_is_sent_before_its_end(pods: Any) -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as source, open(writing, "wb", buffering=0) as target:  # noqa: ASYNC230, PTH123 - a pipe
        async with pods.open_exec("web", ["cat"], stdin=True) as process, asyncio.TaskGroup() as tasks:
            target.write(b"first")
            tasks.create_task(process.send_input(source))
            assert await anext(aiter(process.stdout)) == b"first"
            target.close()
            assert await process.wait() == 0


async def test_a_piece_of_stdin_that_is_missing_is_not_taken_for_its_end(pods: Any) -> None:
    with pytest.raises(ArgumentError, match="NoneType"):
        await pods.exec("web", ["cat"], stdin=iter([b"one", None, b"two"]))


@pytest.mark.parametrize("raised", [KeyError("mine"), SystemExit(3)], ids=["error", "exit"])
async def test_what_a_source_of_stdin_raises_is_raised(pods: Any, raised: BaseException) -> None:
    def broken() -> Iterator[bytes]:
        yield b"piece"
        raise raised

    with pytest.raises(type(raised)):
        await pods.exec("web", ["cat"], stdin=broken())
    assert (await pods.exec("web", ["echo", "still there"])).text == "still there\n"


async def test_a_timeout_of_a_source_of_stdin_is_not_one_of_the_command(pods: Any) -> None:
    def broken() -> Iterator[bytes]:
        yield b"piece"
        raise TimeoutError("mine")

    for timeout in (None, 60):
        with pytest.raises(TimeoutError, match=r"^mine$"):
            await pods.exec("web", ["cat"], stdin=broken(), timeout=timeout)


async def test_an_error_of_another_command_that_is_the_source_of_stdin_stays_as_it_is(pods: Any) -> None:
    def broken(error: Exception) -> Iterator[bytes]:
        yield b"piece"
        raise error

    for error in (ExecError("other", exit_code=9, stdout=b"its own"), ProtocolError("other")):
        with pytest.raises(type(error)) as caught:
            await pods.exec("web", ["cat"], stdin=broken(error))
        assert caught.value is error
        assert getattr(error, "stdout", b"its own") == b"its own"


async def test_a_file_that_raises_stop_iteration_is_an_error(pods: Any) -> None:
    class Pieces(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            del size
            return next(iter(()))

    with pytest.raises(RuntimeError, match="StopIteration"):
        await pods.exec("web", ["cat"], stdin=Pieces())


async def test_an_exit_code_is_an_error_that_carries_both_outputs(pods: Any) -> None:
    with pytest.raises(ExecError, match=r"exec pods default/web: .*exit code 3: no space left") as caught:
        await pods.exec("web", ["fail"])
    error = caught.value
    assert (error.exit_code, error.stdout, error.stderr) == (3, b"half of it\n", b"no space left\n")


async def test_an_exit_code_is_a_result_if_it_is_not_to_be_checked(pods: Any) -> None:
    result = await pods.exec("web", ["fail"], check=False)
    assert (result.exit_code, result.text) == (3, "half of it\n")


async def test_a_command_that_does_not_exist_has_no_exit_code(pods: Any) -> None:
    with pytest.raises(ExecError, match="check that the image has that command") as caught:
        await pods.exec("web", ["no-such-command"])
    assert (caught.value.exit_code, caught.value.reason) == (None, "InternalError")


async def test_a_command_that_the_runtime_loses_has_printed_something(pods: Any) -> None:
    with pytest.raises(ExecError, match=r"failed after the command had begun to print: .*lost it") as caught:
        await pods.exec("web", ["crash"])
    error = caught.value
    assert (error.exit_code, error.reason) == (None, "InternalError")
    assert (error.stdout, error.stderr) == (b"half of it\n", b"no space left\n")


async def test_it_is_not_known_whether_a_command_has_run_that_printed_nothing(pods: Any) -> None:
    with pytest.raises(ExecError, match=r"could not run the command to its end: .*does not know crash_at"):
        await pods.exec("web", ["crash_at_once"])


async def test_a_command_that_goes_on_for_too_long_is_left_alone(pods: Any) -> None:
    with pytest.raises(ExecTimeoutError, match="may still be running in the container") as caught:
        await pods.exec("web", ["hang"], timeout=0.2)
    assert caught.value.stdout in {b"", b"before\n"}


async def test_output_is_collected_up_to_a_limit(pods: Any) -> None:
    with pytest.raises(ResponseTooLargeError, match="stdout has more than 100,000 bytes") as caught:
        await pods.exec("web", ["flood"], max_output=100_000)
    assert isinstance(caught.value, RemoteCommandError)
    assert (caught.value.stdout, caught.value.stderr) == (b"x" * 100_000, b"")


@pytest.mark.parametrize("command", ["ls -l", [], ["ls", 3], b"ls"])
async def test_a_command_is_a_list_of_strings(pods: Any, command: Any) -> None:
    with pytest.raises(ArgumentError, match="a command is a list of strings"):
        await pods.exec("web", command)


@pytest.mark.parametrize(
    ("pod", "container", "expected"),
    [
        ("web", None, "app"),
        ("two", None, "app"),
        ("annotated", None, "proxy"),
        ("annotated", "", "proxy"),
        ("two", "", "app"),
        ("annotated", "app", "app"),
    ],
)
async def test_the_container_is_chosen_as_kubectl_does(
    pods: Any, pod: str, container: str | None, expected: str
) -> None:
    assert (await pods.exec(pod, ["where"], container=container)).text == expected


async def test_what_does_not_exist_is_named(pods: Any) -> None:
    with pytest.raises(NotFoundError, match=r'exec pods default/absent: pods "absent" not found'):
        await pods.exec("absent", ["true"])
    with pytest.raises(BadRequestError, match="container nope is not valid for pod web"):
        await pods.exec("web", ["true"], container="nope")
    with pytest.raises(BadRequestError, match="pod pending does not have a host assigned"):
        await pods.exec("pending", ["true"])


async def test_a_process_has_streams(pods: Any) -> None:
    async with pods.open_exec("web", ["cat"], stdin=True) as process:
        await process.stdin.write(b"one\ntw")
        await process.stdin.write(b"o\nthree")
        await process.stdin.close()
        await process.stdin.close()
        assert [line async for line in process.stdout.lines()] == ["one", "two", "three"]
        assert (await process.wait(), process.exit_code) == (0, 0)
        with pytest.raises(ClosedError, match="stdin is closed"):
            await process.stdin.write(b"late")


async def test_stdin_takes_text_as_well_as_bytes(pods: Any) -> None:
    async with pods.open_exec("web", ["cat"], stdin=True) as process:
        await process.stdin.write("grüß ")
        await process.stdin.write(bytearray(b"dich"))
        with pytest.raises(ArgumentError, match="stdin takes bytes or text, and was given a list"):
            await process.stdin.write([1])
        await process.stdin.close()
        assert (await process.stdout.read()).decode() == "grüß dich"


async def test_a_process_without_stdin_refuses_input(pods: Any) -> None:
    for opened in (pods.open_exec("web", ["cat"]), pods.attach("web")):
        async with opened as process:
            with pytest.raises(
                ArgumentError, match=r"(exec|attach) pods .*web: the process has no stdin; .*stdin=True"
            ):
                await process.stdin.write(b"lost")


async def test_a_missing_namespace_is_an_error_of_the_called_verb(everywhere: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^exec pods: pods are namespaced"):
        await everywhere.exec("web", ["cat"])
    with pytest.raises(ArgumentError, match=r"^get pods/proxy: pods are namespaced"):
        await everywhere.proxy("web").get("/")
    with pytest.raises(ArgumentError, match=r"^port-forward pods: pods are namespaced"):
        await everywhere.open_socket("web", 80)


async def test_both_outputs_are_read_at_the_same_time(pods: Any) -> None:
    async with pods.open_exec("web", ["both"]) as process:
        out, err = await asyncio.gather(process.stdout.read(), process.stderr.read())
        assert (len(out), len(err)) == (100 * 2**15, 100 * 2**15)
        assert await process.wait() == 0


async def test_an_output_that_is_closed_does_not_hold_up_the_other(pods: Any) -> None:
    async with pods.open_exec("web", ["both"]) as process:
        await process.stderr.close()
        assert len(await process.stdout.read()) == 100 * 2**15


async def test_only_what_is_asked_for_is_sent(pods: Any) -> None:
    async with pods.open_exec("web", ["both"], stderr=False) as process:
        assert len(await process.stdout.read()) == 100 * 2**15
        assert await process.stderr.read() == b""
    with pytest.raises(ArgumentError, match="at least one of stdin, stdout and stderr"):
        pods.open_exec("web", ["true"], stdout=False, stderr=False)


async def test_an_output_is_read_as_it_comes(pods: Any) -> None:
    seen = 0
    async with pods.open_exec("web", ["flood"]) as process:
        async for chunk in process.stdout:
            seen += len(chunk)
            if seen > 2**20:
                break
    with pytest.raises(ClosedError, match="closed before the process had ended"):
        await process.wait()


async def test_a_terminal_has_a_size(pods: Any) -> None:
    async with pods.open_exec("web", ["size"], tty=True, stdin=True) as process:
        await process.resize(132, 43)
        assert await process.stdout.read() == b"132x43"


async def test_attach_talks_to_the_main_process(pods: Any) -> None:
    async with pods.attach("web", stdin=True) as process:
        await process.stdin.write(b"hello\n")
        assert await process.stdout.read() == b"you said hello\n"
        assert await process.wait() == 7


async def test_a_process_is_used_in_its_block(pods: Any) -> None:
    process = pods.open_exec("web", ["cat"], stdin=True)
    for use in (process.stdin.write(b"x"), process.resize(80, 24)):
        with pytest.raises(ClosedError, match="was not started"):
            await use
    await process.close()


@pytest.fixture
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with Path("/dev/null").open("rb") as null:
        monkeypatch.setattr("sys.__stdin__", null)
        yield


@pytest.mark.usefixtures("no_terminal")
async def test_an_interactive_session_needs_a_terminal(pods: Any) -> None:
    with pytest.raises(ArgumentError, match="needs a terminal"):
        await pods.exec_interactive("web")
    with pytest.raises(ArgumentError, match="needs a terminal"):
        await pods.attach_interactive("web")


async def test_a_pod_that_ends_ends_its_commands(server: Server, pods: Any) -> None:
    async with pods.open_exec("two", ["hang"]) as process:
        assert await anext(aiter(process.stdout)) == b"before\n"
        await asyncio.to_thread(server.kubelet.restart, "two")
        assert await process.wait() == 137
