"""Invariants: rules of the operator's author, checked during a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap
from masthead.errors import ArgumentError
from masthead.testing import ClusterObjects, always
from masthead.testing._explore.faults import Crash
from masthead.testing._explore.oracles.invariants import InvariantChecker
from masthead.testing._explore.oracles.judge import judge
from masthead.testing._explore.reference import ReferenceRuns
from masthead.testing._explore.run import run_schedule
from masthead.testing._explore.schedule import Schedule
from masthead.testing._explore.target import Target
from masthead.testing._explore.workload import as_workload
from tests.explore.operators import config_rollout

if TYPE_CHECKING:
    from collections.abc import Callable


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


def note(checker: InvariantChecker, name: str, change: str = "ADDED", **data: str) -> None:
    checker.note(change, "configmaps", f"default/{name}", config_map(name, **data), revision=7, step=2)


def test_objects_are_typed_and_follow_changes() -> None:
    objects = ClusterObjects()
    for name in ("b", "a"):
        objects.note("ADDED", "configmaps", f"default/{name}", config_map(name, x=name))
    found = objects.get(ConfigMap, "default/a")
    assert isinstance(found, ConfigMap)
    assert found.data == {"x": "a"}
    assert [item.metadata.name for item in objects.list(ConfigMap)] == ["a", "b"]
    assert objects.list(ConfigMap, "other") == []
    assert objects.list(Deployment) == []
    objects.note("DELETED", "configmaps", "default/a", config_map("a"))
    assert objects.get(ConfigMap, "default/a") is None


def test_objects_that_an_invariant_changes_are_copies() -> None:
    objects = ClusterObjects()
    objects.note("ADDED", "configmaps", "default/a", config_map("a", x="1"))
    found = objects.list(ConfigMap)[0]
    found.data["x"] = "2"
    again = objects.get(ConfigMap, "default/a")
    assert again is not None
    assert again.data == {"x": "1"}


def fails(_objects: ClusterObjects) -> None:
    raise AssertionError("two primaries")


def raises(_objects: ClusterObjects) -> None:
    raise KeyError("role")


@pytest.mark.parametrize(
    ("invariant", "message"),
    [
        pytest.param(fails, "two primaries", id="assertion"),
        pytest.param(raises, "KeyError: 'role'", id="error"),
        pytest.param(lambda _objects: False, "it returned False", id="false"),
        pytest.param(lambda _objects: "no leader", "no leader", id="text"),
        pytest.param(lambda _objects: True, None, id="true"),
        pytest.param(lambda _objects: None, None, id="none"),
    ],
)
def test_outcome_of_an_invariant(invariant: Callable[[ClusterObjects], object], message: str | None) -> None:
    checker = InvariantChecker([invariant])
    note(checker, "a")
    assert checker.violations == []
    checker.rest(8, 2)
    checker.rest(9, 3)
    assert [violation.message for violation in checker.violations] == ([message] if message else [])


def test_marked_invariants_hold_after_every_change() -> None:
    @always
    def at_most_one(objects: ClusterObjects) -> None:
        assert len(objects.list(ConfigMap)) <= 1, "two of them"

    checker = InvariantChecker([at_most_one])
    note(checker, "a")
    note(checker, "b")
    note(checker, "b", "DELETED")
    checker.rest(8, 2)
    [violation] = checker.violations
    assert violation.moment == "at revision 7"
    assert violation.invariant == "at_most_one"
    assert violation.message.startswith("two of them")


def test_invariant_must_be_a_function() -> None:
    with pytest.raises(ArgumentError, match="'replicas' is not an invariant: pass a function of the objects"):
        InvariantChecker(["replicas"])  # type: ignore[list-item]


@pytest.mark.slow
def test_violation_in_a_run_is_a_finding() -> None:
    @always
    def is_rolled_out(objects: ClusterObjects) -> None:
        config, deployment = objects.get(ConfigMap, "default/edge"), objects.get(Deployment, "default/edge")
        if config is not None and deployment is not None:
            annotations = deployment.spec.template.metadata.annotations
            assert annotations[config_rollout.HASH] == config_rollout.hash_of(config), "the pods have an old config"

    def end_is_rolled_out(objects: ClusterObjects) -> None:
        is_rolled_out(objects)

    workload = as_workload(config_rollout.workload)
    target = Target(
        config_rollout.make_buggy, workload, crds=config_rollout.CRDS, invariants=(is_rolled_out, end_is_rolled_out)
    )
    reference = ReferenceRuns.learn([run_schedule(target, Schedule(seed)) for seed in (1, 2)])
    # Even without a fault, the ConfigMap is newer than the Deployment for a moment.
    assert [violation.invariant for violation in reference.run.violations] == ["is_rolled_out"]
    write = next(write.number for write in reference.run.writes if write.verb == "update")
    run = run_schedule(target, Schedule(1, (Crash(write, "stored"),)))
    summaries = [finding.summary for finding in judge(reference, run) if finding.oracle == "invariant"]
    assert summaries == ["end_is_rolled_out is violated at rest after step 2: the pods have an old config"]
