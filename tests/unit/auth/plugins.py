"""Exec plugins for tests, and event loops to run them in."""

from __future__ import annotations

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from masthead._auth.exec import ExecPlugin

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from pathlib import Path

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"

PRELUDE = """
import json, os, socket, sys
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "runs"), "ab") as runs:
    runs.write(b".")
    run = runs.tell()
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])

def reply(version=info["apiVersion"], kind="ExecCredential", **status):
    print(json.dumps({"apiVersion": version, "kind": kind, "status": status}))

def hang(port):
    held = socket.create_connection(("127.0.0.1", port))
    held.sendall(b"here")
    held.recv(1)

def give():
    with open(os.path.join(here, "status.json")) as file:
        reply(**json.load(file))

"""


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.at = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def advance(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


class Program:
    """A plugin in a folder of its own, which counts its runs."""

    def __init__(self, folder: Path, body: str = "give()") -> None:
        self._folder = folder
        self.script = folder / "plugin.py"
        self.script.write_text(PRELUDE + body)
        self.clock = Clock()

    @property
    def runs(self) -> int:
        counted = self._folder / "runs"
        return len(counted.read_bytes()) if counted.exists() else 0

    def gives(self, **status: object) -> Program:
        """Set the status that the next runs print."""
        (self._folder / "status.json").write_text(json.dumps(status))
        return self

    def plugin(self, args: Sequence[str] = (), **more: Any) -> ExecPlugin:
        settings: dict[str, Any] = {"now": self.clock, "interactive": False, "environ": {}, **more}
        return ExecPlugin(sys.executable, ("-IS", str(self.script), *args), **settings)


class Line:
    """A port that plugins connect to: it receives what they send, and detects when the last of them has exited."""

    def __init__(self) -> None:
        self._calls: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._calls.put((reader, writer))

        self._server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def called(self) -> Call:
        """Wait for a plugin to connect."""
        reader, writer = await self._calls.get()
        assert await reader.readexactly(4) == b"here"
        return Call(reader, writer)


class Call:
    """A connected plugin."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def hang_up(self) -> None:
        """Let the plugin continue."""
        self._writer.write(b".")

    async def is_gone(self) -> bool:
        """Wait until every connected process has exited."""
        async with asyncio.timeout(30):
            try:
                rest = await self._reader.read()
            except ConnectionResetError:
                rest = b""
        self._writer.close()
        return rest == b""


def run_in(loop: str, *, thread: bool, main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a coroutine in a loop of a library, in this thread or in another."""
    import uvloop

    factory = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}[loop]

    def run() -> None:
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(main())

    if not thread:
        run()
        return
    with ThreadPoolExecutor(1) as other:
        other.submit(run).result()
