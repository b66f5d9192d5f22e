"""One run of one schedule: which faults strike, and what the result has of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.testing._explore.canonical_state import EDITED
from masthead.testing._explore.faults import (
    Absence,
    Answer,
    Crash,
    EarlyStep,
    Edit,
    FailedRead,
    HandOver,
    Restart,
    ServerRestart,
)
from masthead.testing._explore.run import run_schedule
from masthead.testing._explore.schedule import Schedule
from masthead.testing._explore.target import Target
from masthead.testing._explore.workload import as_workload

if TYPE_CHECKING:
    from masthead.aio import ReconcileContext
    from masthead.testing import Environment
    from masthead.testing._explore.faults import PlannedFault
    from masthead.testing._explore.trace import RunResult


def make_copier() -> masthead.Manager:
    """An operator that makes two ConfigMaps for each Secret."""
    app = masthead.Manager("copier", leader_election="copier")

    @app.controller(Secret, owns=[ConfigMap])
    async def copy(ctx: ReconcileContext[Secret], secret: Secret) -> None:
        for number in (1, 2):
            await ctx.apply(ConfigMap.new(f"{secret.metadata.name}-{number}", data={"keys": str(len(secret.data))}))

    return app


async def workload(env: Environment) -> None:
    secrets = env.client.core_v1.secrets("default")
    await secrets.create(Secret.new("a"))
    await env.wait_for_idle()
    await secrets.patch("a", masthead.Patch.merge({"stringData": {"key": "value"}}))
    await env.wait_for_idle()


def run(*faults: PlannedFault, target: Target | None = None, checks_restart: bool = False) -> RunResult:
    target = target or Target(make_copier, as_workload(workload))
    return run_schedule(target, Schedule(faults=faults), checks_restart=checks_restart)


def writes_of(result: RunResult) -> list[str]:
    return [f"{write.replica}: {write}" for write in result.writes]


FIRST, SECOND = "apply configmaps default/a-1", "apply configmaps default/a-2"


def test_a_run_without_faults_records_writes_changes_and_rests() -> None:
    result = run(checks_restart=True)
    assert writes_of(result) == [f"operator-1: {text}" for text in (FIRST, SECOND, FIRST, SECOND)]
    assert [write.step for write in result.writes] == [1, 1, 2, 2]
    assert len(result.rests) == 2
    assert result.objects["configmaps"].keys() >= {"default/a-1", "default/a-2"}
    assert (result.problem, result.failures, result.workload_error, result.later_changes) == ("", [], "", [])
    assert {change.client for change in result.changes if change.resource == "configmaps"} == {"operator-1"}
    assert result.resources == ["configmaps", "secrets"]


def test_one_schedule_gives_one_trace() -> None:
    schedule = Crash(2, "stored")
    assert run(schedule).entries == run(schedule).entries


def test_a_crash_before_a_write_keeps_it_from_the_server() -> None:
    result = run(Crash(2, "before"))
    assert writes_of(result)[:3] == [
        f"operator-1: {FIRST}",
        f"operator-1: {SECOND} (no response)",
        f"operator-2: {SECOND}",
    ]
    added = [change.client for change in result.changes if change.key == "default/a-2" and change.type == "ADDED"]
    assert added == ["operator-2"]


def test_a_crash_after_storing_leaves_the_object_to_the_successor() -> None:
    result = run(Crash(1, "stored"))
    assert writes_of(result)[:2] == [f"operator-1: {FIRST} (no response)", f"operator-2: {SECOND}"]
    assert result.unhit == []


def test_a_crash_after_the_answer_ends_the_replica_before_its_next_write() -> None:
    result = run(Crash(1, "answered"))
    assert writes_of(result)[:2] == [f"operator-1: {FIRST}", f"operator-2: {SECOND}"]


@pytest.mark.parametrize(
    ("outcome", "text"), [("conflict", "409"), ("503", "503"), ("403", "403"), ("lost", "no response")]
)
def test_a_write_gets_another_answer_and_is_repeated(outcome: str, text: str) -> None:
    result = run(Answer(2, outcome))
    assert f"operator-1: {SECOND} ({text})" in writes_of(result)
    assert "default/a-2" in result.objects["configmaps"]
    assert result.failures == []


def test_a_live_read_fails() -> None:
    result = run(FailedRead(1, 500))
    assert result.reads[0].code == 500
    assert (result.unhit, result.failures) == ([], [])


def test_the_next_step_begins_between_a_read_and_a_write() -> None:
    result = run(EarlyStep(2))
    kinds = [(entry.kind, entry.step) for entry in result.entries if entry.kind in {"step", "write"}]
    # The second step begins before the second write.
    assert kinds[:4] == [("step", 1), ("write", 1), ("step", 2), ("write", 2)]
    assert result.is_delayed


def test_another_client_edits_the_object_of_a_write() -> None:
    result = run(Edit(4))
    assert result.objects["configmaps"]["default/a-2"]["metadata"]["annotations"] == {EDITED: "yes"}


@pytest.mark.parametrize("how", ["down", "workers"])
def test_an_absent_operator_sees_the_outcome_only(how: str) -> None:
    result = run(Absence(1, 2, "down" if how == "down" else "workers"))
    assert [
        change.type for change in result.changes if change.resource == "configmaps" and change.key == "default/a-1"
    ] == ["ADDED"]
    assert result.objects["configmaps"]["default/a-1"]["data"] == {"keys": "1"}


def test_a_restart_with_an_old_view_repeats_the_past_until_it_is_released() -> None:
    reference = run()
    result = run(Restart(2, view=reference.rests[0], resources=("secrets",), last=2))
    changes = [change for change in result.changes if change.key == "default/a-1"]
    assert [change.client for change in changes] == ["operator-1", "operator-1", "operator-2", "operator-2"]
    assert result.objects["configmaps"]["default/a-1"]["data"] == {"keys": "1"}


def test_a_leader_that_stands_still_does_not_write_after_its_successor() -> None:
    result = run(HandOver(3))
    assert [write.replica for write in result.writes] == ["operator-1"] * 2 + ["operator-2"] * 2
    assert (result.unhit, result.notes) == ([], [])


def test_a_fault_that_never_strikes_is_listed() -> None:
    fault = Crash(99)
    assert run(fault).unhit == [fault]


def test_calls_of_an_external_system_are_recorded_and_crash_points() -> None:
    class Registry:
        def __init__(self) -> None:
            self.names: list[str] = []

        async def add(self, name: str) -> None:
            self.names.append(name)

    def make(registry: Registry) -> masthead.Manager:
        app = masthead.Manager("registrar")

        @app.controller(Secret)
        async def register(ctx: ReconcileContext[Secret], secret: Secret) -> None:
            if "registered" not in secret.metadata.annotations:
                await registry.add(secret.metadata.name)
                patch = masthead.Patch.merge({"metadata": {"annotations": {"registered": "yes"}}})
                await ctx.client.core_v1.secrets("default").patch(secret.metadata.name, patch)

        return app

    target = Target(make, as_workload(workload), external=Registry)
    assert run(target=target).calls == ["add('a')"]
    result = run(Crash(0, "stored", call=1), target=target)
    assert (result.calls, result.external) == (["add('a')"] * 2, {"names": ["a", "a"]})


def test_a_failing_workload_is_reported() -> None:
    async def fail(env: Environment) -> None:
        await env.wait_for_idle()
        raise AssertionError("no such thing")

    result = run(target=Target(make_copier, as_workload(fail)))
    assert result.workload_error.startswith("AssertionError: no such thing")


def test_an_operator_that_spins_is_a_problem_and_the_run_ends() -> None:
    def make() -> masthead.Manager:
        app = masthead.Manager("spinner")

        @app.controller(Secret)
        async def spin(ctx: ReconcileContext[Secret], secret: Secret) -> None:
            patch = masthead.Patch.merge({"metadata": {"annotations": {"count": ctx.reconcile_id}}})
            await ctx.client.core_v1.secrets("default").patch(secret.metadata.name, patch)

        return app

    result = run(target=Target(make, as_workload(workload)))
    assert "patch secrets default/a" in result.problem


def test_requeues_belong_to_a_step_as_long_as_they_change_something() -> None:
    def make() -> masthead.Manager:
        app = masthead.Manager("phases")

        @app.controller(Secret)
        async def move_on(ctx: ReconcileContext[Secret], secret: Secret) -> masthead.controller.Result | None:
            phase = int(secret.metadata.annotations.get("phase", "0"))
            if phase == 3:
                return masthead.controller.Result(requeue_after=30)
            patch = masthead.Patch.merge({"metadata": {"annotations": {"phase": str(phase + 1)}}})
            await ctx.client.core_v1.secrets("default").patch(secret.metadata.name, patch)
            return masthead.controller.Result(requeue_after=30)

        return app

    result = run(target=Target(make, as_workload(workload)))
    assert result.objects["secrets"]["default/a"]["metadata"]["annotations"] == {"phase": "3"}
    assert result.problem == ""


def test_a_user_repeats_what_an_absent_operator_delays() -> None:
    def make() -> masthead.Manager:
        app = masthead.Manager("keeper")

        @app.controller(Secret, finalizer="example.com/keep")
        async def keep(ctx: ReconcileContext[Secret], _: Secret) -> None:
            await ctx.finalize(lambda: None)

        return app

    async def recreate(env: Environment) -> None:
        secrets = env.client.core_v1.secrets("default")
        await secrets.create(Secret.new("a"))
        await env.wait_for_idle()
        await secrets.delete("a")
        await env.wait_for_idle()
        await secrets.create(Secret.new("a"))
        await env.wait_for_idle()

    for fault in (Absence(2, 3), EarlyStep(2)):
        result = run(fault, target=Target(make, as_workload(recreate)))
        assert (result.workload_error, result.problem, result.unhit) == ("", "", [])
        assert "default/a" in result.objects["secrets"]


def test_a_successor_with_an_old_view_of_its_own_writes_is_released_soon() -> None:
    result = run(Crash(1, view=6, resources=("configmaps",)))
    assert (result.problem, result.unhit, result.failures) == ("", [], [])
    assert result.entries[-1].time < 120


@pytest.mark.parametrize("fault", [ServerRestart(3), ServerRestart(0, step=1)], ids=["before a write", "at rest"])
def test_the_api_server_restarts_and_keeps_its_objects(fault: ServerRestart) -> None:
    result = run(fault)
    assert (result.problem, result.unhit, result.failures, result.workload_error) == ("", [], [], "")
    assert result.objects["configmaps"]["default/a-2"]["data"] == {"keys": "1"}


def test_live_reads_of_a_timer_get_the_truth() -> None:
    counts: list[int] = []

    def make() -> masthead.Manager:
        app = make_copier()

        @app.timer(30)
        async def count(client: masthead.aio.Client) -> None:
            counts.append(len(await client.core_v1.secrets("default").list()))

        return app

    async def create(env: Environment) -> None:
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        await env.wait_for_idle()
        await env.advance(60)

    target = Target(make, as_workload(create))
    run(Restart(1, view=6, last=2), target=target)
    assert counts[-1] == 1
