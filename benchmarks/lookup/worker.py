"""Measures reads from an informer's store, in a process of its own, and prints the microseconds of each as JSON.

    python -m benchmarks.lookup.worker lazy KUBECONFIG

The server is `benchmarks.watch.server`, whose pods are numbered in their names; the indices put so many consecutive
ones into each bucket.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import gc
import itertools
import json
import os
import random
import time
from typing import TYPE_CHECKING, Final

from benchmarks.harness.measure import positive
from benchmarks.sync.clients import OURS, TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.harness.measure import Figures
    from benchmarks.sync.clients import Holding
    from masthead.aio import SharedInformer
    from masthead.api.core.v1 import Pod

BUCKETS: Final = (10, 100, 1_000)
"""How many objects the lookups by index find."""
SELECTOR: Final = "app=svc-7"
"""Matches one pod in 400."""

PRINTED: Final = 20_000
"""How many pods are printed in one table, at most."""

_SLICES: Final = 5
"""How often each read is measured; the least counts, because disturbances can only add to it."""
_FEW: Final = 16
"""Keys that are read again and again, for caches to show what they are good for."""


def number_of(pod: Pod) -> int:
    """A pod's number, which its name has in hexadecimal digits."""
    return int((pod.metadata.name or "").rsplit("-", 2)[1], 16)


def buckets_of(size: int) -> Callable[[Pod], list[str]]:
    """An index whose buckets have so many pods each."""
    return lambda pod: [str(number_of(pod) // size)]


def microseconds(read: Callable[[str], object], wanted: Sequence[str]) -> float:
    """How long it takes to read one of these, at best."""
    best = float("inf")
    for _ in range(_SLICES):
        start = time.perf_counter()
        for each in wanted:
            read(each)
        best = min(best, (time.perf_counter() - start) / len(wanted))
    return 1e6 * best


def measured(informer: SharedInformer[Pod], calls: int) -> Figures:
    """Measure all kinds of reads, of about so many objects each."""
    from masthead.printers import table

    indexer, lister = informer.indexer, informer.lister
    keys = indexer.list_keys()
    count = len(keys)
    rng = random.Random(1)
    some = rng.choices(keys, k=calls)
    again = list(itertools.islice(itertools.cycle(some[:_FEW]), calls))
    figures: Figures = {
        "objects": count,
        "get": microseconds(indexer.get_by_key, some),
        "again": microseconds(indexer.get_by_key, again),
        "lister": microseconds(lambda key: lister.namespace(key.partition("/")[0]).get(key.partition("/")[2]), some),
    }
    for size in BUCKETS:
        buckets = [str(rng.randrange(max(1, count // size))) for _ in range(max(1, calls // size))]
        figures[f"index_{size}"] = microseconds(functools.partial(indexer.by_index, str(size)), buckets)
    figures["select"] = microseconds(lambda each: lister.list(label_selector=each), [SELECTOR])
    figures["all"] = microseconds(lambda _: indexer.list(), [""])
    printed = indexer.list()[:PRINTED]
    figures["table"] = microseconds(lambda _: str(table(printed)), [""]) / len(printed)
    return figures


async def _run(hold: Holding, kubeconfig: str, calls: int) -> Figures:
    from masthead.aio import Client, SharedInformer

    async with Client(kubeconfig=kubeconfig) as client:
        indexers = {str(size): buckets_of(size) for size in BUCKETS}
        async with SharedInformer(client.core_v1.pods(), hold=hold, indexers=indexers) as informer:
            await informer.wait_for_cache_sync(TIMEOUT)
            gc.collect()
            gc.freeze()  # a look at all that is held would hit one read or another
            return measured(informer, calls)


def main() -> None:
    """Take the measurements of one way to hold objects."""
    parser = argparse.ArgumentParser()
    parser.add_argument("hold", choices=OURS)
    parser.add_argument("kubeconfig")
    parser.add_argument("--calls", type=positive, default=20_000)
    options = parser.parse_args()
    print(json.dumps(asyncio.run(_run(options.hold, options.kubeconfig, options.calls))), flush=True)
    os._exit(0)  # taking so many objects down takes long


if __name__ == "__main__":
    main()
