"""Index of dependents, such as the pods of a ReplicaSet, by the owner's uid."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._meta import typeinfo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectRef

__all__ = ["Dependent", "DependentIndex"]

_FINISHED: Final = frozenset({"Succeeded", "Failed"})


class _OwnerReference(msgspec.Struct, rename="camel"):
    uid: str = ""
    controller: bool = False


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    labels: dict[str, str] = {}
    owner_references: list[_OwnerReference] = []
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None


class _FieldRequirement(msgspec.Struct):
    key: str = ""
    operator: str = ""
    values: list[str] = []


class _NodeTerm(msgspec.Struct, rename="camel"):
    match_fields: list[_FieldRequirement] = []


class _NodeSelector(msgspec.Struct, rename="camel"):
    node_selector_terms: list[_NodeTerm] = []


class _NodeAffinity(msgspec.Struct):
    required: _NodeSelector | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")


class _Affinity(msgspec.Struct, rename="camel"):
    node_affinity: _NodeAffinity | None = None


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""
    affinity: _Affinity | None = None

    @property
    def required_terms(self) -> list[_NodeTerm]:
        """The required node selector terms of a pod, which name the node of a daemon pod."""
        affinity = self.affinity.node_affinity if self.affinity is not None else None
        return affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else []


class _Condition(msgspec.Struct, rename="camel"):
    type: str = ""
    status: str = ""
    last_transition_time: str | None = None


class _Status(msgspec.Struct):
    phase: str = ""
    conditions: list[_Condition] | None = None


class Dependent(msgspec.Struct):
    """The fields of an object that the controller of its owner reads.

    Attributes:
        metadata: Its name, labels and owners.
        spec: Where a pod runs.
        status: Its phase and conditions.
        owner: The uid of its controller; empty if it has none.
        is_terminating: Whether it is being deleted.
        is_finished: Whether a pod has the phase Succeeded or Failed.
        is_active: Whether it counts as a replica: neither finished nor being deleted.
        ready_since: Since when a pod is ready; None for an unready pod.
    """

    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)
    owner: str = ""
    is_terminating: bool = False
    is_finished: bool = False
    is_active: bool = False
    ready_since: datetime | None = None

    def __post_init__(self) -> None:
        # Once for each write: a reconcile reads these of all pods of a workload.
        references = self.metadata.owner_references
        self.owner = next((reference.uid for reference in references if reference.controller), "")
        self.is_terminating = self.metadata.deletion_timestamp is not None
        self.is_finished = self.status.phase in _FINISHED
        self.is_active = not self.is_terminating and not self.is_finished
        self.ready_since = self._find_ready_since()

    def _find_ready_since(self) -> datetime | None:
        for condition in self.status.conditions or ():
            if condition.type == "Ready" and condition.status == "True":
                since = condition.last_transition_time or self.metadata.creation_timestamp
                return datetime.fromisoformat(since)
        return None


_decode = typeinfo.json_decoder(Dependent).decode


class DependentIndex:
    """Index of the objects of a table by controller, and of orphans by namespace, in the order of their creation."""

    def __init__(self) -> None:
        self._objects: dict[ObjectRef, Dependent] = {}
        self._owned: defaultdict[str, dict[ObjectRef, Dependent]] = defaultdict(dict)
        self._orphans: defaultdict[str, dict[ObjectRef, Dependent]] = defaultdict(dict)

    def update(self, write: ObservedWrite) -> tuple[Dependent | None, Dependent | None]:
        """Index a written object; return it before and after the write."""
        ref, record = write.ref, write.record
        before = self._objects.pop(ref, None)
        after = None if record.is_deleted else _decode(b"{" + record.value)
        # With the same owner, an object keeps its place: what a controller deletes first must not depend on status.
        if before is not None and (after is None or after.owner != before.owner):
            self._drop(before, ref)
        if after is not None:
            self._objects[ref] = self._group(after, ref)[ref] = after
        return before, after

    def owned_by(self, uid: str) -> dict[ObjectRef, Dependent]:
        """Return the dependents of the object with this uid."""
        return dict(self._owned[uid]) if uid in self._owned else {}

    def orphans_in(self, namespace: str) -> Iterable[tuple[ObjectRef, Dependent]]:
        """Return the objects of a namespace that have no controller."""
        return list(self._orphans[namespace].items()) if namespace in self._orphans else ()

    def _drop(self, found: Dependent, ref: ObjectRef) -> None:
        groups, key = (self._owned, found.owner) if found.owner else (self._orphans, ref.namespace)
        groups[key].pop(ref, None)
        # Empty groups of deleted owners would accumulate.
        if not groups[key]:
            del groups[key]

    def _group(self, found: Dependent, ref: ObjectRef) -> dict[ObjectRef, Dependent]:
        return self._owned[found.owner] if found.owner else self._orphans[ref.namespace]
