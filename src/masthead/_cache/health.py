"""How an informer is doing: what a probe, a dashboard or a person asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from masthead._sansio.listwatch import Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Health", "Pulse", "health_of"]

_NEVER: Final = float("inf")


@dataclass(frozen=True, slots=True)
class Health:
    """How an informer is at one moment.

    Attributes:
        state: ``new``, ``listing``, ``watching``, ``waiting`` (for the next attempt after a failure) or ``stopped``.
            With several namespaces, the worst of them.
        is_synced: Whether the first full state is in the store.
        version: The resource version that the store has reached; empty before it is synced, unless it was seeded.
        objects: How many objects there are.
        staleness: Seconds for which nothing has proved that the store is what the server has: no event, no bookmark,
            no list. About a minute is usual; infinite before the first of these.
        since_event: Seconds since the last change of an object came; infinite before the first.
        last_error: What went wrong last, in one sentence; empty if nothing ever did.
        since_error: Seconds since then; infinite if nothing ever did.
        failures: How many attempts have failed since the server last told something, or a watch lasted; 0 if all is
            well.
        relists: How often the whole state was asked for again, though there was one.
        reconnects: How often a watch was opened to go on where another had ended.
        broken: Keys of objects that cannot be read, or that a transform or key function refuses, and why. Of those
            the store has the last state that could be read, if there was one.
        pending: How many notices wait for each handler, by its name.
        handler_failures: How often each handler has raised, by its name.
    """

    state: str
    is_synced: bool
    version: str
    objects: int
    staleness: float
    since_event: float
    last_error: str
    since_error: float
    failures: int
    relists: int
    reconnects: int
    broken: Mapping[str, str]
    pending: Mapping[str, int]
    handler_failures: Mapping[str, int]

    @property
    def is_healthy(self) -> bool:
        """Whether it is synced, running, and the last attempt did not fail."""
        return self.is_synced and self.failures == 0 and self.state in {"listing", "watching"}


@dataclass(slots=True)
class Pulse:
    """What one reflector notes down about itself. Written on the loop, read from any thread.

    Attributes:
        phase: What it is doing.
        is_waiting: Whether it waits before its next attempt.
        contact: When the server last proved that it is there, and has told everything; in the loop's time.
        event: When the last change came.
        error: What went wrong last.
        error_at: When.
        failures: How many attempts have failed in a row.
        relists: How often a full state was asked for, though there was one.
        reconnects: How often a watch went on from where another had ended.
        broken: Keys of objects that cannot be used, and why.
    """

    phase: Phase = Phase.STREAMING
    is_waiting: bool = False
    contact: float = -_NEVER
    event: float = -_NEVER
    error: str = ""
    error_at: float = -_NEVER
    failures: int = 0
    relists: int = 0
    reconnects: int = 0
    broken: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def state(self) -> str:
        """The phase, in a word for people."""
        if self.is_waiting and self.failures:
            return "waiting"
        return "listing" if self.phase in {Phase.STREAMING, Phase.LISTING} else "watching"


_WORST_FIRST: Final = ("waiting", "listing", "watching")


def health_of(
    pulses: Sequence[Pulse],
    *,
    state: str,
    is_synced: bool,
    version: str,
    objects: int,
    pending: Mapping[str, int],
    handler_failures: Mapping[str, int],
    clock: Callable[[], float],
) -> Health:
    """Put together what the reflectors of an informer have noted down.

    Args:
        pulses: One for each.
        state: ``new`` or ``stopped`` if it is that; else empty.
        is_synced: Whether the first full state is in the store.
        version: What the store has reached.
        objects: How many there are.
        pending: How many notices wait for each handler.
        handler_failures: How often each has raised.
        clock: The loop's time.
    """
    now = clock()
    worst = max(pulses, key=lambda pulse: pulse.error_at)
    states = {pulse.state for pulse in pulses}
    broken: dict[str, str] = {}
    for pulse in pulses:
        broken.update(pulse.broken)
    return Health(
        state=state or next(each for each in _WORST_FIRST if each in states),
        is_synced=is_synced,
        version=version,
        objects=objects,
        staleness=_seconds(max(now - pulse.contact for pulse in pulses)),
        since_event=_seconds(min(now - pulse.event for pulse in pulses)),
        last_error=worst.error,
        since_error=_seconds(now - worst.error_at),
        failures=max(pulse.failures for pulse in pulses),
        relists=sum(pulse.relists for pulse in pulses),
        reconnects=sum(pulse.reconnects for pulse in pulses),
        broken=broken,
        pending=pending,
        handler_failures=handler_failures,
    )


def _seconds(passed: float) -> float:
    """A time as people read it: to the millisecond."""
    return round(passed, 3)
