"""The background task of a recorder: sends the writes of the buffer, one request per object at a time."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from masthead._meta.forks import loop_process
from masthead._record.sink import failure_of
from masthead.errors import AlreadyExistsError, ForbiddenError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._record.buffer import EventBuffer
    from masthead._record.sink import EventSink, WriteFailure
    from masthead._sansio.event_correlation import EventRecord
    from masthead._sansio.event_writes import EventWrite

__all__ = ["EventSender"]

_log: Final = logging.getLogger("masthead.record")

_MAX_RENAMES: Final = 3
"""The number of names to try for an Event."""
_CANCELLED_TIMEOUT: Final = 2.0
"""Seconds for last attempts after a cancellation, such as the close of the client."""


@dataclass(eq=False, slots=True)
class _Flush:
    """A call of `EventSender.flush`.

    Attributes:
        left: The records that it waits for.
        serial: The serial number of the last write before the call: later writes cover everything recorded.
        done: Set when no record is left.
    """

    left: set[EventRecord]
    serial: int
    done: asyncio.Event


class EventSender:
    """Sends the writes of a buffer until it is stopped.

    Args:
        buffer: The writes.
        sink: Sends one write.
        monotonic: The clock.
        component: The reporting controller, for logs.
    """

    def __init__(self, buffer: EventBuffer, sink: EventSink, monotonic: Callable[[], float], component: str) -> None:
        self._buffer = buffer
        self._sink = sink
        self._monotonic = monotonic
        self._component = component
        self._loop = asyncio.get_running_loop()
        self._process = loop_process()
        self._awake = asyncio.Event()
        self._is_woken = False
        self._stop_at: float | None = None
        self._sends: set[asyncio.Task[None]] = set()
        self._flushes: list[_Flush] = []
        # Kinds of failures, whose number is bounded by the classes of errors.
        self._logged: set[str] = set()
        self._is_out_of_reach = False

    def wake(self) -> None:
        """Wake the task, from any thread."""
        # A forked child shares the sockets that wake the loop: it would wake that of its parent.
        if self._is_woken or loop_process() != self._process:
            return
        self._is_woken = True
        with suppress(RuntimeError):  # the loop has ended, and the task with it
            self._loop.call_soon_threadsafe(self._awake.set)

    async def run(self) -> None:
        """Send until `stop`; then give all remaining writes one last attempt."""
        try:
            await self._serve()
        except asyncio.CancelledError:
            self.stop(_CANCELLED_TIMEOUT)
            await self._serve()
            raise
        finally:
            await self._end()

    def stop(self, timeout: float) -> None:
        """Accept no further Events, and give all remaining writes one last attempt. On the loop only."""
        # A second call may only shorten the time.
        at = self._monotonic() + timeout
        self._stop_at = at if self._stop_at is None else min(self._stop_at, at)
        self._buffer.close()
        self._buffer.catch_up()
        self._buffer.hurry()
        self.wake()

    async def flush(self, timeout: float) -> bool:
        """Wait until all recorded Events are written or abandoned; return False after the timeout."""
        # Records that change later are not waited for.
        left, serial = self._buffer.catch_up()
        if not left:
            return True
        flush = _Flush(left, serial, asyncio.Event())
        self._flushes.append(flush)
        self.wake()
        try:
            async with asyncio.timeout(timeout):
                await flush.done.wait()
        except TimeoutError:
            return False
        finally:
            self._flushes.remove(flush)
        return True

    async def _serve(self) -> None:
        while True:
            self._is_woken = False
            self._awake.clear()
            writes, seconds = self._buffer.turn()
            for write in writes:
                task = self._loop.create_task(self._send(write))
                self._sends.add(task)
                task.add_done_callback(partial(self._note_end, write))
            if self._stop_at is not None:
                left = self._stop_at - self._monotonic()
                if left <= 0 or not len(self._buffer):
                    return
                seconds = left if seconds is None else min(seconds, left)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._awake.wait()

    async def _end(self) -> None:
        self._buffer.close()
        sends = list(self._sends)
        # Requests without a response by now had their time.
        for task in sends:
            task.cancel()
        await asyncio.gather(*sends, return_exceptions=True)
        for flush in self._flushes:
            flush.done.set()
        if left := self._buffer.abandon():
            _log.warning(
                "recorder %s: %d Events were not written before it stopped; stop it with a longer timeout, or check "
                "that the server responds",
                self._component,
                left,
            )

    async def _send(self, write: EventWrite) -> None:
        try:
            verb, count = await self._write(write)
        except Exception as error:  # noqa: BLE001 - a failure of one Event must not end the recorder
            is_done = self._handle_failure(write, error)
        else:
            self._buffer.succeeded(write, count, verb)
            self._note_reached()
            is_done = count >= write.count
        self._wake_flushes(write, is_done=is_done)
        self.wake()

    def _note_end(self, write: EventWrite, task: asyncio.Task[None]) -> None:
        self._sends.discard(task)
        # Not in the coroutine: a task that is cancelled before its first step never enters it.
        if task.cancelled():
            self._note_ambiguous(write)
            self._buffer.put_back(write)
            self.wake()

    def _note_ambiguous(self, write: EventWrite) -> None:
        """Record that the server may have created an Event: then its name is taken by ourselves."""
        if write.is_create and not write.record.maybe_written:
            write.record.maybe_written = write.count

    async def _write(self, write: EventWrite) -> tuple[str, int]:
        """Write an Event; return the verb, and the count that the server stores now."""
        if await self._sink.choose() == "v1":
            self._buffer.use_core()
        for _ in range(_MAX_RENAMES):
            try:
                return await self._sink.write(write), write.count
            except AlreadyExistsError:
                # Either our own create succeeded and its response was lost, or another recorder took the name.
                if written := write.record.maybe_written:
                    return "create", written
                self._buffer.rename(write)
        return await self._sink.write(write), write.count

    def _handle_failure(self, write: EventWrite, error: Exception) -> bool:
        """Handle a failure; return whether the write is abandoned."""
        failure = failure_of(error)
        if failure.verdict == "retry":
            # Otherwise a retry of the create would find its own Event, and rename it.
            if failure.is_ambiguous:
                self._note_ambiguous(write)
            self._note_out_of_reach(error)
            if self._buffer.retry_later(write, failure.after, failure.kind):
                return False
            self._log_once(f"given up: {failure.kind}", write, error, failure)
            return True
        self._buffer.gave_up(write, failure.kind)
        if failure.verdict == "closed":
            self._stop_at = self._monotonic()
        elif failure.verdict == "quiet":
            _log.debug("recorder %s: %s", self._component, error)
        else:
            self._log_once(failure.kind, write, error, failure)
        return True

    def _wake_flushes(self, write: EventWrite, *, is_done: bool) -> None:
        """Wake flushes whose records are written or abandoned."""
        for flush in self._flushes:
            if (is_done and write.serial > flush.serial) or not self._buffer.is_waiting(write.record):
                flush.left.discard(write.record)
            if not flush.left:
                flush.done.set()

    def _note_out_of_reach(self, error: Exception) -> None:
        if not self._is_out_of_reach:
            _log.warning(
                "recorder %s: Events cannot be written now; they are kept and tried again: %s",
                self._component,
                error,
            )
        self._is_out_of_reach = True

    def _note_reached(self) -> None:
        if self._is_out_of_reach:
            _log.info("recorder %s: Events can be written again", self._component)
        self._is_out_of_reach = False

    def _log_once(self, kind: str, write: EventWrite, error: Exception, failure: WriteFailure) -> None:
        """Log the first failure of each kind as an error: many Events fail for one reason."""
        level = logging.DEBUG if kind in self._logged else logging.ERROR
        self._logged.add(kind)
        first = write.record.first
        _log.log(
            level,
            "recorder %s: the Event %s about %s %s was not written: %s%s Further failures of this kind (%s) are logged "
            "as "
            "debug messages.",
            self._component,
            first.reason,
            first.regarding.kind,
            "/".join(part for part in (first.regarding.namespace, first.regarding.name) if part),
            error,
            self._rule() if isinstance(error, ForbiddenError) else "",
            failure.kind,
        )

    def _rule(self) -> str:
        group = "" if self._sink.api == "v1" else "events.k8s.io"
        rule = f'apiGroups: ["{group}"], resources: ["events"], verbs: ["create", "patch"]'
        return f" It needs a role with this rule: {rule}."
