"""Pruning: what a structural schema does not declare is dropped, and its path is reported."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._schema.prune import drop_nulls, prune
from masthead._schema.schema import Schema

STRING = {"type": "string"}
ANY_FIELDS = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def pruned(value: Any, schema: dict[str, Any], *, is_object: bool = False) -> tuple[Any, list[str]]:
    value = deepcopy(value)
    dropped = prune(value, Schema.from_plain(schema), is_object=is_object)
    return value, dropped


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "value", "kept", "dropped"),
    [
        (of(a=STRING), {"a": "x", "b": 1, "c": {}}, {"a": "x"}, ["b", "c"]),
        (of(a=of(b=STRING)), {"a": {"b": "x", "c": 1}}, {"a": {"b": "x"}}, ["a.c"]),
        (
            of(a={"type": "array", "items": of(b=STRING)}),
            {"a": [{"b": "x"}, {"c": 1}]},
            {"a": [{"b": "x"}, {}]},
            ["a[1].c"],
        ),
        (
            {"type": "object", "additionalProperties": of(b=STRING)},
            {"x": {"b": "", "c": 1}, "y": 3},
            {"x": {"b": ""}, "y": 3},
            ["x.c"],
        ),
        # The values of a map of anything are undeclared themselves.
        (
            {"type": "object", "additionalProperties": True},
            {"x": {"b": 1}, "y": 3},
            {"x": {}, "y": 3},
            ["x.b"],
        ),
        (ANY_FIELDS, {"a": {"b": [{"c": 1}]}}, {"a": {"b": [{"c": 1}]}}, []),
        (
            {**of(a=of(b=STRING)), "x-kubernetes-preserve-unknown-fields": True},
            {"a": {"b": "", "c": 1}, "d": {"e": 1}},
            {"a": {"b": ""}, "d": {"e": 1}},
            ["a.c"],
        ),
        # A list that keeps unknown fields passes this on to its items.
        (
            {"type": "array", "x-kubernetes-preserve-unknown-fields": True, "items": of(a=of(b=STRING))},
            [{"x": 1, "a": {"c": 2}}],
            [{"x": 1, "a": {}}],
            ["[0].a.c"],
        ),
        (
            of(
                a={
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "properties": {"spec": of(b=STRING)},
                }
            ),
            {"a": {"apiVersion": "v1", "kind": "X", "metadata": {"y": 1}, "spec": {"b": "", "c": 1}, "z": 1}},
            {"a": {"apiVersion": "v1", "kind": "X", "metadata": {"y": 1}, "spec": {"b": ""}}},
            ["a.spec.c", "a.z"],
        ),
        # The type does not matter here: validation refuses it.
        (of(a=STRING), {"a": {"b": 1}}, {"a": {}}, ["a.b"]),
        (of(a=STRING), {"a": [{"b": 1}, [{"c": 2}]]}, {"a": [{}, [{}]]}, ["a[0].b", "a[1][0].c"]),
    ],
)
def test_undeclared_fields_are_dropped(schema: dict[str, Any], value: Any, kept: Any, dropped: list[str]) -> None:
    assert pruned(value, schema) == (kept, dropped)


def test_a_whole_object_keeps_its_metadata() -> None:
    value = {
        "apiVersion": "v1",
        "kind": "X",
        "metadata": {"name": "x"},
        "spec": {"a": "", "b": 1},
        "other": 1,
    }
    kept = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": {"a": ""}}
    assert pruned(value, of(spec=of(a=STRING)), is_object=True) == (kept, ["other", "spec.b"])
    assert prune({"a": 1, "kind": "X"}, None) == ["a"]


@pytest.mark.parametrize(
    ("schema", "value", "kept"),
    [
        (of(a=STRING), {"a": None}, {}),
        (of(a={**STRING, "nullable": True}), {"a": None}, {"a": None}),
        (of(a={**STRING, "default": "x"}), {"a": None}, {"a": None}),
        (of(a={**STRING, "default": None}), {"a": None}, {}),
        ({"type": "object", "additionalProperties": STRING}, {"a": None}, {}),
        ({"type": "object", "additionalProperties": True}, {"a": None}, {"a": None}),
        (of(a={"type": "array", "items": STRING}), {"a": [None, "x"]}, {"a": [None, "x"]}),
        (of(a={"type": "array", "items": of(b=STRING)}), {"a": [{"b": None}]}, {"a": [{}]}),
        (ANY_FIELDS, {"a": None}, {"a": None}),
    ],
)
def test_nulls_that_are_not_allowed_are_dropped(schema: dict[str, Any], value: Any, kept: Any) -> None:
    drop_nulls(value, Schema.from_plain(schema))
    assert value == kept


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=12,
)
SCHEMAS = st.recursive(
    st.sampled_from([STRING, ANY_FIELDS, {"type": "integer"}]),
    lambda inner: (
        st.builds(
            lambda fields: {"type": "object", "properties": fields},
            st.dictionaries(st.sampled_from("abc"), inner),
        )
        | st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(lambda values: {"type": "object", "additionalProperties": values}, inner)
    ),
    max_leaves=8,
)


@given(VALUES, SCHEMAS)
def test_pruning_twice_drops_nothing_more(value: Any, schema: dict[str, Any]) -> None:
    once, _ = pruned(value, schema)
    assert pruned(once, schema) == (once, [])


@given(VALUES, SCHEMAS)
def test_every_dropped_path_is_a_field_of_the_value(value: Any, schema: dict[str, Any]) -> None:
    _, dropped = pruned(value, schema)
    for path in dropped:
        found = value
        for part in path.replace("[", ".[").strip(".").split("."):
            found = found[int(part[1:-1])] if part.startswith("[") else found[part]
