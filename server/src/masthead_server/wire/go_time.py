"""Times as Go reads and writes them, with its messages about text that is no time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

__all__ = ["MICRO_TIME", "TIME", "TimeLayout"]

_USUAL: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_FRACTION: Final = re.compile(r"[.,][0-9]+")
_SIX_DIGITS: Final = re.compile(r"[.,][0-9]{6}")
_ZONE: Final = re.compile(r"Z|([+-])([0-9]{2}):([0-9]{2})")
_TWO_DIGITS: Final = re.compile(r"[0-9]{2}")
_STEPS: Final = (
    ("", "2006", re.compile(r"[0-9]{4}"), "", range(10_000)),
    ("-", "01", _TWO_DIGITS, "month", range(1, 13)),
    ("-", "02", _TWO_DIGITS, "", range(100)),
    ("T", "15", re.compile(r"[0-9]{1,2}"), "hour", range(24)),
    (":", "04", _TWO_DIGITS, "minute", range(60)),
    (":", "05", _TWO_DIGITS, "second", range(60)),
)
"""What precedes a number, its element of the layout, its form, its name in messages and its range."""
_ZERO: Final = datetime(1, 1, 1, tzinfo=UTC)
"""Go's zero time, which it writes as null."""


class TimeLayout:
    """How Go reads and writes a type of time.

    Args:
        layout: The layout of ``time.Parse``.
        has_micros: Whether six digits of fraction are required and written.
    """

    def __init__(self, layout: str, *, has_micros: bool) -> None:
        self._layout = layout
        self._has_micros = has_micros

    def canonical(self, text: str) -> str | None:
        """Return a time as the server writes it: in UTC, cut to its precision; None for Go's zero time.

        Raises:
            ValueError: If the text is no time; the message is Go's.
        """
        # The fast path: nearly all times are written by servers and Go clients, in this form.
        if not self._has_micros and _USUAL.fullmatch(text):
            try:
                is_zero = datetime.fromisoformat(text) == _ZERO
            except ValueError:
                pass
            else:
                return None if is_zero else text
        return self._format_time(*self._parse_time(text))

    def _format_time(self, when: datetime, offset: timedelta) -> str | None:
        try:
            in_utc = when - offset
        except OverflowError:
            # differs from Go, whose years are not bounded.
            raise ValueError("Time.MarshalJSON: year outside of range [0,9999]") from None
        if in_utc == _ZERO:
            return None
        precision = "microseconds" if self._has_micros else "seconds"
        return in_utc.isoformat(timespec=precision).removesuffix("+00:00") + "Z"

    def _parse_time(self, text: str) -> tuple[datetime, timedelta]:
        """Read the elements of the layout one after the other, as Go does."""
        numbers: list[int] = []
        rest = text
        for before, element, form, name, valid in _STEPS:
            if not rest.startswith(before):
                raise self._unlike(text, rest, before)
            rest = rest.removeprefix(before)
            found = form.match(rest)
            if found is None:
                raise self._unlike(text, rest, element)
            numbers.append(int(found[0]))
            rest = rest[found.end() :]
            if numbers[-1] not in valid:
                raise _problem(text, f"{name} out of range")
        micros, rest = self._fraction(text, rest)
        offset, rest = self._offset(text, rest)
        if rest:
            raise _problem(text, f"extra text: {_quote(rest)}")
        year, month, day, hour, minute, second = numbers
        try:
            return datetime(year, month, day, hour, minute, second, micros, tzinfo=UTC), offset
        except ValueError:
            # Go checks the day last, against the length of its month.
            raise _problem(text, "day out of range") from None

    def _fraction(self, text: str, rest: str) -> tuple[int, str]:
        found = (_SIX_DIGITS if self._has_micros else _FRACTION).match(rest)
        if found is None:
            if self._has_micros:
                raise self._unlike(text, rest, ".000000")
            return 0, rest
        return int(found[0][1:7].ljust(6, "0")), rest[found.end() :]

    def _offset(self, text: str, rest: str) -> tuple[timedelta, str]:
        found = _ZONE.match(rest)
        if found is None:
            raise self._unlike(text, rest, "Z07:00")
        if found[0] == "Z":
            return timedelta(), rest[1:]
        hours, minutes = int(found[2]), int(found[3])
        # Not 23 and 59: Go's parser has these bounds.
        if hours > 24:
            raise _problem(text, "time zone offset hour out of range")
        if minutes > 60:
            raise _problem(text, "time zone offset minute out of range")
        offset = timedelta(hours=hours, minutes=minutes)
        return (-offset if found[1] == "-" else offset), rest[found.end() :]

    def _unlike(self, text: str, rest: str, element: str) -> ValueError:
        return ValueError(
            f'parsing time {_quote(text)} as "{self._layout}": cannot parse {_quote(rest)} as "{element}"'
        )


def _problem(text: str, problem: str) -> ValueError:
    return ValueError(f"parsing time {_quote(text)}: {problem}")


def _quote(text: str) -> str:
    """Quote a text as Go's package ``time`` does."""
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if " " <= character < "\x80":
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "replace"))


TIME: Final = TimeLayout("2006-01-02T15:04:05Z07:00", has_micros=False)
"""The layout of ``Time``."""
MICRO_TIME: Final = TimeLayout("2006-01-02T15:04:05.000000Z07:00", has_micros=True)
"""The layout of ``MicroTime``."""
