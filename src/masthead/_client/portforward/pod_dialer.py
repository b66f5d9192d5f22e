"""Opens tunnels to the pod of a port-forward, one of them in advance, and follows the pod when it is replaced.

::

    take ──> spare, or a new tunnel          a tunnel fails, a pod changes ──> deleted?
               └─ refilled                          no │        │ yes
                                                       v        v
                                             stays              reconnect ──> resolve, until a pod runs
                                                                no reconnect ──> PortForwardError
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from masthead._client.portforward.tunnel import PodTunnel
from masthead._sansio.backoff import Backoff
from masthead._sansio.randomness import random
from masthead.errors import ClosedError, MastheadError, PortForwardError

if TYPE_CHECKING:
    from masthead._client.portforward.resolver import ForwardTarget, PodResolver

__all__ = ["PodDialer"]

_log: Final = logging.getLogger("masthead.portforward")

_RECONNECT_SECONDS: Final = 30.0
"""How long an accepted connection waits for another pod."""


class PodDialer:
    """Opens tunnels to a pod.

    Args:
        resolver: Finds the pod.
        target: The pod that it has found.
        reconnect: Whether to look for another pod when this one is deleted.

    Attributes:
        target: The pod that tunnels are opened to.
    """

    def __init__(self, resolver: PodResolver, target: ForwardTarget, *, reconnect: bool) -> None:
        self.target = target
        self._resolver = resolver
        self._reconnect = reconnect
        self._spare: PodTunnel | None = None
        self._is_suspect = False
        self._has_news = asyncio.Event()
        self._has_pod = asyncio.Event()
        self._has_pod.set()
        self._backoff = Backoff(first=0.2, cap=15.0, reset_after=10.0)
        self._group: asyncio.TaskGroup | None = None

    async def dial(self) -> PodTunnel:
        """Open a tunnel, which the caller has to run.

        Raises:
            MastheadError: As `RestClient.connect`.
        """
        target = self.target
        return PodTunnel(await self._resolver.connect(target), target)

    async def run(self, group: asyncio.TaskGroup, spare: PodTunnel) -> None:
        """Keep a spare tunnel, and follow the pod.

        Args:
            group: Runs the tunnels.
            spare: The first spare tunnel.

        Raises:
            PortForwardError: If the pod was deleted, and there is no reconnect.
        """
        self._group = group
        self._spare = spare
        self._run_tunnel(group, spare)
        while True:
            watcher = group.create_task(self._watch(self.target))
            await self._until_gone(group)
            watcher.cancel()
            await self._follow()

    async def take(self) -> PodTunnel:
        """A tunnel that is not used yet, and runs already.

        Raises:
            MastheadError: If none can be opened.
        """
        assert self._group is not None
        try:
            async with asyncio.timeout(_RECONNECT_SECONDS):
                await self._has_pod.wait()
        except TimeoutError:
            raise PortForwardError(
                f"port-forward {self._resolver.title}: no pod has been running for {_RECONNECT_SECONDS:.0f} seconds"
            ) from None
        # A spare tunnel saves the connection three round trips.
        spare, self._spare = self._spare, None
        self._has_news.set()
        if spare is not None and spare.is_usable:
            return spare
        try:
            tunnel = await self.dial()
        except MastheadError:
            self._suspect()
            raise
        self._run_tunnel(self._group, tunnel)
        return tunnel

    async def close(self) -> None:
        """Say goodbye on the spare tunnel."""
        if self._spare is not None:
            await self._spare.dismiss()

    def _run_tunnel(self, group: asyncio.TaskGroup, tunnel: PodTunnel) -> None:
        task = group.create_task(self._observe(tunnel), name=f"port-forward to {tunnel.target.key}")
        # A task that is cancelled before its first step closes nothing.
        task.add_done_callback(lambda _: tunnel.abort())

    async def _observe(self, tunnel: PodTunnel) -> None:
        await tunnel.run()
        # A tunnel to an earlier pod says nothing about the current one.
        if tunnel.error is not None and tunnel.target is self.target:
            self._suspect()

    def _suspect(self) -> None:
        """Have it checked whether the pod is still there."""
        self._is_suspect = True
        self._has_news.set()

    async def _watch(self, target: ForwardTarget) -> None:
        """Watch for the end of the pod. Without permission to watch, the next connection notices it."""
        try:
            await self._resolver.wait_until_gone(target)
        except MastheadError as error:
            _log.debug("port-forward %s: the pod cannot be watched: %s", self._resolver.title, error)
        else:
            self._suspect()

    async def _until_gone(self, group: asyncio.TaskGroup) -> None:
        """Refill the spare tunnel, until the pod is deleted."""
        while True:
            if self._is_suspect and await self._is_gone():
                return
            if self._spare is None or not self._spare.is_usable:
                await self._refill(group)
            await self._has_news.wait()
            self._has_news.clear()

    async def _is_gone(self) -> bool:
        # Before the request, so that a later suspicion is not lost.
        self._is_suspect = False
        try:
            return await self._resolver.is_gone(self.target)
        except ClosedError:
            raise
        except MastheadError as error:
            _log.debug("port-forward %s: the pod cannot be read: %s", self._resolver.title, error)
            # Unknown is not gone: the API server may be restarting, while the pod runs on.
            return False

    async def _refill(self, group: asyncio.TaskGroup) -> None:
        loop = asyncio.get_running_loop()
        self._backoff.progress(loop.time())
        try:
            self._spare = await self.dial()
        except MastheadError as error:
            _log.debug("port-forward %s: no spare connection: %s", self._resolver.title, error)
            self._suspect()
        else:
            self._run_tunnel(group, self._spare)
            return
        await self._pause()

    async def _follow(self) -> None:
        lost = self.target
        if not self._reconnect:
            raise PortForwardError(
                f"port-forward {self._resolver.title}: pod {lost.key} is gone or has stopped running; open it "
                "again, or let it follow with reconnect=True",
                pod=lost.key,
            )
        self._has_pod.clear()
        self._drop_spare()
        _log.info("port-forward %s: pod %s is gone; another one is looked for", self._resolver.title, lost.key)
        while True:
            try:
                self.target = await self._resolver.resolve()
                break
            except MastheadError as error:
                if isinstance(error, ClosedError):
                    raise
                _log.debug("port-forward %s: %s", self._resolver.title, error)
            await self._pause()
        self._backoff.reset()
        self._is_suspect = False
        self._has_pod.set()
        _log.info("port-forward %s: connections go to pod %s now", self._resolver.title, self.target.key)

    def _drop_spare(self) -> None:
        if self._spare is not None:
            self._spare.abort()
            self._spare = None

    async def _pause(self) -> None:
        await asyncio.sleep(self._backoff.next(asyncio.get_running_loop().time(), random))
