"""Defaulting: missing fields get the defaults of a structural schema."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from tests.unit.schema.test_prune import SCHEMAS, VALUES, of

from masthead._schema.defaulting import DefaultsTooLarge, apply_defaults
from masthead._schema.schema import Schema

WITH_X = {"type": "string", "default": "x"}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (of(a=WITH_X), {}, {"a": "x"}),
        (of(a=WITH_X), {"a": "y"}, {"a": "y"}),
        (of(a=WITH_X), {"a": ""}, {"a": ""}),
        (of(a=WITH_X), {"a": None}, {"a": "x"}),
        (of(a={**WITH_X, "nullable": True}), {"a": None}, {"a": None}),
        (of(a={"type": "string", "default": None, "nullable": True}), {}, {}),
        (of(a={"type": "boolean", "default": False}), {}, {"a": False}),
        (of(a=of(b=WITH_X)), {}, {}),
        (of(a=of(b=WITH_X)), {"a": {}}, {"a": {"b": "x"}}),
        # A default gets its own defaults.
        (of(a={**of(b=WITH_X), "default": {}}), {}, {"a": {"b": "x"}}),
        (
            of(a={"type": "array", "items": of(b=WITH_X)}),
            {"a": [{}, {"b": "y"}]},
            {"a": [{"b": "x"}, {"b": "y"}]},
        ),
        (of(a={"type": "array", "items": WITH_X}), {"a": [None]}, {"a": ["x"]}),
        (of(a={"type": "array", "items": {"type": "string"}}), {"a": [None]}, {"a": [None]}),
        ({"type": "object", "additionalProperties": of(b=WITH_X)}, {"k": {}}, {"k": {"b": "x"}}),
        ({"type": "object", "additionalProperties": WITH_X}, {"k": None}, {"k": "x"}),
        ({"type": "object", "additionalProperties": True}, {"k": {}}, {"k": {}}),
        (of(a=WITH_X), ["not an object"], ["not an object"]),
    ],
)
def test_defaults_are_set_where_fields_are_missing(schema: dict[str, Any], value: Any, expected: Any) -> None:
    apply_defaults(value, Schema.from_plain(schema))
    assert value == expected


def test_objects_do_not_share_a_default() -> None:
    schema = Schema.from_plain(of(a={"type": "object", "default": {"b": [{}]}}))
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    apply_defaults(first, schema)
    apply_defaults(second, schema)
    first["a"]["b"][0]["c"] = 1
    assert second == {"a": {"b": [{}]}}
    assert schema.properties["a"].default == {"b": [{}]}


@given(VALUES, SCHEMAS)
def test_without_defaults_nothing_changes(value: Any, schema: dict[str, Any]) -> None:
    before = deepcopy(value)
    apply_defaults(value, Schema.from_plain(schema))
    assert value == before


def test_defaults_that_multiply_are_cut() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(12):
        items = {"type": "array", "default": [{}] * 10, "items": schema}
        schema = {"type": "object", "properties": {"a": items}}
    with pytest.raises(DefaultsTooLarge):
        apply_defaults({}, Schema.from_plain(schema))


def test_a_long_default_is_not_set_without_end() -> None:
    items = of(a={"type": "string", "default": "x" * 100_000})
    value: list[Any] = [{} for _ in range(10_000)]
    with pytest.raises(DefaultsTooLarge):
        apply_defaults(value, Schema.from_plain({"type": "array", "items": items}))
