"""The controllers' work queue: each key once, in order, with delays on the server's clock."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from masthead_server import eager
from masthead_server.storage import JournalError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Hashable
    from datetime import datetime

    from masthead_server.clock import Clock, Timer

__all__ = ["ReconcileQueue"]

KeyT = TypeVar("KeyT", bound="Hashable")
_log: Final = logging.getLogger("masthead.server")
_BATCH: Final = 64
"""How many keys are reconciled before requests have their turn again."""
_BATCH_BYTES: Final = 32 * 1024
"""The bytes that a batch may write: watches have to keep up, and requests to get their turn."""
_FIRST_BACKOFF: Final = 1.0
_MAX_BACKOFF: Final = 60.0
"""Seconds until keys whose changes could not be stored are reconciled again; the delay doubles each time."""
_FIRST_RETRY: Final = 1.0
_MAX_RETRY: Final = 1000.0
"""Seconds until a key whose reconcile failed is reconciled again; the delay doubles each time."""
_MAX_POSTPONEMENT: Final = 10
"""The maximum wait of a late key whose object changes again and again, in multiples of its delay."""


class ReconcileQueue(Generic[KeyT]):
    """Reconciles keys in the running event loop, a batch at a time.

    A key that is added several times before its turn is reconciled once. Only ready keys, and keys whose reconcile
    waits for an admission webhook, count as work: a key that waits for a delay, or for the journal to recover, does not
    keep the server from being idle. A reconcile that waits delays only its own key. `late_keys` are work, too, but not
    ready.

    Args:
        clock: The server's.
        reconcile: Handles a key, without a task if it awaits nothing. It returns the seconds until the key is handled
            again (0 for after the other ready keys), or None. After an error, the key is retried with a backoff.
        on_idle: Called when no key is ready any more.
        count_written: Returns how many bytes have been written so far.
    """

    def __init__(
        self,
        clock: Clock,
        reconcile: Callable[[KeyT], Coroutine[Any, Any, float | None]],
        on_idle: Callable[[], object],
        count_written: Callable[[], int] = lambda: 0,
    ) -> None:
        self._clock = clock
        self._reconcile = reconcile
        self._on_idle = on_idle
        self._count_written = count_written
        self._ready: dict[KeyT, None] = {}
        self._waiting: dict[KeyT, asyncio.Future[float | None]] = {}
        self._again: set[KeyT] = set()
        self._scheduled: asyncio.Handle | None = None
        self._delayed: dict[KeyT, Timer] = {}
        self._late: dict[KeyT, tuple[Timer, datetime]] = {}
        self._failed: dict[KeyT, None] = {}
        self._retry: Timer | None = None
        self._backoff = _FIRST_BACKOFF
        self._errors: dict[KeyT, float] = {}
        """The delay before the next retry of keys whose reconcile failed."""

    @property
    def is_idle(self) -> bool:
        """Whether no key is ready, or waits in its reconcile."""
        return not self._ready and not self._waiting

    def add(self, key: KeyT) -> None:
        """Reconcile a key as soon as those before it are done."""
        # Never twice at a time: two reconciles of one ReplicaSet would create its pods twice.
        if key in self._waiting:
            self._again.add(key)
            return
        # A dict keeps the order of arrival and ignores a key that is queued already.
        self._ready[key] = None
        if self._scheduled is None:
            self._scheduled = asyncio.get_running_loop().call_soon(self._run_batch)

    def add_late(self, key: KeyT, seconds: float) -> None:
        """Reconcile a key after a delay, counted from its last addition, because its controller is slow."""
        now = self._clock.now()
        first = now
        if key in self._late:
            timer, first = self._late[key]
            timer.cancel()
        # Bounded, or an object that changes again and again would never be reconciled.
        left = (first - now).total_seconds() + _MAX_POSTPONEMENT * seconds
        self._late[key] = self._clock.call_later(max(0.0, min(seconds, left)), partial(self._end_delay, key)), first

    def late_keys(self) -> list[KeyT]:
        """Return the keys whose controllers are slow."""
        return list(self._late)

    def hurry(self, is_meant: Callable[[KeyT], bool]) -> None:
        """Reconcile late keys now."""
        for key in filter(is_meant, self.late_keys()):
            self._late[key][0].cancel()
            self._end_delay(key)

    def _end_delay(self, key: KeyT) -> None:
        del self._late[key]
        self.add(key)

    def drain(self) -> None:
        """Reconcile all ready keys now, and the keys that become ready by that."""
        while self._ready:
            self._reconcile_batch()

    def close(self) -> None:
        """Drop every key, and cancel every timer and every reconcile that waits."""
        self._ready.clear()
        self._again.clear()
        for waiting in tuple(self._waiting.values()):
            waiting.cancel()
        if self._scheduled is not None:
            self._scheduled.cancel()
        if self._retry is not None:
            self._retry.cancel()
        for timer in (*self._delayed.values(), *(timer for timer, _ in self._late.values())):
            timer.cancel()
        self._late.clear()
        self._errors.clear()

    def _run_batch(self) -> None:
        self._scheduled = None
        try:
            self._reconcile_batch()
        finally:
            # Also after an error, or the other keys would wait for ever.
            if self._ready and self._scheduled is None:
                self._scheduled = asyncio.get_running_loop().call_soon(self._run_batch)
        if self.is_idle:
            self._on_idle()

    def _reconcile_batch(self) -> None:
        # A bounded batch, so that requests and watches get their turn between two batches.
        limit = self._count_written() + _BATCH_BYTES
        for key in list(islice(self._ready, _BATCH)):
            if self._count_written() >= limit:
                break
            self._ready.pop(key, None)
            # The result replaces a delay that is still running.
            if key in self._delayed:
                self._delayed.pop(key).cancel()
            started = eager.start(self._reconcile(key))
            if started.done():
                self._schedule_next(key, started)
            else:
                self._waiting[key] = started
                # Its own writes may have added it before it waited.
                if key in self._ready:
                    del self._ready[key]
                    self._again.add(key)
                started.add_done_callback(partial(self._end_wait, key))
        # The backoff ends with the first batch that stores everything.
        if not self._ready and not self._failed:
            self._backoff = _FIRST_BACKOFF

    def _schedule_next(self, key: KeyT, reconciled: asyncio.Future[float | None]) -> None:
        """Schedule the next reconcile of a key, if the last one asks for it or has failed."""
        try:
            delay = reconciled.result()
        except JournalError:
            self._add_after_backoff(key)
        # An object that cannot be reconciled must neither stop the others nor be forgotten.
        except Exception:  # noqa: BLE001 - whatever a controller raises
            _log.exception("cannot reconcile %s; it is tried again later", key)
            seconds = self._errors.get(key, _FIRST_RETRY)
            self._errors[key] = min(2 * seconds, _MAX_RETRY)
            self._add_after(key, seconds)
        else:
            self._errors.pop(key, None)
            if delay == 0:
                # A delay of 0 needs no clock, and counts as work.
                self.add(key)
            elif delay is not None:
                self._add_after(key, delay)

    def _end_wait(self, key: KeyT, reconciled: asyncio.Future[float | None]) -> None:
        del self._waiting[key]
        if reconciled.cancelled():
            return
        try:
            self._schedule_next(key, reconciled)
        finally:
            if key in self._again:
                self._again.discard(key)
                self.add(key)
            if self.is_idle:
                self._on_idle()

    def _add_after(self, key: KeyT, seconds: float) -> None:
        def add() -> None:
            self._delayed.pop(key, None)
            self.add(key)

        self._delayed[key] = self._clock.call_later(seconds, add)

    def _add_after_backoff(self, key: KeyT) -> None:
        """Reconcile a key later. All such keys wait for the same journal, and so for the same timer."""
        self._failed[key] = None
        if self._retry is None:
            self._retry = self._clock.call_later(self._backoff, self._add_failed)
            self._backoff = min(2 * self._backoff, _MAX_BACKOFF)

    def _add_failed(self) -> None:
        self._retry = None
        failed, self._failed = self._failed, {}
        for key in failed:
            self.add(key)
