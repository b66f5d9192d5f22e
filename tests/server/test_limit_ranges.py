"""Limit ranges of the embedded server, apart from what the conformance cases compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.calls import PODS, Caller
from tests.server.quiet_cluster import pod

import masthead.server
from masthead import Quantity
from masthead_server.admission.limit_ranges import Limit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.quiet_cluster import QuietCluster

RANGES = "/api/v1/namespaces/default/limitranges"
amounts = st.dictionaries(st.sampled_from(["cpu", "memory"]), st.integers(0, 5).map(Quantity))


def limit_range(name: str, **limit: Any) -> Any:
    return {"metadata": {"name": name}, "spec": {"limits": [{"type": "Container", **limit}]}}


def test_a_limit_range_has_no_effect_in_other_namespaces(cluster: QuietCluster) -> None:
    cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
    cluster.call("POST", RANGES, limit_range("l", default={"cpu": "1"}))

    made = cluster.call("POST", "/api/v1/namespaces/other/pods", pod("a"))

    assert made["spec"]["containers"][0]["resources"] == {}


def test_the_first_default_of_several_ranges_is_used(cluster: QuietCluster) -> None:
    cluster.call("POST", RANGES, limit_range("b", default={"cpu": "2", "memory": "1Gi"}))
    cluster.call("POST", RANGES, limit_range("a", default={"cpu": "1"}))

    made = cluster.call("POST", PODS, pod("a"))

    assert made["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1", "memory": "1Gi"}


def test_pods_are_created_as_before_once_the_last_range_is_deleted(cluster: QuietCluster) -> None:
    cluster.call("POST", RANGES, limit_range("l", default={"cpu": "1"}))
    cluster.call("DELETE", f"{RANGES}/l")

    made = cluster.call("POST", PODS, pod("a"))

    assert "annotations" not in made["metadata"]


@pytest.mark.slow
def test_stored_ranges_count_after_a_restart(tmp_path: Path) -> None:
    data = tmp_path / "data.db"
    for index in range(2):
        with masthead.server.run(data=data, token=None) as server:
            caller = Caller(server.url)
            if not index:
                caller.call("POST", RANGES, limit_range("l", max={"cpu": "1"}))
            limits = {"resources": {"limits": {"cpu": "2"}}}
            response = caller.call("POST", PODS, pod("a", containers=[{"name": "c", "image": "i", **limits}]))
            caller.close()
            assert response.code == 403, response.body


@given(bounds=amounts, requests=amounts, limits=amounts)
def test_resources_within_the_bounds_have_no_problems(
    bounds: dict[str, Quantity], requests: dict[str, Quantity], limits: dict[str, Quantity]
) -> None:
    minimum = Limit("Container", bounds, {}, {}, {}, {})
    is_enough = all(name in requests and requests[name] >= least for name, least in bounds.items())
    is_allowed = all(limits[name] >= least for name, least in bounds.items() if name in limits)
    assert (not list(minimum.check(requests, limits))) == (is_enough and is_allowed)

    maximum = Limit("Container", {}, bounds, {}, {}, {})
    is_limited = all(name in limits and limits[name] <= most for name, most in bounds.items())
    is_small = all(requests[name] <= most for name, most in bounds.items() if name in requests)
    assert (not list(maximum.check(requests, limits))) == (is_limited and is_small)
