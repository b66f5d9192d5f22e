"""A program that runs informers of ConfigMaps, one per namespace, and says what they see.

    PROGRAM informers --kubeconfig FILE --namespaces NAME,NAME

It prints lines of JSON: ``informer`` (its position) and ``tick`` (the object's data of that name) for each object that
a handler gets; ``synced`` with ``seconds``, ``cpu_seconds``, ``rss_bytes``,
``rss_before`` and ``sockets`` once all handlers have the first state; and, for each line of stdin, the last three of
these at that moment, with ``cpu_seconds`` since the start of the process. It ends with stdin.
``MASTHEAD_CLIENT_GO_BENCH`` names such a program for client-go.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from typing import TYPE_CHECKING, Any, Final

from benchmarks.harness.measure import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
    from pathlib import Path

_READY_WITHIN: Final = 300.0


class InformerProgram:
    """A running program, and what its informers have seen.

    Attributes:
        synced: What it printed when all informers had synced.
        ticks: The last tick that each informer has dispatched.
        has_ended: Whether it prints no more.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process_id: Final = process.pid
        self.synced: dict[str, Any] = {}
        self.ticks: dict[int, str] = {}
        self.has_ended = False
        self._process = process
        self._answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._changed = asyncio.Event()

    async def read(self) -> None:
        """Read what it prints until it ends."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self._take(json.loads(line))
            self._changed.set()
        self.has_ended = True
        self._changed.set()

    async def stats(self) -> dict[str, Any]:
        """CPU, memory and sockets of the program now."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"stats\n")
        return await self._answers.get()

    async def until(self, is_so: Callable[[], bool], *, within: float = _READY_WITHIN) -> bool:
        """Wait for a condition on what it printed; return whether it became true in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                while not is_so():
                    self._changed.clear()
                    await self._changed.wait()
        return is_so()

    def _take(self, line: dict[str, Any]) -> None:
        if "informer" in line:
            self.ticks[line["informer"]] = line["tick"]
        elif "synced" in line:
            self.synced = line
        else:
            self._answers.put_nowait(line)


@contextlib.asynccontextmanager
async def running(
    command: Sequence[str | Path],
    kubeconfig: Path,
    namespaces: Sequence[str],
    environment: Mapping[str, str] | None = None,
) -> AsyncGenerator[InformerProgram]:
    """Run a program until the end of the block; it has synced when the block begins.

    Raises:
        RuntimeError: if it does not sync.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        "--kubeconfig",
        kubeconfig,
        "--namespaces",
        ",".join(namespaces),
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    program = InformerProgram(process)
    reading = asyncio.get_running_loop().create_task(program.read())
    try:
        await program.until(lambda: bool(program.synced) or program.has_ended)
        if not program.synced:
            raise RuntimeError(f"{command[0]} did not sync its informers")
        yield program
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()
        await reading
