"""Patches: what they are on the wire."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.meta.data import texts

from masthead._meta.patch import Patch, PatchType, apply_merge_patch, escape_pointer, merge_patch
from masthead.api.core.v1 import Pod

objects = st.recursive(
    st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
).filter(lambda value: isinstance(value, dict))


def test_each_kind_of_patch_has_its_content_type_and_body() -> None:
    pod = Pod.new("web", labels={"a": "b"})

    assert Patch.json([{"op": "test", "path": "/a", "value": 1}, {"op": "move", "path": "/b", "from": "/c"}]) == Patch(
        PatchType.JSON, b'[{"op":"test","path":"/a","value":1},{"op":"move","path":"/b","from":"/c"}]'
    )
    assert Patch.merge({"metadata": {"labels": {"a": None}}}).body == b'{"metadata":{"labels":{"a":null}}}'
    assert Patch.strategic({"spec": {}}).type == "application/strategic-merge-patch+json"
    assert Patch.apply(pod).type == "application/apply-patch+yaml"
    assert json.loads(Patch.apply(pod).body)["metadata"] == {"name": "web", "labels": {"a": "b"}}


@pytest.mark.slow
@given(objects, objects)
def test_a_merge_patch_turns_the_old_into_the_new(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert apply_merge_patch(old, merge_patch(old, new)) == new


@given(objects)
def test_nothing_changed_is_an_empty_patch(value: dict[str, Any]) -> None:
    assert merge_patch(value, value) == {}


def test_a_pointer_escapes_what_it_must() -> None:
    assert escape_pointer("example.com/a~b") == "example.com~1a~0b"
