"""The health of an informer, for probes, dashboards and people."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from masthead._meta.object import Object
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead._cache.informer.handler_registry import HandlerRegistry
    from masthead._cache.informer.lifecycle import InformerLifecycle
    from masthead._cache.informer.pipeline import InformerPipeline
    from masthead._cache.reflector.status import ReflectorStatus

__all__ = ["InformerHealth", "collect_health"]

T = TypeVar("T", bound=Object)


@set_module("masthead.cache")
@dataclass(frozen=True, slots=True)
class InformerHealth:
    """The health of an informer at one moment.

    Attributes:
        state: ``new``, ``listing``, ``watching``, ``waiting`` (for the next attempt after a failure) or ``stopped``.
            With several namespaces, the worst of them. ``forked`` in a process that was forked after the start: the
            informer runs in the parent only.
        is_synced: Whether the first full list is in the store.
        version: The resource version that the store has reached; empty before the sync, unless the informer was seeded.
        objects: The number of objects.
        staleness: Seconds since an event, a bookmark or a list last confirmed the store. Up to half a minute is usual;
            infinite before the first.
        since_event: Seconds since the last change of an object; infinite before the first.
        last_error: The last error, in one sentence; empty if there was none.
        since_error: Seconds since the last error; infinite if there was none.
        failures: Failed attempts since the server last sent something, or a watch lasted; 0 if all is well. A watch
            that was just reopened proves nothing yet; see `is_connected`.
        relists: The number of lists after the first.
        reconnects: The number of watches that resumed where another had ended.
        broken: Undecodable objects, and objects refused by a transform or key function: the problem by key. The store
            has the last good state of each, if there was one.
        pending: The number of notifications waiting for each handler, by its name.
        handler_failures: The number of exceptions of each handler, by its name.
        other_shards: Objects that the server sent though their shard is not selected. They are dropped; more than a few
            mean that the server ignores the shard selector.
        is_connected: Whether every watch is open.
        index_failures: Indexer errors, by index and key of the object, which is missing from that index. At most 100
            per index.
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
        """Whether the informer has synced, runs, and its last attempt did not fail."""
        return self.is_synced and self.failures == 0 and self.state in {"listing", "watching"}


_WORST_FIRST: Final = ("waiting", "listing", "watching")


def collect_health(
    pipeline: InformerPipeline[T], handlers: HandlerRegistry[T], lifecycle: InformerLifecycle[T]
) -> InformerHealth:
    """Combine the statuses of an informer's parts."""
    if lifecycle.fork_problem:
        return _forked_health(lifecycle.fork_problem)
    statuses, store, now = pipeline.statuses, pipeline.store, pipeline.now()
    # With several namespaces, the latest error and the worst state and age represent the informer.
    latest_failure = max(statuses, key=lambda status: status.error_at)
    is_active = pipeline.is_started and not lifecycle.is_stopped
    broken: dict[str, str] = {}
    for status in statuses:
        broken.update(status.broken)
    return InformerHealth(
        state=_worst_state(statuses) if is_active else "stopped" if lifecycle.is_stopped else "new",
        is_synced=store.processor.is_synced,
        version=store.indexer.version,
        objects=len(store.indexer),
        staleness=_round(max(now - status.contact for status in statuses)),
        since_event=_round(min(now - status.event for status in statuses)),
        last_error=latest_failure.error,
        since_error=_round(now - latest_failure.error_at),
        failures=max(status.failures for status in statuses),
        relists=sum(status.relists for status in statuses),
        reconnects=sum(status.reconnects for status in statuses),
        broken=broken,
        pending=handlers.pending,
        handler_failures=handlers.failures,
        other_shards=sum(status.other_shards for status in statuses),
        is_connected=is_active and all(status.is_open for status in statuses),
        index_failures=store.processor.store.index_failures(),
    )


def _forked_health(problem: str) -> InformerHealth:
    """The health of an informer of the parent process."""
    # One failure, so that `is_healthy` is false and a probe restarts the process.
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


def _worst_state(statuses: Sequence[ReflectorStatus]) -> str:
    states = {status.state for status in statuses}
    return next(state for state in _WORST_FIRST if state in states)


def _round(seconds: float) -> float:
    """Round to milliseconds, for people."""
    return round(seconds, 3)
