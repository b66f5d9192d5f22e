"""The ordered queue, rule by rule, and the rules of both queues. test_changes_model tests them in combination."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import TypeAlias

import pytest

from masthead._sansio.changes import (
    Bookmark,
    Change,
    ChangeQueue,
    Delta,
    DeltaType,
    Queue,
    ReplacedAll,
    SyncAll,
)
from masthead._sansio.deltafifo import DeltaFIFO
from masthead.errors import ClosedError, InvalidValueError

Popped: TypeAlias = tuple[list[Change[str]], bool]


def ignore(_changes: Sequence[Change[str]], _is_initial: bool) -> None:
    """A process function that does nothing."""


def fail(_changes: Sequence[Change[str]], _is_initial: bool) -> None:
    raise LookupError("no such shelf")


def pop(queue: Queue[str]) -> Popped | None:
    """The changes of the next pop."""
    handed: list[Popped] = []
    there_was_something = queue.pop(lambda changes, is_initial: handed.append((list(changes), is_initial)))
    assert there_was_something is bool(handed)
    return handed[0] if handed else None


def drain(queue: Queue[str]) -> list[Popped]:
    popped: list[Popped] = []
    while (each := pop(queue)) is not None:
        popped.append(each)
    return popped


def synced(queue: Queue[str]) -> Queue[str]:
    """The queue, its first list popped."""
    queue.replace({"default/first": "0"}, "1")
    while queue.pop(ignore):
        pass
    return queue


def added(key: str, version: str = "5") -> Delta[str]:
    return Delta(DeltaType.ADDED, key, f"{key} at {version}", version)


WRITES: dict[str, Callable[[Queue[str]], None]] = {
    "add": lambda queue: queue.add("a", "1", "1"),
    "update": lambda queue: queue.update("a", "1", "1"),
    "delete": lambda queue: queue.delete("a", "1", "1"),
    "replace": lambda queue: queue.replace({}, "1"),
    "resync": lambda queue: queue.resync(),
    "bookmark": lambda queue: queue.bookmark("1"),
}

both = pytest.mark.parametrize("make", [ChangeQueue[str], DeltaFIFO[str]])
Make: TypeAlias = Callable[[], Queue[str]]


# What both queues promise.


@both
def test_an_empty_queue_pops_nothing(make: Make) -> None:
    assert pop(make()) is None
    assert len(make()) == 0


@both
def test_popped_changes_are_removed(make: Make) -> None:
    queue = make()
    queue.add("a", "1", "1")
    assert len(queue) == 1

    assert pop(queue) == ([Delta(DeltaType.ADDED, "a", "1", "1")], False)
    assert len(queue) == 0
    assert pop(queue) is None


@both
@pytest.mark.parametrize("write", WRITES)
def test_a_closed_queue_rejects_every_addition(make: Make, write: str) -> None:
    queue = make()
    queue.close()

    with pytest.raises(ClosedError, match="takes no more changes"):
        WRITES[write](queue)
    assert len(queue) == 0


@both
def test_a_closed_queue_pops_the_remaining_changes_and_then_raises(make: Make) -> None:
    queue = make()
    queue.add("a", "1", "1")
    queue.close()
    queue.close()

    assert pop(queue) is not None
    for _ in range(2):
        with pytest.raises(ClosedError, match="everything in it has been popped"):
            queue.pop(ignore)


@both
def test_a_rejected_addition_does_not_make_it_synced(make: Make) -> None:
    queue = make()
    queue.close()

    with pytest.raises(ClosedError):
        queue.add("a", "1", "1")
    assert not queue.has_synced


@both
def test_an_error_of_the_process_function_passes_through_and_the_changes_are_removed(make: Make) -> None:
    queue = make()
    queue.add("a", "1", "1")

    with pytest.raises(LookupError, match="no such shelf"):
        queue.pop(fail)
    assert pop(queue) is None


@both
def test_the_sync_state_advances_even_if_the_process_function_raises(make: Make) -> None:
    queue = make()
    queue.replace({"a": "1"}, "1")

    with pytest.raises(LookupError):
        queue.pop(fail)
    assert queue.has_synced


@both
def test_it_has_synced_only_after_the_process_function_has_returned(make: Make) -> None:
    queue = make()
    queue.replace({"a": "1"}, "1")
    assert not queue.has_synced
    during: list[bool] = []

    queue.pop(lambda _changes, _is_initial: during.append(queue.has_synced))

    assert during == [False]
    assert queue.has_synced


@both
@pytest.mark.parametrize("write", ["add", "update", "delete"])
def test_a_queue_that_starts_with_a_change_waits_for_no_list(make: Make, write: str) -> None:
    queue = make()
    WRITES[write](queue)
    assert queue.has_synced
    while queue.pop(ignore):
        pass

    queue.replace({"b": "1"}, "2")
    assert queue.has_synced
    popped = drain(queue)
    assert popped
    assert not any(is_initial for _, is_initial in popped)


@both
@pytest.mark.parametrize("write", ["resync", "bookmark"])
def test_neither_a_resync_nor_a_bookmark_makes_it_synced(make: Make, write: str) -> None:
    queue = make()
    WRITES[write](queue)
    drain(queue)

    assert not queue.has_synced


@both
def test_once_synced_a_relist_is_not_initial(make: Make) -> None:
    queue = synced(make())
    queue.replace({"default/first": "2"}, "2")

    assert queue.has_synced
    assert [is_initial for _, is_initial in drain(queue)] == [False]


@both
def test_a_process_function_may_add_to_its_queue(make: Make) -> None:
    queue = make()
    queue.add("a", "1", "1")

    queue.pop(lambda _changes, _is_initial: queue.update("a", "2", "2"))

    assert pop(queue) == ([Delta(DeltaType.UPDATED, "a", "2", "2")], False)


@both
def test_a_deletion_records_whether_the_final_state_is_known(make: Make) -> None:
    queue = make()
    queue.add("a", "1", "1")
    queue.pop(lambda _changes, _is_initial: queue.add("a", "2", "2"))
    queue.delete("a", "2", "3", final_state_known=False)

    changes = [change for popped, _ in drain(queue) for change in popped]
    assert changes[-1] == Delta(DeltaType.DELETED, "a", "2", "3", final_state_known=False)


# The ordered queue.


def test_changes_are_popped_in_the_order_in_which_they_were_added() -> None:
    queue = ChangeQueue[str]()
    queue.replace({"a": "1"}, "1")
    queue.update("a", "2", "2")
    queue.add("b", "3", "3")
    queue.resync()
    queue.delete("a", "4", "4")
    queue.bookmark("5")
    queue.add("a", "6", "6")

    assert drain(queue) == [
        ([ReplacedAll({"a": "1"}, "1")], True),
        ([Delta(DeltaType.UPDATED, "a", "2", "2"), Delta(DeltaType.ADDED, "b", "3", "3")], False),
        ([SyncAll()], False),
        ([Delta(DeltaType.DELETED, "a", "4", "4")], False),
        ([Bookmark("5")], False),
        ([Delta(DeltaType.ADDED, "a", "6", "6")], False),
    ]


def test_a_batch_ends_before_a_repeated_key() -> None:
    queue = ChangeQueue[str]()
    for key in "abcacb":
        queue.update(key, "1", "1")

    keys = [[change.key for change in changes if isinstance(change, Delta)] for changes, _ in drain(queue)]
    assert keys == [["a", "b", "c"], ["a", "c", "b"]]


def test_a_batch_has_at_most_the_maximum_number_of_changes() -> None:
    queue = ChangeQueue[str](batch=2)
    for key in "abcde":
        queue.add(key, "1", "1")

    assert [len(changes) for changes, _ in drain(queue)] == [2, 2, 1]


def test_the_default_batch_size_is_a_thousand() -> None:
    queue = ChangeQueue[str]()
    for number in range(1500):
        queue.add(str(number), "1", "1")

    assert [len(changes) for changes, _ in drain(queue)] == [1000, 500]


@pytest.mark.parametrize("write", ["replace", "resync", "bookmark"])
def test_lists_resyncs_and_bookmarks_are_batches_of_one(write: str) -> None:
    queue = ChangeQueue[str]()
    queue.add("a", "1", "1")
    WRITES[write](queue)
    WRITES[write](queue)
    queue.add("b", "1", "1")

    assert [len(changes) for changes, _ in drain(queue)] == [1, 1, 1, 1]


def test_a_list_is_one_change_and_counts_as_one() -> None:
    queue = ChangeQueue[str]()
    items = {"a": "1", "b": "2"}
    queue.replace(items, "9", kept=frozenset({"c"}))

    assert len(queue) == 1
    assert pop(queue) == ([ReplacedAll(items, "9", "", frozenset({"c"}))], True)


def test_an_empty_list_must_be_popped_before_the_queue_has_synced() -> None:
    queue = ChangeQueue[str]()
    queue.replace({}, "9")
    assert not queue.has_synced

    assert pop(queue) == ([ReplacedAll({}, "9")], True)
    assert queue.has_synced


def test_a_deletion_of_an_unknown_object_is_popped() -> None:
    queue = ChangeQueue[str]()
    queue.delete("a", None, "")

    assert pop(queue) == ([Delta(DeltaType.DELETED, "a", None)], False)


def test_it_has_synced_when_every_scope_has_been_listed() -> None:
    queue = ChangeQueue[str](scopes=("left", "right"))
    queue.replace({"left/a": "1"}, "1", scope="left")
    drain(queue)
    queue.replace({"left/a": "2"}, "2", scope="left")
    drain(queue)
    assert not queue.has_synced

    queue.replace({"right/a": "1"}, "3", scope="right")
    drain(queue)
    assert queue.has_synced


def test_the_first_list_of_each_scope_is_initial_and_nothing_else() -> None:
    queue = ChangeQueue[str](scopes=("left", "right"))
    queue.replace({"left/a": "1"}, "1", scope="left")
    queue.update("left/a", "2", "2")
    queue.replace({"left/a": "2"}, "3", scope="left")
    queue.bookmark("4", scope="left")
    queue.replace({"right/a": "1"}, "1", scope="right")
    queue.replace({"right/a": "1"}, "2", scope="right")

    assert [is_initial for _, is_initial in drain(queue)] == [True, False, False, False, True, False]


def test_a_change_in_a_listed_scope_does_not_sync_another() -> None:
    queue = ChangeQueue[str](scopes=("left", "right"))
    queue.replace({}, "1", scope="left")
    queue.add("left/a", "2", "2")
    drain(queue)

    assert not queue.has_synced


def test_an_unknown_scope_is_rejected() -> None:
    queue = ChangeQueue[str](scopes=("left", "right"))

    with pytest.raises(InvalidValueError, match='no scope "", only "left", "right"'):
        queue.replace({}, "1")
    with pytest.raises(InvalidValueError, match='no scope "middle"'):
        queue.bookmark("1", scope="middle")
    assert len(queue) == 0


@pytest.mark.parametrize("scopes", [(), "default", ""])
def test_scopes_are_validated(scopes: tuple[str, ...] | str) -> None:
    with pytest.raises(InvalidValueError, match="names no scopes"):
        ChangeQueue[str](scopes=scopes)


@pytest.mark.parametrize("batch", [0, -1])
def test_a_batch_size_is_at_least_one(batch: int) -> None:
    with pytest.raises(InvalidValueError, match="give 1 or more"):
        ChangeQueue[str](batch=batch)


# Changes.


def test_the_repr_of_a_change_shows_no_secrets() -> None:
    delta = Delta(DeltaType.UPDATED, "default/key", "hunter2", "7")
    replaced = ReplacedAll({"default/key": "hunter2"}, "8", kept=frozenset({"default/odd"}))

    assert repr(delta) == "Delta(type='UPDATED', key='default/key', version='7', final_state_known=True)"
    assert repr(replaced) == "ReplacedAll(items=1, version='8', scope='', kept=1)"
    assert "hunter2" not in str(delta.__rich_repr__()) + str(replaced.__rich_repr__())


def test_changes_are_values() -> None:
    assert added("a") == added("a")
    assert added("a") != added("a", "6")
    assert len({added("a"), added("a"), added("b")}) == 2
    assert pickle.loads(pickle.dumps(added("a"))) == added("a")
    with pytest.raises(AttributeError):
        added("a").version = "6"  # type: ignore[misc]
