"""Measures one contender of the watch benchmark, in a process of its own, and prints what it took as JSON.

    python -m benchmarks.watch.worker installed                             which peers there are
    python -m benchmarks.watch.worker watch NAME KUBECONFIG --events 50000  from the first update to the last

CPU time is that of this process, all of its threads, from the moment at which it requests the updates to that at which
its handler has received the last one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.harness.contenders import installed
from benchmarks.harness.measure import positive
from benchmarks.requests.worker import Growth
from benchmarks.sync.clients import TIMEOUT
from benchmarks.watch.clients import CONTENDERS, Handler

if TYPE_CHECKING:
    from benchmarks.harness.measure import Figures
    from benchmarks.watch.clients import Opener


async def watched(opener: Opener, kubeconfig: str, handler: Handler) -> Figures:
    """Measure what it takes until a handler has received every update."""
    url = _server_of(kubeconfig)
    async with opener(kubeconfig, handler) as finish:
        growth = Growth()
        _ask_for(f"{url}/go?events={handler.events}")
        async with asyncio.timeout(TIMEOUT):
            await finish()
        figures = growth.so_far("")
    known = handler.ended is not None and handler.early_bytes is not None
    grown = (handler.ended or 0) - (handler.early_bytes or 0)
    return {
        **figures,
        "grown": grown if known else None,
        "observed": handler.observed,
        "events": handler.events,
    }


def _server_of(kubeconfig: str) -> str:
    found = json.loads(Path(kubeconfig).read_text(encoding="utf-8"))
    url: str = found["clusters"][0]["cluster"]["server"]
    return url


def _ask_for(url: str) -> None:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url) as response:
        response.read()


def main() -> None:
    """Take the measurements of one contender."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("installed", "watch"))
    parser.add_argument("contender", nargs="?", choices=CONTENDERS)
    parser.add_argument("kubeconfig", nargs="?")
    parser.add_argument("--events", type=positive, default=50_000)
    parser.add_argument("--pods", type=positive, default=5_000, help="as many as the server has")
    options = parser.parse_args()
    if options.what == "installed":
        print(json.dumps(installed(CONTENDERS)))
        return
    handler = Handler(options.events, options.pods)
    work = watched(CONTENDERS[options.contender].open, options.kubeconfig, handler)
    print(json.dumps(asyncio.run(work)), flush=True)
    os._exit(0)  # the peers may have threads running


if __name__ == "__main__":
    main()
