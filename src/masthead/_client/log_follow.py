"""Followed logs, over lost connections.

`masthead._sansio.log_resume` decides which lines are new; here connections are opened, and opened again.
"""

from __future__ import annotations

import asyncio
import logging
import math
from typing import TYPE_CHECKING, Final

from masthead._client.log_pods import AfterEnd, after_end
from masthead._sansio.backoff import Backoff, reconnect_backoff
from masthead._sansio.listwatch_steps import REOPEN_INTERVAL
from masthead._sansio.log_lines import ByteLimit
from masthead._sansio.log_resume import LogResume
from masthead._sansio.randomness import random
from masthead.errors import (
    BadRequestError,
    CertificateError,
    ClosedError,
    ConnectError,
    DeadlineError,
    ForbiddenError,
    MastheadError,
    StatusError,
    TransportError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from masthead._client.log_pods import LogPod
    from masthead._client.log_query import LogQuery
    from masthead._client.log_source import LogSource
    from masthead._rest.response_stream import ResponseStream

__all__ = ["FOLLOW_READ_TIMEOUT", "LogFollower"]

_log: Final = logging.getLogger("masthead.client")

FOLLOW_READ_TIMEOUT: Final = 300.0
"""Seconds without a byte after which a followed log is requested again: its connection may be dead, or only quiet."""
_TRANSIENT: Final = frozenset({429, 500, 502, 503, 504})
"""What an API server answers while it, or the node, cannot be reached: the pod and its log are still there."""
_NOT_STARTED: Final = ("waiting to start", "is not available")
"""The node's message about a container whose log does not exist yet."""


class LogFollower:
    """Reads a log to its end, over as many connections as that takes; lines keep their timestamps.

    ::

        open ──> lines, lines ... ──the stream ends──> is the container still there? ──no──> the end
         ^  └──refused, lost or silent──┐                        │
         └────────── after a delay <────┴──────────yes───────────┘
    """

    def __init__(
        self,
        source: LogSource,
        options: LogQuery,
        *,
        restarts: bool = False,
        is_patient: bool = False,
        get_view: Callable[[], Awaitable[LogPod | None]] | None = None,
        still_exists: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """Describe what to follow. Nothing is sent.

        Args:
            source: The log.
            options: The part of it that is wanted.
            restarts: Whether to go on with the next instance when the container is started again.
            is_patient: Whether to try again also if the log could not be opened even once.
            get_view: Reads the pod; the source's own way by default.
            still_exists: Tells, before the log is requested again, whether the pod is still there, and no other one of
                its name; by default that is not asked.
        """
        self._source = source
        self._options = options
        self._restarts = restarts
        self._is_patient = is_patient
        self._get_view = get_view or source.pod
        self._still_exists = still_exists
        self._resume = LogResume()
        self._limit = ByteLimit(options.limit_bytes, has_stamps=options.timestamps)
        self._lost = Backoff(first=0.5, cap=30.0, reset_after=5.0)
        self._unreachable = reconnect_backoff()
        self._waiting = Backoff(first=0.5, cap=5.0)
        self._due = 0.0
        self._start: float | None = None
        self._has_opened = False
        self._opened_at = math.inf
        self._failures = 0
        self._stream: ResponseStream | None = None
        self._chunks: AsyncIterator[bytes] | None = None
        self._is_over = False
        self._closed = asyncio.Event()

    async def next_lines(self) -> list[bytes]:
        """The next lines, as many as have arrived together; none at the end.

        Raises:
            StatusError: If the server refuses for good.
            TransportError: If the server was never reached.
            ClosedError: If the client is closed.
        """
        while not self._is_over and not self._closed.is_set() and not self._limit.is_reached:
            try:
                if lines := self._limit.take(await self._advance()):
                    return lines
            except ClosedError:
                # A close() in another task ends a read like this; only the client's own end is an error.
                if not self._closed.is_set():
                    raise
        self._drop()
        return []

    def close(self) -> None:
        """End it, also while another task reads. Closing twice does nothing."""
        self._closed.set()
        self._drop()

    async def _advance(self) -> list[bytes]:
        """Read from the open connection, or open the next one."""
        try:
            if self._chunks is None:
                return await self._open()
            chunk = await anext(self._chunks, None)
            if chunk is None:
                return await self._after_end()
        except (StatusError, TransportError) as error:
            self._after_failure(error)
            return []
        except asyncio.CancelledError:
            # A reader with its own timeout may come back: then the log is requested again.
            self._drop()
            self._resume.lost()
            raise
        lines = self._resume.feed(chunk)
        # Only a line proves progress: a server may accept requests and drop each of them.
        if lines:
            self._failures = 0
            self._lost.progress(_now())
            self._waiting.reset()
        return lines

    async def _open(self) -> list[bytes]:
        """Open a connection; return the remaining lines if there is nothing to connect to any more."""
        if await self._closed_before(self._due):
            return []
        if self._start is None:
            self._start = _now()
            query = self._options.first_query()
        # A pod of the same name may have replaced the one whose log this is.
        elif self._still_exists is not None and not await self._still_exists():
            self._is_over = True
            return self._resume.end()
        else:
            query = self._options.resumed_query(self._resume.since, _now() - self._start)
        stream = await self._source.open(query)
        if self._closed.is_set():  # while it was being opened
            stream.close()
            return []
        self._stream, self._chunks = stream, stream.chunks()
        self._has_opened = True
        self._opened_at = _now()
        return []

    async def _after_end(self) -> list[bytes]:
        """The stream has ended; has the log?"""
        try:
            pod = await self._get_view()
        except ForbiddenError:
            # Whoever may read logs need not be allowed to read pods: then the end of a stream is all there is to go by.
            pod = None
        match after_end(pod, self._source.container, self._resume.last, restarts=self._restarts):
            case AfterEnd.END:
                self._is_over = True
                return self._resume.end()
            case AfterEnd.WAIT:
                self._pause(self._waiting, is_ended=True)
            case AfterEnd.RESUME:
                self._pause(None if self._has_lasted() else self._lost, is_ended=True)
        return []

    def _after_failure(self, error: StatusError | TransportError) -> None:
        """Decide whether to try again.

        Raises:
            MastheadError: The error, if another attempt would not help.
        """
        # The read timeout of an open stream: the container wrote nothing.
        is_quiet = isinstance(error, DeadlineError) and self._chunks is not None
        backoff = self._backoff_after(error)
        self._drop()
        # Not a failure: the image may still be pulled, for as long as it takes.
        if self._options.follow and _is_not_started(error):
            self._pause(self._waiting)
            return
        if not self._may_retry(error):
            raise error
        after = self._pause(backoff)
        self._failures += not is_quiet
        # A quiet log is normal, and a lost connection is common; a failure to resume is not.
        is_common = self._failures <= 1 and not isinstance(error, StatusError | ConnectError)
        level = logging.DEBUG if is_quiet else logging.INFO if is_common else logging.WARNING
        _log.log(
            level,
            "%s: a followed log is requested again in %.1f s after %s",
            self._source.server,
            after,
            error,
        )

    def _may_retry(self, error: MastheadError) -> bool:
        if isinstance(error, StatusError):
            is_open = self._has_opened or self._is_patient
            return is_open and error.code in _TRANSIENT
        if isinstance(error, CertificateError):
            return False
        # A wrong address stays wrong.
        return self._has_opened or (self._is_patient and self._source.has_reached)

    def _backoff_after(self, error: StatusError | TransportError) -> Backoff | None:
        """Choose the delays after a failure; None to open the next connection without delay."""
        # A connection that worked for a while was dropped, and may be opened again without delay.
        if self._has_lasted() and not isinstance(error, StatusError):
            return None
        return self._unreachable if isinstance(error, ConnectError) else self._lost

    def _has_lasted(self) -> bool:
        """Whether the connection is open, and was good for a while: load balancers close those of quiet logs."""
        return self._chunks is not None and _now() - self._opened_at >= REOPEN_INTERVAL

    def _pause(self, backoff: Backoff | None, *, is_ended: bool = False) -> float:
        """Give up the connection, and open the next one after a delay, which is returned."""
        self._drop()
        self._resume.lost(is_ended=is_ended)
        now = _now()
        if backoff is None:
            self._lost.reset()
            self._unreachable.reset()
        after = 0.0 if backoff is None else backoff.next(now, random)
        self._due = now + after
        return after

    def _drop(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = self._chunks = None

    async def _closed_before(self, due: float) -> bool:
        """Wait until a request is due; return whether it was closed during the wait."""
        if due > _now():
            try:
                async with asyncio.timeout_at(due):
                    await self._closed.wait()
            except TimeoutError:
                pass
        return self._closed.is_set()


def _is_not_started(error: MastheadError) -> bool:
    return isinstance(error, BadRequestError) and any(said in error.message for said in _NOT_STARTED)


def _now() -> float:
    return asyncio.get_running_loop().time()
