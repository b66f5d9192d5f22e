"""Every option of a declaration takes effect in a running manager."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Namespace, Secret
from masthead.controller import Controller, ControllerOptions, Owns, Reads, Watches
from masthead.meta import OwnerReference, Patch
from masthead.predicates import when
from masthead.testing import Environment, in_virtual_time
from masthead.testing.virtual_time import now
from masthead.workqueue import ItemExponentialRateLimiter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LARGE = 1_000_000.0
"""A monotonic clock does not begin at 0."""


def secret(name: str, namespace: str = "default", **labels: str) -> Secret:
    return Secret.new(name, namespace=namespace, labels=labels)


def config_map(name: str, namespace: str = "default", **labels: str) -> ConfigMap:
    return ConfigMap.new(name, namespace=namespace, labels=labels)


class Recorder:
    """A manager whose reconciler records its calls.

    Attributes:
        seen: The time and the key of each reconcile.
    """

    def __init__(self, *, options: dict[str, Any] | None = None, **declared: Any) -> None:
        self.app = masthead.Manager("recorder", **options or {})
        self.seen: list[tuple[float, str]] = []
        self.app.controller(Secret, **declared)(self.reconcile)

    async def reconcile(self, ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        self.seen.append((now(), ctx.request.key))

    def taken(self) -> list[str]:
        keys, self.seen = sorted({key for _, key in self.seen}), []
        return keys


class Counting:
    """A reconciler whose constructor takes an argument."""

    def __init__(self, keys: list[str]) -> None:
        self._keys = keys

    async def reconcile(self, ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        self._keys.append(ctx.request.key)


@in_virtual_time
async def test_an_object_with_a_method_reconcile_is_a_reconciler() -> None:
    keys: list[str] = []
    app = masthead.Manager("objects")
    reconciler = Counting(keys)
    assert app.controller(Secret)(reconciler) is reconciler
    async with Environment(app) as env:
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        await env.wait_for_idle()
    assert keys == ["default/a"]


def test_the_decorator_passes_every_option_to_the_controller() -> None:
    declared = inspect.signature(Controller.__init__).parameters
    names = {name for name, option in declared.items() if option.kind is option.KEYWORD_ONLY}
    assert ControllerOptions.__annotations__.keys() == names
    values: dict[str, Any] = {
        "name": "named",
        "workers": 7,
        "resync": 5.0,
        "timeout": 6.0,
        "field_manager": "someone",
        "finalizer": "example.com/f",
        "ignore_own_writes": True,
        "permissions": (masthead.controller.Permission(ConfigMap, "get"),),
        "indexers": {"all": lambda _: ["x"]},
        "rate_limiter": ItemExponentialRateLimiter[Any],
        "owns": [ConfigMap],
        "watches": {Namespace: lambda _: None},
        "reads": ["v1/pods"],
        "predicate": when(lambda _: True),
        "namespace": "shop",
        "label_selector": "a=b",
        "field_selector": "metadata.name=x",
    }
    assert values.keys() == names, "a new option needs a value here, and a test below"
    app = masthead.Manager("all")
    app.controller(Secret, **values)(lambda _: None)
    (made,) = app.controllers
    for name in (
        "name",
        "workers",
        "resync",
        "timeout",
        "field_manager",
        "finalizer",
        "ignore_own_writes",
        "permissions",
        "indexers",
    ):
        assert getattr(made, name) == values[name]
    assert isinstance(made.make_rate_limiter(), ItemExponentialRateLimiter)
    assert [spec.role for spec in made.specs] == ["for", "owns", "watches", "reads"]
    primary = made.primary
    assert primary.predicate is values["predicate"]
    assert primary.namespace == ("shop",)
    assert (primary.label_selector, primary.field_selector) == ("a=b", "metadata.name=x")


@pytest.mark.parametrize("period", [1.0, 60.0, 600.0, 1800.0])
@in_virtual_time
async def test_a_resync_reconciles_all_objects_periodically(period: float) -> None:
    await asyncio.sleep(LARGE)
    recorder = Recorder(resync=period)
    async with Environment(recorder.app, objects=[secret("a"), secret("b")]) as env:
        await env.wait_for_idle()
        began = now()
        await env.advance(3.5 * period)
    for key in ("default/a", "default/b"):
        times = [time - began for time, seen in recorder.seen if seen == key]
        assert times == pytest.approx([0, period, 2 * period, 3 * period], abs=0.1)


@in_virtual_time
async def test_controllers_of_one_kind_resync_independently() -> None:
    await asyncio.sleep(LARGE)
    recorder = Recorder(name="often", resync=60)
    other = Recorder(name="seldom", resync=180)
    never = Recorder(name="never")
    app = masthead.Manager("several")
    for controller in (recorder, other, never):
        (declared,) = controller.app.controllers
        app.add(declared)
    async with Environment(app, objects=[secret("a")]) as env:
        await env.wait_for_idle()
        await env.advance(370)
    assert [len(controller.seen) for controller in (recorder, other, never)] == [7, 3, 1]


@in_virtual_time
async def test_a_resync_passes_predicates_for_changes() -> None:
    recorder = Recorder(resync=60, predicate=masthead.predicates.generation_changed)
    async with Environment(recorder.app, objects=[secret("a")]) as env:
        await env.advance(100)
    assert len(recorder.seen) == 2


@pytest.mark.parametrize(
    "declared",
    [
        {"namespace": "shop"},
        {"namespace": ["shop"]},
        {"label_selector": "tier=gold"},
        {"label_selector": {"tier": "gold"}},
        {"field_selector": "metadata.name=a"},
        {"predicate": when(lambda event: event.object.metadata.name == "a")},
        {"options": {"namespaces": "shop"}},
        {"options": {"namespaces": ["shop"]}},
        {"options": {"options": masthead.controller.RunOptions(namespaces=("shop",))}},
    ],
)
@in_virtual_time
async def test_selectors_of_the_reconciled_kind_select(declared: dict[str, Any]) -> None:
    recorder = Recorder(**declared)
    objects = [Namespace.new("shop"), secret("a", "shop", tier="gold"), secret("b")]
    async with Environment(recorder.app, objects=objects) as env:
        await env.wait_for_idle()
    assert recorder.taken() == ["shop/a"]


SELECTIONS: list[dict[str, Any]] = [
    {"namespace": "shop"},
    {"label_selector": "tier=gold"},
    {"field_selector": "metadata.name=a"},
    {"predicate": when(lambda event: event.object.metadata.name == "a")},
]


@pytest.mark.parametrize("role", [Owns, Watches])
@pytest.mark.parametrize("selection", SELECTIONS)
@in_virtual_time
async def test_selectors_of_other_kinds_select(selection: dict[str, Any], role: type[Any]) -> None:
    def same_name(obj: ConfigMap) -> masthead.controller.Request:
        return masthead.controller.Request(obj.metadata.namespace, obj.metadata.name)

    made = Owns(ConfigMap, **selection) if role is Owns else Watches(ConfigMap, same_name, **selection)
    declared: dict[str, Any] = {"owns" if role is Owns else "watches": [made]}
    recorder = Recorder(**declared)
    async with Environment(recorder.app, objects=[Namespace.new("shop")]) as env:
        for namespace, name in (("shop", "a"), ("default", "b")):
            owner = await env.client.core_v1.secrets(namespace).create(secret(name, namespace))
            child = config_map(name, namespace, tier="gold" if name == "a" else "iron")
            masthead.meta.set_controller(child, owner)
            await env.client.core_v1.config_maps(namespace).create(child)
        await env.wait_for_idle()
        recorder.taken()
        for namespace, name in (("shop", "a"), ("default", "b")):
            change = Patch.merge({"data": {"changed": "yes"}})
            await env.client.core_v1.config_maps(namespace).patch(name, change)
        await env.wait_for_idle()
    assert recorder.taken() == ["shop/a"]


@pytest.mark.parametrize("selection", SELECTIONS[:3])
@in_virtual_time
async def test_selectors_of_kinds_that_are_read_select(selection: dict[str, Any]) -> None:
    app, found = masthead.Manager("reader"), list[str]()

    @app.controller(Secret, reads=[Reads(ConfigMap, **selection)])
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        found.extend(config.key for config in await ctx.list(ConfigMap, namespace=""))

    children = [config_map("a", "shop", tier="gold"), config_map("b")]
    async with Environment(app, objects=[Namespace.new("shop"), *children, secret("x")]) as env:
        await env.wait_for_idle()
    assert [key for key in found if key in {"shop/a", "default/b"}] == ["shop/a"]


@pytest.mark.parametrize("any_owner", [False, True])
@in_virtual_time
async def test_owners_that_do_not_control_count_if_asked_for(any_owner: bool) -> None:
    recorder = Recorder(owns=[Owns(ConfigMap, any_owner=any_owner)])
    async with Environment(recorder.app) as env:
        owner = await env.client.core_v1.secrets("default").create(secret("a"))
        await env.wait_for_idle()
        recorder.taken()
        child = config_map("child")
        reference = OwnerReference(api_version="v1", kind="Secret", name="a", uid=owner.metadata.uid)
        child.metadata.owner_references = [reference]
        await env.client.core_v1.config_maps("default").create(child)
        await env.wait_for_idle()
    assert recorder.taken() == (["default/a"] if any_owner else [])


@pytest.mark.parametrize("workers", [1, 3])
@in_virtual_time
async def test_concurrent_reconciles_are_limited_by_workers(workers: int) -> None:
    app = masthead.Manager("workers")
    running, most = 0, 0

    @app.controller(Secret, workers=workers)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        nonlocal running, most
        del ctx
        running += 1
        most = max(most, running)
        await asyncio.sleep(1)
        running -= 1

    async with Environment(app, objects=[secret(name) for name in "abcde"]) as env:
        await env.wait_for_idle()
    assert most == workers


@in_virtual_time
async def test_timeout_and_rate_limiter_take_effect() -> None:
    app, runs = masthead.Manager("limits"), list[float]()

    @app.controller(Secret, timeout=3, rate_limiter=lambda: ItemExponentialRateLimiter(base=50.0, cap=50.0))
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        del ctx
        runs.append(now())
        await asyncio.sleep(10)

    async with Environment(app, objects=[secret("a")]) as env:
        await env.advance(130)
        assert len(env.failures) == 1
    assert [time - runs[0] for time in runs] == pytest.approx([0, 53, 106])


@in_virtual_time
async def test_field_manager_finalizer_and_indexers_take_effect() -> None:
    app, found = masthead.Manager("fields"), list[str]()

    @app.controller(
        Secret,
        owns=[ConfigMap],
        field_manager="someone",
        finalizer="example.com/f",
        indexers={"tier": lambda obj: [obj.metadata.labels.get("tier", "")]},
    )
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], obj: Secret) -> None:
        if not await ctx.finalize(lambda: None):
            await ctx.apply(ConfigMap.new(obj.metadata.name))
            found.extend(gold.metadata.name for gold in ctx.cache.by_index(Secret, "tier", "gold"))

    async with Environment(app, objects=[secret("a", tier="gold"), secret("b")]) as env:
        await env.wait_for_idle()
        made = await env.client.core_v1.config_maps("default").get("a")
        assert {entry.manager for entry in made.metadata.managed_fields} == {"someone"}
        assert (await env.client.core_v1.secrets("default").get("a")).metadata.finalizers == ["example.com/f"]
    assert set(found) == {"a"}


@in_virtual_time
async def test_options_of_the_manager_reach_client_and_caches() -> None:
    def shout(obj: Any) -> Any:
        obj.metadata.labels["seen"] = "yes"
        return obj

    app = masthead.Manager("options", transform=shout, hold="compact", client_options={"user_agent": "my-operator"})
    labels: list[dict[str, str]] = []

    @app.controller(Secret)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], obj: Secret) -> None:
        del ctx
        labels.append(dict(obj.metadata.labels))

    async with Environment(app, objects=[secret("a")]) as env:
        await env.wait_for_idle()
        (replica,) = env.replicas
        assert replica.runtime.factory.informer(Secret)._store.storage.name == "compact"
        agents = [request.headers["user-agent"] for request in env.server.requests]
        assert any("my-operator" in agent for agent in agents)
    assert labels == [{"seen": "yes"}]


@in_virtual_time
async def test_timers_and_sources_run_with_their_controllers() -> None:
    recorder = Recorder(name="first")
    second = Recorder(name="second")
    (declared,) = second.app.controllers
    app = recorder.app
    app.add(declared)
    calls: list[float] = []

    @app.timer(60)
    async def tick() -> None:
        calls.append(now())

    @app.source(controller="second")
    async def external() -> AsyncIterator[str]:
        await asyncio.sleep(10)
        yield "default/a"

    async with Environment(app, objects=[secret("a")]) as env:
        await env.wait_for_idle()
        began = now()
        recorder.taken()
        second.taken()
        await env.advance(190)
    assert [time - began for time in calls] == pytest.approx([60, 120, 180], abs=0.1)
    assert recorder.taken() == []
    assert second.taken() == ["default/a"]
