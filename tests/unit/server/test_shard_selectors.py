"""Shard selectors: hashes, and which of them a selector matches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.resources.shard_selectors import (
    NAMESPACE,
    UID,
    HashRange,
    ShardSelector,
    ShardSelectorError,
    hash_field,
    parse,
)

END = 1 << 64
# Made by Go's hash/fnv.
HASHES = {
    "": 0xCBF29CE484222325,
    "a": 0xAF63DC4C8601EC8C,
    "default": 0xEBADA5168620C5FE,
    "kube-system": 0xDF65C7BC1D82B35E,
    "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee": 0x93754B7248A00EB9,
    "0c4e5b8a-9d3f-4a6e-8f10-2b7c61d0a9ef": 0x8B0A9A260A0EEE76,
    "ns-é": 0x7FFEC689D9ED74ED,
    "日本": 0x121D7E35A6D3CE91,
}

hashes = st.integers(0, END - 1) | st.sampled_from([0, 1, END - 1])
bounds = st.tuples(st.integers(0, END), st.integers(0, END)).filter(lambda pair: pair[0] != pair[1])
ranges = st.lists(bounds.map(lambda pair: HashRange(UID, min(pair), max(pair))), min_size=1, max_size=8).map(tuple)


@pytest.mark.parametrize(("value", "expected"), HASHES.items())
def test_hashes_are_those_of_go(value: str, expected: int) -> None:
    assert hash_field(value) == expected
    assert ShardSelector.hash(value) == ShardSelector.hash_namespace(value) == expected


@given(ranges, hashes)
def test_a_selector_matches_what_is_in_one_of_its_ranges(chosen: tuple[HashRange, ...], number: int) -> None:
    expected = any(each.start <= number < each.end for each in chosen)

    assert ShardSelector(chosen).matches(number) is expected


@given(ranges)
def test_a_selector_is_parsed_from_its_own_text(chosen: tuple[HashRange, ...]) -> None:
    parsed = parse(str(ShardSelector(chosen)))

    assert str(parsed) == str(ShardSelector(chosen))
    assert all(parsed.matches(each.start) and parsed.matches(each.end - 1) for each in chosen)


def test_a_selector_is_about_one_field() -> None:
    by_namespace = str(HashRange(NAMESPACE, 0, END))

    assert not parse(by_namespace).is_by_uid
    with pytest.raises(ShardSelectorError, match="all shard ranges must use the same field"):
        parse(f"{by_namespace} || {HashRange(UID, 0, END)}")
