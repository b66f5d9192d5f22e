"""Writes the files of a recording: encodes what feeds have queued, and begins new parts.

Belongs to one thread at a time, and blocks.
"""

from __future__ import annotations

import logging
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, Final

import msgspec

from masthead._recorder.feeds import Changes, FullState, Line, NewPart, RecordedList
from masthead._recorder.lines import encode_object
from masthead._recording.entries import Change, Head, Listed, Mark, Reconcile
from masthead._recording.frames import FORMAT_VERSION, read_headers
from masthead._recording.recording import find_parts
from masthead._recording.writer import WRITER, RecordingWriter, lock
from masthead.errors import RecordingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from masthead._cache.store.storage import Stored
    from masthead._meta.gvk import GroupVersionResource
    from masthead._recorder.feeds import InformerFeed, Item, KindDetails, ObjectState
    from masthead._recording.entries import Operation
    from masthead._recording.redaction import Redaction

__all__ = ["PartOptions", "PartWriter"]

_log: Final = logging.getLogger("masthead.recording")

_ROTATION_RETRY: Final = 60.0
"""Retry delay after a failure to begin a new part."""
_NUMBER: Final = re.compile(r"\.(\d+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOptions:
    """What the parts of a recording are like.

    Attributes:
        path: The first file.
        labels: Labels of the recording.
        server: The address of the server.
        server_version: Its version.
        max_bytes: The size at which a new part begins; None for never.
        max_age: The age in seconds at which a new part begins; None for never.
        keep: The number of parts to keep; None for all.
    """

    path: Path
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    server: str = ""
    server_version: str = ""
    max_bytes: int | None = None
    max_age: float | None = None
    keep: int | None = None


class PartWriter:
    """Writes items into the current part.

    Args:
        options: The options.
        redaction: Removes secrets.
        details: What discovery knows of resources.
        now: Returns the time in microseconds.

    Attributes:
        changes: The number of changes written.
        reconciles: The number of reconciles written.
        gaps: The number of gaps marked.
        files: The number of parts begun.

    Raises:
        ConfigError: If zstandard is not installed.
        RecordingError: If the file cannot be created.
    """

    def __init__(
        self,
        options: PartOptions,
        redaction: Redaction,
        details: Mapping[GroupVersionResource, KindDetails],
        now: Callable[[], int],
    ) -> None:
        self._options = options
        self._redaction = redaction
        self._details = details
        self._now = now
        self.changes = 0
        self.reconciles = 0
        self.gaps = 0
        self.files = 0
        self._unflushed = 0
        self._unreadable = False
        self._earlier_bytes = 0
        self._state_bytes = 0
        self._kinds: set[int] = set()
        self._rotates_after = 0.0
        self._began = 0.0
        self._part = _last_part(options.path)
        self._writer = self._begin_part()

    @property
    def bytes(self) -> int:
        """The bytes written, by all parts."""
        return self._earlier_bytes + self._writer.size

    @property
    def path(self) -> Path:
        """The current part."""
        return self._writer.path

    @property
    def is_due(self) -> bool:
        """Whether a new part should begin."""
        options, monotonic = self._options, time.monotonic()
        if monotonic < self._rotates_after:
            return False
        # Without waiting lines: the limit is one of the disk.
        size = self._writer.size
        # A state larger than the limit would otherwise begin parts that hold nothing else.
        if options.max_bytes is not None and size >= options.max_bytes and size >= 2 * self._state_bytes:
            return True
        return options.max_age is not None and monotonic - self._began >= options.max_age

    def write(self, item: Item) -> None:
        """Write an item; it reaches the file with the next flush.

        Raises:
            RecordingError: If the file cannot be written.
        """
        if isinstance(item, Changes):
            self._write_states(item.feed, item.time, item.states, listed=item.listed)
        elif isinstance(item, RecordedList):
            self._write_list(item)
        elif isinstance(item, FullState):
            self._write_full_state(item)
        elif isinstance(item, NewPart):
            self._rotate(item)
        else:
            self._write_line(item)

    def flush(self) -> None:
        """Write what waits to the file.

        Raises:
            RecordingError: If the file cannot be written.
        """
        self._writer.flush()
        self._unflushed = 0

    def lose(self) -> int:
        """Note that a flush has failed; return the number of lost changes."""
        lost, self._unflushed = self._unflushed, 0
        self.changes -= lost
        # Their lines may be lost, too.
        self._kinds.clear()
        return lost

    def close(self) -> None:
        """Flush and close the file.

        Raises:
            RecordingError: If the file cannot be written; it is closed then, too.
        """
        self._writer.close()

    def _write_line(self, item: Line) -> None:
        entry = item.entry() if callable(item.entry) else item.entry
        if (isinstance(entry, Mark) and entry.dropped) or (isinstance(entry, Listed) and entry.is_gap):
            self.gaps += 1
        if isinstance(entry, Reconcile):
            self.reconciles += 1
        self._writer.write(entry)

    def _write_list(self, item: RecordedList) -> None:
        is_first = not item.since
        self._write_states(item.feed, item.time, item.states, op="STATE" if is_first else None, listed=not is_first)
        # Equal versions: nothing at all has happened in between. And a silent watch of a kind without objects is always
        # listed again, because nothing in the store tells whether the server is the same: that would be many gaps.
        is_gap = not is_first and item.since != item.version and bool(item.states or item.size)
        self._write_listed(
            item.feed,
            item.time,
            Listed(
                time=item.time,
                kind=item.feed.number,
                scope=item.scope,
                since=item.since,
                version=item.version,
                is_gap=is_gap,
                count=item.size,
                why=item.why,
            ),
        )

    def _write_full_state(self, item: FullState) -> None:
        feed, parts = item.feed, dict[str, "list[ObjectState]"]()
        for key, stored in item.items.items():
            parts.setdefault(feed.scope_of(key), []).append(("STATE", key, stored))
        # Scopes without a version have no list yet, so their state is unknown.
        for scope, version in item.versions.items():
            states = parts.get(scope, [])
            self._write_states(feed, item.time, states)
            listed = Listed(
                time=item.time,
                kind=feed.number,
                scope=scope,
                since=version if item.is_continued else "",
                version=version,
                is_gap=bool(item.why),
                count=len(states),
                why=item.why,
            )
            self._write_listed(feed, item.time, listed)

    def _write_listed(self, feed: InformerFeed, time: int, listed: Listed) -> None:
        self._write_kind(feed, time, None)
        self._writer.write(listed)
        self.gaps += listed.is_gap

    def _write_states(
        self,
        feed: InformerFeed,
        time: int,
        states: Iterable[ObjectState],
        *,
        op: Operation | None = None,
        listed: bool = False,
    ) -> None:
        for change in self._encode(feed, time, states, op=op, listed=listed):
            # First, because a write may flush.
            self._unflushed += change.op != "STATE"
            self.changes += change.op != "STATE"
            self._writer.write(change)

    def _encode(
        self, feed: InformerFeed, time: int, states: Iterable[ObjectState], *, op: Operation | None, listed: bool
    ) -> Iterator[Change]:
        resource = feed.resource.group_resource
        for operation, key, stored in states:
            namespace, _, name = key.rpartition("/")
            try:
                self._write_kind(feed, time, stored)
                encoded = encode_object(feed.storage.unpack(stored))
                text = self._redaction.apply(resource, encoded.text)
            # Not without its redaction, and not at the cost of all other objects.
            except (RecordingError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
                self._report_unreadable(f"{resource} {key}", error)
                self._writer.write(Mark(time=time, text=f"{resource} {key} cannot be recorded", dropped=1))
                continue
            yield Change(
                time=time,
                kind=feed.number,
                op=op or operation,
                namespace=namespace,
                name=name,
                uid=encoded.uid,
                version=encoded.version,
                listed=listed,
                object=msgspec.Raw(text),
            )

    def _report_unreadable(self, what: str, error: Exception) -> None:
        # Once: an object that cannot be recorded comes again with every change.
        level = logging.DEBUG if self._unreadable else logging.WARNING
        self._unreadable = True
        _log.log(level, "%s is not recorded: %s", what, error)

    def _write_kind(self, feed: InformerFeed, time: int, stored: Stored | None) -> None:
        if feed.number not in self._kinds:
            self._kinds.add(feed.number)
            sample = None if stored is None else feed.storage.unpack(stored)
            self._writer.write(feed.kind_line(time, self._details.get(feed.resource), sample))

    def _rotate(self, item: NewPart) -> None:
        """Begin a new part with the whole state; after a failure, continue the old one."""
        self.flush()
        old = self._writer
        try:
            self._writer = self._begin_part()
        except (RecordingError, OSError) as error:
            self._rotates_after = time.monotonic() + _ROTATION_RETRY
            _log.warning("no new part is begun, and %s grows: %s", old.path, error)
            return
        self._earlier_bytes += old.size
        old.close()
        # All kinds first, also those without objects: a reader of this part alone must know the recorded kinds.
        for state in item.states:
            self._write_kind(state.feed, state.time, next(iter(state.items.values()), None))
        for state in item.states:
            self._write_full_state(state)
        self.flush()
        self._state_bytes = self._writer.size
        self._prune()

    def _begin_part(self) -> RecordingWriter:
        options, number = self._options, self._part + 1
        path = options.path if number == 1 else options.path.with_name(f"{options.path.name}.{number}")

        def head(time: int) -> Head:
            return Head(
                time=time,
                version=FORMAT_VERSION,
                writer=WRITER,
                server=options.server,
                server_version=options.server_version,
                redacted=list(self._redaction.rules),
                part=number,
                labels=dict(options.labels),
            )

        writer = RecordingWriter(path, now=self._now, head=head)
        try:
            # Flushed alone: without its head, a part is unreadable.
            writer.flush()
        except RecordingError:
            writer.close()
            path.unlink()
            raise
        self._part = number
        self._kinds.clear()
        self._began = time.monotonic()
        self._state_bytes = 0
        self.files += 1
        return writer

    def _prune(self) -> None:
        """Remove the oldest parts."""
        keep = self._options.keep
        parts: Sequence[Path] = [] if keep is None else find_parts(self._options.path)[:-keep]
        for path in parts:
            try:
                path.unlink()
            except OSError as error:
                _log.warning("the old part %s of a recording cannot be removed: %s", path, error.strerror)


def _last_part(path: Path) -> int:
    """The number of the last part of an earlier recording; 0 without one.

    Raises:
        RecordingError: If a part is something else than a recording, or is being written.
    """
    if path.is_dir():
        raise RecordingError(f"{path} is a folder: name a file in it")
    try:
        parts = find_parts(path)
    except RecordingError:
        return 0
    for part in parts:
        _check_part(part)
    last = parts[-1]
    match = _NUMBER.search(last.name.removeprefix(path.name))
    return int(match[1]) if match is not None else 1


def _check_part(path: Path) -> None:
    """Check that a file is a part of a recording: a recorder adds parts, and may remove this one later.

    Raises:
        RecordingError: If it is not, or another recorder writes it.
    """
    try:
        with path.open("rb") as file:
            is_free = lock(file.fileno())
            problem = _problem_of(file, path.stat().st_size)
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from None
    if not is_free:
        raise RecordingError(f"another recorder writes {path}: name another file")
    if problem:
        raise RecordingError(f"{path} is no recording, and is not replaced: name another file ({problem})")


def _problem_of(file: BinaryIO, size: int) -> str:
    """Why a file does not begin as a recording does; empty if it does."""
    try:
        return "" if next(read_headers(file, size), None) else "it is empty"
    except RecordingError as error:
        return str(error)
