"""Structural schemas."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._schema import structural
from masthead._schema.schema import Schema
from masthead._schema.structural import structural_errors

TEXT: dict[str, Any] = {"type": "string"}
BOTH: list[dict[str, Any]] = [{"type": "integer"}, {"type": "string"}]
INT_OR_STRING = "x-kubernetes-int-or-string"


def errors(schema: dict[str, Any]) -> list[str]:
    return [str(structural_error) for structural_error in structural_errors(Schema.from_plain(schema), "s")]


def field(schema: dict[str, Any]) -> list[str]:
    return errors({"type": "object", "properties": {"a": schema}})


@pytest.mark.parametrize(
    "schema",
    [
        TEXT,
        {"type": "array", "items": TEXT},
        {"type": "object", "additionalProperties": TEXT},
        {"x-kubernetes-preserve-unknown-fields": True},
        {INT_OR_STRING: True},
        {INT_OR_STRING: True, "anyOf": BOTH},
        {INT_OR_STRING: True, "allOf": [{"anyOf": BOTH}, {"pattern": "^a"}]},
        {"type": "string", "not": {"anyOf": [{"minLength": 1}, {"enum": ["a"]}]}},
        {"type": "object", "properties": {"b": TEXT}, "anyOf": [{"required": ["b"]}]},
        {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
    ],
)
def test_a_structural_schema_has_no_errors(schema: dict[str, Any]) -> None:
    assert field(schema) == []


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, "s.properties[a].type: Required value: must not be empty for specified object fields"),
        ({"type": "array"}, "s.properties[a].items: Required value: must be specified"),
        (
            {"type": "array", "items": {}},
            "s.properties[a].items.type: Required value: must not be empty for specified array items",
        ),
        (
            {"type": "string", "anyOf": [TEXT]},
            "s.properties[a].anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            {"type": "string", "not": {"default": 1}},
            "s.properties[a].not.default: Forbidden: must be undefined to be structural",
        ),
        (
            {"type": "string", "pattern": "("},
            's.properties[a].pattern: Invalid value: "(": '
            + "must be a valid regular expression, but isn't: error parsing regexp: missing closing ): `(`",
        ),
    ],
)
def test_what_is_not_structural_is_reported(schema: dict[str, Any], expected: str) -> None:
    assert field(schema) == [expected]


def test_the_root_is_an_object_without_additional_properties() -> None:
    assert errors({"type": "string"}) == ['s.type: Invalid value: "string": must be object at the root']
    assert errors({"type": "object", "additionalProperties": False}) == [
        "s.additionalProperties: Forbidden: must not be used at the root"
    ]


def test_what_is_restricted_is_defined() -> None:
    schema = {"type": "object", "properties": {"a": TEXT}, "oneOf": [{"properties": {"b": {"minLength": 1}}}]}
    assert errors(schema) == ["s.properties[b]: Required value: because it is defined in s.oneOf[0].properties[b]"]


def test_metadata_restricts_names_only() -> None:
    names = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}
    assert errors({"type": "object", "properties": {"metadata": names}}) == []
    (found,) = errors({"type": "object", "properties": {"metadata": {"type": "object", "nullable": True}}})
    assert found.startswith("s.properties[metadata]: Forbidden: must not specify anything other than name")


def test_errors_are_sorted() -> None:
    found = field({"type": "object", "properties": {"z": {}, "b": {"type": "array"}, "c": {}}})
    assert found == sorted(found)
    assert len(found) == 3


LARGE = "a{1000}" * 9


def test_a_pattern_is_parsed_once_however_often_it_is_used() -> None:
    properties = {f"f{index}": {"type": "string", "pattern": LARGE} for index in range(10_000)}
    assert errors({"type": "object", "properties": properties}) == []


def test_patterns_that_are_too_large_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structural, "_MAX_INSTRUCTIONS", 100_000)
    properties = {f"f{index}": {"type": "string", "pattern": f"{LARGE}{index}"} for index in range(20)}
    found = structural_errors(Schema.from_plain({"type": "object", "properties": properties}), "s")
    assert 0 < len(found) < len(properties)
    assert all("expression too large" in each.detail for each in found)


_LEAVES = st.sampled_from([{}, TEXT, {"minLength": 1}, {INT_OR_STRING: True}, {"type": "object", "nullable": True}])
_SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.recursive(
    _LEAVES,
    lambda below: st.fixed_dictionaries(
        {"type": st.sampled_from(["", "object", "array", "string"])},
        optional={
            "properties": st.dictionaries(st.sampled_from(["a", "metadata", "kind"]), below, max_size=3),
            "items": below,
            "not": below,
            "anyOf": st.lists(below, max_size=2),
            "additionalProperties": st.one_of(st.booleans(), below),
        },
    ),
    max_leaves=8,
)


@given(_SCHEMAS)
def test_descriptions_where_values_are_defined_change_nothing(schema: dict[str, Any]) -> None:
    before = field(schema)
    assert field(schema | {"description": "words", "maxLength": 7}) == before


@given(_SCHEMAS)
def test_a_restriction_has_at_least_the_errors_of_its_type(schema: dict[str, Any]) -> None:
    found = field({"type": "object", "allOf": [schema]})
    assert bool(schema.get("type")) <= any("allOf[0].type" in each for each in found)
