"""Containers as the kubelet runs them: their logs, and the sessions that end with them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.filesystem import FileSystem
from masthead_server.kubelet.logs import LogStore
from masthead_server.kubelet.records import STDOUT
from masthead_server.kubelet.stdio import StdinPipe, TerminalSizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.clock import Clock
    from masthead_server.kubelet.main_process import MainProcess
    from masthead_server.kubelet.shell.signals import ProcessTable

__all__ = ["ContainerInstance", "ContainerRef", "ContainerTable", "MainStdio", "RuntimeLimits"]

_UNNAMED: Final = ""
"""Stands for the first container of a pod that does not exist yet."""


@dataclass(slots=True)
class RuntimeLimits:
    """Limits of each container, in bytes.

    Attributes:
        log: Bytes of a log; older lines are dropped.
        files: Bytes of all files; writing more is an error, as on a full disk.
    """

    log: int = 64 * 1024 * 1024
    files: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ContainerRef:
    """Names a container of a pod."""

    namespace: str
    pod: str
    container: str = _UNNAMED


class MainStdio:
    """The input of attached clients to a main process.

    Args:
        is_stdin_once: Whether stdin ends when the first client disconnects.
    """

    def __init__(self, *, is_stdin_once: bool) -> None:
        self.stdin: StdinPipe = StdinPipe()
        self.sizes: TerminalSizes = TerminalSizes()
        self.is_stdin_once = is_stdin_once

    def close(self) -> None:
        """End stdin and sizes, since the process has ended."""
        self.stdin.close()
        self.sizes.close()


class ContainerInstance:
    """A container, through all its restarts.

    Args:
        limits: Its limits.
        clock: The server's.
    """

    def __init__(self, limits: RuntimeLimits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self.log: LogStore = LogStore(limits.log)
        """Its log."""
        self._files: FileSystem | None = None
        self._mount: Callable[[FileSystem], None] | None = None
        self.previous: LogStore | None = None
        """The log of its previous run."""
        self.ended: asyncio.Event = asyncio.Event()
        """Set when the container ends, and with it its commands and streams."""
        self.main: MainStdio | None = None
        """The streams of its main process, while that runs."""
        self.process: MainProcess | None = None
        """Its main process, if it has one."""
        self._processes: ProcessTable | None = None

    @property
    def files(self) -> FileSystem:
        """Its files, which survive restarts; created on first use, because most containers need none."""
        if self._files is None:
            self._files = FileSystem(self._limits.files, lambda: self._clock.now().timestamp())
            if self._mount is not None:
                self._files.mount_with(self._mount)
        return self._files

    @property
    def processes(self) -> ProcessTable:
        """The processes of this run, by their ids; created on first use, because most containers need none."""
        if self._processes is None:
            from masthead_server.kubelet.shell.signals import ProcessTable

            self._processes = ProcessTable()
        return self._processes

    def mount_with(self, mount: Callable[[FileSystem], None]) -> None:
        """Set the function that mounts its volumes once its files exist, which may be now."""
        if self._mount is not None:
            return
        self._mount = mount
        if self._files is not None:
            self._files.mount_with(mount)

    @property
    def has_files(self) -> bool:
        """Whether its files were ever used."""
        return self._files is not None and self._files.is_used

    def print(self, data: bytes, stream: str = STDOUT) -> None:
        """Append to the log; no-op once the container has ended."""
        self.log.append(data, self._clock.now(), stream)

    def end(self) -> None:
        """End the container, its commands and its streams; the log can still be read."""
        # Followers of the log end with it.
        self.log.end()
        self.ended.set()
        self.main = None
        self._processes = None
        process, self.process = self.process, None
        if process is not None:
            process.drop()

    def restart(self) -> None:
        """End the container, and start it again with an empty log."""
        self.end()
        # Only one previous log is stored, as with a kubelet.
        if self.previous is not None:
            self.previous.close()
        self.previous, self.log = self.log, LogStore(self._limits.log)
        # A new event, because commands of the old run still wait for the old one.
        self.ended = asyncio.Event()

    def drop(self) -> None:
        """End the container, and drop its logs and files."""
        self.end()
        for log in (self.log, self.previous):
            if log is not None:
                log.close()
        if self._files is not None:
            self._files.close()


class ContainerTable:
    """All containers, created on first use.

    Args:
        limits: The limits of each container.
        clock: The server's.
    """

    def __init__(self, limits: RuntimeLimits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._pods: dict[tuple[str, str], dict[str, ContainerInstance]] = {}

    def get(self, ref: ContainerRef, *, is_first: bool = True) -> ContainerInstance:
        """Return a container.

        Args:
            ref: The name of the container.
            is_first: Whether it is the first of its pod, which gets the logs and files from before the pod existed.
        """
        pod = self._pods.setdefault((ref.namespace, ref.pod), {})
        if ref.container not in pod:
            # A test may have written logs or files before it created the pod.
            prepared = pod.pop(_UNNAMED, None) if is_first else None
            pod[ref.container] = prepared or ContainerInstance(self._limits, self._clock)
        return pod[ref.container]

    def of_pod(self, namespace: str, pod: str) -> dict[str, ContainerInstance]:
        """Return the containers of a pod that were used, by name."""
        return self._pods.get((namespace, pod), {})

    def drop_pod(self, namespace: str, pod: str) -> None:
        """End the containers of a pod, and forget them."""
        for container in self._pods.pop((namespace, pod), {}).values():
            container.drop()

    def close(self) -> None:
        """End all containers."""
        # A copy: dropping a container changes the table.
        for namespace, pod in list(self._pods):
            self.drop_pod(namespace, pod)
