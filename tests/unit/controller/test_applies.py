"""``ctx.apply``: who owns what it applies, and when nothing is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.aio
from masthead import Patch
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.errors import AlreadyControlledError
from masthead.meta import controller_of
from masthead.testing import Environment, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead.meta import Object

KINDS = pytest.mark.parametrize("owns", [(ConfigMap,), ()], ids=["cached", "not cached"])


def sharing(owns: Sequence[type[Object]]) -> masthead.Manager:
    """An operator whose objects all want the same child."""
    app = masthead.Manager("sharing")

    @app.controller(Secret, owns=owns)
    async def reconcile(ctx: masthead.aio.Context[Secret], secret: Secret) -> None:
        await ctx.apply(ConfigMap.new("shared", data={"size": str(len(secret.data))}))

    return app


async def owner_of(env: Environment) -> str:
    found = controller_of(await env.client.core_v1.config_maps("default").get("shared"))
    return found.name if found is not None else ""


@KINDS
@in_virtual_time
async def test_a_child_is_not_taken_from_another_owner(owns: Sequence[type[Object]]) -> None:
    async with Environment(sharing(owns)) as env:
        secrets = env.client.core_v1.secrets("default")
        await secrets.create(Secret.new("first"))
        await env.settle()
        await secrets.create(Secret.new("second"))
        await env.settle()
        assert env.writes == ["apply configmaps default/shared"]
        assert await owner_of(env) == "first"
        (failure,) = env.failures
        assert "ConfigMap default/shared is already controlled by Secret first" in failure
        assert "Secret default/second cannot control it as well; give it another name" in failure


@KINDS
@in_virtual_time
async def test_owners_that_create_it_at_once_do_not_fight(owns: Sequence[type[Object]]) -> None:
    there = [Secret.new(name, namespace="default") for name in ("first", "second")]
    async with Environment(sharing(owns), objects=there) as env:
        await env.settle()
        assert await owner_of(env) in {"first", "second"}
        assert len(env.writes) <= 2
        assert [each.partition(" (")[0].split(": ")[1] for each in env.failures] == ["AlreadyControlledError"]


@KINDS
@in_virtual_time
async def test_a_recreated_owner_takes_its_child_over(owns: Sequence[type[Object]]) -> None:
    options = {"controllers": False}  # nothing collects the child
    async with Environment(sharing(owns), server_options=options) as env:
        secrets = env.client.core_v1.secrets("default")
        await secrets.create(Secret.new("first"))
        await env.settle()
        await secrets.delete("first")
        made = await secrets.create(Secret.new("first"))
        await env.settle()
        assert env.failures == []
        found = controller_of(await env.client.core_v1.config_maps("default").get("shared"))
        assert found is not None
        assert found.uid == made.metadata.uid


@KINDS
@in_virtual_time
async def test_a_child_that_is_applied_already_is_not_written_again(owns: Sequence[type[Object]]) -> None:
    async with Environment(sharing(owns)) as env:
        secrets = env.client.core_v1.secrets("default")
        await secrets.create(Secret.new("first"))
        await env.settle()
        env.clear()
        await secrets.patch("first", Patch.merge({"metadata": {"labels": {"a": "b"}}}))
        await env.settle()
        assert env.writes == []
        await secrets.patch("first", Patch.merge({"data": {"a": "MQ=="}}))
        await env.settle()
        assert env.writes == ["apply configmaps default/shared"]


@in_virtual_time
async def test_a_controller_that_another_manager_has_set_is_named() -> None:
    async with Environment(sharing([])) as env:
        secrets = env.client.core_v1.secrets("default")
        other = await secrets.create(Secret.new("other", labels={"skip": "yes"}))
        reference = {
            "apiVersion": "v1", "kind": "Secret", "name": "other", "uid": other.metadata.uid, "controller": True,
        }  # fmt: skip
        child = ConfigMap.new("shared")
        child.metadata.owner_references = [masthead.meta.OwnerReference.from_dict(reference)]
        await env.client.core_v1.config_maps("default").create(child)
        await secrets.create(Secret.new("first"))
        await env.settle()
        assert await owner_of(env) == "other"
        assert any(AlreadyControlledError.__name__ in each for each in env.failures)
