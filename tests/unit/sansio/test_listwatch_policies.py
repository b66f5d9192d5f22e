"""Watches that do not relist (FOLLOW_ONLY, STATE_FIRST), rule by rule; see also test_listwatch_policies_model."""

from __future__ import annotations

from typing import Any

import pytest

from masthead._sansio.backoff import Backoff
from masthead._sansio.listwatch import ListWatchMachine
from masthead._sansio.listwatch_steps import Fail, Failure, List, Phase, Policy, Step, Stream
from masthead.errors import ClosedError, ProtocolError


def never() -> float:
    return 0.0


def watching(version: str = "", *, initial_events: bool = False) -> ListWatchMachine:
    policy = Policy.STATE_FIRST if initial_events else Policy.FOLLOW_ONLY
    return ListWatchMachine(random=never, policy=policy, version=version, silence_limit=90)


def stream(version: str, *, after: float = 0.0, restarts: bool = False) -> Stream:
    return Stream(version, initial_events=False, seconds=300, after=after, restarts=restarts)


def initial(version: str = "", *, after: float = 0.0) -> Stream:
    return Stream(version, initial_events=True, seconds=300, after=after, restarts=True)


def failed(machine: ListWatchMachine, now: float = 0, **failure: Any) -> Step:
    return machine.failed(now, Failure(**failure))


def following(version: str = "7", *, now: float = 0.0) -> ListWatchMachine:
    """A watch whose stream is open."""
    machine = watching(version)
    machine.begin(now)
    machine.opened()
    return machine


def after(step: Step) -> float:
    assert isinstance(step, Stream)
    return step.after


def test_it_starts_at_the_given_resource_version() -> None:
    assert watching("7").start() == stream("7")
    assert watching().start() == stream("")
    assert watching(initial_events=True).start() == initial("")


def test_the_version_advances_with_every_event_and_every_bookmark() -> None:
    machine = following("7")
    for kind, version in [("ADDED", "8"), ("MODIFIED", "9"), ("DELETED", "11"), ("BOOKMARK", "20")]:
        machine.event(kind, version)
        assert machine.closed(0) == stream(version)


def test_an_undecodable_object_does_not_advance_the_version() -> None:
    machine = following("7")
    machine.event("ADDED", "8")
    machine.event("MODIFIED", "")

    assert machine.closed(0) == stream("8")


def test_a_watch_that_ends_after_new_events_is_reopened_immediately() -> None:
    machine = following("7", now=100)
    machine.event("ADDED", "8")

    assert after(machine.closed(100)) == 0


def test_short_watches_without_events_are_reopened_with_growing_delays() -> None:
    machine = following("7", now=100)
    assert after(machine.closed(100.25)) == 0.8

    machine.begin(101)
    machine.opened()
    machine.event("BOOKMARK", "7")
    assert after(machine.closed(101.5)) == 1.6

    machine.begin(102)
    machine.opened()
    assert after(machine.closed(103)) == 0


@pytest.mark.parametrize("lasted", [1, 5, 50])
@pytest.mark.parametrize("silent", [True, False])
def test_an_accepted_watch_that_lasted_a_second_is_resumed_immediately(lasted: float, silent: bool) -> None:
    machine = following("7", now=100)
    for _ in range(5):
        assert failed(machine, 100 + lasted, silent=silent) == stream("7")
        machine.begin(100)
        machine.opened()


def test_events_of_one_watch_do_not_count_for_the_next() -> None:
    machine = following("7", now=100)
    machine.event("ADDED", "8")
    assert after(machine.closed(100)) == 0

    machine.begin(100)
    machine.opened()
    assert after(machine.closed(100)) == 0.8


def test_failure_delays_grow_until_a_new_event_arrives() -> None:
    machine = following("7")
    assert [after(failed(machine, 0)) for _ in range(3)] == pytest.approx([0.8, 1.6, 3.2])

    machine.begin(10)
    machine.opened()
    assert after(failed(machine, 10)) == pytest.approx(6.4)

    machine.begin(20)
    machine.opened()
    machine.event("ADDED", "8")
    assert after(failed(machine, 20.25)) == pytest.approx(0.75)


def test_the_backoff_is_configurable() -> None:
    machine = ListWatchMachine(
        random=lambda: 0.5,
        policy=Policy.FOLLOW_ONLY,
        version="7",
        backoff=Backoff(first=1, cap=2, jitter=1),
    )

    assert after(failed(machine, 0)) == 1.5


@pytest.mark.parametrize("code", [0, 408, 429, 500, 503, 504])
def test_a_transient_error_is_retried_from_the_same_version(code: int) -> None:
    machine = watching("7")
    machine.begin(0)

    assert failed(machine, 0, code=code) == stream("7", after=0.8)


def test_a_permanent_error_is_final_whatever_its_code() -> None:
    machine = watching("abc")
    machine.begin(0)

    assert failed(machine, 0, code=500, is_final=True) == Fail(is_expired=False)
    assert machine.phase is Phase.DONE


@pytest.mark.parametrize("code", [301, 400, 401, 403, 404, 405, 406, 422])
def test_a_rejection_is_final_as_a_response_but_not_as_an_error_event(code: int) -> None:
    machine = watching("7")
    machine.begin(0)
    assert failed(machine, 0, code=code) == Fail(is_expired=False)
    assert machine.phase is Phase.DONE

    machine = following("7")
    assert failed(machine, 0, code=code) == stream("7", after=0.8)

    machine.begin(1)
    assert failed(machine, 1, code=code) == Fail(is_expired=False)


@pytest.mark.parametrize(("code", "reason"), [(410, ""), (410, "Expired"), (410, "Gone"), (0, "Expired")])
@pytest.mark.parametrize("is_open", [True, False])
def test_an_expired_version_is_final_as_a_response_and_as_an_error_event(code: int, reason: str, is_open: bool) -> None:
    machine = watching("7")
    machine.begin(0)
    if is_open:
        machine.opened()

    assert failed(machine, 0, code=code, reason=reason) == Fail(is_expired=True)


def test_retry_after_is_respected() -> None:
    assert after(failed(following(), 0, code=429, retry_after=17.0)) == 17
    assert after(failed(following(), 0, code=429, retry_after=0.0)) == 0.8


def test_retry_after_is_capped() -> None:
    assert after(failed(following(), 0, code=503, retry_after=1e9)) == 300


def test_a_finished_watch_stays_finished() -> None:
    machine = following()
    failed(machine, 0, code=410)

    with pytest.raises(ClosedError, match="begin a new one"):
        machine.closed(0)
    with pytest.raises(ClosedError):
        failed(machine, 0, code=500)
    with pytest.raises(ClosedError):
        failed(machine, 0, code=410)


def test_initial_events_cannot_be_resumed_before_their_bookmark() -> None:
    machine = watching(initial_events=True)
    machine.begin(0)
    machine.opened()
    for kind, version in [("ADDED", "9"), ("ADDED", "4"), ("MODIFIED", "10"), ("BOOKMARK", "11")]:
        machine.event(kind, version)
        assert machine.phase is Phase.STREAMING

    assert failed(machine, 0) == initial("", after=0.8)


def test_after_the_bookmark_the_watch_resumes_without_initial_events() -> None:
    machine = watching(initial_events=True)
    machine.begin(0)
    machine.opened()
    machine.event("ADDED", "9")
    machine.event("BOOKMARK", "12", ends_initial=True)

    assert machine.phase is Phase.FOLLOWING
    assert machine.closed(0) == stream("12")


def test_initial_events_that_end_too_early_are_a_failure_even_after_a_clean_end() -> None:
    machine = watching("5", initial_events=True)
    for delay in (0.8, 1.6, 3.2):
        machine.begin(0)
        machine.opened()
        machine.event("ADDED", "9")
        assert machine.closed(0) == initial("5", after=delay)


@pytest.mark.parametrize("version", ["", "0"])
@pytest.mark.parametrize("kind", ["MODIFIED", "DELETED", "BOOKMARK"])
def test_without_a_bookmark_the_watch_can_be_resumed_from_the_first_event_that_is_not_added(
    version: str, kind: str
) -> None:
    machine = watching(version)
    machine.begin(0)
    machine.opened()
    machine.event("ADDED", "9")
    machine.event("ADDED", "4")
    assert machine.closed(0) == stream(version, after=0.8, restarts=True)

    machine.event(kind, "")
    assert machine.version == version

    machine.event(kind, "11")
    machine.event("ADDED", "12")
    assert machine.closed(0) == stream("12")


@pytest.mark.parametrize("failure", [{"code": 400}, {"code": 422}, {"silent": True}])
def test_a_server_without_initial_events_is_listed_at_the_newest_version_and_then_followed(
    failure: dict[str, Any],
) -> None:
    machine = watching(initial_events=True)
    machine.begin(0)
    assert failed(machine, 0, **failure) == List("", 500, restarts=True)
    assert not machine.initial_events

    assert machine.page("", "next") == List("", 500, "next")
    assert machine.page("7", "") == stream("7")
    assert machine.version == "7"


def test_a_failed_list_is_restarted_and_never_replaced_by_initial_events() -> None:
    machine = watching(initial_events=True)
    machine.begin(0)
    failed(machine, 0, code=400)
    machine.page("", "next")

    assert failed(machine, 0, code=503) == List("", 500, after=0.8, restarts=True)
    assert failed(machine, 0, code=403) == Fail(is_expired=False)


def test_an_expired_page_is_followed_by_a_full_list() -> None:
    machine = watching(initial_events=True)
    machine.begin(0)
    failed(machine, 0, code=400)
    machine.page("", "next")

    assert failed(machine, 0, code=410) == List("", 0, restarts=True)


def test_a_repeated_continue_token_is_an_error() -> None:
    machine = watching(initial_events=True)
    machine.begin(0)
    failed(machine, 0, code=400)
    machine.page("", "next")
    machine.page("", "other")

    with pytest.raises(ProtocolError, match="has no end"):
        machine.page("", "next")


def test_a_version_that_the_server_has_not_reached_is_waited_for() -> None:
    assert failed(following("7"), 0, code=504, too_large=True) == stream("7", after=0.8)
