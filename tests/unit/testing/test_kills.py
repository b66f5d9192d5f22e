"""A killed replica is dead at once, whatever its code does."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.testing import Environment, in_virtual_time
from masthead.testing.virtual_time import VirtualLoop, now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from masthead.testing._exchanges import Exchange

OBJECTS = [Secret.new("a", namespace="default")]


class Killer:
    """Kills a replica at the first write of a reconcile, from within that reconcile."""

    def __init__(self) -> None:
        self.is_done = False

    async def before(self, exchange: Exchange) -> None:
        if exchange.is_write and exchange.reconcile is not None and not self.is_done:
            self.is_done = True
            exchange.replica.kill()
            await asyncio.get_running_loop().create_future()

    async def after(self, exchange: Exchange) -> None: ...


async def ignore_everything(ctx: masthead.aio.ReconcileContext[Secret]) -> None:
    while True:
        try:
            await ctx.apply(ConfigMap.new("a"))
        except BaseException:  # noqa: BLE001
            continue


async def poll_for_ever(ctx: masthead.aio.ReconcileContext[Secret]) -> None:
    try:
        await ctx.apply(ConfigMap.new("a"))
    finally:
        while True:
            try:
                await asyncio.sleep(0)
            except BaseException:  # noqa: BLE001
                continue


async def write_at_the_end(ctx: masthead.aio.ReconcileContext[Secret]) -> None:
    try:
        await ctx.apply(ConfigMap.new("a"))
    finally:
        await ctx.client.core_v1.config_maps("default").create(ConfigMap.new("late"))


async def sleep_for_ever(ctx: masthead.aio.ReconcileContext[Secret]) -> None:
    while True:
        try:
            await ctx.apply(ConfigMap.new("a"))
            await asyncio.sleep(1)
        except BaseException:  # noqa: BLE001
            await asyncio.sleep(1)


HOSTILE = [ignore_everything, poll_for_ever, write_at_the_end, sleep_for_ever]


def operator(reconcile: Callable[..., object], calls: list[str]) -> masthead.Manager:
    """A manager whose first replica is hostile."""
    app = masthead.Manager("hostile")
    is_first = not calls
    calls.append("made")

    @app.controller(Secret, owns=[ConfigMap])
    async def secrets(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        if is_first:
            await reconcile(ctx)  # type: ignore[misc]
        await ctx.apply(ConfigMap.new("a"))

    return app


@pytest.mark.parametrize("reconcile", HOSTILE, ids=lambda function: function.__name__)
def test_a_successor_works_while_the_tasks_of_a_killed_replica_stand_still(reconcile: Callable[..., object]) -> None:
    calls: list[str] = []

    @in_virtual_time
    async def test() -> None:
        make = functools.partial(operator, reconcile, calls)
        async with Environment(make, objects=OBJECTS) as env:
            (replica,) = env.replicas
            replica.hooks.append(Killer())
            await env.wait_for_idle()
            assert (replica.is_running, env.replicas) == (False, [])
            successor = await env.start(make)
            await env.wait_for_idle()
            assert [write for write in env.writes if write.replica == successor.name] == ["apply configmaps default/a"]
            await env.advance(60)
            names = [found.metadata.name for found in await env.client.core_v1.config_maps("default").list()]
            assert names == ["a"]
        assert now() < 120

    test()


@in_virtual_time
async def test_no_code_of_a_killed_replica_runs_before_the_environment_closes() -> None:
    steps: list[str] = []

    def make() -> masthead.Manager:
        app = masthead.Manager("locking")

        @app.controller(Secret)
        async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
            steps.append("lock")
            try:
                await ctx.apply(ConfigMap.new("a"))
            finally:
                steps.append("unlock")

        @app.timer(1)
        async def tick() -> None:
            steps.append("tick")

        @app.source(controller="secrets")
        async def feed() -> AsyncIterator[str]:
            while True:
                await asyncio.sleep(5)
                steps.append("feed")
                yield "default/a"

        return app

    async with Environment(make, objects=OBJECTS) as env:
        (replica,) = env.replicas
        replica.hooks.append(Killer())
        await env.advance(60)
        assert (steps, env.writes) == (["lock"], [])
    assert steps == ["lock", "unlock"]


@in_virtual_time
async def test_the_sockets_of_a_killed_replica_are_closed() -> None:
    app = masthead.Manager("guard")

    @app.controller(Secret)
    async def reconcile(_ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None: ...

    @app.validate(ConfigMap)
    async def check(_request: object, _: ConfigMap) -> None: ...

    async with Environment(app, objects=OBJECTS) as env:
        await env.wait_for_idle()
        (replica,) = env.replicas
        loop, port = asyncio.get_running_loop(), replica.runtime.webhook_port
        assert isinstance(loop, VirtualLoop)
        assert (len(loop.sockets_of(replica)) > 1, port is not None) == (True, True)
        await replica.crash()
        assert loop.sockets_of(replica) == []
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
        with pytest.raises(masthead.StatusError, match="failed calling webhook"):
            await env.client.core_v1.config_maps("default").create(ConfigMap.new("b"))


@in_virtual_time
async def test_threads_of_a_killed_replica_get_no_answer_and_release_their_locks() -> None:
    lock, errors, is_first = threading.Lock(), list[BaseException](), [True]

    def make() -> masthead.Manager:
        app = masthead.Manager("threads")

        @app.controller(Secret)
        def reconcile(ctx: masthead.ReconcileContext[Secret], _: Secret) -> None:
            with lock:
                try:
                    ctx.apply(ConfigMap.new("a"))
                except BaseException as error:
                    errors.append(error)
                    raise
                finally:
                    if is_first:
                        is_first.clear()
                        ctx.client.core_v1.config_maps("default").create(ConfigMap.new("late"))

        return app

    async with Environment(make, objects=OBJECTS) as env:
        (replica,) = env.replicas
        replica.hooks.append(Killer())
        await env.wait_for_idle()
        successor = await env.start(make)
        await env.wait_for_idle()
        assert [type(error) for error in errors] == [masthead.errors.ClosedError]
        assert [(write, write.replica) for write in env.writes] == [("apply configmaps default/a", successor.name)]


@in_virtual_time
async def test_a_thread_that_ignores_every_error_does_not_stop_time() -> None:
    ends = threading.Event()

    def make() -> masthead.Manager:
        app = masthead.Manager("threads")

        @app.controller(Secret)
        def reconcile(ctx: masthead.ReconcileContext[Secret], _: Secret) -> None:
            while not ends.is_set():
                try:
                    ctx.apply(ConfigMap.new("a"))
                except BaseException:  # noqa: BLE001
                    continue

        return app

    began = time.process_time()
    try:
        async with Environment(make, objects=OBJECTS) as env:
            (replica,) = env.replicas
            replica.hooks.append(Killer())
            await env.advance(3600)
    finally:
        ends.set()
    assert now() == 3600
    assert time.process_time() - began < 30


@in_virtual_time
async def test_a_hook_that_kills_a_replica_starts_its_successor() -> None:
    class Successor(Killer):
        async def before(self, exchange: Exchange) -> None:
            if exchange.is_write and exchange.reconcile is not None and not self.is_done:
                self.is_done = True
                exchange.replica.kill()
                await env.start(make)

    def make() -> masthead.Manager:
        app = masthead.Manager("copies")

        @app.controller(Secret, owns=[ConfigMap])
        async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
            await ctx.apply(ConfigMap.new("a"))

        return app

    async with Environment(make, objects=OBJECTS) as env:
        env.replicas[0].hooks.append(Successor())
        await env.wait_for_idle()
        assert [replica.name for replica in env.replicas] == ["copies-1"]
        assert [write.replica for write in env.writes if write.is_accepted] == ["copies-1"]


@pytest.mark.asyncio
async def test_a_killed_replica_is_dead_in_real_time_too() -> None:
    ends = asyncio.Event()

    async def ignore_most(ctx: masthead.aio.ReconcileContext[Secret]) -> None:
        while not ends.is_set():
            try:
                await ctx.apply(ConfigMap.new("a"))
            except BaseException:  # noqa: BLE001
                continue

    make = functools.partial(operator, ignore_most, list[str]())
    async with Environment(make, objects=OBJECTS) as env:
        (replica,) = env.replicas
        replica.hooks.append(Killer())
        while replica.is_running:  # noqa: ASYNC110
            await asyncio.sleep(0)
        successor = await env.start(make)
        await env.wait_for_idle()
        assert [write.replica for write in env.writes] == [successor.name]
        ends.set()
        await replica.crash()


def stubborn() -> masthead.Manager:
    """A manager whose timer, source and reconcile ignore their cancellation."""
    app = masthead.Manager("stubborn")

    async def persist() -> None:
        while True:
            try:
                await asyncio.sleep(1)
            except BaseException:  # noqa: BLE001
                continue

    @app.controller(Secret)
    async def reconcile(_ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        await persist()

    @app.timer(1)
    async def tick() -> None:
        await persist()

    @app.source(controller="secrets")
    async def feed() -> AsyncIterator[str]:
        yield "default/a"
        await persist()

    return app


@pytest.mark.parametrize("end", ["crash", "stop", "leave"])
def test_an_environment_with_stubborn_tasks_closes(end: str) -> None:
    @in_virtual_time
    async def test() -> None:
        async with Environment(stubborn, objects=OBJECTS, graceful_timeout=5) as env:
            await env.advance(10)
            (replica,) = env.replicas
            if end != "leave":
                await getattr(replica, end)()
                await env.wait_for_idle()
                assert env.replicas == []
        assert now() < 60

    test()


@in_virtual_time
async def test_a_kill_ends_a_stop_that_waits() -> None:
    async with Environment(stubborn, objects=OBJECTS, graceful_timeout=3600) as env:
        await env.advance(1)
        (replica,) = env.replicas
        stopping = asyncio.get_running_loop().create_task(replica.stop())
        await asyncio.sleep(1)
        replica.kill()
        await stopping
        assert now() == 2
