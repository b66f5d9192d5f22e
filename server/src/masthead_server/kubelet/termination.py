"""The termination of pods: SIGTERM for their main processes, and SIGKILL after the grace period."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.container_states import ContainerEnd, is_sidecar
from masthead_server.kubelet.hooks import hook_of
from masthead_server.kubelet.pods import container_of
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from masthead_server.clock import Timer
    from masthead_server.kubelet.containers import ContainerInstance
    from masthead_server.kubelet.hooks import HookRuns
    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.wire.plain import Plain

__all__ = ["PodTermination", "grace_of", "termination_message"]

_MAX_MESSAGE: Final = 4096
_DEFAULT_PATH: Final = "/dev/termination-log"
_DEFAULT_GRACE: Final = 30.0
_MIN_GRACE: Final = 2.0
"""Seconds between SIGTERM and SIGKILL for a container whose hook has used up the grace period."""


def grace_of(pod: Plain) -> float:
    """Return the grace period of a pod, in seconds."""
    grace = part(pod, "spec").get("terminationGracePeriodSeconds")
    return _DEFAULT_GRACE if grace is None else float(grace)


class PodTermination:
    """Terminates containers of a pod within a grace period: sidecars after the others, in reverse order.

    Args:
        runtime: The containers, and the clock.
        hooks: Runs preStop hooks.
        pod: The pod.
        names: The running containers.
        on_hook_failed: Called with the name of a container whose hook failed.
        on_ended: Called when all containers have ended.

    Attributes:
        ends: The ends of the containers, by name.
    """

    def __init__(
        self,
        runtime: PodRuntime,
        hooks: HookRuns,
        pod: Plain,
        names: Iterable[str],
        on_hook_failed: Callable[[str], object],
        on_ended: Callable[[], object],
    ) -> None:
        self.ends: dict[str, ContainerEnd] = {}
        self._runtime = runtime
        self._hooks = hooks
        self._pod = pod
        self._on_hook_failed = on_hook_failed
        self._on_ended = on_ended
        running = list(names)
        sidecars = [text(item, "name") for item in items(part(pod, "spec"), "initContainers") if is_sidecar(item)]
        later = [name for name in reversed(sidecars) if name in running]
        self._waves: list[list[str]] = [
            [name for name in running if name not in later],
            *([name] for name in later),
        ]
        self._open: set[str] = set()
        self._hooked: dict[str, Callable[[], object]] = {}
        """Functions that cancel the running hooks."""
        self._timer: Timer | None = None
        self._is_over = False
        self._is_advancing = False
        self._has_ended = False

    def begin(self, grace: float) -> None:
        """Run the hooks, then send SIGTERM to the first containers; kill the others after the grace period."""
        self.shorten(grace)
        if grace > 0:
            # All hooks run now, also those of sidecars, which end later.
            for name in [name for wave in self._waves for name in wave]:
                self._start_hook(name)
        self._next()

    def shorten(self, grace: float) -> None:
        """Kill the remaining containers after this grace period."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._runtime.cluster.clock.call_later(grace, self._kill)

    def close(self) -> None:
        """Cancel the timer and the hooks."""
        if self._timer is not None:
            self._timer.cancel()
        self._cancel_hooks()

    def _start_hook(self, name: str) -> None:
        if not hook_of(self._pod, name, "preStop"):
            return
        is_running = True

        def end(is_success: bool) -> None:
            nonlocal is_running
            is_running = False
            if not is_success:
                self._on_hook_failed(name)
            # Only after `begin` has returned, which otherwise sends the signal itself.
            if self._hooked.pop(name, None) is not None and name in self._open:
                self._terminate(name)

        cancel = self._hooks.start(self._pod, name, "preStop", end)
        if is_running:
            self._hooked[name] = cancel

    def _cancel_hooks(self) -> list[str]:
        names, hooked = list(self._hooked), self._hooked
        self._hooked = {}
        for cancel in hooked.values():
            cancel()
        return names

    def _next(self) -> None:
        # A process that ends immediately calls this method again.
        if self._is_advancing or self._has_ended:
            return
        self._is_advancing = True
        while self._waves and not self._open:
            names = self._waves.pop(0)
            self._open = set(names)
            for name in names:
                if name not in self._hooked:
                    self._terminate(name)
        self._is_advancing = False
        if not self._open:
            self._has_ended = True
            self.close()
            self._on_ended()

    def _terminate(self, name: str) -> None:
        process = self._runtime.container(self._pod, name).process
        # A container without a process ends like a server that handles SIGTERM.
        if process is None:
            self._end(name, 0)
            return
        process.on_exit = partial(self._end, name)
        process.terminate()
        # After the grace period, sidecars are killed immediately.
        if self._is_over and name in self._open:
            process.kill()

    def _end(self, name: str, code: int) -> None:
        container = self._runtime.container(self._pod, name)
        message = termination_message(container_of(self._pod, name) or {}, container, code)
        self.ends[name] = ContainerEnd(code, message=message)
        self._open.discard(name)
        self._next()

    def _kill(self) -> None:
        interrupted = [name for name in self._cancel_hooks() if name in self._open]
        self._is_over = not interrupted
        for name in sorted(self._open.difference(interrupted)):
            process = self._runtime.container(self._pod, name).process
            if process is not None:
                process.kill()
        if interrupted:
            self._timer = self._runtime.cluster.clock.call_later(_MIN_GRACE, self._kill)
        for name in interrupted:
            self._terminate(name)


def termination_message(spec: Plain, container: ContainerInstance, code: int) -> str:
    """Return the termination message of a container, from its file or the end of its log."""
    message = ""
    if container.has_files:
        try:
            found = container.files.file(text(spec, "terminationMessagePath") or _DEFAULT_PATH)
            message = found.read(0, _MAX_MESSAGE).decode("utf-8", "replace")
        except OSError:
            message = ""
    if not message and code and text(spec, "terminationMessagePolicy") == "FallbackToLogsOnError":
        message = container.log.last_text()
    return message
