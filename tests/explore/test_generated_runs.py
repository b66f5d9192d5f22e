"""Generated workloads under faults: they go on, and a correct operator shows no finding."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import masthead
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.meta import Struct
from masthead.testing import generate_workload
from masthead.testing._explore.app_modules import as_factory
from masthead.testing._explore.explore import explore
from masthead.testing._explore.faults import Absence, Crash, EarlyStep, Restart
from masthead.testing._explore.oracles.judge import judge, judge_reference
from masthead.testing._explore.oracles.rules import OracleRules
from masthead.testing._explore.reference import ReferenceRuns
from masthead.testing._explore.run import run_schedule
from masthead.testing._explore.schedule import Schedule
from masthead.testing._explore.target import Target

if TYPE_CHECKING:
    from masthead.aio import ReconcileContext
    from masthead.testing._explore.faults import PlannedFault

EXAMPLES = Path(__file__).parents[2] / "examples" / "website"
FAULTS: dict[str, PlannedFault] = {
    "crash": Crash(25, "before"),
    "restart": Restart(4),
    "early step": EarlyStep(7),
    "operator and its webhooks are down": Absence(3, 5),
    "paused workers": Absence(8, 9, "workers"),
}


@pytest.fixture(scope="module")
def explored() -> tuple[Target, ReferenceRuns, OracleRules]:
    """The website operator with a generated workload, and what it does without faults."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        workload = generate_workload(importlib.import_module("website").Website, seed=1)
        target = Target(as_factory("website:app"), workload)
    finally:
        sys.path.remove(str(EXAMPLES))
    runs = [run_schedule(target, Schedule(seed=seed), keeps_states=True) for seed in (1, 2)]
    return target, ReferenceRuns.learn(runs), OracleRules(recovers=workload.recovers)


@pytest.mark.slow
def test_a_generated_workload_shows_nothing_wrong_without_faults(
    explored: tuple[Target, ReferenceRuns, OracleRules],
) -> None:
    target, reference, rules = explored
    assert judge_reference(reference, rules) == []
    assert rules.recovers
    # The answers of the server to what it refuses are remarks, and no findings.
    assert any(note.startswith("refused: update websites.example.com") for note in reference.run.notes)
    assert len(reference.run.rests) == len(target.workload.steps)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_generated_workload_goes_on_under_faults(
    name: str, explored: tuple[Target, ReferenceRuns, OracleRules]
) -> None:
    target, reference, rules = explored
    result = run_schedule(target, Schedule(seed=1, faults=(FAULTS[name],)), keeps_states=True)
    assert result.unhit == []
    assert result.workload_error == ""
    assert judge(reference, result, rules) == []


class ServerSpec(Struct):
    """What a server runs."""

    image: str = "nginx:1"


class Server(masthead.CustomResource, group="example.com", version="v1"):
    """A server with a ConfigMap."""

    spec: ServerSpec


def make_sticky() -> masthead.Manager:
    """An operator that never forgets a bad image."""
    app = masthead.Manager("sticky")

    @app.controller(Server, owns=[ConfigMap])
    async def reconcile(ctx: ReconcileContext[Server], server: Server) -> None:
        current = await ctx.get(ConfigMap, server.metadata.name)
        has_failed = server.spec.image == "does-not-exist:0" or (current is not None and "failed" in current.data)
        await ctx.apply(
            ConfigMap.new(
                server.metadata.name, data={"image": server.spec.image, **({"failed": ""} if has_failed else {})}
            )
        )

    return app


@pytest.mark.slow
def test_an_operator_that_does_not_recover_from_an_invalid_state_is_found() -> None:
    workload = generate_workload(Server, seed=1, steps=12)
    assert any("does-not-exist" in workload.steps[before].name for before, _ in workload.recovers)
    report = explore(make_sticky, workload, budget=1, processes=0)
    (finding,) = [finding for finding in report.findings if finding.oracle == "recovers"]
    assert "configmaps default/server-a differs after step" in finding.summary


def make_waiting() -> masthead.Manager:
    """An operator that waits for a Secret of another owner, as long as it takes."""
    app = masthead.Manager("waiting")

    @app.controller(Server, owns=[ConfigMap], reads=[Secret])
    async def reconcile(ctx: ReconcileContext[Server], server: Server) -> None:
        if server.spec.image == "does-not-exist:0" and await ctx.get(Secret, "pull") is None:
            raise masthead.TemporaryError("there is no Secret pull", delay=1)
        await ctx.apply(ConfigMap.new(server.metadata.name, data={"image": server.spec.image}))

    return app


@pytest.mark.slow
def test_an_operator_that_polls_for_what_is_missing_comes_to_rest() -> None:
    report = explore(make_waiting, generate_workload(Server, seed=1, steps=12), budget=3, processes=0)
    assert not report.findings, report
