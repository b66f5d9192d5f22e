"""Environments that end with failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.errors import ManagerStateError
from masthead.testing import BlockingEnvironment, Environment, UnexpectedFailureError, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

pytest_plugins = ["pytester"]

OBJECTS = [Secret.new("a", namespace="default"), ConfigMap.new("m", namespace="default")]


def failing_reconcile() -> masthead.Manager:
    app = masthead.Manager("bad")

    @app.controller(Secret)
    async def reconcile(_ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        raise ValueError("no host")

    return app


def failing_mapper() -> masthead.Manager:
    app = masthead.Manager("bad")

    def find(_: ConfigMap) -> Iterable[str]:
        raise ValueError("no owner")

    @app.controller(Secret, watches={ConfigMap: find})
    async def reconcile(_ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None: ...

    return app


def failing_source() -> masthead.Manager:
    app = masthead.Manager("bad")

    @app.controller(Secret)
    async def reconcile(_ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None: ...

    async def feed() -> AsyncIterator[str]:
        for key in ("default/a",):
            if key:
                raise ValueError("no feed")
            yield key

    app.source(controller="secrets")(feed)
    return app


def failing_timer() -> masthead.Manager:
    app = masthead.Manager("bad")

    def sweep() -> None:
        raise ValueError("no broom")

    app.timer(10)(sweep)
    return app


def failing_class() -> masthead.Manager:
    app = masthead.Manager("bad")

    @app.controller(Secret)
    class Reconciler:
        def __init__(self) -> None:
            raise ValueError("no database")

        async def reconcile(self, _ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None: ...

    return app


def failing_indexer() -> masthead.Manager:
    app = masthead.Manager("bad")

    @app.controller(Secret, indexers={"host": lambda secret: [secret.metadata.labels["hots"]]})
    async def reconcile(_ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None: ...

    return app


def failing_transform() -> masthead.Manager:
    def trim(_: masthead.Object) -> masthead.Object:
        raise ValueError("no scissors")

    app = masthead.Manager("bad", transform=trim)

    @app.controller(Secret)
    async def reconcile(_ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None: ...

    return app


FAILING = {
    failing_reconcile: "secrets default/a: ValueError: no host at ",
    failing_mapper: "secrets mapper of configmaps default/m: ValueError: no owner at ",
    failing_source: "source failing_source.<locals>.feed: ValueError: no feed at ",
    failing_timer: "timer failing_timer.<locals>.sweep: ValueError: no broom at ",
    failing_indexer: "indexer secrets/host of secrets default/a: KeyError: 'hots' (1 time)",
    failing_transform: "cache of secrets default/a: the transform raised ValueError: no scissors (1 time)",
    failing_class: "start of controller secrets: ValueError: no database at ",
}


@pytest.mark.parametrize(("make", "failure"), FAILING.items())
def test_a_function_that_always_raises_fails_the_test(make: Callable[[], masthead.Manager], failure: str) -> None:
    @in_virtual_time
    async def play() -> None:
        async with Environment(make, objects=OBJECTS) as env:
            await env.advance(60)

    with pytest.raises(UnexpectedFailureError) as caught:
        play()
    (found,) = caught.value.failures
    assert found.startswith(failure)
    assert found in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(("make", "failure"), FAILING.items())
def test_a_test_that_reads_the_failures_may_end_with_them(make: Callable[[], masthead.Manager], failure: str) -> None:
    @in_virtual_time
    async def play() -> None:
        async with Environment(make, objects=OBJECTS) as env:
            await env.advance(30)
            (found,) = env.failures
            assert found.startswith(failure)
            await env.advance(3600)  # it fails again, in the same way

    play()


@in_virtual_time
async def test_a_failure_that_came_after_the_test_has_looked_is_unexpected() -> None:
    async def play() -> None:
        async with Environment(failing_reconcile, objects=OBJECTS) as env:
            await env.advance(10)
            assert len(env.failures) == 1
            await env.client.core_v1.secrets("default").create(Secret.new("b"))
            await env.wait_for_idle()

    with pytest.raises(UnexpectedFailureError, match="default/b"):
        await play()


@in_virtual_time
async def test_functions_that_succeed_again_have_not_failed() -> None:
    app = masthead.Manager("flaky")
    calls = {"source": 0, "timer": 0, "mapper": 0, "reconcile": 0}

    def fail_once(what: str) -> None:
        calls[what] += 1
        if calls[what] == 1:
            raise ValueError(what)

    def find(_: ConfigMap) -> Iterable[str]:
        fail_once("mapper")
        return ()

    @app.controller(Secret, watches={ConfigMap: find})
    async def reconcile(_ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        fail_once("reconcile")

    @app.source(controller="secrets")
    async def feed() -> AsyncIterator[str]:
        fail_once("source")
        yield "default/a"

    @app.timer(10)
    def sweep() -> None:
        fail_once("timer")

    async with Environment(app, objects=OBJECTS) as env:
        await env.advance(60)
    assert min(calls.values()) > 1


@in_virtual_time
async def test_a_temporary_error_is_no_failure_of_the_test() -> None:
    app = masthead.Manager("waiting")

    @app.controller(Secret)
    async def reconcile(_ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        raise masthead.TemporaryError("the database is starting", delay=60)

    async with Environment(app, objects=OBJECTS) as env:
        await env.wait_for_idle()
        assert env.failures == []


@in_virtual_time
async def test_an_indexer_has_not_failed_once_the_object_is_corrected() -> None:
    async with Environment(failing_indexer, objects=OBJECTS) as env:
        await env.wait_for_idle()
        patch = masthead.Patch.merge({"metadata": {"labels": {"hots": "a"}}})
        await env.client.core_v1.secrets("default").patch("a", patch)
        await env.wait_for_idle()


@in_virtual_time
async def test_an_event_handler_that_raises_fails_the_test() -> None:
    def handle(_: Secret) -> None:
        raise ValueError("no handle")

    async def play() -> None:
        app = masthead.Manager("bad")
        app.controller(Secret)(succeed)
        async with Environment(app, objects=OBJECTS) as env:
            ((_, informer),) = env.replicas[0].caches()
            informer.add_event_handler(on_add=handle, name="audit")
            await env.wait_for_idle()

    with pytest.raises(UnexpectedFailureError, match="handler audit of secrets: it raised"):
        await play()


async def succeed(_ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None: ...


@in_virtual_time
async def test_the_error_of_the_test_is_raised_with_the_failures_as_a_note() -> None:
    async def play() -> None:
        async with Environment(failing_reconcile, objects=OBJECTS) as env:
            await env.advance(10)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        await play()
    assert "secrets default/a: ValueError: no host" in "".join(caught.value.__notes__)


def test_a_blocking_test_fails_as_well() -> None:
    def play(error: type[Exception] | None) -> None:
        with BlockingEnvironment(failing_reconcile, objects=OBJECTS) as env:
            env.advance(10)
            if error is not None:
                raise error

    with pytest.raises(UnexpectedFailureError, match="no host"):
        play(None)
    with pytest.raises(ZeroDivisionError) as caught:
        play(ZeroDivisionError)
    assert "no host" in "".join(caught.value.__notes__)


@pytest.mark.slow
def test_a_test_with_the_fixture_fails_as_well(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(
        """
        import masthead
        from masthead.api.core.v1 import Secret

        app = masthead.Manager("bad")

        @app.controller(Secret)
        def reconcile(ctx, secret):
            raise ValueError("no host")

        def test_it(kube_environment):
            env = kube_environment(app, objects=[Secret.new("a", namespace="default")])
            env.wait_for_idle()
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*secrets default/a: ValueError: no host*"])


@in_virtual_time
async def test_failures_of_a_stopped_replica_count_unless_another_takes_over() -> None:
    is_healed = False

    def make() -> masthead.Manager:
        app = masthead.Manager("healing")

        @app.controller(Secret)
        async def reconcile(_ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
            if not is_healed:
                raise ValueError("ill")

        return app

    async with Environment(objects=OBJECTS) as env:
        replica = await env.start(make)
        await env.advance(5)
        await replica.stop()
        is_healed = True
        await env.start(make)
        await env.wait_for_idle()
    is_healed = False

    async def stop_at_last() -> None:
        async with Environment(make, objects=OBJECTS) as env:
            await env.advance(5)
            await env.replicas[0].stop()

    with pytest.raises(UnexpectedFailureError, match="ill"):
        await stop_at_last()


@in_virtual_time
async def test_a_replica_after_a_crash_has_none_of_its_memory() -> None:
    seen: list[int] = []

    def make() -> masthead.Manager:
        app = masthead.Manager("counting")
        known: set[str] = set()

        @app.controller(Secret)
        async def reconcile(_ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
            known.add(secret.key)
            seen.append(len(known))

        return app

    async with Environment(make, objects=OBJECTS) as env:
        await env.wait_for_idle()
        await env.replicas[0].crash()
        await env.client.core_v1.secrets("default").delete("a")
        await env.client.core_v1.secrets("default").create(Secret.new("b"))
        await env.start(make)
        await env.wait_for_idle()
    assert seen == [1, 1]


@in_virtual_time
async def test_a_manager_that_has_crashed_or_stopped_is_not_started_again() -> None:
    for end in ("crash", "stop"):
        app = masthead.Manager("once")
        app.timer(10)(lambda: None)
        async with Environment(app) as env:
            await getattr(env.replicas[0], end)()
            with pytest.raises(ManagerStateError, match=r"replica once-0, which has ended.*env\.start\(make_manager\)"):
                await env.start(app)
