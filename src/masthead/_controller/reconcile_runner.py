"""Runs single reconciles: with a context, log fields, and an observer of their writes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from masthead._controller.context import ReconcileContext, has_finalized
from masthead._controller.invocation import SUCCESS, Invocation
from masthead._controller.logs import ReconcileLogger, reconcile_fields
from masthead._controller.reconcile_logs import describe_mutation, log_outcome, log_unused_finalizer
from masthead._controller.reconcile_observer import reconcile_observer
from masthead._meta.finalizers import has_finalizer
from masthead._rest.write_observer import write_observer

if TYPE_CHECKING:
    import logging

    from masthead._cache.store.indexer import Indexer
    from masthead._controller.cache_reader import CacheReader
    from masthead._controller.controller import Controller
    from masthead._controller.controller_services import ControllerServices
    from masthead._controller.fights import WriteFights
    from masthead._controller.flight import Flight
    from masthead._controller.invocation import ReconcileOutcome
    from masthead._controller.shard_filter import ShardFilter
    from masthead._meta.object import Object
    from masthead._rest.call import Call
    from masthead._rest.client import RestClient
    from masthead._rest.response import Response

__all__ = ["ReconcileRunner"]


class ReconcileRunner:
    """Reconciles objects of one controller.

    Args:
        controller: The controller.
        services: The services of its manager.
        reader: Its caches.
        objects: The cache of the reconciled objects.
        shard: The filter of the replica's share; None without sharding.
        fights: Detects fights about the written objects.
        log: Its logger.

    Raises:
        Exception: Whatever the constructor of the reconciler's class raises.
    """

    def __init__(
        self,
        controller: Controller[Any],
        services: ControllerServices,
        reader: CacheReader,
        objects: Indexer[Object],
        shard: ShardFilter | None,
        fights: WriteFights,
        log: logging.Logger,
    ) -> None:
        self._controller = controller
        self._services = services
        self._reader = reader
        self._objects = objects
        self._shard = shard
        self._fights = fights
        self._log = log
        self._invocation = Invocation(controller, services.threads)
        self._cleaned: set[tuple[str, str]] = set()
        # Until the first reconcile that returned: a reconciler that calls `finalize` knows when not to.
        self._awaits_finalize = bool(controller.finalizer)

    async def reconcile(self, flight: Flight) -> ReconcileOutcome:
        """Reconcile the object of a flight.

        Raises:
            asyncio.CancelledError: If the caller is cancelled.
        """
        request, controller = flight.request, self._controller
        obj = self._objects.get_by_key(request.key)
        # Most reconcilers are not called for deleted objects.
        if obj is None and not controller.function.takes_missing:
            return SUCCESS
        if self._shard is not None and not self._shard.takes(request, obj):
            return SUCCESS
        await self._fights.inspect(request)
        with reconcile_fields(controller=controller.name, object=request.key, reconcile_id=flight.id) as fields:
            observing = write_observer.set(partial(self._observe, flight))
            observer = reconcile_observer.get()
            try:
                if observer is not None:
                    observer.begin(controller.name, flight, obj)
                context: ReconcileContext[Any] = ReconcileContext(
                    self._services,
                    self._reader,
                    flight,
                    obj,
                    ReconcileLogger(self._log, fields),
                    field_manager=controller.field_manager,
                    finalizer=controller.finalizer,
                    cleaned=self._cleaned,
                )
                try:
                    outcome = await self._invocation.call(context, obj)
                except BaseException:
                    if observer is not None:
                        observer.cancel(controller.name, flight)
                    raise
                if observer is not None:
                    observer.end(controller.name, flight, outcome)
                log_outcome(self._log, flight, outcome)
                if self._awaits_finalize and obj is not None and outcome.error is None:
                    self._check_finalized(context, obj)
                if obj is not None and self._services.detects_mutations and obj.is_modified():
                    # Recorded for good: a later reconcile without a mutation does not undo this one.
                    error = describe_mutation(obj)
                    self._services.failures.add(f"{controller.name} {request.key} in the cache", error)
                    self._log.error("reconcile of %s: %s", request, error)
                return outcome
            finally:
                write_observer.reset(observing)

    def _check_finalized(self, context: ReconcileContext[Any], obj: Object) -> None:
        """Warn of a declared finalizer that the first reconcile with an opportunity did not use."""
        if has_finalized(context):
            self._awaits_finalize = False
            return
        is_guarded = has_finalizer(obj, self._controller.finalizer)
        # Without the finalizer, a deletion waits for nothing, and there is nothing to clean up.
        if obj.metadata.deletion_timestamp is None or is_guarded:
            self._awaits_finalize = False
            log_unused_finalizer(self._log, self._controller, context.request, is_guarded=is_guarded)

    def _observe(self, flight: Flight, rest: RestClient, call: Call, response: Response) -> None:
        for write in flight.observe(rest, call, response):
            self._fights.observe(flight.request, write, call, response)
