"""A running controller: event sources, the queue, workers, and what follows a reconcile."""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
from typing import TYPE_CHECKING, Any, Final, cast

from masthead._cache.informer.mutation_detector import changed_paths
from masthead._controller.cache_reader import CacheReader, informer_of
from masthead._controller.context import ReconcileContext
from masthead._controller.event_source import EnqueueHandler, OwnerKind
from masthead._controller.flight import Flight
from masthead._controller.invocation import Invocation, ReconcileOutcome, ReconcilePanicError
from masthead._controller.logs import ReconcileLogger, reconcile_fields
from masthead._controller.loop_metrics import LoopMetrics
from masthead._controller.mapping_retries import MappingRetries
from masthead._controller.requests import Request, Result
from masthead._controller.user_errors import RepeatedFailure, describe_cause, describe_error, with_user_frames
from masthead._controller.worker_tasks import WorkerTasks
from masthead._errors.base import counted
from masthead._meta.registry import registry
from masthead._rest.write_observer import write_observer
from masthead._sansio.reruns import PROMPT_RERUNS, RerunDecisions
from masthead._sansio.workqueue import LOW_PRIORITY
from masthead._workqueue.queue import WorkQueue
from masthead.errors import (
    ClosedError,
    DeadlineError,
    MastheadError,
    MutationError,
    PermanentError,
    QueueShutDownError,
    StaleObjectError,
    TemporaryError,
    UnknownKindError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._cache.informer.informer import SharedInformer
    from masthead._cache.informer.registration import Registration
    from masthead._controller.controller import Controller
    from masthead._controller.controller_services import ControllerServices, ReplicaShare
    from masthead._meta.object import Object
    from masthead._sansio.own_writes import ObjectChange, OwnWrite
    from masthead._sansio.sharding import ShardSet

__all__ = ["ReconcileLoop"]

_log: Final = logging.getLogger("masthead.controller")
_MAX_REASONS: Final = 5
"""How many reasons of a reconcile are kept."""
_NO_LEASE_REQUEUE: Final = 1.0
"""Requeue delay, in seconds, for a key taken after the lease expired."""
_NO_DELAY_REQUEUE: Final = 60.0
"""Requeue delay, in seconds, for a key whose rate limiter failed."""
_NOTHING: Final = Request("", "")
_TRACEBACK_EVERY: Final = 10
"""The first of so many failures in a row is logged with its traceback."""
_MIN_REQUEUE: Final = 0.1
"""Seconds until a requeue at the earliest; 0 asks for the rate limiter's delay."""
_WARN_AFTER_REQUEUES: Final = 10
"""Requeues in a row with the rate limiter's delay, after which a warning says so."""


class ReconcileLoop:
    """Runs a controller until it is stopped.

    ::

        informers ──events──> sources ──requests──> queue ──> workers ──> reconcile
                                                      ^                      │ writes
                                                      └── retry, requeue ────┤
        in flight until the caches show its writes <─────────────────────────┘

    Args:
        controller: What was declared.
        services: What the controllers of a manager share.
        unseen: What an earlier run of the controller in this process has written, and the caches may not show yet.

    Attributes:
        queue: The keys to reconcile.
        flights: The reconciles in flight, by request.
    """

    def __init__(
        self, controller: Controller[Any], services: ControllerServices, unseen: Sequence[OwnWrite] = ()
    ) -> None:
        self.controller: Final = controller
        self._services = services
        self._log = logging.getLogger(f"masthead.controller.{controller.name}")
        self.metrics: Final = LoopMetrics(services.metrics, controller.name, controller.workers)
        self.queue: Final = WorkQueue[Request](
            controller.name, rate_limiter=controller.make_rate_limiter(), metrics=services.metrics
        )
        self.flights: Final[dict[Request, Flight]] = {}
        informers = [(spec, informer_of(services.factory, spec)) for spec in controller.specs]
        self._informers: list[SharedInformer[Any]] = [informer for _, informer in informers]
        self._primary_resource = controller.primary.resource.group_resource
        self.reader: Final = CacheReader(controller.name, informers, controller.indexers)
        self._invocation: Invocation | None = None
        self._registrations: list[Registration] = []
        self._reasons: dict[Request, list[str]] = {}
        self._failures: dict[Request, RepeatedFailure] = {}
        self._requeued_at_once: set[Request] = set()
        self._reruns = RerunDecisions[Request](ignores_own=controller.ignore_own_writes)
        self._cleaned: set[tuple[str, str]] = set()
        self._workers = WorkerTasks(
            controller.name,
            self._work,
            self._is_ending,
            self._log,
            timeout=controller.timeout,
            in_threads=not controller.function.is_async,
        )
        self._settling: set[asyncio.Task[None]] = set()
        self._unseen = list(unseen)
        self._mapping_retries = MappingRetries(self._cached, self._on_mapping_failure)
        self._ids = itertools.count(1)
        self._run_id = secrets.token_hex(4)
        self._share = services.share
        self._deleted: set[Request] = set()
        """With sharding, the objects whose deletion is to be reconciled: others that the cache does not have are not gone."""
        self._reconcile_ended = asyncio.Event()
        self._is_started = False
        self._is_namespaced = True
        self._clock = asyncio.get_running_loop().time

    # Its life.

    async def start(self) -> None:
        """Wait until the caches show what the server has now, and start the workers.

        Raises:
            ClosedError: If an informer has stopped.
            Exception: Whatever the constructor of the reconciler's class raises.
        """
        self._invocation = Invocation(self.controller, self._services.threads)
        for informer in self._informers:
            await informer.wait_synced()
            # Another replica, or an earlier process, may have written what this cache does not show yet.
            await self._services.catch_up.wait(informer)
        await self._see_earlier_writes()
        owner = await self._owner_kind()
        self._is_namespaced = owner.namespaced
        for spec, informer in zip(self.controller.specs, self._informers, strict=True):
            if spec.role == "reads":
                continue
            source = EnqueueHandler(self.controller.name, spec, owner, self.reader, self, self._services.failures)
            resync = self.controller.resync if spec.role == "for" else 0.0
            name = f"{self.controller.name} {spec.role}"
            self._registrations.append(informer.add_event_handler(source, resync=resync, name=name))
        self._workers.start(self.controller.workers)
        self._is_started = True
        self._log.info(
            "controller %s started with %s, %s",
            self.controller.name,
            counted(self.controller.workers, "worker"),
            counted(len(self._informers[0].indexer), "object"),
        )

    @property
    def informers(self) -> Sequence[SharedInformer[Any]]:
        """The caches, that of the reconciled objects first."""
        return self._informers

    @property
    def is_started(self) -> bool:
        """Whether its workers run."""
        return self._is_started

    @property
    def problem(self) -> str:
        """Why only a restart of the process helps its reconciles; empty if they need none."""
        return self._workers.problem

    def running(self) -> list[str]:
        """The objects that are being reconciled, with the lines that their coroutines are at."""
        return self._workers.running()

    async def drain(self, within: float) -> bool:
        """Take no more keys, and wait until no reconcile is running.

        Args:
            within: For how many seconds.

        Returns:
            Whether none is running any more.
        """
        for registration in self._registrations:
            registration.leave()
        self.queue.shut_down()
        self.queue.clear()  # nobody will reconcile these any more: the next run begins with all objects
        workers = self._workers.tasks
        if workers:
            await asyncio.wait(workers, timeout=within)
        return all(worker.done() for worker in workers)

    async def _see_earlier_writes(self) -> None:
        """Wait until the caches show what an earlier run has written, which may have ended just now."""
        flight = Flight(_NOTHING, "", self._clock(), self.reader, self._services.client.rest)
        flight.writes.extend(self._unseen)
        await self._wait_visible(flight)
        self._unseen.clear()

    async def stop(self) -> Sequence[OwnWrite]:
        """Cancel what is running, and wait until nothing of it is left.

        Returns:
            What it has written, and the caches do not show yet.
        """
        self._is_started = False
        self.queue.shut_down()
        self._mapping_retries.clear()
        tasks = [*self._workers.tasks, *self._settling]
        for task in tasks:
            task.cancel()
        for registration in self._registrations:
            registration.leave()
        if tasks:
            await asyncio.wait(tasks)
        for registration in self._registrations:
            await registration.remove()
        self._registrations.clear()
        # A task that is cancelled before its first step completes nothing.
        for flight in list(self.flights.values()):
            self._unseen += flight.writes
        self.flights.clear()
        return [write for write in self._unseen if not self.reader.is_visible(write)]

    # What happens meanwhile.

    @property
    def is_namespaced(self) -> bool:
        """Whether the reconciled kind is namespaced; known after the start."""
        return self._is_namespaced

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to do now: no key is enqueued or in flight, and no event waits for its handler."""
        return not self.pending_work()

    def pending_work(self, within: float = 0.0) -> list[str]:
        """What is left to do, in a sentence each; empty if nothing is.

        Args:
            within: Retries of reconciles that have failed, or have returned ``requeue_after=0``, count if they are due
                within so many seconds.
        """
        name = self.controller.name
        if not self._is_started:
            late = [f"{informer.name} ({self._lag_of(informer)})" for informer in self._late_informers()]
            return [f"controller {name} has not started{'; it waits for ' if late else ''}{', '.join(late)}"]
        found = [f"controller {name}: {self._described(flight)}" for flight in self.flights.values()]
        stats = self.queue.stats()
        if stats.oldest is not None:
            found.append(f"controller {name}: {counted(len(self.queue), 'key')} in the queue, {stats.oldest[0]} first")
        found += [
            f"controller {name}: {request} is due in {delay:g} s"
            for request, delay in self.queue.delays().items()
            if delay <= 0
            or self._reruns.is_pending(request)
            or (delay <= within and (request in self._failures or request in self._requeued_at_once))
        ]
        if self._mapping_retries.is_due(self._clock() + within):
            found.append(f"controller {name}: a mapper that has raised is called again soon")
        found += [
            f"controller {name}: {counted(registration.pending, 'event')} of {registration.name} not handled yet"
            for registration in self._registrations
            if registration.pending or not registration.has_synced
        ]
        return found

    def _late_informers(self) -> list[SharedInformer[Any]]:
        has_caught_up = self._services.catch_up.has_done
        return [informer for informer in self._informers if not has_caught_up(informer)]

    def _lag_of(self, informer: SharedInformer[Any]) -> str:
        waits_for = "not caught up with the server" if informer.has_synced else "no state has come yet"
        return informer.health.last_error or waits_for

    def _described(self, flight: Flight) -> str:
        if flight.is_reconciling:
            why = "; ".join(flight.reasons)
            return f"{flight.request} is being reconciled, attempt {flight.attempt + 1}{why and f' ({why})'}"
        return f"{flight.request} waits until the caches show what was written"

    def waiting(self) -> dict[str, tuple[str, ...]]:
        """Why keys are enqueued or delayed, for messages."""
        return {request.key: tuple(reasons) for request, reasons in self._reasons.items()}

    def failing(self) -> dict[str, RepeatedFailure]:
        """Return the failures of objects whose last reconcile failed, and of mappers that are to be retried."""
        reconciles = {request.key: failure for request, failure in self._failures.items()}
        return reconciles | self._mapping_retries.failing()

    def enqueue(self, request: Request, change: ObjectChange | None, reason: str, priority: int) -> None:
        """Reconcile an object, unless the change is an own write that the last reconcile has seen already."""
        if self._share is not None and not self._is_own(self._share, request, change):
            return
        if change is not None and self._reruns.drops(request, change, always_counts=self._is_farewell(request, change)):
            self._deleted.discard(request)
            return
        flight = self.flights.get(request)
        if flight is not None:
            flight.hold(change, reason)
            return
        self._note(request, reason)
        delay = 0.0 if change is None else self._reruns.follow(request, change)
        if delay:
            self._delay_rerun(request, delay)
        elif delay is not None:
            self.queue.add(request, priority=priority)

    def _is_farewell(self, request: Request, change: ObjectChange) -> bool:
        """Whether the reconciled object itself is gone, and its reconciler is called then: with None."""
        is_primary = change.key == request.key and change.resource == self._primary_resource
        return not change.new and is_primary and self.controller.function.takes_missing

    def _delay_rerun(self, request: Request, delay: float) -> None:
        """Slow down a reconcile that changes something each time it runs."""
        count = self._reruns.count(request)
        if (count - PROMPT_RERUNS) % 10 == 1:
            self._log.warning(
                "controller %s: the reconcile of %s has changed objects %d times in a row, each time because it had changed "
                "them (%s); it runs again in %g s. Write only what differs, or ignore_own_writes=True",
                self.controller.name,
                request,
                count,
                "; ".join(self._reasons.get(request, ())),
                delay,
            )
        self.queue.add_after(request, delay)

    def enqueue_gained(self, gained: ShardSet) -> None:
        """Reconcile the objects that this replica may work on from now on, as far as its cache has them already."""
        for obj in self._informers[0].indexer.list():
            if gained.owns_object(obj):
                self.enqueue(Request.of(obj), None, "the share of this replica has changed", LOW_PRIORITY)

    async def wait_released(self) -> None:
        """Wait until no reconcile is running of an object that this replica may no longer work on."""
        while any(flight.is_reconciling and not self._is_still_own(flight) for flight in self.flights.values()):
            self._reconcile_ended.clear()
            await self._reconcile_ended.wait()

    def _is_still_own(self, flight: Flight) -> bool:
        obj = self._informers[0].indexer.get_by_key(flight.request.key)
        return self._share is None or (obj is not None and self._share.owns(obj))

    def _is_own(self, share: ReplicaShare, request: Request, change: ObjectChange | None) -> bool:
        """Whether a request is for this replica; of an object that is gone, only its deletion tells that."""
        obj = self._informers[0].indexer.get_by_key(request.key)
        if obj is not None:
            self._deleted.discard(request)
            return share.owns(obj)
        is_deletion = change is not None and change.key == request.key and not change.new
        if not is_deletion or change is None or change.resource != self._primary_resource:
            return False
        if share.owned(change.uid, request.namespace):
            self._deleted.add(request)
            return True
        return False

    def _may_reconcile(self, share: ReplicaShare, request: Request, obj: Object | None) -> bool:
        """Whether an object is still of this replica when its turn comes; one that has left the share is not gone."""
        is_deleted = request in self._deleted
        self._deleted.discard(request)
        return share.owns(obj) if obj is not None else is_deleted

    def mapping_failed(self, source: EnqueueHandler, key: str, old: Object | None, error: Exception) -> None:
        """Call a mapper again later that has raised for an object."""
        self._mapping_retries.add(source, key, old, error)

    def _cached(self, source: EnqueueHandler, key: str) -> Object | None:
        namespace, _, name = key.rpartition("/")
        return self.reader.get(source.spec.kind, name, namespace)

    def _on_mapping_failure(self, source: EnqueueHandler, key: str, delay: float, error: Exception) -> None:
        self.metrics.mapping_errors.inc()
        self._log.error(
            "controller %s: the mapper of %s raised for %s, and is called again in %g s: %s",
            self.controller.name,
            source.resource.group_resource,
            key,
            delay,
            error,
            exc_info=with_user_frames(error),
        )

    # Workers.

    def _is_ending(self) -> bool:
        return not self._is_started or self.queue.is_shut_down

    async def _work(self) -> None:
        while not self._workers.may_leave():
            try:
                request = await self.queue.get()
            except QueueShutDownError:
                return
            if not self._services.may_work():
                # The lease has expired while the process stood still: the end of the term is on its way.
                self.queue.add_after(request, _NO_LEASE_REQUEUE)
                self.queue.done(request)
                continue
            flight = self._begin(request)
            outcome = ReconcileOutcome(error=asyncio.CancelledError())
            try:
                with self._workers.working_on(request):
                    outcome = await self._reconcile(flight)
            except Exception as error:  # noqa: BLE001 - see below
                # A defect of the loop itself must not end the worker.
                self._log.exception("controller %s: %s", self.controller.name, request)
                outcome = ReconcileOutcome(error=error)
            finally:
                self._end(flight, outcome)

    def _begin(self, request: Request) -> Flight:
        flight = Flight(
            request,
            f"{self._run_id}-{next(self._ids):x}",
            self._clock(),
            self.reader,
            self._services.client.rest,
            attempt=self._failures.get(request, RepeatedFailure()).times,
            reasons=tuple(self._reasons.pop(request, ())),
        )
        self.flights[request] = flight
        self._reruns.begin(request)
        self._requeued_at_once.discard(request)
        self.metrics.begin()
        return flight

    async def _reconcile(self, flight: Flight) -> ReconcileOutcome:
        invocation = self._invocation
        if invocation is None:
            raise ClosedError(f"controller {self.controller.name} is not started")
        request = flight.request
        obj = self._informers[0].indexer.get_by_key(request.key)
        if obj is None and not invocation.takes_missing:
            return ReconcileOutcome()
        if self._share is not None and not self._may_reconcile(self._share, request, obj):
            return ReconcileOutcome()
        with reconcile_fields(controller=self.controller.name, object=request.key, reconcile_id=flight.id) as fields:
            observing = write_observer.set(flight.observe)
            try:
                context: ReconcileContext[Any] = ReconcileContext(
                    self._services,
                    self.reader,
                    flight,
                    obj,
                    ReconcileLogger(self._log, fields),
                    field_manager=self.controller.field_manager,
                    finalizer=self.controller.finalizer,
                    cleaned=self._cleaned,
                )
                outcome = await invocation.call(context, obj)
                self._log_outcome(flight, outcome)
                if obj is not None and self._services.detects_mutations and obj.is_modified():
                    self._report_mutation(request, obj)
                return outcome
            finally:
                write_observer.reset(observing)

    def _report_mutation(self, request: Request, obj: Object) -> None:
        """Report a reconcile that changed its cached object; a later one that does not is no excuse."""
        error = MutationError(
            f"the reconcile changed {', '.join(changed_paths(obj)) or 'something'} of its object, which the cache shares; "
            "change a copy instead: obj.copy()",
            keys=(obj.key,),
        )
        self._services.failures.add(f"{self.controller.name} {request.key} in the cache", error)
        self._log.error("reconcile of %s: %s", request, error)

    def _end(self, flight: Flight, outcome: ReconcileOutcome) -> None:
        flight.is_reconciling = False
        self._reconcile_ended.set()
        duration = self._clock() - flight.started
        if self._is_cancelled(outcome) and self._is_started:
            # Nobody else cancels a worker before the stop: the reconcile has ended the task that it runs in.
            outcome = ReconcileOutcome(error=ReconcilePanicError("the reconcile has ended its own task"))
        self.metrics.end(flight, outcome, duration)
        if not self._is_cancelled(outcome):
            self._follow_up_safely(flight, outcome)
        flight.is_failed = outcome.error is not None
        if self._is_started and flight.writes and not flight.is_visible:
            task = asyncio.get_running_loop().create_task(self._settle(flight))
            self._settling.add(task)
            task.add_done_callback(self._settling.discard)
        else:
            self._complete(flight)

    def _is_cancelled(self, outcome: ReconcileOutcome) -> bool:
        return isinstance(outcome.error, asyncio.CancelledError)

    def _follow_up_safely(self, flight: Flight, outcome: ReconcileOutcome) -> None:
        """Follow up, or try again later: the rate limiter is the user's, and may raise."""
        try:
            self._follow_up(flight, outcome)
        except Exception:  # noqa: BLE001 - the key must not stay in flight, nor be lost
            self._log.exception(
                "controller %s: the rate limiter failed for %s, which is reconciled again in %g s",
                self.controller.name,
                flight.request,
                _NO_DELAY_REQUEUE,
            )
            self.queue.add_after(flight.request, _NO_DELAY_REQUEUE)

    def _follow_up(self, flight: Flight, outcome: ReconcileOutcome) -> None:
        """Enqueue what a reconcile asks for, or what its failure does."""
        request, error = flight.request, outcome.error
        if error is None:
            self._failures.pop(request, None)
            self._requeue(request, outcome.result)
            return
        self._failures[request] = self._failures.get(request, RepeatedFailure()).followed_by(error)
        if isinstance(error, PermanentError):
            self.queue.forget(request)
            return
        if isinstance(error, TemporaryError) and error.delay:
            self._note(request, f"retry after {describe_error(error)}")
            self.queue.add_after(request, max(error.delay, _MIN_REQUEUE))
            return
        self._note(request, f"retry after {type(error).__name__}: {describe_error(error)}")
        self.queue.add_rate_limited(request)

    def _requeue(self, request: Request, result: Result) -> None:
        after = result.requeue_after
        if after is None:
            self.queue.forget(request)
            return
        self._note(request, f"requeued after {after:g} s")
        if after:
            self.queue.forget(request)
            self.queue.add_after(request, max(after, _MIN_REQUEUE), priority=result.priority)
            return
        self._requeued_at_once.add(request)
        self.queue.add_rate_limited(request, priority=result.priority)
        count = self.queue.num_requeues(request)
        if count and count % _WARN_AFTER_REQUEUES == 0:
            self._log.warning(
                "controller %s: the reconcile of %s has returned requeue_after=0 %d times in a row, and runs again in %g s; "
                "wait for a change with owns= or watches=, or say in how many seconds",
                self.controller.name,
                request,
                count,
                self.queue.delays().get(request, 0.0),
            )

    async def _settle(self, flight: Flight) -> None:
        """Keep an object in flight until the caches show what its reconcile has written, however long that takes."""
        try:
            if problem := await self._wait_visible(flight):
                flight.hold(None, problem)
        except ClosedError:
            return  # the manager stops
        finally:
            self._complete(flight)

    async def _wait_visible(self, flight: Flight) -> str:
        """Wait until the caches show what a reconcile has written; returns why they never will, if they do not."""
        ended = self._clock()
        while (problem := await self._invisible(flight)) is not None:
            self._log.warning("controller %s: %s: %s", self.controller.name, flight.request, problem)
            if flight.is_refuted(self._clock() - ended):
                return problem
        return ""

    async def _invisible(self, flight: Flight) -> str | None:
        """Wait until the caches show what a reconcile has written; returns what is wrong if that takes long."""
        try:
            await flight.wait_visible()
        except DeadlineError as error:
            return str(error)
        return None

    def _complete(self, flight: Flight) -> None:
        request = flight.request
        self.flights.pop(request, None)
        if not self._is_started:
            self._unseen += flight.writes
        changes = flight.sort_changes(lambda change: self._is_farewell(request, change))
        for reason in changes.foreign or changes.likely or changes.proven:
            self._note(request, reason)
        delay = self._reruns.end(
            request,
            flight.writes,
            is_failed=flight.is_failed,
            has_proven=bool(changes.proven),
            has_likely=bool(changes.likely),
            has_foreign=bool(changes.foreign),
        )
        if delay is None:
            self._deleted.discard(request)
        elif delay:
            self._delay_rerun(request, delay)
        else:
            self.queue.add(request)
        self.queue.done(request)

    # Inside.

    def _note(self, request: Request, reason: str) -> None:
        known = self._reasons.setdefault(request, [])
        if reason not in known:
            known.append(reason)
            del known[:-_MAX_REASONS]

    def _log_outcome(self, flight: Flight, outcome: ReconcileOutcome) -> None:
        error = outcome.error
        if error is None:
            self._log.debug("reconciled %s", flight.request)
            return
        level = logging.INFO if isinstance(error, TemporaryError | StaleObjectError) else logging.ERROR
        self._log.log(
            level,
            "reconcile of %s failed (attempt %d): %s",
            flight.request,
            flight.attempt + 1,
            _summarize(error),
            exc_info=with_user_frames(error) if self._is_traced(flight, error) else None,
        )

    def _is_traced(self, flight: Flight, error: BaseException) -> bool:
        """Whether the traceback of a failure is logged: now and then, and not if the reconcile has ended on purpose."""
        if isinstance(error, TemporaryError | PermanentError | StaleObjectError):
            return self._log.isEnabledFor(logging.DEBUG)
        return not isinstance(error, asyncio.CancelledError) and flight.attempt % _TRACEBACK_EVERY == 0

    async def _owner_kind(self) -> OwnerKind:
        """The reconciled kind, as owner references name it."""
        primary = self.controller.primary
        group = primary.resource.group
        if isinstance(primary.kind, type) and primary.kind.RESOURCE is not None:
            return OwnerKind(group, primary.kind.GVK.kind, namespaced=primary.kind.RESOURCE.namespaced)
        try:
            kind = registry.object_class(registry.kind_of(primary.resource))
        except UnknownKindError:
            found = await self._services.client.mapper.resource(primary.resource)
            return OwnerKind(group, found.kind, namespaced=found.namespaced)
        is_namespaced = kind.RESOURCE is None or bool(kind.RESOURCE.namespaced)
        return OwnerKind(group, kind.GVK.kind, namespaced=is_namespaced)


def _summarize(error: BaseException) -> str:
    if isinstance(error, MastheadError):
        return describe_error(error)
    if isinstance(error, BaseExceptionGroup):
        return describe_error(cast("BaseException", error))
    return f"{error!r}{describe_cause(error)}"
