"""What stored pods take: creates many as a request would, without HTTP around it, and prints what memory grew by.

Without HTTP, because the server also records the last requests; that is bounded, and not part of the
store. The benchmark measures the whole process besides.

    python -m benchmarks.server.stored traced|resident COUNT
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from typing import TYPE_CHECKING

from benchmarks.decode.workloads import MEASURES
from benchmarks.harness import pods
from benchmarks.harness.measure import positive
from masthead_server.clock import SystemClock
from masthead_server.cluster import ClusterState
from masthead_server.faults import Faults
from masthead_server.resources.catalog import Catalog
from masthead_server.storage import Storage
from masthead_server.verbs.rest import Rest
from masthead_server.verbs.watch import WatchLimits
from masthead_server.wire.request import ApiRequest, ApiResponse
from masthead_server.wire.request_info import read_request_info

if TYPE_CHECKING:
    from collections.abc import Callable

_PODS = "/api/v1/namespaces/default/pods"


def empty_store() -> Callable[[ApiRequest], bytes]:
    """Make a store and what answers requests to it; returns the latter."""
    catalog = Catalog.builtin()
    cluster = ClusterState(Storage(), SystemClock(), catalog)
    cluster.add_first_namespaces()
    rest = Rest(cluster, Faults(catalog), WatchLimits(), lambda: None)

    loop = asyncio.new_event_loop()

    def handle(request: ApiRequest) -> bytes:
        response = loop.run_until_complete(rest.respond(request, read_request_info(request)))
        if not isinstance(response, ApiResponse) or response.code not in {200, 201}:
            raise RuntimeError(f"{request.method} {request.path} was not answered as it should be: {response}")
        return response.body

    return handle


def create(handle: Callable[[ApiRequest], bytes], name: str) -> None:
    """Create a pod."""
    handle(ApiRequest("POST", _PODS, body=pods.new_pod("default", name, 0)))


def main() -> None:
    """Take one measurement."""
    parser = argparse.ArgumentParser()
    parser.add_argument("measure", choices=("traced", "resident"))
    parser.add_argument("count", type=positive)
    options = parser.parse_args()
    handle = empty_store()
    create(handle, "warm")

    def create_all(_: bytes) -> None:
        for number in range(options.count):
            create(handle, f"pod-{number:07d}")

    grown = MEASURES[options.measure](create_all, b"", 1)
    written = len(handle(ApiRequest("GET", f"{_PODS}/pod-{0:07d}")))
    per_pod = None if grown is None else grown / options.count
    print(json.dumps({"per pod": per_pod, "bytes": written}), flush=True)
    os._exit(0)  # taking all of it down takes a while


if __name__ == "__main__":
    main()
