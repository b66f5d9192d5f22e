"""Hand-made records of runs, for tests of oracles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from masthead.testing._explore.canonical_state import is_builtin
from masthead.testing._explore.checksums import checksum_object, checksum_parts
from masthead.testing._explore.schedule import Schedule
from masthead.testing._explore.trace import ChangeRecord, RunResult, TraceEntry, WriteRecord

if TYPE_CHECKING:
    from masthead.testing._explore.faults import PlannedFault
    from masthead.testing._explore.trace import ObjectView

__all__ = ["History"]

_OPERATOR = "operator-1"


class History:
    """Builds the record of a run, change by change.

    Args:
        faults: The faults of its schedule; all strike.
        seed: The seed, which is part of all uids.
    """

    def __init__(self, *faults: PlannedFault, seed: int = 0) -> None:
        self.result = RunResult(Schedule(seed, faults), resources=["shops.example.com"])
        self._seed = seed
        self._revision = 100
        self._count = 0
        self.step = 1

    def put(
        self, resource: str, key: str, *, by: str = _OPERATOR, generate_name: str = "", owner: str = "", **sections: Any
    ) -> str:
        """Create or change an object, and return its uid. Metadata is an argument as well."""
        objects = self.result.objects.setdefault(resource, {})
        old = objects.get(key)
        uid = old["metadata"]["uid"] if old else self._new_uid()
        self._revision += 1
        metadata = {**sections.pop("metadata", {}), "name": key.rpartition("/")[2], "uid": uid}
        metadata["resourceVersion"] = str(self._revision)
        metadata["creationTimestamp"] = f"2026-01-01T00:00:{self._seed % 60:02}Z"
        if not is_builtin(resource):
            metadata["generation"] = (old["metadata"]["generation"] if old else 0) + 1
        if owner:
            metadata["ownerReferences"] = [{"kind": "Shop", "name": "books", "uid": owner, "controller": True}]
        if generate_name:
            metadata["generateName"] = generate_name
        objects[key] = {"apiVersion": "v1", "kind": "Kind", "metadata": metadata, **sections}
        self._note("MODIFIED" if old else "ADDED", resource, key, objects[key], by)
        return uid

    def delete(self, resource: str, key: str, *, by: str = _OPERATOR) -> None:
        """Delete an object."""
        self._revision += 1
        self._note("DELETED", resource, key, self.result.objects[resource].pop(key), by)

    def strike(self) -> None:
        """Let the faults strike."""
        self.result.entries.append(TraceEntry(0.0, "fault", "a fault strikes", self.step))

    def rest(self) -> None:
        """End a step."""
        self.result.rests.append(self._revision)
        self.result.states.append({resource: dict(members) for resource, members in self.result.objects.items()})
        self.step += 1

    def write(
        self,
        verb: str,
        resource: str,
        key: str,
        *,
        code: int = 200,
        live: ObjectView | None = None,
        seen: ObjectView | None = None,
        primary_seen: ObjectView | None = None,
        primary_live: ObjectView | None = None,
        **options: Any,
    ) -> None:
        """Record a write of the operator."""
        views = {"live": live, "seen": seen, "primary_seen": primary_seen, "primary_live": primary_live}
        options |= {name: view for name, view in views.items() if view is not None}
        number = len(self.result.writes) + 1
        options.setdefault("primary", "default/books")
        options.setdefault("replica", _OPERATOR)
        self.result.writes.append(
            WriteRecord(
                number, self.step, verb=verb, resource=resource, key=key, code=code, revision=self._revision, **options
            )
        )

    def _note(self, change: str, resource: str, key: str, plain: dict[str, Any], by: str) -> None:
        is_operator = by.startswith("operator-")
        record = ChangeRecord(
            self._revision,
            self.step,
            change,
            resource,
            key,
            plain["metadata"]["uid"],
            by,
            "shops default/books id" if is_operator else "",
            tuple(owner["uid"] for owner in plain["metadata"].get("ownerReferences", ())),
            checksum_object(plain),
            checksum_parts(resource, plain),
        )
        self.result.changes.append(record)
        self.result.entries.append(
            TraceEntry(0.0, "change", f"{change} {resource} {key}", self.step, number=self._revision)
        )

    def _new_uid(self) -> str:
        self._count += 1
        return f"{self._seed:08x}-0000-4000-8000-{self._count:012x}"
