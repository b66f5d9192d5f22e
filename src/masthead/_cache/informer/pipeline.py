"""The pipeline of an informer, from its sources to its store and handlers.

::

    InformerController ──changes──> SharedProcessor ──> store ──> Indexer, Lister
                                          └──notifications──> one ProcessorListener and dispatcher per handler
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead._cache.informer.controller import InformerController
from masthead._cache.reflector.sources import log_label
from masthead._cache.reflector.status import ReflectorStatus
from masthead._cache.store.store import count_of
from masthead._client.listwatch import ListWatch
from masthead._meta.object import Object
from masthead._sansio.sharding import ShardRanges
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from masthead._cache.informer.handler_registry import HandlerRegistry
    from masthead._cache.informer.local_store import LocalStore
    from masthead._cache.informer.progress import Progress
    from masthead._cache.options import InformerOptions
    from masthead._cache.reflector.foreign import Source
    from masthead._cache.reflector.metrics import InformerMetrics
    from masthead._cache.store.storage import Stored
    from masthead._sansio.changes import Change

__all__ = ["InformerPipeline"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.cache")


class InformerPipeline(Generic[T]):
    """Connects the sources of an informer to its store and its handlers.

    Args:
        name: The informer's name.
        sources: The sources, by scope.
        store: Receives the changes.
        handlers: Started with the pipeline.
        options: The informer's options.
        metrics: Measures processing.
        progress: Notified after changes were processed.

    Attributes:
        transform: Applied to each object before it is stored.
        on_error: Called with each error of a list or watch; None to log them.
        versions: The resource versions of a snapshot, by scope.

    Raises:
        ArgumentError: If there are several sources and a queue.
        SelectorError: If the shard selector is invalid.
    """

    def __init__(
        self,
        name: str,
        sources: Mapping[str, Source[T]],
        store: LocalStore[T],
        handlers: HandlerRegistry[T],
        options: InformerOptions[T],
        metrics: InformerMetrics,
        progress: Progress,
    ) -> None:
        if options.queue is not None and len(sources) > 1:
            raise ArgumentError(
                "an informer over several namespaces applies changes at once, in their order; leave out queue"
            )
        self.name = name
        self.store = store
        self.transform = options.transform
        self.on_error: Callable[[Exception], object] | None = None
        self.versions: Mapping[str, str] = {}
        self._sources = sources
        self._handlers = handlers
        self._options = options
        self._metrics = metrics
        self._progress = progress
        self._shards = ShardRanges.parse(options.shard_selector) if options.shard_selector else None
        self._controller: InformerController[T] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._began = 0.0
        self._is_paused = False

    @property
    def sources(self) -> Mapping[str, Source[T]]:
        """The sources by scope, with the shards that are selected now."""
        return self._sources

    @property
    def item(self) -> type[T]:
        """The class of the objects."""
        return next(iter(self._sources.values())).item

    @property
    def is_started(self) -> bool:
        """Whether the pipeline was ever started."""
        return self._controller is not None

    @property
    def statuses(self) -> Sequence[ReflectorStatus]:
        """The status of each source's reflector; a single blank status before the start."""
        return self._controller.statuses if self._controller is not None else [ReflectorStatus()]

    def now(self) -> float:
        """The time of the event loop; 0 before the start."""
        return self._loop.time() if self._loop is not None else 0.0

    def start(self) -> InformerController[T]:
        """Connect the reflectors to the store, and start the handlers, on the running event loop."""
        loop, options = asyncio.get_running_loop(), self._options
        processor = self.store.processor
        # Under the gate, or a handler that another thread adds would be started twice.
        with processor.gate:
            controller = InformerController(
                self._sources,
                self._measured_process if self._metrics.is_on else processor.process,
                replace(options, name=self.name, resync=self._handlers.resync_period, transform=self.transform),
                storage=self.store.storage,
                queue=options.queue(processor.store) if options.queue is not None else None,
                known=processor,
                versions=self.versions,
                shards=self._shards,
                is_due=self._handlers.mark_due,
                on_error=self._report_error if self.on_error is not None else None,
                on_processed=self._after_processing,
                metrics=self._metrics,
            )
            # The caller's queue or backoff may have raised above, and nothing has begun until here.
            self._loop, self._controller = loop, controller
            if self._is_paused:
                controller.gate.clear()
            self._began = loop.time()
            self._handlers.start(loop)
        return controller

    async def select_shards(self, shards: ShardRanges) -> None:
        """Select other shards, and wait until all of their objects are in the store.

        Raises:
            ArgumentError: If the informer has a queue.
        """
        if self._options.queue is not None:
            raise ArgumentError("an informer with a queue cannot select other shards; leave out queue")
        selector = None if shards.is_everything else str(shards)
        self._sources = {
            scope: source.with_shards(selector) if isinstance(source, ListWatch) else source
            for scope, source in self._sources.items()
        }
        # None for everything: then no object is hashed.
        self._shards = None if shards.is_everything else shards
        if self._controller is not None:
            await self._controller.select_shards(shards)

    @property
    def is_paused(self) -> bool:
        """Whether changes wait for `resume`."""
        return self._is_paused

    def pause(self) -> None:
        """Let changes wait: neither the store nor the handlers get any until `resume`. None is lost."""
        self._is_paused = True
        if self._controller is not None:
            self._controller.gate.clear()

    def resume(self) -> None:
        """Process the changes that wait, and all further ones."""
        self._is_paused = False
        if self._controller is not None:
            self._controller.gate.set()

    def reopen(self, scope: str, *, relists: bool) -> None:
        """Open the watch of a scope on another connection; from a new list, if it `relists`."""
        if self._controller is not None:
            self._controller.reopen(scope, relists=relists)

    def _measured_process(self, changes: Sequence[Change[Stored]], is_initial: bool) -> Iterator[None] | None:
        """Process changes, and measure the duration."""
        began = self.now()
        steps = self.store.processor.process(changes, is_initial)
        if steps is not None:
            return self._measured_steps(steps, began)
        self._metrics.processed(self.now() - began, self.store.indexer.version)
        return None

    def _measured_steps(self, steps: Iterator[None], began: float) -> Iterator[None]:
        yield from steps
        self._metrics.processed(self.now() - began, self.store.indexer.version)

    def _after_processing(self) -> None:
        controller, processor = self._controller, self.store.processor
        # Once: the marker behind the initial adds tells each handler that it has synced.
        if not processor.is_synced and controller is not None and controller.has_synced:
            processor.mark_synced()
            self._log_synced()
        self._progress.notify()

    def _log_synced(self) -> None:
        label = log_label(next(iter(self._sources.values())), self.name)
        duration = self.now() - self._began
        _log.info("informer %s has synced: %s in %.2f s", label, count_of(self.store.indexer), duration)

    def _report_error(self, error: Exception, after: float) -> None:
        del after
        if self.on_error is not None:
            self.on_error(error)
