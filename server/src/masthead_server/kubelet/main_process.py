"""Main processes: what containers do from their start to their end."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.containers import ContainerRef, MainStdio
from masthead_server.kubelet.handlers import invoke
from masthead_server.kubelet.pods import container_of, environment_of
from masthead_server.kubelet.process import CommandLine, ExecProcess
from masthead_server.kubelet.records import STDERR, STDOUT
from masthead_server.kubelet.stdio import OutputStream
from masthead_server.wire.plain import metadata, text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead_server.kubelet.containers import ContainerInstance
    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.wire.plain import Plain

__all__ = ["MainProcesses"]

_log: Final = logging.getLogger("masthead.server.kubelet")


class MainProcesses:
    """Runs the main processes of containers: a handler, or the built-in shell if it knows the command.

    A container with neither does nothing, and runs until it is ended.

    Args:
        runtime: The pods and their containers.
        on_exit: Called with the container and the exit code when a main process ends without being stopped.
    """

    def __init__(self, runtime: PodRuntime, on_exit: Callable[[ContainerRef, int], Awaitable[None]]) -> None:
        self._runtime = runtime
        self._on_exit = on_exit
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, pod: Plain, name: str) -> None:
        """Start the main process of a container that has just started."""
        from masthead_server.kubelet.shell.builtin import is_runnable  # which few servers need

        spec, meta = container_of(pod, name) or {}, metadata(pod)
        argv = (*spec.get("command", ()), *spec.get("args", ()))
        if not argv and spec.get("stdin"):
            argv = ("sh",)  # as the images that one debugs with
        line = CommandLine(
            text(meta, "namespace"),
            text(meta, "name"),
            name,
            argv,
            environment_of(pod, name),
            spec.get("tty") is True,
        )
        # Most images are not here: their containers just run.
        if self._runtime.main_handlers.find(line) is None and not is_runnable(argv):
            return
        container = self._runtime.container(pod, name)
        container.main = stdio = MainStdio(is_stdin_once=spec.get("stdinOnce") is True)
        if not spec.get("stdin"):
            stdio.stdin.close()
        task = asyncio.get_running_loop().create_task(self._run(line, container, stdio))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """Cancel all main processes."""
        for task in tuple(self._tasks):
            task.cancel()

    async def _run(self, line: CommandLine, container: ContainerInstance, stdio: MainStdio) -> None:
        """Run a process to its end, or until its container is ended."""
        code: int | None = None
        async with asyncio.TaskGroup() as group:
            running = group.create_task(self._execute(line, container, stdio))
            ending = group.create_task(container.ended.wait())
            try:
                await asyncio.wait((running, ending), return_when=asyncio.FIRST_COMPLETED)
                # A container that was ended from outside is not restarted here.
                code = running.result() if running.done() and not ending.done() else None
            finally:
                stdio.close()
                running.cancel()
                ending.cancel()
        if code is not None:
            await self._on_exit(ContainerRef(line.namespace, line.pod, line.container), code)

    async def _execute(self, line: CommandLine, container: ContainerInstance, stdio: MainStdio) -> int:
        log, clock = container.log, self._runtime.cluster.clock

        def output(stream: str) -> OutputStream:
            async def send(data: bytes) -> None:
                # A handler in a thread cannot be cancelled, and finds out when it prints.
                if log.is_ended:
                    raise BrokenPipeError("the container has ended")
                log.append(data, clock.now(), stream)
                await asyncio.sleep(0)  # who prints without a pause must not hold other requests

            return OutputStream(send)

        stderr = output(STDOUT if line.is_tty else STDERR)
        process = ExecProcess(line, stdio.stdin.reader, output(STDOUT), stderr, stdio.sizes)
        from masthead_server.kubelet.shell.builtin import run_builtin

        try:
            handler = self._runtime.main_handlers.find(line)
            if handler is not None:
                return await invoke(handler, process, self._runtime.threads)
            return await run_builtin(process, container.files, clock)
        except Exception:  # noqa: BLE001 - whatever a handler raises ends its container, as a crash
            # Errors of a handler that was interrupted are no news.
            if not log.is_ended:
                _log.exception("%r crashed: an error in its handler", process)
            return 1
