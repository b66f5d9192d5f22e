"""The parts of an informer: its store, its handlers, and the pipeline between them.

::

    InformerController ──changes──> SharedProcessor ──> store ──> Indexer, Lister
                                          └──notifications──> one ProcessorListener and dispatcher per handler

`masthead._cache.informer.informer.SharedInformer` owns one, and adds the life cycle.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead._cache.informer import forks, persistence
from masthead._cache.informer.controller import InformerController
from masthead._cache.informer.dispatcher import ProcessorListener, TaskDispatcher, ThreadDispatcher
from masthead._cache.informer.health import disowned_health, health_of
from masthead._cache.informer.mutation_detector import MutationDetector, detector_for
from masthead._cache.informer.processor import SharedProcessor
from masthead._cache.informer.progress import Progress
from masthead._cache.informer.registration import Registration
from masthead._cache.reflector.metrics import InformerMetrics
from masthead._cache.reflector.sources import log_label, sources_of
from masthead._cache.reflector.status import ReflectorStatus
from masthead._cache.store.indexer import NAMESPACE, Indexer, by_namespace
from masthead._cache.store.lister import Lister
from masthead._cache.store.storage import storage_for
from masthead._cache.store.store import count_of, disown
from masthead._client.listwatch import ListWatch
from masthead._meta.object import Object
from masthead._sansio.resync import ResyncSchedule
from masthead._sansio.sharding import ShardRanges
from masthead.errors import ArgumentError, InformerStateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from os import PathLike

    from masthead._cache.informer.handlers import EventHandler
    from masthead._cache.informer.health import InformerHealth
    from masthead._cache.options import InformerOptions
    from masthead._cache.reflector.foreign import Source
    from masthead._cache.store.storage import Stored
    from masthead._client.listwatch import ListerWatcher
    from masthead._client.read_verbs import ReadVerbs
    from masthead._sansio.changes import Change

__all__ = ["InformerCore"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.cache")


class InformerCore(Generic[T]):
    """Connects sources, store and handlers.

    Args:
        source: What to list and watch.
        options: The options.
        in_threads: Whether each handler is called in a thread of its own, which it may block.

    Attributes:
        name: The informer's name in logs and metrics.
        item: The class of the objects.
        scopes: The namespaces that are listed each by itself; one empty name for everything.
        indexer: Reads the store, by key and index.
        lister: Reads the store, by namespace, name and labels.
        processor: Applies changes to the store, and passes notifications on.
        schedule: When handlers are due for a resync.
        progress: Wakes those who wait for the store or a handler.
        transform: Applied to each object before it is stored.
        on_error: Called with each error of a list or watch; None to log them.
        versions: The versions of a snapshot, by scope.
        detector: Detects mutations of shared objects; None if that is off.

    Raises:
        ArgumentError: If there is no source, or it does not go with an option.
        SelectorError: If a selector is invalid.
        IndexConflictError: If an indexer has the name of one that every store has.
        ConfigError: If the storage needs a package that is not installed.
    """

    def __init__(
        self,
        source: ReadVerbs[T] | ListWatch[T] | ListerWatcher[T] | Sequence[ReadVerbs[T]],
        options: InformerOptions[T],
        *,
        in_threads: bool,
    ) -> None:
        sources = sources_of(source, options)
        self._sources: Mapping[str, Source[T]] = sources
        first = next(iter(sources.values()))
        if options.queue is not None and len(sources) > 1:
            raise ArgumentError(
                "an informer over several namespaces applies changes at once, in their order; leave out queue"
            )
        self._options = options
        self._in_threads = in_threads
        self.item = first.item
        self.scopes = tuple(sources)
        self.name = options.name or first.resource
        self._storage = storage_for(options.hold, first.item)
        self._metrics = InformerMetrics(options.metrics, name=self.name, resource=first.resource)
        self.detector = detector_for(self._storage, self.name, options.detect_mutations)
        self.processor = SharedProcessor(
            self._storage,
            {NAMESPACE: by_namespace},
            self.scopes,
            name=self.name,
            detector=self.detector,
        )
        self.indexer = Indexer(self.processor.store, self._storage, self.processor.gate)
        self.indexer.add_indexers(options.indexers or {})
        self.lister = Lister(self.indexer, first.resource, lambda: self.processor.is_synced)
        self.schedule = ResyncSchedule(options.resync)
        self.progress = Progress()
        self.transform = options.transform
        self.on_error: Callable[[Exception], object] | None = None
        self.versions: Mapping[str, str] = {}
        self._shards = _static_shards(options.shard_selector)
        self._registrations: dict[Registration, None] = {}
        self._leaving: dict[Registration, None] = {}  # removed, and perhaps still being called
        self._count = 0
        self._controller: InformerController[T] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._began = 0.0
        self._problem = ""

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop that it was started on."""
        return self._loop

    @property
    def sources(self) -> Mapping[str, Source[T]]:
        """What is listed and watched, by scope; with the shards that are selected now."""
        return self._sources

    @property
    def registrations(self) -> Sequence[Registration]:
        """The registered handlers."""
        return list(self._registrations)

    # Handlers

    def add_handler(self, handler: EventHandler[T], resync: float | None, name: str) -> Registration:
        """Register a handler. Existing objects are delivered first, unless it is not started yet."""
        self._count += 1
        name = name or f"{self.name}-{self._count}"
        listener = ProcessorListener(
            handler,
            self._storage,
            name=name,
            limit=self._options.buffer_limit,
            metrics=self._metrics.handler(name),
            detector=self.detector,
        )
        dispatcher = ThreadDispatcher(listener) if self._in_threads else TaskDispatcher(listener)
        made = Registration(listener, dispatcher, self._remove, self.is_called_from_handler, self.progress.notify)
        loop = self._loop
        self.schedule.join(made, resync, loop.time() if loop is not None else 0.0)
        if self.schedule.adjustment:
            _log.warning("handler %s: %s", name, self.schedule.adjustment)
        self._registrations[made] = None
        if loop is None:
            self.processor.add_listener_before_start(made, listener)
        else:
            self.processor.add_listener(made, listener)
            made.start(loop)
        return made

    def is_called_from_handler(self) -> bool:
        """Whether one of the handlers is the caller."""
        return any(each.is_own for each in [*list(self._registrations), *list(self._leaving)])

    def detach_handlers(self) -> None:
        """Deliver nothing more to the handlers."""
        with self.processor.gate:
            for registration in self._registrations:
                self.processor.remove_listener(registration)

    async def end_handlers(self, grace: float) -> None:
        """Detach the handlers, and wait until they are not being called any more."""
        self.detach_handlers()
        async with asyncio.TaskGroup() as group:
            for each in [*self._registrations, *self._leaving]:
                group.create_task(each.end(grace))

    def _remove(self, registration: Registration) -> None:
        with self.processor.gate:
            self._registrations.pop(registration, None)
            self._leaving = {each: None for each in (*self._leaving, registration) if each.is_alive}
            self.schedule.leave(registration)
            self.processor.remove_listener(registration)

    # The pipeline

    async def select_shards(self, shards: ShardRanges) -> None:
        """Keep the objects of other shards from now on, and wait until all of them are there.

        Raises:
            ArgumentError: If the informer has a queue of its own.
        """
        if self._options.queue is not None:
            raise ArgumentError("an informer with a queue cannot select other shards; leave out queue")
        selector = None if shards.is_everything else str(shards)
        self._sources = {
            scope: each.with_shards(selector) if isinstance(each, ListWatch) else each
            for scope, each in self._sources.items()
        }
        self._shards = None if shards.is_everything else shards
        if self._controller is not None:
            await self._controller.select_shards(shards)

    def reopen(self, scope: str, *, relists: bool) -> None:
        """Open the watch of a scope again, on another connection; from a new state, if it `relists`."""
        if self._controller is not None:
            self._controller.reopen(scope, relists=relists)

    def start(self) -> InformerController[T]:
        """Connect the reflectors to the store, and start the handlers, on the running event loop."""
        loop = asyncio.get_running_loop()
        options = self._options
        with self.processor.gate:  # or a handler that another thread adds would be started twice
            controller = InformerController(
                self._sources,
                self._measured_process if self._metrics.is_on else self.processor.process,
                replace(
                    options,
                    name=self.name,
                    resync=self.schedule.check_period,
                    transform=self.transform,
                ),
                storage=self._storage,
                queue=options.queue(self.processor.store) if options.queue is not None else None,
                known=self.processor,
                versions=self.versions,
                shards=self._shards,
                is_due=self._is_due,
                on_error=self._report_error if self.on_error is not None else None,
                on_processed=self._after_processing,
                metrics=self._metrics,
            )
            # Whatever the caller's queue or backoff raises, nothing has begun until here.
            self._loop, self._controller = loop, controller
            self._began = loop.time()
            forks.note_running(self)
            self.schedule.start(self._began)
            for registration in self._registrations:
                registration.start(loop)
        return controller

    def disown(self) -> None:
        """Refuse to be read: this is a forked process, and the informer runs in its parent."""
        self._problem = (
            f"informer {self.name} belongs to another process: it was started before this one was forked, and receives "
            "nothing here; make a client and its informers after the fork"
        )
        self.processor.is_synced = False
        disown(self.indexer, self._problem)

    def check_process(self) -> None:
        """Check that the informer was not started before a fork.

        Raises:
            InformerStateError: If it runs in the parent process.
        """
        if self._problem:
            raise InformerStateError(self._problem)

    def finish(self) -> None:
        """Release everything, and wake everyone who waits."""
        forks.forget_running(self)
        self.detach_handlers()
        self._leaving = {}
        # Otherwise, whoever waits for a handler to sync would wait for ever.
        for registration in self._registrations:
            registration.mark_done()
        self.progress.notify()

    def _measured_process(self, changes: Sequence[Change[Stored]], is_initial: bool) -> Iterator[None] | None:
        """Process changes, and measure how long that takes."""
        assert self._loop is not None
        began = self._loop.time()
        steps = self.processor.process(changes, is_initial)
        if steps is not None:
            return self._measured_steps(steps, began)
        self._metrics.processed(self._loop.time() - began, self.indexer.version)
        return None

    def _measured_steps(self, steps: Iterator[None], began: float) -> Iterator[None]:
        assert self._loop is not None
        yield from steps
        self._metrics.processed(self._loop.time() - began, self.indexer.version)

    def _after_processing(self) -> None:
        controller, processor = self._controller, self.processor
        if not processor.is_synced and controller is not None and controller.has_synced:
            processor.mark_synced()
            self._log_synced()
        self.progress.notify()

    def _log_synced(self) -> None:
        assert self._loop is not None
        label = log_label(next(iter(self._sources.values())), self.name)
        took = self._loop.time() - self._began
        _log.info("informer %s has synced: %s in %.2f s", label, count_of(self.indexer), took)

    def _is_due(self, now: float) -> bool:
        with self.processor.gate:
            self.processor.due = self.schedule.due(now)
        return bool(self.processor.due)

    def _report_error(self, error: Exception, after: float) -> None:
        del after
        if self.on_error is not None:
            self.on_error(error)

    # Snapshots and health

    def load(self, path: str | PathLike[str]) -> Mapping[str, str]:
        """Fill the store from a snapshot, and return its versions by scope. Blocks.

        Raises:
            SnapshotError: If it cannot be used.
        """
        return persistence.load(path, self.processor, self._storage, self._sources, self.transform)

    def save(self, path: str | PathLike[str]) -> int:
        """Write the store to a snapshot, and return the number of objects. Blocks.

        Raises:
            SnapshotError: If it cannot be written.
        """
        statuses = self._controller.statuses if self._controller is not None else ()
        return persistence.save(path, self.processor, self._storage, self._sources, self.transform, statuses)

    def check_mutations(self) -> None:
        """Look for mutations of shared objects.

        Raises:
            MutationError: If there are some.
        """
        detector = self.detector
        if detector is None:  # look once, at what is there
            detector = MutationDetector(self._storage, self.name)
            detector.attach(self.processor.store.items)
        detector.check()

    def health(self, *, is_stopped: bool) -> InformerHealth:
        """How the informer is doing."""
        if self._problem:
            return disowned_health(self._problem)
        controller, loop = self._controller, self._loop
        return health_of(
            controller.statuses if controller is not None else [ReflectorStatus()],
            state="stopped" if is_stopped else "" if controller is not None else "new",
            is_synced=self.processor.is_synced,
            version=self.indexer.version,
            objects=len(self.indexer),
            pending={listener.name: listener.pending for listener in self.processor.listeners()},
            handler_failures={registration.name: registration.failures for registration in self.registrations},
            index_failures=self.processor.store.index_failures(),
            clock=loop.time if loop is not None else lambda: 0.0,
        )


def _static_shards(selector: str | None) -> ShardRanges | None:
    """The shards of a selector that a caller has given.

    Raises:
        SelectorError: If it is invalid.
    """
    return ShardRanges.parse(selector) if selector else None
