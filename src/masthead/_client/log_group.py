"""The logs of many pods and containers, merged; pods that come and go join and leave."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from masthead._client.log_follow import LogFollower
from masthead._client.log_merge import LogBuffer, LogMerger
from masthead._client.log_pods import view_of
from masthead._module import set_module
from masthead.errors import (
    DecodeError,
    ExpiredError,
    ForbiddenError,
    GoneError,
    LogStreamError,
    MastheadError,
    NotFoundError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from typing import Self

    from masthead._client.log_line import LogLine
    from masthead._client.log_pods import ContainerFilter, LogPod
    from masthead._client.log_query import LogQuery
    from masthead._client.log_source import LogSource
    from masthead._client.watch_event import WatchEvent
    from masthead._meta.object import Object

__all__ = ["LogGroup", "MergedLogs"]

_log: Final = logging.getLogger("masthead.client")

_RELIST_DELAY: Final = 1.0
"""Seconds until the pods are listed again, if their watch cannot be resumed."""
_DELETION_DELAY: Final = 5.0
"""Seconds until the watch should report a deletion, after the server returned 404 for a pod."""


@dataclass(frozen=True, slots=True)
class LogGroup:
    """Which logs are merged, and how.

    Attributes:
        pods: Yields the pods, and with `LogQuery.follow` their changes; it is called again when these cannot be
            resumed.
        source: The log of a container, by namespace, pod and container.
        containers: Which containers of a pod are meant.
        options: Which part of each log.
        max_streams: The maximum number of concurrent streams.
        on_error: Called with the error that ends one log; None to log a warning.
    """

    pods: Callable[[], AsyncGenerator[WatchEvent[Object]]]
    source: Callable[[str, str, str], LogSource]
    containers: ContainerFilter
    options: LogQuery
    max_streams: int
    on_error: Callable[[LogStreamError], None] | None


@set_module("masthead.aio.streams")
class MergedLogs:
    """The lines of many logs, in the order in which they arrive: an async iterator, to be used in ``async with``.

    Each container's own lines are in order; lines of different containers alternate, so that a chatty one does not
    hold up the others. Reading slowly slows the nodes down, and costs no memory. A log that fails ends alone: its
    error is logged, or given to the caller's function.

    One reader at a time.
    """

    def __init__(self, group: LogGroup) -> None:
        self._run = _Run(group)
        self._ready: deque[LogLine] = deque()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> LogLine:
        if not self._ready:
            lines = await self._run.next_lines()
            if not lines:
                raise StopAsyncIteration
            self._ready.extend(lines)
        return self._ready.popleft()

    async def close(self) -> None:
        """Stop reading. Closing twice does nothing."""
        self._ready.clear()
        await self._run.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __del__(self) -> None:
        # Its tasks know only the run: an iterator that is dropped does not leave them behind.
        self._run.abandon()


class _Run:
    """The tasks of merged logs: one task follows the pods, and one reads each log."""

    def __init__(self, group: LogGroup) -> None:
        self._group = group
        self._options = group.options
        self._merger = LogMerger()
        self._places = asyncio.Semaphore(group.max_streams)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._discovery: asyncio.Task[None] | None = None
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._views: dict[str, LogPod] = {}
        self._unlisted: set[str] = set()
        """Pods that have not been listed again yet."""
        self._is_outdated = asyncio.Event()
        self._is_initial = True
        self._is_closed = False
        self._has_warned = False

    async def next_lines(self) -> list[LogLine]:
        if self._is_closed:
            return []
        # Nothing is requested before the first read.
        if self._discovery is None:
            self._loop = asyncio.get_running_loop()
            self._discovery = self._loop.create_task(self._discover())
        return await self._merger.next_lines()

    async def close(self) -> None:
        tasks = self._cancel()
        if tasks:
            await asyncio.wait(tasks)

    def abandon(self) -> None:
        """Cancel the tasks without waiting, from any thread."""
        if self._loop is not None and not self._is_closed:
            with suppress(RuntimeError):  # the loop is closed, and with it the tasks
                self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> list[asyncio.Task[None]]:
        self._is_closed = True
        tasks = list(self._tasks.values())
        if self._discovery is not None:
            tasks.append(self._discovery)
        for task in tasks:
            task.cancel()
        self._merger.discard()
        self._merger.finish()
        return tasks

    async def _discover(self) -> None:
        """Follow the pods, and read the logs of their containers."""
        error: Exception | None = None
        try:
            while not await self._follow_pods():
                _log.info("the watch of the pods whose logs are followed cannot be resumed: they are listed again")
                await asyncio.sleep(_RELIST_DELAY)
            if self._tasks:
                await asyncio.wait(self._tasks.values())
        except Exception as failure:  # noqa: BLE001 - it belongs to the reader
            error = failure
        finally:
            # Lines read before the end are delivered first.
            self._merger.finish(error)

    async def _follow_pods(self) -> bool:
        """Observe the pods and their changes; returns False if they have to be listed again."""
        self._is_outdated.clear()
        loop = asyncio.get_running_loop()
        following = loop.create_task(self._observe_all())
        outdated = loop.create_task(self._is_outdated.wait())
        try:
            await asyncio.wait([following, outdated], return_when=asyncio.FIRST_COMPLETED)
            # A deletion was missed, so the list is read again.
            if not following.done():
                return False
            await following
        except (ExpiredError, GoneError):
            return False
        finally:
            following.cancel()
            outdated.cancel()
            await asyncio.gather(following, outdated, return_exceptions=True)
        return True

    async def _observe_all(self) -> None:
        self._unlisted = set(self._views)
        async with aclosing(self._group.pods()) as events:
            async for event in events:
                self._observe(event)

    def _observe(self, event: WatchEvent[Object]) -> None:
        if event.type == "BOOKMARK":
            if event.ends_initial_events:
                self._is_initial = False
                # Pods of the previous list that the new one lacks were deleted in between.
                for uid in self._unlisted:
                    self._forget(uid)
                self._unlisted.clear()
            return
        try:
            pod = view_of(event.object)
        except DecodeError as error:
            self._report(LogStreamError(f"a pod that cannot be decoded is left out: {error}"))
            return
        if event.type == "DELETED":
            self._forget(pod.metadata.uid)
            return
        self._views[pod.metadata.uid] = pod
        self._unlisted.discard(pod.metadata.uid)
        for container in self._group.containers.chosen(pod):
            status = pod.container_status(container)
            # A container without a log would only produce an error.
            if status is not None and (status.has_previous if self._options.previous else status.has_log):
                self._start(pod, container)

    def _forget(self, uid: str) -> None:
        """A pod was deleted. Its logs end when its last lines have been read."""
        self._views.pop(uid, None)
        # Logs that are still read have lines to deliver; they are forgotten at their end.
        for key in [key for key, task in self._tasks.items() if key[0] == uid and task.done()]:
            del self._tasks[key]

    def _start(self, pod: LogPod, container: str) -> None:
        key = pod.metadata.uid, container
        if key in self._tasks:  # also if it is done: its log was read
            return
        buffer = LogBuffer(self._merger, pod.metadata.namespace, pod.metadata.name, container)
        # The tail counts for containers that ran at the start; later ones are read from their first line.
        options = self._options if self._is_initial else replace(self._options, tail_lines=None)
        self._tasks[key] = asyncio.get_running_loop().create_task(self._read(buffer, key, options))

    async def _read(self, buffer: LogBuffer, key: tuple[str, str], options: LogQuery) -> None:
        try:
            # Said once, since followed logs may occupy their places for ever.
            if self._places.locked():
                self._warn_of_waiting()
            async with self._places:
                await self._read_lines(buffer, key[0], options)
        except Exception as error:  # noqa: BLE001 - it is the caller's function that has failed
            self._merger.finish(error)
        finally:
            if key[0] not in self._views:
                self._tasks.pop(key, None)

    async def _read_lines(self, buffer: LogBuffer, uid: str, options: LogQuery) -> None:
        source = self._group.source(buffer.namespace, buffer.pod, buffer.container)

        async def view() -> LogPod | None:
            return self._views.get(uid) if options.follow else None

        async def still_exists() -> bool:
            # Logs are requested by name, and the watch may be behind: a StatefulSet makes another pod of that name.
            if uid not in self._views:
                return False
            try:
                found = await source.pod()
            # Without the right to read pods, the watch alone decides.
            except ForbiddenError:
                return True
            is_there = found is not None and found.metadata.uid == uid
            if not is_there:
                self._suspect(uid)
            return is_there

        follower = LogFollower(
            source,
            options,
            restarts=True,
            is_patient=options.follow,
            get_view=view,
            still_exists=still_exists,
        )
        try:
            while lines := await follower.next_lines():
                await buffer.put(lines)
        except MastheadError as error:
            if isinstance(error, NotFoundError):
                if uid not in self._views:
                    return  # a deleted pod writes no more lines
                self._suspect(uid)
            self._report(_stream_error(buffer, error))
        finally:
            follower.close()

    def _suspect(self, uid: str) -> None:
        """Handle a pod that the server does not have, although the watch has not reported its deletion.

        A new server at the same address has another history. A watch that resumes at a version of
        the old one gets no changes until the new one has become as long.
        """

        def check() -> None:
            if uid in self._views:
                self._is_outdated.set()

        if self._options.follow:
            asyncio.get_running_loop().call_later(_DELETION_DELAY, check)

    def _warn_of_waiting(self) -> None:
        if self._options.follow and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "more than %d logs are to be followed; the others wait until one of these ends. "
                "Select fewer pods or containers, or raise max_streams.",
                self._group.max_streams,
            )

    def _report(self, error: LogStreamError) -> None:
        if self._group.on_error is None:
            _log.warning("%s", error)
        else:
            self._group.on_error(error)


def _stream_error(buffer: LogBuffer, error: MastheadError) -> LogStreamError:
    where = f"{buffer.namespace}/{buffer.pod}"
    made = LogStreamError(
        f"the log of container {buffer.container!r} of pod {where} ends early: {error}",
        namespace=buffer.namespace,
        pod=buffer.pod,
        container=buffer.container,
    )
    made.__cause__ = error
    return made
