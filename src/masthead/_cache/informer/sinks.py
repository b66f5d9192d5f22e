"""The sinks of reflectors: changes go directly to the process function, or through a queue.

::

    Reflector ──emit──> DirectSink ────────────────────> process(changes, is_initial)
    Reflector ──emit──> QueueSink ──> queue ──pop──> process(changes, is_initial)

`DirectSink` keeps the order of all changes, and a relist is one change. A `DeltaFIFO` groups them by key.

Both process one batch at a time. A process function may return an iterator for long work; other tasks run between its
steps.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

from masthead._sansio.changes import Bookmark, Delta, DeltaType, ReplacedAll, Reselected, SyncAll
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from masthead._sansio.changes import Change, Process, Queue

__all__ = ["DirectSink", "QueueSink"]

V = TypeVar("V")

_log: Final = logging.getLogger("masthead.cache")

_POPS: Final = 250
"""Pops of a queue before other tasks run."""


class DirectSink(Generic[V]):
    """Processes changes immediately.

    The initial state is the first `ReplacedAll` of each scope; a delta never belongs to it.
    differs from client-go: there, every change before the sync counts as initial. With one scope that is the same; with
    several, a change in a namespace that was listed already would count as a part of the first list.

    Args:
        process: The process function.
        scopes: The scopes that are listed.
        name: The informer's name in logs.
        on_processed: Called after each change.

    Attributes:
        gate: Changes wait while it is not set.

    Raises:
        ArgumentError: If there is no scope.
    """

    def __init__(
        self,
        process: Process[V],
        scopes: Collection[str],
        *,
        name: str = "",
        on_processed: Callable[[], object] = lambda: None,
    ) -> None:
        if not scopes:
            raise ArgumentError("there is nothing to list: give at least one source", value=scopes)
        self._process = process
        self._pending_scopes = set(scopes)
        self._name = name
        self._on_processed = on_processed
        self._lock = asyncio.Lock()
        self.gate: Final = _open_gate()

    @property
    def has_synced(self) -> bool:
        """Whether the first state of every scope has been processed."""
        return not self._pending_scopes

    def __len__(self) -> int:
        return 0  # changes never wait here

    async def emit(self, changes: Sequence[Change[V]]) -> None:
        """Process changes, when the gate is open."""
        async with self._lock:
            await self.gate.wait()
            states = [change for change in changes if isinstance(change, ReplacedAll)]
            scopes = {state.scope for state in states}
            is_initial = not scopes.isdisjoint(self._pending_scopes) or any(state.is_initial for state in states)
            try:
                result = self._process(changes, is_initial)
                if isinstance(result, Iterator):
                    for _ in cast("Iterator[object]", result):
                        await asyncio.sleep(0)
            # The process function may be the caller's code. Its changes are lost, and the reflector continues.
            except Exception:  # noqa: BLE001
                _log_failure(self._name)
            # Also after an exception: a list is processed once, and a wait for the sync would never end.
            self._pending_scopes -= scopes
            self._on_processed()

    def close(self) -> None:
        """No-op: changes never wait here."""


class QueueSink(Generic[V]):
    """Writes changes to a queue, such as a `DeltaFIFO`, and pops them into the process function.

    Args:
        queue: The queue.
        process: The process function.
        name: The informer's name in logs.
        on_processed: Called when the queue is empty.

    Attributes:
        gate: Changes wait while it is not set.
    """

    def __init__(
        self,
        queue: Queue[V],
        process: Process[V],
        *,
        name: str = "",
        on_processed: Callable[[], object] = lambda: None,
    ) -> None:
        self._queue = queue
        self._process = process
        self._name = name
        self._on_processed = on_processed
        self._lock = asyncio.Lock()
        self.gate: Final = _open_gate()
        self._steps: Iterator[object] = iter(())

    @property
    def has_synced(self) -> bool:
        """Whether the initial state has been popped and processed."""
        return self._queue.has_synced

    def __len__(self) -> int:
        return len(self._queue)

    async def emit(self, changes: Sequence[Change[V]]) -> None:
        """Write changes to the queue, and pop it, when the gate is open.

        Raises:
            ClosedError: If the queue is closed.
        """
        await self.gate.wait()
        for change in changes:
            self._write(change)
        # Reflectors of several scopes share the queue; their pops must not interleave.
        async with self._lock:
            popped = 0
            while len(self._queue) and await self._pop():
                popped += 1
                if popped % _POPS == 0:
                    # A long queue would otherwise block the event loop.
                    await asyncio.sleep(0)
            self._on_processed()

    def close(self) -> None:
        """Close the queue."""
        self._queue.close()

    def _write(self, change: Change[V]) -> None:
        queue = self._queue
        if isinstance(change, ReplacedAll):
            queue.replace(change.items, change.version, scope=change.scope, kept=change.kept)
        elif isinstance(change, Bookmark):
            queue.bookmark(change.version, scope=change.scope)
        elif isinstance(change, SyncAll):
            queue.resync()
        elif isinstance(change, Reselected):
            raise ArgumentError("a queue of changes cannot forget the objects of other shards", value=queue)
        else:
            self._write_delta(change)

    def _write_delta(self, delta: Delta[V]) -> None:
        key, value, version = delta.key, delta.value, delta.version
        if value is None or delta.type is DeltaType.DELETED:
            self._queue.delete(key, value, version, final_state_known=delta.final_state_known)
        elif delta.type is DeltaType.ADDED:
            self._queue.add(key, value, version)
        else:
            self._queue.update(key, value, version)

    async def _pop(self) -> bool:
        """Process the next changes of the queue; return whether there were any."""
        waiting = len(self._queue)
        self._steps = iter(())
        try:
            is_popped = self._queue.pop(self._begin)
            for _ in self._steps:
                await asyncio.sleep(0)
        # The process function may be the caller's code. Its changes are lost, and the reflector continues.
        except Exception:  # noqa: BLE001
            _log_failure(self._name)
            # A queue that raised without popping anything would loop forever.
            return len(self._queue) < waiting
        return is_popped

    def _begin(self, changes: Sequence[Change[V]], is_initial: bool) -> None:
        steps = self._process(changes, is_initial)
        if isinstance(steps, Iterator):
            self._steps = steps


def _open_gate() -> asyncio.Event:
    gate = asyncio.Event()
    gate.set()
    return gate


def _log_failure(name: str) -> None:
    _log.exception("%s: the process function failed on some changes, which are lost to it", name)
