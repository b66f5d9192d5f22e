"""The reflector: lists and watches a resource, and emits its changes.

`masthead._sansio.listwatch` decides; the reflector performs its steps, and emits their results to a sink.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead._cache.options import InformerOptions
from masthead._cache.reflector.event_intake import EventIntake
from masthead._cache.reflector.failure_reporter import FailureReporter
from masthead._cache.reflector.foreign import as_source
from masthead._cache.reflector.interrupt import WaitInterruptedError
from masthead._cache.reflector.metrics import DISABLED
from masthead._cache.reflector.repeated_request import first_answer
from masthead._cache.reflector.server_identity import is_same_server
from masthead._cache.reflector.shard_selection import ShardSelection
from masthead._cache.reflector.sources import log_label
from masthead._cache.reflector.status import ReflectorStatus
from masthead._cache.reflector.undecodable import UndecodableObjects
from masthead._cache.reflector.watch_list_fallback import WatchListGuard, compare_with_list
from masthead._client.listwatch import ListWatch, ListWatchOptions, failure_of
from masthead._meta.object import Object
from masthead._module import set_module
from masthead._sansio.changes import ReplacedAll, Reselected
from masthead._sansio.listwatch import ListWatchMachine
from masthead._sansio.listwatch_steps import REOPEN_INTERVAL, Fail, List, Phase, Probe, Stream, VerifyServer
from masthead._sansio.randomness import random
from masthead.errors import ClosedError, DeadlineError, ProtocolError, StatusError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Sequence

    from masthead._cache.reflector.foreign import Source
    from masthead._cache.reflector.ingest import Ingest
    from masthead._cache.reflector.metrics import InformerMetrics
    from masthead._cache.reflector.server_identity import KnownObjects
    from masthead._cache.reflector.sink import ChangeSink
    from masthead._cache.reflector.state_builder import StateBuilder
    from masthead._cache.store.storage import Stored
    from masthead._client.listwatch import ListerWatcher
    from masthead._client.watch_event import WatchEvent
    from masthead._sansio.listwatch_steps import Step

__all__ = ["Reflector"]

T = TypeVar("T", bound=Object)
V = TypeVar("V")

_log: Final = logging.getLogger("masthead.cache")

_BATCH: Final = 250
"""Objects processed before other tasks of the event loop run."""
_TOO_LONG: Final = frozenset({414, 431})
"""Codes of a server or proxy that finds the URL, or the headers, too long."""


@set_module("masthead.aio.cache")
class Reflector(Generic[T]):
    """Lists and watches a resource, and emits its changes to a sink.

    ::

        source ──pages, events──> Reflector ──changes──> sink

    It never gives up. Every error is passed to `on_error` and recorded in `status`, and the request is retried.

    Args:
        source: The resource to list and watch.
        sink: Receives the changes.
        ingest: Selects, transforms and packs objects.
        options: Page size, watch-list, stall timeout, backoff and name; the reflector ignores the others.
        scope: The source's name in the changes; empty for a single source.
        known: The store, if there is one; with it, the reflector verifies a server that comes back.
        version: The resource version of a store that was seeded; empty for none.
        on_error: Called with each error, and the seconds until the next attempt; None to log it.
        metrics: Counts lists, watches and versions.
    """

    def __init__(
        self,
        source: Source[T] | ListerWatcher[T],
        sink: ChangeSink[Stored],
        ingest: Ingest[T],
        options: InformerOptions[T] | None = None,
        *,
        scope: str = "",
        known: KnownObjects | None = None,
        version: str = "",
        on_error: Callable[[Exception, float], object] | None = None,
        metrics: InformerMetrics = DISABLED,
    ) -> None:
        options = options if options is not None else InformerOptions()
        self._source = source = as_source(source)
        self._sink = sink
        self._ingest = ingest
        self._scope = scope
        self._known = known
        self._silence_limit = options.stall_after or source.silence_limit
        self._machine = ListWatchMachine(
            random=random,
            version=version,
            initial_events=options.watch_list and source.supports_initial_events,
            page_size=options.page_size,
            backoff=options.backoff(),
            silence_limit=self._silence_limit,
        )
        self._is_seeded = bool(version)
        self._has_followed = False
        self._is_refused = False
        self._selection = ShardSelection()
        self._interrupt = self._selection.interrupt
        self._metrics = metrics
        self._events = 0
        self._label = label = log_label(source, options.name, scope)
        self.status: ReflectorStatus = ReflectorStatus()
        self._reporter = FailureReporter(label, self.status, on_error)
        self._undecodable = UndecodableObjects(self.status, label, known.has if known is not None else None)
        self._intake = EventIntake(
            self._machine,
            ingest,
            self._undecodable,
            known,
            self._interrupt,
            scope=scope,
            label=label,
            records_versions=source.checks_watch_lists,
        )
        self._guard = WatchListGuard(self._machine, self._intake)
        self._clock = self._intake.clock

    @property
    def version(self) -> str:
        """The resource version up to which everything has been emitted."""
        return self._machine.version

    def select_shards(self, selector: str | None, *, is_narrower: bool) -> asyncio.Future[None]:
        """Ask the server for other shards.

        Args:
            selector: The shard selector; None for all.
            is_narrower: Whether all selected objects were selected before, so that no new list is needed.

        Returns:
            Done when all selected objects have been emitted.
        """
        if isinstance(self._source, ListWatch):
            self._source = self._source.with_shards(selector)
        return self._selection.change(is_narrower=is_narrower)

    def reopen(self, *, relists: bool) -> None:
        """Replace the current watch, at its version; or by a new list, if it `relists`."""
        _ = self._selection.change(is_narrower=not relists)

    async def run(self) -> None:
        """Mirror until cancelled.

        Raises:
            ClosedError: If the source's client, or the sink, is closed.
        """
        self._clock = self._intake.clock = asyncio.get_running_loop().time
        step = self._machine.start()
        while True:
            step = await self._perform(step)

    async def _perform(self, step: Step) -> Step:
        """Perform a step; return the next one."""
        assert not isinstance(step, Fail)  # a reflector never gives up
        status = self.status
        status.phase = self._machine.phase
        status.is_waiting = step.after > 0
        try:
            async with self._interrupt:
                await asyncio.sleep(step.after)
            status.is_waiting = False
            self._machine.begin(self._clock())
            if isinstance(step, List | Stream) and step.restarts:
                self._restart()
            if isinstance(step, List):
                return await self._list(step)
            if isinstance(step, Stream):
                return await self._watch(step)
            if isinstance(step, Probe):
                return await self._probe(step)
            return await self._verify(step)
        except ClosedError:
            raise
        except WaitInterruptedError:
            return await self._reselect()
        except asyncio.CancelledError:
            if _is_cancelled():
                raise
            # The source has awaited something that was cancelled; this task was not.
            return self._after(ProtocolError(f"the source of {self._source.resource} was cancelled inside"))
        # The source may be the caller's code, and a defect in it must not end the list-watch.
        except Exception as error:  # noqa: BLE001
            return self._after(error)

    async def _reselect(self) -> Step:
        """Continue with the current selection of shards."""
        is_narrower = self._selection.begin()
        if self._ingest.shards is not None:
            await self._sink.emit((Reselected(self._ingest.shards, self._scope),))
        if not self._selection.awaits_state:
            self._selection.complete()
        return self._machine.reselected(is_narrower=is_narrower)

    def _restart(self) -> None:
        """Void the state collected so far."""
        self._intake.restart()
        if self._machine.version:
            self.status.relists += 1
            self._metrics.relisted()

    def _after(self, error: Exception) -> Step:
        """Choose the next step after a failure."""
        phase, machine = self._machine.phase, self._machine
        failure = failure_of(error)
        if self._refuses_shards(error):
            return machine.reselected(is_narrower=True)
        is_watch = phase is Phase.FOLLOWING
        # An idle resource sends nothing, so that silence is no failure; `ReflectorStatus.contact` measures it.
        is_silent = is_watch and failure.silent and machine.is_open
        is_idle = is_silent and machine.expects_silence
        step = machine.failed(self._clock(), failure)
        if phase is Phase.STREAMING and not machine.initial_events and isinstance(error, StatusError):
            # The server does not seem to know watch-lists. The fallback to a list is no failure.
            self._is_refused = True
            is_idle = True
        if is_idle:
            self._reporter.report_quietly(error)
            return step
        # Servers forget the version of a watch after some minutes; an expired list is a failure.
        is_expired = is_watch and failure.is_expired
        if not (is_expired or is_silent):
            self.status.failures += 1
        self._reporter.report(error, self._clock(), step.after, is_watch=is_watch, is_routine=is_expired)
        return step

    def _refuses_shards(self, error: Exception) -> bool:
        """Whether the server refuses the shard selector; then the reflector requests all objects, and filters them."""
        source = self._source
        if not isinstance(source, ListWatch) or "shardSelector" not in source.selectors:
            return False
        is_refused = isinstance(error, StatusError) and (error.code in _TOO_LONG or "shard selector" in error.message)
        if is_refused:
            _log.warning("%s: all shards are requested, because of this: %s", self._label, error)
            self._source = source.with_shards(None)
        return is_refused

    def _note_contact(self) -> None:
        """Record that the server has sent a full list, a change or a bookmark."""
        self.status.contact = self._clock()
        self._reporter.note_recovery()

    async def _list(self, step: List) -> Step:
        options = ListWatchOptions(
            resource_version=step.version,
            resource_version_match="NotOlderThan" if step.match else None,
            limit=step.limit,
            continue_=step.token,
        )
        async with self._interrupt:
            page = await self._source.list_page(options, self._intake.collect_broken)
        if not page.metadata.resource_version:
            raise ProtocolError(f"the list of {self._source.resource} has no version to watch from")
        version, token, items = page.metadata.resource_version, page.metadata.continue_, page.items
        del page
        items.reverse()
        while items:  # from the end, so that collected objects are freed with each batch
            for item in items[: -_BATCH - 1 : -1]:
                self._intake.collect(item)
            del items[-_BATCH:]
            await asyncio.sleep(0)
        if token:
            return self._machine.page(version, token)
        if self._is_refused:
            # The list succeeded, so that the server refused the watch-list itself, and not the selector.
            self._source.disable_initial_events()
        self._has_followed = False
        state = await self._emit_state(version)
        following = self._machine.page(version, token)
        self._complete(state)
        return following

    async def _emit_state(self, version: str) -> StateBuilder:
        """Emit the new state. The machine learns of it afterwards, so that a lost state is requested again."""
        state = self._intake.take_state()
        for _ in self._ingest.repack(state.items):
            await asyncio.sleep(0)
        # A state of an earlier selection must not follow the change of the selection.
        self._interrupt.check()
        # Before the store reaches the version: a snapshot must not claim objects that the store lacks.
        self._undecodable.replace(state.broken)
        kept = frozenset(state.broken) - state.items.keys()
        is_initial = self._selection.awaits_state
        await self._sink.emit((ReplacedAll(state.items, version, self._scope, kept, is_initial),))
        return state

    def _complete(self, state: StateBuilder) -> None:
        """Record that a new state has been emitted."""
        self.status.phase = self._machine.phase
        self._note_contact()
        self._undecodable.log_new()
        self._metrics.listed(self._clock() - state.began, len(state.items))
        self._measure()
        self._selection.complete()

    async def _publish(self) -> None:
        """Emit the changes of a batch."""
        if self._intake.changes:
            changes, self._intake.changes = self._intake.changes, []
            await self._sink.emit(changes)
        self._undecodable.log_new()

    def _measure(self) -> None:
        if self._metrics.is_on:
            self._metrics.reached(self._machine.version, len(self.status.broken))
            self._metrics.queued(len(self._sink))

    async def _watch(self, step: Stream) -> Step:
        options = ListWatchOptions(
            resource_version=step.version,
            timeout_seconds=step.seconds,
            resource_version_match="NotOlderThan" if step.initial_events else None,
            send_initial_events=step.initial_events or None,
            read_timeout=self._silence_limit,
            timeout=self._silence_limit,
        )
        began, self._events = self._clock(), 0
        if self._has_followed and not step.initial_events:
            self.status.reconnects += 1
        self._has_followed = True
        timeout = asyncio.timeout(None)
        try:
            async with timeout:
                self._guard.set(timeout)
                async with self._interrupt:
                    opened = await self._source.open_watch(options)
                async with contextlib.aclosing(opened) as stream:
                    await self._follow(stream, timeout)
        except DeadlineError:  # a dead connection does not disprove the support of watch-lists
            raise
        except TimeoutError:
            if not timeout.expired():
                raise  # the source's own
            raise self._guard.expire(self._source, timeout.when()) from None
        finally:
            self._metrics.watched(self._clock() - began, self._events)
        # Only the server ends a stream at its requested time; a proxy that ends it earlier confirms nothing.
        if self._clock() - began >= step.seconds - REOPEN_INTERVAL:
            self._note_contact()
        return self._machine.closed(self._clock())

    async def _follow(self, stream: AsyncIterator[Sequence[WatchEvent[T]]], timeout: asyncio.Timeout) -> None:
        """Process events until the stream ends."""
        self._machine.opened()
        self.status.is_open = True
        unread = 0
        timer = asyncio.get_running_loop().call_later(REOPEN_INTERVAL, self._note_lasting)
        try:
            while (events := await self._next_events(stream)) is not None:
                for start in range(0, len(events), _BATCH):
                    batch = events[start : start + _BATCH]
                    await self._take_all(batch, timeout)
                    self._events += len(batch)
                    unread += len(batch)
                    if unread >= _BATCH:
                        # A server that sends without a pause must not starve other tasks.
                        unread = 0
                        await asyncio.sleep(0)
        finally:
            self.status.is_open = False
            timer.cancel()

    async def _next_events(self, stream: AsyncIterator[Sequence[WatchEvent[T]]]) -> Sequence[WatchEvent[T]] | None:
        """Wait for events; None at the end of the stream."""
        try:
            async with self._interrupt:
                return await anext(stream)
        except StopAsyncIteration:
            return None

    def _note_lasting(self) -> None:
        """Count a watch that stays open as a recovery, though an idle resource sends no events."""
        if self._machine.phase is Phase.FOLLOWING:
            self._reporter.note_recovery()

    async def _take_all(self, batch: Sequence[WatchEvent[T]], timeout: asyncio.Timeout) -> None:
        """Process events that arrived together."""
        events, machine = iter(batch), self._machine
        try:
            while (version := self._intake.take(events)) is not None:
                timeout.reschedule(None)  # the server has done its part
                if self._source.checks_watch_lists:
                    await compare_with_list(self._source, self._ingest, self._intake, version, self._label)
                state = await self._emit_state(version)
                machine.event("BOOKMARK", version, ends_initial=True)
                self._complete(state)
        finally:  # events before a malformed one are valid
            if batch and machine.phase is Phase.FOLLOWING:
                await self._publish()
        self._guard.set(timeout)
        if batch and machine.phase is Phase.FOLLOWING:
            self._note_contact()
            self._measure()

    async def _verify(self, step: VerifyServer) -> Step:
        known = self._known
        is_same = known is None
        if known is not None:
            samples = known.samples(self._scope)
            is_same = await self._answer(
                lambda: is_same_server(self._source, samples, step.version, timeout=step.timeout), step
            )
        # No contact is recorded: an answer does not confirm the objects, so the store is no fresher than before.
        if not is_same:
            _log.info("%s: cannot verify that this is the same server; relisting", self._label)
        elif self._is_seeded and self._known is not None:
            await self._sink.emit((ReplacedAll(self._known.stored(self._scope), step.version, self._scope),))
        self._is_seeded = False
        return self._machine.verified(is_same=is_same)

    async def _probe(self, step: Probe) -> Step:
        options = ListWatchOptions(limit=1, timeout=step.timeout, read_timeout=step.timeout)

        async def request_one() -> None:
            await self._source.list_page(options, lambda _: None)

        await self._answer(request_one, step)
        return self._machine.answered()

    async def _answer(self, request: Callable[[], Coroutine[object, object, V]], step: VerifyServer | Probe) -> V:
        """Return the first answer to a small request, repeated at the interval of the step."""

        def note_late(seconds: float) -> None:
            self._reporter.note_late(self._source.resource, self._clock(), seconds)

        async with self._interrupt:
            return await first_answer(request, repeat_after=step.repeat_after, timeout=step.timeout, on_late=note_late)


def _is_cancelled() -> bool:
    """Whether the current task is being cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
