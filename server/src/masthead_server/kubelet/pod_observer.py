"""Observes a pod for the clients connected to it."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record
    from masthead_server.wire.plain import Plain

__all__ = ["PodObserver", "is_up"]


def is_up(pod: Plain | None) -> bool:
    """Tell whether a container of a pod runs; None stands for a pod that does not exist."""
    if pod is None or text(part(pod, "status"), "phase") != "Running":
        return False
    statuses = items(part(pod, "status"), "containerStatuses")
    return not statuses or any("running" in part(status, "state") for status in statuses)


class PodObserver:
    """Reports the end of a pod, and restarts of its containers.

    Args:
        runtime: The pods.
        pod: The pod.
        on_restart: Called when a container has ended and its pod has not.

    Attributes:
        ended: Set when the pod has been deleted or has ended.
    """

    def __init__(self, runtime: PodRuntime, pod: Plain, on_restart: Callable[[], object]) -> None:
        self.ended = asyncio.Event()
        self._runtime = runtime
        meta = metadata(pod)
        self._key = runtime.served.key(text(meta, "namespace"), text(meta, "name"))
        self._running = _running(pod)
        self._on_restart = on_restart

    @contextmanager
    def observing(self) -> Generator[None]:
        """Observe during the block."""
        cluster, table = self._runtime.cluster, self._runtime.served.table
        cluster.observe(table, self._observe)
        try:
            yield
        finally:
            cluster.stop_observing(table, self._observe)

    def _observe(self, served: ServedResource, record: Record) -> None:
        if record.key != self._key:
            return
        pod = None if record.is_deleted else served.load(record)
        if pod is None or text(part(pod, "status"), "phase") != "Running":
            self.ended.set()
            return
        running = _running(pod)
        if not self._running <= running:
            self._on_restart()
        self._running = running


def _running(pod: Plain) -> frozenset[tuple[str, int]]:
    """Return the running containers with their restart counts."""
    return frozenset(
        (text(container_status, "name"), int(container_status.get("restartCount", 0)))
        for container_status in items(part(pod, "status"), "containerStatuses")
        if "running" in part(container_status, "state")
    )
