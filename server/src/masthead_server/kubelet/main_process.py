"""Main processes of containers: handlers, and commands of the built-in shell."""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.container_states import ContainerEnd
from masthead_server.kubelet.containers import ContainerRef, MainStdio
from masthead_server.kubelet.environment import (
    ContainerConfigError,
    available_environment,
    command_of,
    environment_of,
    has_references,
)
from masthead_server.kubelet.handlers import invoke
from masthead_server.kubelet.pod_host import host_of
from masthead_server.kubelet.pods import container_of
from masthead_server.kubelet.process import CommandLine, ExecProcess
from masthead_server.kubelet.records import STDERR, STDOUT
from masthead_server.kubelet.stdio import OutputStream
from masthead_server.kubelet.working_dir import create_working_dir, working_dir_of
from masthead_server.process_turns import TurnClock
from masthead_server.wire.plain import items, metadata, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead_server.kubelet.containers import ContainerInstance
    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.kubelet.shell.signals import ShellProcess
    from masthead_server.wire.plain import Plain

__all__ = ["KILLED", "OOM_KILLED", "TERMINATED", "MainProcess", "MainProcesses"]

_log: Final = logging.getLogger("masthead.server.kubelet")
TERMINATED: Final = 143
"""The exit code of a process that SIGTERM has ended."""
KILLED: Final = 137
"""The exit code of a process that SIGKILL has ended."""
OOM_KILLED: Final = "OOMKilled"
"""The reason of a process that exceeded its memory limit."""


class MainProcess:
    """The main process of a container, which signals may end.

    Args:
        runtime: The handlers, and the clock.
        line: The command.
        container: Its container.
        on_exit: Called once with the exit code, unless the process is dropped.
    """

    def __init__(
        self,
        runtime: PodRuntime,
        line: CommandLine,
        container: ContainerInstance,
        on_exit: Callable[[int], object],
    ) -> None:
        self.on_exit: Callable[[int], object] = on_exit
        self.reason: str = ""
        """The reason of its end, unless that follows from the exit code."""
        self._runtime = runtime
        self._line = line
        self._container = container
        self._handler = runtime.main_handlers.find(line)
        ref = ContainerRef(line.namespace, line.pod, line.container)
        self._observer = runtime.observer("the main process", ref)
        self._shell: ShellProcess | None = None
        self._code: int | None = None
        self._is_terminated = False
        self._task: asyncio.Task[None] | None = None

    def start(self, stdio: MainStdio) -> asyncio.Task[None]:
        """Start it."""
        self._container.processes.set_init(self)
        self._task = asyncio.get_running_loop().create_task(self._observer.observe(self._run(stdio)))
        return self._task

    def terminate(self) -> None:
        """Send SIGTERM: a coroutine is cancelled, a shell runs its trap, and anything else ends."""
        if self._shell is not None and self._shell.deliver("TERM"):
            return
        handler = self._handler
        if handler is not None and self._task is not None and inspect.iscoroutinefunction(handler):
            # The handler may return an exit code, or continue until it is killed.
            self._is_terminated = True
            self._task.cancel()
        else:
            self._finish(TERMINATED)

    def signal(self, name: str, /) -> None:
        """Send a signal from within the container, whose main process ignores signals without a trap."""
        if self._shell is not None:
            self._shell.signal(name)
        # For a coroutine, its cancellation is the trap.
        elif name == "TERM" and inspect.iscoroutinefunction(self._handler):
            self.terminate()

    def kill(self) -> None:
        """Send SIGKILL: the process ends immediately."""
        self._finish(KILLED)

    def drop(self) -> None:
        """End the process without calling `on_exit`."""
        self.on_exit = _ignore
        self._finish(KILLED)

    def _finish(self, code: int) -> None:
        if self._code is None:
            self._code = code
            if self._task is not None and self._task is not _current_task():
                self._task.cancel()
            self.on_exit(code)

    async def _run(self, stdio: MainStdio) -> None:
        try:
            code = await self._execute(stdio)
        except asyncio.CancelledError:
            # Without a signal, the server itself ends, and there is nothing to report.
            if not self._is_terminated:
                raise
            code = TERMINATED
        finally:
            stdio.close()
        self._finish(code)

    async def _execute(self, stdio: MainStdio) -> int:
        line, container = self._line, self._container
        log, cluster = container.log, self._runtime.cluster
        clock = cluster.clock
        # A workload may start thousands of processes at once.
        await cluster.process_turns.wait()

        def output(stream: str) -> OutputStream:
            async def send(data: bytes) -> None:
                # A handler in a thread cannot be cancelled; its next write fails.
                if log.is_ended or self._code is not None:
                    raise BrokenPipeError("the container has ended")
                log.append(data, clock.now(), stream)
                await asyncio.sleep(0)  # let other requests run between the writes of a busy handler

            return OutputStream(send)

        stderr = output(STDOUT if line.is_tty else STDERR)
        process = ExecProcess(line, stdio.stdin.reader, output(STDOUT), stderr, stdio.sizes)
        try:
            if self._handler is not None:
                return await invoke(self._handler, process, self._runtime.threads)
            from masthead_server.kubelet.shell.builtin import run_builtin
            from masthead_server.kubelet.shell.signals import ShellProcess

            self._shell = ShellProcess(container.processes, is_init=True)
            paced = TurnClock(clock, cluster.process_turns)
            return await run_builtin(process, container.files, paced, self._shell, self._observer)
        # As for a container that exceeds its memory limit.
        except MemoryError:
            self.reason = OOM_KILLED
            return KILLED
        except Exception:  # noqa: BLE001 - whatever a handler raises ends its container, as a crash
            # The errors of an interrupted handler are expected.
            if not log.is_ended and self._code is None:
                _log.exception("%r crashed: an error in its handler", process)
            return 1


def _ignore(_code: int) -> None:
    pass


def _current_task() -> asyncio.Task[object] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # a test advanced the clock outside of the loop
        return None


class MainProcesses:
    """Runs the main processes of containers: a handler, or the built-in shell if it knows the command.

    Without either, a container runs and does nothing until it is stopped.

    Args:
        runtime: The pods and their containers.
        on_exit: Called with the container and its end when a main process exits.
    """

    def __init__(self, runtime: PodRuntime, on_exit: Callable[[ContainerRef, ContainerEnd], None]) -> None:
        self._runtime = runtime
        self._on_exit = on_exit
        self._tasks: set[asyncio.Task[None]] = set()

    def is_scripted(self, pod: Plain, name: str) -> bool:
        """Tell whether a container has a main process.

        Raises:
            ContainerConfigError: If its environment refers to something that does not exist, or if a ``subPathExpr`` is
                invalid.
        """
        from masthead_server.kubelet.shell.builtin import is_runnable  # which few servers need

        if any(mount.get("subPathExpr") for mount in items(container_of(pod, name) or {}, "volumeMounts")):
            from masthead_server.kubelet.volumes import check_sub_paths

            check_sub_paths(self._runtime.cluster, pod, name)
        line = self._read_line(pod, name)
        return self._runtime.main_handlers.find(line) is not None or is_runnable(line.argv)

    def problem_with_script(self, pod: Plain, name: str) -> str:
        """Return why the script of a container does not run; empty if it runs, and for other containers."""
        from masthead_server.kubelet.shell.builtin import problem_with_script

        try:
            line = self._read_line(pod, name)
        except ContainerConfigError:
            return ""
        return "" if self._runtime.main_handlers.find(line) is not None else problem_with_script(line.argv)

    def _read_line(self, pod: Plain, name: str) -> CommandLine:
        """Return the command of a container, with as much of its environment as that needs.

        Raises:
            ContainerConfigError: If its environment refers to something that does not exist.
        """
        spec, env = container_of(pod, name) or {}, dict[str, str]()
        words = (*(spec.get("command") or ()), *(spec.get("args") or ()))
        # Resolving the environment is expensive, and most containers need none before a command runs.
        if has_references(spec) or any("$" in word for word in words):
            env = environment_of(self._runtime.cluster, pod, name)
        return self._line(pod, spec, env)

    def _line(self, pod: Plain, spec: Plain, env: Mapping[str, str]) -> CommandLine:
        meta = metadata(pod)
        argv = command_of(spec, env)
        if not argv and spec.get("stdin"):
            argv = ("sh",)  # as in images for debugging
        return CommandLine(
            text(meta, "namespace"),
            text(meta, "name"),
            text(spec, "name"),
            argv,
            env,
            spec.get("tty") is True,
            host_of(pod),
            working_dir_of(spec),
        )

    def start(self, pod: Plain, name: str) -> None:
        """Start the main process of a container that has one.

        Raises:
            WorkingDirError: If the container cannot have its working directory.
        """
        is_scripted, spec = self._is_scripted_now(pod, name), container_of(pod, name) or {}
        working_dir = working_dir_of(spec)
        # Files take memory: a container without a process needs them only if a volume may not have the directory.
        if working_dir != "/" and (is_scripted or items(spec, "volumeMounts")):
            create_working_dir(self._runtime.container(pod, name).files, working_dir)
        # Without the image's program, the container just runs.
        if is_scripted:
            self._start_process(pod, spec)

    def _is_scripted_now(self, pod: Plain, name: str) -> bool:
        try:
            return self.is_scripted(pod, name)
        except ContainerConfigError:
            return False  # a ConfigMap or Secret was deleted since the check

    def _start_process(self, pod: Plain, spec: Plain) -> None:
        name = text(spec, "name")
        line = self._line(pod, spec, available_environment(self._runtime.cluster, pod, name))
        container = self._runtime.container(pod, name)
        container.main = stdio = MainStdio(is_stdin_once=spec.get("stdinOnce") is True)
        if not spec.get("stdin"):
            stdio.stdin.close()
        ref = ContainerRef(line.namespace, line.pod, name)

        def on_exit(code: int) -> None:
            self._on_exit(ref, ContainerEnd(code, process.reason))

        process = MainProcess(self._runtime, line, container, on_exit)
        container.process = process
        task = process.start(stdio)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """Cancel all main processes."""
        for task in tuple(self._tasks):
            task.cancel()
