"""Our operator: a controller of widgets, in a process of its own.

    python -m benchmarks.controllers.our_operator noop KUBECONFIG COUNT       writes nothing
    python -m benchmarks.controllers.our_operator compact KUBECONFIG COUNT    writes nothing, and compresses its cache
    python -m benchmarks.controllers.our_operator status KUBECONFIG COUNT     writes a status
    python -m benchmarks.controllers.our_operator again KUBECONFIG COUNT      reconciles all objects again and again

The first three print what `benchmarks.controllers.observation` says, the last one the CPU time of a reconcile.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Final

import masthead
import masthead.aio
from benchmarks.controllers.observation import Observation
from benchmarks.controllers.widgets import GROUP, NAMESPACE, VERSION, name_of
from masthead.meta import Struct

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from benchmarks.harness.measure import Figures

_ROUNDS: Final = 10
"""How often all objects are reconciled; the least counts, because disturbances can only add to it."""
_PATIENCE: Final = 300.0


class WidgetSpec(Struct):
    """What people write."""

    image: str = ""
    replicas: int = 0
    hosts: list[str] = []
    labels: dict[str, str] = {}
    serial: int | None = None
    changed: float | None = None


class WidgetStatus(Struct):
    """What the operator writes."""

    observed_generation: int | None = None
    phase: str = ""


class Widget(masthead.CustomResource, group=GROUP, version=VERSION):
    """What is reconciled."""

    spec: WidgetSpec
    status: WidgetStatus


def operator(observation: Observation, mode: str) -> masthead.Manager:
    """An operator that looks at each object and, in one mode, writes a status."""
    app = masthead.Manager("bench", hold="compact" if mode == "compact" else "lazy")

    @app.controller(Widget)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Widget], widget: Widget) -> None:
        observation.saw(ctx.request.name, widget.spec.serial, widget.spec.changed)
        if mode == "status":
            await ctx.update_status({"phase": "Ready"})

    return app


async def observed(mode: str, kubeconfig: str, count: int) -> None:
    """Run it until it is told to end."""
    async with masthead.aio.Client(kubeconfig=kubeconfig) as client:
        observation = Observation()
        app = operator(observation, mode)
        async with app.running(client, metrics_bind=":0", probe_bind=":0"):
            await observation.report(count)


async def again(kubeconfig: str, count: int, *, metrics_bind: str) -> float:
    """The microseconds of CPU time from enqueueing an object until its reconcile, which does nothing, is over."""
    app, reconciled, go, all_done = masthead.Manager("bench"), 0, asyncio.Event(), asyncio.Event()

    @app.controller(Widget)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Widget], widget: Widget) -> None:
        nonlocal reconciled
        del ctx, widget
        reconciled += 1
        if reconciled == count:
            all_done.set()

    @app.source
    async def enqueue_all() -> AsyncIterator[masthead.controller.Request]:
        while True:
            await go.wait()
            go.clear()
            for number in range(count):
                yield masthead.controller.Request(NAMESPACE, name_of(number))

    best = float("inf")
    async with (
        masthead.aio.Client(kubeconfig=kubeconfig) as client,
        app.running(client, metrics_bind=metrics_bind, probe_bind="0"),
        asyncio.timeout(_PATIENCE),
    ):
        await all_done.wait()  # the initial ones
        gc.collect()
        gc.freeze()
        for _ in range(_ROUNDS):
            reconciled = 0
            all_done.clear()
            began = time.process_time()
            go.set()
            await all_done.wait()
            best = min(best, time.process_time() - began)
    return 1e6 * best / count


async def reconciles(kubeconfig: str, count: int) -> Figures:
    """The microseconds of a no-op reconcile, with and without metrics."""
    return {
        "metrics": await again(kubeconfig, count, metrics_bind=":0"),
        "plain": await again(kubeconfig, count, metrics_bind="0"),
    }


def main() -> None:
    """Run it."""
    mode, kubeconfig, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if mode == "again":
        print(json.dumps(asyncio.run(reconciles(kubeconfig, count))), flush=True)
    else:
        asyncio.run(observed(mode, kubeconfig, count))
    os._exit(0)


if __name__ == "__main__":
    main()
