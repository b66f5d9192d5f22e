"""Runs commands in the built-in shell, without a server."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from masthead_server.clock import VirtualClock
from masthead_server.kubelet.filesystem import FileSystem
from masthead_server.kubelet.process import CommandLine, ExecProcess
from masthead_server.kubelet.shell.builtin import run_builtin
from masthead_server.kubelet.shell.signals import ProcessTable, ShellProcess
from masthead_server.kubelet.stdio import OutputStream, StdinPipe, TerminalSizes
from masthead_server.process_activity import ProcessActivity

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass
class ShellRun:
    """A container without a server: its files, clock and processes."""

    env: Mapping[str, str] = field(default_factory=lambda: {"HOME": "/root", "PATH": "/bin"})
    clock: VirtualClock = field(default_factory=VirtualClock)
    files: FileSystem = field(default_factory=lambda: FileSystem(10_000_000, lambda: 0.0))
    table: ProcessTable = field(default_factory=ProcessTable)

    async def run(self, *argv: str, stdin: bytes = b"") -> tuple[str, str, int]:
        """Run a command to its end; return stdout, stderr and the exit code."""
        stdout, stderr, pipe = bytearray(), bytearray(), StdinPipe()

        async def keep_stdout(data: bytes) -> None:
            stdout.extend(data)

        async def keep_stderr(data: bytes) -> None:
            stderr.extend(data)

        line = CommandLine("default", "web", "app", argv, self.env)
        process = ExecProcess(line, pipe.reader, OutputStream(keep_stdout), OutputStream(keep_stderr), TerminalSizes())
        await pipe.feed(stdin)
        pipe.close()
        observer = ProcessActivity().observer("a test")
        code = await run_builtin(process, self.files, self.clock, ShellProcess(self.table), observer)
        return stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace"), code

    def run_script(self, script: str) -> tuple[str, str, int]:
        """Run ``sh -c`` to its end, with as little patience as a test has."""

        async def run() -> tuple[str, str, int]:
            async with asyncio.timeout(60):
                return await self.run("sh", "-c", script)

        try:
            return asyncio.run(run())
        finally:
            self.files.close()
