"""How a state is followed, verified, and waited for: one rule each; the rest is in test_listwatch."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.sansio.listwatch_steps import (
    DROP,
    EXPIRED,
    FOLLOWERS,
    FORBIDDEN,
    MADE_UP,
    SILENCE,
    UNAVAILABLE,
    UNREACHABLE,
    Make,
    changes_since,
    list_at,
    listed,
    listing,
    proving,
    state_at,
    streaming,
    waiting_to_follow,
    watching,
)

from masthead._sansio.backoff import Backoff
from masthead._sansio.listwatch import ListWatchMachine
from masthead._sansio.listwatch_steps import (
    REOPEN_INTERVAL,
    SILENCE_LIMIT,
    Failure,
    Phase,
    Probe,
    Role,
    Step,
    Stream,
    VerifyServer,
    is_worth_a_line,
)

if TYPE_CHECKING:
    from collections.abc import Callable

# Following


@FOLLOWERS
def test_the_version_advances_with_every_event_and_every_bookmark(following: Make) -> None:
    machine = following()
    for kind, version in [("ADDED", "8"), ("MODIFIED", "9"), ("DELETED", "11"), ("BOOKMARK", "20")]:
        assert machine.event(kind, version) is Role.CHANGE
        assert machine.version == version


def test_an_undecodable_object_is_a_change_that_does_not_advance_the_version() -> None:
    machine = listed("7")

    assert machine.event("MODIFIED", "") is Role.CHANGE
    assert machine.version == "7"


@FOLLOWERS
@pytest.mark.parametrize("has_news", [True, False])
def test_a_watch_that_ends_at_its_timeout_is_reopened_immediately(following: Make, has_news: bool) -> None:
    machine = following()
    if has_news:
        machine.event("ADDED", "8")

    assert machine.closed(MADE_UP) == changes_since("8" if has_news else "7")


@FOLLOWERS
def test_a_watch_may_end_a_little_before_its_timeout(following: Make) -> None:
    assert following().closed(MADE_UP - REOPEN_INTERVAL) == changes_since("7")
    assert isinstance(following().closed(MADE_UP - 2 * REOPEN_INTERVAL), VerifyServer)


@FOLLOWERS
@pytest.mark.parametrize("lasted", [REOPEN_INTERVAL, 5, 20, 50])
@pytest.mark.parametrize("failure", [DROP, SILENCE])
def test_an_accepted_watch_that_lasted_a_second_is_resumed_immediately(
    following: Make, failure: Failure, lasted: float
) -> None:
    machine = following()
    for _ in range(10):  # a load balancer closes each of them
        assert machine.failed(lasted, failure) == VerifyServer("7")
        machine.begin(0)
        assert machine.verified(is_same=True) == changes_since("7")
        machine.begin(0)
        machine.opened()


@FOLLOWERS
def test_a_throttled_watch_is_resumed_after_a_delay(following: Make) -> None:
    assert following().failed(5, Failure(code=429, retry_after=3)) == VerifyServer("7", after=3)


@FOLLOWERS
@pytest.mark.parametrize(
    "failure",
    [
        Failure(code=500, reason="StoreReadError"),
        Failure(code=500, reason="InternalError"),
        Failure(code=504, reason="Timeout"),
        Failure(code=408),
        UNAVAILABLE,
        FORBIDDEN,
        Failure(code=422, reason="Invalid"),
    ],
)
def test_an_error_event_other_than_a_throttling_one_causes_a_relist(following: Make, failure: Failure) -> None:
    machine = following()
    machine.event("MODIFIED", "8")

    expected = state_at("8", after=0.8) if machine.initial_events else list_at("8", limit=0, after=0.8)
    assert machine.failed(5, failure) == expected


@FOLLOWERS
def test_a_watch_that_ends_cleanly_but_too_early_is_followed_by_an_identity_check_immediately(
    following: Make,
) -> None:
    assert following().closed(5) == VerifyServer("7")


@FOLLOWERS
def test_very_short_watches_without_events_are_failures(following: Make) -> None:
    machine = following()
    assert machine.closed(0.5) == VerifyServer("7", after=0.8)

    machine.begin(1)
    machine.verified(is_same=True)
    machine.begin(1)
    machine.opened()
    assert machine.closed(1.5) == list_at("7", limit=0, after=1.6)


@FOLLOWERS
def test_very_short_watches_with_events_are_reopened_once_a_second(following: Make) -> None:
    machine = following()
    machine.event("ADDED", "8")

    assert machine.closed(0.25) == VerifyServer("8", after=0.75)


@pytest.mark.parametrize("failure", [DROP, UNAVAILABLE, Failure(code=429), Failure(code=408)])
def test_a_watch_that_cannot_be_opened_is_retried_after_an_identity_check(failure: Failure) -> None:
    assert waiting_to_follow("7").failed(0, failure) == VerifyServer("7", after=0.8)


@pytest.mark.parametrize("code", [400, 401, 403, 404, 405, 422])
def test_a_rejected_watch_is_not_final_and_causes_a_relist_after_a_delay(code: int) -> None:
    assert waiting_to_follow("7").failed(0, Failure(code=code)) == state_at("7", after=0.8)


@pytest.mark.parametrize("version", ["", "0"])
def test_after_a_list_without_a_resource_version_a_watch_cannot_be_resumed_before_a_change(
    version: str,
) -> None:
    machine = listed(version)
    machine.event("ADDED", "9")
    assert machine.version == version
    assert machine.failed(0, DROP) == list_at("0", after=0.8)
    assert listed(version).failed(5, DROP) == list_at("0")

    for end in [MADE_UP, 5]:
        assert listed(version).closed(end) == list_at("0")

    machine = listed(version)
    machine.event("MODIFIED", "12")
    machine.event("ADDED", "13")
    assert machine.failed(0, DROP) == VerifyServer("13", after=1.0)


@pytest.mark.parametrize("is_opened", [True, False])
@pytest.mark.parametrize("failure", [DROP, Failure(code=502), Failure(code=500)])
def test_two_consecutive_watches_without_events_cause_a_relist_despite_an_identity_check(
    failure: Failure, is_opened: bool
) -> None:
    machine = waiting_to_follow("7")
    assert machine.failed(0, failure) == VerifyServer("7", after=0.8)
    machine.begin(1)
    machine.verified(is_same=True)
    machine.begin(1)
    if is_opened:
        machine.opened()
        failure = DROP

    assert machine.failed(1, failure) == list_at("7", limit=0, after=1.6)
    machine.begin(3)
    assert machine.page("9", "") == changes_since("9")
    machine.begin(3)
    assert machine.failed(3, failure) == VerifyServer("9", after=3.2)  # and so on


@FOLLOWERS
def test_watches_that_had_events_or_lasted_do_not_count_as_consecutive(following: Make) -> None:
    machine = following()
    machine.failed(0, DROP)
    for lasted, version in [(0.25, "8"), (REOPEN_INTERVAL, "8"), (0, "9")]:
        machine.begin(0)
        machine.verified(is_same=True)
        machine.begin(0)
        machine.opened()
        machine.event("BOOKMARK", version)
        assert machine.failed(lasted, DROP) == VerifyServer(version, after=REOPEN_INTERVAL - lasted)


def test_a_throttling_server_is_not_relisted_when_it_rejects_watches() -> None:
    machine = waiting_to_follow("7")
    for delay in [0.8, 1.6, 3.2]:
        assert machine.failed(0, Failure(code=429)) == VerifyServer("7", after=delay)
        machine.begin(0)
        machine.verified(is_same=True)
        machine.begin(0)


@FOLLOWERS
@pytest.mark.parametrize("version", ["", "6"])
def test_a_bookmark_without_a_version_or_with_an_older_one_is_ignored(following: Make, version: str) -> None:
    machine = following()

    assert machine.event("BOOKMARK", version) is Role.CHANGE
    assert machine.version == "7"


def test_versions_that_are_not_numbers_advance_with_every_bookmark() -> None:
    machine = listed("b")
    machine.event("BOOKMARK", "a")

    assert machine.version == "a"


# Proofs


def test_a_cache_from_a_snapshot_starts_with_an_identity_check() -> None:
    machine = watching("7")

    assert machine.start() == VerifyServer("7")
    assert (machine.version, machine.phase) == ("7", Phase.VERIFYING)
    machine.begin(0)
    assert machine.verified(is_same=True) == changes_since("7")
    assert machine.phase is Phase.FOLLOWING


def test_another_server_is_read_at_the_most_recent_version_immediately() -> None:
    machine = proving("7")
    assert machine.verified(is_same=False) == state_at("")

    machine = listed("7")
    machine.failed(0, DROP)
    machine.begin(0)
    assert machine.verified(is_same=False) == list_at("")


@pytest.mark.parametrize(
    "failure", [Failure(code=503, reason="ServiceUnavailable"), Failure(code=429), Failure(code=500)]
)
def test_a_failed_identity_check_is_retried(failure: Failure) -> None:
    machine = proving("7")

    assert machine.failed(0, failure) == VerifyServer("7", after=0.8)
    machine.begin(0)
    assert machine.failed(0, failure) == VerifyServer("7", after=1.6)


def test_watches_without_an_answer_are_followed_by_a_list_only_if_a_small_request_is_answered() -> None:
    machine = waiting_to_follow("7")
    assert machine.failed(28, SILENCE) == VerifyServer("7", after=0.2)
    machine.begin(29)
    machine.verified(is_same=True)
    machine.begin(29)

    assert machine.failed(57, SILENCE) == Probe(after=0.4)
    machine.begin(60)
    assert machine.answered() == list_at("7", limit=0)


@pytest.mark.parametrize("failure", [UNREACHABLE, DROP, SILENCE, Failure(code=502), Failure(code=503)])
@given(chance=st.floats(0, 1, exclude_max=True))
def test_a_server_that_does_not_answer_is_tried_at_least_every_two_seconds(failure: Failure, chance: float) -> None:
    machine = ListWatchMachine(random=lambda: chance, version="7")
    machine.start()
    for attempt in range(40):
        machine.begin(attempt)
        step = machine.failed(attempt, failure)
        assert isinstance(step, VerifyServer)
        assert 0.2 <= step.after <= 1.6


@pytest.mark.parametrize("machine", [listing, waiting_to_follow, streaming])
def test_a_server_that_cannot_be_reached_is_tried_soon_whatever_is_requested(
    machine: Callable[[], ListWatchMachine],
) -> None:
    assert [machine().failed(0, UNREACHABLE).after for _ in range(3)] == [0.2] * 3


def test_an_outage_does_not_lengthen_the_delays_for_refusals() -> None:
    machine = proving("7")
    for _ in range(40):
        machine.failed(0, UNREACHABLE)
        machine.begin(0)

    assert machine.failed(0, Failure(code=500)).after == 0.8


def test_a_thousand_clients_return_from_an_outage_spread_over_more_than_a_second() -> None:
    randomness = Random(4711)
    outage = 60.0
    returns: list[float] = []
    for _ in range(1000):
        machine = ListWatchMachine(random=randomness.random, version="7")
        machine.start()
        now = 0.0  # the server closes all connections at the same moment
        while now < outage:
            machine.begin(now)
            now += machine.failed(now, UNREACHABLE).after
        returns.append(now - outage)

    assert max(returns) <= 1.6
    for tenth in range(16):
        assert sum(tenth / 10 <= late < (tenth + 1) / 10 for late in returns) <= 150  # of 1,000, in 100 ms


def test_a_rejected_identity_check_is_not_retried_for_ever() -> None:
    assert proving("7").failed(0, FORBIDDEN) == state_at("7", after=0.8)


def test_an_expired_version_needs_no_identity_check() -> None:
    assert proving("7").failed(0, EXPIRED) == state_at("")


# Delays


@pytest.mark.parametrize("chance", [0.0, 0.5, 0.999])
def test_delays_grow_with_jitter_up_to_the_cap(chance: float) -> None:
    machine = ListWatchMachine(random=lambda: chance, initial_events=False)
    machine.start()
    delays = [machine.failed(0, UNAVAILABLE).after for _ in range(8)]

    bases = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30]
    assert delays == pytest.approx([min(30, base * (1 + chance)) for base in bases])


def test_the_backoff_is_configurable() -> None:
    machine = ListWatchMachine(random=lambda: 0.5, backoff=Backoff(first=5, factor=3, cap=40, jitter=0))
    machine.start()

    assert [machine.failed(0, DROP).after for _ in range(4)] == [5, 15, 40, 40]


def test_neither_a_list_nor_an_identity_check_nor_an_opened_watch_resets_the_delays() -> None:
    machine = listing()
    machine.failed(0, UNAVAILABLE)
    machine.begin(1)
    machine.page("7", "")
    machine.begin(1)
    assert machine.failed(1, DROP) == VerifyServer("7", after=1.6)
    machine.begin(3)
    machine.verified(is_same=True)
    machine.begin(3)
    machine.opened()
    machine.event("BOOKMARK", "7")

    assert machine.failed(3, DROP) == list_at("7", limit=0, after=3.2)


@pytest.mark.parametrize("end", ["closed", "failed"])
def test_complete_initial_events_do_not_reset_the_delays(end: str) -> None:
    machine = watching()
    machine.start()
    machine.begin(0)
    machine.failed(0, DROP)
    machine.begin(1)
    machine.opened()
    machine.event("ADDED", "5")
    machine.event("BOOKMARK", "7", ends_initial=True)

    step = machine.closed(1) if end == "closed" else machine.failed(1, DROP)

    assert step == VerifyServer("7", after=1.6)


@FOLLOWERS
def test_new_events_reset_the_delays(following: Make) -> None:
    machine = following()
    machine.failed(0, DROP)
    machine.begin(1)
    machine.verified(is_same=True)
    machine.begin(1)
    machine.opened()
    machine.event("BOOKMARK", "8")

    assert machine.failed(1.25, DROP) == VerifyServer("8", after=0.75)


@pytest.mark.parametrize(
    ("lasted", "step"),
    [
        (REOPEN_INTERVAL / 2, list_at("7", limit=0, after=1.6)),
        (REOPEN_INTERVAL, VerifyServer("7")),
    ],
)
def test_a_watch_that_lasted_resets_the_delays(lasted: float, step: Step) -> None:
    machine = listed("7")
    machine.failed(0, DROP)
    machine.begin(1)
    machine.verified(is_same=True)
    machine.begin(1)
    machine.opened()

    assert machine.failed(1 + lasted, DROP) == step


def test_a_slow_rejection_does_not_reset_the_delays() -> None:
    machine = waiting_to_follow("7")
    machine.failed(0, DROP)
    machine.begin(0)
    machine.verified(is_same=True)
    machine.begin(0)

    assert machine.failed(2 * REOPEN_INTERVAL, DROP) == list_at("7", limit=0, after=1.6)


def test_events_of_one_watch_do_not_count_for_the_next() -> None:
    machine = listed("7")
    machine.event("ADDED", "8")
    machine.failed(0, DROP)
    machine.begin(1)
    machine.verified(is_same=True)
    machine.begin(1)

    assert machine.failed(1, DROP) == VerifyServer("8", after=0.8)


# Streams


@given(chance=st.floats(0, 1, exclude_max=True))
def test_watch_timeouts_are_spread_over_five_to_ten_minutes(
    chance: float,
) -> None:
    step = ListWatchMachine(random=lambda: chance).start()

    assert isinstance(step, Stream)
    assert 300 <= step.seconds < 600
    assert replace(step, seconds=MADE_UP) == state_at("")


@given(chance=st.floats(0, 1, exclude_max=True), limit=st.sampled_from([15.0, SILENCE_LIMIT, 60.0]))
def test_a_quiet_watch_ends_before_its_silence_means_a_dead_connection(chance: float, limit: float) -> None:
    machine = ListWatchMachine(random=lambda: chance, version="7", silence_limit=limit)
    machine.start()
    machine.begin(0)
    step = machine.verified(is_same=True)

    for _ in range(3):
        assert isinstance(step, Stream)
        assert not machine.expects_silence
        assert 0.6 * limit < step.seconds <= 0.9 * limit
        machine.begin(0)
        machine.opened()
        machine.event("BOOKMARK", machine.version + "0")
        step = machine.closed(step.seconds)


def test_the_watch_after_a_busy_one_is_long_and_the_one_after_a_silent_one_short() -> None:
    machine = ListWatchMachine(random=lambda: 0.0, version="7")
    machine.start()
    machine.begin(0)
    machine.verified(is_same=True)
    machine.begin(0)
    machine.opened()
    machine.event("MODIFIED", "8")

    assert machine.closed(20) == changes_since("8")
    assert machine.expects_silence
    machine.begin(20)
    machine.opened()
    assert machine.failed(20 + SILENCE_LIMIT, SILENCE) == VerifyServer("8")
    machine.begin(50)
    step = machine.verified(is_same=True)
    assert isinstance(step, Stream)
    assert step.seconds < SILENCE_LIMIT


@pytest.mark.parametrize("limit", [2.0, 90.0])
def test_watches_stay_long_if_bookmarks_come_in_time_or_never_can(limit: float) -> None:
    machine = ListWatchMachine(random=lambda: 0.0, version="7", silence_limit=limit)
    machine.start()
    machine.begin(0)

    assert machine.verified(is_same=True) == changes_since("7")


@pytest.mark.parametrize(
    ("failures", "after", "is_logged"),
    [(1, 0.3, True), (2, 0.6, True), (3, 1.6, False), (4, 1.6, True), (37, 1.6, False), (3, 6.4, True)],
)
def test_frequent_attempts_are_logged_with_growing_intervals(failures: int, after: float, is_logged: bool) -> None:
    assert is_worth_a_line(failures, after) is is_logged


@pytest.mark.parametrize(
    ("code", "is_refusal"),
    [
        (0, False),
        (400, True),
        (403, True),
        (404, True),
        (408, False),
        (429, False),
        (500, False),
        (504, False),
    ],
)
def test_a_transient_status_is_no_rejection(code: int, is_refusal: bool) -> None:
    assert Failure(code=code).is_refusal is is_refusal
