"""Timers: coroutine functions run on the loop, plain functions in threads with a blocking client."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, cast

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap
from masthead.errors import ArgumentError, ClosedError
from masthead.testing import Environment, in_virtual_time
from masthead.testing.virtual_time import now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

    from masthead._config.model import Config

WITHIN = 60.0
OFF: Any = {"metrics_bind": "0", "probe_bind": "0"}


@in_virtual_time
async def test_a_plain_timer_runs_in_a_thread_with_a_blocking_client() -> None:
    app = masthead.Manager("plain")
    seen: list[tuple[float, str, list[str]]] = []

    @app.timer(60)
    def report(client: masthead.Client) -> None:
        assert isinstance(client, masthead.Client)
        names = [config_map.metadata.name for config_map in client.core_v1.config_maps("default").list()]
        seen.append((now_of_loop(), threading.current_thread().name.rpartition("-")[0], names))

    async with Environment(app, objects=[ConfigMap.new("one", namespace="default")]) as env:
        loop = asyncio.get_running_loop()
        began = loop.time()

        def now_of_loop() -> float:
            return round(loop.time() - began)

        await env.advance(125)

    assert seen == [(60, "masthead-timer", ["one"]), (120, "masthead-timer", ["one"])]


@in_virtual_time
async def test_a_plain_timer_may_take_no_client() -> None:
    app = masthead.Manager("bare")
    calls: list[int] = []

    @app.timer(10)
    def tick() -> None:
        calls.append(1)

    async with Environment(app) as env:
        await env.advance(35)
    assert len(calls) == 3


@in_virtual_time
async def test_a_blocking_timer_does_not_block_the_event_loop() -> None:
    app = masthead.Manager("busy")
    reconciled = threading.Event()
    found: list[bool] = []

    @app.controller(ConfigMap, label_selector="test=1")
    async def reconcile(_: masthead.aio.ReconcileContext[ConfigMap], __: ConfigMap) -> None:
        reconciled.set()

    @app.timer(10)
    def create(client: masthead.Client) -> None:
        if not found:
            client.core_v1.config_maps("default").create(ConfigMap.new("one", labels={"test": "1"}))
            found.append(reconciled.wait(WITHIN))

    async with Environment(app) as env:
        await env.advance(15)
    assert found == [True]


@in_virtual_time
async def test_a_plain_timer_that_fails_is_logged_and_called_again(caplog: pytest.LogCaptureFixture) -> None:
    app = masthead.Manager("failing")
    errors: list[BaseException] = [ValueError("a bug"), SystemExit(3), StopIteration(), KeyboardInterrupt()]
    calls: list[float] = []

    @app.timer(10)
    def fail() -> None:
        calls.append(1)
        if errors:
            raise errors.pop(0)

    async with Environment(app) as env:
        await env.advance(65)

    assert len(calls) == 6
    failures = [record for record in caplog.records if "failed, and is called again in 10 s" in record.message]
    assert len(failures) == 4
    assert "ValueError: a bug" in caplog.text
    assert "the timer raised StopIteration" in caplog.text


@in_virtual_time
async def test_a_plain_timer_that_returns_a_coroutine_fails_with_a_hint(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = masthead.Manager("half")

    async def work() -> None: ...

    @app.timer(10)
    def half() -> Coroutine[object, object, None]:
        return work()

    async with Environment(app) as env:
        await env.advance(15)
        assert len(env.failures) == 1
    assert "half is a plain function that returns a coroutine, which nothing awaits: write `async def`" in caplog.text


@in_virtual_time
async def test_a_plain_timer_that_runs_at_the_stop_is_waited_for() -> None:
    app = masthead.Manager("stopped")
    seen: list[str] = []

    @app.timer(10)
    def slow(client: masthead.Client) -> None:
        app.stop()
        maps = client.core_v1.config_maps("default")
        seen.extend(maps.get("one").metadata.name for _ in range(3))

    async with Environment(app, objects=[ConfigMap.new("one", namespace="default")]) as env:
        await env.advance(30)
    assert seen == ["one"] * 3


@in_virtual_time
async def test_a_timer_that_waits_ends_with_the_stop_at_once() -> None:
    app = masthead.Manager("waiting")

    @app.timer(3600)
    async def never() -> None:
        raise AssertionError

    async with Environment() as env:
        replica = await env.start(app)
        await env.advance(5)
        began = now()
        await replica.stop()
        assert now() == began


@in_virtual_time
async def test_an_async_timer_has_the_graceful_timeout_to_finish(caplog: pytest.LogCaptureFixture) -> None:
    app = masthead.Manager("slow")
    ends: dict[str, float] = {}

    @app.timer(1)
    async def quick(_: masthead.aio.Client) -> None:
        await asyncio.sleep(20)
        ends["quick"] = now()

    @app.timer(1)
    async def endless() -> None:
        try:
            await asyncio.sleep(1_000)
        finally:
            ends["endless"] = now()

    async with Environment() as env:
        replica = await env.start(app, graceful_timeout=25)
        began = now()
        await env.advance(5)
        await replica.stop()
    assert ends == {"quick": began + 21, "endless": began + 30}
    cancelled = [record.message for record in caplog.records if record.message.startswith("timers are cancelled")]
    assert len(cancelled) == 1
    assert cancelled[0].startswith("timers are cancelled that took longer than 25 s to finish: timer ")
    assert cancelled[0].endswith(".endless)")


def test_a_plain_timer_that_exceeds_the_graceful_timeout_loses_its_client(kube_config: Config) -> None:
    app = masthead.Manager("late")
    begun, ended = threading.Event(), threading.Event()
    errors: list[Exception] = []

    @app.timer(0.001)
    def endless(client: masthead.Client) -> None:
        begun.set()
        try:
            while True:
                client.core_v1.config_maps("default").list()
        except ClosedError as error:
            errors.append(error)
            ended.set()

    with app.running_in_thread(kube_config, graceful_timeout=0.01, **OFF):
        assert begun.wait(WITHIN)
    assert ended.wait(WITHIN)
    assert len(errors) == 1


@in_virtual_time
async def test_a_timer_does_not_overlap_with_a_call_of_a_lost_term() -> None:
    app = masthead.Manager("term", leader_election="term")
    running: list[int] = []
    most: list[int] = []

    @app.timer(1)
    async def stubborn() -> None:
        running.append(1)
        most.append(len(running))
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            await asyncio.sleep(100)
        finally:
            running.pop()

    async with Environment(app) as env:
        await env.advance(10)
        env.server.faults.fail(500, times=None, resource="leases")
        await env.advance(60)
        env.server.faults.clear()
        await env.advance(300)
    assert len(most) > 2
    assert set(most) == {1}


# Declarations.


def test_a_timer_without_its_time_is_refused_at_once() -> None:
    app = masthead.Manager("declared")

    async def report() -> None: ...

    with pytest.raises(ArgumentError, match=r"not .*report: write @manager\.timer\(60\)"):
        app.timer(cast("Any", report))


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), True, "60", None])
def test_the_interval_of_a_timer_is_checked_by_the_decorator(seconds: Any) -> None:
    with pytest.raises(ArgumentError, match="needs a number of seconds, more than 0, not"):
        masthead.Manager("declared").timer(seconds)


def generates() -> Iterator[int]:
    yield 1


async def generates_later() -> AsyncIterator[int]:
    yield 1


async def takes_two(_: object, __: object) -> None: ...


async def takes_two_to_generate(_: object, __: object) -> AsyncIterator[str]:
    yield "default/one"


async def takes_keyword(*, client: object) -> None: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (generates, "generates is a generator function, whose body would not run"),
        (generates_later, "generates_later is a generator function"),
        (takes_two, r"timer takes_two cannot be called as timer\(\) or timer\(client\): missing"),
        (takes_keyword, "timer takes_keyword cannot be called"),
        (masthead.Manager, "a timer is a function, not Manager"),
        (None, "a timer is a function, not None"),
    ],
)
def test_what_cannot_be_called_as_a_timer_is_refused(function: Any, message: str) -> None:
    app = masthead.Manager("declared")
    with pytest.raises(ArgumentError, match=message):
        app.timer(60)(function)
    assert app.timers == ()


def declared() -> tuple[masthead.Manager, Callable[..., object]]:
    app = masthead.Manager("declared")

    @app.controller(ConfigMap)
    async def reconcile(_: masthead.aio.ReconcileContext[ConfigMap]) -> None: ...

    return app, reconcile


def test_a_source_may_be_declared_with_and_without_parentheses() -> None:
    app, reconcile = declared()

    @app.source
    async def one() -> AsyncIterator[str]:
        yield "default/one"

    @app.source()
    async def two() -> AsyncIterator[str]:
        yield "default/two"

    @app.source(controller=reconcile)
    async def three(_: masthead.aio.Client) -> AsyncIterator[str]:
        yield "default/three"

    assert [source.function for source in app.sources] == [one, two, three]


def test_a_source_with_a_positional_controller_is_rejected_with_a_hint() -> None:
    app, reconcile = declared()
    for given in (reconcile, app.controllers[0].name):
        with pytest.raises(ArgumentError, match=r"write @manager\.source\(controller=\.\.\.\)"):
            app.source(cast("Any", given))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (generates, "generates is not an async generator function"),
        (takes_two, "takes_two is not an async generator function"),
        (takes_two_to_generate, r"cannot be called as source\(\) or source\(client\)"),
        ("text", "is not an async generator function"),
    ],
)
def test_what_cannot_be_called_as_a_source_is_refused(function: Any, message: str) -> None:
    app, _ = declared()
    with pytest.raises(ArgumentError, match=message):
        app.source(function)


def test_a_controller_without_its_kind_is_refused_at_once() -> None:
    with pytest.raises(ArgumentError, match="neither a class of objects nor a resource"):
        masthead.Manager("declared").controller(cast("Any", takes_two))


@pytest.mark.parametrize("decorator", ["health_check", "ready_check"])
def test_a_check_needs_a_name_and_a_function(decorator: str) -> None:
    app = masthead.Manager("declared")
    register = getattr(app, decorator)

    for name in (takes_two, "", None):
        with pytest.raises(
            ArgumentError, match=rf"a check needs a name, .*: write @manager\.{decorator}\('database'\)"
        ):
            register(name)
    for function in (None, masthead.Manager, "text"):
        with pytest.raises(ArgumentError, match="a check is a function"):
            register("database")(function)
    assert register("database")(generates) is generates
