"""Bad text and bad data: a clear error of ours, naming the object and the field."""

from __future__ import annotations

import pytest

from masthead._meta.model import unknown_fields
from masthead._meta.unstructured import Unstructured
from masthead.api.core.v1 import (
    Pod,
    PodList,
)
from masthead.errors import ArgumentError, DecodeError


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "Pod: not JSON: the text ends too early"),
        (b"{", "Pod: not JSON: the text ends too early"),
        (b'{"metadata":{"name":"x"', "Pod: not JSON: the text ends too early"),
        (b"nonsense", "Pod: not JSON"),
        (b'{"metadata":{}} trailing', "Pod: not JSON"),
        (b"[]", "Pod: expected an object, got a list"),
        (b"[1,", "Pod: not JSON: the text ends too early"),
        (b'{"newField":null},{}', "Pod: not JSON"),
        (b'"text"', "Pod: expected an object, got a string"),
        (b"null", "Pod: expected an object, got null"),
        (b'{"kind":"Service"}', 'Pod: kind: expected "Pod", got "Service"'),
        (b'{"apiVersion":"apps/v1","metadata":{"name":"x"}}', 'Pod "x": apiVersion: expected "v1", got "apps/v1"'),
        (b'{"metadata":[]}', "Pod: metadata: expected an object (ObjectMeta), got a list"),
        (b'{"metadata":{"name":"x","labels":{"a":1}}}', 'Pod "x": metadata.labels["a"]: expected a string, got an integer (1)'),  # noqa: E501
        (b'{"metadata":{"name":"x","creationTimestamp":"soon"}}', 'Pod "x": metadata.creationTimestamp: expected an RFC 3339 time'),  # noqa: E501
        (b'{"metadata":{"name":"x","name":"y"}}', 'Pod "y": metadata.name: the key "name" appears twice'),
        (b'{"spec":{"containers":[{"name":"a"},{"image":"b","image":"c"}]}}', 'Pod: spec.containers[1].image: the key "image" appears twice'),  # noqa: E501
        (b'{"spec": {}, "spec": {}}', 'Pod: spec: the key "spec" appears twice'),
        (b"[" * 200_000, "Pod: nested too deeply"),
        (b'{"spec":' * 50_000 + b"1" + b"}" * 50_000, "Pod: nested too deeply"),
        (b'\xff\xfe{"metadata":{}}', "Pod: not JSON"),
        (b'{"metadata":{"name":"\xff"}}', "Pod: not UTF-8 text"),
    ],
)  # fmt: skip
def test_bad_text_gives_a_clear_error_of_ours(data: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        Pod.from_json(data)

    assert str(caught.value).startswith(message)


def test_an_invalid_section_raises_when_it_is_read_and_names_the_object() -> None:
    pod = Pod.from_json(b'{"metadata":{"name":"web","namespace":"shop"},"spec":{"containers":[{"env":[{"value":1}]}]}}')

    for _ in range(2):
        with pytest.raises(DecodeError) as caught:
            _ = pod.spec
        assert str(caught.value) == (
            'Pod "shop/web": spec.containers[0].env[0].value: expected a string, got an integer (1)'
        )
    assert pod.metadata.name == "web"


def test_a_bad_quantity_on_the_wire_names_the_field() -> None:
    pod = Pod.from_json(b'{"spec":{"containers":[{"resources":{"limits":{"cpu":"12 gigs"}}}]}}')

    with pytest.raises(DecodeError, match=r'spec\.containers\[0\]\.resources\.limits\["cpu"\]: expected a quantity'):
        _ = pod.spec


def test_deep_nesting_inside_a_section_is_refused_not_followed() -> None:
    deep = b'{"spec":{"x":' + b"[" * 500 + b"]" * 500 + b"}}"
    deeper = b'{"spec":{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}}"

    assert unknown_fields(Pod.from_json(deep).spec)
    with pytest.raises(DecodeError, match="nested too deeply"):
        _ = Pod.from_json(deeper).spec


def test_a_value_that_json_does_not_allow_is_rejected_when_encoding() -> None:
    pod = Pod.new("web")
    pod.metadata.annotations["x"] = object()  # type: ignore[assignment]
    with pytest.raises(ArgumentError, match="cannot be encoded as JSON"):
        pod.to_json()

    pod.metadata.annotations["x"] = "\ud800"
    with pytest.raises(ArgumentError, match="cannot be encoded as JSON"):
        pod.to_json()


@pytest.mark.parametrize(
    "data", [b"[1,", b'{"newField":null},{}', b'{"new":1', b'{"metadata":{"new":1}', b"\xff", b"3 4"]
)
def test_bad_bytes_from_a_server_give_the_same_clear_error(data: bytes) -> None:
    for kind in (Pod, PodList, Unstructured):
        with pytest.raises(DecodeError):
            kind.from_wire(data)
