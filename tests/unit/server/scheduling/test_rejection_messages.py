"""The message of a pod that fits no node."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from masthead_server.scheduling.rejections import Cure, Diagnosis, Rejection, describe_nodes

REASONS = st.sampled_from(["Too many pods", "Insufficient cpu", "node(s) were unschedulable"])
NODES = st.dictionaries(
    st.from_regex(r"node-[0-9]{1,2}", fullmatch=True), st.lists(REASONS, max_size=3, unique=True), max_size=15
)


@given(NODES, st.integers(0, 3))
def test_the_message_counts_each_reason(reasons: dict[str, list[str]], unexamined: int) -> None:
    count = len(reasons) + unexamined
    message = describe_nodes(count, reasons, "not looked at")
    assert message.startswith(f"0/{count} nodes are available:")
    found = {text: int(number) for number, text in re.findall(r"(\d+) ([A-Za-z()' ]+)[,.]", message.partition(":")[2])}
    names = {reason for listed in reasons.values() for reason in listed}
    expected = {name: sum(name in listed for listed in reasons.values()) for name in names}
    if unexamined:
        expected["not looked at"] = unexamined
    assert found == expected


def test_reasons_are_sorted_as_text() -> None:
    reasons = {
        **{f"a-{number}": ["Too many pods"] for number in range(2)},
        **{f"b-{n}": ["Insufficient cpu"] for n in range(10)},
    }
    assert describe_nodes(12, reasons, "") == "0/12 nodes are available: 10 Insufficient cpu, 2 Too many pods."


def test_without_nodes_the_message_says_nothing_of_preemption() -> None:
    assert Diagnosis(0).describe("preemption: none") == "no nodes available to schedule pods"


def test_a_problem_of_the_pod_stands_for_all_nodes() -> None:
    diagnosis = Diagnosis(3, {"a": Rejection(("Too many pods",), Cure.NODE)}, problem="pod affinity terms conflict")
    assert (
        diagnosis.describe("preemption: none")
        == "0/3 nodes are available: pod affinity terms conflict. preemption: none"
    )
