"""The rules of leader election, one test each. test_leases_model tests them in combination."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.sansio.lease_steps import EPOCH, TIMING, Elector, middle, others, wall

from masthead._sansio.lease_records import Create, Lease, LeaseTiming, Read, TryOutcome, Update
from masthead._sansio.leases import MAX_TRANSITIONS, Election
from masthead.errors import ArgumentError

HELD, WAITING, LOST = TryOutcome.HELD, TryOutcome.WAITING, TryOutcome.LOST
FAILED, RELEASED = TryOutcome.FAILED, TryOutcome.RELEASED

# Durations


def test_the_usual_durations_are_those_of_client_go() -> None:
    timing = LeaseTiming()

    assert (timing.lease_duration, timing.renew_deadline, timing.retry_period) == (15.0, 10.0, 2.0)
    assert timing.request_timeout == 5.0


@pytest.mark.parametrize(
    "durations", [(10, 10, 2), (9, 10, 2), (15, 2.4, 2), (15, 10, 0), (15, 10, -1), (float("inf"), 10, 2)]
)
def test_durations_must_leave_time_for_retries_and_for_the_end_of_work(
    durations: tuple[float, float, float],
) -> None:
    with pytest.raises(ArgumentError, match=r"lease_duration > renew_deadline > 1.2 \* retry_period > 0"):
        LeaseTiming(*durations)


def test_a_request_has_at_least_a_second() -> None:
    assert LeaseTiming(2.0, 1.0, 0.2).request_timeout == 1.0


@given(st.floats(0.1, 1e6))
def test_the_record_never_promises_less_than_the_lease_duration(lease: float) -> None:
    timing = LeaseTiming(lease, lease * 0.9, lease * 0.1)

    assert lease <= timing.record_seconds < lease + 1


def test_an_identity_is_required() -> None:
    with pytest.raises(ArgumentError, match="identity is empty"):
        Election("", TIMING)


# Acquiring


def test_a_lease_that_does_not_exist_is_created() -> None:
    elector = Elector()

    assert elector.begin() == Read()
    step = elector.read(None)

    assert isinstance(step, Create)
    assert (step.record.holder, step.record.seconds, step.record.transitions) == ("me", 15, 0)
    assert step.record.acquired == step.record.renewed


def test_a_released_lease_is_taken_immediately() -> None:
    elector = Elector()
    elector.begin()

    step = elector.read(others("", seconds=1, transitions=3, version="7"))

    assert isinstance(step, Update)
    assert (step.version, step.record.holder, step.record.transitions) == ("7", "me", 4)


def test_a_lease_of_another_counts_from_when_it_was_first_read() -> None:
    elector = Elector()
    lease = others(renewed=-1000.0)  # by another's clock, which must not matter

    elector.begin()
    assert elector.read(lease) == elector.result
    assert elector.result.outcome is WAITING
    elector.wait(14.9)
    elector.begin()
    elector.read(lease)
    assert elector.result.outcome is WAITING
    elector.wait(0.1)
    elector.begin()
    assert isinstance(elector.read(lease), Update)


def test_every_renewal_starts_the_wait_again() -> None:
    elector = Elector()
    elector.begin()
    elector.read(others(renewed=0))
    elector.wait(14)
    elector.begin()
    elector.read(others(renewed=1, version="2"))
    elector.wait(14)
    elector.begin()

    elector.read(others(renewed=1, version="2"))

    assert elector.result.outcome is WAITING


def test_a_change_of_metadata_is_not_a_renewal() -> None:
    elector = Elector()
    elector.begin()
    elector.read(others(version="1"))
    elector.wait(15)
    elector.begin()

    step = elector.read(others(version="9"))

    assert isinstance(step, Update)
    assert step.version == "9"


def test_a_candidate_waits_for_the_duration_in_the_record() -> None:
    elector = Elector()
    elector.begin()
    elector.read(others(seconds=40))
    elector.wait(39)
    elector.begin()

    elector.read(others(seconds=40))

    assert elector.result.outcome is WAITING


@pytest.mark.parametrize("seconds", [14.9, 15.0])
def test_a_record_without_a_duration_has_the_own_one(seconds: float) -> None:
    elector = Elector()
    elector.begin()
    elector.read(others(seconds=None))
    elector.wait(seconds)
    elector.begin()

    assert isinstance(elector.read(others(seconds=None)), Update) is (seconds == 15.0)


def test_a_takeover_has_more_transitions_and_its_own_time() -> None:
    elector = Elector()
    elector.begin()
    elector.read(others(transitions=3))
    elector.wait(15)
    elector.begin()
    elector.read(others(transitions=3))

    assert elector.record.transitions == 4
    assert elector.record.acquired == elector.record.renewed
    assert elector.stored() == elector.result
    assert elector.result.outcome is HELD
    assert elector.election.transitions == 4


def test_a_failed_takeover_is_the_end_of_a_try() -> None:
    elector = Elector()
    elector.begin()
    elector.read(others(""))

    elector.failed()

    assert elector.result.outcome is FAILED
    assert elector.election.transitions is None


def test_only_candidates_have_jitter() -> None:
    elector = Elector()

    assert elector.election.next_try(0.0, 0.0, lambda: 0.0) == 2.0
    assert elector.election.next_try(1.0, 0.0, lambda: 1.0) == pytest.approx(4.4)
    elector.lead()
    assert elector.election.next_try(0.5, 0.0, lambda: 1.0) == 1.5


@pytest.mark.parametrize(("now", "delay"), [(6.0, 2.0), (8.0, 1.0), (9.0, 0.5), (9.9, 0.2), (10.0, 2.0), (30.0, 2.0)])
def test_renewals_that_fail_are_repeated_faster_when_time_runs_out(now: float, delay: float) -> None:
    elector = Elector()
    elector.lead()

    assert elector.election.next_try(now, now, middle) == pytest.approx(delay)


def test_a_slow_renewal_is_followed_by_the_next_after_a_short_pause() -> None:
    elector = Elector()
    elector.lead()

    assert elector.election.next_try(5.0, 0.0, middle) == pytest.approx(0.2)


# Holding


def test_the_holder_may_work_until_the_renew_deadline_after_the_request_was_sent() -> None:
    elector = Elector()
    elector.now = 100.0
    elector.begin()
    elector.wait(1)
    elector.read(None)
    elector.wait(3)  # until the response
    elector.stored()

    assert elector.election.valid_until == 111.0
    assert elector.election.lease_until == 116.0


def test_the_holder_renews_without_reading() -> None:
    elector = Elector()
    first = elector.lead()
    elector.wait(2)

    step = elector.begin()

    assert isinstance(step, Update)
    assert (step.version, step.is_optimistic) == ("2", True)
    assert (step.record.acquired, step.record.transitions) == (first.acquired, first.transitions)
    assert step.record.renewed != first.renewed
    elector.stored("3")
    assert elector.result.outcome is HELD
    assert not elector.result.was_read
    assert elector.election.valid_until == 12.0


def test_a_failed_renewal_is_followed_by_a_read_and_an_update_of_the_own_record() -> None:
    elector = Elector()
    first = elector.lead()
    elector.wait(2)
    elector.begin()

    assert elector.failed() == Read()
    step = elector.read(Lease(first, "u", "5"))

    assert isinstance(step, Update)
    assert (step.version, step.is_optimistic) == ("5", False)
    elector.stored("6")
    assert elector.result.outcome is HELD
    assert elector.result.was_read


def test_a_renewal_whose_response_was_lost_is_recognised() -> None:
    elector = Elector()
    elector.lead()
    elector.wait(2)
    elector.begin()
    applied = elector.record
    elector.failed()

    step = elector.read(Lease(applied, "u", "3"))

    assert isinstance(step, Update)
    # Or others would not notice the second one, and count from the first.
    assert step.record.renewed != applied.renewed


def test_an_acquisition_whose_response_was_lost_is_recognised() -> None:
    elector = Elector()
    elector.begin()
    elector.read(None)
    applied = elector.record
    elector.failed()
    elector.wait(2)
    elector.begin()

    step = elector.read(Lease(applied, "u", "2"))

    assert isinstance(step, Update)
    assert step.record.transitions == applied.transitions + 1


def test_a_holder_whose_lease_has_expired_reads_before_it_writes() -> None:
    elector = Elector()
    elector.lead()
    elector.wait(15)

    assert elector.begin() == Read()


@pytest.mark.parametrize("holder", ["other", "", "me"])
def test_a_foreign_write_ends_the_leadership(holder: str) -> None:
    elector = Elector()
    elector.lead()
    elector.wait(2)
    elector.begin()
    elector.failed()

    elector.read(others(holder))

    assert elector.result.outcome is LOST
    assert elector.election.is_impersonated is (holder == "me")


def test_an_edited_record_is_not_own() -> None:
    """Others wait by the changed record."""
    elector = Elector()
    first = elector.lead()
    elector.begin()
    elector.failed()

    elector.read(Lease(replace(first, seconds=1), "u", "3"))

    assert elector.result.outcome is LOST


def test_a_record_changed_by_admission_is_not_held() -> None:
    elector = Elector()
    elector.begin()
    elector.read(None)

    changed = Lease(replace(elector.record, seconds=1), "u", "2")
    elector.step = elector.election.written(changed, elector.now, elector.now)

    assert elector.result.outcome is WAITING
    assert "admission" in elector.result.reason
    assert elector.election.transitions is None


def test_an_identity_alone_does_not_make_a_lease_own() -> None:
    elector = Elector("me")
    elector.begin()

    elector.read(others("me"))

    assert elector.result.outcome is WAITING
    assert elector.election.is_impersonated
    assert "another process uses the identity me" in elector.result.reason


def test_a_term_that_has_ended_is_followed_by_one_with_more_transitions() -> None:
    elector = Elector()
    first = elector.lead()
    elector.election.end_term()
    elector.begin()

    step = elector.read(Lease(first, "u", "2"))

    assert isinstance(step, Update)
    assert step.record.transitions == 1
    assert step.record.acquired != first.acquired


def test_exhausted_transitions_are_an_error_with_advice() -> None:
    elector = Elector()
    elector.begin()

    elector.read(others("", transitions=MAX_TRANSITIONS))

    assert elector.result.outcome is FAILED
    assert "delete the lease" in elector.result.reason


def test_transitions_begin_again_after_that() -> None:
    elector = Elector()
    elector.begin()
    elector.read(others("", transitions=MAX_TRANSITIONS))
    elector.begin()
    elector.read(None)
    elector.wait(15)
    elector.begin()

    elector.read(None)

    assert elector.record.transitions == 0


# A lease that is deleted


def test_the_holder_creates_a_deleted_lease_again_and_keeps_its_term() -> None:
    elector = Elector()
    first = elector.lead()
    elector.wait(2)
    elector.begin()
    elector.failed()

    step = elector.read(None)

    assert isinstance(step, Create)
    assert (step.record.acquired, step.record.transitions) == (first.acquired, first.transitions)


def _wait_for_a_deleted_lease(elector: Elector, holder: str = "other") -> None:
    """Observe a lease, then its deletion, and create it after the holder's deadline."""
    elector.begin()
    elector.read(others(holder, seconds=15 if holder else 1))
    elector.step = elector.failed() if isinstance(elector.step, Update) else elector.step
    elector.wait(20)
    elector.begin()
    elector.read(None)
    assert elector.result.outcome is WAITING
    elector.wait(10)
    elector.begin()
    elector.read(None)


@pytest.mark.parametrize("holder", ["other", ""])
def test_a_deleted_lease_is_created_if_its_holder_has_not_done_so_before_its_deadline(holder: str) -> None:
    elector = Elector()
    elector.begin()
    elector.read(others(holder, seconds=15 if holder else 1))
    elector.step = elector.failed() if isinstance(elector.step, Update) else elector.step
    elector.begin()
    elector.read(None)
    elector.wait(9.9)
    elector.begin()
    elector.read(None)
    assert elector.result.outcome is WAITING
    elector.wait(0.1)
    elector.begin()

    step = elector.read(None)

    assert isinstance(step, Create)
    assert step.record.transitions == 4


def test_the_creator_of_a_deleted_lease_works_a_lease_duration_later() -> None:
    """Others may have held it and lost it again between two reads."""
    elector = Elector()
    _wait_for_a_deleted_lease(elector)
    elector.wait(1)

    elector.stored()

    assert elector.result.outcome is HELD
    assert elector.election.valid_from == elector.now + 15
    valid_from = elector.election.valid_from
    elector.wait(2)
    elector.begin()
    elector.stored("3")
    assert elector.election.valid_from == valid_from


def test_that_holds_if_the_response_of_the_creation_was_lost_too() -> None:
    elector = Elector()
    _wait_for_a_deleted_lease(elector)
    created = elector.record
    elector.failed()
    elector.wait(2)
    elector.begin()
    elector.read(Lease(created, "v", "9"))

    elector.stored("10", "v")

    assert elector.election.valid_from == elector.now + 15


def test_a_lease_that_another_has_created_is_an_ordinary_one() -> None:
    elector = Elector()
    _wait_for_a_deleted_lease(elector)
    elector.failed()
    elector.begin()
    elector.read(others("third", version="9"))
    elector.wait(15)
    elector.begin()
    elector.read(others("third", version="9"))

    elector.stored("10")

    assert elector.election.valid_from < 0


def test_a_first_lease_is_worked_on_immediately() -> None:
    elector = Elector()
    elector.lead()

    assert elector.election.valid_from < elector.now


def test_the_wait_restarts_for_a_lease_that_comes_back() -> None:
    elector = Elector()
    elector.begin()
    elector.read(others())
    elector.begin()
    elector.read(None)
    elector.wait(8)
    elector.begin()
    elector.read(others(renewed=10, version="9"))
    elector.begin()
    elector.read(None)
    elector.wait(8)
    elector.begin()

    elector.read(None)

    assert elector.result.outcome is WAITING


def test_a_holder_whose_lease_has_expired_waits_like_the_others() -> None:
    """Another may have held it before it was deleted."""
    elector = Elector()
    elector.lead()
    elector.wait(15)
    elector.begin()

    elector.read(None)

    assert elector.result.outcome is WAITING


# Releasing


def test_a_release_empties_the_holder_for_one_second() -> None:
    elector = Elector()
    elector.lead()
    elector.wait(2)

    step = elector.release()

    assert isinstance(step, Update)
    assert (step.record.holder, step.record.seconds, step.record.transitions) == ("", 1, 0)
    elector.stored("3")
    assert elector.result.outcome is RELEASED
    assert elector.election.transitions is None


def test_a_release_that_meets_a_conflict_reads_first() -> None:
    elector = Elector()
    first = elector.lead()
    elector.release()

    assert elector.failed() == Read()
    step = elector.read(Lease(first, "u", "8"))

    assert isinstance(step, Update)
    assert (step.version, step.record.holder) == ("8", "")


@pytest.mark.parametrize("lease", [others(), None])
def test_a_foreign_record_is_not_released(lease: Lease | None) -> None:
    elector = Elector()
    elector.lead()
    elector.release()
    elector.failed()

    elector.read(lease)

    assert elector.result.outcome is RELEASED


def test_an_unacknowledged_acquisition_may_have_to_be_released() -> None:
    elector = Elector()
    may_hold = [elector.election.may_hold]
    elector.begin()
    elector.read(None)
    written = elector.record
    elector.failed()
    may_hold.append(elector.election.may_hold)

    elector.release()
    step = elector.read(Lease(written, "u", "2"))

    assert isinstance(step, Update)
    assert step.record.holder == ""
    elector.stored()
    assert [*may_hold, elector.election.may_hold] == [False, True, False]


# Times in records


@given(st.lists(st.floats(-0.9, 3.0), max_size=30), st.floats(0, 0.999))
def test_each_write_has_a_different_time_even_if_the_clock_stops(steps: list[float], number: float) -> None:
    elector = Elector()
    elector.lead()
    seen = {elector.election.observed.record.renewed} if elector.election.observed else set()
    now = 0.0
    for step in steps:
        now += max(step, 0.0)  # mostly, no time passes
        begun = elector.election.begin(1.0, wall(now), lambda: number)
        assert isinstance(begun, Update)
        assert begun.record.renewed not in seen
        seen.add(begun.record.renewed)


def test_a_clock_that_is_set_back_is_followed() -> None:
    elector = Elector()
    elector.lead()

    step = elector.election.begin(1.0, EPOCH - timedelta(days=1), middle)

    assert isinstance(step, Update)
    assert step.record.renewed is not None
    assert abs(step.record.renewed - (EPOCH - timedelta(days=1))) < timedelta(seconds=1)
