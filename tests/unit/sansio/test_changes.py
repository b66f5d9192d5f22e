"""Changes, and what every queue of them promises."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import TypeAlias

import pytest

from masthead._sansio.changes import (
    Change,
    Delta,
    DeltaType,
    Queue,
    ReplacedAll,
)
from masthead._sansio.deltafifo import DeltaFIFO
from masthead.errors import ClosedError

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

every_queue = pytest.mark.parametrize("make", [DeltaFIFO[str]])
Make: TypeAlias = Callable[[], Queue[str]]


# What every queue promises.


@every_queue
def test_an_empty_queue_pops_nothing(make: Make) -> None:
    assert pop(make()) is None
    assert len(make()) == 0


@every_queue
def test_popped_changes_are_removed(make: Make) -> None:
    queue = make()
    queue.add("a", "1", "1")
    assert len(queue) == 1

    assert pop(queue) == ([Delta(DeltaType.ADDED, "a", "1", "1")], False)
    assert len(queue) == 0
    assert pop(queue) is None


@every_queue
@pytest.mark.parametrize("write", WRITES)
def test_a_closed_queue_rejects_every_addition(make: Make, write: str) -> None:
    queue = make()
    queue.close()

    with pytest.raises(ClosedError, match="takes no more changes"):
        WRITES[write](queue)
    assert len(queue) == 0


@every_queue
def test_a_closed_queue_pops_the_remaining_changes_and_then_raises(make: Make) -> None:
    queue = make()
    queue.add("a", "1", "1")
    queue.close()
    queue.close()

    assert pop(queue) is not None
    for _ in range(2):
        with pytest.raises(ClosedError, match="everything in it has been popped"):
            queue.pop(ignore)


@every_queue
def test_a_rejected_addition_does_not_make_it_synced(make: Make) -> None:
    queue = make()
    queue.close()

    with pytest.raises(ClosedError):
        queue.add("a", "1", "1")
    assert not queue.has_synced


@every_queue
def test_an_error_of_the_process_function_passes_through_and_the_changes_are_removed(make: Make) -> None:
    queue = make()
    queue.add("a", "1", "1")

    with pytest.raises(LookupError, match="no such shelf"):
        queue.pop(fail)
    assert pop(queue) is None


@every_queue
def test_the_sync_state_advances_even_if_the_process_function_raises(make: Make) -> None:
    queue = make()
    queue.replace({"a": "1"}, "1")

    with pytest.raises(LookupError):
        queue.pop(fail)
    assert queue.has_synced


@every_queue
def test_it_has_synced_only_after_the_process_function_has_returned(make: Make) -> None:
    queue = make()
    queue.replace({"a": "1"}, "1")
    assert not queue.has_synced
    during: list[bool] = []

    queue.pop(lambda _changes, _is_initial: during.append(queue.has_synced))

    assert during == [False]
    assert queue.has_synced


@every_queue
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


@every_queue
@pytest.mark.parametrize("write", ["resync", "bookmark"])
def test_neither_a_resync_nor_a_bookmark_makes_it_synced(make: Make, write: str) -> None:
    queue = make()
    WRITES[write](queue)
    drain(queue)

    assert not queue.has_synced


@every_queue
def test_once_synced_a_relist_is_not_initial(make: Make) -> None:
    queue = synced(make())
    queue.replace({"default/first": "2"}, "2")

    assert queue.has_synced
    assert [is_initial for _, is_initial in drain(queue)] == [False]


@every_queue
def test_a_process_function_may_add_to_its_queue(make: Make) -> None:
    queue = make()
    queue.add("a", "1", "1")

    queue.pop(lambda _changes, _is_initial: queue.update("a", "2", "2"))

    assert pop(queue) == ([Delta(DeltaType.UPDATED, "a", "2", "2")], False)


@every_queue
def test_a_deletion_records_whether_the_final_state_is_known(make: Make) -> None:
    queue = make()
    queue.add("a", "1", "1")
    queue.pop(lambda _changes, _is_initial: queue.add("a", "2", "2"))
    queue.delete("a", "2", "3", final_state_known=False)

    changes = [change for popped, _ in drain(queue) for change in popped]
    assert changes[-1] == Delta(DeltaType.DELETED, "a", "2", "3", final_state_known=False)


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
