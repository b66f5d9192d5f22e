"""JSON as Go reads it: error messages, duplicate keys, and bodies of the wrong kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.go_duplicates import duplicate_keys
from masthead_server.wire.go_json import (
    JsonError,
    check_delete_options,
    decode,
    malformed,
    problem_with,
    refused_kind,
)
from masthead_server.wire.go_yaml import decode_yaml

RECORDED = json.loads((Path(__file__).parent / "go_vectors.json").read_text("utf-8"))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(("document", "message"), RECORDED["json"])
def test_a_malformed_document_is_refused_with_gos_message(document: str, message: str) -> None:
    assert problem_with(document.encode("latin-1")) == message


@given(values, st.sampled_from([None, 1]))
def test_valid_json_has_no_problem(value: object, indent: int | None) -> None:
    assert problem_with(json.dumps(value, indent=indent).encode()) == ""


@pytest.mark.slow
@given(values, st.data())
def test_a_truncated_document_has_a_problem(value: object, data: st.DataObject) -> None:
    document = json.dumps([value]).encode()
    cut = document[: data.draw(st.integers(0, len(document) - 1))]

    assert problem_with(cut)


@given(st.binary(max_size=12))
def test_go_and_python_agree_on_what_is_json(document: bytes) -> None:
    try:
        json.loads(document.decode("latin-1"), parse_constant=pytest.fail)
    except (ValueError, pytest.fail.Exception):
        assert problem_with(document)
    else:
        assert problem_with(document) == ""


def test_nesting_ends_at_ten_thousand() -> None:
    assert problem_with(b"[" * 10_000 + b"]" * 10_000) == ""
    assert problem_with(b"[" * 10_001) == "invalid character '[' exceeded max depth"
    with pytest.raises(JsonError, match="exceeded max depth"):
        decode(b"[" * 20_000)


@pytest.mark.parametrize(
    ("document", "found"),
    [(b'{"a":"\xff"}', {"a": "\ufffd"}), (rb'["\ud800x"]', ["\ufffdx"]), (b" null ", None)],
)
def test_input_that_go_accepts_is_accepted(document: bytes, found: object) -> None:
    assert decode(document) == found


def test_a_number_beyond_the_range_of_floats_is_rejected() -> None:
    with pytest.raises(JsonError, match="cannot unmarshal number 1e999 into Go value of type float64"):
        decode(b"[1e999]")


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        (b'{"data":{"a":"1","a":"2","a":"3"},"data":{}}', ["data.a", "data"]),
        (b'{"metadata":{"labels":{"x.y/z":"1","x.y/z":"1"}}}', ["metadata.labels.x.y/z"]),
        (b'{"spec":{"a":[{"b":1,"b":2}],"c":1,"c":{"d":1,"d":2}}}', ["spec.a[0].b", "spec.c", "spec.c.d"]),
        (rb'{"\u00e9":1,"' + "é".encode() + b'":2}', ["é"]),
        (b'[{"op":1,"op":2}]', ["[0].op"]),
        (rb'{"a":"\u003c\\u003c","b":1.0}', []),
        (b'{"a":{"x":1},"b":{"x":1}}', []),
    ],
)
def test_duplicate_keys_are_listed_by_their_paths(document: bytes, paths: list[str]) -> None:
    assert duplicate_keys(document, msgspec.json.decode(document)) == paths


def test_at_most_a_hundred_duplicate_keys_are_listed() -> None:
    document = b"{" + b",".join(b'"k%d":0,"k%d":0' % (each, each) for each in range(150)) + b"}"

    assert duplicate_keys(document, msgspec.json.decode(document)) == [f"k{each}" for each in range(100)]


@given(values)
def test_a_generated_document_has_no_duplicate_keys(value: object) -> None:
    for document in (json.dumps(value).encode(), json.dumps(value, ensure_ascii=False, indent=2).encode()):
        assert duplicate_keys(document, json.loads(document)) == []


@pytest.mark.parametrize(("body", "kind", "api_version", "content_type", "message"), RECORDED["bodies"])
def test_a_body_is_refused_as_the_real_server_refuses_it(
    body: str, kind: str, api_version: str, content_type: str, message: str
) -> None:
    sent = body.encode("latin-1")
    failure: StatusFailure | None
    try:
        document = decode_yaml(sent).value if content_type == "application/yaml" else decode(sent)
    except JsonError as problem:
        failure = malformed(sent, kind, problem)
    else:
        failure = refused_kind(document, sent, kind, api_version)

    assert failure is not None
    assert (failure.code, failure.reason, failure.message) == (400, "BadRequest", message)


@pytest.mark.parametrize(
    "body",
    [
        b"null",
        b"{}",
        b'{"kind":"ConfigMap"}',
        b'{"apiVersion":"v1"}',
        b'{"kind":"","apiVersion":"/"}',
        b'{"kind":null,"apiVersion":null}',
        b'{"KIND":"ConfigMap","apiVersion":"/v1"}',
    ],
)
def test_a_missing_kind_or_version_is_taken_as_expected(body: bytes) -> None:
    assert refused_kind(decode(body), body, "ConfigMap", "v1") is None


@pytest.mark.parametrize("version", ["v1", "v2", "apps/v1", "meta.k8s.io/v1", "nope/v1"])
def test_options_of_any_version_are_accepted(version: str) -> None:
    options = {"kind": "DeleteOptions", "apiVersion": version}

    assert refused_kind(options, b"", "DeleteOptions", "meta.k8s.io/v1") is None


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"gracePeriodSeconds": "x"},
            "string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
        (
            {"gracePeriodSeconds": 1.5},
            "number 1.5 into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
        (
            {"gracePeriodSeconds": True},
            "bool into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
        ({"orphanDependents": 1}, "number into Go struct field DeleteOptions.orphanDependents of type bool"),
        (
            {"propagationPolicy": 5},
            "number into Go struct field DeleteOptions.propagationPolicy of type v1.DeletionPropagation",
        ),
        ({"dryRun": "All"}, "string into Go struct field DeleteOptions.dryRun of type []string"),
        ({"dryRun": [5]}, "number into Go struct field DeleteOptions.dryRun of type string"),
        (
            {"preconditions": 5},
            "number into Go struct field DeleteOptions.preconditions of type v1.Preconditions",
        ),
        (
            {"preconditions": {"uid": 5}},
            "number into Go struct field Preconditions.preconditions.uid of type types.UID",
        ),
        (
            {"gracePeriodSeconds": "x", "dryRun": 5},
            "string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
    ],
)
def test_options_of_the_wrong_type_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(StatusFailure) as failure:
        check_delete_options(options)

    assert failure.value.message == f"json: cannot unmarshal {problem}"


def test_options_that_are_null_or_unknown_are_accepted() -> None:
    check_delete_options({"dryRun": None, "preconditions": {"uid": None}, "unknown": 1, "gracePeriodSeconds": 0})


@pytest.mark.parametrize("piece", [b'{"a":', b"[", b"[{a: "])
def test_yaml_that_nests_too_deeply_is_refused_with_the_real_message(piece: bytes) -> None:
    with pytest.raises(JsonError, match=r"^yaml: exceeded max depth of 10000$"):
        decode_yaml(piece * 20_000)


def test_brackets_within_text_do_not_nest() -> None:
    assert decode_yaml(b'a: "' + b"{" * 20_000 + b'"').value == {"a": "{" * 20_000}
