"""Time that does not pass, because something runs again and again."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import masthead
import masthead.aio
from masthead._controller.requests import Request
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.testing import Environment, NotIdleError, in_virtual_time
from masthead.testing._hot_loops import HotKey, find_hot_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

OBJECTS = [Secret.new("a", namespace="default")]


def requeued(seconds: float) -> masthead.Manager:
    app = masthead.Manager("hot")

    @app.controller(Secret)
    async def reconcile(_ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> masthead.controller.Result:
        return masthead.controller.Result(requeue_after=seconds)

    return app


@in_virtual_time
async def test_advance_ends_at_an_object_that_is_reconciled_again_and_again() -> None:
    app = requeued(3600)

    @app.source(controller="secrets")
    async def feed() -> AsyncIterator[str]:
        while True:
            await asyncio.sleep(0.001)
            yield "default/a"

    async with Environment(app, objects=OBJECTS) as env:
        with pytest.raises(NotIdleError, match=r"controller secrets of hot-0 has reconciled default/a .* times within"):
            await env.advance(3600)


@pytest.mark.slow
@in_virtual_time
async def test_a_source_that_yields_without_waiting_is_found_out() -> None:
    app = requeued(3600)

    @app.source(controller="secrets")
    async def feed() -> AsyncIterator[str]:
        while True:
            yield "default/a"

    async with Environment(app, objects=OBJECTS) as env:
        with pytest.raises(NotIdleError, match=r"(?s)reconciled default/a .*source .*feed"):
            await env.advance(1)


@pytest.mark.slow
@in_virtual_time
async def test_a_reconcile_that_polls_without_waiting_is_found_out_and_killed() -> None:
    app = masthead.Manager("polling")

    @app.controller(Secret)
    async def reconcile(_ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        while True:  # noqa: ASYNC110 - the bug that is found out
            await asyncio.sleep(0)

    async with Environment(app, objects=OBJECTS) as env:
        with pytest.raises(NotIdleError, match=r"(?s)never waits.*default/a is being reconciled"):
            await env.advance(1)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.01, 0.1], ids=str)
def test_advance_ends_at_requeues_at_every_tick(seconds: float) -> None:
    @in_virtual_time
    async def test() -> None:
        async with Environment(requeued(seconds), objects=OBJECTS) as env:
            with pytest.raises(
                NotIdleError, match=r"controller secrets of hot-0 has reconciled default/a .* times within"
            ):
                await env.advance(3600)

    test()


def fighting() -> masthead.Manager:
    """Two controllers that each want their own value."""
    app = masthead.Manager("fight")

    def fight(value: str) -> None:
        @app.controller(Secret, name=value, owns=[ConfigMap], field_manager=value)
        async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
            await ctx.apply(ConfigMap.new("a", data={"value": value}), force=True)

    fight("left")
    fight("right")
    return app


@pytest.mark.slow
@pytest.mark.parametrize("call", ["advance", "wait_for_idle"])
def test_two_controllers_that_fight_are_found_out(call: str) -> None:
    @in_virtual_time
    async def test() -> None:
        async with Environment(fighting, objects=OBJECTS) as env:
            with pytest.raises(NotIdleError, match=r"(?s)configmaps default/a was written .* by left.* by right"):
                await (env.advance(3600) if call == "advance" else env.wait_for_idle())

    test()


@pytest.mark.slow
@pytest.mark.parametrize("call", ["advance", "wait_for_idle"])
def test_a_source_without_an_end_is_found_out(call: str) -> None:
    @in_virtual_time
    async def test() -> None:
        app = requeued(3600)

        @app.source(controller="secrets")
        async def feed() -> AsyncIterator[str]:
            for number in itertools.count():
                yield f"default/{number}"

        async with Environment(app, objects=OBJECTS) as env:
            with pytest.raises(NotIdleError, match=r"there were \d+ reconciles of 1 objects, and no end"):
                await (env.advance(3600) if call == "advance" else env.wait_for_idle())

    test()


@pytest.mark.slow
@in_virtual_time
async def test_a_wait_ends_at_a_reconcile_that_polls_without_waiting() -> None:
    app = masthead.Manager("polling")

    @app.controller(Secret)
    async def reconcile(_ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        await asyncio.sleep(5)
        while True:  # noqa: ASYNC110 - the bug that is found out
            await asyncio.sleep(0)

    async with Environment(app, objects=OBJECTS) as env:
        with pytest.raises(NotIdleError, match=r"(?s)never waits.*default/a is being reconciled"):
            await env.wait_for_idle()


@pytest.mark.slow
@in_virtual_time
async def test_a_task_that_hardly_waits_is_found_out() -> None:
    app = requeued(3600)

    @app.source(controller="secrets")
    async def feed() -> AsyncIterator[str]:
        while True:
            await asyncio.sleep(0.0001)
            if asyncio.get_running_loop().time() < 0:
                yield "default/a"

    async with Environment(app, objects=OBJECTS) as env:
        with pytest.raises(NotIdleError, match=r"time hardly passes: something runs again and again, [0-9,]+ times in"):
            await env.advance(3600)


@pytest.mark.slow
@in_virtual_time
async def test_hours_of_frequent_requeues_pass() -> None:
    async with Environment(requeued(5), objects=OBJECTS) as env:
        await env.advance(2 * 3600)


@pytest.mark.slow
@in_virtual_time
async def test_a_burst_of_changes_is_no_hot_loop() -> None:
    app = masthead.Manager("busy")

    @app.controller(ConfigMap)
    async def reconcile(_ctx: masthead.aio.ReconcileContext[ConfigMap], _: ConfigMap) -> None: ...

    many = [ConfigMap.new(f"m{number}", namespace="default") for number in range(200)]
    async with Environment(app, objects=many) as env:
        await env.advance(1)


@given(st.lists(st.floats(0.0, 60.0), min_size=1, max_size=30))
def test_an_object_with_few_reconciles_is_never_hot(times: list[float]) -> None:
    recent = [(when, Request("default", "a")) for when in sorted(times)]
    assert find_hot_key({"c": recent}, 0.0) is None


@given(st.floats(0.0, 10.0), st.integers(500, 1000))
def test_an_object_is_hot_above_nine_reconciles_a_second(pause: float, count: int) -> None:
    recent = [(100 + number * pause, Request("default", "a")) for number in range(count)]
    hot = find_hot_key({"c": recent}, 0.0)
    rate_is_high = count >= 9.0 * (recent[-1][0] - recent[0][0])
    assert hot == (HotKey("c", "default/a", count, recent[-1][0] - recent[0][0]) if rate_is_high else None)


def test_reconciles_before_the_beginning_do_not_count() -> None:
    recent = [(100.0, Request("default", "a"))] * 1000
    assert find_hot_key({"c": recent}, 100.0) is not None
    assert find_hot_key({"c": recent}, 100.1) is None
