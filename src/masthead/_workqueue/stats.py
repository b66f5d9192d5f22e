"""Snapshots of work queues, for debug pages."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from masthead._module import set_module

if TYPE_CHECKING:
    from masthead._sansio.workqueue import WorkQueueState

__all__ = ["WorkQueueStats", "describe_queue"]

K = TypeVar("K", bound=Hashable)


@set_module("masthead.workqueue")
@dataclass(frozen=True, slots=True)
class WorkQueueStats(Generic[K]):
    """A snapshot of a work queue.

    Attributes:
        name: The name of the queue.
        ready: The number of ready keys by priority, the highest first.
        delayed: The number of delayed keys.
        processing: The keys in processing, with their processing time in seconds.
        dirty: The number of keys in processing that will be handed out again.
        oldest: The key with the longest wait, and its seconds; None if no key is ready.
        next_due: Seconds until the next delay ends; None if no key is delayed.
        is_closed: Whether the queue is closed.
    """

    name: str
    ready: Mapping[int, int]
    delayed: int
    processing: Mapping[K, float]
    dirty: int
    oldest: tuple[K, float] | None
    next_due: float | None
    is_closed: bool


def describe_queue(name: str, state: WorkQueueState[K], now: float) -> WorkQueueStats[K]:
    """Describe the state of a queue."""
    oldest, due = state.oldest, state.next_time()
    return WorkQueueStats(
        name=name,
        ready=state.count_by_priority(),
        delayed=state.delayed,
        processing={key: now - since for key, since in state.in_flight.items()},
        dirty=state.waiting - len(state),
        oldest=None if oldest is None else (oldest[0], now - oldest[1]),
        next_due=None if due is None else max(0.0, due - now),
        is_closed=state.is_closed,
    )
