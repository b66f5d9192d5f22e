"""Interactive sessions: a program of its own, at a terminal of its own, which must be restored whatever happens."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.server
from masthead.api.core.v1 import Container, Pod

termios = pytest.importorskip("termios")
fcntl = pytest.importorskip("fcntl")
pty = pytest.importorskip("pty")

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from masthead.server import ExecProcess, Server

BLOCKING = """
import sys, masthead
with masthead.Client(kubeconfig=sys.argv[1]) as client:
    pods = client.core_v1.pods("default")
    sys.exit(pods.exec_interactive("web", sys.argv[2:]) if sys.argv[2:] else pods.attach_interactive("web"))
"""
ASYNC = """
import asyncio, sys, masthead.aio
async def main():
    async with masthead.aio.Client(kubeconfig=sys.argv[1]) as client:
        pods = client.core_v1.pods("default")
        return await (pods.exec_interactive("web", sys.argv[2:]) if sys.argv[2:] else pods.attach_interactive("web"))
sys.exit(asyncio.run(main()))
"""


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
        container = Container(name="app", image="app", tty=True, stdin=True)
        client.core_v1.pods("default").create(Pod.new("web", spec={"containers": [container]}))
        server.kubelet.start("web")
        register(server)
        path = tmp_path_factory.mktemp("terminal") / "kubeconfig"
        path.write_text(server.kubeconfig())
        yield path


def register(server: Server) -> None:
    """What the commands of these tests do."""

    @server.kubelet.attach("*")
    @server.kubelet.exec("*", command="echo-keys")
    async def echo_keys(process: ExecProcess) -> int:
        """Show what is typed, byte by byte, until a q."""
        await process.stdout.write("ready ")
        while (key := await process.stdin.read(1)) not in {b"q", b""}:
            await process.stdout.write(f"<{key.hex()}>")
        return 5

    @server.kubelet.exec("*", command="sizes")
    async def sizes(process: ExecProcess) -> None:
        async for size in process.resizes():
            await process.stdout.write(f"<{size.width}x{size.height}>")

    @server.kubelet.exec("*", command="cut")
    async def cut(process: ExecProcess) -> None:
        await process.stdout.write("ready ")
        await process.stdin.read(1)
        await asyncio.to_thread(server.kubelet.fail, "web")


class Session:
    """A program at a terminal."""

    def __init__(self, program: str, kubeconfig: Path, *command: str) -> None:
        self.master, self.terminal = pty.openpty()
        self.resize(100, 30)
        self.before = termios.tcgetattr(self.terminal)
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, str(kubeconfig), *command],
            stdin=self.terminal,
            stdout=self.terminal,
            stderr=self.terminal,
            start_new_session=True,
        )
        self.seen = b""

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(
            self.terminal,
            termios.TIOCSWINSZ,
            height.to_bytes(2, sys.byteorder) + width.to_bytes(2, sys.byteorder) + bytes(4),
        )

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def until(self, text: bytes) -> None:
        """Wait until the program has printed something."""
        while text not in self.seen:
            self.seen += os.read(self.master, 4096)

    def end(self) -> int:
        """Wait for the end of the program."""
        return self.process.wait()

    @property
    def is_restored(self) -> bool:
        return bool(termios.tcgetattr(self.terminal) == self.before)


@contextmanager
def session(program: str, kubeconfig: Path, *command: str) -> Iterator[Session]:
    made = Session(program, kubeconfig, *command)
    try:
        yield made
    finally:
        with suppress(ProcessLookupError):
            made.process.kill()
        made.process.wait()
        os.close(made.master)
        os.close(made.terminal)


each_facade = pytest.mark.parametrize("program", [BLOCKING, ASYNC], ids=["sync", "aio"])


@pytest.mark.slow
@each_facade
def test_keys_reach_the_command_as_they_are_typed(kubeconfig: Path, program: str) -> None:
    with session(program, kubeconfig, "echo-keys") as terminal:
        terminal.until(b"ready")
        assert not terminal.is_restored
        terminal.type(b"a\x03\r")  # neither is Ctrl-C a signal here, nor a return a line feed
        terminal.until(b"<61><03><0d>")
        terminal.type(b"q")
        assert (terminal.end(), terminal.is_restored) == (5, True)


@pytest.mark.slow
@each_facade
def test_an_attached_terminal_talks_to_the_main_process(kubeconfig: Path, program: str) -> None:
    with session(program, kubeconfig) as terminal:
        terminal.until(b"ready")
        terminal.type(b"zq")
        assert (terminal.end(), terminal.is_restored) == (5, True)
        terminal.until(b"<7a>")


@pytest.mark.slow
@each_facade
def test_changes_of_the_size_are_passed_on(kubeconfig: Path, program: str) -> None:
    with session(program, kubeconfig, "sizes") as terminal:
        terminal.until(b"<100x30>")
        terminal.resize(132, 43)
        terminal.until(b"<132x43>")


@pytest.mark.slow
@each_facade
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_that_ends_the_program_leaves_the_terminal_as_it_was(
    kubeconfig: Path, program: str, number: signal.Signals
) -> None:
    with session(program, kubeconfig, "echo-keys") as terminal:
        terminal.until(b"ready")
        terminal.process.send_signal(number)
        assert (terminal.end(), terminal.is_restored) == (-number, True)


@pytest.mark.slow
@each_facade
def test_a_signal_that_the_program_ignores_leaves_the_session_as_it_is(kubeconfig: Path, program: str) -> None:
    ignoring = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    with session(ignoring + program, kubeconfig, "echo-keys") as terminal:
        terminal.until(b"ready")
        raw = termios.tcgetattr(terminal.terminal)
        terminal.process.send_signal(signal.SIGTERM)
        terminal.type(b"\x03")
        terminal.until(b"<03>")
        assert termios.tcgetattr(terminal.terminal) == raw
        terminal.type(b"q")
        assert (terminal.end(), terminal.is_restored) == (5, True)


HANDLED = """
import signal, sys, termios
def handle(number, frame):
    is_cooked = bool(termios.tcgetattr(0)[3] & termios.ICANON)
    print("handled", is_cooked, flush=True)
signal.signal(signal.SIGTERM, handle)
"""


@pytest.mark.slow
@each_facade
def test_a_session_goes_on_after_a_signal_that_the_program_handles(kubeconfig: Path, program: str) -> None:
    with session(HANDLED + program, kubeconfig, "echo-keys") as terminal:
        terminal.until(b"ready")
        terminal.process.send_signal(signal.SIGTERM)
        terminal.until(b"handled True")
        # Keys that are typed before it is raw again are dropped.
        while b"<61>" not in terminal.seen:
            terminal.type(b"a")
            terminal.seen += os.read(terminal.master, 4096)
        terminal.type(b"\x03")
        terminal.until(b"<03>")
        terminal.type(b"q")
        assert (terminal.end(), terminal.is_restored) == (5, True)


@each_facade
def test_a_command_that_does_not_exist_leaves_the_terminal_as_it_was(kubeconfig: Path, program: str) -> None:
    with session(program, kubeconfig, "no-such-command") as terminal:
        terminal.until(b"could not be run")
        assert (terminal.end(), terminal.is_restored) == (1, True)
