"""Where a watch goes on: one rule each. What follows from all of them together is in test_watching_model."""

from __future__ import annotations

import pytest

from masthead._sansio.backoff import Backoff
from masthead._sansio.watching import Fail, Open, State, Step, Watching
from masthead.errors import ClosedError


def never() -> float:
    return 0.0


def watching(version: str = "", *, initial_events: bool = False) -> Watching:
    return Watching(version, random=never, initial_events=initial_events)


def following(version: str = "7", *, now: float = 0.0) -> Watching:
    """A watch whose stream is open."""
    machine = watching(version)
    machine.opening(now)
    machine.opened()
    return machine


def after(step: Step) -> float:
    assert isinstance(step, Open)
    return step.after


def test_it_begins_where_it_is_told_to() -> None:
    assert watching("7").start() == Open("7", initial_events=False)
    assert watching().start() == Open("", initial_events=False)
    assert watching(initial_events=True).start() == Open("", initial_events=True)


def test_the_version_moves_with_every_event_and_every_bookmark() -> None:
    machine = following("7")
    for kind, version in [("ADDED", "8"), ("MODIFIED", "9"), ("DELETED", "11"), ("BOOKMARK", "20")]:
        machine.event(kind, version)
        assert machine.closed(0) == Open(version, initial_events=False)


def test_an_object_that_cannot_be_read_does_not_move_the_version_and_does_no_harm() -> None:
    machine = following("7")
    machine.event("ADDED", "8")
    machine.event("MODIFIED", "")

    assert machine.closed(0) == Open("8", initial_events=False)


def test_a_stream_that_ends_with_something_new_is_followed_at_once() -> None:
    machine = following("7", now=100)
    machine.event("ADDED", "8")

    assert after(machine.closed(100)) == 0


def test_streams_that_end_with_nothing_new_are_opened_once_a_second() -> None:
    machine = following("7", now=100)
    assert after(machine.closed(100.25)) == 0.75

    machine.opening(101)
    machine.opened()
    machine.event("BOOKMARK", "7")
    assert after(machine.closed(101.5)) == 0.5

    machine.opening(102)
    machine.opened()
    assert after(machine.closed(500)) == 0


def test_what_came_in_one_stream_says_nothing_about_the_next() -> None:
    machine = following("7", now=100)
    machine.event("ADDED", "8")
    assert after(machine.closed(100)) == 0

    machine.opening(100)
    machine.opened()
    assert after(machine.closed(100)) == 1


def test_failures_wait_longer_each_time_until_something_new_comes() -> None:
    machine = following("7")
    assert [after(machine.failed(0)) for _ in range(3)] == pytest.approx([0.8, 1.6, 3.2])

    machine.opening(10)
    machine.opened()
    assert after(machine.failed(10)) == pytest.approx(6.4)

    machine.opening(20)
    machine.opened()
    machine.event("ADDED", "8")
    assert after(machine.failed(20)) == pytest.approx(0.8)


def test_the_backoff_is_the_callers_to_choose() -> None:
    machine = Watching("7", random=lambda: 0.5, backoff=Backoff(first=1, cap=2, jitter=1))

    assert after(machine.failed(0)) == 1.5


@pytest.mark.parametrize("code", [0, 408, 429, 500, 503, 504])
def test_what_passes_is_tried_again_from_the_same_version(code: int) -> None:
    machine = watching("7")
    machine.opening(0)

    assert machine.failed(0, code=code) == Open("7", initial_events=False, after=0.8)


def test_what_no_repetition_helps_is_final_whatever_its_code() -> None:
    machine = watching("abc")
    machine.opening(0)

    assert machine.failed(0, code=500, is_final=True) == Fail(expired=False)
    assert machine.state is State.DONE


@pytest.mark.parametrize("code", [301, 400, 401, 403, 404, 405, 406, 422])
def test_what_the_server_refuses_is_final_as_an_answer_but_not_as_an_event(code: int) -> None:
    machine = watching("7")
    machine.opening(0)
    assert machine.failed(0, code=code) == Fail(expired=False)
    assert machine.state is State.DONE

    machine = following("7")
    assert machine.failed(0, code=code) == Open("7", initial_events=False, after=0.8)

    machine.opening(1)
    assert machine.failed(1, code=code) == Fail(expired=False)


@pytest.mark.parametrize(("code", "reason"), [(410, ""), (410, "Expired"), (410, "Gone"), (0, "Expired")])
@pytest.mark.parametrize("is_open", [True, False])
def test_a_forgotten_version_is_final_as_an_answer_and_as_an_event(
    code: int, reason: str, is_open: bool
) -> None:
    machine = watching("7")
    machine.opening(0)
    if is_open:
        machine.opened()

    assert machine.failed(0, code=code, reason=reason) == Fail(expired=True)


def test_the_server_is_left_alone_for_as_long_as_it_asks() -> None:
    assert after(following().failed(0, code=429, retry_after=17.0)) == 17
    assert after(following().failed(0, code=429, retry_after=0.0)) == 0.8


def test_but_not_for_hours() -> None:
    assert after(following().failed(0, code=503, retry_after=1e9)) == 300


def test_once_it_is_done_it_stays_done() -> None:
    machine = following()
    machine.failed(0, code=410)

    with pytest.raises(ClosedError, match="begin a new one"):
        machine.closed(0)
    with pytest.raises(ClosedError):
        machine.failed(0, code=500)
    assert machine.failed(0, code=410) == Fail(expired=True)


def test_initial_events_cannot_be_gone_on_from_before_the_mark() -> None:
    machine = watching(initial_events=True)
    machine.opening(0)
    machine.opened()
    for kind, version in [("ADDED", "9"), ("ADDED", "4"), ("MODIFIED", "10"), ("BOOKMARK", "11")]:
        machine.event(kind, version)
        assert machine.state is State.INITIAL

    assert machine.failed(0) == Open("", initial_events=True, after=0.8, restarts=True)


def test_after_the_mark_the_watch_goes_on_without_asking_for_them_again() -> None:
    machine = watching(initial_events=True)
    machine.opening(0)
    machine.opened()
    machine.event("ADDED", "9")
    machine.event("BOOKMARK", "12", ends_initial=True)

    assert machine.state is State.FOLLOWING
    assert machine.closed(0) == Open("12", initial_events=False)


def test_initial_events_that_end_too_early_are_a_failure_however_orderly() -> None:
    machine = watching("5", initial_events=True)
    for delay in (0.8, 1.6, 3.2):
        machine.opening(0)
        machine.opened()
        machine.event("ADDED", "9")
        assert machine.closed(0) == Open("5", initial_events=True, after=delay, restarts=True)


@pytest.mark.parametrize("version", ["", "0"])
@pytest.mark.parametrize("kind", ["MODIFIED", "DELETED", "BOOKMARK"])
def test_without_a_mark_the_first_event_that_is_no_addition_can_be_gone_on_from(
    version: str, kind: str
) -> None:
    machine = watching(version)
    machine.opening(0)
    machine.opened()
    machine.event("ADDED", "9")
    machine.event("ADDED", "4")
    assert machine.closed(0) == Open(version, initial_events=False, after=1.0, restarts=True)

    machine.event(kind, "")
    assert machine.state is State.INITIAL

    machine.event(kind, "11")
    machine.event("ADDED", "12")
    assert machine.closed(0) == Open("12", initial_events=False)
