"""What follows a reconcile that has changed something, on a real server as on the embedded one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Namespace, Secret
from masthead.meta import Patch
from masthead.testing import Environment

if TYPE_CHECKING:
    from tests.real_server import RealServer

pytestmark = pytest.mark.real
BOTH = pytest.mark.parametrize("ignores_own", [False, True])


def environment(server: RealServer, app: masthead.Manager) -> Environment:
    config = masthead.Config(server=server.url, token=server.token, ca_file=server.ca_file)
    return Environment(app, config=config)


@BOTH
async def test_one_change_is_two_reconciles_or_one_and_the_end_is_another(
    real_server: RealServer, ignores_own: bool
) -> None:
    app, seen = masthead.Manager("reruns"), list[str]()
    name = f"reruns-{ignores_own:d}"

    @app.controller(
        Secret,
        owns=[ConfigMap],
        label_selector=f"test={name}",
        finalizer="example.com/reruns",
        ignore_own_writes=ignores_own,
    )
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret | None) -> None:
        if ctx.request.name != name:
            return
        if secret is None:
            seen.append("gone")
            return
        if await ctx.finalize(lambda: None):
            seen.append("finalized")
            return
        seen.append(secret.data["color"].decode())
        for number in range(3):
            await ctx.apply(ConfigMap.new(f"{name}-{number}", data={"color": seen[-1]}))

    async with environment(real_server, app) as env:
        secrets = env.client.core_v1.secrets("default")
        await secrets.create(Secret.new(name, labels={"test": name}, data={"color": b"red"}))
        await env.wait_for_idle()
        await secrets.patch(name, Patch.merge({"stringData": {"color": "blue"}}))
        await env.wait_for_idle()
        await secrets.delete(name)
        await env.wait_for_idle()
        times = 1 if ignores_own else 2
        assert seen == ["red"] * times + ["blue"] * times + ["finalized", "gone"]
        maps = env.client.core_v1.config_maps("default")
        for number in range(3):  # there is no garbage collector
            await maps.delete(f"{name}-{number}")


async def test_a_write_to_a_terminating_namespace_is_visible_immediately(real_server: RealServer) -> None:
    app, reads = masthead.Manager("namespaces"), list[bool]()

    @app.controller(Namespace, label_selector="test=reruns")
    async def reconcile(ctx: masthead.aio.ReconcileContext[Namespace], namespace: Namespace) -> None:
        if "old" not in namespace.metadata.labels:
            return
        namespaces = ctx.client.core_v1.namespaces()
        await namespaces.delete(ctx.request.name)
        await namespaces.patch(ctx.request.name, Patch.merge({"metadata": {"labels": {"old": None}}}))
        found = await ctx.get(Namespace, ctx.request.name)
        reads.append(found is not None and found.metadata.deletion_timestamp is not None)

    async with environment(real_server, app) as env:
        labels = {"test": "reruns", "old": "yes"}
        await env.client.core_v1.namespaces().create(Namespace.new("reruns", labels=labels))
        # It stays: nothing empties it without a controller manager.
        await env.wait_for_idle(timeout=20)
        assert env.failures == []
    assert reads == [True]
