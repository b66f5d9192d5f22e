"""Readers learn the fields that newer servers send."""

from __future__ import annotations

import json

import msgspec
import pytest

from masthead._meta import apitype, shape, wire
from masthead._meta.extended_types import extend_annotation
from masthead._meta.model import Struct, field, unknown_fields


class Leaf(Struct):
    name: str = ""


class Branch(Struct):
    first: Leaf = field(default_factory=Leaf)
    second: Leaf | None = None
    host_leaves: list[Leaf] = field(default=[], name="hostLEAVES")
    by_name: dict[str, Leaf] = {}
    either: Leaf | list[str] | None = None


class Loop(Struct):
    inner: "Loop | None" = None
    more: "list[Loop]" = []


@pytest.fixture(autouse=True)
def forget_afterwards() -> object:
    before = vars(apitype.UNKNOWN_FIELDS).copy()
    vars(apitype.UNKNOWN_FIELDS).update(vars(apitype.UnknownFields()))
    yield None
    vars(apitype.UNKNOWN_FIELDS).update(before)


NEWER = {
    "first": {"name": "a", "newer": 1},
    "second": {"name": "b"},
    "hostLEAVES": [{"name": "c", "newer": [1]}, {"name": "d"}],
    "byName": {"x": {"newer": None}},
    "either": {"name": "e", "newer": "x"},
    "branchToo": True,
}


def test_unknown_fields_use_the_fast_path_the_next_time() -> None:
    reader, data = wire.Reader(Branch), msgspec.json.encode(NEWER)
    with pytest.raises(msgspec.ValidationError):
        reader.decode(data)
    slow = reader.read(data)

    fast = reader.decode(data)

    assert isinstance(fast, Branch)
    assert fast == slow
    assert json.loads(fast.to_json()) == NEWER
    assert unknown_fields(fast) == {"branchToo": True}
    assert unknown_fields(fast.host_leaves[0]) == {"newer": [1]}


def test_objects_without_the_remembered_fields_are_unaffected() -> None:
    reader = wire.Reader(Branch)
    reader.read(msgspec.json.encode(NEWER))
    plain = reader.read(b'{"first":{"name":"a"},"hostLEAVES":[{"name":"c"}]}')

    assert plain == Branch(first=Leaf(name="a"), host_leaves=[Leaf(name="c")])
    assert isinstance(plain, Branch)
    assert plain.second is None
    assert plain.by_name == {}
    assert plain.to_json() == b'{"first":{"name":"a"},"hostLEAVES":[{"name":"c"}]}'
    assert repr(plain) == "Branch(first=Leaf(name='a'), host_leaves=[Leaf(name='c')])"


def test_readers_share_remembered_fields() -> None:
    wire.Reader(Branch).read(msgspec.json.encode(NEWER))
    reader = wire.Reader(Leaf)
    reader.read(b'{"newer":1}')

    assert unknown_fields(reader.decode(b'{"newer":2}')) == {"newer": 2}


def test_a_recursive_type_remembers_unknown_fields() -> None:
    reader, data = wire.Reader(Loop), b'{"inner":{"newer":1},"more":[{"inner":{"newer":2}}]}'

    for _ in range(3):
        read = reader.read(data)
        assert isinstance(read, Loop)
        assert json.loads(read.to_json()) == json.loads(data)


def test_a_type_without_lessons_stays_as_it_is() -> None:
    assert extend_annotation(Loop) is Loop
    assert extend_annotation(list[Leaf]) == list[Leaf]


def test_endless_unknown_fields_are_decoded_but_not_remembered() -> None:
    reader = wire.Reader(Leaf)
    for number in range(apitype.MAX_UNKNOWN_FIELDS + 100):
        read = reader.read(f'{{"made-up-{number}":{number}}}')
        assert isinstance(read, Leaf)
        assert unknown_fields(read) == {f"made-up-{number}": number}

    assert apitype.UNKNOWN_FIELDS.count == apitype.MAX_UNKNOWN_FIELDS
    assert len(apitype.UNKNOWN_FIELDS.of(Leaf)) == apitype.MAX_UNKNOWN_FIELDS


def test_invalid_data_stays_invalid_after_unknown_fields_are_remembered() -> None:
    reader = wire.Reader(Branch)
    reader.read(msgspec.json.encode(NEWER))

    with pytest.raises(shape.ShapeError) as caught:
        reader.read(b'{"hostLEAVES":[{"newer":1},{"name":7}]}')
    assert caught.value.path == "hostLEAVES[1].name"
