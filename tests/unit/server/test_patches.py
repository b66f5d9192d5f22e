"""Patches as a real kube-apiserver applies and refuses them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from masthead._meta import patch as meta
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.json_patch import apply_json_patch, json_patch_errors
from masthead_server.wire.patches import apply_merge_patch, merge_patch_errors, refused_patch

RECORDED = json.loads((Path(__file__).parent / "go_vectors.json").read_text("utf-8"))["patches"]
APPLIES = {"application/json-patch+json": apply_json_patch, "application/merge-patch+json": apply_merge_patch}
REJECTED = "the server rejected our request due to an error in our request"

keys = st.sampled_from(["a", "b", "c/d", "e~f", "0"])
values = st.recursive(
    st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "x", "<&>", "é"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(keys, values, max_size=4)


def patched(document: dict[str, Any], *operations: dict[str, Any]) -> dict[str, Any]:
    return apply_json_patch(document, json.dumps(operations).encode())


@pytest.mark.parametrize(
    ("document", "case"),
    [(each["document"], case) for each in RECORDED for case in each["patches"]],
)
def test_patches_do_what_the_real_server_did(document: dict[str, Any], case: list[Any]) -> None:
    content_type, body, lenient, code, expected = case
    before = copy.deepcopy(document)
    if code != 200:
        with pytest.raises(StatusFailure) as failure:
            APPLIES[content_type](document, body.encode(), lenient=lenient)
        assert (failure.value.code, failure.value.message) == (code, expected)
    else:
        found = APPLIES[content_type](document, body.encode(), lenient=lenient)
        # Typed objects have no nulls in maps of strings, no empty lists and no empty maps of labels.
        if "data" in found:
            found["data"] = {key: value or "" for key, value in found["data"].items()}
        found["metadata"] = {key: value for key, value in found["metadata"].items() if value}
        wanted = {key: value for key, value in (document | expected).items() if value is not None}
        assert {key: found[key] for key in wanted} == wanted
    assert document == before


@pytest.mark.parametrize(("index", "found"), [("-1", [1]), ("+0", [2]), ("0" * 5000, [2])])
def test_indexes_may_have_signs_and_zeros(index: str, found: list[int]) -> None:
    assert patched({"a": [1, 2]}, {"op": "remove", "path": f"/a/{index}"}) == {"a": found}


def model(document: Any, path: str, change: str, value: Any) -> Any:
    """RFC 6902's add, remove and replace, the long way round."""
    step, _, rest = path[1:].partition("/")
    key: Any = step.replace("~1", "/").replace("~0", "~")
    if isinstance(document, list):
        key = len(document) if key == "-" else int(key)
    if rest:
        inner = model(document[key], f"/{rest}", change, value)
        return (
            [*document[:key], inner, *document[key + 1 :]] if isinstance(document, list) else {**document, key: inner}
        )
    if isinstance(document, list):
        return document[:key] + ([] if change == "remove" else [value]) + document[key + (change != "add") :]
    others = {name: each for name, each in document.items() if name != key}
    return others if change == "remove" else {**others, key: value}


def places(value: Any, path: str = "") -> list[str]:
    """Every path of a document but the root's."""
    steps = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    found = []
    for step in steps:
        below = f"{path}/{meta.escape_pointer(str(step))}"
        found += [below, *places(value[step], below)]
    return found


def at(document: Any, path: str) -> Any:
    for step in path.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        document = document[int(key) if isinstance(document, list) else key]
    return document


@given(objects, values, st.sampled_from(["add", "remove", "replace"]), st.data())
def test_operations_behave_as_in_the_rfc(
    document: dict[str, Any], value: Any, change: str, data: st.DataObject
) -> None:
    assume(document)
    path = data.draw(st.sampled_from(places(document)))
    before = copy.deepcopy(document)

    assert patched(document, {"op": change, "path": path, "value": value}) == model(document, path, change, value)
    assert document == before


@given(objects, st.data())
def test_a_move_is_a_removal_and_an_addition(document: dict[str, Any], data: st.DataObject) -> None:
    assume(document)
    source = data.draw(st.sampled_from(places(document)))
    value = at(document, source)

    moved = patched(document, {"op": "move", "from": source, "path": "/new"})
    copied = patched(document, {"op": "copy", "from": source, "path": "/new"})

    assert moved == model(document, source, "remove", None) | {"new": value}
    assert copied == document | {"new": value}


@given(objects, st.data())
def test_a_document_is_equal_to_itself_as_go_writes_it(document: dict[str, Any], data: st.DataObject) -> None:
    assume(document)
    path = data.draw(st.sampled_from(places(document)))
    written = json.dumps(at(document, path), ensure_ascii=False)
    for character in "<>&":
        written = written.replace(character, f"\\u{ord(character):04x}")

    body = f'[{{"op":"test","path":{json.dumps(path)},"value":{written}}}]'.encode()

    assert apply_json_patch(document, body) == document


@pytest.mark.parametrize("value", ["1.0", "true", '"1"', "[1]", '{"a":1}', "null", "2"])
def test_the_number_one_equals_only_one(value: str) -> None:
    with pytest.raises(StatusFailure, match=REJECTED) as failure:
        apply_json_patch({"a": 1}, f'[{{"op":"test","path":"/a","value":{value}}}]'.encode())

    assert failure.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": REJECTED,
        "reason": "Invalid",
        "details": {},
        "code": 422,
    }


def test_a_copied_value_is_independent_of_its_source() -> None:
    found = patched(
        {"a": {"b": []}},
        {"op": "copy", "from": "/a", "path": "/c"},
        {"op": "add", "path": "/c/b/-", "value": 1},
    )

    assert found == {"a": {"b": []}, "c": {"b": [1]}}


def test_values_of_a_patch_are_copied() -> None:
    document = {"a": {"b": [1]}}

    apply_merge_patch(document, b"{}")["a"]["b"].append(2)
    patched(document)["a"]["b"].append(2)

    assert document == {"a": {"b": [1]}}


def test_an_object_cannot_be_moved_into_itself() -> None:
    with pytest.raises(StatusFailure, match=REJECTED):
        patched({"a": {"b": 1}}, {"op": "move", "from": "/a", "path": "/a/c"})


def test_more_than_ten_thousand_operations_are_rejected() -> None:
    operation = {"op": "test", "path": "/a"}

    assert patched({}, *[operation] * 10_000) == {}
    with pytest.raises(StatusFailure) as failure:
        patched({}, *[operation] * 10_001)
    assert (failure.value.code, failure.value.reason, failure.value.message) == (
        413,
        "RequestEntityTooLarge",
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
    )


def test_input_that_only_go_accepts_is_accepted() -> None:
    body = b'[{"op":"add","path":"/a","value":"\\ud800\xff"}]'

    assert apply_json_patch({}, body) == {"a": "\ufffd\ufffd"}


def test_strict_validation_reports_unknown_and_duplicate_fields_of_a_patch() -> None:
    body = b'[{"op":"add","path":"/data","value":{"a":"1","a":"2"},"foo":{"x":1,"x":2}},null]'

    assert json_patch_errors(body) == [
        'json patch unknown field "[0].foo"',
        'json patch duplicate field "[0].value.a"',
    ]
    assert json_patch_errors(b"null") == []
    assert merge_patch_errors(b'{"data":{"a":"1","a":"2"}}') == ['duplicate field "data.a"']


def test_a_patched_object_of_another_kind_is_shown_whole() -> None:
    failure = refused_patch({"kind": "ConfigMap", "apiVersion": "v2", "data": {"a": "<"}}, "no kind")

    shown = r'"{\"apiVersion\":\"v2\",\"data\":{\"a\":\"\\u003c\"},\"kind\":\"ConfigMap\"}"'
    assert failure.message == f' "" is invalid: patch: Invalid value: {shown}: no kind'
    assert failure.details == {
        "causes": [{"reason": "FieldValueInvalid", "message": f"Invalid value: {shown}: no kind", "field": "patch"}]
    }


def merged(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    return apply_merge_patch(document, json.dumps(patch).encode())


@given(objects, objects)
def test_a_merge_patch_without_nulls_behaves_as_in_the_rfc(document: dict[str, Any], patch: dict[str, Any]) -> None:
    assert merged(document, patch) == meta.apply_merge_patch(document, patch)


@pytest.mark.slow
@given(objects, objects)
def test_the_difference_of_two_objects_makes_one_of_the_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert merged(old, meta.merge_patch(old, new)) == new


@given(objects, objects)
def test_the_same_patch_again_changes_nothing(document: dict[str, Any], patch: dict[str, Any]) -> None:
    once = merged(document, patch)

    assert merged(once, patch) == once
    assert merged(document, {}) == document


def test_nulls_within_lists_vanish_from_objects_but_not_where_an_object_was() -> None:
    bringing = [{"a": None, "b": [{"c": None}]}, None]

    assert merged({"x": []}, {"x": bringing}) == {"x": [{"b": [{}]}, None]}
    assert merged({}, {"x": bringing}) == {"x": [{"b": [{}]}, None]}
    assert merged({"x": {}}, {"x": bringing}) == {"x": bringing}
