"""The store of a server at a moment of a recording."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersionResource
from masthead_server.cluster import FIRST_NAMESPACES
from masthead_server.replay.definitions import missing_definitions
from masthead_server.replay.player import decode_object, served_for
from masthead_server.resources.custom.installer import DEFINITIONS
from masthead_server.resources.go_decoder import Mismatch
from masthead_server.storage import FIRST_REVISION, StoredRow, StoredState
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from masthead._recording.recording import Recording
    from masthead._recording.states import ObservedChange
    from masthead_server.cluster import ClusterState
    from masthead_server.replay.player import Player
    from masthead_server.replay.timeline import Step

__all__ = ["restore_state"]

_log: Final = logging.getLogger("masthead.server")
_NAMESPACES: Final = "namespaces"
_DEFINITIONS: Final = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")


def restore_state(cluster: ClusterState, recording: Recording, steps: Sequence[Step], player: Player) -> None:
    """Store the objects of a moment as they were recorded, before the server has clients.

    Args:
        cluster: The cluster state, which must be empty.
        recording: The recording.
        steps: The steps until the moment.
        player: Notes the stored objects.
    """
    revision = max(FIRST_REVISION, steps[-1].version if steps else 0)
    present = sorted(_present(recording, steps).values())
    changes = [(recording.change(step.position), step.version) for step in present]
    # Twice, because definitions tell how the other objects are stored.
    frame = list(_frame(cluster, recording))
    definitions = [pair for pair in changes if _table_of(pair[0]) == DEFINITIONS]
    for found in (definitions, changes):
        rows = {(row.table, row.key): row for row in (*frame, *_rows(cluster, found))}
        state = StoredState(tuple(rows.values()), revision, revision)
        cluster.restore(state, revision=revision)
    for row in rows.values():
        player.note(row.table, row.key, row.revision)


def _present(recording: Recording, steps: Iterable[Step]) -> dict[tuple[str, str], Step]:
    """Return the last step of each object that exists."""
    present: dict[tuple[str, str], Step] = {}
    for step in steps:
        change = recording.change(step.position)
        # One object may be recorded in several versions of its kind.
        place = _table_of(change), change.key
        if change.type == "DELETED":
            present.pop(place, None)
        else:
            present[place] = step
    return present


def _table_of(change: ObservedChange) -> str:
    resource = change.kind.resource
    return f"{resource.group}/{resource.resource}"


def _rows(cluster: ClusterState, changes: Iterable[tuple[ObservedChange, int]]) -> Iterator[StoredRow]:
    for change, version in changes:
        served = served_for(cluster, change)
        if served is None:
            continue
        key = served.key(change.namespace, change.name)
        try:
            found = decode_object(served, change.json)
            found.setdefault("metadata", {})["resourceVersion"] = str(version)
            yield StoredRow(served.table, key, version, is_deleted=False, value=served.dump(found))
        except (Mismatch, StatusFailure) as error:
            _log.warning("%s %s of the recording is left out: %s", served.kind, key, error)


def _frame(cluster: ClusterState, recording: Recording) -> Iterator[StoredRow]:
    """Yield what recorded objects need and the recording lacks: their definitions and namespaces."""
    groups = {(kind.resource.group, kind.resource.resource) for kind in recording.kinds}
    if ("", _NAMESPACES) not in groups:
        used = {change.namespace for change in recording.changes() if change.namespace}
        served = cluster.catalog.require(GroupVersionResource("", "v1", _NAMESPACES))
        for name in sorted({*FIRST_NAMESPACES, *used}):
            namespace = cluster.new_namespace(name)
            namespace["metadata"]["resourceVersion"] = str(FIRST_REVISION)
            yield StoredRow(served.table, name, FIRST_REVISION, is_deleted=False, value=served.dump(namespace))
    served = cluster.catalog.require(_DEFINITIONS)
    for definition in missing_definitions(cluster, recording):
        definition["metadata"]["resourceVersion"] = str(FIRST_REVISION)
        name = definition["metadata"]["name"]
        yield StoredRow(served.table, name, FIRST_REVISION, is_deleted=False, value=served.dump(definition))
