"""What the blocking façade costs over the async one: the same small get through both, in turn, in one process.

    python -m benchmarks.requests.facade KUBECONFIG [--without-uvloop]

Both run on the same kind of event loop, the one that the façade itself would choose. Prints, as JSON, microseconds of
wall time: of either get, of what one is over the other, and of the way into the loop and back alone. All are medians
of rounds; the difference is taken within each round.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

from benchmarks.harness.measure import positive
from benchmarks.requests.clients import CLIENTS, OURS, OURS_BLOCKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.harness.measure import Figures


def measure(kubeconfig: str, rounds: int, calls: int) -> Figures:
    """Measure all three in turn, so many rounds of so many calls."""
    from masthead._sync.portal import Portal

    async_client, blocking_client = CLIENTS[OURS].open_async, CLIENTS[OURS_BLOCKING].open
    assert async_client is not None
    assert blocking_client is not None
    portal = Portal()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner, blocking_client(kubeconfig) as blocking:
        connection = async_client(kubeconfig)
        asynchronous = runner.run(connection.__aenter__())

        async def get_all() -> float:
            return await _timed_async(asynchronous.get, calls)

        taken = [
            (
                runner.run(get_all()),
                _timed(blocking.get, calls),
                _timed(lambda: portal.call(_nothing()), calls),
            )
            for _ in range(rounds + 1)
        ][1:]  # the first round connects, and makes what is made once
        runner.run(connection.__aexit__(None, None, None))
    portal.close()
    return {
        "async_us": 1e6 * statistics.median(each[0] for each in taken),
        "blocking_us": 1e6 * statistics.median(each[1] for each in taken),
        "over_us": 1e6 * statistics.median(each[1] - each[0] for each in taken),
        "hop_us": 1e6 * statistics.median(each[2] for each in taken),
    }


async def _timed_async(call: Callable[[], Any], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        await call()
    return (time.perf_counter() - start) / calls


def _timed(call: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


async def _nothing() -> None:
    """What is called where only the way there counts."""


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def main() -> None:
    """Take the measurement."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kubeconfig")
    parser.add_argument("--rounds", type=positive, default=9)
    parser.add_argument("--calls", type=positive, default=200, help="of each kind, in each round")
    parser.add_argument("--without-uvloop", action="store_true", help="as if it were not installed")
    options = parser.parse_args()
    if options.without_uvloop:
        sys.modules["uvloop"] = None  # type: ignore[assignment]  # importing it then fails
    print(json.dumps(measure(options.kubeconfig, options.rounds, options.calls)), flush=True)


if __name__ == "__main__":
    main()
