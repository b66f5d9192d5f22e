"""Reruns after a controller's own writes: which events run the reconcile again, and when.

A reconcile that has changed something runs again, until it changes nothing: it may have deleted an object that it
creates in its next run, or written a phase from which the next one follows. Three rules keep that cheap:

- One run follows, however many writes there were. It begins when the caches show all of them, so that events which the
  informers deliver later are no news and are dropped, if they are provably own ones.
- A reconcile that failed is repeated by its backoff, not by its own writes: they would bypass it.
- A reconcile that writes something different each time never settles. After `PROMPT_RERUNS` in a row, each further one
  waits longer than the one before.

A controller may ignore its own writes instead. Then no provably own event counts. A likely own event counts in any
case, because it may hide a foreign change; but it cannot turn a reconcile into a hot loop.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from masthead._sansio.own_writes import ObjectChange, OwnWrites

__all__ = ["MAX_RERUN_DELAY", "PROMPT_RERUNS", "RerunDecisions", "rerun_delay"]

K = TypeVar("K", bound=Hashable)

PROMPT_RERUNS: Final = 20
"""Reruns in a row without a delay. Longer chains of own writes are usually endless."""
MAX_RERUN_DELAY: Final = 60.0
"""Maximum seconds between reruns of a reconcile that never settles."""
_FIRST_DELAY: Final = 0.05
_MAX_KEYS: Final = 10_000
"""Keys whose writes are remembered until their events arrive; beyond, an unneeded reconcile may follow."""


def rerun_delay(reruns: int) -> float:
    """Seconds until a rerun: 0 for the first `PROMPT_RERUNS`, then doubled each time.

    Args:
        reruns: The number of the rerun in a row, from 1.
    """
    excess = reruns - PROMPT_RERUNS
    if excess <= 0:
        return 0.0
    # The exponent is limited, because a long chain would overflow the power.
    return min(_FIRST_DELAY * 2.0 ** min(excess - 1, 32), MAX_RERUN_DELAY)


@dataclass(slots=True)
class _Ended:
    """The writes of the last reconcile of a key.

    Attributes:
        writes: The writes.
        is_muted: Whether they do not cause a rerun.
        is_covered: Whether a later run, begun or enqueued, sees them.
    """

    writes: OwnWrites
    is_muted: bool
    is_covered: bool


class RerunDecisions(Generic[K]):
    """Decides which changes run a reconcile again, by key.

    Args:
        ignores_own: Whether the controller ignores its own writes.
        max_keys: The number of keys whose writes are remembered.
    """

    def __init__(self, *, ignores_own: bool, max_keys: int = _MAX_KEYS) -> None:
        self._ignores_own = ignores_own
        self._max_keys = max_keys
        self._ended: OrderedDict[K, _Ended] = OrderedDict()
        self._counts: dict[K, int] = {}
        self._pending: set[K] = set()

    def is_pending(self, key: K) -> bool:
        """Whether a rerun after own writes is enqueued, with or without a delay."""
        return key in self._pending

    def count(self, key: K) -> int:
        """The number of reruns in a row."""
        return self._counts.get(key, 0)

    def begin(self, key: K) -> None:
        """Begin a reconcile, with caches that show all earlier writes of its key."""
        if (ended := self._ended.get(key)) is not None:
            ended.is_covered = True
        # A run for another reason ends the chain of reruns.
        if key in self._pending:
            self._pending.discard(key)
        else:
            self._counts.pop(key, None)

    def end(
        self,
        key: K,
        writes: OwnWrites,
        *,
        is_failed: bool,
        has_proven: bool,
        has_likely: bool,
        has_foreign: bool,
    ) -> float | None:
        """End a reconcile, after the caches show its writes.

        Args:
            key: The key.
            writes: The writes.
            is_failed: Whether the reconcile failed, so that it is repeated anyway.
            has_proven: Whether provably own events have arrived.
            has_likely: Whether likely own events have arrived.
            has_foreign: Whether other changes have arrived.

        Returns:
            Seconds until the next reconcile; None for none now.
        """
        is_muted = self._ignores_own or is_failed
        # A likely own event may hide a foreign change, so that it counts even for a muted controller.
        is_own_rerun = has_likely or (has_proven and not is_muted)
        if len(writes):
            self._remember(key, _Ended(writes, is_muted, is_own_rerun or has_foreign))
        else:
            # Earlier writes stay known: this run may have been faster than the delivery of their events.
            self._counts.pop(key, None)
        if has_foreign:
            if is_own_rerun:
                self._pending.add(key)
            return 0.0
        return self._rerun(key) if is_own_rerun else None

    def drops(self, key: K, change: ObjectChange, *, always_counts: bool = False) -> bool:
        """Whether a change is the event of an own write that needs no further run. If not, call `follow`.

        Args:
            key: The key to reconcile.
            change: The change.
            always_counts: Whether it causes a rerun even if own writes do not.
        """
        ended = self._ended.get(key)
        if ended is None or not (ended.is_covered or (ended.is_muted and not always_counts)):
            return False
        return ended.writes.is_echo(change)

    def follow(self, key: K, change: ObjectChange) -> float | None:
        """Follow a change that is not dropped, and arrived while no reconcile of its key was running.

        Args:
            key: The key to reconcile.
            change: The change.

        Returns:
            Seconds until the reconcile; None if the pending rerun suffices.
        """
        ended = self._ended.get(key)
        if ended is None or not ended.writes.is_own_version(change):
            return 0.0
        if key in self._pending:
            return None
        # The rerun sees all writes, so that their later events are dropped.
        ended.is_covered = True
        return self._rerun(key)

    def _rerun(self, key: K) -> float:
        self._pending.add(key)
        self._counts[key] = count = self._counts.get(key, 0) + 1
        return rerun_delay(count)

    def _remember(self, key: K, ended: _Ended) -> None:
        self._ended[key] = ended
        self._ended.move_to_end(key)
        if len(self._ended) > self._max_keys:
            self._ended.popitem(last=False)
