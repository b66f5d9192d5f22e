"""How an informer is doing: what a probe, a dashboard or a person asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from masthead._cache.reflector.status import ReflectorStatus

__all__ = ["InformerHealth", "disowned_health", "health_of"]


@set_module("masthead")
@dataclass(frozen=True, slots=True)
class InformerHealth:
    """How an informer is at one moment.

    Attributes:
        state: ``new``, ``listing``, ``watching``, ``waiting`` (for the next attempt after a failure) or ``stopped``.
            With several namespaces, the worst of them. ``forked`` in a process that was forked after the start: the
            informer runs in the parent only.
        is_synced: Whether the first full state is in the store.
        version: The resource version that the store has reached; empty before it is synced, unless it was seeded.
        objects: How many objects there are.
        staleness: Seconds for which nothing has verified that the store is what the server has: no event, no bookmark,
            no list. Up to half a minute is usual; infinite before the first of these.
        since_event: Seconds since the last change of an object came; infinite before the first.
        last_error: What went wrong last, in one sentence; empty if nothing ever did.
        since_error: Seconds since then; infinite if nothing ever did.
        failures: How many attempts have failed since the server last sent something, or a watch lasted; 0 if all is
            well. A watch that has just been opened again proves nothing yet; see `is_connected`.
        relists: How often the whole state was asked for again, though there was one.
        reconnects: How often a watch was opened to go on where another had ended.
        broken: Keys of objects that cannot be read, or that a transform or key function refuses, and why. Of those
            the store has the last state that could be read, if there was one.
        pending: How many notifications wait for each handler, by its name.
        handler_failures: How often each handler has raised, by its name.
        other_shards: How many objects the server has sent that belong to shards which are not selected: they are dropped.
            More than a few mean that it does not select shards.
        is_connected: Whether every watch is open.
        index_failures: Indexer errors, by index and key of the object, which is not in that index. At most 100 for each index.
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
    other_shards: int = 0
    is_connected: bool = False
    index_failures: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, dict[str, str]])

    @property
    def is_healthy(self) -> bool:
        """Whether it is synced, running, and the last attempt did not fail."""
        return self.is_synced and self.failures == 0 and self.state in {"listing", "watching"}


def disowned_health(problem: str) -> InformerHealth:
    """The health of an informer that runs in another process."""
    never = float("inf")
    return InformerHealth(
        state="forked",
        is_synced=False,
        version="",
        objects=0,
        staleness=never,
        since_event=never,
        last_error=problem,
        since_error=never,
        failures=1,
        relists=0,
        reconnects=0,
        broken={},
        pending={},
        handler_failures={},
    )


_WORST_FIRST: Final = ("waiting", "listing", "watching")


def health_of(
    statuses: Sequence[ReflectorStatus],
    *,
    state: str,
    is_synced: bool,
    version: str,
    objects: int,
    pending: Mapping[str, int],
    handler_failures: Mapping[str, int],
    index_failures: Mapping[str, Mapping[str, str]],
    clock: Callable[[], float],
) -> InformerHealth:
    """Put together what the reflectors of an informer have noted down.

    Args:
        statuses: One for each.
        state: ``new`` or ``stopped`` if it is that; else empty.
        is_synced: Whether the first full state is in the store.
        version: What the store has reached.
        objects: How many there are.
        pending: How many notifications wait for each handler.
        handler_failures: How often each has raised.
        index_failures: Indexer errors, by index and key.
        clock: The loop's time.
    """
    now = clock()
    worst = max(statuses, key=lambda status: status.error_at)
    states = {status.state for status in statuses}
    broken: dict[str, str] = {}
    for status in statuses:
        broken.update(status.broken)
    return InformerHealth(
        state=state or next(each for each in _WORST_FIRST if each in states),
        is_synced=is_synced,
        version=version,
        objects=objects,
        staleness=_seconds(max(now - status.contact for status in statuses)),
        since_event=_seconds(min(now - status.event for status in statuses)),
        last_error=worst.error,
        since_error=_seconds(now - worst.error_at),
        failures=max(status.failures for status in statuses),
        relists=sum(status.relists for status in statuses),
        reconnects=sum(status.reconnects for status in statuses),
        broken=broken,
        pending=pending,
        handler_failures=handler_failures,
        other_shards=sum(status.other_shards for status in statuses),
        is_connected=not state and all(status.is_open for status in statuses),
        index_failures=index_failures,
    )


def _seconds(passed: float) -> float:
    """A time as people read it: to the millisecond."""
    return round(passed, 3)
