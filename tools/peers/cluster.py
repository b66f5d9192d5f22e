"""A server for a suite."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import masthead.server
from tools.peers.images import simulate_images

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from tools.peers.suites import Suite

__all__ = ["run_cluster"]


@contextmanager
def run_cluster(suite: Suite, kubeconfig: Path) -> Generator[None]:
    """Run a server with the defaults of `masthead serve` and handlers for images, and write a kubeconfig."""
    delays = {"kubelet": suite.start_seconds} if suite.start_seconds else None
    with masthead.server.run(
        like=suite.like, workloads=True, kubelet=True, load=suite.manifests, controller_delays=delays
    ) as server:
        simulate_images(server)
        if suite.latency:
            server.faults.delay(suite.latency, times=None)
        server.write_kubeconfig(kubeconfig)
        yield
