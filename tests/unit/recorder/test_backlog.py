"""The queue between event loops and the thread of a recorder."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from masthead._recorder.backlog import Backlog


def taken(backlog: Backlog[str]) -> list[str]:
    items = backlog.take(0).items
    for _, weight in items:
        backlog.release(weight)
    return [item for item, _ in items]


def test_items_are_taken_in_order() -> None:
    backlog: Backlog[str] = Backlog(100)
    assert backlog.put("a", 10)
    backlog.insert("b")
    assert backlog.put("c", 10)
    assert taken(backlog) == ["a", "b", "c"]


def test_items_in_work_still_count() -> None:
    backlog: Backlog[str] = Backlog(100)
    backlog.put("a", 60)
    items = backlog.take(0).items
    assert not backlog.put("b", 60)
    assert len(items) == 1


def test_nothing_is_admitted_after_a_loss_until_the_state_is_whole_again() -> None:
    backlog: Backlog[str] = Backlog(100)
    assert backlog.put("a", 90)
    assert not backlog.put("too much", 20, changes=3)
    # It would fit, but follows a hole.
    assert not backlog.put("small", 1)
    assert taken(backlog) == ["a"]
    assert not backlog.put("still refused", 1)
    assert backlog.is_low
    assert backlog.readmit() == 5
    assert backlog.put("b", 1)
    assert taken(backlog) == ["b"]


def test_closed_backlog_can_be_emptied() -> None:
    backlog: Backlog[str] = Backlog(100)
    backlog.put("a", 1)
    backlog.close()
    assert not backlog.put("b", 1)
    first, second = backlog.take(None), backlog.take(None)
    assert (len(first.items), len(second.items), second.is_closed) == (1, 0, True)


@given(st.lists(st.tuples(st.integers(0, 150), st.booleans())))
def test_waiting_items_never_weigh_more_than_the_limit(steps: list[tuple[int, bool]]) -> None:
    backlog: Backlog[int] = Backlog(100)
    waiting = 0
    for weight, takes in steps:
        if backlog.put(weight, weight):
            waiting += weight
        assert waiting <= 100
        if takes:
            for _, released in backlog.take(0).items:
                backlog.release(released)
            waiting = 0
            backlog.readmit()
