"""The recorder of a factory: connects its informers to a thread that writes the files."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from masthead._cache.factory.factory import SharedInformerFactory, follow_informers, server_of
from masthead._module import set_module
from masthead._recorder.backlog import Backlog
from masthead._recorder.feeds import FullState, InformerFeed, Line, NewPart
from masthead._recorder.parts import PartOptions, PartWriter
from masthead._recording.entries import Mark
from masthead._recording.redaction import DEFAULT_RULES, Redaction
from masthead.errors import ArgumentError, RecordingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike
    from typing import Self

    from masthead._cache.factory.selection import InformerKey
    from masthead._cache.informer.informer import SharedInformer
    from masthead._meta.gvk import GroupVersionResource
    from masthead._recorder.feeds import Item, KindDetails
    from masthead._recording.entries import Entry
    from masthead._sync.factory import SharedInformerFactory as BlockingSharedInformerFactory

__all__ = ["Recorder", "RecorderStatistics", "learn_kinds", "learn_version", "record_entry"]

_log: Final = logging.getLogger("masthead.recording")

_MAX_BACKLOG: Final = 64 << 20
_STOP_TIMEOUT: Final = 30.0
"""Seconds that a stop waits for the disk."""
_MIN_RETRY: Final = 5.0
_MAX_RETRY: Final = 300.0
"""Seconds until the next attempt after an error of the disk, doubled each time."""


@set_module("masthead.recording")
@dataclass(frozen=True, slots=True)
class RecorderStatistics:
    """The numbers of a recorder.

    Attributes:
        changes: The number of changes, without the states at the begin of each file.
        reconciles: The number of reconciles.
        bytes: The size of all its files.
        files: Their number.
        dropped: The number of changes lost to a full or slow disk.
        gaps: The number of marked gaps.
        error: The last error of the disk; empty if it writes.
    """

    changes: int = 0
    reconciles: int = 0
    bytes: int = 0
    files: int = 0
    dropped: int = 0
    gaps: int = 0
    error: str = ""


@set_module("masthead.recording")
class Recorder:
    """Records all changes that the informers of a factory see, into a file that `Recording` reads.

    ::

        factory = masthead.SharedInformerFactory(client)
        factory.core_v1.pods, factory.apps_v1.deployments
        with masthead.recording.Recorder(factory, "incident.mhr"), factory:
            ...

    Informers that the factory creates later are recorded, too. It serves both façades, with ``with`` and with ``async
    with``: its thread writes, and no method waits for the cluster.

    A recorder does not harm its program: if the disk is full or too slow, changes are dropped and counted, the gap is
    marked, and the state is recorded again as soon as that is possible.

    ::

        new ──start──> recording ──stop──> stopped; never again
    """

    def __init__(
        self,
        factory: SharedInformerFactory | BlockingSharedInformerFactory,
        path: str | PathLike[str],
        *,
        redact: Iterable[str] = DEFAULT_RULES,
        max_bytes: int | None = None,
        max_age: float | None = None,
        keep: int | None = None,
        labels: Mapping[str, str] | None = None,
        flush_every: float = 2.0,
    ) -> None:
        """Create a recorder. Nothing is written before the start.

        Args:
            factory: The factory, of either façade.
            path: The file. If it exists, the recording continues in the next file, ``PATH.2``.
            redact: What to leave out, such as ``secrets:data.*``; empty to record everything, Secrets included.
            max_bytes: The size at which another file begins, with the whole state; None for never.
            max_age: The seconds after which another file begins; None for never.
            keep: The number of files to keep; None for all.
            labels: What to remember with the recording, such as the name of the cluster.
            flush_every: Seconds between two writes to the file; a crash loses at most so many.

        Raises:
            ArgumentError: If an argument is invalid.
        """
        # The blocking factory is a façade of the async one.
        inner = getattr(factory, "_async", factory)
        if not isinstance(inner, SharedInformerFactory):
            raise ArgumentError(
                f"a recorder needs a SharedInformerFactory, and was given a {type(factory).__name__}", value=factory
            )
        if not fspath(path):
            raise ArgumentError("a recorder needs the path of a file, and was given an empty one", value=path)
        for name, value in (("max_bytes", max_bytes), ("max_age", max_age), ("keep", keep)):
            _check_positive(name, value)
        _check_positive("flush_every", flush_every)
        self._factory = inner
        self._options = PartOptions(
            path=Path(fspath(path)),
            labels=dict(labels or {}),
            server=server_of(inner),
            max_bytes=max_bytes,
            max_age=max_age,
            keep=keep,
        )
        self._redaction = Redaction([redact] if isinstance(redact, str) else redact)
        self._flush_every = flush_every
        self._details: dict[GroupVersionResource, KindDetails] = {}
        self._server_version = ""
        self._backlog: Backlog[Item] = Backlog(_MAX_BACKLOG)
        self._lock = threading.Lock()
        self._feeds: dict[tuple[object, ...], InformerFeed] = {}
        self._by_resource: dict[GroupVersionResource, list[InformerFeed]] = {}
        self._thread: threading.Thread | None = None
        self._unfollow: Callable[[], None] | None = None
        self._parts: PartWriter | None = None
        self._is_rotating = False
        self._is_stopped = False
        self._process = os.getpid()
        self._dropped = 0
        self._error = ""
        self._is_probing = False
        self._retry_at: float | None = None
        self._retry_after = _MIN_RETRY

    @property
    def path(self) -> Path:
        """The file that is being written; before the start, the first one."""
        return self._options.path if self._parts is None else self._parts.path

    @property
    def is_recording(self) -> bool:
        """Whether it was started and not stopped."""
        return self._thread is not None and not self._is_stopped

    @property
    def statistics(self) -> RecorderStatistics:
        """The statistics until now."""
        parts = self._parts
        if parts is None:
            return RecorderStatistics()
        return RecorderStatistics(
            parts.changes,
            parts.reconciles,
            parts.bytes,
            parts.files,
            self._dropped + self._backlog.dropped,
            parts.gaps,
            self._error,
        )

    def start(self) -> None:
        """Create the file, and begin to record.

        Raises:
            RecordingError: If the file cannot be created, the factory is recorded already, or the recorder was started
                before.
            ConfigError: If zstandard is not installed, which Python needs before 3.14.
        """
        if self._thread is not None:
            raise RecordingError("a recorder is started once; make another one")
        options = dataclasses.replace(self._options, server_version=self._server_version)
        self._parts = PartWriter(options, self._redaction, self._details, _now)
        # A daemon: a program that ends without a stop loses the last seconds at most.
        self._thread = threading.Thread(target=self._run, name="masthead-recorder", daemon=True)
        self._unfollow = follow_informers(self._factory, self._add)
        if any(feed.is_taken for feed in self._all_feeds()):
            self._undo_start(self._parts)
            raise RecordingError("another recorder records this factory already")
        self._thread.start()

    def stop(self) -> None:
        """Write the waiting changes, and close the file. A second stop is a no-op."""
        thread = self._thread
        # Another process has neither the thread nor the informers, and maybe locks that no one releases.
        if os.getpid() != self._process:
            return
        with self._lock:
            if self._is_stopped or thread is None:
                return
            self._is_stopped = True
        if self._unfollow is not None:
            self._unfollow()
        for feed in self._all_feeds():
            feed.detach()
            feed.end()
        # After the observers have left, so that no observed change is refused.
        self._backlog.close()
        thread.join(_STOP_TIMEOUT)
        if thread.is_alive():
            _log.error("the recording %s is not complete: the disk did not take it for %g s", self.path, _STOP_TIMEOUT)

    def _undo_start(self, parts: PartWriter) -> None:
        self._is_stopped = True
        if self._unfollow is not None:
            self._unfollow()
        for feed in self._all_feeds():
            feed.detach()
        parts.close()
        parts.path.unlink()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        # In a thread: the event loop need not wait for the disk.
        await asyncio.to_thread(self.stop)

    def __repr__(self) -> str:
        state = "new" if self._thread is None else "stopped" if self._is_stopped else "recording"
        return f"<Recorder {self.path}: {state}, {self.statistics.changes} changes>"

    def _all_feeds(self) -> list[InformerFeed]:
        with self._lock:
            return list(self._feeds.values())

    def _add(self, key: InformerKey, informer: SharedInformer[Any]) -> None:
        """Record an informer of the factory."""
        with self._lock:
            # Two forms of one selection see the same changes: the first one is enough.
            identity = (key.resource, key.namespaces, key.selectors)
            if identity in self._feeds or self._is_stopped:
                return
            others = self._by_resource.setdefault(key.resource, [])
            feed = self._feeds[identity] = InformerFeed(len(self._feeds), key, informer, self._backlog, _now, others)
            others.append(feed)
        if feed.is_taken:
            _log.error("%s is not recorded: another recorder records it already", key.name)
        else:
            feed.attach()

    def _put(self, entry: Entry | Callable[[], Entry], weight: int) -> None:
        self._backlog.put(Line(entry), weight)

    def _run(self) -> None:
        """Write what comes, until the stop."""
        parts = cast("PartWriter", self._parts)
        flush_at = time.monotonic() + self._flush_every
        while True:
            items, is_closed = self._backlog.take(max(0.0, flush_at - time.monotonic()))
            for item, weight in items:
                self._guard(parts, partial(self._write, parts, item), item)
                self._backlog.release(weight)
            # Early after a pause, to notice a disk that is still full.
            if time.monotonic() >= flush_at or self._is_probing:
                self._guard(parts, parts.flush)
                self._end_pause(parts)
                flush_at = time.monotonic() + self._flush_every
            if is_closed:
                # Whatever came between `take` and the close is in the next one.
                if not items:
                    break
            elif self._may_recover():
                self._recover()
        self._close(parts)

    def _write(self, parts: PartWriter, item: Item) -> None:
        if isinstance(item, NewPart):
            self._is_rotating = False
        # After an error, everything is lost until the state is recorded again.
        if self._retry_at is not None:
            self._backlog.lose(_count(item))
            return
        parts.write(item)
        if parts.is_due and not self._is_rotating:
            self._is_rotating = True
            with ExitStack() as gates:
                self._backlog.insert(NewPart(self._full_states(gates, is_continued=True)))

    def _guard(self, parts: PartWriter, write: Callable[[], object], item: Item | None = None) -> None:
        """Write; an error of the disk begins a pause."""
        try:
            write()
        except Exception as error:  # noqa: BLE001 - a recorder must not harm its program
            # Once: a full disk stays full for a while.
            if not self._error:
                _log.error("the recording pauses: %s", error, exc_info=not isinstance(error, RecordingError | OSError))
            self._error = str(error)
            self._is_probing = False
            lost = parts.lose()
            self._backlog.lose(lost or (0 if item is None else _count(item)))
            self._retry_at = time.monotonic() + self._retry_after
            self._retry_after = min(2 * self._retry_after, _MAX_RETRY)

    def _may_recover(self) -> bool:
        if self._retry_at is not None:
            return time.monotonic() >= self._retry_at
        return self._backlog.is_refusing and self._backlog.is_low

    def _recover(self) -> None:
        """Record the whole state after a loss, so that later states are right."""
        why = "the disk could not be written" if self._error else "the disk was too slow"
        self._is_probing = bool(self._error)
        self._retry_at = None
        with ExitStack() as gates:
            states = self._full_states(gates, why=why)
            dropped = self._backlog.readmit()
            self._dropped += dropped
            mark = Mark(time=_now(), text=f"changes are missing: {why}", dropped=max(dropped, 1))
            # Through the backlog: what waits there is older.
            self._backlog.insert(Line(mark))
            for state in states:
                self._backlog.insert(state)

    def _end_pause(self, parts: PartWriter) -> None:
        if self._is_probing and self._retry_at is None:
            _log.info("the recording %s goes on; %d changes are missing", parts.path, self._dropped)
            self._is_probing, self._error, self._retry_after = False, "", _MIN_RETRY

    def _full_states(self, gates: ExitStack, *, is_continued: bool = False, why: str = "") -> list[FullState]:
        """The state of all informers at one moment, which lasts until the gates are released."""
        feeds = self._all_feeds()
        # All gates, although nothing else holds two: one moment for all kinds, and no change between it and the queue.
        for feed in feeds:
            gates.enter_context(feed.gate)
        return [feed.full_state(is_continued=is_continued, why=why) for feed in feeds]

    def _close(self, parts: PartWriter) -> None:
        dropped = self._backlog.readmit()
        self._dropped += dropped
        text = "the recorder stopped" + (", and changes before that are missing" if dropped else "")
        if self._retry_at is None:
            self._guard(parts, partial(parts.write, Line(Mark(time=_now(), text=text, dropped=dropped))))
        self._guard(parts, parts.close)


def learn_kinds(recorder: Recorder, details: Mapping[GroupVersionResource, KindDetails]) -> None:
    """Tell a recorder what discovery knows of the resources, before its start."""
    recorder._details.update(details)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def learn_version(recorder: Recorder, version: str) -> None:
    """Tell a recorder the version of the server, before its start."""
    recorder._server_version = version  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def record_entry(recorder: Recorder, entry: Callable[[], Entry], weight: int) -> None:
    """Record a line of the caller, such as a reconcile, from any thread; the recorder's own thread makes it."""
    recorder._put(entry, weight)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def _count(item: Item) -> int:
    """The number of changes in an item; a state is recorded again."""
    if isinstance(item, FullState | NewPart):
        return 0
    return 1 if isinstance(item, Line) else len(item.states)


def _now() -> int:
    return time.time_ns() // 1000


def _check_positive(name: str, value: float | None) -> None:
    if value is not None and not value > 0:
        raise ArgumentError(f"{name} is {value!r}; it must be more than 0", value=value)
