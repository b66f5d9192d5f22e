"""The event handlers of an informer."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead._cache.informer.handlers import is_async
from masthead._cache.informer.processor_listener import ProcessorListener, TaskDispatcher, ThreadDispatcher
from masthead._cache.informer.registration import Registration
from masthead._meta.object import Object
from masthead._sansio.resync import ResyncSchedule
from masthead.errors import ArgumentError, InformerStateError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead._cache.informer.handlers import EventHandler
    from masthead._cache.informer.local_store import LocalStore
    from masthead._cache.informer.progress import Progress
    from masthead._cache.options import InformerOptions
    from masthead._cache.reflector.metrics import InformerMetrics

__all__ = ["HandlerRegistry"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.cache")


class HandlerRegistry(Generic[T]):
    """Registers the handlers of an informer, schedules their resyncs, and ends them.

    Args:
        name: The informer's name, the prefix of unnamed handlers.
        store: Sends notifications to the handlers.
        options: The informer's options.
        metrics: Counts pending notifications and failures.
        progress: Notified when a handler has synced.
        in_threads: Whether each handler is called in its own thread, and may block.
    """

    def __init__(
        self,
        name: str,
        store: LocalStore[T],
        options: InformerOptions[T],
        metrics: InformerMetrics,
        progress: Progress,
        *,
        in_threads: bool,
    ) -> None:
        self._name = name
        self._store = store
        self._processor = store.processor
        self._buffer_limit = options.buffer_limit
        self._metrics = metrics
        self._progress = progress
        self._in_threads = in_threads
        self._schedule = ResyncSchedule(options.resync)
        self._registrations: dict[Registration, None] = {}
        # Removed handlers whose last call may still be running: the end of the informer waits for them, too.
        self._leaving: dict[Registration, None] = {}
        self._count = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def registrations(self) -> Sequence[Registration]:
        """The registered handlers."""
        return list(self._registrations)

    @property
    def resync_period(self) -> float:
        """Seconds between checks for due resyncs; 0 if no handler is resynced."""
        return self._schedule.check_period

    @property
    def failures(self) -> Mapping[str, int]:
        """The number of exceptions of each handler, by name."""
        return {registration.name: registration.failures for registration in self.registrations}

    @property
    def pending(self) -> Mapping[str, int]:
        """The number of notifications that wait for each handler, by name."""
        return {listener.name: listener.pending for listener in self._processor.listeners()}

    @property
    def has_synced(self) -> bool:
        """Whether every handler has returned from every initial add."""
        return all(registration.has_synced for registration in self.registrations)

    def add(self, handler: EventHandler[T], resync: float | None, name: str) -> Registration:
        """Register a handler. After the start, it receives the existing objects first. The caller holds the gate.

        Args:
            handler: The handler.
            resync: Seconds between its resyncs; 0 for never, None for the informer's period.
            name: Its name in logs and metrics; empty for a numbered one.

        Raises:
            ArgumentError: If a coroutine function is registered for threads.
            InformerStateError: If the informer runs on another event loop.
        """
        self._check_callable_here(handler)
        self._count += 1
        # Counted, and not by the number of handlers: a name must not return after a removal.
        name = name or f"{self._name}-{self._count}"
        listener = ProcessorListener(
            handler,
            self._store.storage,
            name=name,
            limit=self._buffer_limit,
            metrics=self._metrics.handler(name),
            detector=self._store.detector,
        )
        dispatcher = ThreadDispatcher(listener) if self._in_threads else TaskDispatcher(listener)
        registration = Registration(
            listener, dispatcher, self._remove, self.is_called_from_handler, self._progress.notify
        )
        loop = self._loop
        self._schedule.join(registration, resync, loop.time() if loop is not None else 0.0)
        if self._schedule.adjustment:
            _log.warning("handler %s: %s", name, self._schedule.adjustment)
        self._registrations[registration] = None
        # Before the start the store is empty, or seeded; seeded objects are not announced.
        if loop is None:
            self._processor.add_listener_before_start(registration, listener)
        else:
            self._processor.add_listener(registration, listener)
            registration.start(loop)
        return registration

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start to call the handlers. The caller holds the gate."""
        self._loop = loop
        self._schedule.start(loop.time())
        for registration in self._registrations:
            registration.start(loop)

    def mark_due(self, now: float) -> bool:
        """Choose the handlers that receive the next resync; return whether there are any."""
        processor = self._processor
        with processor.gate:
            processor.due = self._schedule.due(now)
        return bool(processor.due)

    def is_called_from_handler(self) -> bool:
        """Whether one of the handlers is the caller."""
        # Copies: another thread may register or remove a handler during the iteration.
        return any(registration.is_own for registration in [*list(self._registrations), *list(self._leaving)])

    def detach(self) -> None:
        """Drop pending notifications, and deliver no more."""
        with self._processor.gate:
            for registration in self._registrations:
                self._processor.remove_listener(registration)

    async def end(self, timeout: float) -> None:
        """Detach the handlers, and wait for running calls to return."""
        self.detach()
        async with asyncio.TaskGroup() as group:
            for registration in [*self._registrations, *self._leaving]:
                group.create_task(registration.stop(timeout))

    def release(self) -> None:
        """Detach the handlers, and wake all that wait for one of them to sync."""
        self.detach()
        self._leaving = {}
        # Otherwise a wait for a handler that never synced would not end.
        for registration in self._registrations:
            registration.mark_done()

    def _remove(self, registration: Registration) -> None:
        with self._processor.gate:
            self._registrations.pop(registration, None)
            self._leaving = {leaving: None for leaving in (*self._leaving, registration) if leaving.is_alive}
            self._schedule.leave(registration)
            self._processor.remove_listener(registration)

    def _check_callable_here(self, handler: EventHandler[T]) -> None:
        if self._in_threads and is_async(handler):
            raise ArgumentError(
                "the blocking client calls handlers in threads, where nothing is awaited; give plain functions, "
                "or use masthead.aio",
                value=handler,
            )
        # A task is started on the running loop; a thread can be started anywhere.
        if not self._in_threads and self._loop not in {None, _running_loop()}:
            raise InformerStateError(
                f"informer {self._name} runs on another event loop; add handlers there, or before the start"
            )


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """The running event loop; None outside of one."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
