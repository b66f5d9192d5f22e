"""A handler that checks each call against all previous ones."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from masthead._cache.informer.handlers import EventHandler
from masthead._meta.object import Object

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from tests.scenarios.scenario import Handler


Plain = dict[str, Any]


class OnPurposeError(Exception):
    """The error of handlers that must fail."""


def plain(obj: Object) -> Plain:
    """An object as the server would write it."""
    found: Plain = json.loads(obj.to_json())
    return found


class CheckingHandler(EventHandler[Object]):
    """A handler that checks its notifications.

    Args:
        plan: How it behaves.
        informer: Its informer.
        written: All objects that there ever were, by uid and version; None if that is not known in time.
        is_ordered: Whether the calls of a relist can be distinguished: one source, and no `DeltaFIFO`.

    Attributes:
        known: The state that follows from its notifications.
        problems: What was wrong with its notifications.
        calls: Each call, in a few words.
        registration: Its handle.
        resyncs: How many resync updates it got.
    """

    registration: Any  # of either façade, as the informer is

    def __init__(
        self,
        plan: Handler,
        informer: Any,
        written: Mapping[tuple[str, str], Plain] | None = None,
        *,
        is_ordered: bool = False,
    ) -> None:
        self.plan = plan
        self.known: dict[str, Object] = {}
        self.problems: list[str] = []
        self.calls: list[str] = []
        self.resyncs = 0
        self._informer = informer
        self._written = written
        self._newest: dict[str, int] = {}
        self._is_busy = False
        self._is_ordered = is_ordered and not plan.takes
        self._relist = -1
        self._dispatched_others = False

    def on_add(self, obj: Object, is_initial: bool) -> object:
        if obj.key in self.known:
            self._complain(f"add of {obj.key}, which it knows")
        if is_initial and self.registration.has_synced:
            self._complain(f"add of {obj.key} is marked as initial after the end of the initial adds")
        self._hear("add", obj)
        self._note_order(is_missed_deletion=False)
        self.known[obj.key] = obj
        return self._behave()

    def on_update(self, old: Object, new: Object) -> object:
        before = self.known.get(new.key)
        if before is None:
            self._complain(f"update of {new.key}, which it does not know")
        elif before is not old and plain(before) != plain(old):
            self._complain(f"update of {new.key} from {_version(old)}, where it knew {_version(before)}")
        if _version(old) == _version(new):
            self.resyncs += 1
            if self.plan.resync == 0:
                self._complain(f"update of {new.key} is no change, and it wants no resyncs")
        elif old.metadata.uid != new.metadata.uid:
            self._complain(f"update of {new.key} makes another object of it")
        self._hear("update", new)
        self._note_order(is_missed_deletion=False)
        self.known[new.key] = new
        return self._behave()

    def on_delete(self, obj: Object, final_state_known: bool) -> object:
        before = self.known.pop(obj.key, None)
        if before is None:
            self._complain(f"delete of {obj.key}, which it does not know")
        elif before.metadata.uid != obj.metadata.uid:
            self._complain(f"delete of {obj.key}, but of another object than it knew")
        stored = self._informer.indexer.get_by_key(obj.key)
        if stored is not None and stored.metadata.uid == obj.metadata.uid and _version(stored) <= _version(obj):
            self._complain(f"delete of {obj.key}, which the store still has")
        self.calls.append(f"delete {obj.key}{'' if final_state_known else ' (missed)'}")
        self._check_time(obj)
        self._note_order(is_missed_deletion=not final_state_known)
        return self._behave()

    def _hear(self, what: str, obj: Object) -> None:
        self.calls.append(f"{what} {obj.key}")
        self._check_time(obj)
        about = obj.metadata
        # A pod that is deleted is marked first, and no response has the version of that write.
        if self._written is not None and about.deletion_timestamp is None:
            was = self._written.get((about.uid, about.resource_version))
            if was != plain(obj):
                self._complain(f"{what} of {obj.key} at {_version(obj)}, which the server never had like that")
        stored = self._informer.indexer.get_by_key(obj.key)
        if stored is not None and stored.metadata.uid == about.uid and _version(stored) < _version(obj):
            self._complain(f"{what} of {obj.key} at {_version(obj)}, where the store has {_version(stored)}")

    def _check_time(self, obj: Object) -> None:
        if self._is_busy:
            self._complain(f"call about {obj.key} while another is under way")
        newest = self._newest.get(obj.metadata.uid, 0)
        if _version(obj) < newest:
            self._complain(f"{obj.key} went back from {newest} to {_version(obj)}")
        self._newest[obj.metadata.uid] = _version(obj)

    def _note_order(self, *, is_missed_deletion: bool) -> None:
        """Of a relist, the deletions that were missed come first."""
        relist = self._informer.health.relists
        if relist != self._relist:
            self._relist, self._dispatched_others = relist, False
        if is_missed_deletion and self._dispatched_others and self._is_ordered:
            self._complain("a deletion found by a relist was dispatched after its adds and updates")
        self._dispatched_others = self._dispatched_others or not is_missed_deletion

    def _complain(self, problem: str) -> None:
        self.problems.append(f"{self.plan.name}, call {len(self.calls) + 1}: {problem}")

    def _behave(self) -> Coroutine[Any, Any, None] | None:
        fails = self.plan.fails_every and len(self.calls) % self.plan.fails_every == 0
        if self.plan.takes:
            self._is_busy = True
            return self._take_time(fails=bool(fails))
        if fails:
            raise OnPurposeError
        return None

    async def _take_time(self, *, fails: bool) -> None:
        try:
            await asyncio.sleep(self.plan.takes)
            if fails:
                raise OnPurposeError
        finally:
            self._is_busy = False


def _version(obj: Object) -> int:
    return int(obj.metadata.resource_version)
