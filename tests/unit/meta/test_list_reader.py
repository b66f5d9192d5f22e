"""A list that is decoded while it arrives is the same as one that is decoded at once."""

from __future__ import annotations

import json
import random

import pytest

from masthead._meta.list_reader import ListReader
from masthead.api.apps.v1 import StatefulSetList
from masthead.api.core.v1 import PodList
from masthead.errors import DecodeError

POD = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"nodeName": "n1"}}


def text_of(count: int, *, more: str = "") -> bytes:
    items = [{**POD, "metadata": {"name": f"web-{number}", "namespace": "shop"}} for number in range(count)]
    written = ",".join(json.dumps(item, separators=(",", ":")) for item in items)
    head = '{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":['
    return f"{head}{written}]{more}}}".encode()


def read(text: bytes, size: int, errors: list[DecodeError] | None = None) -> PodList:
    reader = ListReader(PodList, errors.append if errors is not None else None)
    for start in range(0, len(text), size):
        reader.feed(text[start : start + size])
    return reader.finish()


@pytest.mark.parametrize("size", [1, 7, 13, 64, 1000, 10**6])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_however_it_is_cut(size: int, count: int) -> None:
    text = text_of(count)
    found = read(text, size)

    assert found.metadata.resource_version == "7"
    assert [each.key for each in found] == [f"shop/web-{number}" for number in range(count)]
    assert found.to_json() == PodList.from_wire(text).to_json()


def test_items_are_decoded_before_the_end() -> None:
    decoded: list[DecodeError] = []
    reader = ListReader(PodList, decoded.append)
    reader.feed(text_of(100)[:-50])

    assert len(reader._items) >= 98
    assert len(reader._rest) < 200


@pytest.mark.parametrize("size", [1, 50, 10**6])
def test_the_beginning_of_an_item_inside_an_item(size: int) -> None:
    claims = [{"metadata": {"name": name}, "spec": {}} for name in ("data", "log", "tmp")]
    item = {"metadata": {"name": "db"}, "spec": {"volumeClaimTemplates": claims}}
    text = json.dumps({"metadata": {}, "items": [item, item, item]}, separators=(",", ":")).encode()
    reader = ListReader(StatefulSetList)
    for start in range(0, len(text), size):
        reader.feed(text[start : start + size])

    found = reader.finish()

    assert [len(each.spec.volume_claim_templates) for each in found] == [3, 3, 3]


@pytest.mark.parametrize(
    "text",
    [
        b'{"metadata":{"resourceVersion":"7"},"items":null}',
        b'{"metadata":{"resourceVersion":"7"}}',
        text_of(3) + b"\n",
        text_of(3).replace(b'"items":[', b'"items": [ '),
        text_of(3).replace(b"},{", b"} , {"),
        b'{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}],"metadata":{"resourceVersion":"7"}}',
        b'{"metadata":{"resourceVersion":"7"},"items":[{"spec":{},"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}',
        b'{"metadata":{"resourceVersion":"7","items":[{"a":1}]},"items":[{"metadata":{"name":"b"}}]}',
    ],
)
@pytest.mark.parametrize("size", [1, 10**6])
def test_unusual_encodings_are_decoded(text: bytes, size: int) -> None:
    found, expected = read(text, size), PodList.from_wire(text)

    assert [each.key for each in found] == [each.key for each in expected]
    assert found.metadata.resource_version == "7"


@pytest.mark.parametrize("size", [1, 10**6])
def test_a_broken_item_is_reported_and_left_out(size: int) -> None:
    text = text_of(4).replace(b'"name":"web-2"', b'"name":2')
    errors: list[DecodeError] = []
    expected: list[DecodeError] = []
    found = read(text, size, errors)
    PodList.from_wire(text, on_error=expected.append)

    assert [each.metadata.name for each in found] == ["web-0", "web-1", "web-3"]
    assert [str(error) for error in errors] == [str(each) for each in expected]
    assert [error.value for error in errors] == [each.value for each in expected]


@pytest.mark.parametrize("damage", [b"", b"]", b'{"metadata":'])
@pytest.mark.parametrize("size", [1, 10**6])
def test_an_invalid_list_raises_the_same_error_as_whole_decoding(damage: bytes, size: int) -> None:
    text = text_of(300)
    broken = text[:500] + damage + text[510:]
    with pytest.raises(DecodeError) as expected:
        PodList.from_wire(broken)
    with pytest.raises(DecodeError) as found:
        read(broken, size)

    assert str(found.value) == str(expected.value)


def test_without_a_function_for_errors_a_broken_item_raises() -> None:
    text = text_of(4).replace(b'"name":"web-2"', b'"name":2')
    with pytest.raises(DecodeError, match=r"items\[2\]"):
        read(text, 100)


def test_random_cuts() -> None:
    rng = random.Random(1)
    text = text_of(40)
    for _ in range(200):
        reader, start = ListReader(PodList), 0
        while start < len(text):
            size = rng.randint(1, 400)
            reader.feed(text[start : start + size])
            start += size
        assert len(reader.finish()) == 40
