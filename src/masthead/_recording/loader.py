"""Reads the files of a recording into an index."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

import msgspec

from masthead._recording.entries import Change, Head, KindLine, Listed, Mark, Reconcile, decode_line
from masthead._recording.frames import FORMAT_VERSION, read_content, read_headers
from masthead._recording.index import MAX_ROWS, ChangeIndex, LinePlace, ObjectKey
from masthead._recording.zstd import load_codec
from masthead.errors import RecordingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from masthead._recording.entries import Entry
    from masthead._recording.frames import FrameHeader

__all__ = ["LoadedGap", "LoadedRecording"]

_CACHED_BYTES: Final = 64 << 20
_MAX_SPACE: Final = 64
_MAX_KINDS: Final = 10_000


class LoadedGap(NamedTuple):
    """A time for which changes of a kind may be missing.

    Attributes:
        kind: The number of the kind; -1 for all kinds.
        scope: The namespace; empty for all.
        since: Its begin, in microseconds.
        until: Its end.
        why: The reason.
        position: The number of changes recorded before its end.
    """

    kind: int
    scope: str
    since: int
    until: int
    why: str
    position: int


class _Frame(NamedTuple):
    file: BinaryIO
    header: FrameHeader


class LoadedRecording:
    """The index of the files of a recording, and the lines that it points to.

    Threads: any.

    Attributes:
        head: The first line of the first file.
        kinds: The kinds, by number; a kind that returns in a later file keeps its number.
        index: The changes.
        reconciles: The places of the reconciles, with their times.
        gaps: What may be missing.
        numbers: The number of each kind, by group, version and plural.
        versions: The version of the last list of each watch.
        feeds: The watches, by number of the kind and selection.
        identities: A hash of uid and version of the last state of each object that exists.
        marks: The remarks.
        cut_off: Why the end is missing; empty for a whole file.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self.kinds: list[KindLine] = []
        self.index: ChangeIndex = ChangeIndex()
        self.reconciles: list[tuple[int, LinePlace]] = []
        self.gaps: list[LoadedGap] = []
        self.marks: list[Mark] = []
        self.cut_off: str = ""
        self.head: Head | None = None
        self.end: int = 0
        self._codec = load_codec()
        self._frames: list[_Frame] = []
        self._contents: OrderedDict[int, bytes] = OrderedDict()
        self._cached = 0
        self._lock = threading.Lock()
        self._files: list[BinaryIO] = []
        self.numbers: dict[tuple[str, str, str], int] = {}
        self.versions: dict[tuple[int, str], str] = {}
        self.feeds: dict[tuple[int, tuple[str, ...]], _Feed] = {}
        self.identities: dict[ObjectKey, int] = {}
        try:
            for path in paths:
                self._load(path)
        except BaseException:
            self.close()
            raise
        if self.head is None:
            raise RecordingError("there is no recording")

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()

    def line(self, place: LinePlace) -> Entry:
        """Read a line.

        Raises:
            RecordingError: If the file has changed since it was opened.
        """
        content = self._content(place.frame)
        return _decode(content, place.offset, content.find(b"\n", place.offset))

    def _content(self, number: int) -> bytes:
        with self._lock:
            if number in self._contents:
                self._contents.move_to_end(number)
                return self._contents[number]
            file, header = self._frames[number]
            try:
                content = self._codec.decompress(read_content(file, header), header.content_size)
            except (OSError, ValueError) as error:
                raise RecordingError(f"the recording cannot be read any more: {error}") from None
            self._contents[number] = content
            self._cached += len(content)
            while self._cached > _CACHED_BYTES and len(self._contents) > 1:
                self._cached -= len(self._contents.popitem(last=False)[1])
            return content

    def _load(self, path: Path) -> None:
        """Index a file, until its end or its first damage."""
        try:
            file = path.open("rb")
        except OSError as error:
            raise RecordingError(f"the recording {path} cannot be read: {error.strerror}") from None
        self._files.append(file)
        # A recorder may be writing it: what comes later is not read.
        size = file.seek(0, 2)
        file.seek(0)
        part = _Part(self)
        try:
            for header in read_headers(file, size):
                number = len(self._frames)
                self._frames.append(_Frame(file, header))
                for offset, entry in _lines(self._content(number)):
                    part.add(entry, LinePlace(number, offset))
        except RecordingError as error:
            # Its readable part is worth having.
            if part.head is None:
                raise RecordingError(f"{path} is no recording: {error}") from None
            self.cut_off = f"{path.name}: {error}"
        part.end(path.name)
        if part.head is None:
            raise RecordingError(f"{path} is no recording: it has no entries")


class _Feed:
    """The watches of a kind with one selection. A kind may have several, which overlap.

    Attributes:
        number: The number of the kind.
        members: The objects that its watches know.
        seen: The objects of the full state that is being read.
        versions: The versions of the last lists, by scope.
        complete_at: The time until which its changes are known.
    """

    __slots__ = ("complete_at", "members", "number", "seen", "versions")

    def __init__(self, number: int) -> None:
        self.number = number
        self.members: set[ObjectKey] = set()
        self.seen: set[ObjectKey] = set()
        self.versions: dict[str, str] = {}
        self.complete_at = 0

    def is_listed(self, namespace: str) -> bool:
        """Whether the watch of a namespace was listed before."""
        return "" in self.versions or namespace in self.versions


class _Part:
    """A file while it is read."""

    def __init__(self, loaded: LoadedRecording) -> None:
        self._loaded = loaded
        self.head: Head | None = None
        self._feeds: dict[int, _Feed] = {}
        self._listed: set[tuple[int, str]] = set()
        self._began_after = loaded.end

    def add(self, entry: Entry, place: LinePlace) -> None:
        loaded = self._loaded
        loaded.end = max(loaded.end, entry.time)
        if isinstance(entry, Head):
            self._begin(entry)
        elif self.head is None:
            raise RecordingError("its first line is not its head")
        elif isinstance(entry, Change):
            self._change(entry, place)
        elif isinstance(entry, KindLine):
            self._kind(entry)
        elif isinstance(entry, Listed):
            self._list(entry)
        elif isinstance(entry, Reconcile):
            if len(loaded.reconciles) >= MAX_ROWS:
                raise RecordingError(f"it has more than {MAX_ROWS} reconciles")
            loaded.reconciles.append((entry.time, place))
        else:
            loaded.marks.append(entry)
            if entry.dropped:
                loaded.gaps.append(LoadedGap(-1, "", entry.time, entry.time, entry.text, len(loaded.index)))

    def end(self, name: str) -> None:
        """Note the kinds of earlier files that this file leaves out."""
        # Their state is that of the earlier file, and may be wrong by now.
        present = {id(feed) for feed in self._feeds.values()}
        for feed in self._loaded.feeds.values():
            if id(feed) in present or self.head is None:
                continue
            for scope in feed.versions:
                why, position = f"{name} does not record it", len(self._loaded.index)
                self._loaded.gaps.append(
                    LoadedGap(feed.number, scope, self._began_after, self._loaded.end, why, position)
                )

    def _begin(self, head: Head) -> None:
        if head.version != FORMAT_VERSION:
            raise RecordingError(f"it has format {head.version}, and this version of Masthead reads {FORMAT_VERSION}")
        self.head = head
        if self._loaded.head is None:
            self._loaded.head = head

    def _kind(self, kind: KindLine) -> None:
        loaded = self._loaded
        identity = (kind.group, kind.version, kind.plural)
        number = loaded.numbers.get(identity)
        if number is None:
            number = loaded.numbers[identity] = len(loaded.kinds)
            loaded.kinds.append(kind)
            if number >= _MAX_KINDS:
                raise RecordingError(f"it has more than {_MAX_KINDS} kinds")
        selection = (*kind.namespaces, "", kind.label_selector, kind.field_selector)
        feed = loaded.feeds.get((number, selection))
        if feed is None:
            if len(loaded.feeds) >= _MAX_KINDS:
                raise RecordingError(f"it has more than {_MAX_KINDS} selections of kinds")
            feed = loaded.feeds[number, selection] = _Feed(number)
        self._feeds[kind.number] = feed

    def _feed(self, kind: int) -> _Feed:
        try:
            return self._feeds[kind]
        except KeyError:
            raise RecordingError(f"a line refers to kind {kind}, which it does not have") from None

    def _change(self, change: Change, place: LinePlace) -> None:
        if not bytes(memoryview(change.object)[:_MAX_SPACE]).lstrip().startswith(b"{"):
            raise RecordingError("a change has something else than an object")
        index, feed = self._loaded.index, self._feed(change.kind)
        key = ObjectKey(feed.number, change.namespace, change.name)
        identities = self._loaded.identities
        # Not by reading the line before: a state of many objects would decompress a frame for each.
        is_news = change.op != "STATE" or identities.get(key) != hash((change.uid, change.version))
        if change.op == "DELETED":
            feed.members.discard(key)
            identities.pop(key, None)
        else:
            feed.members.add(key)
            identities[key] = hash((change.uid, change.version))
        if not change.listed:
            feed.complete_at = max(feed.complete_at, change.time)
        if change.op == "STATE":
            feed.seen.add(key)
            if not is_news:
                return
        op = change.op
        # A full state may follow another: its news have changed in between.
        is_between = op == "STATE" and feed.is_listed(change.namespace)
        if is_between:
            op = "ADDED" if index.last(key, len(index)) is None else "MODIFIED"
        index.add(key, op, change.time, place, listed=change.listed or is_between)

    def _list(self, listed: Listed) -> None:
        loaded, feed = self._loaded, self._feed(listed.kind)
        is_again = listed.scope in feed.versions
        is_full = bool(feed.seen) or not listed.since
        if is_again and is_full:
            self._delete_missing(feed, listed)
        # A rotation begins a file with the version at which the last one ended.
        is_continued = bool(listed.since) and not listed.is_gap
        if listed.is_gap or (is_again and is_full and not is_continued):
            # Without a first list in this file, the recorder had stopped at the end of the last one.
            is_restart = bool(self._began_after) and (listed.kind, listed.scope) not in self._listed
            since = self._began_after if is_restart else min(feed.complete_at or listed.time, listed.time)
            why = listed.why or "the recorder did not run"
            loaded.gaps.append(LoadedGap(feed.number, listed.scope, since, listed.time, why, len(loaded.index)))
        feed.versions[listed.scope] = loaded.versions[feed.number, listed.scope] = listed.version
        feed.complete_at = max(feed.complete_at, listed.time)
        feed.seen.clear()
        self._listed.add((listed.kind, listed.scope))

    def _delete_missing(self, feed: _Feed, listed: Listed) -> None:
        """Note the deletion of objects that a later state does not have."""
        loaded, index = self._loaded, self._loaded.index
        missing = [key for key in feed.members - feed.seen if listed.scope in {"", key.namespace}]
        if not missing:
            return
        # Another selection of the kind may still have the object.
        others = [other for other in loaded.feeds.values() if other.number == feed.number and other is not feed]
        # Sorted: two readers of one file must agree about positions.
        for key in sorted(missing):
            feed.members.discard(key)
            last = index.last(key, len(index))
            if last is not None and not any(key in other.members for other in others):
                index.add(key, "DELETED", listed.time, index.place(last), listed=True)
                loaded.identities.pop(key, None)


def _lines(content: bytes) -> Iterator[tuple[int, Entry]]:
    offset = 0
    while offset < len(content):
        end = content.find(b"\n", offset)
        if end < 0:
            raise RecordingError("a frame ends within a line")
        yield offset, _decode(content, offset, end)
        offset = end + 1


def _decode(content: bytes, offset: int, end: int) -> Entry:
    try:
        return decode_line(memoryview(content)[offset:end])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordingError(f"a line cannot be read: {error}") from None
