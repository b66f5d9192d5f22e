"""Records the notifications and requests of informers, and compares them with the server."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from masthead._cache.informer.handlers import EventHandler
from masthead._client.listwatch import ListWatch
from masthead._meta.object import Object
from masthead._sansio.backoff import Backoff
from masthead.config import Config

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from typing import Any

    from tests.real_server import RealServer

    import masthead
    from masthead._client.listwatch import ListWatchOptions, WatchConnection
    from masthead._client.read_verbs import ReadVerbs
    from masthead._meta.object import ObjectList
    from masthead.aio import SharedInformer
    from masthead.errors import DecodeError

T = TypeVar("T", bound=Object)

Informer: TypeAlias = "SharedInformer[T] | masthead.SharedInformer[T]"

PATIENCE = 60.0
"""Seconds within which everything that is waited for must happen; it takes one or two."""


def quick() -> Backoff:
    """Waits that are long enough to leave the server alone, and short enough for a test."""
    return Backoff(first=0.05, cap=0.4)


def config_of(server: RealServer, url: str = "") -> Config:
    """How to get there as an administrator, directly or under another address."""
    return Config(server=url or server.url, token=server.token, ca_file=server.ca_file)


class RecordingHandler(EventHandler[T]):
    """Records the notifications of an informer, and derives the state from them.

    Attributes:
        state: The objects by key, derived from the notifications.
        recorded: All notifications: ``add``, ``initial``, ``update``, ``delete`` or ``tombstone``, and the key.
        contradictions: Notifications that contradict previous ones.
        errors: What went wrong meanwhile.
    """

    def __init__(self) -> None:
        self.state: dict[str, T] = {}
        self.recorded: list[tuple[str, str]] = []
        self.contradictions: list[str] = []
        self.errors: list[Exception] = []
        self._changed = asyncio.Event()

    def on_add(self, obj: T, is_initial: bool) -> None:
        if obj.key in self.state:
            self.contradictions.append(f"{obj.key} was added twice")
        self._record("initial" if is_initial else "add", obj.key, obj)

    def on_update(self, old: T, new: T) -> None:
        known = self.state.get(new.key)
        if known is None or _identity(known) != _identity(old) or old.metadata.uid != new.metadata.uid:
            self.contradictions.append(f"{new.key} was updated from what it was not")
        self._record("update", new.key, new)

    def on_delete(self, obj: T, final_state_known: bool) -> None:
        known = self.state.get(obj.key)
        if known is None or known.metadata.uid != obj.metadata.uid:
            self.contradictions.append(f"{obj.key} was deleted, and was not there")
        self._record("delete" if final_state_known else "tombstone", obj.key, None)

    def failed(self, error: Exception) -> None:
        """An informer's list or watch failed."""
        self.errors.append(error)
        self._wake()

    def _record(self, what: str, key: str, obj: T | None) -> None:
        self.recorded.append((what, key))
        self.state.pop(key, None)
        if obj is not None:
            self.state[key] = obj
        self._wake()

    def _wake(self) -> None:
        self._changed.set()

    async def until(self, is_so: Callable[[], bool], *, within: float = PATIENCE) -> None:
        """Wait until a condition holds; checked after each notification and each error."""
        async with asyncio.timeout(within):
            while not is_so():
                self._changed.clear()
                await self._changed.wait()


class ThreadRecordingHandler(RecordingHandler[T]):
    """The same for handlers in threads."""

    def __init__(self) -> None:
        super().__init__()
        self._condition = threading.Condition()

    def _wake(self) -> None:
        with self._condition:
            self._condition.notify_all()

    def wait_until(self, is_so: Callable[[], bool]) -> bool:
        """Wait until a condition holds; returns whether it does."""
        with self._condition:
            return self._condition.wait_for(is_so, PATIENCE)


class RecordingListWatch(ListWatch[T], Generic[T]):
    """A resource that records its requests, and may replace their options.

    Attributes:
        log: ``list`` or ``watch``, and the options.
        before: Called before each request; returns the options to send.
    """

    def __init__(self, resource: ReadVerbs[T], **selectors: Any) -> None:
        vars(self).update(vars(resource.list_watch(**selectors)))
        self.log: list[tuple[str, ListWatchOptions]] = []
        self.before: Callable[[str, ListWatchOptions], Awaitable[ListWatchOptions]] = _as_meant

    async def list_page(
        self, options: ListWatchOptions, on_broken: Callable[[DecodeError], None] | None = None
    ) -> ObjectList[T]:
        self.log.append(("list", options))
        return await super().list_page(await self.before("list", options), on_broken)

    async def open_watch(
        self, options: ListWatchOptions, *, attempts: int | None = 1, is_raw: bool = False
    ) -> WatchConnection[T]:
        self.log.append(("watch", options))
        return await super().open_watch(await self.before("watch", options), attempts=attempts, is_raw=is_raw)


def verbs(source: RecordingListWatch[T]) -> list[str]:
    """The requests: a ``list`` or its ``next`` page, a proof (``prove``), a ``watch``, or a watch-list (``stream``)."""
    return [_verb(verb, options) for verb, options in source.log]


def _verb(verb: str, options: ListWatchOptions) -> str:
    if verb == "watch":
        return "stream" if options.send_initial_events else "watch"
    return "prove" if options.key else "next" if options.continue_ else "list"


async def _as_meant(verb: str, options: ListWatchOptions) -> ListWatchOptions:
    del verb
    return options


def recorded(informer: SharedInformer[T]) -> RecordingHandler[T]:
    """Add a recorder to an informer, for its errors too."""
    recorder: RecordingHandler[T] = RecordingHandler()
    _attach(informer, recorder)
    return recorder


def recorded_in_a_thread(informer: masthead.SharedInformer[T]) -> ThreadRecordingHandler[T]:
    """The same, for the blocking façade."""
    recorder: ThreadRecordingHandler[T] = ThreadRecordingHandler()
    _attach(informer, recorder)
    return recorder


def _attach(informer: Informer[T], recorder: RecordingHandler[T]) -> None:
    informer.add_event_handler(recorder)
    informer.set_watch_error_handler(recorder.failed)


async def agree(
    informer: SharedInformer[T], recorder: RecordingHandler[T], fresh: Callable[[], Awaitable[Iterable[T]]]
) -> Mapping[str, T]:
    """Wait until cache and recorder are what a fresh list has, and compare them down to the last field.

    Returns:
        What the list has, by key.
    """
    listed = {obj.key: obj for obj in await fresh()}
    with contextlib.suppress(TimeoutError):
        await recorder.until(lambda: _is_same(informer, recorder, listed))
    compare(informer, recorder, listed)
    return listed


def agree_blocking(
    informer: masthead.SharedInformer[T], recorder: ThreadRecordingHandler[T], fresh: Iterable[T]
) -> None:
    """The same as `agree`, for the blocking façade."""
    listed = {obj.key: obj for obj in fresh}
    recorder.wait_until(lambda: _is_same(informer, recorder, listed))
    compare(informer, recorder, listed)


def compare(informer: Informer[T], recorder: RecordingHandler[T], listed: Mapping[str, T]) -> None:
    """Compare cache, recorder and list down to the last field."""
    wanted, cached = _versions(listed.values()), _versions(informer.indexer.list())
    differences = sorted(cached ^ wanted)[:6], sorted(_versions(recorder.state.values()) ^ wanted)[:6]
    assert differences == ([], []), f"{informer.health}; {recorder.errors[-3:]}"
    for key, obj in listed.items():
        kept = informer.indexer.get_by_key(key)
        assert kept is not None
        assert kept.to_dict() == recorder.state[key].to_dict() == obj.to_dict()
    assert recorder.contradictions == []


def _is_same(informer: Informer[T], recorder: RecordingHandler[T], listed: Mapping[str, T]) -> bool:
    wanted = _versions(listed.values())
    return _versions(recorder.state.values()) == wanted == _versions(informer.indexer.list())


def _versions(objects: Iterable[Object]) -> frozenset[tuple[str, str, str]]:
    return frozenset((obj.key, *_identity(obj)) for obj in objects)


def _identity(obj: Object) -> tuple[str, str]:
    return obj.metadata.uid, obj.metadata.resource_version
