"""A running controller: its caches, event handlers, request processor and workers."""

from __future__ import annotations

import asyncio
import functools
import logging
from typing import TYPE_CHECKING, Any, Final

from masthead._cache.informer.informer import pipeline_of
from masthead._controller.cache_reader import CacheReader, informer_of
from masthead._controller.event_registrations import EventRegistrations, find_owner_kind
from masthead._controller.reconcile_runner import ReconcileRunner
from masthead._controller.request_processor import RequestProcessor
from masthead._controller.worker_tasks import WorkerTasks
from masthead._errors.base import counted
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._cache.informer.informer import SharedInformer
    from masthead._cache.store.indexer import Indexer
    from masthead._controller.controller import Controller
    from masthead._controller.controller_services import ControllerServices
    from masthead._controller.flight import Flight
    from masthead._controller.user_errors import RepeatedFailure
    from masthead._meta.object import Object
    from masthead._sansio.own_writes import OwnWrite
    from masthead._sansio.sharding import ShardSet

__all__ = ["ReconcileLoop"]


@set_module("masthead.controller")
class ReconcileLoop:
    """Runs a controller until it is stopped.

    ::

        informers ──events──> handlers ──requests──> queue ──> workers ──> reconcile
                                                       ^                      │ writes
                                                       └── retry, requeue ────┤
        in flight until the caches show its writes <──────────────────────────┘

    Args:
        controller: The declared controller.
        services: The services of its manager.
        unseen: Writes of an earlier run in this process that the caches may not show yet.

    Attributes:
        controller: The declared controller.
        reader: Its caches.
        requests: Its queue and its reconciles in flight.
        is_namespaced: Whether the reconciled kind is namespaced; known after the start.
    """

    def __init__(
        self, controller: Controller[Any], services: ControllerServices, unseen: Sequence[OwnWrite] = ()
    ) -> None:
        self.controller: Final = controller
        self._services = services
        self._log = logging.getLogger(f"masthead.controller.{controller.name}")
        self._informers = [(spec, informer_of(services.factory, spec)) for spec in controller.specs]
        self.reader: Final = CacheReader(controller.name, self._informers, controller.indexers)
        objects: Indexer[Object] = self._informers[0][1].indexer
        self.requests: Final = RequestProcessor(controller, services, self.reader, objects, self._log, unseen)
        self._objects = objects
        self.is_namespaced: bool = True
        self._events = EventRegistrations(
            controller, self.reader, self.requests.enqueue, self._log, self.requests.metrics.mapping_errors
        )
        self._workers = WorkerTasks(
            controller.name,
            lambda: self.requests.is_ending,
            self._log,
            timeout=controller.timeout,
            in_threads=not controller.function.is_async,
        )

    async def start(self) -> None:
        """Wait for the caches to show the current state of the server, and start the workers.

        Raises:
            ClosedError: If an informer has stopped.
            Exception: Whatever the constructor of the reconciler's class raises.
        """
        services, requests = self._services, self.requests
        runner = ReconcileRunner(
            self.controller, services, self.reader, self._objects, requests.shard, requests.fights, self._log
        )
        for informer in self.informers:
            await informer.wait_for_cache_sync()
            # Another replica, or an earlier process, may have written objects that this cache does not show yet.
            await services.catch_up.wait(informer)
        await requests.writes.wait_for_earlier(services.client.rest)
        owner = await find_owner_kind(self.controller, services.client)
        self.is_namespaced = owner.namespaced
        self._events.start(self._informers, owner, services.failures)
        self._workers.start(self.controller.workers, functools.partial(requests.work, self._workers, runner))
        requests.is_running = True
        self._log.info(
            "controller %s started with %s, %s",
            self.controller.name,
            counted(self.controller.workers, "worker"),
            counted(len(self._objects), "object"),
        )

    async def drain(self, timeout: float) -> bool:
        """Take no more requests, and wait for running reconciles.

        Args:
            timeout: Seconds to wait.

        Returns:
            Whether all reconciles have ended.
        """
        self._events.leave()
        self.requests.gate.set()
        keys = self.requests.queue.keys
        keys.close()
        keys.clear()  # the next run begins with all objects
        workers = self._workers.tasks
        if workers:
            await asyncio.wait(workers, timeout=timeout)
        return all(worker.done() for worker in workers)

    async def stop(self) -> Sequence[OwnWrite]:
        """Cancel running reconciles, and wait for them to end.

        Returns:
            Writes that the caches do not show yet.
        """
        requests = self.requests
        # First, so that workers that end are not replaced, and ended reconciles do not settle.
        requests.is_running = False
        requests.queue.keys.close()
        self._events.cancel_retries()
        tasks = [*self._workers.tasks, *requests.writes.tasks]
        for task in tasks:
            task.cancel()
        self._events.leave()
        if tasks:
            await asyncio.wait(tasks)
        await self._events.remove()
        # A task that was cancelled before its first step has completed no flight.
        for flight in requests.flights:
            requests.writes.keep(flight.writes)
        requests.flights.clear()
        return requests.writes.unseen()

    def pause(self) -> None:
        """Start no reconcile until `resume`; running ones finish."""
        self.requests.gate.clear()

    def resume(self) -> None:
        """Start reconciles again."""
        self.requests.gate.set()

    @property
    def informers(self) -> Sequence[SharedInformer[Any]]:
        """The caches, with that of the reconciled objects first."""
        return [informer for _, informer in self._informers]

    @property
    def is_started(self) -> bool:
        """Whether the workers run."""
        return self.requests.is_running

    @property
    def problem(self) -> str:
        """The problem that only a restart of the process solves; empty without one."""
        return self._workers.problem

    def running(self) -> list[str]:
        """Describe the running reconciles, with the current line of their coroutines."""
        return self._workers.running()

    def pending_work(self, retries_within: float = 0.0) -> list[str]:
        """Describe the remaining work; empty if the controller is idle. Work that waits for a `resume` does not count.

        Args:
            retries_within: Retries of failed reconciles, and of ``requeue_after=0``, count if they are due within this
                number of seconds.
        """
        name, requests = self.controller.name, self.requests
        is_cache_paused = any(pipeline_of(informer).is_paused for informer in self.informers)
        if not requests.is_running:
            if is_cache_paused:
                return []
            late = [f"{informer.name} ({_describe_lag(informer)})" for informer in self._late_informers()]
            return [f"controller {name} has not started{'; it waits for ' if late else ''}{', '.join(late)}"]
        # Paused caches do not show writes.
        flights = [flight for flight in requests.flights if flight.is_reconciling or not is_cache_paused]
        lines = [_describe_flight(flight) for flight in flights]
        if requests.gate.is_set():
            lines += requests.queue.pending(retries_within)
        lines += self._events.pending(retries_within)
        return [f"controller {name}: {line}" for line in lines]

    def _late_informers(self) -> list[SharedInformer[Any]]:
        has_caught_up = self._services.catch_up.has_done
        return [informer for informer in self.informers if not has_caught_up(informer)]

    def failing(self) -> dict[str, RepeatedFailure]:
        """Return the failures of objects whose last reconcile failed, and of mappers that are to be retried."""
        return self.requests.queue.failing() | self._events.failing()

    def enqueue_gained(self, gained: ShardSet) -> None:
        """Enqueue the cached objects that the replica's share has gained."""
        self.requests.enqueue_gained(gained)


def _describe_lag(informer: SharedInformer[Any]) -> str:
    lag = "not caught up with the server" if informer.has_synced else "no state has come yet"
    return informer.health.last_error or lag


def _describe_flight(flight: Flight) -> str:
    if flight.is_reconciling:
        why = "; ".join(flight.reasons)
        return f"{flight.request} is being reconciled, attempt {flight.attempt + 1}{why and f' ({why})'}"
    return f"{flight.request} waits until the caches show what was written"
