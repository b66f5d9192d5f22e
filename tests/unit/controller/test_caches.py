"""The caches of a manager: storage, scopes and transforms."""

from __future__ import annotations

from typing import Any, cast

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Node, Secret
from masthead.errors import ArgumentError
from masthead.testing import Environment, in_virtual_time


@pytest.mark.parametrize("hold", ["lazy", "eager", "compact"])
@in_virtual_time
async def test_a_manager_configures_storage_and_transform_of_its_caches(hold: Any) -> None:
    app, seen = masthead.Manager("caches", hold=hold, transform=masthead.cache.drop_managed_fields), list[object]()

    @app.controller(ConfigMap)
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], config: ConfigMap) -> None:
        if ctx.request.name == "web":
            seen.append((config.data["a"], len(config.metadata.managed_fields)))
            await ctx.apply({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "made"}})

    web = ConfigMap.new("web", namespace="default", data={"a": "b"})
    async with Environment(app, objects=[web]) as env:
        await env.wait_for_idle()
        stored = await env.client.core_v1.config_maps("default").get("web")
        made = await env.client.core_v1.config_maps("default").get("made")

    assert seen == [("b", 0)]
    assert len(stored.metadata.managed_fields) > 0
    assert made.metadata.owner_references[0].name == "web"


@pytest.mark.parametrize("options", [{"hold": "loose"}, {"transform": "drop_managed_fields"}])
def test_another_way_to_hold_objects_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(ArgumentError):
        masthead.Manager(**cast("Any", options))


@pytest.mark.parametrize("nodes", [Node, "v1/nodes"], ids=["typed", "untyped"])
@in_virtual_time
async def test_cluster_scoped_objects_are_found_from_a_reconcile_in_a_namespace(nodes: Any) -> None:
    app, seen = masthead.Manager("caches"), list[object]()

    @app.controller(ConfigMap, reads=[nodes, Secret], label_selector="app=web")
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], config: ConfigMap) -> None:
        found = await ctx.get(nodes, "node-1")
        seen.append([node.metadata.name for node in await ctx.list(nodes)])
        seen.append(found is not None and config.metadata.name)
        seen.append([secret.metadata.namespace for secret in await ctx.list(Secret)])

    web = ConfigMap.new("web", namespace="default", labels={"app": "web"})
    secrets = [Secret.new("key", namespace=namespace) for namespace in ("default", "kube-system")]
    async with Environment(app, objects=[web, Node.new("node-1"), *secrets]) as env:
        await env.wait_for_idle()

    assert seen == [["node-1"], "web", ["default"]]
