from __future__ import annotations

from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._schema.field_sets import FieldSet
from masthead._schema.path_elements import key_element, path_text, read_element, value_element
from masthead.errors import DecodeError

ELEMENTS = ["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"', "v:1", "i:0"]
paths = st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=4).map(tuple)
sets = st.lists(paths, max_size=8).map(lambda each: (frozenset(each), FieldSet.of(*each)))


Drawn: TypeAlias = tuple[frozenset[tuple[str, ...]], FieldSet]


def members(of: FieldSet) -> frozenset[tuple[str, ...]]:
    return frozenset(of.paths())


@given(sets, sets)
def test_a_field_set_is_a_set_of_paths(one: Drawn, other: Drawn) -> None:
    (plain_one, set_one), (plain_other, set_other) = one, other
    assert members(set_one) == plain_one
    assert members(set_one | set_other) == plain_one | plain_other
    assert members(set_one & set_other) == plain_one & plain_other
    assert members(set_one - set_other) == plain_one - plain_other
    assert bool(set_one) == bool(plain_one)
    assert (set_one == set_other) == (plain_one == plain_other)


@pytest.mark.slow
@given(sets, sets)
def test_without_trees_drops_everything_below_a_member(one: Drawn, other: Drawn) -> None:
    (plain_one, set_one), (plain_other, set_other) = one, other
    below = {path for path in plain_one if any(path[: len(each)] == each for each in plain_other)}
    assert members(set_one.without_trees(set_other)) == plain_one - below


@pytest.mark.slow
@given(sets)
def test_fields_v1_is_read_as_it_was_written(one: Drawn) -> None:
    _, written = one
    assert FieldSet.from_fields_v1(written.to_fields_v1()) == written


@given(sets, paths)
def test_membership_is_of_the_path_itself(one: Drawn, path: tuple[str, ...]) -> None:
    plain, found = one
    assert (path in found) == (path in plain)


def test_elements_are_written_in_the_order_of_the_server() -> None:
    fields = FieldSet.of(("i:2",), ("i:10",), ("v:true",), ('v:"a"',), ("v:10",), ("v:9",), ('k:{"a":"b"}',), ("f:z",))
    assert list(fields.to_fields_v1()) == [
        "f:z",
        'k:{"a":"b"}',
        "v:9",
        "v:10",
        'v:"a"',
        "v:true",
        "i:2",
        "i:10",
    ]


def test_a_value_sorts_before_its_fields() -> None:
    fields = FieldSet.of(("f:labels", "f:app"), ("f:labels",), ("f:labels", 'k:{"a":1}'))
    assert list(fields.to_fields_v1()["f:labels"]) == [".", "f:app", 'k:{"a":1}']


def test_equal_elements_have_one_text() -> None:
    assert read_element('k:{ "b": 1.0, "a": "x" }') == key_element({"a": "x", "b": 1}) == 'k:{"a":"x","b":1}'
    assert read_element("i:+07") == "i:7"
    assert value_element("<a&b>\b\\b") == 'v:"\\u003ca\\u0026b\\u003e\\u0008\\\\b"'


def test_elements_of_unknown_types_are_ignored() -> None:
    assert FieldSet.from_fields_v1({"x:a": {}, "f:a": {"z:b": {}}}) == FieldSet.of(("f:a",))


@pytest.mark.parametrize("element", ["", "a", "name", "k:1", "k:{", "v:", "i:x", "i:" + "9" * 40])
def test_an_invalid_element_is_refused(element: str) -> None:
    with pytest.raises(DecodeError, match="not an element of a field set"):
        FieldSet.from_fields_v1({element: {}})


def test_a_field_set_that_is_nested_too_deeply_is_refused() -> None:
    deep: dict[str, object] = {}
    for _ in range(100_000):
        deep = {"f:a": deep}
    with pytest.raises(DecodeError, match="nested too deeply"):
        FieldSet.from_fields_v1(deep)


def test_path_text_is_readable() -> None:
    path = ("f:spec", "f:ports", 'k:{"containerPort":80,"protocol":"TCP"}', "f:x", 'v:"a"', "i:3")
    assert path_text(path) == '.spec.ports[containerPort=80,protocol="TCP"].x[="a"][3]'
