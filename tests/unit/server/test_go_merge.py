"""Duplicate keys: each value goes into the one that is there already, and strict errors keep the document's order."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from masthead._meta.gvk import GroupVersionKind
from masthead_server import scheme
from masthead_server.resources.go_decoder import decoder_of
from masthead_server.resources.go_merge import merge_duplicates
from masthead_server.wire.go_duplicates import pairs_of


def merge(document: str, kind: str = "Pod") -> tuple[dict[str, Any], list[str]]:
    pairs = pairs_of(document.encode(), json.loads(document))
    assert pairs is not None
    root = decoder_of(cast("Any", scheme.object_class(GroupVersionKind("", "v1", kind)))).root
    return merge_duplicates(root, pairs)


def test_a_document_without_duplicate_keys_is_not_merged() -> None:
    document = b'{"metadata": {"name": "a"}, "nonsense": [{"a": 1}, {"a": 2}]}'
    assert pairs_of(document, json.loads(document)) is None


def test_a_struct_gets_the_fields_of_both() -> None:
    merged, errors = merge('{"metadata": {"name": "a"}, "metadata": {"generateName": "b"}}')
    assert merged == {"metadata": {"name": "a", "generateName": "b"}}
    assert errors == ['duplicate field "metadata"']


def test_a_map_gets_the_keys_of_both_and_the_last_value() -> None:
    merged, errors = merge('{"data": {"a": "1", "a": "2"}, "data": {"b": "3"}}', "ConfigMap")
    assert merged == {"data": {"a": "2", "b": "3"}}
    assert errors == ['duplicate field "data.a"', 'duplicate field "data"']


def test_items_are_decoded_into_the_items_in_their_places() -> None:
    first = '[{"name": "a", "image": "x"}, {"name": "b"}]'
    merged, _ = merge(f'{{"spec": {{"containers": {first}, "containers": [{{"image": "y"}}]}}}}')
    assert merged == {"spec": {"containers": [{"name": "a", "image": "y"}]}}


@pytest.mark.parametrize(
    ("field", "kept"),
    [
        ('"restartPolicy": "Never"', {"restartPolicy": "Never"}),
        ('"terminationGracePeriodSeconds": 1', {"terminationGracePeriodSeconds": None}),
        ('"nodeSelector": {"a": "b"}', {"nodeSelector": None}),
        ('"securityContext": {"runAsUser": 1}', {"securityContext": None}),
    ],
)
def test_null_empties_pointers_lists_and_maps_only(field: str, kept: dict[str, Any]) -> None:
    merged, _ = merge(f'{{"spec": {{{field}, {field.partition(":")[0]}: null}}}}')
    assert merged == {"spec": kept}


def test_an_unknown_field_that_is_there_twice_is_unknown_once() -> None:
    _, errors = merge('{"b": {"c": 1, "c": 2}, "metadata": {"name": "a", "name": "b"}, "b": 3, "a": 4}')
    assert errors == ['unknown field "b"', 'duplicate field "metadata.name"', 'unknown field "a"']


def test_at_most_a_hundred_errors_are_listed() -> None:
    many = ", ".join(f'"k{each}": 1' for each in range(200))
    _, errors = merge(f'{{"metadata": {{"name": "a", "name": "b"}}, {many}}}')
    assert len(errors) == 100
