"""The load of the benchmark of apply: a process of its own that applies and updates deployments over HTTP.

    python -m benchmarks.server.apply_load apply URL     applied, applied again, and one field by a second manager
    python -m benchmarks.server.apply_load update URL    read and written back with another annotation

The figures are printed as JSON: seconds of one request, all connections together.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from typing import TYPE_CHECKING, Final

from benchmarks.harness import deployments
from benchmarks.harness.measure import cpu_seconds, positive
from benchmarks.harness.wire import Address
from benchmarks.server.load import CONNECTIONS, Load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.harness.measure import Figures

APPLY: Final = "application/apply-patch+yaml"
_WARM_UP: Final = 2
"""Deployments of each connection that are not measured: servers make things when they are first needed."""


@dataclasses.dataclass(frozen=True)
class Deployments:
    """Requests about the deployments of one namespace.

    Attributes:
        address: Where to send them.
        namespace: Where the deployments are.
    """

    address: Address
    namespace: str

    def create(self, name: str) -> bytes:
        """Create a deployment."""
        body = deployments.new_deployment(self.namespace, name, 0)
        return self.address.request("POST", self._path, body)

    def get(self, name: str) -> bytes:
        """Read a deployment."""
        return self.address.request("GET", f"{self._path}/{name}")

    def update(self, deployment: bytes) -> bytes:
        """Write a deployment back as it was read, with another annotation, from another manager."""
        read = json.loads(deployment)
        read["metadata"]["annotations"]["benchmark/serial"] = "updated"
        body = json.dumps(read, separators=(",", ":")).encode()
        return self.address.request("PUT", f"{self._path}/{read['metadata']['name']}?fieldManager=second", body)

    def apply(self, name: str) -> bytes:
        """Apply all of a deployment."""
        return self._apply(name, "first", deployments.new_deployment(self.namespace, name, 0))

    def apply_one_field(self, name: str) -> bytes:
        """Apply one field of it, with another value and as a second manager."""
        return self._apply(name, "second&force=true", deployments.one_field(name, 5))

    @property
    def _path(self) -> str:
        return f"/apis/apps/v1/namespaces/{self.namespace}/deployments"

    def _apply(self, name: str, manager: str, body: bytes) -> bytes:
        return self.address.request("PATCH", f"{self._path}/{name}?fieldManager={manager}", body, APPLY)


def shares(prefix: str, count: int, connections: int) -> list[list[str]]:
    """Names for so many deployments, dealt out to the connections."""
    names = [f"{prefix}-{number:07d}" for number in range(count)]
    return [names[first::connections] for first in range(connections)]


def apply(load: Load, count: int) -> Figures:
    """Apply so many deployments, apply them again unchanged, then one field of each as a second manager."""
    requests = Deployments(load.address, load.namespace)
    phases = {"create": requests.apply, "unchanged": requests.apply, "second": requests.apply_one_field}
    _send_all(load, shares("warm-up", _WARM_UP * CONNECTIONS, CONNECTIONS), phases)
    return _send_all(load, shares("deployment", count, CONNECTIONS), phases)


def update(load: Load, count: int, process: int) -> Figures:
    """Create deployments, and write each back changed; return also the CPU time of the server for one."""
    requests = Deployments(load.address, load.namespace)

    def read(each: list[str]) -> list[bytes]:
        return [requests.update(found) for found in load.send([map(requests.get, each)])]

    names = shares("deployment", count, CONNECTIONS)
    load.send([map(requests.create, name) for name in names])
    updates = list(map(read, names))
    before = cpu_seconds(process)
    spent = _timed(load, updates, count)
    after = cpu_seconds(process)
    cpu = None if before is None or after is None else (after - before) / count
    return {"update": spent, "cpu": cpu}


def _send_all(load: Load, names: Sequence[Sequence[str]], phases: Mapping[str, Callable[[str], bytes]]) -> Figures:
    count = sum(map(len, names))
    return {
        phase: _timed(load, [list(map(request, name)) for name in names], count) for phase, request in phases.items()
    }


def _timed(load: Load, requests: Sequence[list[bytes]], count: int) -> float:
    start = time.perf_counter()
    load.send(requests)
    return (time.perf_counter() - start) / count


def main() -> None:
    """Load one server."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("apply", "update"))
    parser.add_argument("url")
    parser.add_argument("--token", default="", help="to be let in")
    parser.add_argument("--count", type=positive, default=1_000, help="of deployments")
    parser.add_argument("--process", type=int, default=0, help="the server's id (update)")
    options = parser.parse_args()
    with Load(Address(options.url, options.token), CONNECTIONS) as load:
        print(json.dumps(_run(load, options)), flush=True)


def _run(load: Load, options: argparse.Namespace) -> Figures:
    if options.what == "apply":
        return apply(load, options.count)
    return update(load, options.count, options.process)


if __name__ == "__main__":
    main()
