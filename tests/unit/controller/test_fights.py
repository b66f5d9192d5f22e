"""Fights with other field managers: named in the log, and slowed down."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.meta import Patch
from masthead.testing import Environment, NotIdleError, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    ReconcileContext = masthead.aio.ReconcileContext[Secret]

OWNER = Secret.new("owner", namespace="default")


def painter(name: str, write: Callable[[ReconcileContext], Awaitable[object]]) -> masthead.Manager:
    app = masthead.Manager(name)

    @app.controller(Secret, name=name, watches={ConfigMap: lambda _: "default/owner"})
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        await write(ctx)

    return app


def applier(color: str) -> masthead.Manager:
    wall = ConfigMap.new("wall", namespace="default", data={"color": color})
    return painter(color, lambda ctx: ctx.apply(wall, owned=False))


def patcher(color: str) -> masthead.Manager:
    patch = Patch.merge({"data": {"color": color}})

    async def write(ctx: ReconcileContext) -> None:
        await ctx.client.core_v1.config_maps("default").patch("wall", patch, field_manager=color)

    return painter(color, write)


def updater(color: str) -> masthead.Manager:
    async def write(ctx: ReconcileContext) -> None:
        wall = ctx.cache.get(ConfigMap, "wall", "default")
        if wall is not None and wall.data.get("color") != color:
            changed = wall.copy()
            changed.data["color"] = color
            await ctx.client.core_v1.config_maps("default").update(changed, field_manager=color)

    return painter(color, write)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "again and again" in record.getMessage()]


@pytest.mark.parametrize("writer", [applier, patcher, updater])
@in_virtual_time
async def test_both_sides_of_a_fight_are_slowed_down_and_name_each_other(
    writer: Callable[[str], masthead.Manager], caplog: pytest.LogCaptureFixture
) -> None:
    async with Environment(objects=[OWNER]) as env:
        # Seeded objects have no managed fields, which name the writers.
        await env.client.core_v1.config_maps("default").create(ConfigMap.new("wall", data={"color": "white"}))
        await env.start(writer("red"))
        await env.start(writer("blue"))
        with caplog.at_level(logging.WARNING):
            await env.advance(20)
    red, blue = sorted(warnings(caplog), key=lambda text: "controller red" not in text)
    assert red.startswith("controller red: the reconcile of default/owner has written configmaps default/wall")
    assert 'the field manager "blue" changes it back: .data.color;' in red
    assert 'the field manager "red" changes it back: .data.color;' in blue
    # One a second of each side, and those before the detection.
    assert len(env.writes) < 100


@in_virtual_time
async def test_a_user_who_scales_often_is_no_fight(caplog: pytest.LogCaptureFixture) -> None:
    app = masthead.Manager("scaler")

    @app.controller(Secret, name="scaler", owns=[ConfigMap])
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        child = ConfigMap.new("child", data={"replicas": secret.data.get("replicas", b"1").decode()})
        await ctx.apply(child)

    async with Environment(app, objects=[OWNER]) as env:
        await env.wait_for_idle()
        for number in range(100):
            patch = Patch.merge({"stringData": {"replicas": str(number % 2)}})
            await env.client.core_v1.secrets("default").patch("owner", patch)
            # As a controller of the cluster that reports about each change.
            noted = Patch.merge({"metadata": {"annotations": {"seen": str(number)}}})
            await env.client.core_v1.config_maps("default").patch("child", noted)
            await env.wait_for_idle()
            child = await env.client.core_v1.config_maps("default").get("child")
            assert child.data == {"replicas": str(number % 2)}
    assert not warnings(caplog)


@in_virtual_time
async def test_patches_that_change_nothing_are_no_fight(caplog: pytest.LogCaptureFixture) -> None:
    wall = ConfigMap.new("wall", namespace="default")
    async with Environment(patcher("red"), objects=[OWNER, wall]) as env:
        for number in range(100):
            noted = Patch.merge({"metadata": {"annotations": {"seen": str(number)}}})
            await env.client.core_v1.config_maps("default").patch("wall", noted)
            await env.wait_for_idle()
    assert not warnings(caplog)


@in_virtual_time
async def test_a_test_environment_is_not_idle_during_a_fight() -> None:
    async with Environment(objects=[OWNER]) as env:
        await env.start(applier("red"))
        await env.start(applier("blue"))
        with pytest.raises(NotIdleError, match=r"configmaps default/wall was written"):
            await env.wait_for_idle()


@in_virtual_time
async def test_a_fight_that_ends_early_costs_a_few_reads_and_no_more(caplog: pytest.LogCaptureFixture) -> None:
    async with Environment(applier("red"), objects=[OWNER]) as env:
        maps, owners = env.client.core_v1.config_maps("default"), env.client.core_v1.secrets("default")
        await env.wait_for_idle()

        def reads() -> int:
            found = [request for request in env.server.requests if request.path.endswith("/configmaps/wall")]
            return sum(request.method == "GET" for request in found)

        async def touch(number: int) -> None:
            await owners.patch("owner", Patch.merge({"metadata": {"annotations": {"touched": str(number)}}}))
            await env.wait_for_idle()

        for number in range(100):
            await maps.patch("wall", Patch.merge({"data": {"color": "blue"}}), field_manager="user")
            await env.wait_for_idle()
            await touch(number)
            if reads():
                break
        before = reads()
        for number in range(20):
            await touch(1_000 + number)

    assert 0 < before <= reads() <= 5
    assert not warnings(caplog)
