"""Field selectors, against what apimachinery answered."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masthead._meta import fields
from masthead._meta.fields import FieldRequirement, FieldSelector
from masthead._meta.labels import Operator
from masthead.errors import SelectorError

VECTORS: dict[str, Any] = json.loads(Path(__file__).with_name("selector_vectors.json").read_text("utf-8"))

paths = st.sampled_from(["metadata.name", "spec.nodeName", "status.phase", "a", "a b", "a!b", "a\\,b"])
values = st.text("ab=,!\\ \n\u00e9", max_size=6) | st.text(max_size=6)
requirements = st.builds(FieldRequirement, paths, st.sampled_from([Operator.EQUALS, Operator.NOT_EQUALS]), values)
selectors = st.builds(FieldSelector, st.lists(requirements, max_size=3).map(tuple))
objects = st.dictionaries(paths, values, max_size=4)


def answer(text: str) -> list[object]:
    """Put our reading of the text in the form of a recorded one."""
    try:
        selector = fields.parse(text)
    except SelectorError:
        return [None]
    matched = sum(1 << n for n, item in enumerate(VECTORS["field_sets"]) if selector.matches(item))
    terms = [[term.key, str(term.operator), term.value] for term in selector.requirements]
    return [str(selector), matched, terms]


def test_every_recorded_selector_reads_as_in_apimachinery() -> None:
    differing = [text for text, *recorded in VECTORS["fields"] if answer(text) != recorded]

    assert differing == []


@given(selectors)
@settings(deadline=None)
def test_a_selector_survives_being_written_and_read(selector: FieldSelector) -> None:
    again = fields.parse(str(selector))

    assert again == selector
    assert hash(again) == hash(selector)
    assert str(again) == str(selector)


@given(selectors, objects)
@settings(deadline=None)
def test_a_selector_matches_when_each_of_its_requirements_does(selector: FieldSelector, item: dict[str, str]) -> None:
    assert selector.matches(item) == all(term.matches(item) for term in selector.requirements)


@given(selectors, selectors, objects)
@settings(deadline=None)
def test_combined_selectors_select_what_both_select(
    one: FieldSelector, other: FieldSelector, item: dict[str, str]
) -> None:
    both = one & other

    assert both.matches(item) == (one.matches(item) and other.matches(item))
    assert both == other & one


@given(st.text("ab=,!\\ ", max_size=12) | st.text(max_size=12))
@settings(deadline=None)
def test_any_text_is_read_or_refused_as_a_selector_error(text: str) -> None:
    try:
        selector = fields.parse(text)
    except SelectorError as error:
        assert error.value == text  # noqa: PT017
    else:
        assert fields.parse(str(selector)) == selector


@given(paths, values)
@settings(deadline=None)
def test_one_selects_the_very_value_it_was_given(key: str, value: str) -> None:
    selector = fields.parse(str(fields.one(key, value)))

    assert selector.matches({key: value})
    assert not selector.matches({key: value + "x"})


@given(st.text("a!=,\\", max_size=5), st.sampled_from([Operator.EQUALS, Operator.NOT_EQUALS]))
@settings(deadline=None)
def test_a_key_is_taken_exactly_when_it_reads_back(key: str, operator: Operator) -> None:
    try:
        read_back = fields.parse(f"{key}{operator}v").requirements
    except SelectorError:
        read_back = ()
    reads_back = [(term.key, term.operator, term.value) for term in read_back] == [(key, operator, "v")]

    try:
        FieldRequirement(key, operator, "v")
    except SelectorError:
        assert not reads_back
    else:
        assert reads_back


def test_a_missing_field_reads_as_empty() -> None:
    assert fields.parse("spec.nodeName=").matches({})
    assert not fields.parse("spec.nodeName!=").matches({})
    assert fields.parse("spec.nodeName!=node-1").matches({})


def test_everything_is_empty_and_matches_all() -> None:
    assert fields.everything().is_empty
    assert fields.everything().matches({})
    assert str(fields.everything()) == ""
    assert fields.parse("") == fields.everything()
    assert fields.everything() & fields.one("a", "b") == fields.one("a", "b")
    assert not fields.one("a", "b").is_empty


def test_terms_are_kept_in_the_order_of_their_written_forms() -> None:
    # differs from client-go: there the double equals sign changes the order.
    assert str(fields.parse("b=1,a==z,a=b")) == "a=b,a=z,b=1"


def test_requirements_show_values_without_escapes() -> None:
    assert fields.parse(r"a!=b\,c\=d\\").requirements == (FieldRequirement("a", Operator.NOT_EQUALS, "b,c=d\\"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=b,ready", "position 4: found none of = == != in 'ready'"),
        ("a=b=c", r"position 3: = within a value is written \="),
        (r"a=b\c", r"position 3: \ within a value is written \\"),
        ("a=b\\", r"position 3: \ within a value is written \\"),
        ("a=b,=c", "position 4: the field '' must not be empty"),
    ],
)
def test_an_error_names_the_problem_and_its_position(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        fields.parse(text)

    assert message in str(caught.value)
    assert caught.value.value == text


@pytest.mark.parametrize("text", ["=", "!=", "==", "=x", "a=b,="])
def test_a_term_without_a_field_is_refused(text: str) -> None:
    # differs from client-go: "=" selects everything there.
    with pytest.raises(SelectorError):
        fields.parse(text)


@pytest.mark.parametrize("key", ["", "a=b", "a,b", "a!"])
def test_a_key_that_would_read_differently_is_refused(key: str) -> None:
    with pytest.raises(SelectorError, match="the field"):
        fields.one(key, "x")


def test_only_equality_is_an_operator_on_fields() -> None:
    with pytest.raises(SelectorError, match="compared with = or !=, not with 'in'"):
        FieldRequirement("a", Operator.IN, "b")


def test_very_long_text_is_read_in_one_pass() -> None:
    assert len(fields.parse(",".join(f"a{n}=b" for n in range(5_000))).requirements) == 5_000
    assert fields.parse("a=" + "\\\\" * 50_000).requirements[0].value == "\\" * 50_000
    for text in ("\\" * 100_001, "," * 100_000 + "a", "a" * 100_000, "a=" + "\\" * 100_001):
        with pytest.raises(SelectorError) as caught:
            fields.parse(text)
        assert len(str(caught.value)) < 500


def test_a_selector_can_be_pickled_and_copied() -> None:
    selector = fields.parse("a=b,c!=d")

    for other in (pickle.loads(pickle.dumps(selector)), copy.deepcopy(selector)):
        assert other == selector
        assert other.matches({"a": "b"})
