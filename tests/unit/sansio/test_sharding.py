"""Shards: hashes, ranges and selectors, and which member gets which slot."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._meta.unstructured import Unstructured
from masthead._sansio.sharding import (
    MAX_SLOTS,
    ShardKey,
    ShardRanges,
    ShardSet,
    assign,
    first_hash,
    hash_value,
    read_slots,
    write_slots,
)
from masthead.errors import ArgumentError, SelectorError

END = 1 << 64
MIDDLE = 1 << 63
LOWER = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
# Made by Go's hash/fnv.
HASHES = {
    "": 0xCBF29CE484222325,
    "default": 0xEBADA5168620C5FE,
    "0c4e5b8a-9d3f-4a6e-8f10-2b7c61d0a9ef": 0x8B0A9A260A0EEE76,
    "日本": 0x121D7E35A6D3CE91,
}

totals = st.integers(1, 200) | st.sampled_from([1, 2, 64, 100, 255, MAX_SLOTS])
hashes = st.integers(0, END - 1) | st.sampled_from([0, 1, END - 1, MIDDLE, MIDDLE - 1])
names = st.sets(st.text("abcdef0123", min_size=1, max_size=6), min_size=1, max_size=12)


@pytest.mark.parametrize(("value", "expected"), HASHES.items())
def test_hashes_are_those_of_the_api_server(value: str, expected: int) -> None:
    assert hash_value(value) == expected


# Ranges


@given(totals, hashes)
def test_the_ranges_of_the_slots_contain_every_hash_exactly_once(total: int, number: int) -> None:
    slot = (number * total) >> 64

    assert first_hash(slot, total) <= number < first_hash(slot + 1, total)
    assert (first_hash(0, total), first_hash(total, total)) == (0, END)


@given(totals, st.data())
def test_a_set_owns_the_objects_of_its_selector(total: int, data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.integers(0, total - 1)))
    by: ShardKey = data.draw(st.sampled_from(["uid", "namespace"]))
    shards = ShardSet(chosen, total=total, by=by)
    selected = ShardRanges.parse(str(shards.ranges)) if chosen else ShardRanges((), by=by)

    for value in data.draw(st.lists(st.text("abc-019", max_size=10), min_size=5, max_size=5)):
        obj = Unstructured.new("a", api_version="v1", kind="Any", namespace=value if by == "namespace" else "")
        obj.metadata.uid = value
        assert shards.owns(value) == shards.owns_object(obj) == selected.selects(obj)
        assert shards.owns(value) == ((hash_value(value) * total) >> 64 in shards)


@given(totals, st.data())
def test_adjacent_slots_are_one_range(total: int, data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.integers(0, total - 1)))
    runs = len(write_slots(chosen).split(",")) if chosen else 0

    assert len(ShardSet(chosen, total=total).ranges.ranges) == runs
    assert runs <= (total + 1) // 2


def test_a_selector_has_the_form_that_the_server_reads() -> None:
    upper = "shardRange(object.metadata.namespace, '0x8000000000000000', '0x10000000000000000')"

    assert ShardSet([0], total=2).selector() == LOWER
    assert ShardSet([1], total=2, by="namespace").selector() == upper
    assert ShardSet([0, 2], total=4).selector() == (
        "shardRange(object.metadata.uid, '0x0000000000000000', '0x4000000000000000') || "
        "shardRange(object.metadata.uid, '0x8000000000000000', '0xc000000000000000')"
    )
    assert ShardSet.everything().selector() is None
    assert str(ShardRanges.parse(f"  {LOWER.replace(' ', '')}||{LOWER} ")) == LOWER


def test_the_selector_of_an_empty_set_selects_a_single_hash() -> None:
    assert ShardSet().selector() == "shardRange(object.metadata.uid, '0x0000000000000000', '0x0000000000000001')"
    assert not any(ShardSet().owns(str(number)) for number in range(100))


@pytest.mark.parametrize(
    "selector",
    [
        "",
        "bad",
        "shardRange(object.metadata.uid, '0x0', '0x8000000000000000')",
        "shardRange(object.metadata.uid, '0x8000000000000000', '0x8000000000000000')",
        "shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000001')",
        "shardRange(object.metadata.name, '0x0000000000000000', '0x8000000000000000')",
        "shardRange(object.metadata.uid, '0x0000000000000000', \"0x8000000000000000')",
        f"{LOWER} || {LOWER.replace('uid', 'namespace')}",
    ],
)
def test_an_invalid_selector_is_refused(selector: str) -> None:
    with pytest.raises(SelectorError):
        ShardRanges.parse(selector)


# Sets


def test_sets_of_one_division_combine() -> None:
    left, right = ShardSet([1, 2], total=8), ShardSet([2, 3], total=8)

    assert left | right == ShardSet([1, 2, 3], total=8)
    assert left & right == ShardSet([2], total=8)
    assert left - right == ShardSet([1], total=8)
    assert (list(left), len(left), bool(left - left)) == ([1, 2], 2, False)
    assert repr(left) == "<ShardSet 1-2; 2 of 8 by uid>"
    assert left != ShardSet([1, 2], total=9)
    with pytest.raises(ArgumentError, match="does not divide the same collection"):
        _ = left | ShardSet([1], total=9)


@pytest.mark.parametrize("total", [0, -1, MAX_SLOTS + 1, 2.0, True])
def test_a_number_of_slots_is_checked(total: int) -> None:
    with pytest.raises(ArgumentError, match="can be divided into"):
        ShardSet(total=total)


def test_slots_and_keys_are_checked() -> None:
    with pytest.raises(ArgumentError, match="no slot 8 among 8"):
        ShardSet([8], total=8)
    with pytest.raises(ArgumentError, match="by uid or by namespace"):
        ShardSet(by="name")  # type: ignore[arg-type]


@given(st.sets(st.integers(0, 99)))
def test_slots_are_read_as_they_were_written(slots: set[int]) -> None:
    assert read_slots(write_slots(slots), 100) == slots


@pytest.mark.parametrize("text", ["x", "1-", "3-1", "100", "-1", "1,,x"])
def test_invalid_slots_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_slots(text, 100)


# Assignment

owned = st.dictionaries(st.integers(0, 99), st.text("abcdef0123", min_size=1, max_size=2))


@given(names, st.integers(1, 100), owned)
def test_each_member_has_the_same_number_of_slots_or_one_more(
    members: set[str], total: int, owners: dict[int, str]
) -> None:
    assigned = assign(members, total, {slot: owner for slot, owner in owners.items() if slot < total})

    counts = [list(assigned.values()).count(member) for member in members]
    assert sorted(assigned) == list(range(total))
    assert max(counts) - min(counts) <= 1


@given(names, st.integers(1, 100), owned, st.data())
def test_no_assignment_to_equal_shares_moves_fewer_slots(
    members: set[str], total: int, owners: dict[int, str], data: st.DataObject
) -> None:
    mapping = {slot: data.draw(st.sampled_from(sorted(members))) for slot in owners if slot < total}

    assigned = assign(members, total, mapping)

    least, left_over = divmod(total, len(members))
    counts = sorted((list(mapping.values()).count(member) for member in members), reverse=True)
    # A member keeps no more than its share, whichever members get the larger shares.
    kept = sum(min(count, least + (index < left_over)) for index, count in enumerate(counts))
    assert sum(assigned[slot] == owner for slot, owner in mapping.items()) == kept


@given(names, st.integers(1, 100))
def test_a_balanced_assignment_does_not_change(members: set[str], total: int) -> None:
    assigned = assign(members, total)

    assert assign(members, total, assigned) == assigned


@given(names, st.text("xyz", min_size=1, max_size=3), st.integers(1, 100))
def test_a_member_that_joins_takes_its_share_and_nothing_else_moves(members: set[str], other: str, total: int) -> None:
    before = assign(members, total)

    after = assign({*members, other}, total, before)

    moved = [slot for slot in before if after[slot] != before[slot]]
    assert {after[slot] for slot in moved} <= {other}
    assert len(moved) == list(after.values()).count(other)


@given(names.filter(lambda members: len(members) > 1), st.integers(1, 100))
def test_when_a_member_leaves_only_its_slots_move(members: set[str], total: int) -> None:
    before = assign(members, total)
    gone = min(members)

    after = assign(members - {gone}, total, before)

    assert all(after[slot] == owner for slot, owner in before.items() if owner != gone)


@given(st.permutations(["a", "b", "c", "d"]), st.permutations(range(20)))
def test_the_result_does_not_depend_on_the_order_of_its_arguments(members: list[str], slots: list[int]) -> None:
    owners = {slot: "abcx"[slot % 4] for slot in slots}

    assert assign(members, 20, owners) == assign(["a", "b", "c", "d"], 20, dict(sorted(owners.items())))


def test_an_assignment_without_owners_is_that_of_the_highest_ranks() -> None:
    # What members have so far claimed must not depend on the version of this program that they run.
    assigned = assign(["web-0", "web-1", "web-2"], 12)

    assert "".join(assigned[slot][-1] for slot in range(12)) == "102001221201"


def test_without_members_nothing_is_assigned() -> None:
    assert assign([], 8, {1: "a"}) == {}


def test_slots_scatter_over_members_in_many_ranges_at_most() -> None:
    """Of a share, a selector has a range for each run of slots, so its length matters."""
    for count in (2, 3, 4, 8, 16):
        members = [f"replica-{number}" for number in range(count)]
        assigned = assign(members, 64)
        texts = [
            ShardSet((slot for slot, owner in assigned.items() if owner == member), total=64).selector()
            for member in members
        ]
        assert max(len(text or "") for text in texts) < 2_500


def test_movement_over_a_history_of_joins_and_leaves_is_minimal() -> None:
    owners: dict[int, str] = {}
    for members in itertools.accumulate("abcdefgh", lambda so_far, name: so_far + name):
        after = assign(members, 64, owners)
        moved = sum(owner != after[slot] for slot, owner in owners.items())
        assert moved <= 64 // len(members)
        owners = after
