"""Objects on one line."""

from __future__ import annotations

import json

import pytest

from masthead._meta.unstructured import Unstructured
from masthead._recorder.lines import encode_object
from masthead.api.core.v1 import ConfigMap


def test_bytes_of_a_watch_are_taken_as_they_are() -> None:
    text = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"u","resourceVersion":"7"},"more": 1}'
    encoded = encode_object(ConfigMap.from_wire(text))
    assert encoded == (text, "u", "7")


@pytest.mark.parametrize("text", [b'{"metadata":{"name":"a"}}', b' {"metadata":{"name":"a"}}', b"{}"])
def test_items_of_lists_get_their_kind(text: bytes) -> None:
    encoded = json.loads(encode_object(ConfigMap.from_wire(text)).text)
    assert encoded == {"apiVersion": "v1", "kind": "ConfigMap", **json.loads(text)}


def test_untyped_items_get_the_kind_of_their_list() -> None:
    item = Unstructured.from_wire(b'{"metadata":{"name":"a"}}')
    item.api_version, item.kind = "example.com/v1", "Widget"
    encoded = json.loads(encode_object(item).text)
    assert (encoded["apiVersion"], encoded["kind"]) == ("example.com/v1", "Widget")


def test_indented_objects_become_one_line() -> None:
    text = json.dumps({"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b\nc"}}, indent=2).encode()
    encoded = encode_object(ConfigMap.from_wire(text)).text
    assert b"\n" not in encoded
    assert json.loads(encoded) == json.loads(text)


def test_objects_of_the_program_are_encoded() -> None:
    assert json.loads(encode_object(ConfigMap.new("a")).text)["kind"] == "ConfigMap"
