"""Reads the logs of many pods with one client, and prints what it took as JSON.

python -m benchmarks.streams.log_worker CLIENT KUBECONFIG --pods 100 --lines 1000000
python benchmarks/streams/log_worker.py official KUBECONFIG --pods 100 --lines 1000000 --follow
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import threading
import time
from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Meter:
    """Counts lines, from the first one on."""

    def __init__(self, lines: int) -> None:
        self.wanted = lines
        self.seen = 0
        self._wall = self._cpu = 0.0
        self.figures: dict[str, float] = {}

    def count(self, number: int = 1) -> bool:
        """Count lines; returns whether these are enough."""
        if not self.seen:
            self._wall, self._cpu = time.perf_counter(), time.process_time()
        self.seen += number
        if self.seen < self.wanted or self.figures:
            return bool(self.figures)
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self.figures = {"wall": wall, "cpu": cpu, "lines": self.seen, "peak": peak}
        return True


def read_async(options: argparse.Namespace, meter: Meter) -> None:
    """Merged logs of the async client."""
    import asyncio

    from masthead.aio import Client

    async def read() -> None:
        async with (
            Client(kubeconfig=options.kubeconfig) as client,
            client.core_v1.pods("default").merged_logs(
                follow=options.follow, tail_lines=0 if options.follow else None
            ) as lines,
        ):
            async for _ in lines:
                if meter.count():
                    return

    asyncio.run(read())


def read_blocking(options: argparse.Namespace, meter: Meter) -> None:
    """Merged logs of the blocking client."""
    from masthead import Client

    with (
        Client(kubeconfig=options.kubeconfig) as client,
        client.core_v1.pods("default").merged_logs(
            follow=options.follow, tail_lines=0 if options.follow else None
        ) as lines,
    ):
        for _ in lines:
            if meter.count():
                return


def read_official(options: argparse.Namespace, meter: Meter) -> None:
    """The official client: a thread for each pod, as it merges nothing."""
    client: Any = importlib.import_module("kubernetes.client")
    config: Any = importlib.import_module("kubernetes.config")

    config.load_kube_config(options.kubeconfig)
    api = client.CoreV1Api()
    api.api_client.rest_client.pool_manager.connection_pool_kw["maxsize"] = options.pods
    lock = threading.Lock()
    done = threading.Event()

    def read(name: str) -> None:
        wanted: dict[str, Any] = {"follow": True, "tail_lines": 0} if options.follow else {}
        response = api.read_namespaced_pod_log(name, "default", _preload_content=False, timestamps=True, **wanted)
        rest = b""
        for chunk in response.stream():
            *lines, rest = (rest + chunk).split(b"\n")
            decoded = [line.decode() for line in lines]
            with lock:
                if meter.count(len(decoded)):
                    done.set()
                    return

    for number in range(options.pods):
        threading.Thread(target=read, args=(f"web-{number}",), daemon=True).start()
    done.wait(600)


CLIENTS: dict[str, Callable[[argparse.Namespace, Meter], None]] = {
    "async": read_async,
    "blocking": read_blocking,
    "official": read_official,
}


def installed() -> dict[str, str]:
    """The version of the official client, if this interpreter has it."""
    try:
        return {"kubernetes": metadata.version("kubernetes")}
    except metadata.PackageNotFoundError:
        return {}


def main() -> None:
    """Read, and print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("client", choices=[*CLIENTS, "installed"])
    parser.add_argument("kubeconfig", nargs="?")
    parser.add_argument("--pods", type=int, default=100)
    parser.add_argument("--lines", type=int, default=1_000_000, help="after how many lines to end")
    parser.add_argument("--follow", action="store_true")
    options = parser.parse_args()
    if options.client == "installed":
        print(json.dumps(installed()), flush=True)
        return
    meter = Meter(options.lines)
    CLIENTS[options.client](options, meter)
    print(json.dumps(meter.figures), flush=True)
    os._exit(0)  # threads that still read would abort an interpreter that ends in order


if __name__ == "__main__":
    main()
