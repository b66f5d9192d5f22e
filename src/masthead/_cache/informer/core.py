"""What is arranged before an informer starts, and what can be asked of it at any time."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar, get_args

from masthead._cache.callables import check_plain
from masthead._cache.informer import mutation_detector, persistence
from masthead._cache.informer.dispatcher import ProcessorListener, TaskDispatcher, ThreadDispatcher
from masthead._cache.informer.handlers import handler_of, is_async
from masthead._cache.informer.health import health_of
from masthead._cache.informer.processor import SharedProcessor
from masthead._cache.informer.progress import Progress
from masthead._cache.informer.registration import Registration
from masthead._cache.reflector.metrics import InformerMetrics
from masthead._cache.reflector.sources import sources_of
from masthead._cache.reflector.status import ReflectorStatus
from masthead._cache.store.indexer import NAMESPACE, Indexer, by_namespace
from masthead._cache.store.lister import Lister
from masthead._cache.store.storage import Hold, storage_for
from masthead._meta.object import Object
from masthead._sansio.backoff import Backoff
from masthead._sansio.buffer import LIMIT
from masthead._sansio.resync import ResyncSchedule
from masthead.errors import ClosedError, InformerStateError, InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from masthead._cache.informer.controller import InformerController
    from masthead._cache.informer.handlers import EventHandler, OnAdd, OnDelete, OnUpdate
    from masthead._cache.informer.health import Health
    from masthead._cache.reflector.foreign import Source
    from masthead._cache.store.storage import ObjectStorage, Stored
    from masthead._cache.store.transforms import Transform
    from masthead._client.listwatch import ListerWatcher, ListWatch
    from masthead._client.options import FieldSelection, LabelSelection
    from masthead._client.read_verbs import ReadVerbs
    from masthead._sansio.changes import Queue
    from masthead._sansio.deltafifo import KeyListerGetter
    from masthead._sansio.store import IndexFunc
    from masthead.metrics import Metrics

__all__ = ["GRACE", "Arranged", "check_options"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.cache")

GRACE: Final = 10.0
"""Seconds that calls of handlers may go on when an informer is stopped."""


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_seconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _is_metrics(value: object) -> bool:
    return not isinstance(value, type) and all(
        callable(getattr(value, each, None)) for each in ("counter", "gauge", "histogram")
    )


_CHECKS: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "resync": (_is_seconds, "seconds, such as 600.0, or 0 for never"),
    "indexers": (
        lambda value: value is None or isinstance(value, Mapping),
        "functions by name, such as {'node': lambda pod: [pod.spec.node_name]}",
    ),
    "hold": (lambda value: value in get_args(Hold), " or ".join(map(repr, get_args(Hold)))),
    "page_size": (_is_count, "a whole number, or 0 for what suits the server"),
    "stall_after": (
        lambda value: value is None or (_is_seconds(value) and bool(value)),
        "some seconds, or None for the client's own",
    ),
    "buffer_limit": (_is_count, "a whole number"),
    "metrics": (
        lambda value: value is None or _is_metrics(value),
        "an object with counter, gauge and histogram, such as masthead.PrometheusMetrics()",
    ),
    "queue": (lambda value: value is None or callable(value), "what makes a queue, such as DeltaFIFO itself"),
    "backoff": (callable, "what makes a Backoff, such as Backoff itself"),
}
"""What options of an informer must be like, and what to give."""


def check_options(options: Mapping[str, object]) -> None:
    """Refuse options of an informer that make no sense, as far as that can be seen from each by itself.

    Args:
        options: The options by name; those that this knows nothing of may be anything.

    Raises:
        InvalidValueError: if one makes no sense.
    """
    for name, (is_fine, wanted) in _CHECKS.items():
        if name in options and not is_fine(options[name]):
            value = options[name]
            raise InvalidValueError(f"{name} is {value!r}; give {wanted}", value=value)
    if options.get("transform") is not None:
        check_plain("a transform", options["transform"])


class Arranged(Generic[T]):
    """An informer as far as it is arranged and read; its life is in `masthead._cache.informer.informer`."""

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
            resync: Every how many seconds handlers are told of every object again; 0 for never. Nothing is asked of the
                server for it.
            indexers: What to index the objects by, beside their namespace.
            label_selector: Only objects with such labels.
            field_selector: Only objects with such fields.
            shard_selector: Only the objects of one shard, where the server has them.
            transform: What is done to each object before it is kept; see `masthead._cache.store.transforms`.
            hold: How objects are stored: ``lazy``, decoded where one looks; ``eager``, decoded at once; ``compact``,
                compressed, and decoded whenever one looks.
            name: What logs and metrics call it; the resource by default.
            page_size: How many objects of a list to ask for at a time; 0 for what suits the server.
            watch_list: Whether to try watches that begin with what there is.
            stall_after: Seconds without a byte after which a watch counts as dead and is opened again; None for the
                client's own. Servers send something about once a minute; below that, quiet watches are opened anew
                that often, which costs little.
            buffer_limit: How many notices are kept, each by itself, for a handler that does not keep up.
            detect_mutations: Whether to find out who changes shared objects; None for what the environment variable
                MASTHEAD_MUTATION_DETECTOR says.
            metrics: Where to count; None for nowhere.
            queue: Makes the queue between list-watch and store, such as a `DeltaFIFO`; None for the ordered one.
            backoff: Makes what says how long to wait after failures.

        Raises:
            InvalidValueError: if there is nothing to mirror, or an option is senseless.
            SelectorError: if a selector is none.
            IndexConflictError: if an indexer has the name of one that is always there.
            ConfigError: if objects are to be stored in a way that needs something which is not installed.
        """
        check_options({"resync": resync, "indexers": indexers, "transform": transform, "hold": hold})
        check_options({"page_size": page_size, "stall_after": stall_after, "buffer_limit": buffer_limit})
        check_options({"metrics": metrics, "queue": queue, "backoff": backoff})
        sources = sources_of(
            source,
            label_selector=label_selector,
            field_selector=field_selector,
            shard_selector=shard_selector,
        )
        first = next(iter(sources.values()))
        if queue is not None and len(sources) > 1:
            raise InvalidValueError(
                "an informer over several namespaces has the ordered queue; leave out queue"
            )
        self._sources = sources
        self._item = first.item
        self._name = name or first.resource
        self._storage = storage_for(hold, first.item)
        self._meter = InformerMetrics(metrics, name=self._name, resource=first.resource)
        self._detects_mutations = mutation_detector.is_on(detect_mutations)
        self._processor = SharedProcessor(
            self._storage,
            {NAMESPACE: by_namespace},
            tuple(sources),
            name=self._name,
            detects_mutations=self._detects_mutations,
        )
        self._indexer = Indexer(self._processor.store, self._storage, self._processor.gate)
        self._indexer.add_indexers(indexers or {})
        self._lister = Lister(self._indexer, first.resource, lambda: self.has_synced)
        self._schedule = ResyncSchedule(resync)
        self._registrations: dict[Registration, None] = {}
        self._leaving: dict[Registration, None] = {}  # what is removed, and perhaps still being called
        self._count = 0
        self._transform = transform
        self._versions: Mapping[str, str] = {}
        self._on_error: Callable[[Exception], object] | None = None
        self._options = _Options(page_size, watch_list, stall_after, buffer_limit, queue, backoff)
        self._controller: InformerController[T] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._stopped = asyncio.Event()
        self._progress = Progress()
        self._grace = GRACE
        self._began = 0.0

    # What may be asked at any time, from any thread.

    @property
    def name(self) -> str:
        """What logs and metrics call it."""
        return self._name

    @property
    def indexer(self) -> Indexer[T]:
        """The copy: by key, and by what it is indexed by."""
        return self._indexer

    @property
    def lister(self) -> Lister[T]:
        """The copy: by namespace, name and labels."""
        return self._lister

    @property
    def has_synced(self) -> bool:
        """Whether the first full state is in the store."""
        return self._processor.is_synced

    @property
    def last_sync_resource_version(self) -> str:
        """The resource version that the store has reached; empty before it is synced, unless it was seeded."""
        return self._indexer.version

    @property
    def is_stopped(self) -> bool:
        """Whether it has ended. Its copy can still be read, and does not change any more."""
        return self._stopped.is_set()

    @property
    def health(self) -> Health:
        """How it is doing."""
        controller, loop = self._controller, self._loop
        state = "stopped" if self.is_stopped else "" if controller is not None else "new"
        return health_of(
            controller.statuses if controller is not None else [ReflectorStatus()],
            state=state,
            is_synced=self.has_synced,
            version=self.last_sync_resource_version,
            objects=len(self._indexer),
            pending={each.name: each.pending for each in self._processor.listeners()},
            handler_failures={each.name: each.failures for each in list(self._registrations)},
            clock=loop.time if loop is not None else lambda: 0.0,
        )

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
        """Have somebody told of every change.

        What is there already is told first, each object as an add.

        Args:
            handler: Who is told; or, in its place, functions:
            on_add: Is called with each object that comes, or was there.
            on_update: Is called with what an object was, and what it is.
            on_delete: Is called with what an object was last.
            resync: Every how many seconds it is told of every object again; 0 for never, None for as often as the
                informer says.
            name: What logs and metrics call it.

        Raises:
            ClosedError: if the informer has stopped.
            InvalidValueError: if there is nothing to call, or something that cannot be called here.
            InformerStateError: if the informer runs on an event loop, and this is called elsewhere.
        """
        made = handler_of(handler, on_add, on_update, on_delete)
        if self._IN_THREADS and is_async(made):
            raise InvalidValueError(
                "the blocking client calls handlers in threads, where nothing is awaited; give plain functions, "
                "or use masthead.aio",
                value=handler,
            )
        with self._processor.gate:
            self._check_not_stopped("take a handler")
            self._check_loop()
            return self._join(made, resync, name)

    def add_indexers(self, indexers: Mapping[str, IndexFunc[T]]) -> None:
        """Index the objects by more, at any time; those that are there at once.

        An indexer that raises, or returns something else than strings, is logged; the object is not in that index.

        Raises:
            ClosedError: if the informer has stopped.
            IndexConflictError: if there is an index of one of the names; nothing is added then.
            InvalidValueError: if one is no function; nothing is added then.
        """
        self._check_not_stopped("take an indexer")
        self._indexer.add_indexers(indexers)

    def set_transform(self, transform: Transform[T] | None) -> None:
        """Say what is done to each object before it is kept; the last one counts.

        Raises:
            InformerStateError: if the informer has been started, or seeded: what it has then was transformed before.
            InvalidValueError: if it is no plain function.
        """
        self._check_new("set a transform")
        if self._versions:
            raise InformerStateError(f"{self._name}: set the transform before the informer is seeded")
        if transform is not None:
            check_plain("a transform", transform)
        self._transform = transform

    def set_watch_error_handler(self, handler: Callable[[Exception], object] | None) -> None:
        """Say who is told of each error, of lists and watches alike, in place of the log; the last one counts.

        Raises:
            InformerStateError: if the informer has been started.
            InvalidValueError: if it is no plain function.
        """
        self._check_new("set a handler of errors")
        if handler is not None:
            check_plain("a handler of errors", handler)
        self._on_error = handler

    async def seed(self, path: str | PathLike[str]) -> int:
        """Begin with what a snapshot has, so that handlers hear only of what has changed since.

        The watch goes on from the snapshot's version, if the server still knows it; otherwise everything is read anew
        and compared. A handler that joins after the start hears of every object, as always.

        Args:
            path: A file that `save` wrote.

        Returns:
            How many objects there are.

        Raises:
            InformerStateError: if the informer has been started.
            SnapshotError: if there is no such file, or it is broken or of something else. Nothing is changed then:
                the start will be a cold one.
        """
        self._check_new("be seeded")
        # In a thread, as below: a large snapshot takes seconds.
        versions = await asyncio.to_thread(lambda: persistence.load(path, *self._kept()))
        self._check_new("be seeded")
        self._versions = versions
        return len(self._indexer)

    async def save(self, path: str | PathLike[str]) -> int:
        """Write all that is there to a file, for `seed`; compressed if its name ends in ``.zst``.

        Only its owner can read the file: it holds whatever the objects do, Secrets included.

        Returns:
            How many objects there are.

        Raises:
            InformerStateError: if the informer has not synced: half a state is none.
            SnapshotError: if it cannot be written.
        """
        if not self.has_synced:
            raise InformerStateError(f"{self._name}: there is no full state to save yet; wait_synced() first")
        controller = self._controller
        statuses = controller.statuses if controller is not None else ()
        return await asyncio.to_thread(lambda: persistence.save(path, *self._kept(), statuses))

    def check_mutations(self) -> None:
        """Look whether somebody changed an object, which all share.

        Raises:
            MutationError: naming the objects.
        """
        mutation_detector.check(self._processor.objects())

    # Inside.

    def _join(self, handler: EventHandler[T], resync: float | None, name: str) -> Registration:
        self._count += 1
        name = name or f"{self._name}-{self._count}"
        listener = ProcessorListener(
            handler,
            self._storage,
            name=name,
            limit=self._options.buffer_limit,
            meter=self._meter.handler(name),
        )
        dispatcher = ThreadDispatcher(listener) if self._IN_THREADS else TaskDispatcher(listener)
        made = Registration(listener, dispatcher, self._leave, self._is_within, self._progress.made)
        loop = self._loop
        self._schedule.join(made, resync, loop.time() if loop is not None else 0.0)
        if self._schedule.adjustment:
            _log.warning("handler %s: %s", name, self._schedule.adjustment)
        self._registrations[made] = None
        if loop is None:
            self._processor.join_before_start(made, listener)
        else:
            self._processor.join(made, listener)
            made.start(loop)
        return made

    def _is_within(self) -> bool:
        """Whether one of the handlers asks."""
        return any(each.is_own for each in [*list(self._registrations), *list(self._leaving)])

    def _leave(self, registration: Registration) -> None:
        with self._processor.gate:
            self._registrations.pop(registration, None)
            self._leaving = {each: None for each in (*self._leaving, registration) if each.is_alive}
            self._schedule.leave(registration)
            self._processor.leave(registration)

    def _kept(
        self,
    ) -> tuple[SharedProcessor[T], ObjectStorage[T], Mapping[str, Source[T]], Transform[T] | None]:
        return self._processor, self._storage, self._sources, self._transform

    def _check_new(self, what: str) -> None:
        if self._loop is not None or self._is_ending:
            state = "stopped" if self._is_ending else "started"
            raise InformerStateError(
                f"informer {self._name} cannot {what} any more: it has been {state}; make a new one"
            )

    def _check_started(self) -> None:
        if self._task is None:
            raise InformerStateError(
                f"informer {self._name} has not been started, so that there is nothing to wait for; start() it first"
            )

    def _check_loop(self) -> None:
        """Tasks can be begun only on their own loop; threads anywhere."""
        if self._loop is not None and not self._IN_THREADS and _running_loop() is not self._loop:
            raise InformerStateError(
                f"informer {self._name} runs on another event loop; add handlers there, or before the start"
            )

    def _check_not_stopped(self, what: str) -> None:
        if self._is_ending:
            state = "has stopped" if self.is_stopped else "is being stopped"
            raise ClosedError(f"informer {self._name} cannot {what} any more: it {state}; make a new one")

    @property
    def _is_ending(self) -> bool:
        return self._stopping.is_set() or self.is_stopped


@dataclass(frozen=True, slots=True)
class _Options:
    """What is only needed at the start."""

    page_size: int
    watch_list: bool
    stall_after: float | None
    buffer_limit: int
    queue: Callable[[KeyListerGetter[Stored]], Queue[Stored]] | None
    backoff: Callable[[], Backoff]


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop that this is called on, if on any."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
