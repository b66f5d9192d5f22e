"""The end of pods: their main processes get SIGTERM, and SIGKILL when their grace period is over."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.container_states import ContainerEnd, is_sidecar
from masthead_server.kubelet.pods import container_of
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from masthead_server.clock import Timer
    from masthead_server.kubelet.containers import ContainerInstance
    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.wire.plain import Plain

__all__ = ["PodTermination", "termination_message"]

_MAX_MESSAGE: Final = 4096
_DEFAULT_PATH: Final = "/dev/termination-log"


class PodTermination:
    """Ends the containers of a pod within its grace period: sidecars after the others, the last one first.

    Args:
        runtime: The containers, and the clock.
        pod: The pod.
        names: The containers that run.
        on_ended: Called when all have ended.

    Attributes:
        ends: How the containers have ended.
    """

    def __init__(self, runtime: PodRuntime, pod: Plain, names: Iterable[str], on_ended: Callable[[], object]) -> None:
        self.ends: dict[str, ContainerEnd] = {}
        self._runtime = runtime
        self._pod = pod
        self._on_ended = on_ended
        running = list(names)
        sidecars = [text(item, "name") for item in items(part(pod, "spec"), "initContainers") if is_sidecar(item)]
        later = [name for name in reversed(sidecars) if name in running]
        self._waves: list[list[str]] = [
            [name for name in running if name not in later],
            *([name] for name in later),
        ]
        self._open: set[str] = set()
        self._timer: Timer | None = None
        self._is_over = False

    def begin(self, grace: float) -> None:
        """Send SIGTERM to the first containers; whatever is left after the grace period is killed."""
        self.shorten(grace)
        self._next()

    def shorten(self, grace: float) -> None:
        """Set when the rest is killed."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._runtime.cluster.clock.call_later(grace, self._kill)

    def close(self) -> None:
        """Forget the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _next(self) -> None:
        while self._waves and not self._open:
            names = self._waves.pop(0)
            self._open = set(names)
            for name in names:
                self._terminate(name)
        if not self._open and not self._waves:
            self.close()
            self._on_ended()

    def _terminate(self, name: str) -> None:
        process = self._runtime.container(self._pod, name).process
        # What just runs ends as servers do that obey the signal.
        if process is None:
            self._ended(name, 0)
            return
        process.on_exit = partial(self._end_and_continue, name)
        process.terminate()
        # A sidecar whose turn comes after the grace period gets no further one.
        if self._is_over and name in self._open:
            process.kill()

    def _end_and_continue(self, name: str, code: int) -> None:
        is_late = not self._open - {name}
        self._ended(name, code)
        # Within a wave, the loop above continues.
        if is_late:
            self._next()

    def _ended(self, name: str, code: int) -> None:
        container = self._runtime.container(self._pod, name)
        message = termination_message(container_of(self._pod, name) or {}, container, code)
        self.ends[name] = ContainerEnd(code, message=message)
        self._open.discard(name)

    def _kill(self) -> None:
        self._is_over = True
        while self._open:
            process = self._runtime.container(self._pod, next(iter(self._open))).process
            if process is None:
                return
            process.kill()


def termination_message(spec: Plain, container: ContainerInstance, code: int) -> str:
    """Return what a container has left: the file of its termination message, or the end of its log."""
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
