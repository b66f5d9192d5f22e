"""Shared informers: one local store of a resource, for any number of handlers and readers.

The contract, which the tests hold the whole package to:

 1. The store holds a state that the server had. A relist replaces it in one step; then handlers receive deletes,
    then updates and adds.
 2. Per object, a handler receives changes in the server's order. Its calls never overlap. A slow or failing handler
    delays no other.
 3. The store is updated before any handler is notified.
 4. A handler that is added late receives every object as an initial add, then every later change: no gap, no
    duplicate.
 5. `SharedInformer.has_synced`: the first full list is in the store. `Registration.has_synced`: the handler has
    returned from every initial add, even if one raised.
 6. No event is lost or invented across a dropped connection, half a line, a silent stall, 410, 429, 5xx, a restart of
    the server with or without its data, or a page that expired in the middle of a list.
 7. A stall is noticed: no stream stays silent past its deadline. `SharedInformer.health` reports the rest.
 8. A watch-list comes first. If the server refuses it or does not answer it, the informer lists, and remembers that.
 9. A relist does not announce an object that did not change. Resyncs have their own schedule.
10. `SharedInformer.wait_for` a version: read your own writes.
11. Pending notifications of a handler are bounded in memory (`masthead._sansio.handler_buffer`), and can be counted.
12. Stopping stops: no thread, task, socket or reference is left.

The parts: `pipeline` (sources to store), `local_store`, `handler_registry`, `lifecycle`, `waits`, `snapshots`,
`health`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from masthead._cache.callables import check_plain
from masthead._cache.informer.handler_registry import HandlerRegistry
from masthead._cache.informer.handlers import handler_of
from masthead._cache.informer.health import collect_health
from masthead._cache.informer.lifecycle import STOP_TIMEOUT, InformerLifecycle
from masthead._cache.informer.local_store import LocalStore
from masthead._cache.informer.mutation_detector import log_mutations
from masthead._cache.informer.pipeline import InformerPipeline
from masthead._cache.informer.progress import Progress
from masthead._cache.informer.snapshots import InformerSnapshots
from masthead._cache.informer.waits import InformerWaits
from masthead._cache.options import InformerOptions, options_of
from masthead._cache.reflector.metrics import InformerMetrics
from masthead._cache.reflector.sources import sources_of
from masthead._cache.store.store import count_of
from masthead._errors.facades import ASYNC_ONLY
from masthead._errors.options import explain_arguments
from masthead._meta.object import Object
from masthead._module import set_module
from masthead._sansio.sharding import ShardSet
from masthead.errors import InformerStateError, MutationError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from os import PathLike
    from typing import Self, Unpack

    from masthead._cache.informer.handlers import EventHandler, OnAdd, OnDelete, OnUpdate
    from masthead._cache.informer.health import InformerHealth
    from masthead._cache.informer.registration import Registration
    from masthead._cache.options import InformerArguments
    from masthead._cache.store.indexer import Indexer
    from masthead._cache.store.lister import Lister
    from masthead._cache.store.transforms import Transform
    from masthead._client.listwatch import ListerWatcher, ListWatch
    from masthead._client.read_verbs import ReadVerbs
    from masthead._sansio.sharding import ShardRanges
    from masthead._sansio.store_indices import IndexFunc

__all__ = ["SharedInformer", "ThreadedInformer", "lifecycle_of", "pipeline_of"]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio")
class SharedInformer(Generic[T]):
    """Lists and watches a resource into a local store, and dispatches events to handlers.

    ::

        informer = SharedInformer(client.core_v1.pods(), label_selector="app=web")
        informer.add_indexers({"node": lambda pod: [pod.spec.node_name] if pod.spec.node_name else []})
        informer.add_event_handler(on_add=lambda pod: print("added", pod.key))
        async with informer:
            await informer.wait_for_cache_sync(timeout=30)
            informer.lister.namespace("default").get("web")

    ::

        new ──start, run──> running ──stop, cancelled, client closed──> stopped; never again

    An informer belongs to the event loop that starts it; its store may be read from any thread.
    """

    _IN_THREADS: ClassVar[bool] = False
    """Whether each handler is called in its own thread, and may block."""

    def __init__(
        self,
        source: ReadVerbs[T] | ListWatch[T] | ListerWatcher[T] | Sequence[ReadVerbs[T]],
        **options: Unpack[InformerArguments[T]],
    ) -> None:
        """Create an informer. Nothing is sent before the start.

        Args:
            source: The resource of a client, in one namespace or in all; several, each of another namespace; a
                `ListWatch`; or a `ListerWatcher`.
            **options: The attributes of `masthead.cache.InformerOptions`, such as ``resync``, ``indexers``,
                ``label_selector`` and ``transform``.

        Raises:
            ArgumentError: If there is no source, or an option is invalid.
            SelectorError: If a selector is invalid.
            IndexConflictError: If an indexer has the name of a built-in index.
            ConfigError: If ``hold`` needs a package that is not installed.
            TypeError: If there is no such option.
        """
        self._set_up(source, options_of("SharedInformer()", options))

    @classmethod
    def from_options(
        cls,
        source: ReadVerbs[T] | ListWatch[T] | ListerWatcher[T] | Sequence[ReadVerbs[T]],
        options: InformerOptions[T],
    ) -> Self:
        """Create an informer from an options value.

        Raises:
            ArgumentError: If there is no source, or it contradicts an option.
            SelectorError: If a selector is invalid.
            IndexConflictError: If an indexer has the name of a built-in index.
            ConfigError: If the storage needs a package that is not installed.
        """
        # Not by the constructor, which would unpack the options and check them a second time.
        informer = cls.__new__(cls)
        informer._set_up(source, options)  # noqa: SLF001 - of this class
        return informer

    def _set_up(
        self,
        source: ReadVerbs[T] | ListWatch[T] | ListerWatcher[T] | Sequence[ReadVerbs[T]],
        options: InformerOptions[T],
    ) -> None:
        sources = sources_of(source, options)
        first = next(iter(sources.values()))
        name = options.name or first.resource
        metrics = InformerMetrics(options.metrics, name=name, resource=first.resource)
        progress = Progress()
        self._store = LocalStore(name, first.item, first.resource, tuple(sources), options)
        self._handlers = HandlerRegistry(name, self._store, options, metrics, progress, in_threads=self._IN_THREADS)
        self._pipeline = InformerPipeline(name, sources, self._store, self._handlers, options, metrics, progress)
        self._lifecycle = InformerLifecycle(self._pipeline, self._handlers, progress, self._spawn)
        self._waits = InformerWaits(self._pipeline, self._handlers, self._lifecycle, progress)
        self._snapshots = InformerSnapshots(self._pipeline)

    @property
    def name(self) -> str:
        """The informer's name in logs and metrics."""
        return self._pipeline.name

    @property
    def indexer(self) -> Indexer[T]:
        """The local store, with its indices."""
        return self._store.indexer

    @property
    def lister(self) -> Lister[T]:
        """The local store, by namespace, name and labels."""
        return self._store.lister

    @property
    def has_synced(self) -> bool:
        """Whether the first full list is in the store."""
        return self._store.processor.is_synced

    @property
    def last_sync_resource_version(self) -> str:
        """The resource version that the store has reached; empty before the sync, unless the informer was seeded."""
        return self._store.indexer.version

    @property
    def is_stopped(self) -> bool:
        """Whether the informer has ended. The store can still be read, and does not change any more."""
        return self._lifecycle.is_stopped

    @property
    def health(self) -> InformerHealth:
        """The current health."""
        return collect_health(self._pipeline, self._handlers, self._lifecycle)

    @explain_arguments
    def add_event_handler(
        self,
        handler: EventHandler[T] | None = None,
        *,
        on_add: OnAdd[T] | None = None,
        on_update: OnUpdate[T] | None = None,
        on_delete: OnDelete[T] | None = None,
        resync: float | None = None,
        name: str = "",
    ) -> Registration:
        """Register an event handler. Existing objects are delivered first, as adds with ``is_initial=True``.

        Args:
            handler: The handler; or pass functions instead:
            on_add: Called with each new or existing object.
            on_update: Called with the old and the new state of an object.
            on_delete: Called with the last known state of an object.
            resync: Seconds between resyncs of this handler; 0 for never, None for the informer's period.
            name: The handler's name in logs and metrics.

        Raises:
            ClosedError: If the informer has stopped.
            ArgumentError: If no callable is passed, or one with the wrong signature.
            InformerStateError: If the informer runs on another event loop.
        """
        callbacks = handler_of(handler, on_add, on_update, on_delete)
        # Under the gate: no change can come between the existing objects and the first event.
        with self._store.processor.gate:
            self._lifecycle.check_not_stopped("take a handler")
            return self._handlers.add(callbacks, resync, name)

    def add_indexers(self, indexers: Mapping[str, IndexFunc[T]]) -> None:
        """Add indices. Objects already in the store are indexed immediately.

        If an indexer raises or returns anything but strings, that is logged, and the object is missing from the index.

        Raises:
            ClosedError: If the informer has stopped.
            IndexConflictError: If an index has the same name; nothing is added then.
            ArgumentError: If an indexer is not a plain function; nothing is added then.
        """
        self._lifecycle.check_not_stopped("take an indexer")
        self._store.indexer.add_indexers(indexers)

    def set_transform(self, transform: Transform[T] | None) -> None:
        """Set the transform, which is applied to each object before it is stored. The last one set wins.

        Raises:
            InformerStateError: If the informer has been started, or seeded: stored objects are not transformed again.
            ArgumentError: If the transform is not a plain function.
        """
        self._lifecycle.check_new("set a transform")
        # Seeded objects are stored already, and would stay untransformed.
        if self._pipeline.versions:
            raise InformerStateError(f"{self.name}: set the transform before the informer is seeded")
        if transform is not None:
            check_plain("a transform", transform)
        self._pipeline.transform = transform

    def set_watch_error_handler(self, handler: Callable[[Exception], object] | None) -> None:
        """Set the handler for errors of lists and watches, which are logged otherwise. The last one set wins.

        Raises:
            InformerStateError: If the informer has been started.
            ArgumentError: If the handler is not a plain function.
        """
        self._lifecycle.check_new("set a handler of errors")
        if handler is not None:
            check_plain("a handler of errors", handler)
        self._pipeline.on_error = handler

    async def seed(self, path: str | PathLike[str]) -> int:
        """Fill the store from a snapshot, so that handlers receive only later changes.

        The watch resumes at the snapshot's version; if the server has forgotten that, the informer relists, and
        compares. A handler added after the start receives every object, as always.

        Args:
            path: A file written by `save`.

        Returns:
            The number of objects.

        Raises:
            InformerStateError: If the informer has been started.
            SnapshotError: If the file is missing or corrupt, or belongs to another cache. The store is unchanged then,
                and the informer starts cold.
        """
        self._lifecycle.check_new("be seeded")
        # In a thread: a large snapshot takes seconds.
        versions = await asyncio.to_thread(self._snapshots.load, path)
        # Again: the informer may have been started in the meantime.
        self._lifecycle.check_new("be seeded")
        self._pipeline.versions = versions
        return len(self._store.indexer)

    async def save(self, path: str | PathLike[str]) -> int:
        """Write the store to a snapshot for `seed`; compressed if the name ends in ``.zst``.

        Only the owner can read the file, because it holds the objects in full, Secrets included.

        Returns:
            The number of objects.

        Raises:
            InformerStateError: If the informer has not synced.
            SnapshotError: If the file cannot be written.
        """
        if not self.has_synced:
            raise InformerStateError(f"{self.name}: there is no full state to save yet; wait_for_cache_sync() first")
        return await asyncio.to_thread(self._snapshots.save, path)

    def check_mutations(self) -> None:
        """Check that no reader has mutated the shared objects of the store.

        Raises:
            MutationError: If objects were mutated; it names them.
        """
        self._store.check_mutations()

    async def select_shards(self, shards: ShardSet | ShardRanges) -> None:
        """Replace the selected shards, and wait until all of their objects are in the store.

        Objects of other shards leave the store without a notification, because they still exist. New objects are
        delivered as adds with ``is_initial=True``. A server that ignores the shard selector sends all objects; those of
        other shards are dropped before they are stored. Before the start, the call returns immediately.

        The other selectors stay as they are. All users of the informer see the change.

        Args:
            shards: The shards to select.

        Raises:
            ArgumentError: If the informer has a queue.
            ClosedError: If the informer has stopped, or stops before all objects have arrived.
        """
        self._lifecycle.check_not_stopped("select shards")
        ranges = shards.ranges if isinstance(shards, ShardSet) else shards
        # Two tasks: a stopped informer would never complete the selection.
        selection = asyncio.get_running_loop().create_task(self._pipeline.select_shards(ranges))
        stopped = asyncio.get_running_loop().create_task(self._lifecycle.wait_for_stop())
        try:
            await asyncio.wait({selection, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if selection.done():
                selection.result()
            else:
                self._lifecycle.check_not_stopped("select shards")
        finally:
            for task in (selection, stopped):
                task.cancel()

    async def run(self) -> None:
        """Keep the store current until `stop` is called, the task is cancelled, or the client is closed.

        Raises:
            InformerStateError: If the informer was started or stopped before: it runs once.
        """
        await self._lifecycle.run()

    async def start(self) -> None:
        """Start to keep the store current, and return.

        Raises:
            InformerStateError: If the informer was started or stopped before: it runs once.
        """
        self._lifecycle.start()

    async def stop(self, *, timeout: float = STOP_TIMEOUT) -> None:
        """Stop the informer, and wait for its tasks and handlers to end. A second stop is a no-op.

        Pending notifications are dropped. If a handler stops its own informer, the call does not wait.

        Args:
            timeout: Seconds that running calls of handlers have to return.

        Raises:
            MutationError: If mutation detection is on, and has found some.
            Exception: If the informer has ended because of a defect, which is logged as well.
        """
        await self._lifecycle.stop(timeout)

    def stop_nowait(self, timeout: float = STOP_TIMEOUT) -> None:
        """Stop the informer without waiting; on its event loop, or before the start."""
        self._lifecycle.stop_nowait(timeout)

    @property
    def is_called_from_handler(self) -> bool:
        """Whether one of the informer's handlers is the caller, which cannot wait for its own end."""
        return self._handlers.is_called_from_handler()

    if not TYPE_CHECKING:
        __enter__ = __exit__ = ASYNC_ONLY

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            await self.stop()
        except MutationError as mutations:
            # It must not replace the error that the block ends with.
            if error is None:
                raise
            log_mutations(mutations, informer=self.name)

    async def wait_for_cache_sync(self, timeout: float | None = None, *, handlers: bool = False) -> bool:
        """Wait until the first full list is in the store.

        Args:
            timeout: Seconds to wait; None for no limit.
            handlers: Whether to wait also until every handler has returned from every initial add.

        Returns:
            True. A timeout is an error, not a False that can be overlooked; ``if not ...`` of ported code is right.

        Raises:
            DeadlineError: If that takes longer than `timeout` seconds; the message has the last error.
            ClosedError: If the informer has stopped.
            InformerStateError: If it has not been started.
        """
        await self._waits.wait_for_cache_sync(timeout, handlers=handlers)
        return True

    async def wait_for_version(self, version: str | int | Object, timeout: float | None = None) -> None:
        """Wait until the store is at least as new as a version: read your own writes.

        ::

            created = await client.core_v1.pods("default").create(pod)
            await informer.wait_for_version(created)

        Args:
            version: A written object of this kind, or its resource version.
            timeout: Seconds to wait; None for no limit.

        Raises:
            DeadlineError: If that takes longer than `timeout` seconds; the message has the current version and the last
                error.
            ClosedError: If the informer has stopped.
            InformerStateError: If it has not been started.
            ArgumentError: If `version` is neither a resource version nor an object of this kind.
        """
        await self._waits.wait_for_version(version, timeout)

    async def wait_for(self, condition: Callable[[Indexer[T]], object], timeout: float | None = None) -> None:
        """Wait until a condition of the store holds. It is evaluated after the sync, and after every change.

        ::

            await client.core_v1.pods("default").delete("web", grace_period_seconds=0)
            await informer.wait_for(lambda store: store.get_by_key("default/web") is None)

        Args:
            condition: Called with `indexer` on the event loop: it must neither block nor call the blocking client.
            timeout: Seconds to wait; None for no limit.

        Raises:
            DeadlineError: If that takes longer than `timeout` seconds; the message has the last error.
            ClosedError: If the informer has stopped.
            InformerStateError: If it has not been started.
            ArgumentError: If the condition is not a plain function.
            Exception: Any exception of the condition.
        """
        # A coroutine function would return a coroutine, which is always true.
        check_plain("a condition", condition)
        indexer = self._store.indexer
        await self._waits.wait_for(lambda: condition(indexer), timeout, "is not as it was waited for")

    def __repr__(self) -> str:
        state = self.health.state
        if state == "forked":
            return f"<SharedInformer {self.name}: of another process>"
        synced = "synced" if self.has_synced else "not synced"
        return f"<SharedInformer {self.name}: {state}, {synced}, {count_of(self._store.indexer)}>"

    def _spawn(self, coroutine: Coroutine[None, None, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(coroutine, name=f"masthead informer {self.name}")


class ThreadedInformer(SharedInformer[T]):
    """An informer that calls each handler in its own thread, for the blocking façade."""

    _IN_THREADS = True


def lifecycle_of(informer: SharedInformer[T]) -> InformerLifecycle[T]:
    """The life cycle of an informer, for factories and the blocking façade, which start and stop without waiting."""
    return informer._lifecycle  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def pipeline_of(informer: SharedInformer[T]) -> InformerPipeline[T]:
    """The pipeline of an informer, for controllers, which compare the store with the server."""
    return informer._pipeline  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
