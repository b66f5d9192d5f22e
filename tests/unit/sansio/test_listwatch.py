"""The rules by which a state is requested, one test each. test_listwatch_model tests them in combination."""

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

from masthead._sansio.listwatch import PAGE
from masthead._sansio.listwatch_steps import Failure, List, Phase, Probe, Role, Step, Stream, VerifyServer
from masthead._sansio.retry import MAX_WAIT

# The first state


def test_the_first_request_is_a_watch_with_initial_events() -> None:
    assert watching().start() == state_at("")


def test_initial_events_are_incomplete_before_their_bookmark() -> None:
    machine = streaming()

    assert machine.event("ADDED", "5") is Role.INITIAL
    assert machine.event("MODIFIED", "6") is Role.INITIAL
    assert machine.event("BOOKMARK", "6") is Role.INITIAL
    assert (machine.version, machine.phase) == ("", Phase.STREAMING)


def test_the_bookmark_completes_the_initial_events_and_the_watch_continues() -> None:
    machine = streaming()
    machine.event("ADDED", "5")

    assert machine.event("BOOKMARK", "7", ends_initial=True) is Role.COMPLETE
    assert (machine.version, machine.phase) == ("7", Phase.FOLLOWING)
    assert machine.event("MODIFIED", "8") is Role.CHANGE
    assert machine.version == "8"


def test_a_bookmark_without_a_resource_version_completes_nothing() -> None:
    machine = streaming()

    assert machine.event("BOOKMARK", "", ends_initial=True) is Role.INITIAL
    assert machine.phase is Phase.STREAMING


@pytest.mark.parametrize("code", [400, 422])
def test_a_server_without_initial_events_is_listed_immediately_and_from_then_on(
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


def test_the_same_codes_in_an_error_event_do_not_disable_initial_events() -> None:
    machine = streaming()

    assert machine.failed(0, Failure(code=400)) == state_at("", after=0.8)
    assert machine.initial_events


def test_a_server_that_never_ends_its_initial_events_is_listed_immediately() -> None:
    machine = streaming()
    machine.event("ADDED", "5")

    assert machine.failed(10, SILENCE) == list_at("0")
    assert machine.initial_events  # it may have been the connection; only a rejection disables them
    machine.disable_initial_events()
    assert not machine.initial_events


@pytest.mark.parametrize("end", ["closed", "failed"])
def test_two_interrupted_watches_are_followed_by_a_list(end: str) -> None:
    machine = streaming()

    def ends() -> Step:
        return machine.closed(0) if end == "closed" else machine.failed(0, DROP)

    assert ends() == state_at("", after=0.8)
    machine.begin(1)
    machine.opened()
    assert ends() == list_at("0", after=1.6)


def test_watches_that_were_never_opened_do_not_count_as_interrupted() -> None:
    machine = watching()
    machine.start()
    for delay in [0.8, 1.6, 3.2, 6.4]:
        machine.begin(0)
        assert machine.failed(0, DROP) == state_at("", after=delay)


def test_interrupted_watches_are_forgotten_once_a_state_is_complete() -> None:
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
def test_a_rejected_watch_is_followed_by_a_list(code: int) -> None:
    machine = watching()
    machine.start()
    machine.begin(0)

    assert machine.failed(0, Failure(code=code)) == list_at("0", after=0.8)
    assert machine.initial_events


def test_a_throttled_request_is_repeated_after_retry_after() -> None:
    machine = watching()
    machine.start()
    machine.begin(0)

    assert machine.failed(0, Failure(code=429, retry_after=17)) == state_at("", after=17)
    assert machine.failed(0, Failure(code=429)) == state_at("", after=1.6)


@pytest.mark.parametrize("make", [watching, listing, proving, waiting_to_follow, streamed, listed])
def test_retry_after_is_capped(make: Make) -> None:
    machine = make()
    if make is watching:
        machine.start()
        machine.begin(0)

    assert machine.failed(0, Failure(code=429, retry_after=86400)).after == MAX_WAIT


# Lists


def test_the_first_list_is_served_from_the_watch_cache() -> None:
    step = watching(initial_events=False).start()

    assert step == list_at("0")
    assert isinstance(step, List)
    assert step.match == "NotOlderThan"


def test_a_relist_is_not_older_than_the_known_resource_version() -> None:
    machine = listed("7")
    machine.event("ADDED", "9")

    assert machine.failed(0, EXPIRED) == list_at("9", limit=0, after=0.8)


def test_a_most_recent_list_has_no_resource_version_and_no_match() -> None:
    step = listing().failed(0, EXPIRED)

    assert step == list_at("")
    assert isinstance(step, List)
    assert step.match == ""


@pytest.mark.parametrize("version", ["", "7"])
def test_a_configured_page_size_is_used_for_every_list(version: str) -> None:
    machine = listing(version, page_size=20)

    assert machine.failed(0, UNAVAILABLE) == list_at(version or "0", limit=20, after=1.6 if version else 0.8)


def test_pages_follow_the_continue_token_and_the_last_one_completes_the_list() -> None:
    machine = listing()

    assert machine.page("7", "more") == List("", PAGE, "more")
    assert (machine.version, machine.phase) == ("", Phase.LISTING)
    machine.begin(0)
    assert machine.page("7", "still more") == List("", PAGE, "still more")
    machine.begin(0)
    assert machine.page("7", "") == changes_since("7")
    assert (machine.version, machine.phase) == ("7", Phase.FOLLOWING)


def test_a_server_that_pages_lists_of_version_0_has_no_watch_cache_and_is_paged_from_then_on() -> None:
    machine = listing()
    machine.page("7", "more")
    machine.begin(0)
    machine.page("7", "")
    machine.begin(0)

    assert machine.failed(0, EXPIRED) == list_at("7", limit=PAGE, after=0.8)


def test_pages_of_a_most_recent_list_prove_nothing_about_the_watch_cache() -> None:
    machine = listing()
    machine.failed(0, EXPIRED)
    machine.begin(0)
    machine.page("7", "more")
    machine.begin(0)
    machine.page("7", "")
    machine.begin(0)

    assert machine.failed(0, EXPIRED) == list_at("7", limit=0, after=0.8)


@pytest.mark.parametrize("page_size", [0, 20])
@pytest.mark.parametrize(("version", "after"), [("", 0.8), ("7", 1.6)])
def test_an_expired_page_is_followed_by_a_full_list_immediately(page_size: int, version: str, after: float) -> None:
    machine = listing(version, page_size=page_size)
    machine.page("8", "more")
    machine.begin(0)

    assert machine.failed(0, EXPIRED) == list_at(version or "0", limit=0)
    machine.begin(0)
    assert machine.failed(0, UNAVAILABLE) == list_at(version or "0", limit=0, after=after)


def test_lists_that_always_expire_are_retried_with_backoff() -> None:
    machine = listing()
    for delay in [0.0, 0.8, 1.6]:
        machine.page("7", "more")
        machine.begin(0)
        assert machine.failed(0, EXPIRED) == list_at("0", limit=0, after=delay)
        machine.begin(0)


@pytest.mark.parametrize("failure", [DROP, UNAVAILABLE, Failure(code=429), FORBIDDEN, Failure(code=400)])
def test_a_failed_page_restarts_the_list_because_its_token_may_have_become_invalid(
    failure: Failure,
) -> None:
    machine = listing()
    machine.page("7", "more")
    machine.begin(0)

    assert machine.failed(0, failure) == list_at("0", after=0.8)


@pytest.mark.parametrize("failure", [DROP, UNAVAILABLE, Failure(code=429)])
def test_a_failed_list_is_retried(failure: Failure) -> None:
    machine = listing()

    assert machine.failed(0, failure) == list_at("0", after=0.8)
    machine.begin(0)
    assert machine.failed(0, failure) == list_at("0", after=1.6)


def test_a_list_without_an_answer_is_sent_again_only_after_a_small_request_is_answered() -> None:
    machine = listing()

    assert machine.failed(60, SILENCE) == Probe(after=0.2)
    for delay in (0.4, 0.8, 1.6, 1.6):  # as for a server that cannot be reached
        machine.begin(60)
        assert machine.failed(80, SILENCE) == Probe(after=delay)
    machine.begin(80)
    assert machine.answered() == list_at("0")
    assert machine.phase is Phase.LISTING


def test_a_list_in_one_piece_stays_so_behind_a_small_request() -> None:
    machine = listing()
    machine.page("7", "more")
    machine.begin(0)
    machine.failed(0, EXPIRED)
    machine.begin(0)
    machine.failed(60, SILENCE)
    machine.begin(60)

    assert machine.answered() == list_at("0", limit=0)


def test_initial_events_without_an_answer_are_listed_only_after_a_small_request_is_answered() -> None:
    machine = watching()
    machine.start()
    machine.begin(0)

    assert machine.failed(10, SILENCE) == Probe()
    machine.begin(10)
    assert machine.answered() == list_at("0")


def test_a_refused_small_request_leads_to_a_new_state_after_a_wait() -> None:
    machine = listing()
    machine.failed(60, SILENCE)
    machine.begin(60)

    assert machine.failed(60, FORBIDDEN) == list_at("0", after=0.8)


def test_a_small_request_is_repeated_before_it_has_failed_and_may_be_queued_for_long() -> None:
    for step in (VerifyServer("7"), Probe()):
        assert step.repeat_after == 5.0
        assert 15 < step.timeout <= 20  # priority and fairness


@pytest.mark.parametrize("code", [401, 403, 404, 405])
def test_a_forbidden_list_is_not_final_and_is_followed_by_a_watch(code: int) -> None:
    machine = watching()
    machine.start()
    steps: list[Step] = []
    for _ in range(4):
        machine.begin(0)
        steps.append(machine.failed(0, Failure(code=code)))

    assert steps == [list_at("0", after=0.8), state_at("", 1.6), list_at("0", after=3.2), state_at("", 6.4)]


# A version that the server does not have


@pytest.mark.parametrize("lost", [EXPIRED, Failure(code=410, reason="Gone"), TOO_LARGE])
def test_a_list_at_an_unavailable_version_is_retried_once_as_a_most_recent_one(
    lost: Failure,
) -> None:
    machine = listing("7")

    assert machine.failed(0, lost) == list_at("")
    machine.begin(0)
    assert machine.failed(0, lost) == list_at("", after=1.6)
    machine.begin(0)
    assert machine.failed(0, lost) == list_at("", after=3.2)


@pytest.mark.parametrize("lost", [EXPIRED, TOO_LARGE])
def test_a_watch_at_an_unavailable_version_is_retried_as_a_most_recent_one_and_then_a_list(
    lost: Failure,
) -> None:
    machine = streamed("7")
    assert machine.failed(0, EXPIRED) == state_at("7", after=0.8)

    machine.begin(1)
    assert machine.failed(1, lost) == state_at("")
    machine.begin(1)
    assert machine.failed(1, lost) == list_at("", after=1.6)


def test_once_a_state_is_complete_the_next_must_not_be_older() -> None:
    machine = streamed("7")
    for failure in [EXPIRED, TOO_LARGE]:
        machine.failed(0, failure)
        machine.begin(0)
    machine.opened()
    machine.event("BOOKMARK", "3", ends_initial=True)

    assert machine.failed(0, EXPIRED) == state_at("3", after=1.6)


@FOLLOWERS
@pytest.mark.parametrize("lost", [EXPIRED, Failure(reason="Expired"), Failure(code=500, reason="Gone")])
def test_an_expired_version_causes_a_relist_that_is_not_older(following: Make, lost: Failure) -> None:
    machine = following()
    machine.event("MODIFIED", "9")

    step = machine.failed(0, lost)

    assert isinstance(step, (List, Stream))
    assert (step.version, step.restarts, step.after) == ("9", True, 0.8)


def test_a_server_that_lags_is_retried_once_and_then_read_at_the_most_recent_version() -> None:
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
