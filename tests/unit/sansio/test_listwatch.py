"""How a state is asked for: one rule each. What follows from them together is in test_listwatch_model."""

from __future__ import annotations

import pytest
from tests.unit.sansio.listwatch_steps import (
    DROP,
    EXPIRED,
    FOLLOWERS,
    FORBIDDEN,
    SILENCE,
    TOO_LARGE,
    UNAVAILABLE,
    Make,
    changes_since,
    list_at,
    listed,
    listing,
    proving,
    state_at,
    streamed,
    streaming,
    waiting_to_follow,
    watching,
)

from masthead._sansio.listwatch import (
    PAGE,
    Failure,
    List,
    Phase,
    Role,
    Step,
    Stream,
    VerifyServer,
)
from masthead._sansio.retry import LONGEST_WAIT

# The first state


def test_the_first_request_is_for_the_newest_state_and_all_that_follows() -> None:
    assert watching().start() == state_at("")


def test_objects_before_the_mark_belong_to_a_state_that_does_not_count_yet() -> None:
    machine = streaming()

    assert machine.event("ADDED", "5") is Role.INITIAL
    assert machine.event("MODIFIED", "6") is Role.INITIAL
    assert machine.event("BOOKMARK", "6") is Role.INITIAL
    assert (machine.version, machine.phase) == ("", Phase.STREAMING)


def test_the_mark_completes_the_state_and_the_same_stream_goes_on() -> None:
    machine = streaming()
    machine.event("ADDED", "5")

    assert machine.event("BOOKMARK", "7", ends_initial=True) is Role.COMPLETE
    assert (machine.version, machine.phase) == ("7", Phase.FOLLOWING)
    assert machine.event("MODIFIED", "8") is Role.CHANGE
    assert machine.version == "8"


def test_a_mark_without_a_version_completes_nothing() -> None:
    machine = streaming()

    assert machine.event("BOOKMARK", "", ends_initial=True) is Role.INITIAL
    assert machine.phase is Phase.STREAMING


@pytest.mark.parametrize("code", [400, 422])
def test_a_server_that_does_not_know_initial_events_is_listed_at_once_and_never_asked_for_them_again(
    code: int,
) -> None:
    machine = watching()
    machine.start()
    machine.begin(0)
    assert machine.failed(0, Failure(code=code)) == list_at("0")
    assert not machine.initial_events

    machine.begin(0)
    machine.page("7", "")
    machine.begin(0)
    assert machine.failed(0, EXPIRED) == list_at("7", limit=0, after=0.8)


def test_the_same_codes_in_an_event_say_nothing_about_the_option() -> None:
    machine = streaming()

    assert machine.failed(0, Failure(code=400)) == state_at("", after=0.8)
    assert machine.initial_events


def test_a_server_that_never_says_that_the_initial_objects_are_over_is_listed_at_once() -> None:
    machine = streaming()
    machine.event("ADDED", "5")

    assert machine.failed(10, SILENCE) == list_at("0")
    assert machine.initial_events  # it may have been the connection; whoever knows better says so
    machine.disable_initial_events()
    assert not machine.initial_events


@pytest.mark.parametrize("end", ["closed", "failed"])
def test_after_two_streams_that_were_cut_short_a_list_is_tried(end: str) -> None:
    machine = streaming()

    def ends() -> Step:
        return machine.closed(0) if end == "closed" else machine.failed(0, DROP)

    assert ends() == state_at("", after=0.8)
    machine.begin(1)
    machine.opened()
    assert ends() == list_at("0", after=1.6)


def test_streams_that_were_never_opened_are_not_cut_short() -> None:
    machine = watching()
    machine.start()
    for delay in [0.8, 1.6, 3.2, 6.4]:
        machine.begin(0)
        assert machine.failed(0, DROP) == state_at("", after=delay)


def test_streams_cut_short_before_a_state_was_complete_are_not_held_against_the_next() -> None:
    machine = streaming()
    machine.failed(0, DROP)
    machine.begin(0)
    machine.opened()
    machine.event("BOOKMARK", "7", ends_initial=True)
    machine.failed(0, EXPIRED)
    machine.begin(0)
    machine.opened()

    assert isinstance(machine.failed(0, DROP), Stream)


@pytest.mark.parametrize("code", [401, 403, 404, 405, 500, 503])
def test_a_stream_that_the_server_does_not_grant_is_followed_by_a_list(code: int) -> None:
    machine = watching()
    machine.start()
    machine.begin(0)

    assert machine.failed(0, Failure(code=code)) == list_at("0", after=0.8)
    assert machine.initial_events


def test_a_busy_server_is_asked_for_the_same_again_when_it_wants_to() -> None:
    machine = watching()
    machine.start()
    machine.begin(0)

    assert machine.failed(0, Failure(code=429, retry_after=17)) == state_at("", after=17)
    assert machine.failed(0, Failure(code=429)) == state_at("", after=1.6)


@pytest.mark.parametrize("make", [watching, listing, proving, waiting_to_follow, streamed, listed])
def test_no_server_can_send_us_away_for_too_long(make: Make) -> None:
    machine = make()
    if make is watching:
        machine.start()
        machine.begin(0)

    assert machine.failed(0, Failure(code=429, retry_after=86400)).after == LONGEST_WAIT


# Lists


def test_the_first_list_takes_what_the_server_has_in_memory() -> None:
    step = watching(initial_events=False).start()

    assert step == list_at("0")
    assert isinstance(step, List)
    assert step.match == "NotOlderThan"


def test_a_new_list_is_no_older_than_what_is_known() -> None:
    machine = listed("7")
    machine.event("ADDED", "9")

    assert machine.failed(0, EXPIRED) == list_at("9", limit=0, after=0.8)


def test_a_list_of_the_newest_state_names_no_version_and_no_match() -> None:
    step = listing().failed(0, EXPIRED)

    assert step == list_at("")
    assert isinstance(step, List)
    assert step.match == ""


@pytest.mark.parametrize("version", ["", "7"])
def test_a_page_size_of_ones_own_is_used_for_every_list(version: str) -> None:
    machine = listing(version, page_size=20)

    assert machine.failed(0, UNAVAILABLE) == list_at(version or "0", limit=20, after=1.6 if version else 0.8)


def test_pages_follow_each_other_by_token_alone_and_the_last_one_completes_the_state() -> None:
    machine = listing()

    assert machine.page("7", "more") == List("", PAGE, "more")
    assert (machine.version, machine.phase) == ("", Phase.LISTING)
    machine.begin(0)
    assert machine.page("7", "still more") == List("", PAGE, "still more")
    machine.begin(0)
    assert machine.page("7", "") == changes_since("7")
    assert (machine.version, machine.phase) == ("7", Phase.FOLLOWING)


def test_a_server_that_gives_pages_of_any_state_has_no_memory_and_is_asked_for_pages_from_then_on() -> None:
    machine = listing()
    machine.page("7", "more")
    machine.begin(0)
    machine.page("7", "")
    machine.begin(0)

    assert machine.failed(0, EXPIRED) == list_at("7", limit=PAGE, after=0.8)


def test_pages_of_the_newest_state_say_nothing_about_a_servers_memory() -> None:
    machine = listing()
    machine.failed(0, EXPIRED)
    machine.begin(0)
    machine.page("7", "more")
    machine.begin(0)
    machine.page("7", "")
    machine.begin(0)

    assert machine.failed(0, EXPIRED) == list_at("7", limit=0, after=0.8)


@pytest.mark.parametrize("page_size", [0, 20])
def test_if_a_page_has_expired_the_list_is_asked_for_in_one_piece_at_once(page_size: int) -> None:
    machine = listing(page_size=page_size)
    machine.page("7", "more")
    machine.begin(0)

    assert machine.failed(0, EXPIRED) == list_at("0", limit=0)
    machine.begin(0)
    assert machine.failed(0, UNAVAILABLE) == list_at("0", limit=0, after=0.8)


def test_pages_that_expire_whatever_is_asked_for_are_not_asked_for_without_pause() -> None:
    machine = listing()
    for delay in [0.0, 0.8, 1.6]:
        machine.page("7", "more")
        machine.begin(0)
        assert machine.failed(0, EXPIRED) == list_at("0", limit=0, after=delay)
        machine.begin(0)


@pytest.mark.parametrize(
    "failure", [DROP, SILENCE, UNAVAILABLE, Failure(code=429), FORBIDDEN, Failure(code=400)]
)
def test_a_page_that_fails_begins_the_list_anew_because_its_token_may_mean_something_else_by_then(
    failure: Failure,
) -> None:
    machine = listing()
    machine.page("7", "more")
    machine.begin(0)

    assert machine.failed(0, failure) == list_at("0", after=0.8)


@pytest.mark.parametrize("failure", [DROP, SILENCE, UNAVAILABLE, Failure(code=429)])
def test_a_list_that_fails_is_asked_for_again(failure: Failure) -> None:
    machine = listing()

    assert machine.failed(0, failure) == list_at("0", after=0.8)
    machine.begin(0)
    assert machine.failed(0, failure) == list_at("0", after=1.6)


@pytest.mark.parametrize("code", [401, 403, 404, 405])
def test_what_is_refused_is_never_final_and_what_may_not_be_listed_is_streamed_again(code: int) -> None:
    machine = watching()
    machine.start()
    steps: list[Step] = []
    for _ in range(4):
        machine.begin(0)
        steps.append(machine.failed(0, Failure(code=code)))

    assert steps == [list_at("0", after=0.8), state_at("", 1.6), list_at("0", after=3.2), state_at("", 6.4)]


# A version that the server does not have


@pytest.mark.parametrize("lost", [EXPIRED, Failure(code=410, reason="Gone"), TOO_LARGE])
def test_a_list_of_a_version_that_the_server_does_not_have_becomes_one_of_the_newest_at_once_but_only_once(
    lost: Failure,
) -> None:
    machine = listing("7")

    assert machine.failed(0, lost) == list_at("")
    machine.begin(0)
    assert machine.failed(0, lost) == list_at("", after=1.6)
    machine.begin(0)
    assert machine.failed(0, lost) == list_at("", after=3.2)


@pytest.mark.parametrize("lost", [EXPIRED, TOO_LARGE])
def test_a_stream_of_a_state_that_the_server_does_not_have_becomes_one_of_the_newest_and_then_a_list(
    lost: Failure,
) -> None:
    machine = streamed("7")
    assert machine.failed(0, EXPIRED) == state_at("7", after=0.8)

    machine.begin(1)
    assert machine.failed(1, lost) == state_at("")
    machine.begin(1)
    assert machine.failed(1, lost) == list_at("", after=1.6)


def test_once_a_state_is_complete_the_next_must_be_no_older_again() -> None:
    machine = streamed("7")
    for failure in [EXPIRED, TOO_LARGE]:
        machine.failed(0, failure)
        machine.begin(0)
    machine.opened()
    machine.event("BOOKMARK", "3", ends_initial=True)

    assert machine.failed(0, EXPIRED) == state_at("3", after=1.6)


@FOLLOWERS
@pytest.mark.parametrize("lost", [EXPIRED, Failure(reason="Expired"), Failure(code=500, reason="Gone")])
def test_if_the_version_is_forgotten_a_new_state_is_asked_for_that_is_no_older(
    following: Make, lost: Failure
) -> None:
    machine = following()
    machine.event("MODIFIED", "9")

    step = machine.failed(0, lost)

    assert isinstance(step, (List, Stream))
    assert (step.version, step.restarts, step.after) == ("9", True, 0.8)


def test_a_server_that_lags_behind_is_asked_once_more_and_then_for_the_newest_state() -> None:
    machine = waiting_to_follow("7")

    assert machine.failed(0, TOO_LARGE) == VerifyServer("7", after=0.8)
    machine.begin(1)
    assert machine.verified(is_same=True) == changes_since("7")
    machine.begin(1)
    assert machine.failed(1, TOO_LARGE) == state_at("", after=1.6)


def test_a_server_that_has_caught_up_may_lag_again() -> None:
    machine = waiting_to_follow("7")
    machine.failed(0, TOO_LARGE)
    machine.begin(0)
    machine.verified(is_same=True)
    machine.begin(0)
    machine.opened()
    machine.event("ADDED", "8")

    assert machine.failed(0, TOO_LARGE) == VerifyServer("8", after=0.8)
