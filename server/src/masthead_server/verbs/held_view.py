"""The part of a resource that faults let one request see: a frozen revision, or the events before a held one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.fault import Effect

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.fault import Fault
    from masthead_server.faults import Faults
    from masthead_server.storage import Record, Storage
    from masthead_server.verbs.selection import SelectionPredicate
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["HeldView"]


class HeldView:
    """What the pending faults let a list or a watch see. Faults come and go while a watch is open.

    Args:
        faults: The faults.
        info: The request.
    """

    def __init__(self, faults: Faults, info: RequestInfo) -> None:
        self._faults = faults
        self._info = info
        self._struck: set[Fault] = set()

    @property
    def is_held(self) -> bool:
        """Whether a fault may hold something back."""
        return bool(self._faults.holding) and bool(self._faults.holding_for(self._info))

    @property
    def frozen_at(self) -> int | None:
        """The revision at which the view is frozen; None if it is not."""
        fault = self._freeze()
        return None if fault is None else fault.revision

    def find_stale(self, storage: Storage) -> int | None:
        """Return the revision of a list that accepts any version, and count the hit; None if it is not stale."""
        fault = self._faults.trigger(self._info, Effect.STALE)
        return None if fault is None else max(storage.compacted, storage.revision - fault.amount)

    def freeze(self) -> int | None:
        """Return the revision at which the view is frozen, and count the hit; None if it is not frozen."""
        fault = self._freeze()
        if fault is None:
            return None
        self._strike(fault)
        return fault.revision

    def limit(self, records: Iterable[Record], selection: SelectionPredicate) -> int | None:
        """Return the last revision that a watch may show; None for any.

        Args:
            records: The records that the watch has not sent yet, in order.
            selection: The objects that it selects.
        """
        faults = self._faults.holding_for(self._info)
        if not faults:
            return None
        frozen = [fault.revision for fault in faults if fault.effect is Effect.FREEZE and fault.revision is not None]
        last = min(frozen, default=None)
        for record in records:
            if last is not None and record.revision > last and not self._has_new_freeze(faults):
                break
            if not _is_selected(record, selection):
                continue
            if holding := [fault for fault in faults if _holds(fault, record, selection)]:
                for fault in holding:
                    self._strike(fault)
                held = record.revision - 1
                return held if last is None else min(held, last)
        return last

    def _has_new_freeze(self, faults: list[Fault]) -> bool:
        """Whether a freeze has held back nothing yet, so that its first hit has to be found."""
        return any(fault.effect is Effect.FREEZE and fault not in self._struck for fault in faults)

    def _freeze(self) -> Fault | None:
        if not self._faults.holding:
            return None
        frozen = [fault for fault in self._faults.holding_for(self._info) if fault.effect is Effect.FREEZE]
        return min(frozen, key=lambda fault: fault.revision or 0, default=None)

    def _strike(self, fault: Fault) -> None:
        """Count one hit per request."""
        if fault not in self._struck:
            self._struck.add(fault)
            fault.strike()


def _is_selected(record: Record, selection: SelectionPredicate) -> bool:
    before = record.before
    return selection.matches(record) or (before is not None and selection.matches(before))


def _holds(fault: Fault, record: Record, selection: SelectionPredicate) -> bool:
    if fault.revision is not None and record.revision <= fault.revision:
        return False
    if fault.effect is Effect.FREEZE:
        return True
    namespace, name = selection.served.split(record.key)
    return fault.event_name in {"", name} and fault.event_namespace in {"", namespace}
