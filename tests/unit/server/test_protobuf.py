"""Protobuf bodies: read as the JSON of the same objects.

``protobuf_vectors.json`` holds what kubectl 1.36.4 sent, with what it prints for the same objects as JSON, and what a
kube-apiserver 1.36.4 returned for one GET in protobuf and in JSON. Nulls are left out of the JSON.
"""

from __future__ import annotations

import base64
import json
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.wire.protobuf import ProtobufError, decode

VECTORS: dict[str, list[dict[str, Any]]] = json.loads(
    Path(__file__).with_name("protobuf_vectors.json").read_text("utf-8")
)
ALL = VECTORS["requests"] + VECTORS["answers"]
BODIES = [base64.b64decode(each["body"]) for each in ALL]


def titled(vector: dict[str, Any]) -> str:
    return str(vector["title"])


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


def field(number: int, held: int | bytes | str) -> bytes:
    """One field of a message."""
    if isinstance(held, int):
        return varint(number << 3) + varint(held)
    data = held.encode() if isinstance(held, str) else held
    return varint(number << 3 | 2) + varint(len(data)) + data


def body(api_version: str, kind: str, *fields: bytes) -> bytes:
    """A whole body, as a client sends it."""
    names = field(1, api_version) + field(2, kind)
    return b"k8s\0" + field(1, names) + field(2, b"".join(fields))


def refused(data: bytes) -> ProtobufError:
    with pytest.raises(ProtobufError) as caught:
        decode(data)
    return caught.value


@pytest.mark.parametrize("vector", VECTORS["requests"], ids=titled)
def test_a_protobuf_request_of_kubectl_decodes_to_its_json(vector: dict[str, Any]) -> None:
    assert decode(base64.b64decode(vector["body"])) == vector["json"]


@pytest.mark.parametrize("vector", VECTORS["answers"], ids=titled)
def test_a_protobuf_response_of_the_real_server_decodes_to_its_json(vector: dict[str, Any]) -> None:
    assert decode(base64.b64decode(vector["body"])) == vector["json"]


def test_a_zero_that_json_leaves_out_is_left_out() -> None:
    found = decode(body("v1", "Pod", field(2, field(11, 0))))

    assert found["spec"] == {}, "hostNetwork is no pointer: Go always writes it"


def test_a_zero_behind_a_pointer_is_kept() -> None:
    found = decode(body("apps/v1", "Deployment", field(2, field(1, 0))))

    assert found["spec"] == {"replicas": 0}


def test_a_zero_that_json_always_writes_is_kept() -> None:
    found = decode(body("scheduling.k8s.io/v1", "PriorityClass", field(2, 0), field(4, "")))

    assert found == {"kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1", "value": 0}


@pytest.mark.parametrize("number", [-1, -(2**31), 2**31 - 1])
def test_small_numbers_keep_their_sign(number: int) -> None:
    found = decode(body("apps/v1", "Deployment", field(2, field(1, number))))

    assert found["spec"]["replicas"] == number


@pytest.mark.parametrize("number", [-1, -(2**63), 2**63 - 1])
def test_large_numbers_keep_their_sign_and_size(number: int) -> None:
    found = decode(body("v1", "Pod", field(1, field(7, number))))

    assert found["metadata"]["generation"] == number


@pytest.mark.parametrize(
    ("seconds", "nanos", "expected"),
    [
        (0, 0, "1970-01-01T00:00:00Z"),
        (-1, 0, "1969-12-31T23:59:59Z"),
        (-62135596800, 0, "0001-01-01T00:00:00Z"),
        (253402300799, 999_999_999, "9999-12-31T23:59:59Z"),
    ],
)
def test_times_are_written_to_the_second(seconds: int, nanos: int, expected: str) -> None:
    moment = field(1, seconds) + field(2, nanos)

    found = decode(body("v1", "Pod", field(1, field(8, moment))))

    assert found["metadata"]["creationTimestamp"] == expected


def test_a_time_that_is_not_set_is_left_out() -> None:
    assert decode(body("v1", "Pod", field(1, field(8, b""))))["metadata"] == {}


def test_exact_times_are_written_to_the_microsecond() -> None:
    moment = field(1, 5) + field(2, 1999)

    found = decode(body("coordination.k8s.io/v1", "Lease", field(2, field(4, moment))))

    assert found["spec"]["renewTime"] == "1970-01-01T00:00:05.000001Z"


def test_quantities_are_written_as_the_server_prints_them() -> None:
    entries = [field(1, field(1, name) + field(2, held)) for name, held in QUANTITIES.items()]

    found = decode(body("v1", "ResourceQuota", field(2, b"".join(entries))))

    assert found["spec"]["hard"] == {"cpu": "1500m", "memory": "1Gi", "pods": "0", "nothing": "0"}


QUANTITIES = {"cpu": field(1, "1.5"), "memory": field(1, "1024Mi"), "pods": field(1, "0"), "nothing": b""}


def test_a_map_may_leave_out_empty_keys_and_values() -> None:
    found = decode(body("v1", "ConfigMap", field(2, b""), field(2, field(1, "a"))))

    assert found["data"] == {"": "", "a": ""}


def test_lists_of_numbers_may_be_packed_or_not() -> None:
    groups = field(4, 0) + field(4, 7) + field(4, varint(5) + varint(2**40))

    found = decode(body("v1", "Pod", field(2, field(14, groups))))

    assert found["spec"]["securityContext"]["supplementalGroups"] == [0, 7, 5, 2**40]


def test_whole_numbers_of_a_schema_stay_whole() -> None:
    def number(value: float) -> bytes:
        return varint(9 << 3 | 1) + struct.pack("<d", value)

    def schema_of(*fields: bytes) -> Any:
        validation = field(1, b"".join(fields))
        version = field(4, validation)
        found = decode(body("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, field(7, version))))
        return found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]

    assert repr(schema_of(number(5.0))["maximum"]) == "5"
    assert schema_of(number(0.5))["maximum"] == 0.5
    with pytest.raises(ProtobufError, match="no number for nan"):
        schema_of(number(float("nan")))


@pytest.mark.parametrize(("held", "expected"), [(b"", False), (field(1, 1), True), (field(2, b""), {})])
def test_a_schema_may_be_a_yes_or_a_no(held: bytes, expected: object) -> None:
    version = field(4, field(1, field(30, held)))

    found = decode(body("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, field(7, version))))

    schema = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema == {"additionalProperties": expected}


def test_options_are_of_every_group() -> None:
    found = decode(body("apps/v1", "DeleteOptions", field(1, 0), field(4, "Orphan")))

    assert found == {
        "kind": "DeleteOptions",
        "apiVersion": "apps/v1",
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Orphan",
    }


def test_a_body_without_a_kind_is_of_the_one_that_is_expected() -> None:
    assert decode(body("", ""), ("v1", "ConfigMap")) == {"kind": "ConfigMap", "apiVersion": "v1"}


def test_unknown_fields_are_skipped() -> None:
    unknown = [
        field(999, 5),
        field(999, b"x"),
        varint(999 << 3 | 1) + bytes(8),
        varint(999 << 3 | 5) + bytes(4),
    ]

    assert decode(body("v1", "ConfigMap", *unknown)) == {"kind": "ConfigMap", "apiVersion": "v1"}


def test_invalid_utf8_is_repaired_as_in_go() -> None:
    assert decode(body("v1", "ConfigMap", field(1, field(1, b"a\xff"))))["metadata"]["name"] == "a�"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "empty data"),
        (b"k8s\0", "empty body"),
        (
            b'{"kind":"Pod"}',
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ),
        (b"k8s\0\x0a\x0f\x0a", "unexpected EOF"),
        (b"k8s\0\x0a", "unexpected EOF"),
    ],
)
def test_a_malformed_body_is_refused_with_the_real_message(data: bytes, expected: str) -> None:
    error = refused(data)

    assert (str(error), error.kind, error.api_version) == (expected, "", "")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x0a\x05", "unexpected EOF"),
        (b"\xff", "unexpected EOF"),
        (b"\x09\x00", "unexpected EOF"),
        (b"\xff" * 11, "proto: integer overflow"),
        (b"\x00\x05", "proto: ConfigMap: illegal tag 0 (wire type 0)"),
        (b"\x7f", "proto: illegal wireType 7"),
        (b"\x10\x05", "proto: wrong wireType = 0 for field data"),
    ],
)
def test_a_malformed_object_is_refused_with_its_kind(data: bytes, expected: str) -> None:
    error = refused(body("v1", "ConfigMap", data))

    assert (str(error), error.kind, error.api_version) == (expected, "ConfigMap", "v1")


def test_a_kind_that_kubernetes_does_not_have_is_refused() -> None:
    for kind in ("Shirt", "Container", ""):
        assert str(refused(body("v1", kind))).startswith(f'no kind "{kind}" is registered for version "v1"')


def test_an_invalid_quantity_is_refused() -> None:
    entry = field(1, "cpu") + field(2, field(1, "abc"))

    assert str(refused(body("v1", "ResourceQuota", field(2, field(1, entry))))).startswith("quantities must match")


@pytest.mark.parametrize("document", [b"{", b"\xff", b'{"a\xff":1}', b"[" * 50_000])
def test_invalid_json_is_refused(document: bytes) -> None:
    data = body("apps/v1", "ControllerRevision", field(2, field(1, document)))

    assert "should hold JSON and does not" in str(refused(data))


def test_an_out_of_range_time_is_rejected() -> None:
    moment = field(1, 2**62)

    assert "outside of the years" in str(refused(body("v1", "Pod", field(1, field(8, moment)))))


NESTINGS = {
    "not": lambda inner: field(28, inner),
    "allOf": lambda inner: field(25, inner),
    "items": lambda inner: field(24, field(1, inner)),
    "properties": lambda inner: field(29, field(1, "k") + field(2, inner)),
    "dependencies": lambda inner: field(32, field(1, "k") + field(2, field(1, inner))),
}


def nested(nesting: str, depth: int) -> bytes:
    inner = b""
    for _ in range(depth):
        inner = NESTINGS[nesting](inner)
    version = field(4, field(1, inner))
    return body("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, field(7, version)))


@pytest.mark.parametrize("nesting", NESTINGS)
def test_schemas_in_schemas_without_end_are_refused(nesting: str) -> None:
    assert str(refused(nested(nesting, 3000))) == "objects lie in each other more than 100 deep"


@pytest.mark.parametrize("nesting", NESTINGS)
def test_schemas_may_lie_in_each_other_as_deep_as_anyone_needs(nesting: str) -> None:
    assert nesting in json.dumps(decode(nested(nesting, 45)))


@given(st.binary(max_size=200))
def test_arbitrary_bytes_decode_or_raise(data: bytes) -> None:
    for whole in (
        data,
        b"k8s\0" + data,
        body("v1", "Pod", data),
        body("apps/v1", "Deployment", field(2, data)),
    ):
        with suppress(ProtobufError):
            assert isinstance(decode(whole), dict)


@given(st.sampled_from(BODIES), st.data())
def test_a_damaged_body_decodes_or_raises(whole: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(whole) - 1))
    length = data.draw(st.integers(0, 4))
    damaged = whole[:at] + data.draw(st.binary(max_size=4)) + whole[at + length :]

    with suppress(ProtobufError):
        assert json.dumps(decode(damaged), allow_nan=False)


def test_the_table_is_loaded_with_the_first_body() -> None:
    code = (
        "import sys, masthead_server.wire.protobuf as p\n"
        "assert 'masthead_server.wire.protobuf_table' not in sys.modules\n"
        "p.decode(bytes.fromhex(sys.argv[1]))\n"
        "assert 'masthead_server.wire.protobuf_table' in sys.modules\n"
    )

    subprocess.run([sys.executable, "-c", code, body("v1", "ConfigMap").hex()], check=True)
