"""One seed makes two runs of a test the same: server contents, requests, ids, names and times."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import subprocess
import sys
from typing import NamedTuple

import pytest

import masthead
import masthead.aio
from masthead._sansio import randomness
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.meta import Condition, set_condition
from masthead.testing import BlockingEnvironment, Environment, in_virtual_time


class Gadget(masthead.CustomResource, group="seed.example.com", version="v1"):
    size: int = 0


class Recording(NamedTuple):
    """Everything that a run leaves behind."""

    requests: list[tuple[str, dict[str, str], bytes]]
    """With headers, except the port that the system has chosen for the server."""
    contents: list[tuple[str, str, int, bytes]]
    writes: list[str]
    reconcile_ids: list[str]


def gadgets(ids: list[str]) -> masthead.Manager:
    """A manager with a webhook, Events, generated names, and a reconcile that fails twice."""
    app = masthead.Manager("gadgets", leader_election="gadgets")

    @app.controller(Gadget, owns=[ConfigMap])
    async def reconcile(ctx: masthead.aio.ReconcileContext[Gadget], gadget: Gadget) -> None:
        ids.append(ctx.reconcile_id)
        if len(ids) < 3:
            raise masthead.TemporaryError("not yet")
        await ctx.apply(ConfigMap.new(gadget.metadata.name, data={"first": ids[0]}))
        ctx.record("Normal", "Ready", "the gadget is ready")

    @app.validate(Gadget)
    def check(_request: object, gadget: Gadget) -> None:
        assert gadget.size >= 0

    return app


def read(env: Environment, ids: list[str]) -> Recording:
    server = env.server
    storage = server._cluster.storage
    return Recording(
        [(repr(request), {**request.headers, "host": ""}, request.body) for request in server.requests],
        [(name, record.key, record.revision, record.value) for name, table in storage.tables() for record in table.log],
        [f"{write} {write.reconcile}" for write in env.writes],
        ids,
    )


def run(seed: int | None) -> Recording:
    recordings: list[Recording] = []

    @in_virtual_time
    async def test() -> None:
        ids: list[str] = []
        async with Environment(lambda: gadgets(ids), seed=seed) as env:
            await env.client.resource(Gadget, namespace="default").create(Gadget.new("a"))
            secrets = env.client.core_v1.secrets("default")
            await secrets.create({"metadata": {"generateName": "b-"}})
            await env.advance(60)  # retries, and renewals of the lease
            await env.wait_for_idle()
            recordings.append(read(env, ids))

    test()
    return recordings[0]


def test_two_runs_with_one_seed_are_identical() -> None:
    first, second = run(26), run(26)
    assert first.reconcile_ids == second.reconcile_ids
    assert first.writes == second.writes
    assert first.requests == second.requests
    assert first.contents == second.contents


def run_with_failover() -> Recording:
    """Run two replicas with functions in threads. The leader crashes."""
    recordings: list[Recording] = []

    @in_virtual_time
    async def test() -> None:
        ids: list[str] = []
        async with Environment(lambda: gadgets(ids), lambda: gadgets(ids), seed=26) as env:
            for name in ("a", "b", "c"):
                await env.client.resource(Gadget, namespace="default").create(Gadget.new(name))
            await env.wait_for_idle()
            await env.replicas[0].crash()
            await env.advance(60)
            await env.wait_for_idle()
            recordings.append(read(env, ids))

    test()
    return recordings[0]


@pytest.mark.slow
def test_ten_runs_with_replicas_and_threads_are_identical() -> None:
    first = run_with_failover()
    assert all(run_with_failover() == first for _ in range(9))


def print_digest() -> None:
    """Print a digest of a run."""
    print(hashlib.sha256(repr(run_with_failover()).encode()).hexdigest())


@pytest.mark.slow
def test_runs_in_processes_with_different_hashes_are_identical() -> None:
    # Sets of strings are in another order there, and objects at other addresses.
    command = [sys.executable, "-c", f"from {__name__} import print_digest; print_digest()"]
    digests = {
        subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, timeout=60, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_runs_with_two_seeds_differ() -> None:
    first, second = run(26), run(27)
    assert first.reconcile_ids != second.reconcile_ids
    assert first.requests != second.requests
    assert {name for name, _, _, _ in first.contents} == {name for name, _, _, _ in second.contents}
    assert first.contents != second.contents


def test_runs_without_a_seed_differ() -> None:
    assert run(None).reconcile_ids != run(None).reconcile_ids


def test_the_seed_ends_with_the_environment() -> None:
    @in_virtual_time
    async def test() -> None:
        async with Environment(seed=1):
            assert randomness.current_source() is not None
        assert randomness.current_source() is None

    test()


def test_replicas_do_not_disturb_each_others_random_numbers() -> None:
    def ids_of_first(replicas: int) -> str:
        drawn: list[str] = []

        @in_virtual_time
        async def test() -> None:
            def make() -> masthead.Manager:
                app = masthead.Manager("draws")

                @app.controller(Secret)
                async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _secret: Secret) -> None:
                    drawn.append(ctx.reconcile_id)

                return app

            async with Environment(seed=3) as env:
                for _ in range(replicas):
                    await env.start(make)
                await env.client.core_v1.secrets("default").create(Secret.new("a"))
                await env.wait_for_idle()

        test()
        return drawn[0]

    assert ids_of_first(1) == ids_of_first(2)


def test_plain_functions_in_threads_use_the_seed() -> None:
    def draw() -> list[float]:
        drawn: list[float] = []
        app = masthead.Manager("draws")

        @app.controller(Secret)
        def reconcile(_ctx: masthead.ReconcileContext[Secret], _secret: Secret) -> None:
            drawn.append(randomness.random())

        with BlockingEnvironment(seed=4) as env:
            env.start(app)
            env.client.core_v1.secrets("default").create(Secret.new("a"))
            env.wait_for_idle()
        return drawn

    assert draw() == draw()


def test_conditions_have_the_time_of_the_environment() -> None:
    years: list[int] = []

    @in_virtual_time
    async def test() -> None:
        app = masthead.Manager("conditions")

        @app.controller(Secret)
        async def reconcile(_ctx: masthead.aio.ReconcileContext[Secret], _secret: Secret) -> None:
            conditions: list[Condition] = []
            set_condition(conditions, Condition(type="Ready", status="True", reason="Up", message=""))
            transition = conditions[0].last_transition_time
            assert transition is not None
            years.append(transition.year)

        async with Environment(app) as env:
            env.shift_clock(10 * 366 * 86_400)
            await env.client.core_v1.secrets("default").create(Secret.new("a"))
            await env.wait_for_idle()

    test()
    assert years == [2036]


@pytest.mark.parametrize("size", [1, 4, 16])
def test_tokens_come_from_the_source_of_the_task(size: int) -> None:
    async def draw(seed: int | None) -> str:
        randomness.use_source(None if seed is None else random.Random(seed))
        return randomness.token_hex(size)

    async def main() -> tuple[str, str, str]:
        one, two, other = await asyncio.gather(draw(1), draw(1), draw(None))
        assert randomness.current_source() is None
        return one, two, other

    one, two, other = asyncio.run(main())
    assert one == two
    assert len(one) == len(other) == 2 * size
