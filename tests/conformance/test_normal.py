"""Normalization: which parts of two responses are compared."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conformance.api import Plain, Step
from tests.conformance.compare import differences
from tests.conformance.normal import normalised
from tests.conformance.recording import pretty

UID = "0b7cf0c5-0b0c-4d0f-8a3c-1d2e3f4a5b6c"
OTHER = "1b7cf0c5-0b0c-4d0f-8a3c-1d2e3f4a5b6c"
NOW = "2026-01-02T03:04:05Z"


def step(body: object = None, *, events: list[Any] | None = None, **query: str) -> Step:
    return Step("GET", "/", {name: [value] for name, value in query.items()}, {}, None, 200, {}, body, events)


def thing(version: str, *, uid: str = UID, **meta: object) -> dict[str, object]:
    return {"kind": "ConfigMap", "metadata": {"name": "a", "uid": uid, "resourceVersion": version, **meta}}


def normal(*steps: Step) -> list[Any]:
    return [each.get("events", each.get("body")) for each in normalised(list(steps), "case-1")]


def test_versions_keep_their_order_whatever_they_are() -> None:
    found = normal(step(thing("900")), step(thing("1000")), step(thing("900")))

    assert [each["metadata"]["resourceVersion"] for each in found] == [
        "<version 1>",
        "<version 2>",
        "<version 1>",
    ]


def test_a_list_older_than_a_seen_object_is_marked_as_such() -> None:
    def listed(version: str) -> Step:
        return step({"items": [], "metadata": {"resourceVersion": version}})

    found = normal(listed("7"), step(thing("9")), listed("8"), listed("9"))

    assert [each["metadata"]["resourceVersion"] for each in (found[0], found[2], found[3])] == [
        "<list version>",
        "<list version older than the newest object>",
        "<list version>",
    ]


def test_hashes_of_documents_are_left_out() -> None:
    found = normal(step({"serverRelativeURL": f"/openapi/v3/version?hash={'0A' * 64}", "other": "0A" * 63}))

    assert found == [{"serverRelativeURL": "/openapi/v3/version?hash=<hash>", "other": "0A" * 63}]


def test_uids_are_numbered_in_the_order_of_their_appearance() -> None:
    found = normal(step(thing("1", uid=OTHER)), step(thing("2")), step({"message": f"{UID} is not {OTHER}"}))

    assert found[2] == {"message": "<uid 2> is not <uid 1>"}


def test_times_are_dropped_and_their_precision_is_kept() -> None:
    found = normal(step({"a": "2026-01-02T03:04:05Z", "b": "2026-01-02T03:04:05.000006Z", "c": "2001-02-03T04:05:06Z"}))

    assert found == [{"a": "<time>", "b": "<time with a fraction>", "c": "2001-02-03T04:05:06Z"}]


def entry(manager: str = "one", *, at: str = NOW, fields: object = None, **more: str) -> dict[str, object]:
    return {"manager": manager, "operation": "Update", "time": at, "fieldsV1": fields or {"f:a": {}}, **more}


def entries(*steps: Step) -> list[Any]:
    return [each["metadata"]["managedFields"] for each in normal(*steps)]


def test_the_order_of_managers_does_not_depend_on_the_clock() -> None:
    soon = step(thing("1", managedFields=[entry("one"), entry("two")]))
    late = step(thing("1", managedFields=[entry("two"), entry("one", at="2026-01-02T03:04:06Z")]))

    assert entries(soon) == entries(late)


def test_managers_that_are_not_in_the_order_of_their_times_stay_as_they_are() -> None:
    wrong = step(thing("1", managedFields=[entry("two"), entry("one")]))

    assert [each["manager"] for each in entries(wrong)[0]] == ["two", "one"]


def test_fields_of_an_earlier_step_are_named_by_it() -> None:
    first: Plain = {"f:a": {}}
    second: Plain = {"f:a": {}, "f:b": {}}
    found = entries(
        step(thing("1", managedFields=[entry(fields=first)])),
        step(thing("2", managedFields=[entry(fields=second)])),
        step(thing("3", managedFields=[entry(fields=first), entry("two", fields=second)])),
    )

    assert [[each["fieldsV1"] for each in each_step] for each_step in found] == [
        [first],
        [second],
        ["<as in step 1>", "<as in step 2>"],
    ]


def test_uids_within_fields_are_numbered_too() -> None:
    fields: Plain = {"f:ownerReferences": {f'k:{{"uid":"{UID}"}}': {}}}

    assert entries(step(thing("1", managedFields=[entry(fields=fields)])))[0][0]["fieldsV1"] == {
        "f:ownerReferences": {'k:{"uid":"<uid 1>"}': {}}
    }


def test_conflicts_are_sorted_by_manager() -> None:
    conflicts = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {name}", "field": field}
        for name, field in (("two", ".b"), ("one", ".d"), ("two", ".a"))
    ]

    found = normal(step({"details": {"causes": conflicts}}))[0]["details"]["causes"]

    assert [each["field"] for each in found] == [".d", ".b", ".a"]


def test_generated_names_are_known_everywhere() -> None:
    made = thing("1", generateName="a-")
    made["metadata"] = {**made["metadata"], "name": "a-x7k2p"}  # type: ignore[dict-item]

    assert normal(step(made), step({"message": '"a-x7k2p" not found'}))[1] == {"message": '"a-<suffix 1>" not found'}


def test_a_suffix_that_the_server_would_not_make_stays() -> None:
    made = thing("1", generateName="a-")
    made["metadata"] = {**made["metadata"], "name": "a-aeiou"}  # type: ignore[dict-item]

    assert normal(step(made))[0]["metadata"]["name"] == "a-aeiou"


def test_tokens_are_compared_by_their_parts() -> None:
    parts = {"v": "meta.k8s.io/v1", "rv": 42, "start": "case-1/a\u0000"}
    token = base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")

    found = normal(step({"items": [], "metadata": {"resourceVersion": "42", "continue": token}}))

    assert found[0]["metadata"]["continue"] == {
        "rv": "<list version>",
        "start": "<namespace>/a\u0000",
        "v": "meta.k8s.io/v1",
    }


def test_versions_in_messages_are_kept_only_where_the_case_sent_them() -> None:
    found = normal(step({"message": "too old resource version: 1 (4711)"}, resourceVersion="1"))

    assert found == [{"message": "too old resource version: 1 (<number>)"}]


def test_a_bookmark_has_the_version_of_a_list() -> None:
    event = {"type": "BOOKMARK", "object": {"kind": "ConfigMap", "metadata": {"resourceVersion": "5"}}}

    assert normal(step(events=[event]))[0][0]["object"]["metadata"] == {"resourceVersion": "<list version>"}


def test_a_difference_names_the_step_and_the_place() -> None:
    real = [{"request": "GET /", "status": 200, "body": {"a": [1, 2]}}]
    here = [{"request": "GET /", "status": 200, "body": {"a": [1, 3], "b": None}}]

    assert differences(real, here) == [
        "step 1, GET /: body.a[1]: real 2, here 3",
        "step 1, GET /: body.b: real nothing, here null",
    ]


def test_a_failure_in_the_place_of_an_object_is_one_difference() -> None:
    real = [{"request": "GET /", "status": 200, "body": {"kind": "Pod", "spec": {}}}]
    here = [{"request": "GET /", "status": 404, "body": {"kind": "Status", "message": "not found"}}]

    assert differences(real, here) == ['step 1, GET /: real 200 "Pod", here 404 "not found"']


def test_lists_of_other_lengths_differ_by_their_items() -> None:
    real = [{"request": "GET /", "status": 200, "body": [1, 2, 3]}]
    here = [{"request": "GET /", "status": 200, "body": [1, 3]}]

    assert differences(real, here) == ["step 1, GET /: body: 3 items in the real one, 2 here; missing [2], new []"]


def test_true_is_not_one() -> None:
    assert differences([{"request": "", "body": {"a": [1]}}], [{"request": "", "body": {"a": [True]}}])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.slow
@given(JSON)
def test_pretty_printed_output_is_valid_json(value: object) -> None:
    assert json.loads(pretty(value)) == value


def test_sets_of_fields_are_written_on_one_line() -> None:
    fields: Plain = {f"f:{number}": {} for number in range(100)}

    assert pretty({"fieldsV1": fields, "other": list(range(100))}).splitlines()[1] == (
        f'  "fieldsV1": {json.dumps(fields)},'
    )


@pytest.mark.slow
@given(JSON)
def test_identical_recordings_have_no_differences(value: object) -> None:
    assert differences([{"request": "", "body": value}], [{"request": "", "body": value}]) == []
