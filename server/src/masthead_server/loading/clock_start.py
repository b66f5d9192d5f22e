"""The start of a virtual clock: after all times in the objects that its server starts with."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final, cast

import msgspec

from masthead_server.clock import VirtualClock
from masthead_server.wire.plain import Plain, items, metadata, part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from masthead_server.clock import Clock

__all__ = ["begin_after_objects", "find_newest_time"]

_PAST: Final = frozenset(
    {
        "completionTime",
        "finishedAt",
        "lastHeartbeatTime",
        "lastProbeTime",
        "lastScaleTime",
        "lastScheduleTime",
        "lastSuccessfulTime",
        "lastTransitionTime",
        "lastUpdateTime",
        "startTime",
        "startedAt",
    }
)
"""Fields of a status with the time of something that has happened, unlike ``notAfter``."""
_OF_EVENTS: Final = ("firstTimestamp", "lastTimestamp", "eventTime")
_OF_LEASES: Final = ("acquireTime", "renewTime")
_MAX_YEAR: Final = 9000
"""The last year of a time that counts, so that the clock has room to advance."""


def begin_after_objects(clock: Clock, values: Iterable[bytes | Plain]) -> None:
    """Let a virtual clock without a start begin after the newest time of objects, as they are stored or decoded."""
    if isinstance(clock, VirtualClock) and clock.may_begin_later:
        newest = max((moment for value in values if (moment := find_newest_time(_decode(value)))), default=None)
        if newest is not None:
            clock.begin_after(newest)


def _decode(value: bytes | Plain) -> Plain:
    if isinstance(value, dict):
        return value
    try:
        # All codecs leave out the first brace.
        found: object = msgspec.json.decode(b"{" + value)
    except msgspec.DecodeError:
        return {}  # the server reports damaged records
    return cast("Plain", found) if isinstance(found, dict) else {}


def find_newest_time(found: Plain) -> datetime | None:
    """Return the newest time of something that has happened to an object; None without any."""
    return max(filter(None, map(_parse, _find_times(found))), default=None)


def _find_times(found: Plain) -> Iterator[object]:
    meta = metadata(found)
    yield meta.get("creationTimestamp")
    for entry in items(meta, "managedFields"):
        yield entry.get("time")
    for field in _OF_EVENTS:
        yield found.get(field)
    for field in _OF_LEASES:
        yield part(found, "spec").get(field)
    yield from _find_past(found.get("status"))


def _find_past(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        for name, inner in cast("Plain", value).items():
            if name in _PAST:
                yield inner
            elif isinstance(inner, dict | list):
                yield from _find_past(cast("object", inner))
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _find_past(inner)


def _parse(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None and moment.year < _MAX_YEAR else None
