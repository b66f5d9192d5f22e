"""Waits for caches to show the current state of the server, before any reconcile reads them.

The caches of a replica that takes over, or was restarted, may lag behind the writes of its predecessor, and it would
repeat them. Resource versions of watches do not help, because only a read without ``resourceVersion`` is certain to
include the predecessor's writes.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from masthead._cache.informer.informer import pipeline_of
from masthead._client.listwatch import ListWatch, ListWatchOptions
from masthead._sansio.backoff import Backoff
from masthead._sansio.listed_state import ListedState
from masthead._sansio.randomness import random
from masthead._sansio.sharding import ShardRanges
from masthead.errors import ClosedError, DeadlineError, MastheadError

if TYPE_CHECKING:
    from masthead._cache.informer.informer import SharedInformer
    from masthead._cache.reflector.foreign import Source
    from masthead.errors import DecodeError

__all__ = ["CatchUp", "is_catching_up"]

_log: Final = logging.getLogger("masthead.controller")
_PAGE: Final = 500
_READ_TIMEOUT: Final = 30.0
_BRIEF: Final = 0.25
"""Seconds that a large cache has to catch up before all its objects are listed."""
_PATIENCE: Final = (10.0, 20.0, 40.0, 60.0)
"""Seconds after which the watch of a late cache is restarted; after each further period, the cache is listed again."""


is_catching_up: Final[ContextVar[bool]] = ContextVar("masthead.is_catching_up", default=False)
"""Whether the requests of this context ask for the state of the server on behalf of a cache."""


class CatchUp:
    """Waits for caches to show the state of the server, once per cache.

    An instance is for one point in time: create a new one when this replica gains objects.
    """

    def __init__(self) -> None:
        self._locks: dict[SharedInformer[Any], asyncio.Lock] = {}
        self._done: set[SharedInformer[Any]] = set()

    def has_done(self, informer: SharedInformer[Any]) -> bool:
        """Whether a cache has caught up."""
        return informer in self._done

    async def wait(self, informer: SharedInformer[Any]) -> None:
        """Wait for a synced cache to show the current state of the server, or a later one.

        There is no time limit: failed reads and late caches are logged and retried.

        Raises:
            ClosedError: If the informer or the client is closed.
        """
        # Controllers share informers, and the list of a large cache is expensive.
        async with self._locks.setdefault(informer, asyncio.Lock()):
            if informer in self._done:
                return
            for scope in pipeline_of(informer).sources:
                await _ScopeCatchUp(informer, scope).wait()
            self._done.add(informer)


class _ScopeCatchUp:
    """Waits for one namespace of a cache, or for all namespaces of one watch."""

    def __init__(self, informer: SharedInformer[Any], scope: str) -> None:
        pipeline = pipeline_of(informer)
        self._informer = informer
        self._pipeline = pipeline
        self._scope = scope
        self._source = pipeline.sources[scope]
        self._store = pipeline.store.processor.store
        self._backoff = Backoff(first=1.0, cap=30.0)

    async def wait(self) -> None:
        for patience in itertools.chain(_PATIENCE, itertools.repeat(_PATIENCE[-1])):
            state = await self._read_until_answered()
            if await self._shows_within(state, patience):
                return
            # The connection of the watch may be dead, or the watch cache of the server stale; a new list solves both.
            relists = patience > _PATIENCE[0]
            _log.warning(
                "the cache of %s is at version %s, and the server at %s; nothing is reconciled with it before it has "
                "caught up. It is %s.",
                self._informer.name,
                self._store.version_of(self._scope),
                state.version,
                "listed again" if relists else "watched anew",
            )
            self._pipeline.reopen(self._scope, relists=relists)

    async def _read_until_answered(self) -> ListedState:
        while True:
            try:
                return await self._read()
            except ClosedError:
                raise
            except MastheadError as error:
                delay = self._backoff.next(asyncio.get_running_loop().time(), random)
                _log.warning(
                    "whether the cache of %s is current cannot be told, so that nothing is reconciled with it: %s; "
                    "asking again in %.0f s",
                    self._informer.name,
                    error,
                    delay,
                )
                await asyncio.sleep(delay)

    async def _read(self) -> ListedState:
        """Read the state of the server, unless the cache catches up earlier.

        Raises:
            MastheadError: If the request fails.
        """
        listing = _Listing(self._source)
        token = is_catching_up.set(True)
        try:
            await listing.read_page()
            if not listing.is_complete:
                await self._read_rest(listing)
        finally:
            is_catching_up.reset(token)
        return listing.state()

    async def _read_rest(self, listing: _Listing) -> None:
        """Read the remaining pages of a large collection, unless the cache catches up earlier."""
        state = listing.state()
        # Most caches are current already, and the other pages need not be read.
        await self._shows_within(state, _BRIEF)
        while not listing.is_complete and not self._shows(state):
            await listing.read_page()

    def _shows(self, state: ListedState) -> bool:
        version = self._store.version_of(self._scope)
        return state.is_reached(version, lambda: self._store.items_of(self._scope).keys())

    async def _shows_within(self, state: ListedState, seconds: float) -> bool:
        try:
            await self._informer.wait_for(lambda _: self._shows(state), seconds)
        except DeadlineError:
            return False
        return True


class _Listing:
    """The pages of a list without ``resourceVersion``, which is the newest state."""

    def __init__(self, source: Source[Any]) -> None:
        self._source = source
        selector = source.selectors.get("shardSelector") if isinstance(source, ListWatch) else None
        # A server without support for shard selectors lists objects that the cache drops.
        self._shards = ShardRanges.parse(selector) if selector else None
        self._objects: dict[str, str] = {}
        self._has_unknown = False
        self._version = ""
        # None before the first page; empty after the last.
        self._continue: str | None = None

    @property
    def is_complete(self) -> bool:
        """Whether all pages were read."""
        return self._continue == ""

    async def read_page(self) -> None:
        """Read the next page.

        Raises:
            MastheadError: If the request fails.
        """
        options = ListWatchOptions(limit=_PAGE, continue_=self._continue or "", read_timeout=_READ_TIMEOUT)
        page = await self._source.list_page(options, self._note_broken)
        self._version = page.metadata.resource_version
        self._continue = page.metadata.continue_
        for obj in page.items:
            about = obj.metadata
            if self._shards is None or self._shards.selects_metadata(about.uid, about.namespace):
                self._objects[obj.key] = about.resource_version

    def state(self) -> ListedState:
        """Return the state that was read."""
        if not self.is_complete:
            # Without the other pages, only the version shows whether a cache has caught up.
            return ListedState(self._version, self._version, None)
        return ListedState.of(self._version, self._objects.items(), is_complete=not self._has_unknown)

    def _note_broken(self, error: DecodeError) -> None:
        if error.subject:
            self._objects[error.subject] = ""
        else:
            self._has_unknown = True
