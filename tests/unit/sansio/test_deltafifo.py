"""The queue that gathers by key, rule by rule. What every queue promises is in test_changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import pytest

from masthead._sansio.changes import Change, Delta, DeltaType
from masthead._sansio.deltafifo import DeltaFIFO
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

ADDED, UPDATED, DELETED, REPLACED, SYNC = DeltaType

Popped: TypeAlias = tuple[list[Change[str]], bool]


def drain(queue: DeltaFIFO[str]) -> list[Popped]:
    popped: list[Popped] = []
    while queue.pop(lambda changes, is_initial: popped.append((list(changes), is_initial))):
        pass
    return popped


def deltas(queue: DeltaFIFO[str]) -> list[Change[str]]:
    return [change for changes, _ in drain(queue) for change in changes]


def tombstone(key: str, value: str | None, version: str) -> Delta[str]:
    return Delta(DELETED, key, value, version, final_state_known=False)


def test_all_deltas_of_a_key_are_popped_together() -> None:
    queue = DeltaFIFO[str]()
    queue.add("a", "1", "1")
    queue.add("b", "2", "2")
    queue.update("a", "3", "3")
    queue.delete("a", "4", "4")
    queue.add("a", "5", "5")

    assert len(queue) == 2
    assert drain(queue) == [
        (
            [
                Delta(ADDED, "a", "1", "1"),
                Delta(UPDATED, "a", "3", "3"),
                Delta(DELETED, "a", "4", "4"),
                Delta(ADDED, "a", "5", "5"),
            ],
            False,
        ),
        ([Delta(ADDED, "b", "2", "2")], False),
    ]


def test_a_key_that_is_added_again_is_queued_last() -> None:
    queue = DeltaFIFO[str]()
    queue.add("a", "1", "1")
    queue.add("b", "2", "2")
    queue.pop(lambda _changes, _is_initial: queue.update("a", "3", "3"))

    assert deltas(queue) == [Delta(ADDED, "b", "2", "2"), Delta(UPDATED, "a", "3", "3")]


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (("old", "1", True), ("new", "2", True), ("new", "2", True)),
        (("old", "1", True), ("new", "2", False), ("old", "1", True)),
        (("old", "1", False), ("new", "2", True), ("new", "2", True)),
        (("old", "1", False), ("new", "2", False), ("new", "2", False)),
        (("old", "1", True), (None, "2", True), ("old", "1", True)),
        (("old", "1", False), (None, "", False), ("old", "1", False)),
        ((None, "", False), ("new", "2", False), ("new", "2", False)),
        ((None, "", False), (None, "2", True), (None, "2", True)),
    ],
)
def test_consecutive_deletions_merge_into_the_final_state(
    first: tuple[str | None, str, bool],
    second: tuple[str | None, str, bool],
    kept: tuple[str | None, str, bool],
) -> None:
    queue = DeltaFIFO({"a": "0"})
    for value, version, is_known in (first, second):
        queue.delete("a", value, version, final_state_known=is_known)

    value, version, is_known = kept
    assert deltas(queue) == [Delta(DELETED, "a", value, version, is_known)]


def test_deletions_with_a_delta_between_them_stay_separate() -> None:
    queue = DeltaFIFO({"a": "0"})
    queue.delete("a", "1", "1")
    queue.add("a", "2", "2")
    queue.delete("a", "3", "3")

    assert deltas(queue) == [
        Delta(DELETED, "a", "1", "1"),
        Delta(ADDED, "a", "2", "2"),
        Delta(DELETED, "a", "3", "3"),
    ]


def test_a_deletion_of_an_object_neither_queued_nor_stored_is_dropped() -> None:
    for queue in (DeltaFIFO[str](), DeltaFIFO({"b": "1"})):
        queue.delete("a", "1", "1")
        assert len(queue) == 0
        assert queue.has_synced


def test_a_deletion_of_an_object_queued_or_stored_is_enqueued() -> None:
    queue = DeltaFIFO({"known": "1"})
    queue.add("queued", "2", "2")
    queue.delete("known", "3", "3")
    queue.delete("queued", "4", "4")

    assert deltas(queue) == [
        Delta(ADDED, "queued", "2", "2"),
        Delta(DELETED, "queued", "4", "4"),
        Delta(DELETED, "known", "3", "3"),
    ]


def test_a_list_is_enqueued_item_by_item_followed_by_deletions_of_missing_objects() -> None:
    queue = DeltaFIFO({"gone": "1", "stays": "2"})
    queue.replace({"stays": "3", "new": "4"}, "9")

    assert deltas(queue) == [
        Delta(REPLACED, "stays", "3", "9"),
        Delta(REPLACED, "new", "4", "9"),
        tombstone("gone", "1", "9"),
    ]


def test_a_queued_object_missing_from_a_list_is_deleted_with_its_newest_state() -> None:
    queue = DeltaFIFO({"a": "0"})
    queue.update("a", "1", "1")
    queue.add("b", "2", "2")
    queue.replace({}, "9")

    assert deltas(queue) == [
        Delta(UPDATED, "a", "1", "1"),
        tombstone("a", "1", "9"),
        Delta(ADDED, "b", "2", "2"),
        tombstone("b", "2", "9"),
    ]


def test_an_observed_deletion_is_not_followed_by_a_tombstone() -> None:
    queue = DeltaFIFO({"a": "0"})
    queue.delete("a", "1", "1")
    queue.replace({}, "9")

    assert deltas(queue) == [Delta(DELETED, "a", "1", "1")]


def test_a_listed_object_is_enqueued_after_its_observed_deletion() -> None:
    queue = DeltaFIFO({"a": "0"})
    queue.delete("a", "1", "1")
    queue.replace({"a": "2"}, "9")

    assert drain(queue) == [([Delta(DELETED, "a", "1", "1"), Delta(REPLACED, "a", "2", "9")], False)]


def test_a_listed_object_is_popped_together_with_its_queued_deltas() -> None:
    queue = DeltaFIFO[str]()
    queue.add("a", "1", "1")
    queue.replace({"a": "2"}, "9")

    assert drain(queue) == [([Delta(ADDED, "a", "1", "1"), Delta(REPLACED, "a", "2", "9")], False)]


QUEUED = Delta(ADDED, "a", "1", "1")
SEQUENCES: dict[str, tuple[list[Callable[[DeltaFIFO[str]], None]], list[Delta[str]]]] = {
    "added": ([], [QUEUED, tombstone("a", "1", "9")]),
    "added and listed twice": (
        [lambda queue: queue.replace({"a": "1"}, "2"), lambda queue: queue.replace({"a": "1"}, "3")],
        [QUEUED, Delta(REPLACED, "a", "1", "2"), Delta(REPLACED, "a", "1", "3"), tombstone("a", "1", "9")],
    ),
    "added and deleted": (
        [lambda queue: queue.delete("a", "1", "2")],
        [QUEUED, Delta(DELETED, "a", "1", "2")],
    ),
    "added, deleted and added": (
        [lambda queue: queue.delete("a", "1", "2"), lambda queue: queue.add("a", "3", "3")],
        [QUEUED, Delta(DELETED, "a", "1", "2"), Delta(ADDED, "a", "3", "3"), tombstone("a", "3", "9")],
    ),
    "added and missing before": ([lambda queue: queue.replace({}, "8")], [QUEUED, tombstone("a", "1", "9")]),
}


@pytest.mark.parametrize("known", [None, {}], ids=["without a store", "with an empty store"])
@pytest.mark.parametrize(("steps", "expected"), SEQUENCES.values(), ids=SEQUENCES.keys())
def test_deltas_of_an_object_that_is_missing_from_a_list_end_with_one_deletion(
    steps: list[Callable[[DeltaFIFO[str]], None]], expected: list[Delta[str]], known: dict[str, str] | None
) -> None:
    queue = DeltaFIFO[str](known)
    queue.add("a", "1", "1")
    for step in steps:
        step(queue)
    queue.replace({}, "9")

    assert deltas(queue) == expected


def test_two_consecutive_lists_enqueue_a_deletion_once() -> None:
    queue = DeltaFIFO({"a": "0"})
    queue.replace({}, "8")
    queue.replace({}, "9")

    assert deltas(queue) == [tombstone("a", "0", "9")]


def test_undecodable_objects_are_not_deleted() -> None:
    queue = DeltaFIFO({"known": "0", "gone": "0"})
    queue.add("queued", "1", "1")
    queue.replace({}, "9", kept=frozenset({"known", "queued"}))

    assert deltas(queue) == [Delta(ADDED, "queued", "1", "1"), tombstone("gone", "0", "9")]


def test_without_a_store_a_list_deletes_only_queued_objects() -> None:
    queue = DeltaFIFO[str]()
    queue.add("a", "1", "1")
    queue.replace({"b": "2"}, "9")

    assert deltas(queue) == [
        Delta(ADDED, "a", "1", "1"),
        tombstone("a", "1", "9"),
        Delta(REPLACED, "b", "2", "9"),
    ]


def test_a_resync_enqueues_stored_objects_that_are_not_queued() -> None:
    queue = DeltaFIFO({"a": "1", "b": "2", "c": "2"})
    queue.update("b", "3", "3")
    queue.delete("c", "4", "4")
    queue.resync()
    queue.resync()

    assert deltas(queue) == [
        Delta(UPDATED, "b", "3", "3"),
        Delta(DELETED, "c", "4", "4"),
        Delta(SYNC, "a", "1"),
    ]


def test_a_resync_without_a_store_is_a_no_op() -> None:
    queue = DeltaFIFO[str]()
    queue.add("a", "1", "1")
    drain(queue)
    queue.resync()

    assert len(queue) == 0


def test_all_keys_of_the_first_list_are_initial_and_later_ones_are_not() -> None:
    queue = DeltaFIFO({"gone": "0"})
    queue.replace({"a": "1", "b": "2"}, "9")
    queue.add("c", "3", "10")

    initial = [is_initial for _, is_initial in drain(queue)]
    assert initial == [True, True, True, False]


def test_a_queue_syncs_with_the_last_key_of_the_first_list() -> None:
    queue = DeltaFIFO({"gone": "0"})
    queue.replace({"a": "1", "b": "2"}, "9")
    after: list[bool] = []
    while queue.pop(lambda _changes, _is_initial: None):
        after.append(queue.has_synced)

    assert after == [False, False, True]


def test_changes_during_the_first_list_do_not_postpone_the_sync() -> None:
    queue = DeltaFIFO[str]()
    queue.replace({"a": "1", "b": "2"}, "9")
    queue.pop(lambda _changes, _is_initial: queue.update("a", "3", "10"))
    queue.update("b", "4", "11")
    queue.pop(lambda _changes, _is_initial: None)

    assert queue.has_synced
    assert len(queue) == 1


def test_a_resync_before_the_first_list_must_be_popped_before_the_sync() -> None:
    queue = DeltaFIFO({"odd": "0"})
    queue.resync()
    queue.replace({"a": "1"}, "9", kept=frozenset({"odd"}))

    assert [is_initial for _, is_initial in drain(queue)] == [True, True]


def test_an_empty_first_list_syncs_immediately() -> None:
    queue = DeltaFIFO[str]()
    queue.replace({}, "9")

    assert queue.has_synced


def test_it_has_no_scopes() -> None:
    queue = DeltaFIFO[str]()

    with pytest.raises(ArgumentError, match='cannot take "default"'):
        queue.replace({}, "1", scope="default")
    with pytest.raises(ArgumentError, match='cannot take "default"'):
        queue.bookmark("1", scope="default")
    assert not queue.has_synced


def test_a_bookmark_is_ignored() -> None:
    queue = DeltaFIFO[str]()
    queue.bookmark("7")

    assert len(queue) == 0
