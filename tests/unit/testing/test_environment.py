"""Environments: managers run against an embedded server until nothing is left to do."""

from __future__ import annotations

import asyncio
import functools
import itertools
from datetime import UTC
from typing import TYPE_CHECKING, Any, cast

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.errors import ArgumentError, ManagerStateError
from masthead.testing import BlockingEnvironment, Environment, NotIdleError, in_virtual_time
from masthead.testing.virtual_time import now

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def copies(**options: Any) -> masthead.Manager:
    """A manager that keeps a ConfigMap with each Secret."""
    app = masthead.Manager("copies", **options)

    @app.controller(Secret, owns=[ConfigMap])
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> masthead.controller.Result:
        await ctx.apply(ConfigMap.new(secret.metadata.name, data={"size": str(len(secret.data))}))
        return masthead.controller.Result(requeue_after=3600)

    return app


class Gadget(masthead.CustomResource, group="environment.example.com", version="v1"):
    size: int = 0


def gadgets() -> masthead.Manager:
    app = masthead.Manager("gadgets")

    @app.controller(Gadget)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Gadget], gadget: Gadget) -> None:
        await ctx.apply(ConfigMap.new(gadget.metadata.name))

    return app


@in_virtual_time
async def test_a_manager_that_is_started_brings_its_custom_resources() -> None:
    async with Environment() as env:
        await env.start(gadgets)
        await env.client.resource(Gadget, namespace="default").create(Gadget.new("a"))
        await env.wait_for_idle()
        await env.start(gadgets, "second")
        assert env.writes == ["apply configmaps default/a"]


@in_virtual_time
async def test_objects_may_be_of_the_custom_resources_that_a_factory_brings() -> None:
    async with Environment(gadgets, objects=[Gadget.new("a", namespace="default")]) as env:
        await env.wait_for_idle()
        assert env.writes == ["apply configmaps default/a"]


@in_virtual_time
async def test_only_the_definitions_that_a_test_names_are_installed() -> None:
    async with Environment(crds=[]) as env:
        await env.start(gadgets)
        definitions = env.client.apiextensions_v1.custom_resource_definitions()
        assert [found.metadata.name for found in await definitions.list()] == []


def test_a_function_that_makes_no_manager_is_refused() -> None:
    with (
        pytest.raises(ArgumentError, match="None is not a manager: pass one, or a function that makes one"),
        BlockingEnvironment(cast("Any", lambda: None)),
    ):
        pass


@in_virtual_time
async def test_it_settles_when_everything_is_reconciled() -> None:
    async with Environment(copies(), objects=[Secret.new("there", namespace="default")]) as env:
        await env.client.core_v1.secrets("default").create(Secret.new("new", data={"a": b"1"}))
        await env.wait_for_idle()
        assert sorted(env.writes) == ["apply configmaps default/new", "apply configmaps default/there"]
        made = await env.client.core_v1.config_maps("default").get("new")
        assert made.data == {"size": "1"}
        assert now() == 0.0


@in_virtual_time
async def test_a_write_says_who_wrote_what() -> None:
    async with Environment(copies(), objects=[Secret.new("a", namespace="default")]) as env:
        await env.wait_for_idle()
        (write,) = env.writes
        assert (write.verb, write.resource, write.key, write.code) == (
            "apply",
            "configmaps",
            "default/a",
            201,
        )
        assert (write.field_manager, write.replica) == ("secrets", "copies-0")
        assert write.body["data"] == {"size": "0"}
        assert write.is_accepted


@pytest.mark.slow
@in_virtual_time
async def test_an_operator_that_has_nothing_to_do_writes_nothing() -> None:
    async with Environment(copies(), objects=[Secret.new("a", namespace="default")]) as env:
        await env.wait_for_idle()
        env.clear()
        await env.advance(2 * 3600)
        await env.wait_for_idle()
        assert env.writes == []
        assert env.replicas[0].reconciles() == 4  # also the one that follows the write, and finds nothing to do
        assert now() == 2 * 3600


@in_virtual_time
async def test_it_waits_for_a_watch_that_broke() -> None:
    async with Environment() as env:
        env.server.faults.silence_watch(after=1, resource="secrets")  # behind the bookmark of the empty state
        await env.start(copies())
        await env.wait_for_idle()
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        began = now()
        await env.wait_for_idle()
        assert env.writes == ["apply configmaps default/a"]
        assert 1 < now() - began < 200


@in_virtual_time
async def test_a_failed_write_shows_its_code_and_its_retry_is_waited_for() -> None:
    async with Environment(copies()) as env:
        await env.wait_for_idle()
        env.server.faults.fail(500, verb="patch")
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        await env.wait_for_idle()
        assert env.writes == ["apply configmaps default/a (500)", "apply configmaps default/a"]
        assert 0 < now() < 1


@in_virtual_time
async def test_a_reconcile_that_keeps_failing_is_not_waited_for_for_ever() -> None:
    async with Environment(copies()) as env:
        await env.wait_for_idle()
        env.server.faults.fail(500, verb="patch", times=None)
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        await env.wait_for_idle()
        assert 1 < now() < 5
        assert set(env.writes) == {"apply configmaps default/a (500)"}
        (failure,) = env.failures
        assert failure.startswith("secrets default/a: InternalServerError: ")
        assert failure.endswith(f"({len(env.writes)} times)")


@in_virtual_time
async def test_failures_are_listed_until_the_reconcile_succeeds() -> None:
    app = masthead.Manager("picky")
    is_fixed = False

    @app.controller(Secret)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        if ctx.request.name == "bad" and not secret.data:
            raise masthead.PermanentError("it has no data")
        if not is_fixed:
            raise ValueError("not yet " + "!" * 1_000)

    there = [Secret.new("bad", namespace="default"), Secret.new("late", namespace="default")]
    async with Environment(app, objects=there) as env:
        await env.wait_for_idle(retries_within=0)
        bad, late = sorted(env.failures)
        assert bad.startswith("secrets default/bad: PermanentError: it has no data at ")
        assert bad.endswith("(1 time)")
        assert late.startswith("secrets default/late: ValueError: not yet !!!")
        assert 1_000 < len(late) < 1_500  # and the path of this file
        is_fixed = True
        await env.wait_for_idle(retries_within=60)
        assert env.failures == [bad]
        await env.client.core_v1.secrets("default").patch("bad", masthead.Patch.merge({"stringData": {"a": "1"}}))
        await env.wait_for_idle()
        assert env.failures == []


@in_virtual_time
async def test_a_temporary_error_is_waited_for_if_its_delay_is_short_enough() -> None:
    app = masthead.Manager("busy")
    attempts: list[int] = []

    @app.controller(Secret)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret]) -> None:
        attempts.append(ctx.attempt)
        if ctx.attempt < 2:
            raise masthead.TemporaryError("busy", delay=30)

    async with Environment(app, objects=[Secret.new("a", namespace="default")]) as env:
        await env.wait_for_idle()
        assert attempts == [0]
        await env.wait_for_idle(retries_within=30)
        assert attempts == [0, 1, 2]


@in_virtual_time
async def test_controllers_that_fight_are_found_out() -> None:
    app = masthead.Manager("fight")

    async def paint(ctx: masthead.aio.ReconcileContext[ConfigMap], obj: ConfigMap, color: str) -> None:
        if obj.data.get("color") != color:
            copy = obj.copy()
            copy.data["color"] = color
            await ctx.client.core_v1.config_maps("default").update(copy, field_manager=color)

    @app.controller(ConfigMap, name="red")
    async def red(ctx: masthead.aio.ReconcileContext[ConfigMap], obj: ConfigMap) -> None:
        await paint(ctx, obj, "red")

    @app.controller(ConfigMap, name="blue")
    async def blue(ctx: masthead.aio.ReconcileContext[ConfigMap], obj: ConfigMap) -> None:
        await paint(ctx, obj, "blue")

    async with Environment(app, objects=[ConfigMap.new("wall", namespace="default")]) as env:
        with pytest.raises(NotIdleError) as caught:
            await env.wait_for_idle()
        assert "configmaps default/wall was written" in str(caught.value)
        assert "update configmaps default/wall by red" in str(caught.value)
        assert "update configmaps default/wall by blue" in str(caught.value)


@in_virtual_time
async def test_settling_waits_for_requeues_at_once_as_for_retries() -> None:
    app = masthead.Manager("endless")
    times: list[float] = []

    @app.controller(ConfigMap)
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], obj: ConfigMap) -> masthead.controller.Result:
        del ctx, obj
        times.append(now())
        return masthead.controller.Result(requeue_after=0)

    async with Environment(app, objects=[ConfigMap.new("a", namespace="default")]) as env:
        began = now()
        await env.wait_for_idle()
        assert len(times) == 9  # the next one is due in 1.28 s
        assert now() - began == pytest.approx(1.275)
        await env.wait_for_idle(retries_within=2)
        assert len(times) == 10


@in_virtual_time
async def test_a_reconcile_that_writes_the_current_time_is_found_when_time_passes() -> None:
    app = masthead.Manager("clock")

    @app.controller(Secret, owns=[ConfigMap], resync=600)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        await ctx.apply(ConfigMap.new(secret.metadata.name, data={"seen": str(ctx.now)}))

    async with Environment(app, objects=[Secret.new("a", namespace="default")]) as env:
        await env.wait_for_idle()
        assert env.writes == ["apply configmaps default/a"]  # the rerun writes the same time
        env.clear()
        await env.advance(600)
        assert env.writes == ["apply configmaps default/a"]


@in_virtual_time
async def test_a_reconcile_that_hangs_is_named() -> None:
    app = masthead.Manager("hung")

    @app.controller(ConfigMap, timeout=None)
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], obj: ConfigMap) -> None:
        del ctx, obj
        await asyncio.Event().wait()

    async with Environment(app, objects=[ConfigMap.new("a", namespace="default")], graceful_timeout=1.0) as env:
        with pytest.raises(NotIdleError, match=r"default/a is being reconciled, attempt 1 .*default/a exists"):
            await env.wait_for_idle(timeout=30)
        assert now() == 30


@in_virtual_time
async def test_a_missing_definition_is_named_and_may_come_late() -> None:
    app = masthead.Manager("late")
    seen: list[str] = []

    @app.controller("example.com/v1/widgets")
    async def reconcile(ctx: masthead.aio.ReconcileContext[masthead.Unstructured], obj: masthead.Unstructured) -> None:
        del obj
        seen.append(ctx.request.key)

    async with Environment(app) as env:
        with pytest.raises(
            NotIdleError, match=r"the cache of widgets.example.com.* is behind: it has not synced .*404"
        ):
            await env.wait_for_idle(timeout=60)
        widget = {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "w", "namespace": "default"},
        }
        await env.client.apply_manifests([WIDGETS, widget])
        await env.wait_for_idle()
        assert seen == ["default/w"]


@in_virtual_time
async def test_definitions_and_objects_are_there_before_the_managers() -> None:
    app = masthead.Manager("widgets")

    @app.controller("example.com/v1/widgets", owns=[ConfigMap])
    async def reconcile(ctx: masthead.aio.ReconcileContext[masthead.Unstructured], obj: masthead.Unstructured) -> None:
        await ctx.apply(ConfigMap.new(obj.metadata.name))

    widget = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "default"},
    }
    async with Environment(app, crds=[WIDGETS], objects=[widget]) as env:
        await env.wait_for_idle()
        assert env.writes == ["apply configmaps default/w"]
        await env.client.dynamic("example.com/v1", "Widget", namespace="default").delete("w")
        await env.wait_for_idle()
        assert (await env.client.core_v1.config_maps("default").list()).items == []


@pytest.mark.slow
@in_virtual_time
async def test_a_reconcile_reads_the_wall_clock_of_the_environment() -> None:
    app = masthead.Manager("clock")
    times: list[datetime] = []

    @app.controller(Secret)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret]) -> masthead.controller.Result:
        times.append(ctx.now)
        return masthead.controller.Result(requeue_after=3600)

    async with Environment(app, objects=[Secret.new("one", namespace="default")]) as env:
        await env.wait_for_idle()
        await env.advance(3600)
        env.shift_clock(-60)
        await env.advance(3600)
    hours = [round((later - before).total_seconds()) for before, later in itertools.pairwise(times)]
    assert (hours, times[0].tzinfo) == ([3600, 3540], UTC)


@in_virtual_time
async def test_events_are_listed_apart_from_writes() -> None:
    app = masthead.Manager("events")

    @app.controller(ConfigMap)
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], obj: ConfigMap) -> None:
        del obj
        ctx.record("Normal", "Seen", "it is there")

    async with Environment(app, objects=[ConfigMap.new("a", namespace="default")]) as env:
        await env.wait_for_idle()
        assert (env.writes, env.events) == ([], ["Normal Seen default/a: it is there"])


@in_virtual_time
async def test_the_next_replica_leads_at_once_after_a_stop_and_later_after_a_crash() -> None:
    app = functools.partial(copies, leader_election="copies")
    async with Environment(app, app, leader_election_namespace="default") as env:
        await env.wait_for_idle()
        first, second = env.replicas
        assert (first.is_leading, second.is_leading) == (True, False)

        began = now()
        await first.stop()
        await env.wait_for_idle()
        assert second.is_leading
        assert now() - began < 5

        third = await env.start(app)
        await env.wait_for_idle()
        began = now()
        await second.crash()
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        await env.wait_for_idle()
        assert third.is_leading
        assert 10 < now() - began < 20
        assert [(write, write.replica) for write in env.writes] == [("apply configmaps default/a", third.name)]


@in_virtual_time
async def test_a_crash_finishes_nothing() -> None:
    steps: list[str] = []

    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], obj: ConfigMap) -> None:
        steps.append("begin")
        await asyncio.sleep(10)
        await ctx.apply(Secret.new(obj.metadata.name))
        steps.append("end")

    def app() -> masthead.Manager:
        made = masthead.Manager("slow")
        made.controller(ConfigMap)(reconcile)
        return made

    async with Environment(app, objects=[ConfigMap.new("a", namespace="default")]) as env:
        await env.advance(5)
        (replica,) = env.replicas
        await replica.crash()
        assert (now(), env.replicas, steps, env.writes) == (5, [], ["begin"], [])
        await env.start(app)
        await env.wait_for_idle()
        assert (steps, env.writes) == (["begin", "begin", "end"], ["apply secrets default/a"])


@in_virtual_time
async def test_a_stop_finishes_what_is_in_flight() -> None:
    app = masthead.Manager("slow")

    @app.controller(ConfigMap)
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], obj: ConfigMap) -> None:
        await asyncio.sleep(10)
        await ctx.apply(Secret.new(obj.metadata.name))

    async with Environment(app, objects=[ConfigMap.new("a", namespace="default")]) as env:
        await env.advance(5)
        await env.replicas[0].stop()
        assert (now(), env.writes) == (10, ["apply secrets default/a"])


@in_virtual_time
async def test_another_replica_leads_while_the_leader_is_paused() -> None:
    app = functools.partial(copies, leader_election="copies")
    async with Environment(app, app, leader_election_namespace="default") as env:
        await env.wait_for_idle()
        first, second = env.replicas
        first.pause()
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        await env.wait_for_idle()
        assert second.is_leading
        assert [(write, write.replica) for write in env.writes] == [("apply configmaps default/a", second.name)]
        first.resume()
        await env.wait_for_idle()
        assert (first.is_leading, second.is_leading) == (False, True)


@in_virtual_time
async def test_a_server_that_is_away_is_waited_for(tmp_path: Path) -> None:
    async with Environment(copies(), server_options={"data": tmp_path / "objects"}) as env:
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        await env.stop_server()
        await env.advance(60)
        await env.start_server()
        await env.client.core_v1.secrets("default").create(Secret.new("b"))
        await env.wait_for_idle()
        assert {"apply configmaps default/a", "apply configmaps default/b"} <= set(env.writes)


@in_virtual_time
async def test_nothing_is_left_behind() -> None:
    async with Environment(copies(), copies(leader_election="x")) as env:
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_a_manager_that_cannot_start_raises() -> None:
    async def main() -> None:
        async with Environment(masthead.Manager("empty")):
            pass

    with pytest.raises(ManagerStateError, match="nothing to run"):
        asyncio.run(main())


async def test_long_waits_in_real_time_are_refused() -> None:
    async with Environment(copies()) as env:
        with pytest.raises(ManagerStateError, match=r"advance\(3600\) .*in_virtual_time"):
            await env.advance(3600)
        with pytest.raises(ManagerStateError, match=r"wait_for_idle\(retries_within=60\) .*in_virtual_time"):
            await env.wait_for_idle(retries_within=60)


async def test_in_real_time_it_settles_as_well() -> None:
    async with Environment(copies(), objects=[Secret.new("a", namespace="default")]) as env:
        await env.wait_for_idle(timeout=30)
        assert env.writes == ["apply configmaps default/a"]


def blocking_copies() -> masthead.Manager:
    """The same, with a plain function."""
    app = masthead.Manager("copies")

    @app.controller(Secret, owns=[ConfigMap], workers=2)
    def reconcile(ctx: masthead.ReconcileContext[Secret], secret: Secret) -> masthead.controller.Result:
        ctx.apply(ConfigMap.new(secret.metadata.name, data={"size": str(len(secret.data))}))
        ctx.record("Normal", "Copied", "there is a copy")
        return masthead.controller.Result(requeue_after=3600)

    return app


@pytest.mark.slow
def test_blocking_tests_have_virtual_time_as_well() -> None:
    with BlockingEnvironment(blocking_copies(), objects=[Secret.new("a", namespace="default")]) as env:
        env.wait_for_idle()
        assert env.writes == ["apply configmaps default/a"]
        assert env.events == ["Normal Copied default/a: there is a copy"]
        assert env.now == 0.0
        env.clear()
        env.advance(7200)
        env.wait_for_idle()
        assert (env.now, env.writes, env.failures) == (7200.0, [], [])


def test_a_thread_that_waits_for_the_server_lets_virtual_time_pass() -> None:
    with BlockingEnvironment(blocking_copies()) as env:
        env.wait_for_idle()
        env.server.faults.throttle(retry_after=30, verb="patch")
        env.client.core_v1.secrets("default").create(Secret.new("a"))
        env.wait_for_idle()
        assert env.writes == ["apply configmaps default/a (429)", "apply configmaps default/a"]
        assert 30 <= env.now < 40


def test_replicas_of_a_blocking_environment_can_be_started_and_killed() -> None:
    with BlockingEnvironment() as env:
        first = env.start(blocking_copies)
        first.crash()
        assert not first.is_running
        env.client.core_v1.secrets("default").create(Secret.new("a"))
        env.wait_for_idle()
        assert env.writes == []
        second = env.start(blocking_copies)
        env.wait_for_idle()
        assert [write.replica for write in env.writes] == [second.name]
        second.stop()


def test_a_paused_replica_of_a_blocking_environment_does_nothing_until_it_resumes() -> None:
    with BlockingEnvironment() as env:
        replica = env.start(blocking_copies())
        env.wait_for_idle()
        replica.pause()
        env.client.core_v1.secrets("default").create(Secret.new("a"))
        env.advance(10)
        assert (replica.is_paused, env.writes) == (True, [])
        replica.resume()
        env.wait_for_idle()
        assert (replica.is_paused, env.writes) == (False, ["apply configmaps default/a"])


def test_the_clock_and_the_server_of_a_blocking_environment_can_be_disturbed(tmp_path: Path) -> None:
    with BlockingEnvironment(blocking_copies(), server_options={"data": tmp_path / "data"}) as env:
        env.wait_for_idle()
        env.shift_clock(3600)
        env.stop_server()
        env.advance(5)
        env.start_server()
        env.client.core_v1.secrets("default").create(Secret.new("a"))
        env.wait_for_idle()
        assert env.writes == ["apply configmaps default/a"]


def test_a_blocking_environment_raises_what_its_managers_raise() -> None:
    with (
        pytest.raises(ManagerStateError, match="nothing to run"),
        BlockingEnvironment(masthead.Manager("empty")),
    ):
        pass


def test_an_environment_of_the_fixture_is_entered_already(
    kube_environment: Callable[..., BlockingEnvironment],
) -> None:
    env = kube_environment(blocking_copies())
    with pytest.raises(RuntimeError, match="kube_environment has entered it"), env:
        pass
    env.wait_for_idle()


@in_virtual_time
async def test_an_environment_is_entered_once() -> None:
    env = Environment(copies())
    async with env:
        pass
    with pytest.raises(RuntimeError, match="can be entered once"):
        await env.__aenter__()


def test_the_fixture_starts_environments(kube_environment: Callable[..., BlockingEnvironment]) -> None:
    env = kube_environment(blocking_copies(), objects=[Secret.new("a", namespace="default")])
    env.wait_for_idle()
    assert env.writes == ["apply configmaps default/a"]
