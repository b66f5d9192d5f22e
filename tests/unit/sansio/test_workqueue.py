"""The state of a work queue, rule by rule. Random sequences are in test_workqueue_model."""

from __future__ import annotations

import contextvars
import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._sansio import randomness
from masthead._sansio.key_order import make_chooser
from masthead._sansio.workqueue import LOW_PRIORITY, WorkQueueState
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

    from masthead._sansio.key_order import KeyOrder


def filled(keys: Iterable[str], priority: int = 0) -> WorkQueueState[str]:
    state = WorkQueueState[str]()
    for key in keys:
        state.add(key, 0.0, priority)
    return state


def take_all(state: WorkQueueState[str], now: float = 0.0) -> list[str]:
    taken: list[str] = []
    while (key := state.take(now)) is not None:
        taken.append(key)
        state.done(key)
    return taken


def test_keys_come_out_in_the_order_in_which_they_were_added_each_once() -> None:
    assert take_all(filled("abacab")) == ["a", "b", "c"]


def test_an_empty_queue_hands_out_nothing() -> None:
    assert WorkQueueState[str]().take(0.0) is None


def test_a_key_in_processing_is_not_handed_out_until_it_is_done() -> None:
    state = filled("a")
    assert state.take(0.0) == "a"

    assert not state.add("a", 1.0)
    assert state.take(1.0) is None
    assert state.done("a")
    assert state.take(2.0) == "a"
    assert not state.done("a")
    assert state.take(3.0) is None


def test_a_key_added_twice_while_processed_is_handed_out_once_more() -> None:
    state = filled("a")
    state.take(0.0)
    state.add("a", 1.0)
    state.add("a", 2.0)
    state.done("a")

    assert take_all(state, 3.0) == ["a"]


def test_a_key_added_during_processing_queues_behind_others_with_its_highest_priority() -> None:
    state = filled("a")
    state.take(0.0)
    state.add("a", 1.0, LOW_PRIORITY)
    state.add("b", 2.0)
    state.done("a")
    assert take_all(state) == ["b", "a"]

    state.add("a", 3.0)
    state.take(3.0)
    state.add("a", 4.0, 5)
    state.add("a", 4.0, LOW_PRIORITY)
    state.add("b", 4.0)
    state.done("a")
    assert take_all(state) == ["a", "b"]


def test_only_a_key_in_processing_can_be_done() -> None:
    state = filled("a")
    for key in ("a", "b"):
        with pytest.raises(ArgumentError, match=f"'{key}' is not being processed"):
            state.done(key)

    assert take_all(state) == ["a"]


def test_done_twice_does_not_enqueue_a_ready_key_twice() -> None:
    state = filled("a")
    state.take(0.0)
    state.add("a", 0.0)
    state.done("a")
    with pytest.raises(ArgumentError):
        state.done("a")

    assert take_all(state) == ["a"]


def test_higher_priorities_come_first_with_fifo_order_within_one() -> None:
    state = WorkQueueState[str]()
    for key, priority in [("l1", LOW_PRIORITY), ("n1", 0), ("h1", 7), ("l2", LOW_PRIORITY), ("n2", 0)]:
        state.add(key, 0.0, priority)

    assert state.count_by_priority() == {7: 1, 0: 2, LOW_PRIORITY: 2}
    assert take_all(state) == ["h1", "n1", "n2", "l1", "l2"]


@pytest.mark.parametrize(("first", "second"), [(LOW_PRIORITY, 0), (LOW_PRIORITY, -1), (0, 3), (2, 3)])
def test_a_higher_priority_replaces_a_lower_one_and_not_the_other_way_round(first: int, second: int) -> None:
    for one, other in ((first, second), (second, first)):
        state = filled("a", one)
        state.add("a", 1.0, other)
        assert state.count_by_priority() == {second: 1}
        assert state.oldest == ("a", 0.0)  # it has waited since it was added first


def test_ageing_takes_the_oldest_key_periodically() -> None:
    state = WorkQueueState[str](oldest_every=3)
    for key in ("l1", "l2"):
        state.add(key, 0.0, LOW_PRIORITY)
    taken: list[str | None] = []
    for number in range(8):
        state.add(f"n{number}", 1.0 + number)
        taken.append(state.take(1.0 + number))

    assert taken == ["n0", "n1", "l1", "n2", "n3", "l2", "n4", "n5"]


def test_the_oldest_may_have_the_highest_priority() -> None:
    state = WorkQueueState[str](oldest_every=2)
    state.add("high", 0.0, 1)
    state.add("higher", 1.0, 1)
    state.add("low", 2.0, -1)

    assert take_all(state) == ["high", "higher", "low"]


@pytest.mark.parametrize("every", [1, 0, -3])
def test_ageing_must_leave_a_turn_for_priorities(every: int) -> None:
    with pytest.raises(ArgumentError, match="oldest_every must be at least 2"):
        WorkQueueState[str](every)


def test_a_delayed_key_becomes_ready_when_its_delay_ends_and_not_before() -> None:
    state = WorkQueueState[str]()
    assert state.add_after("a", 5.0, 10.0)

    assert state.next_time() == 15.0
    assert (len(state), state.delayed, state.is_idle) == (0, 1, True)
    assert state.take(14.9) is None
    assert state.take(15.0) == "a"
    assert state.ready_since == 15.0
    assert state.next_time() is None


def test_delayed_keys_come_out_in_the_order_in_which_their_delays_end() -> None:
    state = WorkQueueState[str]()
    for key, delay in [("late", 1.0), ("middle", 0.5), ("early", 0.25)]:
        state.add_after(key, delay, 10.0)

    assert take_all(state, 12.0) == ["early", "middle", "late"]


@pytest.mark.parametrize("delay", [0.0, -1.0])
def test_a_delay_of_zero_makes_a_key_ready(delay: float) -> None:
    state = WorkQueueState[str]()
    assert state.add_after("a", delay, 0.0)

    assert state.take(0.0) == "a"


@pytest.mark.parametrize("delays", [(5.0, 2.0), (2.0, 5.0)])
def test_the_earlier_of_two_delays_wins(delays: tuple[float, float]) -> None:
    state = WorkQueueState[str]()
    for delay in delays:
        state.add_after("a", delay, 0.0)

    assert state.next_time() == 2.0
    assert take_all(state, 2.0) == ["a"]
    assert take_all(state, 5.0) == []


def test_two_delays_merge_into_the_higher_priority() -> None:
    state = WorkQueueState[str]()
    state.add_after("a", 2.0, 0.0, LOW_PRIORITY)
    state.add_after("a", 5.0, 0.0, 3)
    state.promote(2.0)

    assert state.count_by_priority() == {3: 1}


def test_a_key_added_now_drops_its_delay_and_keeps_the_higher_priority() -> None:
    state = WorkQueueState[str]()
    state.add_after("a", 5.0, 0.0, 3)
    assert state.add("a", 1.0)

    assert state.next_time() is None
    assert state.count_by_priority() == {3: 1}
    assert take_all(state, 1.0) == ["a"]
    assert take_all(state, 5.0) == []


def test_a_delay_of_a_ready_or_dirty_key_only_raises_its_priority() -> None:
    state = filled("ab")
    state.add_after("b", 5.0, 0.0, 1)
    assert state.take(0.0) == "b"
    state.add("b", 0.0)
    state.add_after("b", 5.0, 0.0, 2)
    state.done("b")

    assert state.next_time() is None
    assert state.count_by_priority() == {2: 1, 0: 1}


def test_a_delay_that_ends_during_processing_makes_the_key_ready_again() -> None:
    state = filled("a")
    state.take(0.0)
    state.add_after("a", 1.0, 0.0)

    assert state.promote(1.0) == 0
    assert state.take(2.0) is None
    assert state.done("a")
    assert state.take(2.0) == "a"
    assert state.ready_since == 1.0


def test_the_delay_of_a_key_in_processing_outlasts_it() -> None:
    state = filled("a")
    state.take(0.0)
    state.add_after("a", 5.0, 0.0)
    assert not state.done("a")

    assert state.take(4.0) is None
    assert state.take(5.0) == "a"


def test_only_an_earlier_end_of_a_delay_needs_another_timer() -> None:
    state = WorkQueueState[str]()

    assert state.add_after("a", 5.0, 0.0)
    assert not state.add_after("b", 6.0, 0.0)
    assert state.add_after("b", 4.0, 0.0)
    assert not state.add_after("b", 4.0, 0.0)


@pytest.mark.parametrize("delay", [math.nan, math.inf, -math.inf])
def test_a_delay_must_be_finite(delay: float) -> None:
    with pytest.raises(ArgumentError, match="cannot be added after"):
        WorkQueueState[str]().add_after("a", delay, 0.0)


def test_none_is_no_key() -> None:
    state = WorkQueueState[str | None]()
    with pytest.raises(ArgumentError, match="must not be None"):
        state.add(None, 0.0)
    with pytest.raises(ArgumentError, match="must not be None"):
        state.add_after(None, 1.0, 0.0)


def test_delays_that_are_replaced_again_and_again_take_no_room() -> None:
    state = WorkQueueState[int]()
    for number in range(10_000):
        state.add_after(number % 3, 10_000.0 - number, 0.0)
    assert len(state._heap) < 100

    for number in range(10_000):
        state.add_after(number, 1.0, 0.0)
        state.discard(number)
    assert len(state._heap) < 100
    assert state.delayed == 0


def test_processed_keys_leave_no_state() -> None:
    state, again = WorkQueueState[int](), set(range(0, 1_000, 2))
    for number in range(1_000):
        state.add(number, 0.0, number % 50)
        state.add_after(number, number % 7, 0.0, number % 11)
    while (key := state.take(10.0)) is not None:
        if key in again:
            again.remove(key)
            state.add(key, 10.0, key % 5)
        state.done(key)

    assert [var for var in vars(state).values() if isinstance(var, dict | list) and var] == []


def test_after_closing_keys_are_handed_out_but_none_is_accepted_and_delays_are_dropped() -> None:
    state = filled("ab")
    state.add_after("c", 1.0, 0.0)
    state.close()

    assert not state.add("d", 0.0)
    assert not state.add_after("e", 1.0, 0.0)
    before, taken = state.is_exhausted, take_all(state, 9.0)
    assert (before, taken) == (False, ["a", "b"])
    assert (state.is_exhausted, state.is_idle) == (True, True)


def test_a_key_that_was_dirty_when_the_queue_was_closed_is_handed_out_again() -> None:
    state = filled("a")
    state.take(0.0)
    state.add("a", 0.0)
    state.close()

    assert (state.is_exhausted, state.is_idle) == (False, False)
    state.done("a")
    assert take_all(state) == ["a"]


@pytest.mark.parametrize("priority", [0, 5])
def test_a_discarded_key_is_not_handed_out(priority: int) -> None:
    state = filled("ab", priority)
    state.add_after("c", 1.0, 0.0)

    assert [state.discard(key) for key in "acd"] == [True, True, False]
    assert take_all(state, 2.0) == ["b"]


def test_a_discarded_key_in_processing_is_done_as_usual_and_not_handed_out_again() -> None:
    state = filled("a")
    state.take(0.0)
    assert not state.discard("a")
    state.add("a", 0.0)
    assert state.discard("a")

    assert not state.done("a")
    assert state.take(0.0) is None


def test_clear_drops_waiting_keys_and_leaves_processed_ones() -> None:
    state = filled("abc")
    state.take(0.0)
    state.add("a", 0.0)
    state.add("high", 0.0, 5)
    state.add_after("later", 1.0, 0.0)

    assert state.clear() == 5
    assert (state.take(2.0), state.in_flight) == (None, {"a": 0.0})
    assert not state.done("a")
    assert state.take(2.0) is None


def test_the_priority_of_a_key_in_processing_is_known_until_it_is_done() -> None:
    state = filled("a", LOW_PRIORITY)
    state.take(0.0)
    assert state.priority_of("a") == LOW_PRIORITY

    state.done("a")
    assert state.priority_of("a") == 0


def test_all_times_can_be_moved_to_another_clock() -> None:
    state = filled("ab")
    state.add("low", 1.0, LOW_PRIORITY)
    state.take(2.0)
    state.add("a", 3.0)
    state.add_after("c", 5.0, 3.0)
    state.rebase(100.0)

    assert state.in_flight == {"a": 102.0}
    assert state.oldest == ("b", 100.0)
    assert state.next_time() == 108.0
    state.done("a")
    assert [(state.take(108.0), state.ready_since) for _ in range(4)] == [
        ("b", 100.0),
        ("a", 103.0),
        ("c", 108.0),
        ("low", 101.0),
    ]


def test_another_order_of_keys_keeps_priorities() -> None:
    state = filled("abc")
    state.add("urgent", 0.0, 1)
    state.choose = make_chooser("lifo")

    assert take_all(state) == ["urgent", "c", "b", "a"]


@pytest.mark.parametrize("order", ["fifo", "lifo", "random"])
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0, 0, 1, LOW_PRIORITY])), max_size=40),
    st.integers(2, 6),
    st.randoms(use_true_random=False),
)
def test_no_key_waits_for_ever_in_any_order(
    order: KeyOrder, steps: list[tuple[int, int]], every: int, source: random.Random
) -> None:
    state = WorkQueueState[int](every)
    context = contextvars.copy_context()
    context.run(randomness.use_source, source)
    state.choose = make_chooser(order)
    # How many others may be taken before each waiting key.
    limits: dict[int, int] = {}
    for number, (takes, priority) in enumerate([*steps, *((1, 0) for _ in range(300))], 1):
        if number <= len(steps):
            limits[number] = every * (len(limits) + 1)
            state.add(number, float(number), priority)
        for _ in range(takes):
            taken = context.run(state.take, float(number))
            if taken is None:
                break
            state.done(taken)
            limits.pop(taken)
            limits = {key: left - 1 for key, left in limits.items()}
            assert all(left >= 0 for left in limits.values())
    assert not limits
