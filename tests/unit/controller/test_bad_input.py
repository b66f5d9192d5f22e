"""Reconcilers, mappers and clusters that misbehave: isolated, named in logs and metrics, recovered from."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import prometheus_client
import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Namespace, Secret
from masthead.meta import Patch
from masthead.metrics import PrometheusMetrics
from masthead.testing import Environment, in_virtual_time
from masthead.testing.virtual_time import now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    Reconciler = Callable[[masthead.aio.ReconcileContext[ConfigMap], ConfigMap | None], Awaitable[Any]]

NAMES = ("bad", "good")
REGISTRY = prometheus_client.CollectorRegistry()
METRICS = PrometheusMetrics(REGISTRY)


class Runs:
    """A manager of ConfigMaps, whose reconciler misbehaves for one of them."""

    def __init__(self, name: str, misbehave: Reconciler, **options: Any) -> None:
        self.app = masthead.Manager(name, metrics=METRICS)
        self.seen: list[tuple[str, int]] = []
        self.name = name

        @self.app.controller(ConfigMap, name=name, label_selector="test=1", **options)
        async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], obj: ConfigMap | None) -> Any:
            self.seen.append((ctx.request.name, ctx.attempt))
            if ctx.request.name == "bad":
                return await misbehave(ctx, obj)
            return None

    def environment(self) -> Environment:
        objects = [ConfigMap.new(name, namespace="default", labels={"test": "1"}) for name in NAMES]
        return Environment(self.app, objects=objects)

    def attempts(self, name: str) -> list[int]:
        return [attempt for each, attempt in self.seen if each == name]

    def count(self, metric: str, **labels: str) -> float:
        return REGISTRY.get_sample_value(metric, {"controller": self.name, **labels}) or 0.0


async def raises(ctx: masthead.aio.ReconcileContext[ConfigMap], _: object) -> None:
    if ctx.attempt < 3:
        raise ValueError("a bug")


async def returns_rubbish(ctx: masthead.aio.ReconcileContext[ConfigMap], _: object) -> object:
    return 30 if ctx.attempt < 3 else None


async def exits(ctx: masthead.aio.ReconcileContext[ConfigMap], _: object) -> None:
    if ctx.attempt < 3:
        sys.exit("enough")


async def cancels_itself(ctx: masthead.aio.ReconcileContext[ConfigMap], _: object) -> None:
    if ctx.attempt < 3:
        raise asyncio.CancelledError


async def cancels_its_task(ctx: masthead.aio.ReconcileContext[ConfigMap], _: object) -> None:
    task = asyncio.current_task()
    if ctx.attempt < 3 and task is not None:
        task.cancel()
        await asyncio.Event().wait()


class NotAnError(BaseException):
    """As pytest.fail raises it, and anyio's backends."""


async def raises_no_exception(ctx: masthead.aio.ReconcileContext[ConfigMap], _: object) -> None:
    if ctx.attempt < 3:
        raise NotAnError("so there")


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise AttributeError("no message yet")


async def raises_the_unprintable(ctx: masthead.aio.ReconcileContext[ConfigMap], _: object) -> None:
    if ctx.attempt < 3:
        raise UnprintableError


async def hangs(ctx: masthead.aio.ReconcileContext[ConfigMap], _: object) -> None:
    if ctx.attempt < 3:
        await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("misbehave", "metric", "message"),
    [
        (raises, "controller_runtime_reconcile_errors_total", "ValueError('a bug')"),
        (returns_rubbish, "controller_runtime_reconcile_panics_total", "the reconcile returned 30"),
        (exits, "controller_runtime_reconcile_panics_total", "called sys.exit('enough')"),
        (cancels_itself, "controller_runtime_reconcile_panics_total", "cancelled from within"),
        (
            raises_no_exception,
            "controller_runtime_reconcile_panics_total",
            "NotAnError, which is no Exception",
        ),
        (raises_the_unprintable, "controller_runtime_reconcile_errors_total", "UnprintableError()"),
        (hangs, "controller_runtime_reconcile_timeouts_total", "took longer than 7 s"),
    ],
)
def test_a_misbehaving_reconcile_is_counted_logged_and_retried(
    misbehave: Reconciler, metric: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    runs = Runs(misbehave.__name__.replace("_", "-"), misbehave, timeout=7)

    @in_virtual_time
    async def play() -> None:
        async with runs.environment() as env:
            await env.advance(60)
            await env.wait_for_idle()

    play()

    assert runs.attempts("bad") == [0, 1, 2, 3]
    assert runs.attempts("good") == [0]
    assert runs.count(metric) == 3
    assert runs.count("controller_runtime_reconcile_total", result="success") == 2
    failures = [message for message in caplog.messages if "reconcile of default/bad failed" in message]
    assert len(failures) == 3
    assert all(message in failure for failure in failures)
    assert not any(failure.endswith((":", ": ")) for failure in failures)


def test_a_reconcile_that_cancels_its_task_costs_no_worker(caplog: pytest.LogCaptureFixture) -> None:
    runs = Runs("cancels-its-task", cancels_its_task, workers=1)

    @in_virtual_time
    async def play() -> None:
        async with runs.environment() as env:
            await env.advance(60)
            await env.wait_for_idle()

    play()

    assert runs.attempts("bad") == [0, 1, 2, 3]
    assert runs.attempts("good") == [0]
    assert runs.count("controller_runtime_reconcile_panics_total") == 3
    assert len([message for message in caplog.messages if "cancelled its worker, which is replaced" in message]) == 3


@pytest.mark.parametrize("error", [StopIteration, KeyboardInterrupt, GeneratorExit, SystemExit, NotAnError])
def test_errors_of_a_thread_concern_only_its_object(error: type[BaseException]) -> None:
    app = masthead.Manager("threads")
    seen: list[str] = []

    @app.controller(ConfigMap, label_selector="test=1")
    def reconcile(ctx: masthead.ReconcileContext[ConfigMap], obj: ConfigMap) -> None:
        seen.append(obj.metadata.name)
        if obj.metadata.name == "bad" and ctx.attempt < 3:
            raise error

    @in_virtual_time
    async def play() -> None:
        objects = [ConfigMap.new(name, namespace="default", labels={"test": "1"}) for name in NAMES]
        async with Environment(app, objects=objects) as env:
            await env.advance(60)
            await env.wait_for_idle()

    play()

    assert sorted(seen) == ["bad"] * 4 + ["good"]


@pytest.mark.parametrize("delay", [float("nan"), float("inf"), -1.0, "5", True])
def test_a_temporary_error_needs_a_delay(delay: float) -> None:
    with pytest.raises(masthead.errors.ArgumentError, match="number of seconds"):
        masthead.TemporaryError("later", delay=delay)


class NoDelay:
    """Knows no delay."""

    def when(self, key: masthead.controller.Request, now: float) -> float:
        del key, now
        return float("nan")

    def forget(self, key: masthead.controller.Request) -> None: ...

    def num_requeues(self, key: masthead.controller.Request) -> int:
        del key
        return 0


def test_a_rate_limiter_that_fails_loses_no_object(caplog: pytest.LogCaptureFixture) -> None:
    runs = Runs("no-delay", raises, rate_limiter=NoDelay)

    @in_virtual_time
    async def play() -> None:
        async with runs.environment() as env:
            await env.advance(200)
            await env.wait_for_idle()

    play()

    assert runs.attempts("bad") == [0, 1, 2, 3]
    assert len([message for message in caplog.messages if "the rate limiter failed for default/bad" in message]) == 3


@in_virtual_time
async def test_a_failing_rate_limiter_factory_does_not_stop_other_controllers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = masthead.Manager("no-limiter")
    attempts: list[None] = []
    seen: list[str] = []

    def make_limiter() -> NoDelay:
        attempts.append(None)
        if len(attempts) < 3:
            raise ValueError("no limiter yet")
        return NoDelay()

    @app.controller(ConfigMap, name="late", label_selector="test=1", rate_limiter=make_limiter)
    async def late(_: masthead.aio.ReconcileContext[ConfigMap]) -> None:
        seen.append("late")

    @app.controller(ConfigMap, name="early", label_selector="test=1")
    async def early(_: masthead.aio.ReconcileContext[ConfigMap]) -> None:
        seen.append("early")

    objects = [ConfigMap.new("one", namespace="default", labels={"test": "1"})]
    async with Environment(objects=objects) as env:
        await env.start(app)
        await env.advance(30)

    assert seen == ["early", "late"]
    assert "controller late could not be started" in caplog.text


def map_nothing() -> None: ...


def map_three(a: object, b: object, c: object) -> None: ...


async def yields(_: object) -> AsyncIterator[None]:
    yield


def yields_plainly(_: object) -> Iterator[None]:
    yield


class NeedsArguments:
    def __init__(self, size: int) -> None:
        self.size = size

    async def reconcile(self, ctx: masthead.aio.ReconcileContext[ConfigMap], _: object) -> None: ...


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (raises, {"watches": {Secret: map_nothing}}, "mapper map_nothing cannot be called as mapper"),
        (raises, {"watches": {Secret: map_three}}, "mapper map_three cannot be called as mapper"),
        (raises, {"rate_limiter": 5}, "rate_limiter must be a function or a class"),
        (yields, {}, "yields is a generator function"),
        (yields_plainly, {}, "yields_plainly is a generator function"),
        (
            NeedsArguments,
            {},
            r"NeedsArguments cannot be created without arguments: .*'size'; register an instance",
        ),
    ],
)
def test_invalid_declarations_are_rejected(function: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(masthead.errors.ArgumentError, match=message):
        masthead.Manager("refused").controller(ConfigMap, **options)(function)


class FailsToStart:
    def __init__(self) -> None:
        raise LookupError("no database")

    async def reconcile(self, ctx: masthead.aio.ReconcileContext[ConfigMap], _: object) -> None: ...


def fail_to_limit() -> NoDelay:
    raise LookupError("no database")


@pytest.mark.parametrize(("function", "limiter"), [(FailsToStart, None), (raises, fail_to_limit)])
def test_a_controller_that_cannot_start_reports_its_error_as_pending_work(function: Any, limiter: Any) -> None:
    @in_virtual_time
    async def play() -> None:
        app = masthead.Manager("no-start")
        app.controller(ConfigMap, rate_limiter=limiter)(function)
        async with Environment(app) as env:
            with pytest.raises(AssertionError, match=r"cannot be started.*LookupError: no database"):
                await env.wait_for_idle()
            assert "LookupError: no database" in env.failures[0]

    play()


def test_a_method_of_an_object_may_reconcile() -> None:
    app = masthead.Manager("instance")
    app.controller(ConfigMap)(NeedsArguments(3).reconcile)
    assert [controller.name for controller in app.controllers] == ["configmaps"]


def test_a_decorator_without_a_kind_is_refused() -> None:
    app: Any = masthead.Manager("no-kind")
    with pytest.raises(masthead.errors.ArgumentError, match="neither a class of objects nor a resource"):
        app.controller(raises)  # as `@app.controller` above a function


def deleted_map() -> ConfigMap:
    made = ConfigMap.new("one", namespace="default", labels={"test": "1"})
    made.metadata.finalizers = ["example.com/bucket"]
    return made


@in_virtual_time
async def test_a_cleanup_that_nothing_awaits_keeps_its_finalizer(caplog: pytest.LogCaptureFixture) -> None:
    app = masthead.Manager("cleanup")

    async def clean_up() -> None: ...

    @app.controller(ConfigMap, finalizer="example.com/bucket", label_selector="test=1")
    def reconcile(ctx: masthead.ReconcileContext[ConfigMap], _: ConfigMap) -> None:
        ctx.finalize(lambda: clean_up())

    async with Environment(app, objects=[deleted_map()]) as env:
        maps = env.client.core_v1.config_maps("default")
        await maps.delete("one")
        await env.advance(10)
        assert (await maps.get("one")).metadata.finalizers == ["example.com/bucket"]
        await maps.patch("one", Patch.merge({"metadata": {"finalizers": None}}))
        assert len(env.failures) == 1
    assert "the cleanup is a coroutine function, and nothing awaits it in a thread" in caplog.text


@pytest.mark.parametrize("is_async", [True, False])
def test_a_cleanup_that_is_not_a_function_is_rejected_early(is_async: bool, caplog: pytest.LogCaptureFixture) -> None:
    app = masthead.Manager("cleanup")

    async def clean_up() -> None: ...

    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], _: ConfigMap) -> None:
        await ctx.finalize(clean_up())  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]

    def reconcile_in_thread(ctx: masthead.ReconcileContext[ConfigMap], _: ConfigMap) -> None:
        ctx.finalize(clean_up())  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]

    declare = app.controller(ConfigMap, finalizer="example.com/bucket", label_selector="test=1")
    declare(reconcile if is_async else reconcile_in_thread)

    @in_virtual_time
    async def play() -> None:
        async with Environment(app, objects=[deleted_map()]) as env:
            await env.advance(10)
            assert len(env.failures) == 1

    play()
    assert "the cleanup must be a function, and is of type coroutine" in caplog.text


@pytest.mark.parametrize("argument", ["leader_election", "sharding"])
def test_a_lease_needs_a_name(argument: str) -> None:
    options: dict[str, Any] = {argument: True}
    with pytest.raises(masthead.errors.ArgumentError, match=f"{argument} is True; it must be a name"):
        masthead.Manager("lease", **options)


@in_virtual_time
async def test_timers_and_sources_are_restarted_after_a_base_exception() -> None:
    app = masthead.Manager("background")
    calls: list[str] = []

    @app.controller(ConfigMap)
    async def reconcile(_: masthead.aio.ReconcileContext[ConfigMap]) -> None: ...

    @app.timer(10)
    async def tick() -> None:
        calls.append("timer")
        raise (asyncio.CancelledError, SystemExit, NotAnError)[len(calls) % 3]

    @app.source(controller=reconcile)
    async def yield_keys() -> AsyncIterator[str]:
        calls.append("source")
        yield "default/one"
        raise asyncio.CancelledError

    async with Environment(app) as env:
        await env.advance(100)
        assert [failure.split()[0] for failure in env.failures] == ["timer", "source"]

    assert calls.count("timer") > 5
    assert calls.count("source") > 1


@in_virtual_time
async def test_a_source_that_never_waits_does_not_block_the_event_loop() -> None:
    app = masthead.Manager("hasty")
    seen: list[str] = []

    @app.controller(ConfigMap, label_selector="test=1")
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap]) -> None:
        seen.append(ctx.request.name)

    @app.source(controller=reconcile)
    async def yield_keys() -> AsyncIterator[str]:
        while not seen:
            yield "default/one"

    async with Environment(app) as env:
        await env.wait_for_idle()

    assert set(seen) == {"one"}


@pytest.mark.slow
@in_virtual_time
async def test_a_terminal_error_waits_for_a_change() -> None:
    async def give_up(_: object, obj: ConfigMap | None) -> None:
        if obj is not None and not obj.data:
            raise masthead.PermanentError("there is no data")

    runs = Runs("terminal", give_up)
    async with runs.environment() as env:
        await env.advance(10_000)
        assert runs.attempts("bad") == [0]
        assert runs.count("controller_runtime_terminal_reconcile_errors_total") == 1

        await env.client.core_v1.config_maps("default").patch("bad", masthead.Patch.merge({"data": {"a": "b"}}))
        await env.wait_for_idle()
        assert runs.attempts("bad") == [0, 1]


@in_virtual_time
async def test_a_temporary_error_says_when() -> None:
    async def later(ctx: masthead.aio.ReconcileContext[ConfigMap], _: object) -> None:
        if ctx.attempt < 2:
            raise masthead.TemporaryError("the bucket is not there yet", delay=100)

    runs = Runs("temporary", later)
    async with runs.environment() as env:
        await env.wait_for_idle()
        assert runs.attempts("bad") == [0]
        await env.advance(99)
        assert runs.attempts("bad") == [0]
        await env.advance(102)
        assert runs.attempts("bad") == [0, 1, 2]


@pytest.mark.parametrize("ignores_own", [False, True])
@in_virtual_time
async def test_a_reconciler_that_deletes_its_object_is_called_with_none(ignores_own: bool) -> None:
    async def delete(ctx: masthead.aio.ReconcileContext[ConfigMap], obj: ConfigMap | None) -> None:
        if obj is not None:
            await ctx.delete(obj)
            ctx.record("Normal", "Deleted", "it is gone")

    runs = Runs(f"deletes{ignores_own:d}", delete, ignore_own_writes=ignores_own)
    async with runs.environment() as env:
        await env.wait_for_idle()
        assert runs.attempts("bad") == [0, 0]
        assert [
            copy.metadata.name for copy in await env.client.core_v1.config_maps("default").list(label_selector="test=1")
        ] == ["good"]


@in_virtual_time
async def test_a_mapper_that_raises_is_called_again(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[float] = []

    def mapper(secret: Secret) -> str | None:
        if secret.metadata.name != "one":
            return None
        calls.append(now())
        if len(calls) < 4:
            raise KeyError("site")
        return "default/good"

    async def nothing(*_: object) -> None: ...

    runs = Runs("mapper", nothing, watches={Secret: mapper})
    async with runs.environment() as env:
        await env.wait_for_idle()
        await env.client.core_v1.secrets("default").create(Secret.new("one"))
        await env.advance(60)
        await env.wait_for_idle()

    assert len(calls) == 4
    assert runs.attempts("good") == [0, 0]
    assert runs.count("masthead_controller_mapping_errors_total") == 3
    assert "the mapper of secrets raised for default/one, and is called again in 1 s: 'site'" in caplog.text


@pytest.mark.parametrize(
    ("kind", "key", "message"),
    [
        (
            ConfigMap,
            "good",
            "'good' has no namespace, which the reconciled kind has; return 'namespace/name'",
        ),
        (
            Namespace,
            "default/good",
            "'default/good' has a namespace, but the reconciled kind is cluster-scoped",
        ),
    ],
)
def test_a_key_of_the_wrong_scope_is_an_error(kind: Any, key: str, message: str) -> None:
    @in_virtual_time
    async def play() -> None:
        app = masthead.Manager("scopes")

        @app.controller(kind, name="objects", watches={Secret: lambda _: key})
        async def reconcile(_: masthead.aio.ReconcileContext[Any]) -> None: ...

        @app.source
        async def announce() -> AsyncIterator[str]:
            yield key

        async with Environment(app, objects=[Secret.new("one", namespace="default")]) as env:
            await env.wait_for_idle()
            assert len(env.failures) == 2
            assert all(message in failure for failure in env.failures), env.failures

    play()


@in_virtual_time
async def test_a_retried_mapper_sees_deletions_and_old_states() -> None:
    is_broken = False

    def mapper(secret: Secret) -> str | None:
        if is_broken:
            raise KeyError("site")
        return secret.metadata.annotations.get("site")

    async def nothing(*_: object) -> None: ...

    runs = Runs("former", nothing, watches={Secret: mapper})
    async with runs.environment() as env:
        secrets = env.client.core_v1.secrets("default")
        moves = Secret.new("moves", annotations={"site": "default/good"})
        goes = Secret.new("goes", annotations={"site": "default/bad"})
        for secret in (moves, goes):
            await secrets.create(secret)
        await env.wait_for_idle()
        runs.seen.clear()

        is_broken = True
        await secrets.patch("moves", Patch.merge({"metadata": {"annotations": {"site": None}}}))
        await secrets.patch("goes", Patch.merge({"metadata": {"labels": {"a": "b"}}}))
        await secrets.delete("goes")
        await env.wait_for_idle(retries_within=0)
        assert runs.seen == []
        is_broken = False
        await env.wait_for_idle()
        assert sorted(runs.seen) == [("bad", 0), ("good", 0)]


@in_virtual_time
async def test_a_predicate_that_raises_lets_changes_pass(caplog: pytest.LogCaptureFixture) -> None:
    async def nothing(*_: object) -> None: ...

    def broken(_: object) -> bool:
        raise ZeroDivisionError

    runs = Runs("predicate", nothing, predicate=broken)
    async with runs.environment() as env:
        await env.wait_for_idle()
        assert [failure.rpartition(": Z")[0] for failure in env.failures] == [
            "predicate predicate of configmaps default/bad",
            "predicate predicate of configmaps default/good",
        ]
    assert runs.attempts("good") == [0]
    assert "the predicate of configmaps raised for default/good" in caplog.text


WIDGETS = "example.com/v1/widgets"


def definition() -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def widget(name: str) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}}


@in_virtual_time
async def test_a_missing_definition_does_not_stop_other_controllers() -> None:
    app = masthead.Manager("late")
    seen: list[str] = []

    @app.controller(WIDGETS)
    async def widgets(ctx: masthead.aio.ReconcileContext[masthead.Unstructured], _: object) -> None:
        seen.append(f"widget {ctx.request}")

    @app.controller(Secret)
    async def secrets(ctx: masthead.aio.ReconcileContext[Secret], _: object) -> None:
        seen.append(f"secret {ctx.request}")

    async with Environment(app) as env:
        await env.client.core_v1.secrets("default").create(Secret.new("one"))
        await env.advance(60)
        assert seen == ["secret default/one"]
        health = env.replicas[0].runtime.factory.health["widgets.example.com[untyped]"]
        assert "install its CRD" in health.last_error

        definitions = env.client.dynamic("apiextensions.k8s.io/v1", "customresourcedefinitions")
        made = env.client.dynamic("example.com/v1", "widgets", namespace="default")
        for name in ("first", "second"):
            await definitions.create(definition())
            await env.advance(60)
            await made.create(widget(name))
            await env.wait_for_idle()
            assert f"widget default/{name}" in seen
            await definitions.delete("widgets.example.com")
            await env.advance(60)


def writer(name: str, **options: Any) -> tuple[masthead.Manager, list[str]]:
    """A manager that copies Secrets to ConfigMaps, and records an event each time."""
    app = masthead.Manager(name, **options)
    done: list[str] = []

    @app.controller(Secret, owns=[ConfigMap], ignore_own_writes=True)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        await ctx.apply(ConfigMap.new(secret.metadata.name, data={"size": str(len(secret.data))}))
        ctx.record("Normal", "Copied", "copied")
        done.append(ctx.request.name)

    return app, done


@pytest.mark.slow
@pytest.mark.parametrize(
    ("resource", "verb", "is_worked_meanwhile", "message"),
    [
        ("secrets", "watch", False, "secrets of"),
        ("configmaps", "patch", False, "reconcile of default/a failed"),
        ("events", "create", True, "events.k8s.io"),
        ("leases", "create", False, "leases"),
    ],
)
def test_a_missing_permission_is_named_and_recovered_from(
    resource: str, verb: str, is_worked_meanwhile: bool, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    @in_virtual_time
    async def play() -> None:
        app, done = writer("forbidden", leader_election="forbidden")
        async with Environment(objects=[Secret.new("a", namespace="default")]) as env:
            verbs = ("list", "watch") if verb == "watch" else (verb,)
            faults = [env.server.faults.fail(403, times=None, resource=resource, verb=verb) for verb in verbs]
            await env.start(app)
            await env.advance(60)
            assert bool(done) is is_worked_meanwhile
            problems = [message for message in caplog.messages if "403" in message or "orbidden" in message]
            assert any(message in problem for problem in problems), caplog.text
            for fault in faults:
                fault.remove()
            await env.advance(400)
            await env.wait_for_idle()
            assert done == ["a"]

    play()


@in_virtual_time
async def test_two_managers_of_one_identity_are_noticed(caplog: pytest.LogCaptureFixture) -> None:
    app, done = writer("twins", leader_election="twins")
    async with Environment(objects=[Secret.new("a", namespace="default")]) as env:
        await env.start(app, identity="same")
        await env.advance(20)
        await env.start(app, identity="same")
        await env.advance(60)
        leading = [replica.is_leading for replica in env.replicas]
        assert leading.count(True) <= 1
        assert done
    assert "identity" in caplog.text


@in_virtual_time
async def test_a_graceful_stop_finishes_running_reconciles() -> None:
    events: list[str] = []

    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        events.append(f"begin {ctx.request.name}")
        await asyncio.sleep(10)
        events.append(f"end {ctx.request.name}")

    def app() -> masthead.Manager:
        made = masthead.Manager("stopped")
        made.controller(Secret, workers=3)(reconcile)
        return made

    objects = [Secret.new(f"s{index}", namespace="default") for index in range(5)]
    async with Environment(objects=objects) as env:
        replica = await env.start(app)
        await env.advance(5)
        await replica.stop()
        assert [event.split()[0] for event in events] == ["begin"] * 3 + ["end"] * 3
        events.clear()
        await env.start(app)
        await env.advance(30)
        await env.wait_for_idle()
        assert sorted(event for event in events if event.startswith("end")) == [f"end s{index}" for index in range(5)]


@in_virtual_time
async def test_a_reconcile_that_exceeds_the_graceful_timeout_is_cancelled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = masthead.Manager("slow")
    cancelled: list[float] = []

    @app.controller(Secret)
    async def reconcile(_: masthead.aio.ReconcileContext[Secret], __: Secret) -> None:
        try:
            await asyncio.sleep(1_000)
        except asyncio.CancelledError:
            cancelled.append(now())
            raise

    async with Environment(objects=[Secret.new("a", namespace="default")]) as env:
        replica = await env.start(app, graceful_timeout=25)
        await env.advance(5)
        await replica.stop()
    assert cancelled == [30.0]
    assert "reconciles are cancelled that took longer than 25 s to finish: secrets default/a" in caplog.text


@in_virtual_time
async def test_a_clock_that_jumps_moves_no_retry() -> None:
    async def later(*_: object) -> masthead.controller.Result | None:
        return masthead.controller.Result(requeue_after=100)

    runs = Runs("clock", later)
    async with runs.environment() as env:
        await env.wait_for_idle()
        env.shift_clock(-86_400)
        await env.advance(101)
        env.shift_clock(7 * 86_400)
        await env.advance(50)
    assert len(runs.attempts("bad")) == 2
