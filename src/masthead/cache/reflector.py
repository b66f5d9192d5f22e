"""Mirrors a collection into a queue.

`masthead.sansio.listwatch` decides; here its steps are performed, and what comes of them is written to the queue.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead.cache.collected import Collected
from masthead.cache.health import Pulse
from masthead.cache.intake import Intake, UnusableError, key_in
from masthead.cache.listwatch import ListOptions
from masthead.cache.meters import NO_METER
from masthead.cache.proof import is_known_server
from masthead.client.event import EventType
from masthead.errors import (
    ClosedError,
    DeadlineError,
    DecodeError,
    MastheadError,
    ProtocolError,
    StatusError,
)
from masthead.meta.object import Object
from masthead.sansio.listwatch import LASTING, Failure, List, ListWatching, Phase, Prove, Role, Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from masthead.cache.holding import Held
    from masthead.cache.listwatch import ListWatch
    from masthead.cache.meters import InformerMeter
    from masthead.cache.proof import Known
    from masthead.client.event import Event
    from masthead.sansio.backoff import Backoff
    from masthead.sansio.changes import Queue
    from masthead.sansio.listwatch import Step

__all__ = ["Reflector"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.cache")

_AT_ONCE: Final = 250
"""How many objects are taken before others get their turn."""
_TOO_LARGE: Final = "too large resource version"


class Reflector(Generic[T]):
    """Lists and watches, and writes what it learns to a queue.

    ::

        source ──pages, events──> Reflector ──add, update, delete, replace, bookmark──> queue

    It never gives up. Whatever goes wrong is told to `on_error`, noted in `pulse`, and tried again.

    Args:
        source: What to mirror.
        queue: Where to write to.
        intake: Makes of an object what is kept of it.
        scope: Under which name the queue knows this source; empty if it is the only one.
        known: The copy that is kept, if there is one: with it, a server that comes back is recognised, or not.
        version: The version of what is known already, from a snapshot; empty for nothing.
        on_change: Is called when something was written to the queue.
        on_error: Is called with each error, and the seconds until the next attempt.
        page_size: How many objects of a list to ask for at a time; 0 for what suits the server.
        watch_list: Whether to try watches that begin with what there is.
        stall_after: Seconds without a byte after which a watch counts as dead; None for the client's own.
        backoff: How long to wait after failures.
        meter: What is counted.
    """

    def __init__(
        self,
        source: ListWatch[T],
        queue: Queue[Held],
        intake: Intake[T],
        *,
        scope: str = "",
        known: Known | None = None,
        version: str = "",
        on_change: Callable[[], object] = lambda: None,
        on_error: Callable[[Exception, float], object] | None = None,
        page_size: int = 0,
        watch_list: bool = True,
        stall_after: float | None = None,
        backoff: Backoff | None = None,
        meter: InformerMeter = NO_METER,
    ) -> None:
        self._source = source
        self._queue = queue
        self._intake = intake
        self._scope = scope
        self._known = known
        self._on_change = on_change
        self._on_error = on_error
        self._stall_after = stall_after
        self._machine = ListWatching(
            random=random.random,
            version=version,
            initial_events=watch_list and source.knows_initial_events,
            page_size=page_size,
            backoff=backoff,
            # One that is given up for its silence has lasted: or where little happens, we would wait ever longer.
            lasting=LASTING if stall_after is None else min(LASTING, stall_after),
        )
        self._is_seeded = bool(version)
        self._has_followed = False
        self._is_refused = False
        self._collected = Collected()
        self._meter = meter
        self._clock: Callable[[], float] = _no_clock
        self.pulse = Pulse()

    @property
    def version(self) -> str:
        """The resource version up to which everything has been written to the queue."""
        return self._machine.version

    async def run(self) -> None:
        """Mirror until cancelled.

        Raises:
            ClosedError: if the source's client, or the queue, is closed: then there is nothing left to do.
        """
        self._clock = asyncio.get_running_loop().time
        step = self._machine.start()
        while True:
            step = await self._perform(step)

    async def _perform(self, step: Step) -> Step:
        """Do what a step says; returns the next one."""
        pulse = self.pulse
        pulse.phase = self._machine.phase
        pulse.is_waiting = step.after > 0
        await asyncio.sleep(step.after)
        pulse.is_waiting = False
        self._machine.begin(self._clock())
        if not isinstance(step, Prove) and step.restarts:
            self._collected = Collected(began=self._clock())
            if self._machine.version:
                self._meter.relisted()
                pulse.relists += 1
        try:
            if isinstance(step, List):
                return await self._list(step)
            if isinstance(step, Stream):
                return await self._watch(step)
            return await self._prove(step)
        except ClosedError:
            raise
        except asyncio.CancelledError:
            if _is_cancelled():
                raise
            # Something that the source has waited for was cancelled, not this.
            return self._after(ProtocolError(f"the source of {self._source.resource} was cancelled inside"))
        # A source may be anybody's; a fault in it is no reason to fall silent.
        except Exception as error:  # noqa: BLE001
            return self._after(error)

    def _after(self, error: Exception) -> Step:
        """Something failed: what next?"""
        was = self._machine.phase
        step = self._machine.failed(self._clock(), _failure(error))
        if was is Phase.STREAMING and not self._machine.initial_events and isinstance(error, StatusError):
            # The server does not seem to know of initial events. It is listed, and nothing is wrong.
            self._is_refused = True
            _log.debug("%s: %s", self._source.resource, error)
            return step
        pulse = self.pulse
        if not _is_in_order(error):
            pulse.failures += 1
        pulse.error, pulse.error_at = f"{type(error).__name__}: {error}", self._clock()
        if self._on_error is None:
            self._log_error(error, step.after)
        else:
            self._tell_error(self._on_error, error, step.after)
        return step

    def _tell_error(
        self, on_error: Callable[[Exception, float], object], error: Exception, after: float
    ) -> None:
        try:
            on_error(error, after)
        # Somebody else's code, which must not end this.
        except Exception:  # noqa: BLE001
            _log.exception("%s: the handler of errors failed", self._source.resource)

    def _log_error(self, error: Exception, after: float) -> None:
        what = self._source.resource
        if _is_in_order(error):
            _log.debug("%s: %s", what, error)
        elif isinstance(error, MastheadError):
            _log.warning("%s: the next attempt is in %.1f s, after %s", what, after, error)
        else:
            _log.error("%s: the next attempt is in %.1f s, after this", what, after, exc_info=error)

    def _succeeded(self) -> None:
        pulse = self.pulse
        pulse.contact = self._clock()
        if pulse.failures:
            _log.info("%s: all is well again, after %d failures", self._source.resource, pulse.failures)
            pulse.failures = 0

    # A list

    async def _list(self, step: List) -> Step:
        options = ListOptions(
            resource_version=step.version,
            resource_version_match="NotOlderThan" if step.match else None,
            limit=step.limit,
            continue_=step.token,
        )
        page = await self._source.list(options, self._collect_broken)
        version = page.metadata.resource_version
        if not version:
            raise ProtocolError(f"the list of {self._source.resource} has no version to watch from")
        token, items = page.metadata.continue_, page.items
        del page
        items.reverse()
        while items:  # from its end, so that what has been taken is not kept by the list any more
            for item in items[: -_AT_ONCE - 1 : -1]:
                self._collect(item)
            del items[-_AT_ONCE:]
            await asyncio.sleep(0)
        step_after = self._machine.page(version, token)
        if not token:
            if self._is_refused:
                # It was not the selector, or whatever else a list would be refused for, too.
                self._source.forget_initial_events()
            self._has_followed = False
            await self._replace(version)
        return step_after

    def _collect(self, obj: T) -> None:
        try:
            key, held = self._intake.take(obj)
        except UnusableError as error:
            self._collected.broken[error.key] = str(error)
        else:
            self._collected.items[key] = held
            self._collected.broken.pop(key, None)

    def _collect_broken(self, error: DecodeError) -> None:
        key = key_in(error.value) if isinstance(error.value, bytes) else ""
        self._collected.broken[key or error.subject] = str(error)

    async def _replace(self, version: str) -> None:
        """The new state is complete: hand it over."""
        collected, self._collected = self._collected, Collected()
        self.pulse.phase = self._machine.phase
        self._succeeded()
        for _ in self._intake.settle(collected.items):
            await asyncio.sleep(0)
        self._note_broken(collected.broken)
        self._meter.listed(self._clock() - collected.began, len(collected.items))
        self._queue.replace(
            collected.items,
            version,
            scope=self._scope,
            kept=frozenset(collected.broken) - collected.items.keys(),
        )
        self._changed()

    def _changed(self) -> None:
        """Something was written to the queue."""
        if self._meter.is_on:
            self._meter.reached(self._machine.version, len(self.pulse.broken))
            self._meter.queued(len(self._queue))
        self._on_change()

    def _note_broken(self, broken: Mapping[str, str]) -> None:
        was, self.pulse.broken = self.pulse.broken, dict(broken)
        for key, problem in broken.items():
            if was.get(key) != problem:
                _log.warning("%s: %r is left as it was: %s", self._source.resource, key, problem)

    # A watch

    async def _watch(self, step: Stream) -> Step:
        options = ListOptions(
            resource_version=step.version,
            timeout_seconds=step.seconds,
            send_initial_events=step.initial_events,
            silence=self._stall_after,
        )
        began, count, is_open = self._clock(), 0, False
        machine, pulse = self._machine, self.pulse
        pulse.reconnects += self._has_followed and not step.initial_events
        self._has_followed = True
        unread = 0
        try:
            async with (
                asyncio.timeout(None) as patience,
                contextlib.aclosing(self._source.watch(options)) as batches,
            ):
                self._set(patience)
                async for batch in batches:
                    if not is_open:
                        is_open = True
                        machine.opened()
                    await self._take_all(batch, patience)
                    count += len(batch)
                    unread += len(batch)
                    if unread >= _AT_ONCE:
                        # A server that sends without a pause must not keep everybody else from their turn.
                        unread = 0
                        await asyncio.sleep(0)
        except DeadlineError:  # a connection that died says nothing about what the server knows
            raise
        except TimeoutError:
            raise self._endless() from None
        finally:
            self._meter.watched(self._clock() - began, count)
        return machine.closed(self._clock())

    def _set(self, patience: asyncio.Timeout) -> None:
        """Say until when the next events must have come; once the initial objects are all there, that is the client's."""
        is_initial = self._machine.phase is Phase.STREAMING
        due = self._collected.deadline(self._clock()) if is_initial else None
        if due != patience.when():
            patience.reschedule(due)

    def _endless(self) -> DeadlineError:
        """The initial objects have no end."""
        # Objects without one prove that the server does not know of it. Without any, it may be the connection.
        if self._collected.items:
            self._source.forget_initial_events()
            self._machine.forget_initial_events()
        return DeadlineError(
            f"the server does not say where the initial {self._source.resource} end; they are listed instead"
        )

    async def _take_all(self, batch: Sequence[Event[T]], patience: asyncio.Timeout) -> None:
        """Take in events that came together."""
        events = iter(batch)
        while (version := self._take(events)) is not None:
            self._set(patience)
            await self._replace(version)
        self._set(patience)
        if batch and self._machine.phase is Phase.FOLLOWING:
            self._succeeded()
            self._changed()

    def _take(self, batch: Iterator[Event[T]]) -> str | None:
        """Take in events that came together, up to the one that completes a new state; returns its version."""
        event_of, change = self._machine.event, self._change
        for event in batch:
            kind = event.type
            if kind is EventType.BROKEN:
                self._take_broken(event)
                continue
            obj = event.object
            version = obj.metadata.resource_version
            ends = kind is EventType.BOOKMARK and event.ends_initial_events
            role = event_of(kind, version, ends_initial=ends)
            if role is Role.CHANGE:
                change(kind, obj, version)
            elif role is Role.COMPLETE:
                return version
            elif kind is EventType.DELETED:
                self._collected.items.pop(obj.key, None)
                self._collected.broken.pop(obj.key, None)
            elif kind is not EventType.BOOKMARK:
                self._collect(obj)
        return None

    def _change(self, kind: EventType, obj: T, version: str) -> None:
        queue = self._queue
        if kind is EventType.BOOKMARK:
            queue.bookmark(version, scope=self._scope)
            return
        self.pulse.event = self._clock()
        try:
            key, held = self._intake.take(obj)
        except UnusableError as error:
            self._put_aside(kind, error.key, version, str(error))
            return
        if self.pulse.broken:
            self.pulse.broken.pop(key, None)
        if kind is EventType.ADDED:
            queue.add(key, held, version)
        elif kind is EventType.MODIFIED:
            queue.update(key, held, version)
        else:
            queue.delete(key, held, version)

    def _take_broken(self, event: Event[T]) -> None:
        """An event whose object cannot be read."""
        key, version = key_in(event.data), event.version
        role = self._machine.event(event.told or EventType.MODIFIED, version)
        if role is Role.CHANGE:
            self._put_aside(event.told, key, version, str(event.error))
        elif event.told is EventType.DELETED:
            self._collected.items.pop(key, None)
            self._collected.broken.pop(key, None)
        else:
            self._collected.broken[key] = str(event.error)

    def _put_aside(self, kind: EventType | None, key: str, version: str, problem: str) -> None:
        """A change that cannot be used: what the copy has of the object stays, unless it is gone."""
        if kind is EventType.DELETED and key:
            self.pulse.broken.pop(key, None)
            self._queue.delete(key, None, version, final_state_known=False)
            return
        self._note_broken({**self.pulse.broken, key: problem})
        if version:
            self._queue.bookmark(version, scope=self._scope)

    # A proof

    async def _prove(self, step: Prove) -> Step:
        is_same = self._known is None or await is_known_server(
            self._source, self._known.samples(self._scope), step.version
        )
        self._succeeded()
        if not is_same:
            _log.info(
                "%s: cannot tell that this is the server it was; everything is read again",
                self._source.resource,
            )
        elif self._is_seeded and self._known is not None:
            self._queue.replace(self._known.held(self._scope), step.version, scope=self._scope)
            self._on_change()
        self._is_seeded = False
        return self._machine.proved(is_same=is_same)


def _failure(error: Exception) -> Failure:
    """What an error says that decides about the next step."""
    if not isinstance(error, StatusError):
        return Failure(silent=isinstance(error, DeadlineError))
    causes = error.details.causes if error.details is not None else []
    too_large = any(cause.reason == "ResourceVersionTooLarge" for cause in causes)
    return Failure(
        code=error.code,
        reason=error.reason,
        retry_after=error.retry_after,
        too_large=too_large or _TOO_LARGE in error.message.lower(),
    )


def _is_in_order(error: Exception) -> bool:
    """Whether an error is in the order of things: versions are forgotten every few minutes."""
    return isinstance(error, StatusError) and _failure(error).is_expired


def _is_cancelled() -> bool:
    """Whether the task that runs is to end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _no_clock() -> float:
    return 0.0
