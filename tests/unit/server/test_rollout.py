"""Rollouts of Deployments: how many replicas each ReplicaSet has next."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.controllers.workloads.rollout import (
    DESIRED,
    MAX,
    ReplicaSetView,
    Rollout,
    next_new_size,
    next_old_sizes,
    scaled_sizes,
)


def deployment(replicas: int, surge: object = 1, unavailable: object = 0) -> dict[str, Any]:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"spec": {"replicas": replicas, "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}}


def replica_set(name: str, replicas: int, *, available: int = 0, most: int = 0) -> ReplicaSetView:
    annotations = {DESIRED: str(replicas), MAX: str(most)} if most else {}
    return ReplicaSetView(
        {
            "metadata": {"name": name, "creationTimestamp": name, "annotations": annotations},
            "spec": {"replicas": replicas},
            "status": {"replicas": replicas, "availableReplicas": available},
        }
    )


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (10, "25%", "25%", (3, 2)),
        (4, "25%", "25%", (1, 1)),
        (1, "25%", "25%", (1, 0)),
        (3, 0, "10%", (0, 1)),
        (2, 5, 5, (5, 2)),
    ],
)
def test_percentages_of_a_surge_are_rounded_up_and_others_down(
    replicas: int, surge: object, unavailable: object, expected: tuple[int, int]
) -> None:
    found = Rollout.of(deployment(replicas, surge, unavailable))

    assert (found.max_surge, found.max_unavailable) == expected


def test_a_recreation_has_no_old_pods_beside_new_ones() -> None:
    found = Rollout.of({"spec": {"replicas": 3, "strategy": {"type": "Recreate"}}})

    assert next_old_sizes(found, replica_set("b", 0), [replica_set("a", 3, available=3)]) == {"a": 0}
    assert next_new_size(found, None, []) == 3


def test_a_surge_limits_the_new_pods() -> None:
    rollout = Rollout.of(deployment(3, 1, 0))

    assert next_new_size(rollout, None, [replica_set("a", 3, available=3)]) == 1


def test_unavailable_old_pods_go_first() -> None:
    rollout = Rollout.of(deployment(4, 1, 1))
    old = [replica_set("a", 2, available=2), replica_set("b", 2)]

    assert next_old_sizes(rollout, replica_set("c", 1), old) == {"a": 2, "b": 1}


sizes = st.integers(0, 12)


@given(sizes, sizes, st.integers(0, 4), st.integers(0, 4))
def test_a_rollout_ends_and_keeps_its_limits(wanted: int, before: int, surge: int, unavailable: int) -> None:
    rollout = Rollout.of(deployment(wanted, surge, unavailable))
    new, old = replica_set("b", 0), replica_set("a", before, available=before)
    for _ in range(100):
        size = next_new_size(rollout, new, [old])
        if size == new.replicas:
            left = next_old_sizes(rollout, new, [old])["a"]
            if left == old.replicas and new.available == new.replicas:
                break
            assert left <= old.replicas
            assert new.available + min(left, old.available) >= min(
                wanted - rollout.max_unavailable, new.available + old.available
            )
            old = replica_set("a", left, available=min(left, old.available))
        assert size + old.replicas <= max(rollout.most, new.replicas + old.replicas)
        # Every pod that is created becomes available.
        new = replica_set("b", size, available=size)

    assert (new.replicas, old.replicas) == (wanted, 0)


@given(st.integers(1, 20), st.lists(st.integers(1, 8), min_size=2, max_size=4))
def test_a_deployment_that_is_scaled_in_a_rollout_gets_no_more_pods_than_it_may_have(
    wanted: int, present: list[int]
) -> None:
    rollout = Rollout.of(deployment(wanted, 1, 1))
    found = [replica_set(f"rs-{index}", size, most=sum(present)) for index, size in enumerate(present)]
    result = scaled_sizes(rollout, found[-1], found[:-1], before=sum(present))

    if rollout.most >= sum(present):
        assert sum(result.values()) == rollout.most
    else:  # where halves are rounded up, more may stay for now
        assert rollout.most <= sum(result.values()) <= sum(present)
    assert all(size >= 0 for size in result.values())


def test_scaling_without_a_rollout_resizes_the_only_active_one() -> None:
    rollout = Rollout.of(deployment(5))
    old = [replica_set("a", 0)]

    assert scaled_sizes(rollout, replica_set("b", 3, available=3), old, before=3) == {"b": 5}


def test_proportions_are_kept() -> None:
    rollout = Rollout.of(deployment(20, 0, 1))
    new, old = replica_set("b", 4, most=10), replica_set("a", 6, most=10)

    assert scaled_sizes(rollout, new, [old], before=10) == {"b": 8, "a": 12}
