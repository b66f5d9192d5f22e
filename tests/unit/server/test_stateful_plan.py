"""What a StatefulSet does next, by its spec and pods."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from masthead_server.controllers.workloads.dependents import Dependent
from masthead_server.controllers.workloads.stateful_plan import (
    StatefulPlan,
    StatefulSettings,
    count_replicas,
    plan_pods,
)

NOW = datetime(2026, 5, 6, 12, tzinfo=UTC)
READY = "2026-05-06T11:00:00Z"


def pod(
    phase: str = "Running", *, revision: str = "new", ready: str = READY, is_terminating: bool = False
) -> Dependent:
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": ready or None}
    content = {
        "metadata": {
            "labels": {"controller-revision-hash": revision},
            "deletionTimestamp": READY if is_terminating else None,
        },
        "status": {"phase": phase, "conditions": [condition]},
    }
    return msgspec.convert(content, Dependent)


def plan(pods: dict[int, Dependent], *, stale: tuple[int, ...] = (), **spec: Any) -> StatefulPlan:
    return plan_pods(StatefulSettings.of({"replicas": 3, **spec}), pods, "new", NOW, lambda ordinal: ordinal in stale)


def test_pods_are_created_one_after_the_other() -> None:
    assert plan({}).create == [0]
    assert plan({0: pod("Pending", ready="")}).create == []
    assert plan({0: pod()}).create == [1]


def test_parallel_pods_are_created_together() -> None:
    assert plan({1: pod("Pending", ready="")}, podManagementPolicy="Parallel").create == [0, 2]


def test_a_step_creates_a_bounded_number_of_parallel_pods() -> None:
    assert plan({}, replicas=2_000_000_000, podManagementPolicy="Parallel").create == list(range(500))


def test_ordinals_begin_where_the_spec_says() -> None:
    assert plan({}, ordinals={"start": 5}, podManagementPolicy="Parallel").create == [5, 6, 7]


def test_a_terminating_pod_holds_up_the_others() -> None:
    assert plan({0: pod(is_terminating=True)}) == StatefulPlan()


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_finished_pod_is_deleted_before_its_successor_is_created(phase: str) -> None:
    assert plan({0: pod(phase, ready="")}).delete == [0]
    assert plan({0: pod(phase, ready="", is_terminating=True)}) == StatefulPlan()


def test_a_pod_waits_for_the_claim_of_its_predecessor() -> None:
    found = plan({}, stale=(0,))
    assert (found.create, found.is_stale) == ([], True)


def test_surplus_pods_go_from_the_last_one() -> None:
    pods = {ordinal: pod() for ordinal in range(5)}
    assert plan(pods).delete == [4]
    assert plan(pods, podManagementPolicy="Parallel").delete == [4, 3]


def test_an_unavailable_surplus_pod_goes_only_if_nothing_else_is_unavailable() -> None:
    healthy = {ordinal: pod() for ordinal in range(4)}
    assert plan({**healthy, 4: pod(ready="")}).delete == [4]
    assert plan({**healthy, 3: pod(ready=""), 4: pod(ready="")}).delete == []


def test_an_update_replaces_the_last_old_pod_when_those_behind_it_are_available() -> None:
    old = {ordinal: pod(revision="old") for ordinal in range(3)}
    assert plan(old).delete == [2]
    assert plan({**old, 2: pod()}).delete == [1]
    assert plan({**old, 2: pod(ready="")}, podManagementPolicy="Parallel").delete == []
    assert plan({**old, 2: pod()}, podManagementPolicy="Parallel", minReadySeconds=7200).delete == []


def test_partition_and_strategy_spare_old_pods() -> None:
    old = {ordinal: pod(revision="old") for ordinal in range(3)}
    partition = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    assert plan({**old, 2: pod()}, updateStrategy=partition).delete == []
    assert plan(old, updateStrategy={"type": "OnDelete"}).delete == []


def test_terminating_pods_count_as_replicas_but_have_no_revision() -> None:
    pods = {0: pod(), 1: pod(is_terminating=True)}
    assert count_replicas(StatefulSettings.of({"replicas": 2}), pods, "old", "new", NOW) == {
        "replicas": 2,
        "readyReplicas": 2,
        "updatedReplicas": 1,
        "currentRevision": "old",
        "updateRevision": "new",
        "availableReplicas": 2,
    }


def test_a_complete_update_is_the_current_revision() -> None:
    counts = count_replicas(StatefulSettings.of({"replicas": 1}), {0: pod()}, "old", "new", NOW)
    assert (counts["currentRevision"], counts["currentReplicas"]) == ("new", 1)
    on_delete = StatefulSettings.of({"replicas": 1, "updateStrategy": {"type": "OnDelete"}})
    assert count_replicas(on_delete, {0: pod()}, "old", "new", NOW)["currentRevision"] == "old"
