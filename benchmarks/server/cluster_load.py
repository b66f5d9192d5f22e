"""The load of the cluster benchmark: Deployments that are created and rolled while watchers follow their pods.

    python -m benchmarks.server.cluster_load URL --process PID --deployments 250 --replicas 200 --watchers 50 --rolls 3

The figures are printed as JSON: for each phase the seconds, the CPU and the memory of the server's process, and the
events that each watcher received.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from benchmarks.harness.measure import cpu_seconds, positive, resident_bytes
from benchmarks.harness.wire import Address, Connection

if TYPE_CHECKING:
    from benchmarks.harness.measure import Figures

_DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
_PODS: Final = "/api/v1/namespaces/default/pods"
_MERGE: Final = "application/strategic-merge-patch+json"
_POLL_EVERY: Final = 1.0
_CONTAINER: Final = {"name": "app", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}


class Watcher(asyncio.Protocol):
    """Counts the events of a watch, without parsing them."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._ended_in_brace = False
        self.events = 0
        self.size = 0
        self.is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the request."""
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Count the ends of lines that end an object: no text within JSON has one."""
        self.size += len(data)
        self.events += data.count(b"}\n") + (self._ended_in_brace and data.startswith(b"\n"))
        self._ended_in_brace = data.endswith(b"}")
        # The last chunk: the server has closed the watch, because its reader is too slow.
        self.is_lost = self.is_lost or data.endswith(b"\n0\r\n\r\n") or data == b"0\r\n\r\n"

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the name of the protocol
        """Remember that the server closed the watch."""
        self.is_lost = True


class Workload:
    """Deployments, and the requests about them.

    Args:
        address: The server.
        count: How many there are.
        replicas: The pods of each.
    """

    def __init__(self, address: Address, count: int, replicas: int) -> None:
        self._address = address
        self._connection = Connection(address)
        self._count = count
        self._replicas = replicas

    def create(self) -> None:
        """Create all Deployments."""
        for number in range(self._count):
            body = json.dumps(self._deployment(f"web-{number:04d}")).encode()
            self._connection.send(self._address.request("POST", _DEPLOYMENTS, body))

    def roll(self, image: str) -> None:
        """Give all pods another image."""
        patch = {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": image}]}}}}
        for number in range(self._count):
            path = f"{_DEPLOYMENTS}/web-{number:04d}"
            self._connection.send(self._address.request("PATCH", path, json.dumps(patch).encode(), _MERGE))

    def is_complete(self) -> bool:
        """Tell whether all pods are available and of the newest template, and no others are left."""
        found = json.loads(self._connection.send(self._address.request("GET", _DEPLOYMENTS)))
        return all(self._is_rolled(item) for item in found["items"]) and self._count_pods() == self.pods

    @property
    def pods(self) -> int:
        """How many pods there should be."""
        return self._count * self._replicas

    def _count_pods(self) -> int:
        page = json.loads(self._connection.send(self._address.request("GET", f"{_PODS}?limit=1")))
        return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))

    def _is_rolled(self, deployment: dict[str, Any]) -> bool:
        status = deployment.get("status", {})
        counts = [status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas")]
        is_observed = status.get("observedGeneration") == deployment["metadata"]["generation"]
        return is_observed and counts == [self._replicas] * len(counts)

    def _deployment(self, name: str) -> dict[str, Any]:
        labels = {"app": name}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{**_CONTAINER, "image": "app:0"}]}}
        spec = {"replicas": self._replicas, "selector": {"matchLabels": labels}, "template": template}
        return {"metadata": {"name": name}, "spec": spec}


async def measure_phases(address: Address, process: int, options: argparse.Namespace) -> dict[str, Figures]:
    """Create and roll, with watchers from the beginning; returns the figures of each phase."""
    workload = Workload(address, options.deployments, options.replicas)
    watchers = [await _watch(address) for _ in range(options.watchers)]
    figures: dict[str, Figures] = {}
    for phase in range(options.rolls + 1):
        wall, cpu = time.perf_counter(), cpu_seconds(process) or 0.0
        received = [watcher.events for watcher in watchers]
        if phase:
            await asyncio.to_thread(workload.roll, f"app:{phase}")
        else:
            await asyncio.to_thread(workload.create)
        while not await asyncio.to_thread(workload.is_complete):  # noqa: ASYNC110 - the server is another process
            await asyncio.sleep(_POLL_EVERY)
        await _drain(watchers)
        counts = [watcher.events - before for watcher, before in zip(watchers, received, strict=True)]
        figures[f"roll {phase}" if phase else "create"] = {
            "wall": time.perf_counter() - wall,
            "cpu": (cpu_seconds(process) or 0.0) - cpu,
            "resident": resident_bytes(process),
            "events": min(counts, default=0),
            "uneven": float(max(counts, default=0) - min(counts, default=0)),
            "lost": float(sum(watcher.is_lost for watcher in watchers)),
        }
    return figures


async def _watch(address: Address) -> Watcher:
    parts = urlsplit(address.url)
    watcher = Watcher(address.request("GET", f"{_PODS}?watch=true&timeoutSeconds=86400"))
    await asyncio.get_running_loop().create_connection(lambda: watcher, parts.hostname or "", parts.port or 0)
    return watcher


async def _drain(watchers: list[Watcher]) -> None:
    """Wait until no watcher receives anything any more."""
    sizes: list[int] = []
    while sizes != (sizes := [watcher.size for watcher in watchers]):  # noqa: ASYNC110 - the server is another process
        await asyncio.sleep(_POLL_EVERY)


def main() -> None:
    """Take one measurement."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    for name in ("process", "deployments", "replicas", "watchers", "rolls"):
        parser.add_argument(f"--{name}", type=positive, required=True)
    options = parser.parse_args()
    print(json.dumps(asyncio.run(measure_phases(Address(options.url), options.process, options))), flush=True)


if __name__ == "__main__":
    main()
