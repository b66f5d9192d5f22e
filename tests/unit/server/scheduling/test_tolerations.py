"""Taints and tolerations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.server.scheduling.scheduling_objects import make_node, make_pod

from masthead_server.scheduling.facts import Taint
from masthead_server.scheduling.node_checks import TaintCheck
from masthead_server.scheduling.scores import score_taints
from masthead_server.scheduling.taints import Toleration, is_tolerated

EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
TAINTS = st.builds(Taint, st.sampled_from(["gpu", "team"]), st.sampled_from(["", "a"]), st.sampled_from(EFFECTS))
TOLERATIONS = st.builds(
    Toleration,
    st.sampled_from(["", "gpu", "team"]),
    st.sampled_from(["", "Equal", "Exists"]),
    st.sampled_from(["", "a"]),
    st.sampled_from(["", *EFFECTS]),
)


@given(TAINTS, st.lists(TOLERATIONS, max_size=3))
def test_one_toleration_that_agrees_in_each_field_suffices(taint: Taint, tolerations: list[Toleration]) -> None:
    expected = [
        toleration
        for toleration in tolerations
        if (not toleration.key or toleration.key == taint.key)
        and (not toleration.effect or toleration.effect == taint.effect)
        and (toleration.operator == "Exists" or toleration.value == taint.value)
    ]
    assert is_tolerated(taint, tolerations) is bool(expected)


@pytest.mark.parametrize("operator", ["Gt", "Lt", "In"])
def test_an_unknown_operator_tolerates_nothing(operator: str) -> None:
    # The comparisons belong to a feature that is off.
    for value, limit in (("5", "7"), ("7", "5"), ("5", "5")):
        assert not is_tolerated(Taint("gpu", value, "NoSchedule"), [Toleration("gpu", operator, limit)])


def test_a_taint_that_only_discourages_rejects_no_pod() -> None:
    taint = {"key": "gpu", "effect": "PreferNoSchedule"}
    node = make_node("node", taints=[taint])
    assert TaintCheck(make_pod("web")).check(node) is None
    assert score_taints(make_pod("web"), [node, make_node("other")]) == [0, 100]
    tolerant = make_pod("web", tolerations=[{"key": "gpu", "operator": "Exists", "effect": "PreferNoSchedule"}])
    assert score_taints(tolerant, [node, make_node("other")]) == [100, 100]


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_other_taints_reject_a_pod_that_does_not_tolerate_them(effect: str) -> None:
    node = make_node("node", taints=[{"key": "gpu", "value": "a", "effect": effect}])
    rejection = TaintCheck(make_pod("web")).check(node)
    assert rejection is not None
    assert rejection.reasons == ("node(s) had untolerated taint(s)",)
    assert TaintCheck(make_pod("web", tolerations=[{"operator": "Exists"}])).check(node) is None


def test_a_cordoned_node_takes_pods_that_tolerate_cordons() -> None:
    node = make_node("node", unschedulable=True)
    rejection = TaintCheck(make_pod("web")).check(node)
    assert rejection is not None
    assert rejection.reasons == ("node(s) were unschedulable",)
    toleration = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
    assert TaintCheck(make_pod("web", tolerations=[toleration])).check(node) is None
