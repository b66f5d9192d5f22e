"""Lifecycle hooks of containers: ``postStart`` and ``preStop``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Literal

from masthead_server import eager
from masthead_server.kubelet.container_command import CommandFailure, is_answerable, needs_task, run_command
from masthead_server.kubelet.containers import ContainerRef
from masthead_server.kubelet.pods import container_of
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.process_activity import ProcessObserver
    from masthead_server.wire.plain import Plain

    HookKind = Literal["postStart", "preStop"]

__all__ = ["HookRuns", "hook_of"]

_MAX_STEPS: Final = 1000
"""The number of pauses of a hook that runs without a task; a longer hook continues in a task."""


def hook_of(pod: Plain, name: str, kind: HookKind) -> Plain:
    """Return a hook of a container; empty without one."""
    return part(part(container_of(pod, name) or {}, "lifecycle"), kind)


class HookRuns:
    """Runs hooks: commands in the built-in shell, and pauses on the server's clock. Requests are not sent.

    Args:
        runtime: The pods and their handlers.
    """

    def __init__(self, runtime: PodRuntime) -> None:
        self._runtime = runtime
        self._running: set[asyncio.Future[None]] = set()

    def start(self, pod: Plain, name: str, kind: HookKind, on_end: Callable[[bool], object]) -> Callable[[], object]:
        """Run a hook.

        Args:
            pod: The pod.
            name: The container.
            kind: ``postStart`` or ``preStop``.
            on_end: Called with True after a success, with False after a failure, and not after a cancellation.

        Returns:
            A function that cancels the hook.
        """
        meta = metadata(pod)
        ref = ContainerRef(text(meta, "namespace"), text(meta, "name"), name)
        observer = self._runtime.observer(f"the {kind} hook", ref)

        async def run() -> None:
            on_end(await self._succeeds(pod, name, hook_of(pod, name, kind), observer))

        command = part(hook_of(pod, name, kind), "exec").get("command") or ()
        doing, loop = observer.observe(run()), asyncio.get_running_loop()
        running = loop.create_task(doing) if needs_task(command) else eager.start(doing, pauses=_MAX_STEPS)
        if running.done():
            running.result()
        else:
            self._running.add(running)
            running.add_done_callback(self._running.discard)
        return running.cancel

    def close(self) -> None:
        """Cancel all hooks."""
        for running in tuple(self._running):
            running.cancel()

    async def _succeeds(self, pod: Plain, name: str, hook: Plain, observer: ProcessObserver) -> bool:
        if "sleep" in hook:
            over = asyncio.Event()
            timer = self._runtime.cluster.clock.call_later(float(hook["sleep"].get("seconds") or 0), over.set)
            try:
                await over.wait()
            finally:
                timer.cancel()
            return True
        command = tuple(part(hook, "exec").get("command") or ())
        # A program of an image does not exist here, and counts as a success.
        if not is_answerable(self._runtime, pod, name, command):
            return True
        try:
            code, _ = await run_command(self._runtime, pod, name, command, observer, max_output=0)
        except CommandFailure:
            return False
        return code == 0
