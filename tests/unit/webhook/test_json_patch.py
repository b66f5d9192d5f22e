"""The JSON patch of a mutation, applied by the embedded server's own implementation."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._meta import wire
from masthead._webhook.json_patch import compute_json_patch
from masthead_server.wire.json_patch import apply_json_patch

KEYS = st.sampled_from(["a", "b", "a/b", "~", "~1", "", "0", "-", "é"])
LEAVES = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "x", "y"])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=5)


def patched(old: Any, new: Any) -> Any:
    patch = compute_json_patch(old, new)
    return apply_json_patch(old, wire.encode(patch)) if patch else old


@given(OBJECTS, OBJECTS)
def test_the_patch_turns_the_old_object_into_the_new_one(old: Any, new: Any) -> None:
    assert msgspec.json.encode(patched(old, new), order="sorted") == msgspec.json.encode(new, order="sorted")


@given(OBJECTS)
def test_equal_objects_have_no_patch(old: Any) -> None:
    assert compute_json_patch(old, msgspec.json.decode(msgspec.json.encode(old))) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [({"a": 1}, {"a": True}), ({"a": [0]}, {"a": [False]}), ({"a": 1}, {"a": 1.0})],
    ids=["boolean", "boolean in a list", "float"],
)
def test_values_that_python_considers_equal_are_different(old: Any, new: Any) -> None:
    assert len(compute_json_patch(old, new)) == 1


def test_a_changed_field_is_one_operation() -> None:
    old = {"spec": {"replicas": 1, "image": "a"}}
    assert compute_json_patch(old, {"spec": {"replicas": 2, "image": "a"}}) == [
        {"op": "replace", "path": "/spec/replicas", "value": 2}
    ]


def test_deep_objects_need_no_deep_stack() -> None:
    def nest(leaf: int) -> Any:
        value: Any = leaf
        for _ in range(100):
            value = {"a": value}
        return value

    old, new = nest(1), nest(2)
    assert patched(old, new) == new
