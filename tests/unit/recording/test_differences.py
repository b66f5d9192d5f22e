"""What differs between two states of an object, and which field manager did it."""

from __future__ import annotations

from typing import Any

import pytest

from masthead._recording.differences import compare_objects


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The differences as text."""
    return [str(change) for change in compare_objects(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": True}, ["a: 1 → true"]),
        ({"a": 1}, {}, ["a: 1 → absent"]),
        ({}, {"a": {"b": 1}}, ['a: absent → {"b":1}']),
        ({"a": None}, {"a": 0}, ["a: absent → 0"]),
        ({"a": [1, 2]}, {"a": [1, 3, 4]}, ["a[1]: 2 → 3", "a[2]: absent → 4"]),
        (
            {"c": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]},
            {"c": [{"name": "b", "image": "2"}, {"name": "a", "image": "1"}]},
            ['c[name=b].image: "1" → "2"'],
        ),
        ({"l": {"example.com/a": "1"}}, {"l": {"example.com/a": "2"}}, ['l[example.com/a]: "1" → "2"']),
        ({"c": [{"type": "Ready", "status": "False"}]}, {"c": []}, []),
    ],
)
def test_fields_differ(before: dict[str, Any], after: dict[str, Any], expected: list[str]) -> None:
    if expected or before == after:
        assert changes(before, after) == expected
    else:
        assert changes(before, after)


def test_what_every_write_changes_is_no_difference() -> None:
    before = {"metadata": {"resourceVersion": "1", "generation": 1, "managedFields": [{"manager": "a"}]}}
    after = {"metadata": {"resourceVersion": "2", "generation": 2, "managedFields": [{"manager": "b"}]}}
    assert changes(before, after) == []


def managed(manager: str, time: str, fields: dict[str, Any], **rest: Any) -> dict[str, Any]:
    """An entry of managedFields."""
    return {"manager": manager, "time": time, "fieldsV1": fields, **rest}


def test_each_field_has_the_manager_that_changed_it() -> None:
    replicas: dict[str, Any] = {"f:spec": {"f:replicas": {}}}
    image: dict[str, Any] = {"f:spec": {"f:containers": {'k:{"name":"web"}': {"f:image": {}}}}}
    before = {
        "metadata": {"managedFields": [managed("kubectl", "1", replicas), managed("ci", "1", image)]},
        "spec": {"replicas": 1, "containers": [{"name": "web", "image": "a"}], "paused": False},
    }
    after = {
        "metadata": {"managedFields": [managed("hpa", "2", replicas), managed("ci", "2", image)]},
        "spec": {"replicas": 3, "containers": [{"name": "web", "image": "b"}], "paused": True},
    }
    assert changes(before, after) == [
        "spec.replicas: 1 → 3  (hpa)",
        'spec.containers[name=web].image: "a" → "b"  (ci)',
        "spec.paused: false → true",
    ]


def test_a_second_write_within_a_second_has_its_owner_too() -> None:
    entry = managed("operator", "1", {"f:status": {"f:ready": {}}})
    before = {"metadata": {"managedFields": [entry]}, "status": {"ready": 1}}
    after = {"metadata": {"managedFields": [entry]}, "status": {"ready": 2}}
    assert changes(before, after) == ["status.ready: 1 → 2  (operator)"]


def test_an_item_whose_key_begins_alike_is_another_one() -> None:
    fields: dict[str, Any] = {"f:containers": {'k:{"name":"web-proxy"}': {"f:image": {}}}}
    metadata = {"managedFields": [managed("mesh", "1", fields), managed("ci", "1", {"f:containers": {}})]}
    before = {"metadata": metadata, "containers": [{"name": "web", "image": "a"}, {"name": "web-proxy", "image": "a"}]}
    after = {"metadata": metadata, "containers": [{"name": "web", "image": "b"}, {"name": "web-proxy", "image": "a"}]}
    assert changes(before, after) == ['containers[name=web].image: "a" → "b"  (ci)']


def test_long_values_are_shortened() -> None:
    (text,) = changes({"a": ""}, {"a": "x" * 1000})
    assert len(text) < 250
