"""Updates of others that were undone, and writes of a replica that no longer leads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead.testing._explore.canonical_state import EDITED
from masthead.testing._explore.faults import Edit, HandOver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.testing._explore.findings import Finding
    from masthead.testing._explore.oracles.case import Case

__all__ = ["find_lost_updates", "find_writes_without_lease"]

_OK: Final = range(200, 300)


def find_lost_updates(case: Case) -> Iterator[Finding]:
    """Report an annotation of another client that a write of the operator removed."""
    for fault in case.faults:
        # Edits at the end of a step only teach the reference which annotations survive.
        if not isinstance(fault, Edit) or not fault.write or not case.is_complete:
            continue
        write = next((write for write in case.result.writes if write.number == fault.write), None)
        # A create has no live object that could lose an annotation.
        if write is None or not write.live.uid:
            continue
        resource = write.resource.partition("/")[0]
        obj = case.result.objects.get(resource, {}).get(write.key)
        # A successor under the same key never had the annotation.
        if obj is None or obj["metadata"].get("uid") != write.live.uid:
            continue
        identity = resource, case.names.key_of(resource, write.key)
        is_kept = EDITED in (obj["metadata"].get("annotations") or {})
        # An operator that removes foreign annotations whenever it sees them does so on purpose.
        if not is_kept and identity in case.reference.surviving and not case.rules.ignores_object(resource, write.key):
            summary = (
                f"{resource} {write.key} has lost the annotation that another client wrote just before "
                f"write {write.number} ({write}): the operator overwrites what it has not read"
            )
            yield case.find("lost-update", summary, subject=resource)


def find_writes_without_lease(case: Case) -> Iterator[Finding]:
    """Report writes by a replica after another replica has taken over, except for the write under way."""
    # The write under way left the replica before the lease changed hands, so no check could stop it.
    held = {fault.write for fault in case.faults if isinstance(fault, HandOver)}
    for write in case.result.writes:
        # A write that the server refused did no harm.
        if not write.is_leading and write.code in _OK and write.number not in held:
            summary = f"{write.replica} wrote {write} although another replica held the lease"
            yield case.find("lease", summary, subject=f"controller {write.controller}")
            # A single finding is enough: the later writes of the replica have the same cause.
            return
