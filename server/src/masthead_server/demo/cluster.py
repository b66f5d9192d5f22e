"""A failing cluster: the embedded API server, with injected faults."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

import masthead
from masthead.api.core.v1 import Node

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from masthead_server.faults import Fault, Faults
    from masthead_server.server import Server

_BOOKMARK_EVERY: Final = 0.4
"""Seconds; a real server takes a minute. So a stalled watch is detected soon."""
NODES: Final = ("node-1", "node-2", "node-3", "node-4")

_FaultPlan: TypeAlias = Mapping[str, Callable[["Faults"], "Fault"]]
"""Faults by description, and how each is injected."""

# A fault of a stream hits the next watch that is opened; so each of these hits the watch that replaces the broken one.
# They are those of the mirror, which has one namespace; the watches of the controllers have all, and end with the
# restart.
_FIRST_HALF: Final[_FaultPlan] = {
    "429 for a watch of pods, with Retry-After of a second": lambda faults: faults.throttle(
        retry_after=1, verb="watch", resource="pods", namespace="default"
    ),
    "a watch of pods that is dropped": lambda faults: faults.drop_watch(after=40, resource="pods", namespace="default"),
    "503 for a list of pods": lambda faults: faults.fail(503, verb="list", resource="pods", namespace="default"),
    "a watch of pods that breaks in the middle of a line": lambda faults: faults.cut_watch(
        after=12, resource="pods", namespace="default"
    ),
    "a watch of deployments that ends with 410: its resource version has expired": lambda faults: faults.expire_watch(
        after=20, resource="deployments", namespace="default"
    ),
}
_SECOND_HALF: Final[_FaultPlan] = {
    "a watch of pods that stalls": lambda faults: faults.silence_watch(after=12, resource="pods", namespace="default"),
    "a watch of pods that ends with 410": lambda faults: faults.expire_watch(
        after=8, resource="pods", namespace="default"
    ),
    "500 for a list of deployments": lambda faults: faults.fail(
        500, verb="list", resource="deployments", namespace="default"
    ),
    "a watch of deployments that is dropped": lambda faults: faults.drop_watch(
        after=10, resource="deployments", namespace="default"
    ),
}
_RESTART: Final = "a restart of the server"


class FailingCluster:
    """An API server with faults, which can be restarted at the same address and with its data.

    Args:
        folder: The directory of the data.

    Attributes:
        server: The running server.
    """

    def __init__(self, folder: Path) -> None:
        self._data = folder / "cluster.db"
        self._token = secrets.token_urlsafe()
        self._running = ExitStack()
        self._before: list[str] = []
        self._reported: set[str] = set()
        self.server = self._start()
        self._armed = self._arm(_FIRST_HALF)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._running.close()

    def restart(self) -> None:
        """Stop the server, which ends every watch, and start it again with other faults."""
        # Hits are lost with the server's faults, so that they are copied before it stops.
        self._before = [*self.faults_so_far(), _RESTART]
        # The informers know this address only.
        port = urlsplit(self.server.url).port or 0
        self._running.close()
        self.server = self._start(port)
        self._armed = self._arm(_SECOND_HALF)

    def new_faults(self) -> list[str]:
        """The faults that have hit a request since the last call. The watch itself may fail a while later."""
        hit = [name for name, fault in self._armed.items() if fault.hits and name not in self._reported]
        self._reported.update(hit)
        return hit

    def stop_faults(self) -> None:
        """Inject no more faults; those in progress take their course."""
        self.server.faults.clear()

    def faults_so_far(self) -> list[str]:
        """The faults that have hit a request, in order."""
        return [*self._before, *(name for name, fault in self._armed.items() if fault.hits)]

    def _start(self, port: int = 0) -> Server:
        run = masthead.server.run(
            data=self._data, port=port, token=self._token, bookmark_every=_BOOKMARK_EVERY, workloads=True
        )
        return self._running.enter_context(run)

    def _arm(self, plan: _FaultPlan) -> dict[str, Fault]:
        return {name: inject(self.server.faults) for name, inject in plan.items()}


def create_nodes(client: masthead.Client) -> None:
    """Register the nodes of the cluster, all ready."""
    for name in NODES:
        client.core_v1.nodes().create(Node.new(name, labels={"kubernetes.io/hostname": name}))
        set_ready(client, name, is_ready=True)


def set_ready(client: masthead.Client, node: str, *, is_ready: bool) -> None:
    """Let a node report that it is ready, or stop doing so."""
    condition = {
        "type": "Ready",
        "status": "True" if is_ready else "Unknown",
        "reason": "KubeletReady" if is_ready else "NodeStatusUnknown",
    }
    patch = masthead.meta.Patch.merge({"status": {"conditions": [condition]}})
    client.core_v1.nodes().patch_status(node, patch)
