"""Imports and caches, filled before processes fork: else each of them would pay for them."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from masthead import Manager
    from masthead.aio import ReconcileContext
    from masthead.api.core.v1 import ConfigMap
    from masthead.testing._environment import Environment

__all__ = ["warm_up"]

_lock = threading.Lock()
_warm: set[str] = set()


def warm_up() -> None:
    """Run a small operator once in this process, in a thread: the caller may run an event loop."""
    with _lock:
        if _warm:
            return
        # Even if the run fails: a warm-up saves time, and decides nothing.
        _warm.add("done")
        thread = threading.Thread(target=_exercise, name="masthead-explore-warm-up")
        thread.start()
        # No fork may happen before its end: the child would inherit locks that this thread holds.
        thread.join()


def _exercise() -> None:
    from masthead.testing._explore.run import run_schedule
    from masthead.testing._explore.schedule import Schedule
    from masthead.testing._explore.target import Target
    from masthead.testing._explore.workload import as_workload

    logger = logging.getLogger("masthead")
    level = logger.level
    # The log of a user must not show an operator of the explorer.
    logger.setLevel(logging.CRITICAL)
    try:
        target = Target(_make_app, as_workload([_create, _delete]))
        run_schedule(target, Schedule(), checks_restart=True)
    finally:
        logger.setLevel(level)


def _make_app() -> Manager:
    import masthead
    from masthead.api.core.v1 import ConfigMap, Secret

    app = masthead.Manager("warm-up")

    @app.controller(ConfigMap, owns=[Secret])
    async def reconcile(ctx: ReconcileContext[ConfigMap], obj: ConfigMap) -> None:
        await ctx.apply(Secret.new(obj.metadata.name))

    return app


async def _create(env: Environment) -> None:
    from masthead.api.core.v1 import ConfigMap

    await env.client.core_v1.config_maps("default").create(ConfigMap.new("warm-up"))


async def _delete(env: Environment) -> None:
    await env.client.core_v1.config_maps("default").delete("warm-up")
