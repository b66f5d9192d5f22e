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

    Errors of sources are reported and retried. An exception of the process function is logged, and the changes that it
    was called with are lost.

    Args:
        sources: What to list and watch: one source; or several, each under the name of its scope.
        process: Called with changes in order, and whether they belong to the initial state. The changes carry objects
            as `storage` packs them: the objects themselves, unless that is ``compact``. It may return an iterator: its
            steps are the rest of the work, with a turn for others between them, before any other change is processed.
        options: The options that an informer has, too: ``hold``, ``transform``, ``resync``, ``page_size``,
            ``watch_list``, ``stall_after``, ``backoff`` and ``name``. The others are ignored.
        storage: How objects are packed; ``options.hold`` by default.
        queue: Where changes wait, such as a `DeltaFIFO`; None to process them at once, in order.
        known: What was processed so far, if it is kept: with it, a server that comes back is verified.
        versions: The versions of a copy that exists already, by scope.
        shards: The objects that are kept of what the sources send; None for all.
        is_due: Called before each resync: whether to do it.
        on_error: Called with each error, and the seconds until the next attempt; None to log it.
        on_processed: Called after changes were processed.
        metrics: What is counted.

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
        given = sources if isinstance(sources, Mapping) else {"": sources}
        if not given:
            raise ArgumentError("there is nothing to watch: give at least one source", value=sources)
        scopes: dict[str, Source[T]] = {scope: as_source(each) for scope, each in given.items()}
        first = next(iter(scopes.values()))
        label = options.name or first.resource
        self._sink: DirectSink[Stored] | QueueSink[Stored] = (
            DirectSink(process, scopes, name=label, on_processed=on_processed)
            if queue is None
            else QueueSink(queue, process, name=label, on_processed=on_processed)
        )
        self._resync = options.resync
        self._is_due = is_due
        self._has_run = False
        # One for all scopes, because they fill one store.
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
        """Whether the first full state has been processed."""
        return self._sink.has_synced

    @property
    def last_sync_resource_version(self) -> str:
        """The resource version up to which everything has been received."""
        return oldest([reflector.version for reflector in self._reflectors])

    @property
    def statuses(self) -> Sequence[ReflectorStatus]:
        """How the reflectors are doing."""
        return [reflector.status for reflector in self._reflectors]

    async def select_shards(self, shards: ShardRanges) -> None:
        """Process the objects of other shards from now on, and wait until all of them have been.

        What is not selected any more is to be forgotten at once, with a `Reselected`.
        """
        before, self._ingest.shards = self._ingest.shards, None if shards.is_everything else shards
        is_narrower = before is None or shards.is_within(before)
        selector = None if shards.is_everything else str(shards)
        selected = [reflector.select_shards(selector, is_narrower=is_narrower) for reflector in self._reflectors]
        await asyncio.gather(*selected)

    def reopen(self, scope: str, *, relists: bool) -> None:
        """Open the watch of a scope again, on another connection; from a new state, if it `relists`."""
        self._reflectors[self._scopes.index(scope)].reopen(relists=relists)

    async def run(self) -> None:
        """List and watch until cancelled.

        Raises:
            ClosedError: If the client of a source is closed.
            InformerStateError: If it has run before.
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
        except BaseExceptionGroup as errors:  # not `except*`: before Python 3.11.4 it would wrap what is raised here
            closed, others = errors.split(ClosedError)
            if closed is None or others is not None:
                raise
            raise _first(closed) from None
        finally:
            self._sink.close()

    async def _resync_loop(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(self._resync)
            # Before the first full state, a resync would deliver only a part of it.
            if self._sink.has_synced and self._is_due(clock()):
                await self._sink.emit((SyncAll(),))


def _first(group: BaseExceptionGroup[ClosedError]) -> ClosedError:
    """One of the errors of a group."""
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, ClosedError)
    return found
