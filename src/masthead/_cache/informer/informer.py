"""Shared informers: one copy of a collection, for any number of handlers and readers.

The contract, to which the tests hold every line of this room:

 1. The store holds a state that the server had. A relist replaces it in one step; then handlers hear deletes, then
    updates and adds.
 2. Per object, a handler hears changes in the server's order. Its calls never overlap. A slow or failing handler
    delays no other.
 3. The store is updated before any handler hears of it.
 4. A handler that joins late hears every object as an initial add, then every later change: no gap, no duplicate.
 5. `SharedInformer.has_synced`: the first full state is in the store. `Registration.has_synced`: the handler has
    returned from every initial add, even if one raised.
 6. No event is lost or invented across a dropped connection, half a line, a silent stall, 410, 429, 5xx, a restart of
    the server with or without its data, or a page that expired in the middle of a list.
 7. A stall is noticed: no stream stays silent past its deadline. `SharedInformer.health` tells the rest.
 8. Watch-list first, a list where the server refuses it or does not answer it, and that is remembered.
 9. An object that did not change is not announced again by a relist. Resyncs come at their own times.
10. `SharedInformer.wait_for` a version: read your own writes.
11. What waits for a handler is bounded in memory (`masthead._sansio.buffer`), and can be read.
12. Stopping stops: no thread, task, socket or reference is left.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, TypeVar

from masthead._cache.callables import check_plain
from masthead._cache.informer.controller import InformerController
from masthead._cache.informer.core import GRACE, Arranged
from masthead._cache.informer.mutation_detector import log_mutations
from masthead._cache.informer.registration import Registration
from masthead._cache.reflector.sources import log_label
from masthead._cache.store.indexer import count_of
from masthead._meta.object import Object
from masthead._meta.unstructured import Unstructured
from masthead._meta.v1 import PartialObjectMetadata
from masthead._module import set_module
from masthead._sansio.versions import is_at_least
from masthead.errors import ClosedError, DeadlineError, InvalidValueError, MutationError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
    from typing import Self

    from masthead._cache.store.indexer import Indexer
    from masthead._cache.store.storage import Stored
    from masthead._sansio.changes import Change


__all__ = ["Registration", "SharedInformer", "ThreadedInformer"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.cache")

_GRACE_IF_CANCELLED: Final = 1.0
_ANY_KIND: Final = {Unstructured.GVK.group_kind, PartialObjectMetadata.GVK.group_kind}
"""What objects are said to be that may be of any kind."""
_BOOKMARKS: Final = (
    "A write of another kind or namespace, or one that its selectors do not match, is passed only with the next "
    "bookmark, about a minute later"
)


@set_module("masthead.aio")
class SharedInformer(Arranged[T]):
    """Keeps a copy of a collection, and tells handlers of every change. The module's text is its contract.

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

    async def run(self) -> None:
        """Keep the copy until `stop` is called, the task is cancelled, or the client is closed.

        Raises:
            InformerStateError: if it was started before, or stopped: an informer runs once.
        """
        self.start_nowait()
        try:
            await self._ended()
        except asyncio.CancelledError:
            self.stop_nowait(_GRACE_IF_CANCELLED)
            await self._ended()
            raise

    async def start(self) -> None:
        """Begin to keep the copy, and return at once.

        Raises:
            InformerStateError: if it was started before, or stopped: an informer runs once.
        """
        self.start_nowait()

    def start_nowait(self) -> None:
        """Begin to keep the copy, and wait for nothing; on the loop that it shall belong to.

        Raises:
            InformerStateError: if it was started before, or stopped: an informer runs once.
        """
        self.check_startable()
        self._begin()
        task = self._task = self._spawn(self._live())
        # Of the task, not in it: one that is cancelled before its first step never gets to its end.
        task.add_done_callback(self._finish)

    def check_startable(self) -> None:
        """See whether it could be started.

        Raises:
            InformerStateError: if it was started before, or stopped.
        """
        self._check_new("be started")

    async def stop(self, *, grace: float = GRACE) -> None:
        """End it, and wait until nothing of it is left. Stopping twice does nothing.

        What handlers have not heard is dropped. A handler may stop its informer, and is not waited for then.

        Args:
            grace: For how many seconds calls of handlers that are under way may go on.

        Raises:
            MutationError: if it looks for changes of shared objects, and there are some.
            Exception: if it has ended by itself for a reason that nobody foresaw; the log has it, too.
        """
        self.stop_nowait(grace)
        if self.is_called_from_handler:
            return
        await self._ended()
        self.check_at_end()

    def stop_nowait(self, grace: float = GRACE) -> None:
        """End it, and wait for nothing; on its own loop, or before the start."""
        self._grace = grace
        self._stopping.set()
        self._detach_handlers()
        if self._task is None:
            self._finish()

    def check_at_end(self) -> None:
        """Look whether somebody changed an object, if it looks for that at all.

        Raises:
            MutationError: naming the objects.
        """
        if self._detects_mutations:
            self.check_mutations()

    @property
    def is_called_from_handler(self) -> bool:
        """Whether one of its handlers asks, which cannot wait for its end."""
        return self._is_within()

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
            DeadlineError: if that takes longer than `timeout` seconds; says what went wrong last.
            ClosedError: if the informer has stopped.
            InformerStateError: if it has not been started.
        """
        if not handlers:
            await self._reach(lambda: self.has_synced, timeout, "has not synced")
            return True

        def is_reached() -> bool:
            return self.has_synced and all(each.has_synced for each in list(self._registrations))

        await self._reach(is_reached, timeout, "and its handlers have not synced")
        return True

    async def wait_for(self, version: str | int | Object, timeout: float | None = None) -> None:
        """Wait until the copy is at least as new as a version: read your own writes.

        ::

            made = await client.core_v1.pods("default").create(pod)
            await informer.wait_for(made)

        Args:
            version: An object that was written, or the resource version of one, of this kind.
            timeout: For how many seconds.

        Raises:
            DeadlineError: if that takes longer than `timeout` seconds; says where it is, and what went wrong last.
            ClosedError: if the informer has stopped.
            InformerStateError: if it has not been started.
            InvalidValueError: if it is no version, or an object of another kind.
        """
        wanted, scope = _wanted(version, self._item, self._sources.keys())
        store = self._processor.store

        def reached() -> str:
            return store.version if scope is None else store.version_of(scope)

        def is_reached() -> bool:
            return self.has_synced and bool(reached()) and is_at_least(reached(), wanted)

        def where() -> str:
            return f"; it is at {reached()}. {_BOOKMARKS}" if self.has_synced else "; it has not synced"

        await self._reach(is_reached, timeout, f"has not reached version {wanted}", where)

    async def wait_until(self, condition: Callable[[Indexer[T]], bool], timeout: float | None = None) -> None:
        """Wait until something is true of the copy. It is looked at once it has synced, and then after each change.

        ::

            await client.core_v1.pods("default").delete("web")
            await informer.wait_until(lambda copy: copy.get_by_key("default/web") is None)

        Args:
            condition: Is called with `indexer`, on the event loop: it must neither block nor, with the blocking client,
                call that.
            timeout: For how many seconds.

        Raises:
            DeadlineError: if that takes longer than `timeout` seconds; says what went wrong last.
            ClosedError: if the informer has stopped.
            InformerStateError: if it has not been started.
            InvalidValueError: if the condition is no plain function.
            Exception: whatever the condition raises.
        """
        check_plain("a condition", condition)
        indexer = self._indexer
        await self._reach(
            lambda: self.has_synced and bool(condition(indexer)), timeout, "is not as it was waited for"
        )

    def __repr__(self) -> str:
        synced = "synced" if self.has_synced else "not synced"
        return f"<SharedInformer {self._name}: {self.health.state}, {synced}, {count_of(self._indexer)}>"

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
                    self._check_not_stopped("be waited for")
                    self._check_started()
                    await self._progress.next()
        except TimeoutError:
            last = self.health.last_error
            after = f"; the last error was {last}" if last else ""
            raise DeadlineError(
                f"informer {self._name} {problem} within {timeout:g} s{after}{where()}"
            ) from None

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        options = self._options
        with self._processor.gate:  # or a handler that another thread adds would be started here, and there
            controller = InformerController(
                self._sources,
                self._metered if self._meter.is_on else self._processor.process,
                queue=options.queue(self._processor.store) if options.queue is not None else None,
                hold=self._storage,
                transform=self._transform,
                known=self._processor,
                versions=self._versions,
                resync=self._schedule.check_period,
                is_due=self._is_due,
                on_error=self._told_error if self._on_error is not None else None,
                page_size=options.page_size,
                watch_list=options.watch_list,
                stall_after=options.stall_after,
                backoff=options.backoff,
                on_pumped=self._after_pump,
                meter=self._meter,
                name=self._name,
            )
            # Whatever somebody's queue or backoff raises, nothing has begun until here.
            self._loop, self._controller = loop, controller
            self._began = loop.time()
            self._schedule.start(self._began)
            for each in self._registrations:
                each.start(loop)

    def _spawn(self, coroutine: Coroutine[None, None, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(coroutine, name=f"masthead informer {self._name}")

    async def _live(self) -> None:
        assert self._controller is not None
        pump = asyncio.get_running_loop().create_task(self._controller.run(), name=f"masthead {self._name}")
        stopping = asyncio.get_running_loop().create_task(self._stopping.wait())
        try:
            await asyncio.wait({pump, stopping}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._grace = min(self._grace, _GRACE_IF_CANCELLED)
            raise
        finally:
            self._stopping.set()
            for task in (pump, stopping):
                task.cancel()
            await asyncio.wait({pump, stopping})
            await self._end_handlers()
        if not pump.cancelled() and (error := pump.exception()) is not None:
            if not isinstance(error, ClosedError):
                raise error
            _log.warning("informer %s ends: %s", self._name, error)

    async def _end_handlers(self) -> None:
        self._detach_handlers()
        async with asyncio.TaskGroup() as group:
            for each in [*self._registrations, *self._leaving]:
                group.create_task(each.end(self._grace))

    def _detach_handlers(self) -> None:
        """Tell handlers nothing more from here on."""
        with self._processor.gate:
            for each in self._registrations:
                self._processor.leave(each)

    def _finish(self, task: asyncio.Task[None] | None = None) -> None:
        """It is over, however that came: nobody is told anything more, and whoever waits learns of it."""
        if task is not None and not task.cancelled() and (error := task.exception()) is not None:
            _log.error("informer %s ends, which is a defect of it", self._name, exc_info=error)
        self._detach_handlers()
        self._leaving = {}
        self._stopped.set()
        for each in self._registrations:
            each.settle()
        self._progress.made()

    async def _ended(self) -> None:
        """Wait for its end, if it was ever begun.

        Raises:
            Exception: if it has ended for a reason that nobody foresaw.
        """
        if self._task is None:
            return
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.result()

    def _metered(self, changes: Sequence[Change[Stored]], is_initial: bool) -> Iterator[None] | None:
        """Process changes, and note how long that takes."""
        assert self._loop is not None
        began = self._loop.time()
        steps = self._processor.process(changes, is_initial)
        if steps is not None:
            return self._metered_steps(steps, began)
        self._meter.processed(self._loop.time() - began, self._indexer.version)
        return None

    def _metered_steps(self, steps: Iterator[None], began: float) -> Iterator[None]:
        assert self._loop is not None
        yield from steps
        self._meter.processed(self._loop.time() - began, self._indexer.version)

    def _after_pump(self) -> None:
        controller, processor = self._controller, self._processor
        if not processor.is_synced and controller is not None and controller.has_synced:
            processor.mark_synced()
            self._log_synced()
        self._progress.made()

    def _log_synced(self) -> None:
        assert self._loop is not None
        label = log_label(next(iter(self._sources.values())), self._name)
        took = self._loop.time() - self._began
        _log.info("informer %s has synced: %s in %.2f s", label, count_of(self._indexer), took)

    def _is_due(self, now: float) -> bool:
        with self._processor.gate:
            self._processor.due = self._schedule.due(now)
        return bool(self._processor.due)

    def _told_error(self, error: Exception, after: float) -> None:
        del after
        if self._on_error is not None:
            self._on_error(error)


class ThreadedInformer(SharedInformer[T]):
    """An informer whose handlers are each called in a thread of their own; what the blocking façade stands on."""

    _IN_THREADS = True


def _wanted(
    version: str | int | Object, item: type[Object], scopes: Collection[str]
) -> tuple[str, str | None]:
    """The version to wait for, and the scope that it is to be reached in; None for all.

    Raises:
        InvalidValueError: if it is no version, or an object of another kind.
    """
    if isinstance(version, Object):
        given, own = version.gvk.group_kind, item.GVK.group_kind
        if given != own and not {given, own} & _ANY_KIND:
            raise InvalidValueError(
                f"this informer keeps objects of kind {own.kind}, and is never told of {given.kind} {version.key!r}; wait "
                "with an informer of that kind",
                value=version,
            )
        namespace = version.metadata.namespace
        return _number(version.metadata.resource_version), namespace if namespace in scopes else None
    return _number(version), None


def _number(version: object) -> str:
    """A resource version as text.

    Raises:
        InvalidValueError: if it is none.
    """
    given = str(version) if isinstance(version, int) and not isinstance(version, bool) else version
    if not isinstance(given, str) or not (given.isascii() and given.isdigit()):
        raise InvalidValueError(
            f"{version!r} is no resource version; wait for an object that a server has answered with, or for its "
            "resource version, which is a number",
            value=version,
        )
    return given
