"""Event correlation: repeats are counted, similar events combined, floods dropped."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from masthead_server.controllers.event_correlation import EventBudget, ReportedEvent, ServerEventCorrelator

START = datetime(2026, 1, 1, tzinfo=UTC)
WEB = ("Pod", "default", "web", "uid", "v1")


def created(number: int) -> ReportedEvent:
    return ReportedEvent("Normal", "SuccessfulCreate", f"Created pod: web-{number}")


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def test_a_repeat_raises_the_count() -> None:
    correlator = ServerEventCorrelator()
    first = correlator.observe(WEB, created(1), at(0))
    assert first is not None
    first.name = "web.1"

    again = correlator.observe(WEB, created(1), at(5))

    assert again is not None
    assert (again.name, again.count, again.first) == ("web.1", 2, START)


def test_another_object_part_reason_or_message_is_another_event() -> None:
    correlator = ServerEventCorrelator()
    occurrence = ReportedEvent("Normal", "Started", "Container started", "spec.containers{a}")
    others = [
        (WEB, occurrence._replace(field_path="spec.containers{b}")),
        (WEB, occurrence._replace(reason="Created")),
        (WEB, occurrence._replace(message="It runs")),
        (WEB, occurrence._replace(type="Warning")),
        ((*WEB[:3], "another", "v1"), occurrence),
    ]
    correlator.observe(WEB, occurrence, START)

    found = [correlator.observe(involved, each, START) for involved, each in others]

    assert [each.count for each in found if each is not None] == [1] * 5


def test_from_the_tenth_message_on_similar_events_are_combined() -> None:
    correlator = ServerEventCorrelator()
    single = [correlator.observe(WEB, created(number), START) for number in range(9)]
    assert not any(each is None or each.is_combined for each in single)

    combined, *others = [correlator.observe(WEB, created(number), START) for number in range(9, 12)]

    assert combined is not None
    assert all(other is combined for other in others)
    assert (combined.count, combined.is_combined) == (3, True)
    assert combined.message == "(combined from similar events): Created pod: web-11"


def test_after_ten_minutes_without_any_they_are_told_apart_again() -> None:
    correlator = ServerEventCorrelator()
    for number in range(10):
        correlator.observe(WEB, created(number), START)

    later = correlator.observe(WEB, created(10), at(601))

    assert later is not None
    assert not later.is_combined


def test_an_object_has_25_events_at_once_and_one_more_every_five_minutes() -> None:
    correlator = ServerEventCorrelator()
    written = [correlator.observe(WEB, created(1), START) for _ in range(30)]
    assert [each is not None for each in written] == [True] * 25 + [False] * 5

    other = correlator.observe(("Pod", "default", "db", "u", "v1"), created(1), START)
    warning = correlator.observe(WEB, created(1)._replace(type="Warning"), START)
    later = correlator.observe(WEB, created(1), at(300))

    assert other is not None
    assert warning is not None
    assert later is not None
    assert later.count == 31  # those that were dropped are counted
    assert correlator.observe(WEB, created(1), at(301)) is None


def test_what_is_remembered_is_bounded() -> None:
    correlator = ServerEventCorrelator()
    for number in range(5000):
        correlator.observe(("Pod", "default", f"web-{number}", "u", "v1"), created(1), START)
    kept = correlator.observe(("Pod", "default", "web-4999", "u", "v1"), created(1), START)
    forgotten = correlator.observe(("Pod", "default", "web-0", "u", "v1"), created(1), START)

    assert kept is not None
    assert forgotten is not None
    assert (kept.count, forgotten.count) == (2, 1)


def test_messages_of_one_object_are_forgotten_too() -> None:
    correlator = ServerEventCorrelator()
    for number in range(200):
        correlator.observe(WEB, created(number), at(601 * number))

    forgotten = correlator.observe(WEB, created(0), at(601 * 200))

    assert forgotten is not None
    assert forgotten.count == 1


@given(st.lists(st.floats(0, 100), max_size=50))
def test_a_bucket_never_gives_more_than_its_burst_and_its_rate(pauses: list[float]) -> None:
    bucket, now, taken = EventBudget(5, 0.5, START), 0.0, 0
    for pause in pauses:
        now += pause
        taken += bucket.take(at(now))

    assert taken <= 5 + now * 0.5 + 1e-3
