"""Which recorded changes are not played to an operator under test: its own, which it makes again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from masthead._controller.manager import Manager
    from masthead._controller.options import RunOverrides
    from masthead._recording.recording import Recording
    from masthead._recording.states import ObservedChange, RecordedKind

__all__ = ["OwnChanges"]

_LEASES: Final = ("coordination.k8s.io", "leases")
_OK: Final = range(200, 300)

Place = tuple[str, str, str]
"""A kind or resource, a namespace and a name."""


class OwnChanges:
    """Tells the changes of an operator from those of others.

    A change belongs to the operator if

    - a recorded reconcile of one of its controllers has sent that write, or
    - every field manager whose entry it has added or renewed is the operator's; if it has touched no entry, every
      changed field is owned by the operator; or
    - it changes a Lease of its elections.

    Args:
        recording: The recording.
        managers: The operator.
        field_managers: Its field managers; None for its names and those of its controllers.
        overrides: The options of its runs.
    """

    def __init__(
        self,
        recording: Recording,
        managers: Sequence[Manager],
        field_managers: Collection[str] | None,
        overrides: RunOverrides,
    ) -> None:
        controllers = [controller for manager in managers for controller in manager.controllers]
        if field_managers is None:
            field_managers = [
                *(manager.name for manager in managers),
                *(controller.field_manager for controller in controllers),
            ]
        self._managers = frozenset(field_managers)
        # Empty without an election; no Lease has an empty name.
        self._leases = {manager.options.overridden(**overrides).leader_election_id for manager in managers}
        self._versions: set[tuple[Place, str]] = set()
        self._deletions: dict[Place, list[datetime]] = {}
        names = {controller.name for controller in controllers}
        for reconcile in recording.reconciles():
            if reconcile.controller in names:
                for write in reconcile.writes:
                    self._add(write, reconcile.began)

    def __call__(self, change: ObservedChange) -> bool:
        """Whether a change is the operator's own."""
        resource = change.kind.resource
        if (resource.group, resource.resource) == _LEASES and change.name in self._leases:
            return True
        places = [(kind, change.namespace, change.name) for kind in _names_of(change.kind)]
        if change.type == "DELETED":
            # No object tells who has deleted it.
            return any(self._take_deletion(place, change.time) for place in places)
        return any((place, change.version) in self._versions for place in places) or self._is_written_by_managers(
            change
        )

    def _add(self, write: Mapping[str, object], began: datetime) -> None:
        kind, namespace, name, version = (str(write.get(each, "")) for each in ("kind", "namespace", "name", "version"))
        place = kind.lower(), namespace, name
        code = write.get("code", 0)
        if not isinstance(code, int) or code not in _OK:
            return
        if write.get("verb") == "delete":
            self._deletions.setdefault(place, []).append(began)
        if version:
            self._versions.add((place, version))

    def _take_deletion(self, place: Place, time: datetime) -> bool:
        """Whether a reconcile has deleted an object before; the answer counts once."""
        earlier = [each for each in self._deletions.get(place, ()) if each <= time]
        if earlier:
            self._deletions[place] = [each for each in self._deletions[place] if each > time]
        return bool(earlier)

    def _is_written_by_managers(self, change: ObservedChange) -> bool:
        before = change.before if change.type != "ADDED" else None
        known = [] if before is None else _entries(before.to_dict())
        # Who loses fields to another manager has a changed entry, too, but with the old time.
        old = {_identity(entry): entry.get("time") for entry in known}
        entries = _entries(change.plain())
        writers = {
            str(entry.get("manager", ""))
            for entry in entries
            if _identity(entry) not in old or old[_identity(entry)] != entry.get("time")
        }
        if not writers:
            writers = {field.manager or _owner_of(field.path, entries) for field in change.fields()}
        return bool(writers) and writers <= self._managers


def _entries(plain: dict[str, Any]) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", plain.get("metadata", {}).get("managedFields") or [])


def _identity(entry: Mapping[str, Any]) -> tuple[object, ...]:
    return entry.get("manager"), entry.get("operation"), entry.get("subresource")


def _owner_of(path: str, entries: list[dict[str, Any]]) -> str:
    """Return the manager that owns a field, or one above it; empty if there is none."""
    steps = [step.partition("[")[0] for step in path.split(".")]
    best, owner = 0, ""
    for entry in entries:
        node: Any = entry.get("fieldsV1") or {}
        depth = 0
        for step in steps:
            if not isinstance(node, dict) or f"f:{step}" not in node:
                break
            node = cast("dict[str, Any]", node)[f"f:{step}"]
            depth += 1
        if depth > best:
            best, owner = depth, str(entry.get("manager", ""))
    return owner


def _names_of(kind: RecordedKind) -> set[str]:
    resource = kind.resource
    qualified = f"{resource.resource}.{resource.group}" if resource.group else resource.resource
    return {kind.gvk.kind.lower(), resource.resource, qualified}
