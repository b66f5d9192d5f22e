"""Idleness of a server: nothing happens any more without a request or a timer."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Final

from masthead_server.process_activity import ITERATIONS_TO_PAUSE

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.cluster import ClusterState
    from masthead_server.controllers.manager import ControllerManager
    from masthead_server.http import HttpHandler

__all__ = ["ITERATIONS_TO_ACCEPT", "Idleness"]

ITERATIONS_TO_ACCEPT: Final = 8
"""Iterations of the event loop in which an incoming connection is accepted, looked at, handed on, and first read."""
_ITERATIONS: Final = max(ITERATIONS_TO_ACCEPT, ITERATIONS_TO_PAUSE)


class Idleness:
    """Tells what keeps a server from being idle, and waits for it.

    Args:
        cluster: The cluster state.
        handler: The requests and watches.
        controllers: The controllers.
        progress: Set when some of this work has ended.
        check_running: Raises an error once the server has stopped.
    """

    def __init__(
        self,
        cluster: ClusterState,
        handler: HttpHandler,
        controllers: ControllerManager,
        progress: asyncio.Event,
        check_running: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._handler = handler
        self._controllers = controllers
        self._progress = progress
        self._check_running = check_running

    def pending_work(self) -> list[str]:
        """Describe what keeps the server from being idle at this moment."""
        found = [f"{request.info} has no response yet" for request in self._handler.in_flight]
        if not self._controllers.is_idle:
            found.append("the controllers have objects to reconcile")
        found += self._controllers.describe_delays()
        if not self._cluster.background.is_idle:
            found.append("writes of the kubelet wait for admission")
        if not self._cluster.process_turns.is_idle:
            found.append("main processes wait for their turn")
        activity = self._cluster.process_activity
        found += [f"{name} computes without a pause" for name in activity.computing]
        found += [f"{name} has not ended" for name in activity.held]
        unread = [info for watch, info in self._handler.watchers.items() if not watch.is_caught_up]
        return found + [f"the client of {info} does not read what it is sent" for info in unread]

    async def wait(self, timeout: float) -> None:  # noqa: ASYNC109 - its error names the pending work
        """Wait until the server is idle.

        Args:
            timeout: Seconds of real time.

        Raises:
            TimeoutError: If it does not become idle in time.
            ClosedError: If the server stops meanwhile.
        """
        pending: list[str] = []
        deadline = monotonic() + timeout
        try:
            async with asyncio.timeout(timeout):
                while True:
                    has_computed = await self._let_compute()
                    pending = self.pending_work()
                    if not pending and not has_computed:
                        return
                    if not has_computed and not self._cluster.process_activity.computing:
                        self._progress.clear()
                        await self._progress.wait()
                    # Nothing reports the next pause of a process that computes. In a loop with virtual time, it would
                    # also hold back the timeout.
                    elif monotonic() >= deadline:
                        raise TimeoutError
                    # A stopped server never becomes idle.
                    self._check_running()
        except TimeoutError:
            what = "; ".join(pending) or "processes of containers compute again and again"
            raise TimeoutError(f"the server did not become idle within {timeout:g} seconds: {what}") from None

    async def _let_compute(self) -> bool:
        """Let the server read what its sockets hold already, and processes continue; return whether one has."""
        activity = self._cluster.process_activity
        steps = activity.steps
        for _ in range(_ITERATIONS):
            await asyncio.sleep(0)
        return activity.steps != steps
