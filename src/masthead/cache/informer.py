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
11. What waits for a handler is bounded in memory (`masthead.sansio.buffer`), and can be read.
12. Stopping stops: no thread, task, socket or reference is left.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, TypeVar, cast

from masthead.cache.arranged import GRACE, Arranged
from masthead.cache.controller import Controller
from masthead.cache.registration import Registration
from masthead.errors import ClosedError, DeadlineError, InformerStateError, InvalidValueError
from masthead.meta.object import Object
from masthead.sansio.versions import is_at_least

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Sequence
    from typing import Self

    from masthead.cache.holding import Held
    from masthead.sansio.changes import Change


__all__ = ["Registration", "SharedInformer", "ThreadedInformer"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.cache")

_GRACE_IF_CANCELLED: Final = 1.0


class SharedInformer(Arranged[T]):
    """Keeps a copy of a collection, and tells handlers of every change. The module's text is its contract.

    ::

        informer = SharedInformer(client.core_v1.pods(), label_selector="app=web")
        informer.add_indexers({"node": lambda pod: [pod.spec.node_name]})
        informer.add_event_handler(on_add=..., on_update=..., on_delete=...)
        async with informer:
            await informer.wait_synced()
            informer.lister.namespace("default").get("web")

    ::

        new ──start, run──> running ──stop, cancelled, client closed──> stopped; never again

    An informer belongs to the event loop that it is started in; what reads it may be called from any thread.
    """

    async def run(self) -> None:
        """Keep the copy until `stop` is called, the task is cancelled, or the client is closed.

        Raises:
            InformerStateError: if it was started before: an informer runs once.
        """
        self._check_new("be started")
        try:
            self._begin()
            await self._live()
        finally:
            self._note_end()

    async def start(self) -> None:
        """Begin to keep the copy, and return at once.

        Raises:
            InformerStateError: if it was started before: an informer runs once.
        """
        self.begin_soon()
        await asyncio.sleep(0)
        if self._task is not None and self._task.done():
            await self._task

    def begin_soon(self) -> None:
        """Begin to keep the copy, and wait for nothing; on the loop that it shall belong to.

        Raises:
            InformerStateError: if it was started before: an informer runs once.
        """
        if self._task is not None:
            raise InformerStateError(f"informer {self._name} has been started before; make a new one")
        self._check_new("be started")
        self._begin()
        task = self._task = self._spawn(self._live())
        # Of the task, not in it: one that is cancelled before its first step never gets to its end.
        task.add_done_callback(self._after_task)

    async def stop(self, *, grace: float = GRACE) -> None:
        """End it, and wait until nothing of it is left. Stopping twice does nothing.

        What handlers have not heard is dropped. A handler may stop its informer, and is not waited for then.

        Args:
            grace: For how many seconds calls of handlers that are under way may go on.

        Raises:
            MutationError: if it looks for changes of shared objects, and there are some.
            Exception: if it has ended by itself for a reason that nobody foresaw; the log has it, too.
        """
        self.end_soon(grace)
        if self.is_called_here:
            return
        await self._stopped.wait()
        if self._task is not None:
            await asyncio.wait({self._task})
            if not self._task.cancelled():
                self._task.result()
        if self._detects_mutations:
            self.check_mutations()

    def end_soon(self, grace: float = GRACE) -> None:
        """End it, and wait for nothing; on its own loop, or before the start."""
        self._grace = grace
        self._stopping.set()
        self._hush()
        if self._loop is None and self._task is None:
            self._stopped.set()
            self._progress.made()

    @property
    def is_called_here(self) -> bool:
        """Whether one of its handlers asks, which cannot wait for its end."""
        return any(each.is_called_here for each in list(self._registrations))

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def wait_synced(self, timeout: float | None = None, *, handlers: bool = False) -> None:
        """Wait until the first full state is in the store.

        Args:
            timeout: For how many seconds.
            handlers: Wait also until every handler has returned from every initial add.

        Raises:
            DeadlineError: if that takes longer than `timeout` seconds; says what went wrong last.
            ClosedError: if the informer has stopped.
            InformerStateError: if it has not been started.
        """
        if not handlers:
            await self._reach(lambda: self.has_synced, timeout, "has not synced")
            return

        def is_reached() -> bool:
            return self.has_synced and all(each.has_synced for each in list(self._registrations))

        await self._reach(is_reached, timeout, "and its handlers have not synced")

    async def wait_for(self, version: str | Object, timeout: float | None = None) -> None:
        """Wait until the copy is at least as new as a version: read your own writes.

        ::

            made = await client.core_v1.pods("default").create(pod)
            await informer.wait_for(made)

        Args:
            version: An object that was written, or the resource version of one, of this kind.
            timeout: For how many seconds.

        Raises:
            DeadlineError: if that takes longer than `timeout` seconds; says what went wrong last.
            ClosedError: if the informer has stopped.
            InformerStateError: if it has not been started.
            InvalidValueError: if it is no version.
        """
        wanted, scope = _wanted(version, self._sources.keys())
        store = self._processor.store

        def is_reached() -> bool:
            reached = store.version if scope is None else store.version_of(scope)
            return self.has_synced and bool(reached) and is_at_least(reached, wanted)

        await self._reach(is_reached, timeout, f"has not reached version {wanted}")

    async def _reach(self, is_reached: Callable[[], bool], timeout: float | None, problem: str) -> None:
        try:
            async with asyncio.timeout(timeout):
                while not is_reached():
                    self._check_not_stopped("be waited for")
                    self._check_started()
                    await self._progress.next()
        except TimeoutError:
            last = self.health.last_error
            after = f"; the last error was {last}" if last else ""
            problem = f"informer {self._name} {problem} within {timeout:g} s{after}"
            raise DeadlineError(problem) from None

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        options = self._options
        with self._processor.gate:  # or a handler that another thread adds would be started here, and there
            controller = Controller(
                self._sources,
                self._metered if self._meter.is_on else self._processor.process,
                queue=options.queue(self._processor.store) if options.queue is not None else None,
                hold=self._holding,
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
            )
            # Whatever somebody's queue or backoff raises, nothing has begun until here.
            self._loop, self._controller = loop, controller
            self._schedule.start(loop.time())
            for each in self._registrations:
                each.start(loop)

    def _after_task(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("informer %s ends, which is a fault in it", self._name, exc_info=error)
        self._hush()
        self._note_end()

    def _hush(self) -> None:
        """Tell handlers nothing more from here on."""
        with self._processor.gate:
            for each in self._registrations:
                self._processor.leave(each)

    def _note_end(self) -> None:
        self._stopped.set()
        self._progress.made()

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
            for task in (pump, stopping):
                task.cancel()
            await asyncio.wait({pump, stopping})
            await self._end_handlers()
        if not pump.cancelled() and (error := pump.exception()) is not None:
            if not isinstance(error, ClosedError):
                _log.error("informer %s ends, which is a defect of it", self._name, exc_info=error)
                raise error
            _log.warning("informer %s ends: %s", self._name, error)

    async def _end_handlers(self) -> None:
        self._hush()
        async with asyncio.TaskGroup() as group:
            for each in list(self._registrations):
                group.create_task(each.end(self._grace))

    def _metered(self, changes: Sequence[Change[Held]], is_initial: bool) -> None:
        """Process changes, and note how long that takes."""
        assert self._loop is not None
        began = self._loop.time()
        self._processor.process(changes, is_initial)
        self._meter.processed(self._loop.time() - began, self._indexer.version)

    def _after_pump(self) -> None:
        controller, processor = self._controller, self._processor
        if not processor.is_synced and controller is not None and controller.has_synced:
            processor.mark_synced()
        self._progress.made()

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


def _wanted(version: str | Object, scopes: Collection[str]) -> tuple[str, str | None]:
    """The version to wait for, and the scope that it is to be reached in; None for all.

    Raises:
        InvalidValueError: if it is no version.
    """
    if isinstance(version, Object):
        namespace = version.metadata.namespace
        return _wanted(version.metadata.resource_version, scopes)[
            0
        ], namespace if namespace in scopes else None
    if not isinstance(cast("object", version), str) or not version:
        raise InvalidValueError(
            "wait for an object that a server has answered with, or for its resource version", value=version
        )
    return version, None
