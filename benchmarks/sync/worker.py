"""Measures one contender of the sync benchmark, in a process of its own, and prints what it took as JSON.

    python -m benchmarks.sync.worker installed                          which peers there are
    python -m benchmarks.sync.worker sync NAME KUBECONFIG NAMESPACE N   from start to synced

CPU time is that of this process, all of its threads. What is imported, made or connected once is not measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from typing import TYPE_CHECKING

from benchmarks.harness.contenders import installed
from benchmarks.requests.worker import Growth
from benchmarks.sync.clients import CONTENDERS

if TYPE_CHECKING:
    from benchmarks.harness.measure import Figures
    from benchmarks.sync.clients import Opener


async def synced(opener: Opener, kubeconfig: str, namespace: str, count: int, one: str = "") -> Figures:
    """Measure what it takes to read all pods of a namespace, and to keep them.

    Args:
        opener: Connects.
        kubeconfig: To where.
        namespace: Whose pods.
        count: How many there are.
        one: A namespace with one pod, to read beforehand, so that all is there that is made once.

    Raises:
        RuntimeError: if there are more or fewer.
    """
    async with opener(kubeconfig) as start:
        if one:
            await start(one, 1)
        growth = Growth()
        found = await start(namespace, count)
        figures = growth.so_far("")
        if found.count != count:
            raise RuntimeError(f"there should be {count} pods, and there are {found.count}")
        return figures


def main() -> None:
    """Take the measurements of one contender."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("installed", "sync"))
    parser.add_argument("contender", nargs="?", choices=CONTENDERS)
    parser.add_argument("kubeconfig", nargs="?")
    parser.add_argument("namespace", nargs="?", default="")
    parser.add_argument("count", nargs="?", type=int, default=1)
    parser.add_argument("--one", default="", help="a namespace with one pod")
    options = parser.parse_args()
    if options.what == "installed":
        print(json.dumps(installed(CONTENDERS)))
        return
    opener = CONTENDERS[options.contender].open
    work = synced(opener, options.kubeconfig, options.namespace, options.count, options.one)
    print(json.dumps(asyncio.run(work)), flush=True)
    os._exit(0)  # taking millions of objects down takes as long as making them


if __name__ == "__main__":
    main()
