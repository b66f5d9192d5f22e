"""Times on the wire. The tables hold what Go's metav1.Time and metav1.MicroTime read and write."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime, timedelta, timezone, tzinfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._meta.time import MicroTime, Time, format_micro_time, format_time, parse_micro_time, parse_time
from masthead.errors import ArgumentError, TimeError

NOON = datetime(2024, 1, 2, 12, tzinfo=UTC)
BEFORE_YEAR_ONE = datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))
AFTER_YEAR_9999 = datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))

zones = st.sampled_from([UTC, timezone(timedelta(hours=-7, minutes=-30)), timezone(timedelta(hours=5, minutes=45))])
times = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=zones)  # noqa: DTZ001 - hypothesis adds the zone


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05.123456Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05.5Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05.000000Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05.999999Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05.1234567Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05.123456789Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05+02:00", "2024-01-02T01:04:05Z"),
        ("2024-01-02T03:04:05-07:30", "2024-01-02T10:34:05Z"),
        ("2024-01-02T03:04:05.123456+02:00", "2024-01-02T01:04:05Z"),
        ("2024-01-02T03:04:05-00:00", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05+23:59", "2024-01-01T03:05:05Z"),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"),
        ("0001-01-01T00:00:01Z", "0001-01-01T00:00:01Z"),
        ("0099-06-07T08:09:10.000011Z", "0099-06-07T08:09:10Z"),
        ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"),
        ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59Z"),
    ],
)
def test_a_time_is_read_and_written_as_go_does(text: str, written: str) -> None:
    assert format_time(parse_time(text)) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2024-01-02T03:04:05.123456Z", "2024-01-02T03:04:05.123456Z"),
        ("2024-01-02T03:04:05.000000Z", "2024-01-02T03:04:05.000000Z"),
        ("2024-01-02T03:04:05.999999Z", "2024-01-02T03:04:05.999999Z"),
        ("2024-01-02T03:04:05.123456+02:00", "2024-01-02T01:04:05.123456Z"),
        ("0099-06-07T08:09:10.000011Z", "0099-06-07T08:09:10.000011Z"),
        ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_a_micro_time_is_read_and_written_as_go_does(text: str, written: str) -> None:
    assert format_micro_time(parse_micro_time(text)) == written


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "1704164645",
        "2024-01-02",
        "2024-01-02T03:04:05",
        "2024-01-02T03:04Z",
        "2024-01-02T03:04:05.Z",
        " 2024-01-02T03:04:05Z",
        "2024-01-02T03:04:05Z ",
        "2024-01-02T03:04:05 UTC",
        "20240102T030405Z",
        "2023-02-29T00:00:00Z",
        "2024-13-01T00:00:00Z",
        "2024-01-02T24:00:00Z",
        "2024-01-02T03:04:60Z",
    ],
)
def test_text_that_go_refuses_is_refused(text: str) -> None:
    with pytest.raises(TimeError):
        parse_time(text)
    with pytest.raises(TimeError):
        parse_micro_time(text)


@pytest.mark.parametrize(
    "text",
    [
        "0000-01-01T00:00:00Z",
        "2024-01-02T3:04:05Z",
        "2024-01-02T03:04:05,5Z",
        "2024-01-02T03:04:05+24:00",
        "2024-01-02T03:04:05+00:60",
        "9999-12-31T23:59:59.9999999Z",
    ],
)
def test_text_outside_rfc_3339_or_datetime_is_refused_although_go_takes_it(text: str) -> None:
    with pytest.raises(TimeError):
        parse_time(text)


@pytest.mark.parametrize(
    "text",
    ["2024-01-02t03:04:05z", "2024-01-02 03:04:05Z", "2024-01-02T05:04:05+0200", "2024-01-02T03:04:05.0Z"],
)
def test_looser_forms_are_read_although_go_refuses_them_in_some_field(text: str) -> None:
    assert format_micro_time(parse_micro_time(text)) == "2024-01-02T03:04:05.000000Z"


def test_digits_beyond_the_microsecond_are_rounded() -> None:
    assert parse_time("2024-01-02T03:04:05.9999996Z") == datetime(2024, 1, 2, 3, 4, 6, tzinfo=UTC)


def test_the_offset_that_the_text_gives_is_kept() -> None:
    assert parse_time("2024-01-02T03:04:05+02:00").utcoffset() == timedelta(hours=2)
    assert parse_micro_time("2024-01-02T03:04:05+02:00").utcoffset() == timedelta(hours=2)


def test_gos_zero_time_makes_the_round_trip() -> None:
    zero = datetime(1, 1, 1, tzinfo=UTC)

    assert parse_time("0001-01-01T00:00:00Z") == zero
    assert format_time(zero) == "0001-01-01T00:00:00Z"
    assert format_micro_time(zero) == "0001-01-01T00:00:00.000000Z"


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"])
def test_times_whose_utc_year_does_not_exist_can_be_read_and_compared(text: str) -> None:
    assert parse_time(text) == parse_micro_time(text)
    assert hash(parse_time(text)) == hash(parse_micro_time(text))


@pytest.mark.parametrize("when", [BEFORE_YEAR_ONE, AFTER_YEAR_9999])
def test_times_whose_utc_year_does_not_exist_cannot_be_written(when: datetime) -> None:
    with pytest.raises(TimeError, match="year"):
        format_time(when)
    with pytest.raises(TimeError, match="year"):
        format_micro_time(when)


def test_naive_datetimes_cannot_be_written() -> None:
    naive = NOON.replace(tzinfo=None)

    with pytest.raises(TimeError, match=r"has no time zone\. Give one, as in datetime\.now\(UTC\)\."):
        format_time(naive)
    with pytest.raises(TimeError, match="has no time zone"):
        format_micro_time(naive)


def test_a_refusal_names_the_text_and_a_right_form() -> None:
    with pytest.raises(TimeError) as caught:
        parse_time("yesterday")

    assert str(caught.value).startswith("'yesterday' is not a time. ")
    assert "2006-01-02T15:04:05Z" in str(caught.value)
    assert caught.value.value == "yesterday"
    assert isinstance(caught.value, ArgumentError)


def test_a_refusal_of_long_text_is_short() -> None:
    with pytest.raises(TimeError) as caught:
        parse_time("2" * 100_000)

    assert len(str(caught.value)) < 200


class Unsure(tzinfo):
    """A zone that does not know its offset, which makes a datetime naive all the same."""

    def utcoffset(self, _when: datetime | None, /) -> None: ...
    def dst(self, _when: datetime | None, /) -> None: ...
    def tzname(self, _when: datetime | None, /) -> None: ...


@pytest.mark.parametrize("zone", [None, Unsure()])
def test_a_micro_time_without_a_zone_cannot_be_made(zone: tzinfo | None) -> None:
    naive = NOON.replace(tzinfo=zone)

    with pytest.raises(TimeError):
        MicroTime(2024, 1, 2, tzinfo=zone)
    with pytest.raises(TimeError):
        MicroTime.of(naive)
    with pytest.raises(TimeError):
        MicroTime.of(NOON).replace(tzinfo=zone)
    with pytest.raises(TimeError):
        MicroTime.fromisoformat("2024-01-02")


def test_parts_of_a_micro_time_can_be_replaced() -> None:
    replaced = MicroTime.of(NOON).replace(hour=13)

    assert type(replaced) is MicroTime
    assert replaced == NOON + timedelta(hours=1)


def test_a_timedelta_away_from_a_micro_time_is_a_micro_time() -> None:
    when = MicroTime.of(NOON)
    hour = timedelta(hours=1)

    assert [type(moved) for moved in (when + hour, hour + when, when - hour)] == [MicroTime] * 3
    assert when + hour == NOON + hour
    assert when - NOON == timedelta(0)


def test_a_micro_time_in_another_zone_is_a_micro_time() -> None:
    assert type(MicroTime.of(NOON).astimezone(timezone(timedelta(hours=5)))) is MicroTime


class SetBack(tzinfo):
    """A zone in the hour in which its clocks go back from two hours ahead of UTC to one."""

    def utcoffset(self, when: datetime | None, /) -> timedelta:
        return timedelta(hours=1 if when is not None and when.fold else 2)

    def dst(self, _when: datetime | None, /) -> None: ...
    def tzname(self, _when: datetime | None, /) -> None: ...


def test_of_keeps_the_fold_of_a_clock_that_was_set_back() -> None:
    first, second = (datetime(2024, 10, 27, 2, 30, fold=fold, tzinfo=SetBack()) for fold in (0, 1))

    assert format_micro_time(MicroTime.of(first)) == "2024-10-27T00:30:00.000000Z"
    assert format_micro_time(MicroTime.of(second)) == "2024-10-27T01:30:00.000000Z"


def test_the_time_alias_makes_msgspec_refuse_naive_times() -> None:
    assert msgspec.json.decode(b'"2024-01-02T12:00:00Z"', type=Time) == NOON
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'"2024-01-02T12:00:00"', type=Time)


def test_msgspec_leaves_micro_times_to_the_hooks() -> None:
    def encode(value: object) -> object:
        assert isinstance(value, MicroTime)
        return format_micro_time(value)

    assert msgspec.json.encode(MicroTime.of(NOON), enc_hook=encode) == b'"2024-01-02T12:00:00.000000Z"'


@given(times)
def test_micro_times_equal_hash_copy_and_pickle_as_datetimes(when: datetime) -> None:
    micro = MicroTime.of(when)

    assert micro == when
    assert hash(micro) == hash(when)
    for copied in (copy.copy(micro), copy.deepcopy(micro), pickle.loads(pickle.dumps(micro))):
        assert (type(copied), copied, copied.utcoffset()) == (MicroTime, when, when.utcoffset())


@pytest.mark.slow
@given(times)
def test_writing_a_micro_time_and_reading_it_again_loses_nothing(when: datetime) -> None:
    written = format_micro_time(when)

    assert len(written) == len("2006-01-02T15:04:05.000000Z")
    assert parse_micro_time(written) == when


@given(times)
def test_writing_a_time_loses_the_fraction_only(when: datetime) -> None:
    written = format_time(when)

    assert len(written) == len("2006-01-02T15:04:05Z")
    assert timedelta(0) <= when - parse_time(written) < timedelta(seconds=1)


@given(st.text(max_size=30) | st.text("0123456789-:.TZ+", max_size=30))
def test_any_text_is_an_aware_time_or_refused_with_our_error(text: str) -> None:
    try:
        parsed = parse_time(text)
    except TimeError:
        return
    assert parsed.utcoffset() is not None
