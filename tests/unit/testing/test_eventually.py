"""Steps of tests that are repeated until they succeed."""

from __future__ import annotations

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.testing import BlockingEnvironment, Environment, EventuallyError, NotIdleError, in_virtual_time
from masthead.testing.virtual_time import now

OBJECTS = [Secret.new("a", namespace="default")]


def slow() -> masthead.Manager:
    """An operator that needs three reconciles, a minute apart."""
    app, rounds = masthead.Manager("slow"), list[int]()

    @app.controller(Secret)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> masthead.controller.Result:
        rounds.append(len(rounds) + 1)
        if len(rounds) < 3:
            return masthead.controller.Result(requeue_after=60)
        await ctx.apply(ConfigMap.new("a", data={"rounds": "3"}))
        return masthead.controller.Result()

    return app


@in_virtual_time
async def test_a_step_is_repeated_until_its_object_is_there() -> None:
    async with Environment(slow, objects=OBJECTS) as env:
        config_map = await env.eventually(lambda: env.client.core_v1.config_maps("default").get("a"), timeout=300)
        assert config_map.data == {"rounds": "3"}
        assert 120 <= now() < 121


@in_virtual_time
async def test_a_step_that_succeeds_takes_no_time() -> None:
    async with Environment(objects=OBJECTS) as env:
        found = await env.eventually(lambda: env.client.core_v1.secrets("default").get("a"))
        assert (found.metadata.name, now()) == ("a", 0)


@in_virtual_time
async def test_the_last_error_and_the_remaining_work_are_told() -> None:
    async def has_data() -> None:
        config_map = await env.client.core_v1.config_maps("default").get("b")
        assert config_map.data == {"a": "b"}, "no data"

    async with Environment(slow, objects=OBJECTS) as env:
        with pytest.raises(EventuallyError) as caught:
            await env.eventually(has_data, timeout=30)
        assert str(caught.value).startswith("the step still fails after 30 s and ")
        assert 'attempts: get configmaps default/b: configmaps "b" not found' in str(caught.value)
        assert "slow-0 slow default/a: requeued after 60 s" in str(caught.value).replace("secrets", "slow")
        assert isinstance(caught.value.__cause__, masthead.NotFoundError)
        assert now() == 30
        await env.client.core_v1.config_maps("default").create(ConfigMap.new("b"))
        with pytest.raises(EventuallyError, match="AssertionError: no data"):
            await env.eventually(has_data, timeout=1)


@in_virtual_time
async def test_other_errors_end_the_step() -> None:
    async def fail() -> None:
        raise LookupError("no such thing")

    async with Environment() as env:
        with pytest.raises(LookupError, match="no such thing"):
            await env.eventually(fail)


@pytest.mark.slow
@in_virtual_time
async def test_a_hot_loop_ends_the_wait() -> None:
    app = masthead.Manager("hot")

    @app.controller(Secret)
    async def reconcile(_ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> masthead.controller.Result:
        return masthead.controller.Result(requeue_after=0.1)

    async with Environment(app, objects=OBJECTS) as env:
        with pytest.raises(NotIdleError, match="time hardly passes"):
            await env.eventually(lambda: env.client.core_v1.config_maps("default").get("a"), timeout=3600)


@pytest.mark.asyncio
async def test_a_step_is_repeated_in_real_time() -> None:
    async with Environment(objects=OBJECTS) as env:
        attempts: list[int] = []

        async def third() -> int:
            attempts.append(1)
            assert len(attempts) == 3
            return len(attempts)

        assert await env.eventually(third) == 3


def test_a_blocking_step_is_repeated() -> None:
    with BlockingEnvironment(slow, objects=OBJECTS) as env:
        config_map = env.eventually(lambda: env.client.core_v1.config_maps("default").get("a"), timeout=300)
        assert config_map.data == {"rounds": "3"}
        assert 120 <= env.now < 121
        with pytest.raises(EventuallyError, match='"b" not found'):
            env.eventually(lambda: env.client.core_v1.config_maps("default").get("b"), timeout=5)
