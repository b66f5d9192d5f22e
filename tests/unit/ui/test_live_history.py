"""The history of a live cluster: what it remembers, and what it forgets."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from masthead._recording.entries import Reconcile
from masthead._ui.history import HeldKind
from masthead._ui.live_history import LiveHistory

if TYPE_CHECKING:
    from masthead._recording.entries import Operation

MAPS = HeldKind("", "v1", "ConfigMap", "configmaps", short_names=("cm",))


def history_of(max_changes: int = 1_000, max_bytes: int = 1 << 20) -> LiveHistory:
    times = itertools.count(1_000, 10)
    made = LiveHistory(lambda: next(times), max_changes=max_changes, max_bytes=max_bytes)
    made.add_kind(MAPS)
    return made


def put(history: LiveHistory, name: str, value: int, operation: Operation = "MODIFIED") -> int:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": str(value)}}
    return history.add(0, "", name, operation, msgspec.json.encode(obj))


def state_at(history: LiveHistory, position: int) -> dict[str, str]:
    """The value of each object at a position."""
    found: dict[str, str] = {}
    for number, state in history.present(position):
        key = history.key(number)
        assert key is not None
        found[key.name] = history.plain(number, state)["data"]["value"]
    return found


def test_every_moment_has_its_state() -> None:
    history = history_of()
    put(history, "a", 1, "STATE")
    put(history, "b", 2, "ADDED")
    put(history, "a", 3)
    put(history, "b", 2, "DELETED")

    assert [state_at(history, position) for position in range(4)] == [
        {"a": "1"},
        {"a": "1", "b": "2"},
        {"a": "3", "b": "2"},
        {"a": "3"},
    ]
    assert history.before(2) == 0
    assert list(history.ticks[0]) == [1, 2, 3]


def test_a_time_between_two_changes_belongs_to_the_first() -> None:
    history = history_of()
    first, second = put(history, "a", 1, "STATE"), put(history, "a", 2)
    between = (history.version(first).time + history.version(second).time) // 2
    assert history.at_time(between) == first
    assert history.at_time(history.version(second).time) == second
    assert history.at_time(0) == first


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["MODIFIED", "DELETED"])), min_size=1, max_size=80),
    st.integers(2, 20),
)
def test_what_is_forgotten_leaves_the_states_that_are_remembered(changes: list[tuple[str, str]], most: int) -> None:
    short, whole = history_of(max_changes=most), history_of()
    for value, (name, operation) in enumerate(changes):
        for history in (short, whole):
            put(history, name, value, operation)  # type: ignore[arg-type]

    assert short.latest == whole.latest
    assert short.latest - short.first < most
    for position in range(short.first, short.latest + 1):
        assert state_at(short, position) == state_at(whole, position)
    assert all(position >= short.first for position in short.ticks[0])
    for number in short.numbers():
        assert sum(version.position < short.first for version in short.versions(number)) <= 1


def test_old_states_take_bounded_memory() -> None:
    history = history_of(max_bytes=2_000)
    put(history, "quiet", 0, "STATE")
    for value in range(500):
        put(history, "busy", value)
    assert history.past_bytes <= 2_000
    assert 0 < history.latest - history.first < 100
    assert state_at(history, history.first)["quiet"] == "0"


def test_objects_that_come_and_go_are_forgotten() -> None:
    history = history_of(max_changes=20)
    for value in range(200):
        put(history, f"job-{value}", value, "ADDED")
        put(history, f"job-{value}", value, "DELETED")
    # Of each of the last changes, an object may be known.
    assert len(list(history.numbers())) <= 20
    put(history, "last", 1, "ADDED")
    assert state_at(history, history.latest) == {"last": "1"}


def reconcile(name: str, time: int) -> Reconcile:
    return Reconcile(time=time, controller="settings", name=name, began=time)


def test_reconciles_keep_their_numbers_when_the_oldest_are_forgotten() -> None:
    history = LiveHistory(lambda: 0, max_reconciles=20)
    for number in range(100):
        history.add_reconcile(reconcile(f"a{number}", 1_000 + number))
        assert len(history.reconciles) <= 20
    first = history.first_reconcile
    assert first + len(history.reconciles) == 100
    assert [history.reconcile(number).name for number in (first, 99)] == [f"a{first}", "a99"]


def test_reconciles_are_bounded_in_bytes() -> None:
    history = LiveHistory(lambda: 0, max_reconcile_bytes=10_000)
    for number in range(100):
        history.add_reconcile(reconcile("a" * 500, number))
    assert 10 < len(history.reconciles) < 20


def test_reconciles_are_in_order_although_the_clock_is_set_back() -> None:
    history = LiveHistory(lambda: 0)
    for time in (2_000, 1_000):
        history.add_reconcile(reconcile("a", time))
    assert list(history.reconciles) == [2_000, 2_000]
    assert history.reconcile(1).began == 1_000
