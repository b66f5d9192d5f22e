"""The moments of a scenario: times relative to its first minute, in all the spellings of objects and events."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DAY = 24 * 60
OFFSETS = (*range(-90, 91), *(day * DAY - offset for day in (-1, -2, -3, -200) for offset in (0, 10, 20, 30)))
"""The minutes, before and after the first one, that are recognised."""
_PLACEHOLDER = re.compile(r"\{(time|cron):(-?\d+)\}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


class Moments:
    """Translates between placeholders and times.

    Args:
        now: When the scenario begins; its minute is the first one.
    """

    def __init__(self, now: datetime) -> None:
        self.first = now.astimezone(UTC).replace(second=0, microsecond=0)

    def reveal(self, text: str) -> str:
        """Replace placeholders by times."""
        return _PLACEHOLDER.sub(lambda found: self._spell(found[1], int(found[2])), text)

    def conceal(self, text: str) -> str:
        """Replace known times by what they are relative to the first minute, and all other times by one word."""
        for spelling, name in _names(self.first):
            if spelling in text:
                text = text.replace(spelling, name)
        return _TIME.sub("{time}", text)

    def _spell(self, form: str, offset: int) -> str:
        moment = self.first + timedelta(minutes=offset)
        return f"{moment.minute} {moment.hour} * * *" if form == "cron" else f"{moment:%Y-%m-%dT%H:%M:%SZ}"


@cache
def _names(first: datetime) -> tuple[tuple[str, str], ...]:
    return tuple(_spellings(first))


def _spellings(first: datetime) -> Iterator[tuple[str, str]]:
    for offset in OFFSETS:
        moment, name = first + timedelta(minutes=offset), f"{{T{offset:+d}}}"
        yield f"{moment:%Y-%m-%dT%H:%M:%SZ}", name
        yield format_datetime(moment), name  # RFC 1123 with a numeric zone, in events
        yield f"-{int(moment.timestamp()) // 60}", f"-{name}"  # the end of a Job's name
        yield f'"{moment.minute} {moment.hour} * * *"', f'"cron{name}"'
