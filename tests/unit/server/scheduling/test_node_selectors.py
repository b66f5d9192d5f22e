"""Selectors of labels and nodes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.server.scheduling.scheduling_objects import make_node, make_pod

from masthead_server.scheduling.labels import (
    LabelSelectorFacts,
    NodeTerm,
    Requirement,
    compile_selector,
    matches_node,
)
from masthead_server.scheduling.node_checks import matches_affinity

KEYS = st.sampled_from(["app", "tier", "disk"])
VALUES = st.sampled_from(["a", "b", "7", "12"])
LABELS = st.dictionaries(KEYS, VALUES)


def requirements(*operators: str) -> st.SearchStrategy[Requirement]:
    """Requirements with as many values as their operator takes."""
    takes_values = [operator for operator in operators if operator in {"In", "NotIn"}]
    others = [operator for operator in operators if operator in {"Exists", "DoesNotExist"}]
    return st.one_of(
        st.builds(Requirement, KEYS, st.sampled_from(takes_values), st.lists(VALUES, min_size=1, max_size=3)),
        st.builds(Requirement, KEYS, st.sampled_from(others)),
    )


SET_REQUIREMENTS = requirements("In", "NotIn", "Exists", "DoesNotExist")


def holds(requirement: Requirement, labels: dict[str, str]) -> bool:
    """The naive rule."""
    among = labels.get(requirement.key) in requirement.values
    has_key = requirement.key in labels
    return {"In": among, "NotIn": not among, "Exists": has_key, "DoesNotExist": not has_key}[requirement.operator]


def term(operator: str, *values: str) -> NodeTerm:
    return NodeTerm([Requirement("disk", operator, list(values))])


@given(LABELS, st.lists(SET_REQUIREMENTS, max_size=3), LABELS, st.lists(st.tuples(KEYS, VALUES), max_size=2))
def test_a_selector_matches_what_fulfils_each_requirement(
    match_labels: dict[str, str], expressions: list[Requirement], labels: dict[str, str], more: list[tuple[str, str]]
) -> None:
    selector = compile_selector(LabelSelectorFacts(match_labels, expressions), more)
    expected = all(labels.get(key) == value for key, value in [*match_labels.items(), *more]) and all(
        holds(requirement, labels) for requirement in expressions
    )
    assert selector.matches(labels) is expected
    # Pods are looked up by these.
    assert not expected or all(labels[key] == value for key, value in selector.pairs)


def test_no_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert not compile_selector(None).matches({})
    assert not compile_selector(None).is_empty
    everything = compile_selector(LabelSelectorFacts())
    assert everything.matches({"app": "web"})
    assert everything.is_empty


def test_a_selector_of_only_further_labels_is_not_empty() -> None:
    selector = compile_selector(LabelSelectorFacts(), [("version", "1")])
    assert not selector.is_empty
    assert selector.pairs == (("version", "1"),)


@given(st.lists(st.lists(SET_REQUIREMENTS, max_size=2), max_size=3), LABELS)
def test_a_node_matches_if_one_term_holds_that_is_not_empty(
    terms: list[list[Requirement]], labels: dict[str, str]
) -> None:
    expected = any(term and all(holds(requirement, labels) for requirement in term) for term in terms)
    assert matches_node([NodeTerm(term) for term in terms], "node", labels) is expected


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_numbers_are_compared_as_numbers(value: int, bound: int) -> None:
    labels = {"disk": str(value)}
    assert matches_node([term("Gt", str(bound))], "node", labels) is (value > bound)
    assert matches_node([term("Lt", str(bound))], "node", labels) is (value < bound)


@pytest.mark.parametrize("value", ["1_000", " 9", "9 ", "٩", "9.5", "", "ssd", "9223372036854775808", "0x9"])
def test_what_is_no_number_of_64_bits_is_neither_greater_nor_less(value: str) -> None:
    for operator in ("Gt", "Lt"):
        assert not matches_node([term(operator, "5")], "node", {"disk": value})
        assert not matches_node([term(operator, value)], "node", {"disk": "5"})


def test_a_node_without_the_label_is_neither_greater_nor_less() -> None:
    assert not matches_node([term("Gt", "5"), term("Lt", "5")], "node", {})


def test_fields_name_the_node() -> None:
    here = NodeTerm(match_fields=[Requirement("metadata.name", "In", ["here"])])
    elsewhere = NodeTerm(match_fields=[Requirement("metadata.name", "NotIn", ["here"])])
    assert matches_node([here], "here", {})
    assert not matches_node([here], "there", {})
    assert not matches_node([elsewhere], "here", {})
    assert here.names() == {"here"}
    assert elsewhere.names() is None


def test_terms_limit_the_names_only_if_each_does() -> None:
    by_name: Any = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["one"]}]}
    by_label: Any = {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}

    def limited(*terms: Any) -> set[str] | None:
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
        return make_pod("web", affinity={"nodeAffinity": required}).affinity.node_names()

    assert limited(by_name) == {"one"}
    assert limited(by_name, by_label) is None
    assert limited(by_label) is None
    assert make_pod("web").affinity.node_names() is None


def test_selector_and_affinity_must_both_match() -> None:
    expression = {"key": "disk", "operator": "Exists"}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    pod = make_pod(
        "web",
        nodeSelector={"app": "a"},
        affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
    )
    assert matches_affinity(pod, make_node("node", {"app": "a", "disk": "ssd"}))
    assert not matches_affinity(pod, make_node("node", {"app": "a"}))
    assert not matches_affinity(pod, make_node("node", {"disk": "ssd"}))
