"""Commands of exec probes and hooks, which the kubelet runs in containers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.environment import available_environment
from masthead_server.kubelet.handlers import describe, invoke
from masthead_server.kubelet.pod_host import host_of
from masthead_server.kubelet.pods import container_of
from masthead_server.kubelet.process import CommandLine, ExecProcess
from masthead_server.kubelet.stdio import OutputStream, StdinPipe, TerminalSizes
from masthead_server.kubelet.working_dir import WorkingDirError, check_working_dir, working_dir_of
from masthead_server.wire.plain import metadata, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.process_activity import ProcessObserver
    from masthead_server.wire.plain import Plain

__all__ = ["CommandFailure", "depends_on_files", "is_answerable", "is_handled", "needs_task", "run_command"]

_CONCURRENT: Final = re.compile(r"(?<!\|)\|(?!\|)|(?<!&)&(?!&)|\btail\b")
_FROM_FILES: Final = frozenset(
    {
        "[",
        "[[",
        ":",
        "basename",
        "cat",
        "cd",
        "cut",
        "dirname",
        "echo",
        "env",
        "exit",
        "export",
        "expr",
        "false",
        "grep",
        "head",
        "ls",
        "printenv",
        "printf",
        "pwd",
        "set",
        "sort",
        "stat",
        "tail",
        "test",
        "tr",
        "true",
        "uniq",
        "unset",
        "wc",
    }
)
"""Commands whose outcome depends only on the files and the environment of their container."""


class CommandFailure(Exception):  # noqa: N818 - as an exit code, it is an outcome
    """A command could not run, or its handler failed."""


def is_answerable(runtime: PodRuntime, pod: Plain, name: str, argv: Sequence[str]) -> bool:
    """Tell whether a handler or the built-in shell can run a command; images have no programs."""
    from masthead_server.kubelet.shell.builtin import is_runnable

    return bool(argv) and (is_handled(runtime, pod, name, argv) or is_runnable(argv))


def is_handled(runtime: PodRuntime, pod: Plain, name: str, argv: Sequence[str]) -> bool:
    """Tell whether a handler runs a command, rather than the built-in shell."""
    return runtime.exec_handlers.find(_line(runtime, pod, name, argv)) is not None


def needs_task(argv: Iterable[str]) -> bool:
    """Tell whether a command may start others next to it, which needs a task: pipes, background jobs, ``tail -f``."""
    return any(map(_CONCURRENT.search, argv))


def depends_on_files(runtime: PodRuntime, pod: Plain, name: str, argv: Sequence[str]) -> bool:
    """Tell whether a command has the same outcome until the files of its container change."""
    from masthead_server.kubelet.shell.builtin import commands_of

    if is_handled(runtime, pod, name, argv):
        return False
    names: Iterable[str] | None = commands_of(argv)
    return names is not None and all(command.rpartition("/")[2] in _FROM_FILES for command in names)


async def run_command(
    runtime: PodRuntime, pod: Plain, name: str, argv: Sequence[str], observer: ProcessObserver, *, max_output: int
) -> tuple[int, str]:
    """Run a command in a container; return its exit code and its output on both streams.

    Args:
        runtime: The handlers and containers.
        pod: The pod.
        name: The container.
        argv: The command.
        observer: Observes the tasks that it starts.
        max_output: The maximum size of the output; the rest is dropped.

    Raises:
        CommandFailure: If there is no such command, or if its handler fails.
    """
    from masthead_server.kubelet.shell.builtin import ExecutableNotFoundError, run_builtin
    from masthead_server.kubelet.shell.signals import ShellProcess

    output = bytearray()

    async def keep(data: bytes) -> None:
        output.extend(data[: max_output - len(output)])

    line, stdin, stream = _line(runtime, pod, name, argv), StdinPipe(), OutputStream(keep)
    stdin.close()
    process = ExecProcess(line, stdin.reader, stream, stream, TerminalSizes())
    handler = runtime.exec_handlers.find(line)
    try:
        if handler is not None:
            code = await invoke(handler, process, runtime.threads)
        else:
            container = runtime.container(pod, name)
            check_working_dir(container.files, line.working_dir)
            # A probe may run without a task; what runs it then must not be cancelled.
            shell = ShellProcess(container.processes, has_task=False)
            code = await run_builtin(process, container.files, runtime.cluster.clock, shell, observer)
    except (ExecutableNotFoundError, WorkingDirError) as error:
        raise CommandFailure(f"OCI runtime exec failed: {error}") from error
    except Exception as error:
        raise CommandFailure(describe(error)) from error
    return code, output.decode("utf-8", "replace")


def _line(runtime: PodRuntime, pod: Plain, name: str, argv: Sequence[str]) -> CommandLine:
    meta = metadata(pod)
    env = available_environment(runtime.cluster, pod, name)
    return CommandLine(
        text(meta, "namespace"),
        text(meta, "name"),
        name,
        tuple(argv),
        env,
        host=host_of(pod),
        working_dir=working_dir_of(container_of(pod, name) or {}),
    )
