"""A reconcile in flight: its own writes, and the changes that arrive before the caches show them.

A key stays in flight until the caches show all writes of its reconcile. Changes that arrive earlier are held, because
their author is unknown: a watch may deliver the event of a write before the response to the write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._controller.write_detection import own_writes_of
from masthead._sansio.own_writes import OwnWrites

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._controller.cache_reader import CacheReader
    from masthead._controller.requests import Request
    from masthead._rest.call import Call
    from masthead._rest.client import RestClient
    from masthead._rest.response import Response
    from masthead._sansio.own_writes import ObjectChange, OwnWrite

__all__ = ["Flight", "HeldChanges"]

_MAX_UNDECIDED: Final = 1_000
"""Number of held changes at which proven own writes are dropped."""
_MAX_REASONS: Final = 5
"""Number of reasons to reconcile again."""
VISIBLE_WITHIN: Final = 60.0
"""Seconds until a cache must show an own write. Bookmarks arrive once a minute."""


class HeldChanges(NamedTuple):
    """Changes that arrived during a reconcile, as reasons to reconcile again.

    Attributes:
        proven: Own writes.
        likely: Changes to the version of an own write, which may include changes of others.
        foreign: Changes of others.
    """

    proven: list[str]
    likely: list[str]
    foreign: list[str]


class Flight:
    """One reconcile of one object.

    Attributes:
        request: The object.
        id: The id of the reconcile, for logs.
        started: Its start time on the loop's clock.
        attempt: The number of failures since the last success.
        reasons: The reasons to reconcile.
        writes: Its writes of cached resources.
        is_reconciling: Whether the reconciler is still running.
        is_failed: Whether the reconciler raised.
    """

    __slots__ = (
        "_foreign",
        "_own",
        "_reader",
        "_rest",
        "_undecided",
        "attempt",
        "id",
        "is_failed",
        "is_reconciling",
        "reasons",
        "request",
        "started",
        "writes",
    )

    def __init__(
        self,
        request: Request,
        id_: str,
        started: float,
        reader: CacheReader,
        rest: RestClient,
        *,
        attempt: int = 0,
        reasons: tuple[str, ...] = (),
    ) -> None:
        self.request: Request = request
        self.id: str = id_
        self.started: float = started
        self.attempt: int = attempt
        self.reasons: tuple[str, ...] = reasons
        self.writes: OwnWrites = OwnWrites()
        self.is_reconciling: bool = True
        self.is_failed: bool = False
        self._reader = reader
        self._rest = rest
        self._undecided: list[tuple[ObjectChange, str]] = []
        self._own: list[str] = []
        self._foreign: list[str] = []

    def observe(self, rest: RestClient, call: Call, response: Response) -> list[OwnWrite]:
        """Record the writes of a request of this reconcile, and return those of cached resources."""
        # The versions of another cluster are not comparable.
        if rest is not self._rest:
            return []
        writes = [write for write in own_writes_of(call, response) if self._reader.holds(write.resource)]
        self.writes.extend(writes)
        return writes

    def hold(self, change: ObjectChange | None, reason: str) -> None:
        """Hold a change until its author is known. None means a reason to rerun other than a change."""
        if change is None:
            _keep(self._foreign, reason)
            return
        self._undecided.append((change, reason))
        # A reconcile may make thousands of writes, and their events would pile up.
        if len(self._undecided) >= _MAX_UNDECIDED:
            self._thin_out()

    def sort_changes(self, always_counts: Callable[[ObjectChange], bool]) -> HeldChanges:
        """Sort the held changes by their author.

        Args:
            always_counts: Whether a change is a reason to reconcile again regardless of its author.
        """
        found = HeldChanges(list(self._own), [], list(self._foreign))
        for change, reason in self._undecided:
            if always_counts(change):
                found.foreign.append(reason)
            elif self.writes.is_echo(change):
                found.proven.append(reason)
            elif self.writes.is_own_version(change):
                found.likely.append(reason)
            else:
                found.foreign.append(reason)
        return found

    def _thin_out(self) -> None:
        """Drop proven own writes, so that a reconcile can make any number of writes."""
        unproven: list[tuple[ObjectChange, str]] = []
        for change, reason in self._undecided:
            if self.writes.is_echo(change):
                _keep(self._own, reason)
            else:
                unproven.append((change, reason))
        # So many responses are never outstanding: most of these changes are foreign, and one is enough as a reason.
        if len(unproven) > _MAX_UNDECIDED // 2:
            _keep(self._foreign, unproven[0][1])
            unproven.clear()
        self._undecided = unproven

    def has_written(self, key: str) -> bool:
        """Whether this reconcile has written an object that the caches do not show yet."""
        return any(write.key == key and not self._reader.is_visible(write) for write in self.writes)

    @property
    def is_visible(self) -> bool:
        """Whether the caches show all writes."""
        return all(map(self._reader.is_visible, self.writes))

    def is_refuted(self, elapsed: float) -> bool:
        """Whether the server has lost a write, so that no cache will ever show it.

        A cache without contact to the server is only late. A cache that has had contact for longer than the interval of
        bookmarks is not.

        Args:
            elapsed: Seconds since the last write.
        """
        silence = [self._reader.staleness(write) for write in self.writes if not self._reader.is_visible(write)]
        return all(elapsed - seconds >= VISIBLE_WITHIN for seconds in silence)

    async def wait_for_writes(self) -> None:
        """Wait for the caches to show all writes.

        Raises:
            DeadlineError: If a cache does not catch up within a minute.
            ClosedError: If an informer has stopped.
        """
        while (unseen := self._newest_unseen()) is not None:
            await self._reader.wait_for_write(unseen, VISIBLE_WITHIN)

    def _newest_unseen(self) -> OwnWrite | None:
        # Newest first, because the earlier writes are usually visible by then. All are checked again: a cache without
        # the object shows its deletion, but no longer does so once it shows an earlier write of the object.
        return next((write for write in reversed(self.writes) if not self._reader.is_visible(write)), None)


def _keep(reasons: list[str], reason: str) -> None:
    if len(reasons) < _MAX_REASONS:
        reasons.append(reason)
