"""Lists are sequences of lazy objects."""

from __future__ import annotations

import copy
import json
import pickle

import msgspec
import pytest
from tests.unit.meta.samples import NEWER, WEB, held

from masthead.api.core.v1 import (
    Pod,
    PodList,
)
from masthead.errors import DecodeError


def plain(data: bytes) -> dict[str, object]:
    decoded: dict[str, object] = json.loads(data)
    return decoded


LIST = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[' + WEB + b"," + NEWER + b"]}"


def test_a_list_is_a_sequence_of_lazy_objects() -> None:
    pods = PodList.from_json(LIST)

    assert pods.metadata.resource_version == "7"
    assert len(pods) == 2
    assert [pod.metadata.name for pod in pods] == ["web", "web"]
    assert pods[0] is pods.items[0]
    assert pods[-1:] == pods.items[1:]
    assert type(held(pods[0], "spec")) is msgspec.Raw


def test_each_item_of_a_list_has_bytes_of_its_own() -> None:
    pods = PodList.from_json(LIST)

    assert [pod.wire_bytes for pod in pods] == [WEB, NEWER]


def test_a_list_writes_its_items_as_they_came() -> None:
    pods = PodList.from_json(LIST)
    assert (
        pods.to_json() == b'{"apiVersion":"v1","kind":"PodList",' + LIST[len(b'{"kind":"PodList","apiVersion":"v1",') :]
    )

    pods[0].spec.node_name = "other"
    again = PodList.from_json(pods.to_json())
    assert again == pods
    assert again[0].spec.node_name == "other"
    assert NEWER in pods.to_json()


def test_lists_copy_pickle_and_convert() -> None:
    pods = PodList.from_json(LIST)

    assert copy.deepcopy(pods) == pods
    assert pickle.loads(pickle.dumps(pods)) == pods
    assert PodList.from_dict(pods.to_dict()) == pods
    assert PodList.from_yaml(pods.to_yaml()) == pods
    assert PodList(items=[Pod.new("a")]).to_dict()["items"] == [{"metadata": {"name": "a"}}]


@pytest.mark.parametrize("items", [b"[]", b"null"])
def test_an_empty_list_is_empty_in_every_encoding(items: bytes) -> None:
    pods = PodList.from_json(b'{"items":' + items + b"}")

    assert pods.items == []
    assert not pods
    assert json.loads(pods.to_json())["items"] == []


def test_lists_printed_by_kubectl_are_decoded() -> None:
    assert len(PodList.from_json(LIST.replace(b"PodList", b"List"))) == 2


def test_a_broken_item_is_named_and_can_be_set_aside() -> None:
    data = b'{"items":[{"metadata":{"name":"ok"}},{"metadata":{"name":"bad","generation":"x"}},{"metadata":{"name":"fine"}}]}'  # noqa: E501
    with pytest.raises(DecodeError) as caught:
        PodList.from_json(data)
    assert str(caught.value).startswith('Pod "bad": items[1].metadata.generation: expected an integer')

    broken: list[DecodeError] = []
    pods = PodList.from_wire(data, on_error=broken.append)
    assert [pod.metadata.name for pod in pods] == ["ok", "fine"]
    assert [error.value for error in broken] == [b'{"metadata":{"name":"bad","generation":"x"}}']


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"items":{}}', "PodList: items: expected a list, got an object"),
        (b'{"items":[1]}', "Pod: items[0]: expected an object, got an integer (1)"),
        (b'{"items":[{}', "PodList: not JSON: the text ends too early"),
        (b'{"kind":"ServiceList","items":[]}', 'PodList: kind: expected "PodList", got "ServiceList"'),
        (b"[]", "PodList: expected an object, got a list"),
    ],
)
def test_a_bad_list_gives_a_clear_error_of_ours(data: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        PodList.from_json(data)

    assert str(caught.value).startswith(message)


def test_unknown_fields_of_a_list_itself_are_kept() -> None:
    pods = PodList.from_json(b'{"metadata":{"newMeta":1},"items":[],"newer":[2]}')

    assert pods.to_dict() == {
        "apiVersion": "v1",
        "kind": "PodList",
        "metadata": {"newMeta": 1},
        "items": [],
        "newer": [2],
    }


def test_encoding_a_list_does_not_change_it() -> None:
    pods = PodList.from_dict({"items": []})

    assert pods.to_json() == pods.to_json() == b'{"apiVersion":"v1","kind":"PodList","items":[]}'
