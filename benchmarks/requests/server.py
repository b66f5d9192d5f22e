"""The server of the request benchmark: ours, in a process of its own, which has many pods from the start.

    python -m benchmarks.requests.server KUBECONFIG --pods 20000 1

writes a kubeconfig, prints where it listens, and runs until it is stopped. Every number of pods has a namespace of
its own; one small ConfigMap is there, too. All of it comes as if it had been kept from an earlier run, because
creating so many one by one would take longer than what is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from benchmarks.harness import pods
from benchmarks.harness.measure import positive
from benchmarks.requests.clients import DATA, NAMESPACE, SMALL, namespace_of
from masthead._meta.gvk import GroupVersionResource
from masthead_server.resources.catalog import Catalog
from masthead_server.runner import run_alone, serving
from masthead_server.settings import Settings
from masthead_server.storage import ForeignObjects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from masthead_server.storage import Journal, Record, StoredRow

_FIRST: Final = 2
"""The first revision: the one of an empty store is 1."""


class Kept:
    """A journal of an earlier run that never happened: it provides the initial objects, and discards writes."""

    def __init__(self, counts: Sequence[int]) -> None:
        self._counts = counts
        self._last = 0

    def read(self) -> Iterator[tuple[str, str, int, bool, bytes]]:
        """Every object, as table, key, revision, is deleted, and value."""
        catalog = Catalog.builtin()
        for revision, (resource, found) in enumerate(_objects(self._counts), _FIRST):
            served = catalog.require(GroupVersionResource("", "v1", resource))
            meta = found["metadata"]
            meta["resourceVersion"] = str(revision)
            self._last = revision
            yield (
                served.table,
                served.key(meta["namespace"], meta["name"]),
                revision,
                False,
                served.dump(found),
            )

    def read_compacted(self) -> int:
        """The last revision, so that no history of these objects is kept."""
        return self._last

    def read_foreign(self) -> ForeignObjects:
        """No uids: these objects come from no other cluster."""
        return ForeignObjects()

    def append(self, table: str, record: Record) -> None:
        """Keep nothing."""

    def replace(self, rows: Iterable[StoredRow], revision: int, foreign: ForeignObjects) -> None:
        """Refuse: the benchmark restores no snapshot."""
        raise NotImplementedError

    def check_writable(self) -> None:
        """Accept every write."""

    def compact(self, revision: int) -> None:
        """Forget nothing."""

    def close(self) -> None:
        """Let go of nothing."""


class Filled(Settings):
    """The settings of a server that starts with pods; `Filled.counts` gives the number in each namespace."""

    counts: Sequence[int] = ()

    def journal(self) -> Journal:
        """What the server begins with."""
        return Kept(self.counts)


def _objects(counts: Sequence[int]) -> Iterator[tuple[str, dict[str, Any]]]:
    small: dict[str, Any] = {
        "metadata": {
            "name": SMALL,
            "namespace": NAMESPACE,
            "uid": "6a1f6f9e-0000-4000-8000-000000000001",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "data": DATA,
    }
    return itertools.chain([("configmaps", small)], *map(_pods, counts))


def _pods(count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for text in pods.texts(count):
        pod = msgspec.json.decode(text)
        pod["metadata"]["namespace"] = namespace_of(count)
        yield "pods", pod


async def _serve(options: argparse.Namespace) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    Filled.counts = options.pods
    async with serving(Filled(token=None, controllers=False, tls=options.tls)) as server:
        gc.freeze()  # or answering would now and then stop for a look at all that was loaded
        server.write_kubeconfig(options.kubeconfig)
        print(server.url, flush=True)
        await stop.wait()


def main() -> None:
    """Serve until it is stopped."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kubeconfig", type=Path, help="where to write it")
    parser.add_argument("--pods", type=positive, nargs="+", default=[1], help="one number for each namespace")
    parser.add_argument("--tls", action="store_true")
    run_alone(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
