"""Event correlation, rule by rule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._sansio.event_correlation import COMBINED, EventCorrelator, EventRecord, Observation
from masthead._sansio.event_limits import CorrelatorOptions, SpamFilter
from masthead._sansio.event_occurrences import EventReference, Occurrence, truncate

START = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = 60.0


def reference(name: str = "web", *, version: str = "1", uid: str = "", field_path: str = "") -> EventReference:
    return EventReference("v1", "Pod", "default", name, uid or f"uid-of-{name}", version, field_path)


class Recording:
    """A correlator with a clock, and a server that accepts every write immediately unless it is down."""

    def __init__(self, options: CorrelatorOptions | None = None) -> None:
        self.correlator = EventCorrelator(options)
        self.now = 0.0
        self.is_down = False
        self.writes: list[tuple[str, int]] = []
        self._names = count(1)

    def record(
        self,
        note: str = "Back-off",
        *,
        of: EventReference | None = None,
        type: str = "Normal",  # noqa: A002 - as the recorder calls it
        reason: str = "BackOff",
        action: str = "",
        related: EventReference | None = None,
    ) -> Observation:
        occurrence = Occurrence(
            of or reference(), type, reason, note, action, START + timedelta(seconds=self.now), related
        )
        seen = self.correlator.observe(occurrence, self.now, f"event-{next(self._names)}")
        if seen.evicted is not None:
            self.write(seen.evicted)
        if seen.is_granted:
            self.write(seen.record)
        return seen

    def write(self, record: EventRecord) -> None:
        if not self.is_down:
            self.writes.append((record.note, record.count))
            self.correlator.wrote(record, record.count, self.now)

    def wait(self, seconds: float) -> None:
        """Let time pass, and process due records."""
        until = self.now + seconds
        while (due := self.correlator.next_due()) is not None and due <= until:
            self.now = max(self.now, due)
            for record in self.correlator.due(self.now):
                self.write(record)
        self.now = until


def test_the_second_occurrence_starts_a_series_and_further_ones_are_only_counted() -> None:
    recording = Recording()
    for _ in range(5):
        recording.record()
    assert recording.writes == [("Back-off", 1), ("Back-off", 2)]


def test_a_series_is_finished_after_six_minutes_and_its_count_is_written() -> None:
    recording = Recording()
    for _ in range(5):
        recording.record()
    recording.wait(6 * MINUTE - 1)
    assert recording.writes[2:] == []
    recording.wait(1)
    assert recording.writes[2:] == [("Back-off", 5)]
    assert len(recording.correlator) == 0


def test_an_occurrence_after_the_end_of_a_series_begins_a_new_event() -> None:
    recording = Recording()
    first = recording.record().record
    recording.wait(6 * MINUTE)
    second = recording.record().record
    assert (first.name, second.name) == ("event-1", "event-2")
    assert recording.writes == [("Back-off", 1), ("Back-off", 1)]


def test_an_idle_series_ends_without_a_check() -> None:
    recording = Recording()
    for _ in range(3):
        recording.record()
    recording.now = 7 * MINUTE
    seen = recording.record()
    assert recording.writes[2:] == [("Back-off", 3), ("Back-off", 1)]
    assert seen.record.name == "event-4"


def test_an_active_series_is_written_every_half_hour() -> None:
    recording = Recording()
    for _ in range(61):
        recording.record()
        recording.wait(MINUTE)
    # The second occurrence is written after one minute, and what there is after 31 and 61.
    assert recording.writes == [("Back-off", count) for count in (1, 2, 31, 61)]


def test_the_version_of_the_object_does_not_matter() -> None:
    recording = Recording()
    recording.record(of=reference(version="1"))
    recording.record(of=reference(version="2"))
    assert recording.writes == [("Back-off", 1), ("Back-off", 2)]


@pytest.mark.parametrize(
    "other",
    [
        {"note": "Other"},
        {"type": "Warning"},
        {"reason": "Other"},
        {"action": "Other"},
        {"related": reference("other")},
        {"of": reference("other")},
        {"of": reference(uid="of-its-successor")},
        {"of": reference(field_path="spec.containers{web}")},
    ],
    ids=lambda other: next(iter(other)),
)
def test_occurrences_that_differ_are_different_events(other: dict[str, str]) -> None:
    recording = Recording()
    recording.record()
    recording.record(**other)  # type: ignore[arg-type]
    assert [written for _, written in recording.writes] == [1, 1]


def test_the_tenth_message_is_combined_with_all_that_follow() -> None:
    recording = Recording()
    for number in range(12):
        recording.record(f"bad {number}")
    expected = [(f"bad {number}", 1) for number in range(9)]
    assert recording.writes == [*expected, (f"{COMBINED}bad 9", 1), (f"{COMBINED}bad 10", 2)]


def test_the_first_nine_messages_keep_their_own_events() -> None:
    recording = Recording()
    for number in range(12):
        recording.record(f"bad {number}")
    for number in range(9):
        recording.record(f"bad {number}")
    assert recording.writes[11:] == [(f"bad {number}", 2) for number in range(9)]


def test_ten_minutes_without_a_similar_occurrence_end_combining() -> None:
    recording = Recording()
    for number in range(10):
        recording.record(f"bad {number}")
    recording.wait(10 * MINUTE)
    assert recording.record("bad 10").record.note == f"{COMBINED}bad 10"
    recording.wait(10 * MINUTE + 1)
    assert recording.record("bad 11").record.note == "bad 11"


def test_other_reasons_are_not_combined() -> None:
    recording = Recording()
    for number in range(12):
        recording.record(f"bad {number}", reason=f"Reason{number}")
    assert {count for _, count in recording.writes} == {1}


def test_the_spam_filter_allows_25_writes_and_one_more_every_five_minutes() -> None:
    recording = Recording()
    for number in range(40):
        recording.record(reason=f"Reason{number}")
    assert len(recording.writes) == 25
    recording.wait(300)
    seen = [recording.record(reason=f"Late{number}") for number in range(2)]
    assert [(observation.is_granted, observation.is_filtered) for observation in seen] == [(True, False), (False, True)]


def test_other_objects_and_types_have_their_own_spam_filter() -> None:
    recording = Recording()
    for number in range(30):
        recording.record(reason=f"Reason{number}")
    assert recording.record(type="Warning").is_granted
    assert recording.record(of=reference("other")).is_granted
    assert not recording.record().is_granted


def test_counting_takes_no_token() -> None:
    recording = Recording()
    for _ in range(1000):
        recording.record()
    for number in range(23):
        assert recording.record(reason=f"Reason{number}").is_granted
    assert recording.record(reason="OneTooMany").is_filtered


def test_a_filtered_event_is_written_with_its_count_at_the_next_token() -> None:
    recording = Recording(CorrelatorOptions(burst=1))
    recording.record(reason="Other")
    for _ in range(3):
        assert recording.record().is_filtered
        recording.wait(100)
    assert recording.record().is_granted
    assert recording.writes[-1] == ("Back-off", 4)


def test_a_filtered_event_that_does_not_recur_is_forgotten() -> None:
    recording = Recording(CorrelatorOptions(burst=1))
    recording.record(reason="Other")
    recording.record()
    recording.wait(6 * MINUTE)
    assert len(recording.correlator) == 0
    assert len(recording.writes) == 1


def test_a_refused_write_is_tried_again_with_the_next_occurrence() -> None:
    recording = Recording()
    recording.is_down = True
    refused = recording.record().record
    recording.correlator.gave_up(refused, recording.now)
    recording.is_down = False
    recording.record()
    assert recording.writes == [("Back-off", 2)]


def test_every_occurrence_is_written_to_core_v1() -> None:
    recording = Recording()
    recording.correlator.updates_every_time = True
    for _ in range(5):
        recording.record()
    assert [count for _, count in recording.writes] == [1, 2, 3, 4, 5]
    recording.wait(60 * MINUTE)
    recording.record()
    assert recording.writes[5:] == [("Back-off", 6)]


def test_the_note_of_a_combined_core_v1_event_is_the_latest() -> None:
    recording = Recording()
    recording.correlator.updates_every_time = True
    for number in range(12):
        recording.record(f"bad {number}")
    assert recording.writes[-2:] == [(f"{COMBINED}bad 10", 2), (f"{COMBINED}bad 11", 3)]


def test_memory_is_bounded_and_a_forgotten_series_gets_its_count() -> None:
    recording = Recording(CorrelatorOptions(cache_size=2))
    for name in "aaabcd":
        recording.record(of=reference(name))
    assert len(recording.correlator) == 2
    assert recording.writes == [("Back-off", count) for count in (1, 2, 1, 3, 1, 1)]


def test_unwritten_counts_can_be_requested() -> None:
    recording = Recording()
    for _ in range(5):
        recording.record()
    (record,) = recording.correlator.behind()
    recording.write(record)
    assert recording.writes[2:] == [("Back-off", 5)]
    assert recording.correlator.behind() == []


def test_occurrences_during_the_last_write_of_a_series_are_not_lost() -> None:
    recording = Recording(CorrelatorOptions(burst=1))
    recording.is_down = True
    record = recording.record().record
    recording.record()  # filtered, while the first one is in flight
    recording.wait(6 * MINUTE)
    recording.correlator.wrote(record, 1, recording.now)
    assert record.needs_write
    assert record.wanted == 2


@given(st.floats(0, 1e7), st.floats(0.001, 1e4))
def test_due_times_survive_rounding(begin: float, finish: float) -> None:
    recording = Recording(CorrelatorOptions(finish=finish))
    recording.now = begin
    recording.record()
    due = recording.correlator.next_due()
    assert due is not None
    recording.correlator.due(due)
    then = recording.correlator.next_due()
    assert then is None or then > due


def test_options_are_positive() -> None:
    with pytest.raises(ValueError, match="burst must be more than 0, not 0"):
        CorrelatorOptions(burst=0)


@given(st.lists(st.floats(0, 700), max_size=60), st.integers(1, 5))
def test_the_spam_filter_is_a_token_bucket(steps: list[float], burst: int) -> None:
    spam_filter = SpamFilter(CorrelatorOptions(burst=burst))
    now, tokens = 0.0, float(burst)
    for step in steps:
        now, tokens = now + step, min(burst, tokens + step / 300)
        if abs(tokens - 1) < 1e-6:
            continue  # rounding decides
        assert spam_filter.allows(("key",), now) == (tokens >= 1)
        tokens -= 1 if tokens >= 1 else 0


@given(st.text(max_size=600), st.integers(10, 1024))
def test_a_long_note_is_cut_between_characters_with_an_ellipsis(note: str, limit: int) -> None:
    cut = truncate(note, limit)
    assert len(cut.encode()) <= limit
    if cut != note:
        assert len(note.encode()) > limit
        assert cut.endswith("…")
        assert note.startswith(cut[:-1])
        assert len(cut.encode()) > limit - 4
