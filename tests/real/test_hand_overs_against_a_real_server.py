"""Hand-overs of a manager against a real server: caches of quiet kinds have caught up without a bookmark."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.real.informers_recording import config_of

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Secret, ServiceAccount

if TYPE_CHECKING:
    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real")]

PATIENCE = 30.0
"""Seconds until a test gives up: less than the minute between two bookmarks."""


@pytest.mark.parametrize("count", [3, 501])
async def test_a_controller_starts_before_the_next_bookmark_of_its_quiet_kinds(
    real_server: RealServer, count: int
) -> None:
    config = config_of(real_server)
    app = masthead.Manager("quiet")
    reconciled: set[str] = set()

    async with masthead.aio.Client(config, rate=None) as client:
        made = await client.core_v1.namespaces().create({"metadata": {"generateName": "quiet-"}})
        namespace = made.metadata.name
        names = {f"object-{number}" for number in range(count)}
        for name in names:
            await client.core_v1.config_maps(namespace).create(ConfigMap.new(name, labels={"test": namespace}))
        # The version of the server goes on, and no watch of the controller shows that.
        await client.core_v1.service_accounts(namespace).create(ServiceAccount.new("other"))

        @app.controller(ConfigMap, label_selector=f"test={namespace}", owns=[Secret], workers=8)
        async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], _: ConfigMap) -> None:
            reconciled.add(ctx.request.name)

        options = {"metrics_bind": "0", "probe_bind": "0", "namespaces": (namespace,)}
        async with asyncio.timeout(PATIENCE), app.running(config, **options):  # type: ignore[arg-type]
            while reconciled != names:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
