"""The reflector: lists and watches a resource, and emits its changes.

`masthead._sansio.listwatch` decides; here its steps are performed, and their results are emitted to a sink.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead._cache.options import InformerOptions
from masthead._cache.reflector.foreign import as_source
from masthead._cache.reflector.ingest import Ingest, UndecodableError, key_in
from masthead._cache.reflector.interrupt import WaitInterruptedError
from masthead._cache.reflector.metrics import DISABLED
from masthead._cache.reflector.repeated_request import first_answer
from masthead._cache.reflector.server_identity import is_same_server
from masthead._cache.reflector.shard_selection import ShardSelection
from masthead._cache.reflector.sources import log_label
from masthead._cache.reflector.state_builder import StateBuilder
from masthead._cache.reflector.status import ReflectorStatus
from masthead._cache.reflector.undecodable import UndecodableObjects
from masthead._client.listwatch import ListWatch, ListWatchOptions, failure_of
from masthead._client.watchlist import check_consistency
from masthead._meta.object import Object
from masthead._module import set_module
from masthead._sansio.changes import Bookmark, Delta, DeltaType, ReplacedAll, Reselected
from masthead._sansio.listwatch import (
    INITIAL_EVENTS_TIMEOUT,
    REOPEN_INTERVAL,
    Fail,
    List,
    ListWatchMachine,
    Phase,
    Probe,
    Role,
    Stream,
    VerifyServer,
    is_worth_a_line,
)
from masthead.errors import (
    ClosedError,
    DeadlineError,
    DecodeError,
    ForbiddenError,
    MastheadError,
    NotFoundError,
    ProtocolError,
    StatusError,
    TransportError,
    UnauthorizedError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence

    from masthead._cache.reflector.foreign import Source
    from masthead._cache.reflector.metrics import InformerMetrics
    from masthead._cache.reflector.server_identity import KnownObjects
    from masthead._cache.reflector.sink import ChangeSink
    from masthead._cache.store.storage import Stored
    from masthead._client.listwatch import ListerWatcher
    from masthead._client.watch_event import WatchEvent, WatchEventType
    from masthead._sansio.changes import Change
    from masthead._sansio.listwatch import Step

__all__ = ["Reflector"]

T = TypeVar("T", bound=Object)
V = TypeVar("V")

_log: Final = logging.getLogger("masthead.cache")

_AT_ONCE: Final = 250
"""How many objects are taken before others get their turn."""
_PUNCTUAL: Final = 0.1
"""A timer that goes off later than this says that our own loop stood still."""
_NEEDS_A_PERSON: Final = (UnauthorizedError, ForbiddenError, NotFoundError)
"""What a retry alone does not repair."""
_TOO_LONG: Final = frozenset({414, 431})
"""The codes of a URL, or of headers, that somebody on the way finds too long."""
_DELTA_TYPES: Final = {
    "ADDED": DeltaType.ADDED,
    "MODIFIED": DeltaType.UPDATED,
    "DELETED": DeltaType.DELETED,
}


@set_module("masthead.aio.cache")
class Reflector(Generic[T]):
    """Lists and watches a resource, and emits its changes to a sink.

    ::

        source ──pages, events──> Reflector ──changes──> sink

    It never gives up. Every error is passed to `on_error` and recorded in `status`, and the request is retried.

    Args:
        source: What to list and watch.
        sink: Receives the changes.
        ingest: Turns objects into what is stored.
        options: Page size, watch-list, stall timeout, backoff and name; the others are not the reflector's.
        scope: The source's name in the changes; empty if it is the only one.
        known: The copy that is kept, if there is one: with it, a server that comes back is verified.
        version: The version of a copy that exists already, from a snapshot; empty for none.
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
        self._on_error = on_error
        self._silence_limit = options.stall_after or source.silence_limit
        self._machine = ListWatchMachine(
            random=random.random,
            version=version,
            initial_events=options.watch_list and source.supports_initial_events,
            page_size=options.page_size,
            backoff=options.backoff(),
            silence_limit=self._silence_limit,
        )
        self._is_seeded = bool(version)
        self._has_followed = False
        self._is_refused = False
        self._builder = StateBuilder()
        self._selection = ShardSelection()
        self._interrupt = self._selection.interrupt
        self._metrics = metrics
        self._changes: list[Change[Stored]] = []
        self._clock: Callable[[], float] = _no_clock
        self._events = 0
        self._label = log_label(source, options.name, scope)
        self.status: ReflectorStatus = ReflectorStatus()
        self._undecodable = UndecodableObjects(self.status, self._label, known.has if known is not None else None)

    @property
    def version(self) -> str:
        """The resource version up to which everything has been emitted."""
        return self._machine.version

    def select_shards(self, selector: str | None, *, is_narrower: bool) -> asyncio.Future[None]:
        """Ask the server for other shards.

        Args:
            selector: The shard selector; None for all.
            is_narrower: Whether it selects nothing that was not selected before, so that no new state is needed.

        Returns:
            Done when all that is selected has been emitted.
        """
        if isinstance(self._source, ListWatch):
            self._source = self._source.with_shards(selector)
        return self._selection.change(is_narrower=is_narrower)

    def reopen(self, *, relists: bool) -> None:
        """Give up the current watch, and open another one from where it is; or from a new state, if it `relists`."""
        _ = self._selection.change(is_narrower=not relists)

    async def run(self) -> None:
        """Mirror until cancelled.

        Raises:
            ClosedError: If the source's client, or the sink, is closed.
        """
        self._clock = asyncio.get_running_loop().time
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
            # Something that the source has waited for was cancelled, not this.
            return self._after(ProtocolError(f"the source of {self._source.resource} was cancelled inside"))
        # A source may be the caller's; a fault in it must not end the list-watch.
        except Exception as error:  # noqa: BLE001
            return self._after(error)

    async def _reselect(self) -> Step:
        """Go on with what is selected now."""
        is_narrower = self._selection.begin()
        if self._ingest.shards is not None:
            await self._sink.emit((Reselected(self._ingest.shards, self._scope),))
        if not self._selection.awaits_state:
            self._selection.complete()
        return self._machine.reselected(is_narrower=is_narrower)

    def _restart(self) -> None:
        """What was collected so far is void."""
        self._builder = StateBuilder(began=self._clock())
        if self._machine.version:
            self.status.relists += 1
            self._metrics.relisted()

    def _after(self, error: Exception) -> Step:
        """Something failed: what next?"""
        was = self._machine.phase
        failure = failure_of(error)
        if self._refuses_shards(error):
            return self._machine.reselected(is_narrower=True)
        # Where nothing may have happened, silence is no failure: `ReflectorStatus.contact` says how long it is.
        is_silent = was is Phase.FOLLOWING and failure.silent and self._machine.is_open
        is_quiet = is_silent and self._machine.expects_silence
        step = self._machine.failed(self._clock(), failure)
        if is_quiet:
            _log.debug("%s: %s", self._label, _logged(error))
            return step
        if was is Phase.STREAMING and not self._machine.initial_events and isinstance(error, StatusError):
            # The server does not seem to know of initial events. It is listed, and nothing is wrong.
            self._is_refused = True
            _log.debug("%s: %s", self._label, _logged(error))
            return step
        # What is followed is forgotten every few minutes, which is in order; a state that is asked for is not.
        is_in_order = was is Phase.FOLLOWING and failure.is_expired
        status = self.status
        if not (is_in_order or is_silent):
            status.failures += 1
        status.error, status.error_at = f"{type(error).__name__}: {error}", self._clock()
        if self._on_error is not None:
            self._report_error(self._on_error, error, step.after)
        elif is_in_order or not is_worth_a_line(status.failures, step.after):
            _log.debug("%s: %s", self._label, _logged(error))
        else:
            # A watch that breaks off is everyday, and goes on; one that does not is not.
            is_dropped = was is Phase.FOLLOWING and isinstance(error, TransportError) and status.failures <= 1
            self._log_error(error, step.after, logging.INFO if is_dropped else logging.WARNING)
        return step

    def _refuses_shards(self, error: Exception) -> bool:
        """Whether the server does not accept the shard selector; then all objects are requested, and filtered here."""
        source = self._source
        if not isinstance(source, ListWatch) or "shardSelector" not in source.selectors:
            return False
        is_refused = isinstance(error, StatusError) and (error.code in _TOO_LONG or "shard selector" in error.message)
        if is_refused:
            _log.warning("%s: all shards are requested, because of this: %s", self._label, error)
            self._source = source.with_shards(None)
        return is_refused

    def _report_error(self, on_error: Callable[[Exception, float], object], error: Exception, after: float) -> None:
        try:
            on_error(error, after)
        # The caller's code, which must not end this.
        except Exception:  # noqa: BLE001
            _log.exception("%s: the handler of errors failed", self._label)

    def _log_error(self, error: Exception, after: float, level: int) -> None:
        when = f"in {after:.1f} s" if after else "at once"
        if isinstance(error, MastheadError):
            _log.log(level, "%s: trying again %s, after this failed: %s", self._label, when, _logged(error))
        else:
            # Not an error that is expected, so its traceback is needed.
            _log.error("%s: trying again %s, after this failed", self._label, when, exc_info=error)

    def _succeeded(self) -> None:
        """The server has sent a whole state, a change, or a bookmark."""
        self.status.contact = self._clock()
        self._recovered()

    def _recovered(self) -> None:
        if failures := self.status.failures:
            times = "1 failure" if failures == 1 else f"{failures} failures"
            _log.info("%s: all is well again, after %s", self._label, times)
            self.status.failures = 0

    # A list

    async def _list(self, step: List) -> Step:
        options = ListWatchOptions(
            resource_version=step.version,
            resource_version_match="NotOlderThan" if step.match else None,
            limit=step.limit,
            continue_=step.token,
        )
        async with self._interrupt:
            page = await self._source.list_page(options, self._collect_broken)
        if not page.metadata.resource_version:
            raise ProtocolError(f"the list of {self._source.resource} has no version to watch from")
        version, token, items = page.metadata.resource_version, page.metadata.continue_, page.items
        del page
        items.reverse()
        while items:  # from its end, so that what has been taken is not kept by the list any more
            for item in items[: -_AT_ONCE - 1 : -1]:
                self._collect(item)
            del items[-_AT_ONCE:]
            await asyncio.sleep(0)
        if token:
            return self._machine.page(version, token)
        if self._is_refused:
            # It was not the selector, or whatever else a list would be refused for, too.
            self._source.disable_initial_events()
        self._has_followed = False
        builder = await self._hand_over(version)
        following = self._machine.page(version, token)
        self._complete(builder)
        return following

    def _collect(self, obj: T) -> None:
        if not self._ingest.selects(obj):
            self._note_other_shard()
            return
        if self._source.checks_watch_lists:
            self._builder.versions[obj.key] = obj.metadata.resource_version
        try:
            key, stored = self._ingest.take(obj)
        except UndecodableError as error:
            self._builder.broken[error.key] = str(error)
        else:
            self._builder.items[key] = stored
            # An earlier event of this object may not have been decodable.
            self._builder.broken.pop(key, None)

    def _collect_broken(self, error: DecodeError) -> None:
        key = key_in(error.value) if isinstance(error.value, bytes) else ""
        self._builder.broken[key or error.subject] = str(error)

    async def _hand_over(self, version: str) -> StateBuilder:
        """Emit a new state that is complete.

        The machine learns of it afterwards: a state that is lost on its way is requested again.
        """
        builder, self._builder = self._builder, StateBuilder()
        for _ in self._ingest.repack(builder.items):
            await asyncio.sleep(0)
        # A state of another selection must not come after the change of the selection.
        self._interrupt.check()
        # Before the store reaches the version: a snapshot of it must not claim objects that it lacks.
        self._undecodable.replace(builder.broken)
        kept = frozenset(builder.broken) - builder.items.keys()
        is_initial = self._selection.awaits_state
        await self._sink.emit((ReplacedAll(builder.items, version, self._scope, kept, is_initial),))
        return builder

    def _complete(self, builder: StateBuilder) -> None:
        """A new state has been emitted, and will be followed."""
        self.status.phase = self._machine.phase
        self._succeeded()
        self._undecodable.log_new()
        self._metrics.listed(self._clock() - builder.began, len(builder.items))
        self._measure()
        self._selection.complete()

    async def _publish(self) -> None:
        """Emit the changes of a batch."""
        if self._changes:
            changes, self._changes = self._changes, []
            await self._sink.emit(changes)
        self._undecodable.log_new()

    def _measure(self) -> None:
        if self._metrics.is_on:
            self._metrics.reached(self._machine.version, len(self.status.broken))
            self._metrics.queued(len(self._sink))

    # A watch

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
        patience = asyncio.timeout(None)
        try:
            async with patience:
                self._set(patience)
                async with self._interrupt:
                    opened = await self._source.open_watch(options)
                async with contextlib.aclosing(opened) as stream:
                    await self._follow(stream, patience)
        except DeadlineError:  # a connection that died says nothing about what the server knows
            raise
        except TimeoutError:
            if not patience.expired():
                raise  # the source's own
            raise self._endless(patience.when()) from None
        finally:
            self._metrics.watched(self._clock() - began, self._events)
        # Only the server itself ends a stream at its time; a proxy that ends it earlier says nothing about the objects.
        if self._clock() - began >= step.seconds - REOPEN_INTERVAL:
            self._succeeded()
        return self._machine.closed(self._clock())

    async def _follow(self, stream: AsyncIterator[Sequence[WatchEvent[T]]], patience: asyncio.Timeout) -> None:
        """Process events until the stream ends."""
        self._machine.opened()
        self.status.is_open = True
        unread = 0
        timer = asyncio.get_running_loop().call_later(REOPEN_INTERVAL, self._note_lasting)
        try:
            while (events := await self._next_events(stream)) is not None:
                for start in range(0, len(events), _AT_ONCE):
                    few = events[start : start + _AT_ONCE]
                    await self._take_all(few, patience)
                    self._events += len(few)
                    unread += len(few)
                    if unread >= _AT_ONCE:
                        # A server that sends without a pause must not keep everybody else from their turn.
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
        """The stream has been open for long, which is a sign of health, though nothing need have come."""
        if self._machine.phase is Phase.FOLLOWING:
            self._recovered()

    def _set(self, patience: asyncio.Timeout) -> None:
        """Say until when the next events must have come; once the initial objects are all there, that is the client's."""
        is_initial = self._machine.phase is Phase.STREAMING
        due = self._builder.deadline(self._clock()) if is_initial else None
        if due != patience.when():
            patience.reschedule(due)

    def _endless(self, due: float | None) -> DeadlineError:
        """The initial objects have no end, or the request for them has no answer."""
        if not self._machine.is_open:
            return DeadlineError(
                f"the server has not answered a watch of {self._source.resource} within {INITIAL_EVENTS_TIMEOUT:g} s"
            )
        # Objects without one prove that the server does not know of it. Without any, it may be the connection; and
        # where we are late ourselves, it may lie unread.
        is_late = due is not None and self._clock() - due > _PUNCTUAL
        if self._builder.items and not is_late:
            self._source.disable_initial_events()
            self._machine.disable_initial_events()
        return DeadlineError(
            f"the server does not say where the initial {self._source.resource} end; they are listed instead"
        )

    async def _take_all(self, batch: Sequence[WatchEvent[T]], patience: asyncio.Timeout) -> None:
        """Take in events that came together."""
        events, machine = iter(batch), self._machine
        try:
            while (version := self._take(events)) is not None:
                patience.reschedule(None)  # what is left to do is ours
                if self._source.checks_watch_lists:
                    await self._compare_with_list(version)
                builder = await self._hand_over(version)
                machine.event("BOOKMARK", version, ends_initial=True)
                self._complete(builder)
        finally:  # also what came before something that is no event
            if batch and machine.phase is Phase.FOLLOWING:
                await self._publish()
        self._set(patience)
        if batch and machine.phase is Phase.FOLLOWING:
            self._succeeded()
            self._measure()

    async def _compare_with_list(self, version: str) -> None:
        """Compare the initial events with a plain list of their version, as client-go's detector does in its tests.

        Raises:
            InconsistentListError: If they differ. Nothing of them is stored then, and the state is requested again.
        """
        broken: set[str] = set()

        def note_broken(error: DecodeError) -> None:
            broken.add(key_in(error.value) if isinstance(error.value, bytes) else "")

        options = ListWatchOptions(resource_version=version, resource_version_match="Exact")
        try:
            page = await self._source.list_page(options, note_broken)
        except MastheadError as error:
            _log.warning("%s: the watch-list is not compared: %s", self._label, _logged(error))
            return
        listed = {item.key: item.metadata.resource_version for item in page.items if self._ingest.selects(item)}
        unusable = broken | self._builder.broken.keys()
        check_consistency(
            self._source.resource,
            version,
            {key: own for key, own in self._builder.versions.items() if key not in unusable},
            {key: own for key, own in listed.items() if key not in unusable},
        )

    def _take(self, batch: Iterator[WatchEvent[T]]) -> str | None:
        """Take in events that came together, up to the one that completes a new state; returns its version.

        That one has not been reported to the machine yet.
        """
        machine = self._machine
        for event in batch:
            kind = event.type
            if kind == "BROKEN":
                # One object that cannot be decoded must not stop the stream.
                self._take_broken(event)
                continue
            obj = event.object
            version = obj.metadata.resource_version
            if machine.phase is Phase.STREAMING and version and event.ends_initial_events:
                # The caller tells the machine once the store has the state; before, it must not count as
                # complete.
                return version
            if machine.event(kind, version) is Role.CHANGE:
                self._change(kind, obj, version)
            elif kind == "DELETED":
                # It was among the initial events, and was deleted before they ended.
                self._builder.drop(obj.key)
            elif kind != "BOOKMARK":
                self._collect(obj)
        return None

    def _change(self, kind: WatchEventType, obj: T, version: str) -> None:
        if kind == "BOOKMARK":
            self._bookmark(version)
            return
        if not self._ingest.selects(obj):
            self._drop(obj, version)
            return
        self.status.event = self._clock()
        try:
            key, stored = self._ingest.take(obj)
        except UndecodableError as error:
            self._put_aside(kind, error.key, version, str(error))
            return
        if self.status.broken:
            # An earlier version may have been put aside; this one can be decoded.
            self._undecodable.discard(key)
        self._changes.append(Delta(_DELTA_TYPES[kind], key, stored, version))

    def _drop(self, obj: T, version: str) -> None:
        """A change of an object that is not selected."""
        self._note_other_shard()
        if self._known is not None and self._known.has(obj.key) and self._ingest.shards is not None:
            # One of its name is, and must be gone: its deletion was not reported.
            self._changes.append(Delta(DeltaType.DELETED, obj.key, None, version, final_state_known=False))
        else:
            self._bookmark(version)

    def _note_other_shard(self) -> None:
        # What was sent for an earlier selection is no surprise.
        if self._interrupt.is_set:
            return
        if not self.status.other_shards:
            _log.info(
                "%s: the server sends objects of other shards, which are dropped here; it may not have the feature gate "
                "ShardedListAndWatch",
                self._label,
            )
        self.status.other_shards += 1

    def _bookmark(self, version: str) -> None:
        """Nothing has changed up to a version; unless it is older than where the machine resumes."""
        if version and version == self._machine.version:
            self._changes.append(Bookmark(version, self._scope))

    def _take_broken(self, event: WatchEvent[T]) -> None:
        """An event whose object cannot be read."""
        key, version = key_in(event.data), event.version
        role = self._machine.event(event.server_type or "MODIFIED", version)
        if role is Role.CHANGE:
            self._put_aside(event.server_type, key, version, str(event.error))
        elif event.server_type == "DELETED":
            self._builder.drop(key)
        else:
            self._builder.broken[key] = str(event.error)

    def _put_aside(self, kind: WatchEventType | None, key: str, version: str, problem: str) -> None:
        """A change that cannot be used: what the store has of the object stays, unless it is gone."""
        if kind == "DELETED" and key:
            self._undecodable.discard(key)
            # A deletion needs no more than the key, so it is valid even if the object is not.
            self._changes.append(Delta(DeltaType.DELETED, key, None, version, final_state_known=False))
            return
        self._undecodable.add(key, problem)
        self._bookmark(version)

    async def _verify(self, step: VerifyServer) -> Step:
        known = self._known
        is_same = known is None
        if known is not None:
            samples = known.samples(self._scope)
            is_same = await self._answer(
                lambda: is_same_server(self._source, samples, step.version, timeout=step.timeout), step
            )
        # That it is there says nothing about what has changed: neither is the store any fresher, nor all well again.
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
        """Return the first answer to a small request, which is repeated as the step says."""
        async with self._interrupt:
            return await first_answer(
                request, repeat_after=step.repeat_after, timeout=step.timeout, on_late=self._note_late
            )

    def _note_late(self, seconds: float) -> None:
        """Note that the server has not answered a small request, so that the copy may be out of date."""
        status = self.status
        if not status.failures:
            status.failures = 1
            _log.info("%s: no answer for %.0f s; asking again on another connection", self._label, seconds)
        status.error = f"{self._source.resource}: the server has not answered for {seconds:.0f} s"
        status.error_at = self._clock()


def _is_cancelled() -> bool:
    """Whether the task that runs is to end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _no_clock() -> float:
    return 0.0


def _logged(error: Exception) -> str:
    """An error's message, without advice where a retry is all that is needed."""
    text = str(error)
    if not isinstance(error, StatusError) or isinstance(error, _NEEDS_A_PERSON):
        return text
    return text.removesuffix(error.next_step).rstrip(" .")
