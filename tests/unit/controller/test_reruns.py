"""Reruns of reconciles that changed something, until nothing changes; none with ``ignore_own_writes``."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Namespace, Secret
from masthead.meta import Patch
from masthead.testing import Environment, NotIdleError, in_virtual_time
from masthead.testing.virtual_time import now

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    ReconcileContext = masthead.aio.ReconcileContext[Secret]

S = Secret.new("s", namespace="default", data={"color": b"red"})
PHASES = ["", "Pending", "Creating", "Waiting", "Ready"]
BOTH = pytest.mark.parametrize("ignores_own", [False, True])


async def paint(env: Environment, color: str) -> None:
    """Change the Secret as a user."""
    await env.client.core_v1.secrets("default").patch("s", Patch.merge({"stringData": {"color": color}}))


def replacer(app: masthead.Manager, *, ignores_own: bool) -> list[str]:
    """Create a controller that deletes a child with other data, or creates a missing one, but never both."""
    seen: list[str] = []

    @app.controller(Secret, owns=[ConfigMap], ignore_own_writes=ignores_own)
    async def reconcile(ctx: ReconcileContext, secret: Secret) -> None:
        child = await ctx.get(ConfigMap, "child")
        seen.append("none" if child is None else child.data["color"])
        color = secret.data["color"].decode()
        if child is None:
            await ctx.apply(ConfigMap.new("child", data={"color": color}))
        elif child.data["color"] != color:
            await ctx.delete(child)

    return seen


@in_virtual_time
async def test_a_reconcile_that_deletes_a_child_and_returns_runs_again() -> None:
    app = masthead.Manager("replacer")
    seen = replacer(app, ignores_own=False)
    async with Environment(app, objects=[S]) as env:
        await env.wait_for_idle()
        assert seen == ["none", "red"]
        await paint(env, "blue")
        await env.wait_for_idle()
        assert seen == ["none", "red", "red", "none", "blue"]
        assert (await env.client.core_v1.config_maps("default").get("child")).data == {"color": "blue"}


@in_virtual_time
async def test_a_controller_that_ignores_its_own_writes_reconciles_once_per_change() -> None:
    app = masthead.Manager("replacer")
    seen = replacer(app, ignores_own=True)
    async with Environment(app, objects=[S]) as env:
        await env.wait_for_idle()
        await paint(env, "blue")
        await env.wait_for_idle()
        assert seen == ["none", "red"]  # the child stays away: each reconcile must do all that there is to do


def phase_machine(app: masthead.Manager, write: Callable[[ReconcileContext, str], object]) -> None:
    """Create a controller that advances one phase per reconcile."""

    @app.controller(Secret)
    async def reconcile(ctx: ReconcileContext, secret: Secret) -> None:
        phase = secret.metadata.annotations.get("phase", "")
        if phase != PHASES[-1]:
            await write(ctx, PHASES[PHASES.index(phase) + 1])  # type: ignore[misc]


async def patch_with_version(ctx: ReconcileContext, phase: str) -> None:
    version = ctx.obj.metadata.resource_version if ctx.obj is not None else ""
    metadata = {"annotations": {"phase": phase}, "resourceVersion": version}
    await ctx.client.core_v1.secrets("default").patch("s", Patch.merge({"metadata": metadata}))


async def patch_without_version(ctx: ReconcileContext, phase: str) -> None:
    patch = Patch.merge({"metadata": {"annotations": {"phase": phase}}})
    await ctx.client.core_v1.secrets("default").patch("s", patch)


@pytest.mark.parametrize("write", [patch_with_version, patch_without_version])
@in_virtual_time
async def test_a_phase_machine_reaches_its_last_phase(
    write: Callable[[ReconcileContext, str], object],
) -> None:
    app = masthead.Manager("phases")
    phase_machine(app, write)
    async with Environment(app, objects=[S]) as env:
        await env.wait_for_idle()
        assert (await env.client.core_v1.secrets("default").get("s")).metadata.annotations == {"phase": "Ready"}
        assert env.replicas[0].reconciles() == len(PHASES)


@BOTH
@in_virtual_time
async def test_many_own_writes_lead_to_one_further_reconcile_or_to_none(ignores_own: bool) -> None:
    app, runs = masthead.Manager("many"), list[float]()

    @app.controller(Secret, owns=[ConfigMap], ignore_own_writes=ignores_own)
    async def reconcile(ctx: ReconcileContext, _: Secret) -> None:
        runs.append(now())
        for number in range(150):
            await ctx.apply(ConfigMap.new(f"part-{number}"))

    async with Environment(app, objects=[S]) as env:
        await env.wait_for_idle()
        assert len(runs) == (1 if ignores_own else 2)
        assert len(env.writes) == 150


@BOTH
@in_virtual_time
async def test_late_events_lead_to_no_additional_reconciles(ignores_own: bool) -> None:
    app, runs = masthead.Manager("late"), list[bool]()

    @app.controller(Secret, owns=[ConfigMap], ignore_own_writes=ignores_own)
    async def reconcile(ctx: ReconcileContext, _: Secret) -> None:
        runs.append(ctx.cache.get(ConfigMap, "one", "default") is not None)
        await ctx.apply(ConfigMap.new("one"))
        await ctx.apply(ConfigMap.new("two"))

    async with Environment() as env:
        env.server.faults.silence_watch(resource="configmaps", after=1)
        await env.start(app)
        await env.client.core_v1.secrets("default").create(S)
        await env.wait_for_idle()
        assert runs == ([False] if ignores_own else [False, True])


async def succeed() -> None: ...


async def fail_terminally() -> None:
    raise masthead.PermanentError("never")


@pytest.mark.slow
@pytest.mark.parametrize(("ignores_own", "end"), [(False, succeed), (True, succeed), (False, fail_terminally)])
@in_virtual_time
async def test_a_reconcile_that_always_writes_is_slowed_down_and_logged(
    ignores_own: bool, end: Callable[[], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    app, runs = masthead.Manager("restless"), list[float]()

    @app.controller(Secret, ignore_own_writes=ignores_own)
    async def reconcile(ctx: ReconcileContext, _: Secret) -> None:
        runs.append(now())
        await patch_without_version(ctx, str(len(runs)))  # which cannot be proven to be an own write
        await end()

    async with Environment(app, objects=[S]) as env:
        await env.advance(3600)
        assert 60 < len(runs) < 100
        assert max(later - earlier for earlier, later in pairwise(runs)) == pytest.approx(60)
        with pytest.raises(NotIdleError):
            await env.wait_for_idle()
        assert len(env.failures) == (end is fail_terminally)
    messages = [message for message in caplog.messages if "times in a row" in message]
    assert "the reconcile of default/s has changed objects 21 times in a row" in messages[0]
    assert "secrets default/s changed" in messages[0]
    assert len(messages) < 12


@pytest.mark.slow
@in_virtual_time
async def test_foreign_changes_skip_the_delay_of_reruns() -> None:
    app, seen = masthead.Manager("restless"), list[tuple[float, bytes]]()

    @app.controller(Secret)
    async def reconcile(ctx: ReconcileContext, secret: Secret) -> None:
        seen.append((now(), secret.data["color"]))
        await patch_without_version(ctx, str(len(seen)))

    async with Environment(app, objects=[S]) as env:
        await env.advance(3600)
        began = now()
        await paint(env, "blue")
        await env.advance(1)
        assert next(time for time, color in seen if color == b"blue") == pytest.approx(began)


@pytest.mark.parametrize(
    ("error", "times"),
    [
        (masthead.TemporaryError("not yet", delay=30), [0.0, 30.0, 60.0]),
        (masthead.PermanentError("never"), [0.0]),
    ],
)
@in_virtual_time
async def test_own_writes_do_not_shorten_the_backoff_of_a_failed_reconcile(
    error: Exception, times: list[float]
) -> None:
    app, runs = masthead.Manager("failing"), list[float]()

    @app.controller(Secret, owns=[ConfigMap])
    async def reconcile(ctx: ReconcileContext, _: Secret) -> None:
        runs.append(now())
        await ctx.apply(ConfigMap.new("attempts", data={"number": str(len(runs))}))
        raise error

    async with Environment(app, objects=[S]) as env:
        await env.wait_for_idle(retries_within=0)
        began = runs[0]
        await env.advance(80)
        assert [time - began for time in runs] == pytest.approx(times)
        assert len(env.failures) == isinstance(error, masthead.PermanentError)


@BOTH
@in_virtual_time
async def test_a_reconciler_with_a_finalizer_is_finally_called_with_none(ignores_own: bool) -> None:
    app, seen = masthead.Manager("finalizing"), list[bool]()

    @app.controller(Secret, finalizer="example.com/f", ignore_own_writes=ignores_own)
    async def reconcile(ctx: ReconcileContext, secret: Secret | None) -> None:
        seen.append(secret is not None)
        if secret is not None:
            await ctx.finalize(lambda: None)

    async with Environment(app, objects=[S]) as env:
        await env.wait_for_idle()
        seen.clear()
        await env.client.core_v1.secrets("default").delete("s")
        await env.wait_for_idle()
        assert seen == [True, False]


@pytest.mark.parametrize("verb", ["patch", "delete"])
@in_virtual_time
async def test_a_write_to_a_terminating_namespace_is_visible_immediately(verb: str) -> None:
    app, reads = masthead.Manager("namespaces"), list[tuple[float, bool]]()

    @app.controller(Namespace)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Namespace], namespace: Namespace) -> None:
        if namespace.metadata.name != "shop" or "old" not in namespace.metadata.labels:
            return
        namespaces = ctx.client.core_v1.namespaces()
        if verb == "delete":
            await namespaces.delete("shop")
        await namespaces.patch("shop", Patch.merge({"metadata": {"labels": {"old": None}}}))
        found = await ctx.get(Namespace, "shop")
        reads.append((now(), found is not None and found.metadata.deletion_timestamp is not None))

    async with Environment(app) as env:
        namespaces = env.client.core_v1.namespaces()
        await namespaces.create(Namespace.new("shop"))
        # Its finalizer keeps the namespace from being emptied.
        kept = {"metadata": {"name": "kept", "finalizers": ["example.com/kept"]}}
        await env.client.core_v1.config_maps("shop").create(ConfigMap.from_dict(kept))
        if verb == "patch":
            await namespaces.delete("shop")
        await env.wait_for_idle()
        for expected in (1, 2):
            began = now()
            await namespaces.patch("shop", Patch.merge({"metadata": {"labels": {"old": "yes"}}}))
            await env.wait_for_idle()
            assert len(reads) == expected
            time, is_terminating = reads[-1]
            assert is_terminating
            assert time - began < 1
