"""Behavior of PersistentVolumes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.builtin.core.persistentvolume.defaults import DEFAULTS
from masthead_server.resources.builtin.core.persistentvolume.validation import volume_changes, volume_errors
from masthead_server.resources.builtin.core.persistentvolume.warnings import volume_warnings
from masthead_server.resources.protection import protect
from masthead_server.wire.plain import metadata, part

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain


def _prepare_volume(volume: Plain, _allocate: Allocator) -> None:
    protect(volume, "kubernetes.io/pv-protection")
    since = metadata(volume).get("creationTimestamp")
    volume["status"] = {"phase": "Pending"}
    if since:
        volume["status"]["lastPhaseTransitionTime"] = since


def stamp_phase(new: Plain, old: Plain, allocate: Allocator) -> None:
    """Write down when the phase of a volume changed, if the writer does not."""
    after, before, field = new.setdefault("status", {}), part(old, "status"), "lastPhaseTransitionTime"
    if after.get("phase") != before.get("phase"):
        if after.get(field) in {None, before.get(field)}:
            after[field] = allocate.now()
    elif after.get(field) is None and before.get(field) is not None:
        after[field] = before[field]


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=_prepare_volume,
        validate_create=volume_errors,
        validate_update=volume_changes,
        prepare_status=stamp_phase,
    ),
    warnings=always(volume_warnings),
)
