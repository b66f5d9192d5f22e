"""Explorations of small operators."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from typing import TYPE_CHECKING

import pytest

import masthead
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.errors import ArgumentError
from masthead.testing import ExplorationError, explore
from masthead.testing.exploration import ExplorationProgress, StopExploration
from tests.explore.processes import children

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from masthead.aio import ReconcileContext
    from masthead.testing import Environment, Report

Reconcile = "Callable[[ReconcileContext[ConfigMap], ConfigMap], Awaitable[None]]"


def make_operator(reconcile: Callable[[ReconcileContext[ConfigMap], ConfigMap], Awaitable[None]]) -> masthead.Manager:
    app = masthead.Manager("copies")
    app.controller(ConfigMap, owns=[Secret])(reconcile)
    return app


async def copy(ctx: ReconcileContext[ConfigMap], source: ConfigMap) -> None:
    await ctx.apply(Secret.new(source.metadata.name, string_data=dict(source.data or {})))


async def copy_once(ctx: ReconcileContext[ConfigMap], source: ConfigMap) -> None:
    """Copies in two writes, and never completes the second one: a crash in between loses it."""
    if "copied" not in (source.metadata.annotations or {}):
        annotated = {"metadata": {"annotations": {"copied": "yes"}}}
        maps = ctx.client.core_v1.config_maps(source.metadata.namespace)
        await maps.patch(source.metadata.name, masthead.Patch.merge(annotated))
        await ctx.client.core_v1.secrets(source.metadata.namespace).create(Secret.new(source.metadata.name))


def make_good() -> masthead.Manager:
    return make_operator(copy)


def make_bad() -> masthead.Manager:
    return make_operator(copy_once)


async def workload(env: Environment) -> None:
    maps = env.client.core_v1.config_maps("default")
    await maps.create(ConfigMap.new("a", data={"key": "1"}))
    await env.wait_for_idle()
    await maps.patch("a", masthead.Patch.merge({"data": {"key": "2"}}))
    await env.wait_for_idle()


def explore_quickly(make: Callable[[], masthead.Manager], budget: int = 40) -> Report:
    return explore(make, workload, budget=budget, processes=2)


@pytest.mark.slow
def test_a_good_operator_has_no_finding() -> None:
    report = explore_quickly(make_good)

    assert not report.findings, report
    assert report.schedules >= 35
    assert not report.notes, report


@pytest.mark.slow
def test_a_crash_between_two_writes_is_found_and_shrunk() -> None:
    report = explore_quickly(make_bad)

    finding = report.findings[0]
    assert "secrets default/a" in finding.summary
    assert len(finding.schedule.faults) == 1
    assert finding.run is not None
    again = explore.replay(str(finding.schedule), make_bad, workload)
    assert next((found.oracle, found.subject) for found in again.findings) == (finding.oracle, finding.subject)
    assert not explore.replay(finding.schedule, make_good, workload).findings


@pytest.mark.slow
def test_the_number_of_processes_does_not_matter() -> None:
    reports = [explore(make_bad, workload, budget=24, processes=count) for count in (0, 1, 3)]

    assert len({tuple((str(found.schedule), found.count) for found in report.findings) for report in reports}) == 1
    assert len({(report.schedules, tuple(report.coverage.items())) for report in reports}) == 1


@pytest.mark.slow
def test_a_resumed_exploration_goes_on_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "explored.jsonl"
    first = explore(make_bad, workload, budget=12, processes=1, resume=path)
    second = explore(make_bad, workload, budget=12, processes=1, resume=path)

    assert [found.summary for found in second.findings] == [found.summary for found in first.findings]
    assert "12 schedules had run before" in second.notes
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(set(lines)) == len(lines)


@pytest.mark.slow
def test_a_file_of_another_operator_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "explored.jsonl"
    explore(make_bad, workload, budget=2, processes=1, resume=path)

    with pytest.raises(ArgumentError, match="another operator"):
        explore(make_good, workload, budget=2, processes=1, resume=path)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "explored.jsonl"
    path.write_text('{"format": "masthead-explore", "version": 1, "fingerprint": ""}\nnonsense\n', encoding="utf-8")

    with pytest.raises(ArgumentError, match=r"line 2 of .* is damaged"):
        explore(make_good, workload, budget=2, resume=path)


def test_a_manager_instead_of_a_factory_is_refused() -> None:
    with pytest.raises(ArgumentError, match="function that makes the manager"):
        explore(make_good(), workload, budget=2)  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", ["", "0s", 0, -1, "soon", True, "5 minutes"])
def test_a_wrong_budget_is_refused(budget: str | int) -> None:
    with pytest.raises(ArgumentError, match="budget"):
        explore(make_good, workload, budget=budget)


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(ArgumentError, match="no argument 'buget'"):
        explore(make_good, workload, buget=2)  # type: ignore[call-arg]


@pytest.mark.slow
def test_a_workload_that_fails_without_faults_is_an_error() -> None:
    async def fail(env: Environment) -> None:
        await env.client.core_v1.config_maps("default").get("missing")

    with pytest.raises(ExplorationError, match=r"the workload fails without any fault.*missing"):
        explore(make_good, fail, budget=2, processes=1)


@pytest.mark.slow
def test_an_operator_that_cannot_be_made_is_an_error() -> None:
    def make_nothing() -> masthead.Manager:
        raise OSError("the settings are missing")

    with pytest.raises(ExplorationError, match="the settings are missing"):
        explore(make_nothing, workload, budget=2, processes=1)


@pytest.mark.slow
def test_progress_is_reported_and_may_end_the_exploration() -> None:
    seen: list[ExplorationProgress] = []

    def stop(progress: ExplorationProgress) -> None:
        seen.append(progress)
        if len(seen) == 3:
            raise StopExploration

    report = explore(make_good, workload, budget=30, processes=1, on_progress=stop)

    assert len(seen) == 3
    assert seen[-1].candidates > 3
    assert "stopped before its budget was used up" in report.notes


@pytest.mark.slow
def test_an_interrupt_ends_all_processes() -> None:
    def interrupt(_: ExplorationProgress) -> None:
        raise KeyboardInterrupt

    before = children()
    with pytest.raises(KeyboardInterrupt):
        explore(make_good, workload, budget=30, processes=2, on_progress=interrupt)
    assert children() <= before


@pytest.mark.slow
def test_steps_of_a_list_are_left_out_of_a_finding() -> None:
    async def create(env: Environment, name: str) -> None:
        await env.client.core_v1.config_maps("default").create(ConfigMap.new(name))

    async def nothing(env: Environment) -> None:
        await env.client.core_v1.namespaces().list()

    async def create_a(env: Environment) -> None:
        await create(env, "a")

    async def create_b(env: Environment) -> None:
        await create(env, "b")

    steps = [nothing, create_a, create_b, nothing]
    report = explore(make_bad, steps, budget=40, processes=2, oracles={"loss": False})

    finding = report.findings[0]
    assert finding.schedule.skipped
    assert explore.replay(finding.schedule, make_bad, steps).findings[0].summary == finding.summary


@pytest.mark.slow
def test_explorations_run_inside_of_an_event_loop_and_in_threads() -> None:
    async def explore_in_loop() -> Report:
        return explore(make_good, workload, budget=2, processes=1)

    reports = [asyncio.run(explore_in_loop())]
    thread = threading.Thread(target=lambda: reports.append(explore(make_good, workload, budget=2, processes=1)))
    thread.start()
    thread.join()

    assert [report.schedules for report in reports] == [2, 2]


async def exit_politely(_ctx: ReconcileContext[ConfigMap], _obj: ConfigMap) -> None:
    sys.exit(4)


async def exit_rudely(_ctx: ReconcileContext[ConfigMap], _obj: ConfigMap) -> None:
    os._exit(5)


@pytest.mark.slow
@pytest.mark.parametrize(("reconcile", "text"), [(exit_politely, "sys.exit(4)"), (exit_rudely, "exit code 5")])
def test_an_operator_that_ends_its_process_is_a_finding(
    reconcile: Callable[[ReconcileContext[ConfigMap], ConfigMap], Awaitable[None]], text: str
) -> None:
    report = explore(lambda: make_operator(reconcile), workload, budget=2, processes=1)

    assert text in report.findings[0].summary


@pytest.mark.slow
def test_an_operator_with_global_state_is_explored_with_a_note() -> None:
    seen: set[str] = set()

    async def remember(ctx: ReconcileContext[ConfigMap], source: ConfigMap) -> None:
        if source.metadata.uid not in seen:
            await ctx.apply(Secret.new(source.metadata.name))
        seen.add(source.metadata.uid)

    report = explore(lambda: make_operator(remember), workload, budget=2, processes=1)

    assert any("keeps state between two runs" in note for note in report.notes), report
