"""Processes the requests of a controller: from events to the queue, and from workers to the end of a reconcile."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from masthead._controller.fights import WriteFights
from masthead._controller.flights import Flights
from masthead._controller.invocation import ReconcileOutcome, ReconcilePanicError
from masthead._controller.loop_metrics import LoopMetrics
from masthead._controller.reconcile_queue import ReconcileQueue
from masthead._controller.requests import Request
from masthead._controller.shard_filter import ShardFilter
from masthead._controller.unseen_writes import UnseenWrites
from masthead._sansio.workqueue import LOW_PRIORITY
from masthead.errors import QueueClosedError

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterable

    from masthead._cache.store.indexer import Indexer
    from masthead._controller.cache_reader import CacheReader
    from masthead._controller.controller import Controller
    from masthead._controller.controller_services import ControllerServices
    from masthead._controller.flight import Flight
    from masthead._controller.reconcile_runner import ReconcileRunner
    from masthead._controller.worker_tasks import WorkerTasks
    from masthead._meta.object import Object
    from masthead._sansio.own_writes import ObjectChange, OwnWrite
    from masthead._sansio.sharding import ShardSet

__all__ = ["RequestProcessor"]

_CANCELLED: Final = ReconcileOutcome(error=asyncio.CancelledError())


class RequestProcessor:
    """Enqueues requests, reconciles them, and keeps them in flight until the caches show their writes.

    Args:
        controller: The controller.
        services: The services of its manager.
        reader: Its caches.
        objects: The cache of the reconciled objects.
        log: Its logger.
        earlier: Unseen writes of an earlier run in this process.

    Attributes:
        is_running: Whether the workers run; reconciles that end later do not settle.
        fights: Detects that others change back what the reconciles write.
        queue: The requests to reconcile.
        flights: The reconciles in flight.
        writes: Writes that the caches do not show yet.
        shard: The filter of the replica's share; None without sharding.
        metrics: The metrics of the controller.
        gate: No reconcile starts while it is not set.
    """

    def __init__(
        self,
        controller: Controller[Any],
        services: ControllerServices,
        reader: CacheReader,
        objects: Indexer[Object],
        log: logging.Logger,
        earlier: Iterable[OwnWrite],
    ) -> None:
        resource = str(controller.primary.resource.group_resource)
        self.is_running = False
        self.fights: Final = WriteFights(controller.name, reader, services.client.rest, log)
        self.queue: Final = ReconcileQueue(controller, services.metrics, self.fights, log)
        self.flights: Final = Flights(reader, services.client.rest)
        self.writes: Final = UnseenWrites(controller.name, reader, log, earlier)
        self.shard: Final = None if services.share is None else ShardFilter(services.share, objects, resource)
        self.metrics: Final = LoopMetrics(services.metrics, controller.name, controller.workers)
        self._controller = controller
        self._resource = resource
        self._may_work = services.may_work
        self._objects = objects
        self._log = log
        self.gate: Final = asyncio.Event()
        self.gate.set()

    @property
    def is_ending(self) -> bool:
        """Whether workers are expected to end."""
        return not self.is_running or self.queue.keys.is_closed

    def enqueue(self, request: Request, change: ObjectChange | None, reason: str, priority: int) -> None:
        """Enqueue a request, unless its change is an own write that the last reconcile has seen already."""
        if self.shard is not None and not self.shard.accepts(request, change):
            return
        if change is not None and self.queue.drops(
            request, change, always_counts=not change.new and self._is_final(request, change)
        ):
            self._forget_deletion(request)
            return
        # The author of the change is unknown until the responses of the running reconcile have arrived.
        flight = self.flights.get(request)
        if flight is not None:
            flight.hold(change, reason)
        else:
            self.queue.add(request, change, reason, priority)

    def enqueue_gained(self, gained: ShardSet) -> None:
        """Enqueue the cached objects that the replica's share has gained."""
        for obj in self._objects.list():
            if gained.owns_object(obj):
                self.enqueue(Request.of(obj), None, "the share of this replica has changed", LOW_PRIORITY)

    async def wait_released(self) -> None:
        """Wait for reconciles of objects outside the replica's share to end."""
        shard = self.shard
        if shard is not None:
            await self.flights.wait_ended(lambda request: not shard.owns(request))

    async def work(self, workers: WorkerTasks, runner: ReconcileRunner) -> None:
        """Reconcile one request after the other, until the queue is shut down or the worker is surplus."""
        keys = self.queue.keys
        while not workers.may_leave():
            await self.gate.wait()
            try:
                request = await keys.get()
            except QueueClosedError:
                return
            if not self.gate.is_set():
                self.queue.put_back(request)
                continue
            if not self._may_work():
                # The lease expired while the process stood still.
                self.queue.postpone(request)
                continue
            flight = self.flights.begin(request, *self.queue.begin(request))
            self.metrics.begin()
            outcome = _CANCELLED
            job = workers.begin(request)
            try:
                outcome = await runner.reconcile(flight)
            except Exception as error:  # noqa: BLE001 - a defect of the package must not end the worker
                self._log.exception("controller %s: %s", self._controller.name, request)
                outcome = ReconcileOutcome(error=error)
            finally:
                workers.end(job)
                self._end(flight, outcome)

    def _end(self, flight: Flight, outcome: ReconcileOutcome) -> None:
        duration = self.flights.end_reconcile(flight)
        is_cancelled = isinstance(outcome.error, asyncio.CancelledError)
        if is_cancelled and self.is_running:
            # Nobody else cancels a worker before the stop: the reconcile ended the task that it runs in.
            outcome = ReconcileOutcome(error=ReconcilePanicError("the reconcile has ended its own task"))
            is_cancelled = False
        self.metrics.end(flight, outcome, duration)
        if not is_cancelled:
            self.queue.follow_up(flight.request, outcome)
        flight.is_failed = outcome.error is not None
        # After the stop nobody waits: the next run waits for the writes that are kept.
        if self.is_running and flight.writes and not flight.is_visible:
            self.writes.settle(flight, self._complete)
        else:
            self._complete(flight)

    def _complete(self, flight: Flight) -> None:
        """Take a request out of flight: its writes are visible, or the controller stops."""
        self.flights.remove(flight)
        if not self.is_running:
            self.writes.keep(flight.writes)
        changes = flight.sort_changes(lambda change: not change.new and self._is_final(flight.request, change))
        if not self.queue.complete(flight, changes):
            self._forget_deletion(flight.request)

    def _is_final(self, request: Request, change: ObjectChange) -> bool:
        """Whether a deletion is of the reconciled object itself, and its reconciler is called with None then."""
        is_primary = change.key == request.key and change.resource == self._resource
        return is_primary and self._controller.function.takes_missing

    def _forget_deletion(self, request: Request) -> None:
        if self.shard is not None:
            self.shard.forget(request)
