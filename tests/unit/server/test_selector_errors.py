"""The messages for an invalid selector: those of a real kube-apiserver."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._meta import fields, labels
from masthead.errors import SelectorError
from masthead_server.resources.selector_errors import field_problem, label_problem

RECORDED = json.loads((Path(__file__).parent / "go_vectors.json").read_text("utf-8"))
selectors = st.text(st.sampled_from("ab-/.5=!<>(), \\\n'\"é"), max_size=12)
NUL_FIRST = "unable to parse requirement: found a NUL character"


@pytest.mark.parametrize(("selector", "message"), RECORDED["labels"].items())
def test_label_selectors_are_refused_as_the_real_server_refuses_them(selector: str, message: str) -> None:
    assert label_problem(selector) == message


@pytest.mark.parametrize(("selector", "message"), RECORDED["fields"].items())
def test_field_selectors_are_refused_as_the_real_server_refuses_them(selector: str, message: str) -> None:
    assert field_problem(selector) == message


@given(selectors)
def test_every_rejected_label_selector_has_a_message_of_the_server(selector: str) -> None:
    try:
        labels.parse(selector)
    except SelectorError:
        assert label_problem(selector) != NUL_FIRST
    else:
        assert label_problem(selector) == NUL_FIRST


@given(selectors)
def test_every_rejected_field_selector_has_a_message(selector: str) -> None:
    try:
        fields.parse(selector)
    except SelectorError:
        assert field_problem(selector)


def test_a_term_without_a_key_is_reported_as_an_unknown_field() -> None:
    assert field_problem("=a") == "field label not supported: "


@pytest.mark.parametrize("selector", ["\0", "a=b\0", "a,\0b"])
def test_a_nul_that_the_real_server_accepts_has_its_own_message(selector: str) -> None:
    assert label_problem(selector) == NUL_FIRST


def test_a_huge_number_is_not_an_integer() -> None:
    assert "must be an integer" in label_problem("a>" + "9" * 5000)
