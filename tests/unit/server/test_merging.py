"""Recorded changes on objects that clients have written, too."""

from __future__ import annotations

from typing import Any

import pytest

from masthead_server.replay.merging import merge_change


def plain(**fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "uid": "recorded", **fields.pop("metadata", {})}, **fields}


@pytest.mark.parametrize(
    ("before", "after", "current", "expected"),
    [
        # A field of the change, beside those of a client.
        ({"x": 1}, {"x": 2}, {"x": 1, "y": 5}, {"x": 2, "y": 5}),
        ({"x": 1}, {}, {"x": 9, "y": 5}, {"y": 5}),
        ({"x": 1}, {"x": 1}, {"x": 9}, {"x": 9}),
        ({}, {"x": {"y": 1}}, {"x": {"z": 2}}, {"x": {"z": 2, "y": 1}}),
        # Items with names.
        (
            {"c": [{"type": "A", "s": 1}, {"type": "B", "s": 1}]},
            {"c": [{"type": "A", "s": 2}, {"type": "B", "s": 1}]},
            {"c": [{"type": "A", "s": 1}, {"type": "B", "s": 7}, {"type": "C", "s": 1}]},
            {"c": [{"type": "A", "s": 2}, {"type": "B", "s": 7}, {"type": "C", "s": 1}]},
        ),
        ({"c": [{"name": "a"}, {"name": "b"}]}, {"c": [{"name": "b"}]}, {"c": [{"name": "a"}]}, {"c": []}),
        # Texts: additions and removals.
        ({"f": ["a", "b"]}, {"f": ["b", "c"]}, {"f": ["mine", "a"]}, {"f": ["mine", "c"]}),
        # Anything else is replaced.
        ({"l": [[1]]}, {"l": [[2]]}, {"l": [[3]]}, {"l": [[2]]}),
        ({"x": {"y": 1}}, {"x": "text"}, {"x": {"y": 2}}, {"x": "text"}),
    ],
)
def test_only_what_a_change_has_changed_is_changed(before: Any, after: Any, current: Any, expected: Any) -> None:
    merged = merge_change(plain(spec=before), plain(spec=after), plain(spec=current))
    assert merged["spec"] == expected


def test_the_identity_of_the_object_stays_and_its_generation_counts_on() -> None:
    before, after = plain(metadata={"generation": 4}), plain(metadata={"generation": 5, "labels": {"x": "1"}})
    current = plain(metadata={"uid": "here", "generation": 7, "creationTimestamp": "now"})
    meta = merge_change(before, after, current)["metadata"]
    assert meta == {
        "name": "a",
        "uid": "here",
        "generation": 8,
        "creationTimestamp": "now",
        "labels": {"x": "1"},
    }
