"""The controller of an informer: from sources to a process function.

::

    source ──> Reflector ──┐
    source ──> Reflector ──┴─> sink ──> process(changes, is_initial)
                                 ^
                     resync ─────┘ periodically

An informer is a controller whose process function updates a store and notifies handlers. Others can be built on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from masthead._cache.informer.sinks import DirectSink, QueueSink
from masthead._cache.options import InformerOptions
from masthead._cache.reflector.foreign import as_source
from masthead._cache.reflector.ingest import Ingest
from masthead._cache.reflector.metrics import DISABLED
from masthead._cache.reflector.reflector import Reflector
from masthead._cache.store.storage import storage_for
from masthead._meta.object import Object
from masthead._module import set_module
from masthead._sansio.changes import SyncAll
from masthead._sansio.versions import oldest
from masthead.errors import ArgumentError, ClosedError, InformerStateError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from masthead._cache.reflector.foreign import Source
    from masthead._cache.reflector.metrics import InformerMetrics
    from masthead._cache.reflector.server_identity import KnownObjects
    from masthead._cache.reflector.status import ReflectorStatus
    from masthead._cache.store.storage import ObjectStorage, Stored
    from masthead._client.listwatch import ListerWatcher
    from masthead._sansio.changes import Process, Queue
    from masthead._sansio.sharding import ShardRanges

__all__ = ["InformerController"]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio.cache")
class InformerController(Generic[T]):
    """Lists and watches sources, and processes their changes.

    Errors of sources are reported and retried. If the process function raises, the exception is logged, and its changes
    are lost.

    Args:
        sources: One source; or several, by the name of their scope.
        process: Called with changes in order, and whether they belong to the initial state. The changes carry objects
            as `storage` packs them: the objects themselves, unless that is ``compact``. For long work it may return an
            iterator: other tasks run between its steps, and the next changes are processed after the last one.
        options: Of these, ``hold``, ``transform``, ``resync``, ``page_size``, ``watch_list``, ``stall_after``,
            ``backoff`` and ``name`` are used.
        storage: Packs objects; ``options.hold`` by default.
        queue: A queue for changes, such as a `DeltaFIFO`; None to process them immediately, in order.
        known: The store, if there is one; with it, a server that comes back is verified.
        versions: The resource versions of a seeded store, by scope.
        shards: The shards to store; None for all.
        is_due: Called before each resync; returns whether to resync.
        on_error: Called with each error, and the seconds until the next attempt; None to log it.
        on_processed: Called after changes were processed.
        metrics: Receives the metrics.

    Raises:
        ArgumentError: If there are no sources.
    """

    def __init__(
        self,
        sources: Source[T] | ListerWatcher[T] | Mapping[str, Source[T]] | Mapping[str, ListerWatcher[T]],
        process: Process[Stored],
        options: InformerOptions[T] | None = None,
        *,
        storage: ObjectStorage[T] | None = None,
        queue: Queue[Stored] | None = None,
        known: KnownObjects | None = None,
        versions: Mapping[str, str] | None = None,
        shards: ShardRanges | None = None,
        is_due: Callable[[float], bool] = lambda _: True,
        on_error: Callable[[Exception, float], object] | None = None,
        on_processed: Callable[[], object] = lambda: None,
        metrics: InformerMetrics = DISABLED,
    ) -> None:
        options = options if options is not None else InformerOptions()
        by_scope = sources if isinstance(sources, Mapping) else {"": sources}
        if not by_scope:
            raise ArgumentError("there is nothing to watch: give at least one source", value=sources)
        scopes: dict[str, Source[T]] = {scope: as_source(source) for scope, source in by_scope.items()}
        first = next(iter(scopes.values()))
        # All sources are of one resource, so that the first one names them all.
        label = options.name or first.resource
        self._sink: DirectSink[Stored] | QueueSink[Stored] = (
            DirectSink(process, scopes, name=label, on_processed=on_processed)
            if queue is None
            else QueueSink(queue, process, name=label, on_processed=on_processed)
        )
        self._resync = options.resync
        self._is_due = is_due
        self._has_run = False
        # Shared by all scopes, because they fill one store.
        self._ingest = ingest = Ingest(storage or storage_for(options.hold, first.item), options.transform, shards)
        self._scopes = list(scopes)
        self._reflectors = [
            Reflector(
                source,
                self._sink,
                ingest,
                options,
                scope=scope,
                known=known,
                version=(versions or {}).get(scope, ""),
                on_error=on_error,
                metrics=metrics,
            )
            for scope, source in scopes.items()
        ]

    @property
    def has_synced(self) -> bool:
        """Whether the first full list of every source has been processed."""
        return self._sink.has_synced

    @property
    def last_sync_resource_version(self) -> str:
        """The resource version that all sources have reached."""
        return oldest([reflector.version for reflector in self._reflectors])

    @property
    def statuses(self) -> Sequence[ReflectorStatus]:
        """The status of each reflector."""
        return [reflector.status for reflector in self._reflectors]

    async def select_shards(self, shards: ShardRanges) -> None:
        """Select other shards, and wait until all of their objects have been processed.

        The process function receives a `Reselected` first, for the objects that are not selected any more.
        """
        before, self._ingest.shards = self._ingest.shards, None if shards.is_everything else shards
        # Objects that were selected before are in the store already, so that no new list is needed.
        is_narrower = before is None or shards.is_within(before)
        selector = None if shards.is_everything else str(shards)
        selections = [reflector.select_shards(selector, is_narrower=is_narrower) for reflector in self._reflectors]
        await asyncio.gather(*selections)

    @property
    def gate(self) -> asyncio.Event:
        """The gate of all changes: they wait while it is not set."""
        return self._sink.gate

    def reopen(self, scope: str, *, relists: bool) -> None:
        """Reopen the watch of a scope on another connection; from a new list, if it `relists`."""
        self._reflectors[self._scopes.index(scope)].reopen(relists=relists)

    async def run(self) -> None:
        """List and watch until cancelled.

        Raises:
            ClosedError: If the client of a source is closed.
            InformerStateError: If the controller has run before.
        """
        if self._has_run:
            raise InformerStateError("a controller runs once; make another")
        self._has_run = True
        try:
            async with asyncio.TaskGroup() as group:
                for reflector in self._reflectors:
                    group.create_task(reflector.run())
                if self._resync:
                    group.create_task(self._resync_loop())
        except BaseExceptionGroup as errors:  # not `except*`: before Python 3.11.4 it wraps the error raised here
            closed, others = errors.split(ClosedError)
            if closed is None or others is not None:
                raise
            raise _first_error(closed) from None
        finally:
            # A closed queue refuses changes that nothing would pop any more.
            self._sink.close()

    async def _resync_loop(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(self._resync)
            # Before the first full list, a resync would deliver only a part of it.
            if self._sink.has_synced and self._is_due(clock()):
                await self._sink.emit((SyncAll(),))


def _first_error(group: BaseExceptionGroup[ClosedError]) -> ClosedError:
    """The first error of nested groups."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, ClosedError)
    return error
