"""The codec of custom resources: what is decoded, stored, and read again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.server.definitions import definition_of, version_of

from masthead_server.resources.custom.codec import NopConverter, SchemaCodec, StoredCodec
from masthead_server.resources.go_decoder import Mismatch
from masthead_server.resources.go_values import NumberLiteral
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from masthead_server.resources.custom.definition import Definition

Plain = dict[str, Any]

TEXT = {"type": "string"}
OLD: Plain = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"color": TEXT, "size": {"type": "integer"}}}},
}
NEW: Plain = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"color": TEXT, "shade": {"type": "string", "default": "dark"}},
        }
    },
}
ANYTHING: Plain = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
PLAIN_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
FIELDS = st.dictionaries(
    st.text(min_size=1, max_size=5).filter(lambda name: name not in {"kind", "apiVersion", "metadata"}),
    PLAIN_JSON,
    max_size=4,
)


def codec(schema: Plain, *, since: int = 0) -> SchemaCodec:
    return of(definition_of("example.com", "Widget", version_of("v1", schema, storage=True)), "v1", since)


def of(definition: Definition, version: str, since: int = 0) -> SchemaCodec:
    return SchemaCodec(definition.versions[version], NopConverter(), since)


def stored(revision: int, **fields: Any) -> Plain:
    return {"metadata": {"name": "a", "generation": 1, "resourceVersion": str(revision)}, **fields}


def read(body: bytes) -> Plain:
    return cast("Plain", json.loads(body))


def test_unknown_fields_are_dropped_and_reported() -> None:
    body = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "bogus": 1},
        "spec": {"color": "red", "foo": 1},
        "top": 2,
    }

    found, unknown = codec(OLD).decode(body)

    assert found == {"metadata": {"name": "a"}, "spec": {"color": "red"}}
    assert unknown == ["metadata.bogus", "spec.foo", "top"]
    assert body["top"] == 2, "the body itself stays as it was sent"


def test_an_object_of_another_kind_is_not_pruned_and_keeps_its_kind() -> None:
    found, unknown = codec(OLD).decode({"kind": "Gadget", "metadata": {"name": "a"}, "spec": {"foo": 1}})

    assert found == {"kind": "Gadget", "metadata": {"name": "a"}, "spec": {"foo": 1}}
    assert unknown == []


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (5, "json: cannot unmarshal number into Go value of type v1.ObjectMeta"),
        (
            {"labels": {"a": 1}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
        ),
    ],
)
def test_metadata_is_decoded_as_go_decodes_it(metadata: object, message: str) -> None:
    with pytest.raises(Mismatch) as mismatch:
        codec(OLD).decode({"metadata": metadata})
    assert str(mismatch.value) == message


@given(FIELDS)
def test_what_is_dumped_is_loaded_again(fields: Plain) -> None:
    made = codec(ANYTHING)
    found = stored(5, **fields)

    assert made.load(made.dump(found)) == found
    assert read(made.write(made.dump(found))) == {"apiVersion": "example.com/v1", "kind": "Widget", **found}


@pytest.mark.slow
@given(FIELDS, st.integers(1, 9), st.integers(0, 9))
def test_text_that_went_through_the_schema_is_written_as_it_is(fields: Plain, revision: int, since: int) -> None:
    value = codec(ANYTHING).dump(stored(revision, **fields))
    written = codec(ANYTHING, since=since).write(value)

    assert read(written) == read(b"{" + value)
    if revision > since:
        assert written == b"{" + value


def test_an_object_of_an_older_schema_is_pruned_and_defaulted_when_it_is_read() -> None:
    value = codec(OLD).dump(stored(5, spec={"color": "red", "size": 1}))

    assert codec(NEW, since=5).load(value)["spec"] == {"color": "red", "shade": "dark"}
    assert read(codec(NEW, since=5).write(value))["spec"] == {"color": "red", "shade": "dark"}


def test_a_version_is_defaulted_where_it_is_stored_and_pruned_where_it_is_read() -> None:
    definition = definition_of("example.com", "Widget", version_of("v1", OLD, storage=True), version_of("v2", NEW))

    value = of(definition, "v2").dump(stored(5, spec={"color": "red", "shade": "light"}))

    assert read(b"{" + value)["apiVersion"] == "example.com/v1"
    assert of(definition, "v1").load(value)["spec"] == {"color": "red"}
    assert of(definition, "v2").load(value)["spec"] == {"color": "red"}, "which has lost its shade"
    assert read(of(definition, "v2").write(value))["apiVersion"] == "example.com/v2"


def test_a_version_that_does_not_exist_any_more_cannot_be_read() -> None:
    value = codec(OLD).dump(stored(5)).replace(b"example.com/v1", b"example.com/v0")

    with pytest.raises(StatusFailure) as failure:
        codec(OLD).load(value)

    assert str(failure.value) == "request to convert CR from an invalid group/version: example.com/v0"


@pytest.mark.slow
@given(FIELDS)
def test_stored_objects_keep_their_version_when_only_metadata_changes(fields: Plain) -> None:
    definition = definition_of("example.com", "Widget", version_of("v1", ANYTHING), version_of("v2", ANYTHING))
    raw = StoredCodec(definition.versions["v2"])
    value = of(definition, "v1").dump(stored(5, **fields))

    found = raw.load(value)
    found["metadata"]["finalizers"] = ["example.com/mine"]
    changed = of(definition, "v1").load(raw.dump(found))

    assert found["apiVersion"] == "example.com/v1"
    assert changed["metadata"]["finalizers"] == ["example.com/mine"]
    assert {name: value for name, value in changed.items() if name != "metadata"} == fields


def test_numbers_without_a_fraction_are_whole() -> None:
    made = codec(ANYTHING)
    found, _ = made.decode({"metadata": {"name": "a"}, "spec": {"a": 1.0, "b": [1e3, 1.5], "c": 1e25}})

    assert b'"spec":{"a":1,"b":[1000,1.5],"c":1e25}' in made.dump({**found, **stored(5)} | {"spec": found["spec"]})


def test_embedded_objects_have_the_metadata_of_objects() -> None:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, **ANYTHING}
    schema = {"type": "object", "properties": {"template": embedded}}
    head = {"apiVersion": "v1", "kind": "Pod"}

    found, unknown = codec(schema).decode({"template": {**head, "metadata": {"name": "x", "bogus": 1}}})
    assert found["template"] == {**head, "metadata": {"name": "x"}}
    assert unknown == ["template.metadata.bogus"]

    with pytest.raises(Mismatch) as mismatch:
        codec(schema).decode({"template": {**head, "kind": 5}})
    assert str(mismatch.value) == "template.kind: Invalid value: 5: must be a string"


def test_invalid_metadata_of_embedded_objects_is_dropped_when_the_object_was_stored_before() -> None:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, **ANYTHING}
    schema = {"type": "object", "properties": {"template": embedded}}
    value = codec(ANYTHING).dump(stored(5, template={"apiVersion": 5, "kind": "Pod", "metadata": {"a": 1}}))

    assert codec(schema, since=5).load(value)["template"] == {"kind": "Pod", "metadata": {}}


def test_numbers_may_know_how_they_were_written() -> None:
    """A body is decoded once more to show a wrong number as the client wrote it."""
    found, _ = codec(ANYTHING).decode(
        {"metadata": {"name": "a"}, "spec": {"a": NumberLiteral("1.50"), "b": [NumberLiteral("2.0")]}}
    )

    assert found["spec"] == {"a": 1.5, "b": [2.0]}
    assert [type(each) for each in (found["spec"]["a"], found["spec"]["b"][0])] == [float, float]


def test_integers_of_more_than_64_bits_are_floats() -> None:
    found, _ = codec(ANYTHING).decode({"spec": {"a": 2**63, "b": 2**63 - 1}})

    assert found["spec"] == {"a": float(2**63), "b": 2**63 - 1}
    assert type(found["spec"]["a"]) is float
