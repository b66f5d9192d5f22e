"""Event correlation, as in client-go's recorders: repeats are counted, similar events combined, floods dropped.

Pure decisions: the time is an argument, and nothing is stored here.

===========  ==================================================================================================
repeats      an event with the object, reason and message of an earlier event raises its count
similar      from the tenth message of an object with one reason within ten minutes on, the messages are combined
floods       an object may have a burst of 25 events of a type, then one every five minutes; a component may have a
             burst of 1,000, then 50 every second
===========  ==================================================================================================
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["CorrelatedEvent", "EventBudget", "ReportedEvent", "ServerEventCorrelator", "component_bucket"]

_MAX_OBJECTS: Final = 4096
_MAX_OBSERVATIONS: Final = 64
"""How many objects are remembered, and how many Events of each."""
_MAX_MESSAGES: Final = 10
_SIMILAR_WITHIN: Final = 600.0
_OBJECT_BURST: Final = 25
_OBJECT_RATE: Final = 1 / 300
_COMPONENT_BURST: Final = 1000
_COMPONENT_RATE: Final = 50.0
"""The capacity of a recorder's queue, and how fast a kubelet empties that."""
_COMBINED: Final = "(combined from similar events): "


class ReportedEvent(NamedTuple):
    """A report of a component about an object.

    Attributes:
        type: ``Normal`` or ``Warning``.
        reason: The reason.
        message: The message.
        field_path: The part of the object that it concerns; empty for the whole object.
    """

    type: str
    reason: str
    message: str
    field_path: str = ""


@dataclass(slots=True)
class CorrelatedEvent:
    """An Event to be written.

    Attributes:
        message: Its message; a combined Event names the number of its occurrences.
        first: The time of its first occurrence.
        is_combined: Whether it combines several messages.
        name: Its name; empty until the writer sets it.
        count: How often it has occurred.
    """

    message: str
    first: datetime
    is_combined: bool
    name: str = ""
    count: int = 0


class ServerEventCorrelator:
    """Decides which Event an occurrence becomes, with a bounded memory."""

    def __init__(self) -> None:
        self._objects: OrderedDict[tuple[str, ...], _ObservedObject] = OrderedDict()

    def observe(self, involved: tuple[str, ...], occurrence: ReportedEvent, now: datetime) -> CorrelatedEvent | None:
        """Count an occurrence.

        Args:
            involved: Identifies the object: its kind, namespace, name, uid and apiVersion.
            occurrence: The reported occurrence.
            now: The time.

        Returns:
            The Event to write; a new Event has no name until the writer sets it. None if the object has had too many.
        """
        found = self._objects.get(involved)
        if found is None:
            found = self._objects[involved] = _ObservedObject()
            # The object without events for the longest time goes first, so that floods cannot exhaust the memory.
            if len(self._objects) > _MAX_OBJECTS:
                self._objects.popitem(last=False)
        else:
            self._objects.move_to_end(involved)
        return found.observe(occurrence, now)


class _ObservedObject:
    """The Events of one object."""

    __slots__ = ("_buckets", "_observations", "_similar")

    def __init__(self) -> None:
        self._observations: dict[tuple[str, ...], CorrelatedEvent] = {}
        self._similar: dict[tuple[str, ...], _Similar] = {}
        self._buckets: dict[str, EventBudget] = {}

    def observe(self, occurrence: ReportedEvent, now: datetime) -> CorrelatedEvent | None:
        is_combined = self._is_one_of_many(occurrence, now)
        # A combined Event is identified by type and reason alone.
        key = occurrence[:2] if is_combined else occurrence
        # Popped and inserted again: the order of the dict is the order of last use.
        seen = self._observations.pop(key, None) or CorrelatedEvent(occurrence.message, now, is_combined)
        seen.count += 1
        if is_combined:
            seen.message = f"{_COMBINED}{occurrence.message}"
        self._observations[key] = seen
        if len(self._observations) > _MAX_OBSERVATIONS:
            del self._observations[next(iter(self._observations))]
        # Counted above even if it is dropped here, so that the count of the next written Event is complete.
        bucket = self._buckets.get(occurrence.type)
        if bucket is None:
            bucket = self._buckets[occurrence.type] = EventBudget(_OBJECT_BURST, _OBJECT_RATE, now)
        return seen if bucket.take(now) else None

    def _is_one_of_many(self, occurrence: ReportedEvent, now: datetime) -> bool:
        """Whether there are many messages of the same type and reason."""
        similar = self._similar.get(occurrence[:2])
        if similar is None:
            similar = self._similar[occurrence[:2]] = _Similar(now)
        elif (now - similar.last).total_seconds() > _SIMILAR_WITHIN:
            similar.messages.clear()
        similar.last = now
        similar.messages.add(occurrence.message)
        if len(similar.messages) < _MAX_MESSAGES:
            return False
        similar.messages.discard(occurrence.message)  # so that they do not grow
        return True


@dataclass(slots=True)
class _Similar:
    """The messages of one type and reason."""

    last: datetime
    messages: set[str] = field(default_factory=set[str])


class EventBudget:
    """A token bucket for events.

    Args:
        burst: The size of the bucket.
        rate: Tokens added per second.
        now: The time.
    """

    __slots__ = ("_burst", "_rate", "_refilled", "_tokens")

    def __init__(self, burst: int, rate: float, now: datetime) -> None:
        self._burst = burst
        self._rate = rate
        self._refilled = now
        self._tokens = float(burst)

    def take(self, now: datetime) -> bool:
        """Take a token; return False if the bucket is empty."""
        passed = (now - self._refilled).total_seconds()
        # A virtual clock may be set back; the bucket must not lose tokens by that.
        if passed > 0:
            self._tokens = min(self._burst, self._tokens + passed * self._rate)
            self._refilled = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


def component_bucket(now: datetime) -> EventBudget:
    """Return how many Events a component may write."""
    return EventBudget(_COMPONENT_BURST, _COMPONENT_RATE, now)
