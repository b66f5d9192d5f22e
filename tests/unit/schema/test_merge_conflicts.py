"""Patches that contradict each other."""

from __future__ import annotations

from typing import Any

import pytest

from masthead._schema.merge_conflicts import has_conflicts, have_different_values
from masthead._schema.merge_definitions import merge_rules_of
from masthead._schema.merge_errors import StrategicMergeError
from masthead.api.core.v1 import Pod

Plain = dict[str, Any]
RULES = merge_rules_of(Pod)


def containers(*items: Plain) -> Plain:
    return {"spec": {"containers": list(items)}}


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ({}, {}, False),
        ({"metadata": {"name": "a"}}, {"spec": {"nodeName": "b"}}, False),
        ({"spec": {"nodeName": "a"}}, {"spec": {"nodeName": "a"}}, False),
        ({"spec": {"nodeName": "a"}}, {"spec": {"nodeName": "b"}}, True),
        ({"spec": {"nodeName": None}}, {"spec": {"nodeName": "b"}}, True),
        ({"spec": {"nodeName": "a"}}, {"spec": None}, True),
        (containers({"name": "a", "image": "1"}), containers({"name": "b", "image": "2"}), False),
        (containers({"name": "a", "image": "1"}), containers({"name": "a", "image": "2"}), True),
        (containers({"name": "a", "image": "1"}), containers({"name": "a", "tty": True}), False),
        (containers({"name": "a", "$patch": "delete"}), containers({"name": "a", "tty": True}), True),
        ({"metadata": {"finalizers": ["a"]}}, {"metadata": {"finalizers": ["b"]}}, False),
        ({"spec": {"tolerations": [{"key": "a"}]}}, {"spec": {"tolerations": [{"key": "b"}]}}, True),
        ({"spec": {"tolerations": [{"key": "a"}]}}, {"spec": {"tolerations": []}}, True),
        ({"spec": {"containers": []}}, {"spec": {"containers": {}}}, True),
    ],
)
def test_two_patches_contradict_each_other_where_they_set_different_values(
    left: Plain, right: Plain, expected: bool
) -> None:
    assert has_conflicts(left, right, RULES) is expected


def test_items_without_keys_cannot_be_compared() -> None:
    with pytest.raises(StrategicMergeError, match="cannot find merge key `name`"):
        has_conflicts(containers({"image": "1"}), containers({"name": "a"}), RULES)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ({"a": 1}, {"b": 2}, False),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, False),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, True),
        ({"a": {"b": 1}}, {"a": 1}, True),
        ({"a": [1, {"b": 1}]}, {"a": [1, {"c": 1}]}, False),
        ({"a": [1]}, {"a": [1, 2]}, True),
        ({"a": [1]}, {"a": 1}, True),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": None}, {"a": None}, False),
    ],
)
def test_merge_patches_differ_where_both_set_a_field(left: Plain, right: Plain, expected: bool) -> None:
    assert have_different_values(left, right) is expected
