"""The pump: from sources through a queue to whoever processes what comes out.

::

    source ──> Reflector ──┐
    source ──> Reflector ──┴─> queue ──pop──> process(changes, is_initial)
                                 ^
                     resync ─────┘ every so often

An informer is a controller whose process function keeps a store and tells handlers. Anybody may build another.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead._cache.reflector.foreign import as_source
from masthead._cache.reflector.ingest import Ingest
from masthead._cache.reflector.metrics import DISABLED
from masthead._cache.reflector.reflector import Reflector
from masthead._cache.store.storage import storage_for
from masthead._meta.object import Object
from masthead._module import set_module
from masthead._sansio.backoff import Backoff
from masthead._sansio.changes import ChangeQueue
from masthead._sansio.versions import oldest
from masthead.errors import ClosedError, InformerStateError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from masthead._cache.reflector.foreign import Source
    from masthead._cache.reflector.metrics import InformerMetrics
    from masthead._cache.reflector.server_identity import KnownObjects
    from masthead._cache.reflector.status import ReflectorStatus
    from masthead._cache.store.storage import Hold, ObjectStorage, Stored
    from masthead._cache.store.transforms import Transform
    from masthead._client.listwatch import ListerWatcher
    from masthead._sansio.changes import Change, Process, Queue

__all__ = ["InformerController"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.cache")

_POPS: Final = 250
"""How often the queue is popped before others get their turn."""


@set_module("masthead.cache")
class InformerController(Generic[T]):
    """Mirrors sources into a queue, and pops it.

    One that runs needs nobody: failures are told to `on_error` and overcome. An exception of the process function is
    logged, and the changes that it was given are gone.

    Args:
        sources: What to mirror: one source; or several, each under the name of its scope.
        process: Is called with changes in their order, and whether they belong to the initial state. What the changes
            carry is what `hold` says: the objects themselves, unless it is ``compact``. It may return an iterator: its
            steps are the rest of the work, with a turn for others between them, before any other change is processed.
        queue: Where changes wait; None for the ordered one.
        hold: How objects are stored.
        transform: What is done to each object first.
        known: What was processed so far, if it is kept: with it, a server that comes back is recognised, or not.
        versions: The version of what is known already, by scope.
        resync: Every how many seconds to tell everything again; 0 for never.
        is_due: Is asked at each of these times whether to do so.
        on_error: Is told of each error, and the seconds until the next attempt; None to log it.
        page_size: How many objects of a list to ask for at a time; 0 for what suits the server.
        watch_list: Whether to try watches that begin with what there is.
        stall_after: Seconds without a byte after which a watch counts as dead; None for the client's own.
        backoff: Makes what says how long to wait after failures; one for each source.
        on_pumped: Is called when the queue has been emptied.
        meter: What is counted.
        name: What logs call it; the resource by default.

    Raises:
        InvalidValueError: if there are no sources, or objects cannot be stored that way.
    """

    def __init__(
        self,
        sources: Source[T] | ListerWatcher[T] | Mapping[str, Source[T]] | Mapping[str, ListerWatcher[T]],
        process: Process[Stored],
        *,
        queue: Queue[Stored] | None = None,
        hold: Hold | ObjectStorage[T] = "lazy",
        transform: Transform[T] | None = None,
        known: KnownObjects | None = None,
        versions: Mapping[str, str] | None = None,
        resync: float = 0.0,
        is_due: Callable[[float], bool] = lambda _: True,
        on_error: Callable[[Exception, float], object] | None = None,
        page_size: int = 0,
        watch_list: bool = True,
        stall_after: float | None = None,
        backoff: Callable[[], Backoff] = Backoff,
        on_pumped: Callable[[], object] = lambda: None,
        meter: InformerMetrics = DISABLED,
        name: str = "",
    ) -> None:
        given = sources if isinstance(sources, Mapping) else {"": sources}
        scopes: dict[str, Source[T]] = {scope: as_source(each) for scope, each in given.items()}
        self._queue: Queue[Stored] = queue if queue is not None else ChangeQueue(scopes=tuple(scopes))
        self._process = process
        self._resync = resync
        self._is_due = is_due
        self._on_pumped = on_pumped
        self._has_run = False
        self._pumping = asyncio.Lock()
        self._steps: Iterator[object] = iter(())
        self._name = name or next(iter(scopes.values())).resource
        item = next(iter(scopes.values())).item
        storage = storage_for(hold, item) if isinstance(hold, str) else hold
        ingest = Ingest(storage, transform)
        self._reflectors = [
            Reflector(
                source,
                self._queue,
                ingest,
                scope=scope,
                known=known,
                version=(versions or {}).get(scope, ""),
                on_change=self.pump,
                on_error=on_error,
                page_size=page_size,
                watch_list=watch_list,
                stall_after=stall_after,
                backoff=backoff(),
                meter=meter,
                name=name,
            )
            for scope, source in scopes.items()
        ]

    @property
    def has_synced(self) -> bool:
        """Whether the first full state has been processed."""
        return self._queue.has_synced

    @property
    def last_sync_resource_version(self) -> str:
        """The resource version up to which everything is in the queue, or through it."""
        return oldest([each.version for each in self._reflectors])

    @property
    def statuses(self) -> Sequence[ReflectorStatus]:
        """How the reflectors are doing."""
        return [each.status for each in self._reflectors]

    async def run(self) -> None:
        """Mirror until cancelled.

        Raises:
            ClosedError: if the client of a source is closed: there is nothing left to do then.
            InformerStateError: if it has run before.
        """
        if self._has_run:
            raise InformerStateError("a controller runs once; make another")
        self._has_run = True
        try:
            async with asyncio.TaskGroup() as group:
                for each in self._reflectors:
                    group.create_task(each.run())
                if self._resync:
                    group.create_task(self._resync_loop())
        except (
            BaseExceptionGroup
        ) as errors:  # not `except*`: before Python 3.11.4 it would wrap what is raised here
            closed, others = errors.split(ClosedError)
            if closed is None or others is not None:
                raise
            raise _first(closed) from None
        finally:
            self._queue.close()

    async def pump(self) -> None:
        """Process all that is in the queue; one caller at a time, so that changes keep their order."""
        async with self._pumping:
            popped = 0
            while len(self._queue) and await self._pop():
                popped += 1
                if popped % _POPS == 0:
                    await asyncio.sleep(0)
            self._on_pumped()

    async def _pop(self) -> bool:
        """Process what comes next in the queue; returns whether it gives more for now."""
        waiting = len(self._queue)
        self._steps = iter(())
        try:
            is_popped = self._queue.pop(self._begin)
            for _ in self._steps:
                await asyncio.sleep(0)
        # Anybody's code; what it has not done is lost, but nothing else is.
        except Exception:  # noqa: BLE001
            _log.exception(
                "%s: the process function failed on some changes, which are lost to it", self._name
            )
            return len(self._queue) < waiting  # or a queue that cannot be popped would keep us for ever
        return is_popped

    def _begin(self, changes: Sequence[Change[Stored]], is_initial: bool) -> None:
        steps = self._process(changes, is_initial)
        if isinstance(steps, Iterator):
            self._steps = steps

    async def _resync_loop(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(self._resync)
            if self._queue.has_synced and self._is_due(clock()):
                self._queue.resync()
                await self.pump()


def _first(group: BaseExceptionGroup[ClosedError]) -> ClosedError:
    """One of the errors of a group."""
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, ClosedError)
    return found
