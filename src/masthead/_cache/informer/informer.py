"""Shared informers: one copy of a collection, for any number of handlers and readers.

The contract, which the tests hold the whole package to:

 1. The store holds a state that the server had. A relist replaces it in one step; then handlers receive deletes,
    then updates and adds.
 2. Per object, a handler receives changes in the server's order. Its calls never overlap. A slow or failing handler
    delays no other.
 3. The store is updated before any handler is notified.
 4. A handler that is added late receives every object as an initial add, then every later change: no gap, no
    duplicate.
 5. `SharedInformer.has_synced`: the first full state is in the store. `Registration.has_synced`: the handler has
    returned from every initial add, even if one raised.
 6. No event is lost or invented across a dropped connection, half a line, a silent stall, 410, 429, 5xx, a restart of
    the server with or without its data, or a page that expired in the middle of a list.
 7. A stall is noticed: no stream stays silent past its deadline. `SharedInformer.health` reports the rest.
 8. Watch-list first, a list where the server refuses it or does not answer it, and that is remembered.
 9. An object that did not change is not announced again by a relist. Resyncs come at their own times.
10. `SharedInformer.wait_for` a version: read your own writes.
11. What waits for a handler is bounded in memory (`masthead._sansio.buffer`), and can be read.
12. Stopping stops: no thread, task, socket or reference is left.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar

from masthead._cache.callables import check_plain
from masthead._cache.informer.core import InformerCore
from masthead._cache.informer.handlers import handler_of, is_async
from masthead._cache.informer.mutation_detector import log_mutations
from masthead._cache.informer.registration import Registration
from masthead._cache.options import InformerOptions
from masthead._cache.store.store import count_of
from masthead._meta.object import Object
from masthead._meta.unstructured import Unstructured
from masthead._meta.v1 import PartialObjectMetadata
from masthead._module import set_module
from masthead._sansio.backoff import Backoff
from masthead._sansio.buffer import LIMIT
from masthead._sansio.sharding import ShardSet
from masthead._sansio.versions import is_at_least
from masthead.errors import ArgumentError, ClosedError, DeadlineError, InformerStateError, MutationError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
    from os import PathLike
    from typing import Self

    from masthead._cache.informer.controller import InformerController
    from masthead._cache.informer.handlers import EventHandler, OnAdd, OnDelete, OnUpdate
    from masthead._cache.informer.health import InformerHealth
    from masthead._cache.options import Hold
    from masthead._cache.store.indexer import Indexer
    from masthead._cache.store.lister import Lister
    from masthead._cache.store.storage import Stored
    from masthead._cache.store.transforms import Transform
    from masthead._client.listwatch import ListerWatcher, ListWatch
    from masthead._client.options import FieldSelection, LabelSelection
    from masthead._client.read_verbs import ReadVerbs
    from masthead._sansio.changes import Queue
    from masthead._sansio.deltafifo import KeyListerGetter
    from masthead._sansio.sharding import ShardRanges
    from masthead._sansio.store import IndexFunc
    from masthead.metrics import Metrics

__all__ = ["GRACE", "Registration", "SharedInformer", "ThreadedInformer"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.cache")

GRACE: Final = 10.0
"""Seconds that calls of handlers may go on when an informer is stopped."""
_GRACE_IF_CANCELLED: Final = 1.0
_ANY_KIND: Final = {Unstructured.GVK.group_kind, PartialObjectMetadata.GVK.group_kind}
"""What objects are said to be that may be of any kind."""
_BOOKMARKS: Final = (
    "A write of another kind or namespace, or one that its selectors do not match, is passed only with the next "
    "bookmark, about a minute later"
)


@set_module("masthead.aio")
class SharedInformer(Generic[T]):
    """Lists and watches a resource into a local store, and dispatches events to handlers.

    ::

        informer = SharedInformer(client.core_v1.pods(), label_selector="app=web")
        informer.add_indexers({"node": lambda pod: [pod.spec.node_name] if pod.spec.node_name else []})
        informer.add_event_handler(on_add=lambda pod: print("added", pod.key))
        async with informer:
            await informer.wait_synced(timeout=30)
            informer.lister.namespace("default").get("web")

    ::

        new ──start, run──> running ──stop, cancelled, client closed──> stopped; never again

    An informer belongs to the event loop that it is started in; what reads it may be called from any thread.
    """

    _IN_THREADS: ClassVar[bool] = False
    """Whether each handler is called in a thread of its own, which it may block."""

    def __init__(
        self,
        source: ReadVerbs[T] | ListWatch[T] | ListerWatcher[T] | Sequence[ReadVerbs[T]],
        *,
        resync: float = 0.0,
        indexers: Mapping[str, IndexFunc[T]] | None = None,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
        shard_selector: str | None = None,
        transform: Transform[T] | None = None,
        hold: Hold = "lazy",
        name: str = "",
        page_size: int = 0,
        watch_list: bool = True,
        stall_after: float | None = None,
        buffer_limit: int = LIMIT,
        detect_mutations: bool | None = None,
        metrics: Metrics | None = None,
        queue: Callable[[KeyListerGetter[Stored]], Queue[Stored]] | None = None,
        backoff: Callable[[], Backoff] = Backoff,
    ) -> None:
        """Describe what to keep. Nothing is sent before the start.

        Args:
            source: What to mirror: a resource of a client, in one namespace or in all; several, each of another
                namespace; a `ListWatch`; or a `ListerWatcher`.
            resync: Seconds between resyncs, which deliver every object to the handlers again; 0 for never. No request
                is sent for it.
            indexers: What to index the objects by, beside their namespace.
            label_selector: Only objects with such labels.
            field_selector: Only objects with such fields.
            shard_selector: Only the objects of one shard, where the server has them.
            transform: What is done to each object before it is kept; see `masthead._cache.store.transforms`.
            hold: How objects are stored: ``lazy``, decoded where one looks; ``eager``, decoded at once; ``compact``,
                compressed, and decoded whenever one looks.
            name: What logs and metrics call it; the resource by default.
            page_size: How many objects of a list to ask for at a time; 0 for what suits the server.
            watch_list: Whether to request states as the initial events of a watch (watch-list) before they are listed.
            stall_after: Seconds without a byte after which a watch counts as dead and is opened again; None for 28, or the
                client's read timeout if that is less. Below 75, quiet watches are kept shorter than this, because a
                server need not send anything to them.
            buffer_limit: How many notifications are kept, each by itself, for a handler that does not keep up.
            detect_mutations: Whether to find out who changes shared objects; None for what the environment variable
                MASTHEAD_MUTATION_DETECTOR says.
            metrics: Where to count; None for nowhere.
            queue: Makes the queue between list-watch and store, such as a `DeltaFIFO`; None to apply changes at once.
            backoff: Factory for the delays after refusals, and after watches that end within a second. A server that
                cannot be reached is tried about every second.

        Raises:
            ArgumentError: If there is nothing to mirror, or an option is invalid.
            SelectorError: If a selector is invalid.
            IndexConflictError: If an indexer has the name of one that is always there.
            ConfigError: If objects are to be stored in a way that needs something which is not installed.
        """
        self._set_up(
            source,
            InformerOptions(
                resync=resync,
                indexers=indexers,
                label_selector=label_selector,
                field_selector=field_selector,
                shard_selector=shard_selector,
                transform=transform,
                hold=hold,
                name=name,
                page_size=page_size,
                watch_list=watch_list,
                stall_after=stall_after,
                buffer_limit=buffer_limit,
                detect_mutations=detect_mutations,
                metrics=metrics,
                queue=queue,
                backoff=backoff,
            ),
        )

    @classmethod
    def from_options(
        cls,
        source: ReadVerbs[T] | ListWatch[T] | ListerWatcher[T] | Sequence[ReadVerbs[T]],
        options: InformerOptions[T],
    ) -> Self:
        """Make an informer of options that are a value already.

        Raises:
            ArgumentError: If there is no source, or it does not go with an option.
            SelectorError: If a selector is invalid.
            IndexConflictError: If an indexer has the name of one that every store has.
            ConfigError: If the storage needs a package that is not installed.
        """
        made = cls.__new__(cls)
        made._set_up(source, options)  # noqa: SLF001 - its own
        return made

    def _set_up(
        self,
        source: ReadVerbs[T] | ListWatch[T] | ListerWatcher[T] | Sequence[ReadVerbs[T]],
        options: InformerOptions[T],
    ) -> None:
        self._core = InformerCore(source, options, in_threads=self._IN_THREADS)
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._stopped = asyncio.Event()
        self._grace = GRACE

    # What may be asked at any time, from any thread.

    @property
    def name(self) -> str:
        """What logs and metrics call it."""
        return self._core.name

    @property
    def indexer(self) -> Indexer[T]:
        """The copy: by key, and by what it is indexed by."""
        return self._core.indexer

    @property
    def lister(self) -> Lister[T]:
        """The copy: by namespace, name and labels."""
        return self._core.lister

    @property
    def has_synced(self) -> bool:
        """Whether the first full state is in the store."""
        return self._core.processor.is_synced

    @property
    def last_sync_resource_version(self) -> str:
        """The resource version that the store has reached; empty before it is synced, unless it was seeded."""
        return self._core.indexer.version

    @property
    def is_stopped(self) -> bool:
        """Whether it has ended. Its copy can still be read, and does not change any more."""
        return self._stopped.is_set()

    @property
    def health(self) -> InformerHealth:
        """How it is doing."""
        return self._core.health(is_stopped=self.is_stopped)

    # What is arranged before the start; handlers and indexers at any time.

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
            handler: The handler; or, in its place, functions:
            on_add: Is called with each object that comes, or was there.
            on_update: Is called with what an object was, and what it is.
            on_delete: Is called with what an object was last.
            resync: Seconds between its resyncs; 0 for never, None for the informer's own.
            name: What logs and metrics call it.

        Raises:
            ClosedError: If the informer has stopped.
            ArgumentError: If there is nothing to call, or something that cannot be called here.
            InformerStateError: If the informer runs on an event loop, and this is called elsewhere.
        """
        made = handler_of(handler, on_add, on_update, on_delete)
        if self._IN_THREADS and is_async(made):
            raise ArgumentError(
                "the blocking client calls handlers in threads, where nothing is awaited; give plain functions, "
                "or use masthead.aio",
                value=handler,
            )
        # Under the gate: no change can come between the existing objects and what follows.
        with self._core.processor.gate:
            self._check_not_stopped("take a handler")
            self._check_loop()
            return self._core.add_handler(made, resync, name)

    def add_indexers(self, indexers: Mapping[str, IndexFunc[T]]) -> None:
        """Index the objects by more, at any time; those that are there at once.

        An indexer that raises, or returns something else than strings, is logged; the object is not in that index.

        Raises:
            ClosedError: If the informer has stopped.
            IndexConflictError: If there is an index of one of the names; nothing is added then.
            ArgumentError: If one is no function; nothing is added then.
        """
        self._check_not_stopped("take an indexer")
        self._core.indexer.add_indexers(indexers)

    def set_transform(self, transform: Transform[T] | None) -> None:
        """Say what is done to each object before it is kept; the last one counts.

        Raises:
            InformerStateError: If the informer has been started, or seeded: what it has then was transformed before.
            ArgumentError: If it is no plain function.
        """
        self._check_new("set a transform")
        # Seeded objects are stored already, and would stay as they are.
        if self._core.versions:
            raise InformerStateError(f"{self.name}: set the transform before the informer is seeded")
        if transform is not None:
            check_plain("a transform", transform)
        self._core.transform = transform

    def set_watch_error_handler(self, handler: Callable[[Exception], object] | None) -> None:
        """Set the handler of errors, of lists and watches alike, in place of the log; the last one counts.

        Raises:
            InformerStateError: If the informer has been started.
            ArgumentError: If it is no plain function.
        """
        self._check_new("set a handler of errors")
        if handler is not None:
            check_plain("a handler of errors", handler)
        self._core.on_error = handler

    async def seed(self, path: str | PathLike[str]) -> int:
        """Fill the store from a snapshot, so that handlers receive only what has changed since.

        The watch goes on from the snapshot's version, if the server still knows it; otherwise everything is read anew
        and compared. A handler that is added after the start receives every object, as always.

        Args:
            path: A file that `save` wrote.

        Returns:
            How many objects there are.

        Raises:
            InformerStateError: If the informer has been started.
            SnapshotError: If there is no such file, or it is broken or of something else. Nothing is changed then:
                the start will be a cold one.
        """
        self._check_new("be seeded")
        # In a thread, as below: a large snapshot takes seconds.
        versions = await asyncio.to_thread(self._core.load, path)
        self._check_new("be seeded")
        self._core.versions = versions
        return len(self._core.indexer)

    async def save(self, path: str | PathLike[str]) -> int:
        """Write all that is there to a file, for `seed`; compressed if its name ends in ``.zst``.

        Only its owner can read the file: it holds whatever the objects do, Secrets included.

        Returns:
            How many objects there are.

        Raises:
            InformerStateError: If the informer has not synced.
            SnapshotError: If it cannot be written.
        """
        if not self.has_synced:
            raise InformerStateError(f"{self.name}: there is no full state to save yet; wait_synced() first")
        return await asyncio.to_thread(self._core.save, path)

    def check_mutations(self) -> None:
        """Look for changes of the objects in the store, which everyone shares.

        Raises:
            MutationError: naming the objects.
        """
        self._core.check_mutations()

    async def select_shards(self, shards: ShardSet | ShardRanges) -> None:
        """Keep the objects of these shards from now on, in the place of those that were selected before.

        Objects of other shards leave the store without a notification: they still exist. Those that come are delivered as
        adds with ``is_initial=True``. Of a server that does not select shards, all objects are received, and those of
        other shards are dropped before they are kept. Before the start, nothing is waited for.

        The other selectors stay as they are. Whoever shares the informer sees the change, too.

        Args:
            shards: The shards to keep.

        Raises:
            ArgumentError: If the informer has a queue of its own.
            ClosedError: If the informer has stopped, or stops before all objects are there.
        """
        self._check_not_stopped("select shards")
        ranges = shards.ranges if isinstance(shards, ShardSet) else shards
        selection = asyncio.get_running_loop().create_task(self._core.select_shards(ranges))
        stopped = asyncio.get_running_loop().create_task(self._stopped.wait())
        try:
            await asyncio.wait({selection, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if selection.done():
                selection.result()
            else:
                self._check_not_stopped("select shards")
        finally:
            for task in (selection, stopped):
                task.cancel()

    # Life cycle.

    async def run(self) -> None:
        """Keep the store current until `stop` is called, the task is cancelled, or the client is closed.

        Raises:
            InformerStateError: If it was started before, or stopped: an informer runs once.
        """
        self.start_nowait()
        try:
            await self._ended()
        except asyncio.CancelledError:
            self.stop_nowait(_GRACE_IF_CANCELLED)
            # Also when cancelled: nothing of it may be left once run() has ended.
            await self._ended()
            raise

    async def start(self) -> None:
        """Begin to keep the store current, and return at once.

        Raises:
            InformerStateError: If it was started before, or stopped: an informer runs once.
        """
        self.start_nowait()

    def start_nowait(self) -> None:
        """Begin to keep the store current, and wait for nothing; on the loop that it shall belong to.

        Raises:
            InformerStateError: If it was started before, or stopped: an informer runs once.
        """
        self.check_startable()
        controller = self._core.start()
        task = self._task = self._spawn(self._live(controller))
        # Of the task, not in it: one that is cancelled before its first step never gets to its end.
        task.add_done_callback(self._finish)

    def check_startable(self) -> None:
        """See whether it could be started.

        Raises:
            InformerStateError: If it was started before, or stopped.
        """
        self._check_new("be started")

    async def stop(self, *, grace: float = GRACE) -> None:
        """End it, and wait until nothing of it is left. Stopping twice does nothing.

        Notifications that wait are dropped. A handler may stop its informer, and is not waited for then.

        Args:
            grace: For how many seconds calls of handlers that are under way may go on.

        Raises:
            MutationError: If it looks for changes of shared objects, and there are some.
            Exception: If it has ended by itself because of a defect, which is logged as well.
        """
        self.stop_nowait(grace)
        # A handler that stops its own informer cannot wait for its own return.
        if self.is_called_from_handler:
            return
        await self._ended()
        self.check_at_end()

    def stop_nowait(self, grace: float = GRACE) -> None:
        """End it, and wait for nothing; on its own loop, or before the start."""
        self._grace = grace
        self._stopping.set()
        self._core.detach_handlers()
        # It was never started, so there is no task whose end would do this.
        if self._task is None:
            self._finish()

    def check_at_end(self) -> None:
        """Look for changes of the objects in the store, if mutation detection is on.

        Raises:
            MutationError: naming the objects.
        """
        if self._core.detector is not None:
            self.check_mutations()

    @property
    def is_called_from_handler(self) -> bool:
        """Whether one of its handlers asks, which cannot wait for its end."""
        return self._core.is_called_from_handler()

    @property
    def is_running(self) -> bool:
        """Whether it was started, and has not ended."""
        return self._task is not None and not self.is_stopped

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            await self.stop()
        except MutationError as found:
            # It must not replace the error that the block ends with.
            if error is None:
                raise
            log_mutations(found, informer=self.name)

    async def wait_synced(self, timeout: float | None = None, *, handlers: bool = False) -> bool:
        """Wait until the first full state is in the store.

        Args:
            timeout: For how many seconds.
            handlers: Wait also until every handler has returned from every initial add.

        Returns:
            True. Being late is an error, not a False that can be overlooked; ``if not ...`` of ported code is right.

        Raises:
            DeadlineError: If that takes longer than `timeout` seconds; says what went wrong last.
            ClosedError: If the informer has stopped.
            InformerStateError: If it has not been started.
        """
        if not handlers:
            await self._reach(lambda: self.has_synced, timeout, "has not synced")
            return True

        def is_reached() -> bool:
            return self.has_synced and all(registration.has_synced for registration in self._core.registrations)

        await self._reach(is_reached, timeout, "and its handlers have not synced")
        return True

    async def wait_for(self, version: str | int | Object, timeout: float | None = None) -> None:
        """Wait until the store is at least as new as a version: read your own writes.

        ::

            made = await client.core_v1.pods("default").create(pod)
            await informer.wait_for(made)

        Args:
            version: An object that was written, or the resource version of one, of this kind.
            timeout: For how many seconds.

        Raises:
            DeadlineError: If that takes longer than `timeout` seconds; says where it is, and what went wrong last.
            ClosedError: If the informer has stopped.
            InformerStateError: If it has not been started.
            ArgumentError: If it is no version, or an object of another kind.
        """
        wanted, scope = _wanted(version, self._core.item, self._core.scopes)
        store = self._core.processor.store

        def reached() -> str:
            return store.version if scope is None else store.version_of(scope)

        def is_reached() -> bool:
            return self.has_synced and bool(reached()) and is_at_least(reached(), wanted)

        def where() -> str:
            return f"; it is at {reached()}. {_BOOKMARKS}" if self.has_synced else "; it has not synced"

        await self._reach(is_reached, timeout, f"has not reached version {wanted}", where)

    async def wait_until(self, condition: Callable[[Indexer[T]], object], timeout: float | None = None) -> None:
        """Wait until something is true of the store. It is looked at once it has synced, and then after each change.

        ::

            await client.core_v1.pods("default").delete("web", grace_period_seconds=0)
            await informer.wait_until(lambda store: store.get_by_key("default/web") is None)

        Args:
            condition: Is called with `indexer`, on the event loop: it must neither block nor, with the blocking client,
                call that.
            timeout: For how many seconds.

        Raises:
            DeadlineError: If that takes longer than `timeout` seconds; says what went wrong last.
            ClosedError: If the informer has stopped.
            InformerStateError: If it has not been started.
            ArgumentError: If the condition is no plain function.
            Exception: Whatever the condition raises.
        """
        check_plain("a condition", condition)
        indexer = self._core.indexer
        await self._reach(lambda: self.has_synced and bool(condition(indexer)), timeout, "is not as it was waited for")

    def __repr__(self) -> str:
        if self.health.state == "forked":
            return f"<SharedInformer {self.name}: of another process>"
        synced = "synced" if self.has_synced else "not synced"
        return f"<SharedInformer {self.name}: {self.health.state}, {synced}, {count_of(self._core.indexer)}>"

    async def _reach(
        self,
        is_reached: Callable[[], bool],
        timeout: float | None,
        problem: str,
        where: Callable[[], str] = str,
    ) -> None:
        try:
            async with asyncio.timeout(timeout):
                while not is_reached():
                    # Checked each time: an informer that stops meanwhile will never get there.
                    self._check_not_stopped("be waited for")
                    self._check_started()
                    await self._core.progress.next()
        except TimeoutError:
            last = self.health.last_error
            after = f"; the last error was {last}" if last else ""
            raise DeadlineError(f"informer {self.name} {problem} within {timeout:g} s{after}{where()}") from None

    def _spawn(self, coroutine: Coroutine[None, None, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(coroutine, name=f"masthead informer {self.name}")

    async def _live(self, controller: InformerController[T]) -> None:
        pump = asyncio.get_running_loop().create_task(controller.run(), name=f"masthead {self.name}")
        stopping = asyncio.get_running_loop().create_task(self._stopping.wait())
        detector = self._core.detector
        scanning = None if detector is None else self._spawn(detector.scan_periodically())
        try:
            await asyncio.wait({pump, stopping}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # Whoever cancels wants an end soon: handlers get less time than stop() would grant.
            self._grace = min(self._grace, _GRACE_IF_CANCELLED)
            raise
        finally:
            self._stopping.set()
            tasks = {task for task in (pump, stopping, scanning) if task is not None}
            for task in tasks:
                task.cancel()
            # Before the handlers: nothing new reaches them while they are waited for.
            await asyncio.wait(tasks)
            await self._core.end_handlers(self._grace)
        if not pump.cancelled() and (error := pump.exception()) is not None:
            # The client or the queue was closed, which ends an informer and is no fault of it.
            if not isinstance(error, ClosedError):
                raise error
            _log.warning("informer %s ends: %s", self.name, error)

    def _finish(self, task: asyncio.Task[None] | None = None) -> None:
        """It has ended, for whatever reason: deliver nothing more, and wake everyone who waits."""
        if task is not None and not task.cancelled() and (error := task.exception()) is not None:
            _log.error("informer %s ends, which is a defect of it", self.name, exc_info=error)
        self._core.detach_handlers()
        self._stopped.set()
        self._core.finish()

    async def _ended(self) -> None:
        """Wait for its end, if it was ever begun.

        Raises:
            Exception: If it has ended because of a defect.
        """
        if self._task is None:
            return
        # Unlike await, wait() does not cancel the task when the waiter is cancelled.
        await asyncio.wait({self._task})
        # The result of a cancelled task would raise CancelledError in a waiter that was not cancelled.
        if not self._task.cancelled():
            self._task.result()

    def _check_new(self, what: str) -> None:
        self._core.check_process()
        if self._core.loop is not None or self._is_ending:
            state = "stopped" if self._is_ending else "started"
            raise InformerStateError(
                f"informer {self.name} cannot {what} any more: it has been {state}; make a new one"
            )

    def _check_started(self) -> None:
        if self._task is None:
            raise InformerStateError(
                f"informer {self.name} has not been started, so that there is nothing to wait for; start() it first"
            )

    def _check_loop(self) -> None:
        """Tasks can be begun only on their own loop; threads anywhere."""
        if not self._IN_THREADS and self._core.loop not in {None, _running_loop()}:
            raise InformerStateError(
                f"informer {self.name} runs on another event loop; add handlers there, or before the start"
            )

    def _check_not_stopped(self, what: str) -> None:
        self._core.check_process()
        if self._is_ending:
            state = "has stopped" if self.is_stopped else "is being stopped"
            raise ClosedError(f"informer {self.name} cannot {what} any more: it {state}; make a new one")

    @property
    def _is_ending(self) -> bool:
        return self._stopping.is_set() or self.is_stopped


class ThreadedInformer(SharedInformer[T]):
    """An informer whose handlers are each called in a thread of their own; what the blocking façade stands on."""

    _IN_THREADS = True


def _wanted(version: str | int | Object, item: type[Object], scopes: Collection[str]) -> tuple[str, str | None]:
    """The version to wait for, and the scope that it is to be reached in; None for all.

    Raises:
        ArgumentError: If it is no version, or an object of another kind.
    """
    if isinstance(version, Object):
        given, own = version.gvk.group_kind, item.GVK.group_kind
        if given != own and not {given, own} & _ANY_KIND:
            raise ArgumentError(
                f"this informer keeps objects of kind {own.kind}, and never receives {given.kind} {version.key!r}; wait "
                "with an informer of that kind",
                value=version,
            )
        # In a namespace with a watch of its own, only that watch has to reach the version.
        namespace = version.metadata.namespace
        return _number(version.metadata.resource_version), namespace if namespace in scopes else None
    return _number(version), None


def _number(version: object) -> str:
    """A resource version as text.

    Raises:
        ArgumentError: If it is not a resource version.
    """
    # A bool is an int, too, but True is no version.
    given = str(version) if isinstance(version, int) and not isinstance(version, bool) else version
    if not isinstance(given, str) or not (given.isascii() and given.isdigit()):
        raise ArgumentError(
            f"{version!r} is no resource version; wait for an object that a server has answered with, or for its "
            "resource version, which is a number",
            value=version,
        )
    return given


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """The running event loop, if there is one."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
