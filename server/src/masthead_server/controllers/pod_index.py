"""Indices of pods by label, and of selectors by required label.

Controllers look up the pods of a selector, and the selectors of a pod. With 50,000 pods and 1,000 Services both have to
be cheap: an index by one label leaves few candidates.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import msgspec

from masthead._meta import typeinfo
from masthead._meta.labels import from_label_selector, from_mapping
from masthead._meta.v1 import LabelSelector
from masthead_server.controllers.owner_references import OwnerReference, find_controller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from masthead_server.cluster import ClusterState
    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectRef
    from masthead_server.storage import Record
    from masthead_server.wire.plain import Plain

__all__ = ["IndexedPod", "PodIndex", "PodSelector", "SelectorIndex", "ready_condition"]

_FINISHED: Final = frozenset({"Succeeded", "Failed"})


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    owner_references: list[OwnerReference] = []
    deletion_timestamp: str | None = None


class _Port(msgspec.Struct, rename="camel"):
    name: str = ""
    container_port: int = 0
    protocol: str = "TCP"


class _Container(msgspec.Struct, rename="camel"):
    ports: list[_Port] = []
    restart_policy: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""
    hostname: str = ""
    subdomain: str = ""
    containers: list[_Container] = []
    init_containers: list[_Container] = []


class _Condition(msgspec.Struct, rename="camel"):
    type: str = ""
    status: str = ""
    reason: str = ""
    last_transition_time: str | None = None


class _Address(msgspec.Struct):
    ip: str = ""


class _Status(msgspec.Struct, rename="camel"):
    phase: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    pod_ips: list[_Address] = msgspec.field(default_factory=list[_Address], name="podIPs")
    conditions: list[_Condition] | None = None


class IndexedPod(msgspec.Struct):
    """The fields of a pod that Services and disruption budgets use.

    Attributes:
        metadata: Its name, labels and owners.
        spec: Where it runs, and its ports.
        status: Its phase, addresses and conditions.
    """

    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def controller(self) -> OwnerReference | None:
        """The reference to its controller; None if it has none."""
        return find_controller(self.metadata.owner_references)

    @property
    def is_terminating(self) -> bool:
        """Whether it is being deleted."""
        return self.metadata.deletion_timestamp is not None

    @property
    def is_finished(self) -> bool:
        """Whether it has the phase Succeeded or Failed."""
        return self.status.phase in _FINISHED

    @property
    def is_ready(self) -> bool:
        """Whether its condition Ready is true."""
        ready = ready_condition(self)
        return ready is not None and ready.status == "True"

    @property
    def ips(self) -> list[str]:
        """Its addresses."""
        return [address.ip for address in self.status.pod_ips]


def ready_condition(pod: IndexedPod) -> _Condition | None:
    """Return the condition Ready of a pod."""
    return next((condition for condition in pod.status.conditions or () if condition.type == "Ready"), None)


_decode = typeinfo.json_decoder(IndexedPod).decode


@dataclass(frozen=True, slots=True)
class PodSelector:
    """A selector of pods, and the labels that it requires.

    Attributes:
        matches: Tells whether labels match.
        labels: The labels that every match has; empty if it requires none.
    """

    matches: Callable[[Mapping[str, str]], bool]
    labels: tuple[tuple[str, str], ...]

    @classmethod
    def of_label_selector(cls, written: Plain | None) -> PodSelector:
        """Parse a LabelSelector; None selects nothing.

        Raises:
            SelectorError: If it is invalid.
        """
        if written is None:
            return cls(from_label_selector(None).matches, ())
        selector = LabelSelector.from_dict(written)
        return cls(from_label_selector(selector).matches, tuple((selector.match_labels or {}).items()))

    @classmethod
    def of_labels(cls, labels: Mapping[str, str]) -> PodSelector:
        """Select by a map of labels, as Services do."""
        return cls(from_mapping(labels).matches, tuple(labels.items()))


class SelectorIndex:
    """Index of selectors by one required label each, for lookups by a pod's labels."""

    def __init__(self) -> None:
        self._selectors: dict[ObjectRef, PodSelector] = {}
        self._by_label: defaultdict[tuple[str, tuple[str, str] | None], dict[ObjectRef, None]] = defaultdict(dict)

    def put(self, ref: ObjectRef, selector: PodSelector | None) -> None:
        """Set the selector of an object; None for no selector."""
        known = self._selectors.pop(ref, None)
        if known is not None:
            self._by_label[_place(ref, known)].pop(ref, None)
        if selector is not None:
            self._selectors[ref] = selector
            self._by_label[_place(ref, selector)][ref] = None

    def matching(self, namespace: str, labels: Mapping[str, str]) -> list[ObjectRef]:
        """Return the objects of a namespace whose selectors match these labels, sorted by key."""
        places: Iterable[tuple[str, str] | None] = (*labels.items(), None)
        found = (
            ref for place in places if (namespace, place) in self._by_label for ref in self._by_label[namespace, place]
        )
        return sorted((ref for ref in found if self._selectors[ref].matches(labels)), key=lambda ref: ref.key)


def _place(ref: ObjectRef, selector: PodSelector) -> tuple[str, tuple[str, str] | None]:
    return ref.namespace, selector.labels[0] if selector.labels else None


class PodIndex:
    """Index of pods by namespace and label, shared by the controllers of a server."""

    _of_clusters: Final[WeakKeyDictionary[ClusterState, PodIndex]] = WeakKeyDictionary()

    def __init__(self) -> None:
        self._pods: dict[ObjectRef, IndexedPod] = {}
        self._by_label: defaultdict[tuple[str, tuple[str, str] | None], dict[ObjectRef, None]] = defaultdict(dict)
        self._last: Record | None = None
        self._change: tuple[IndexedPod | None, IndexedPod | None] = (None, None)

    @classmethod
    def of(cls, cluster: ClusterState) -> PodIndex:
        """Return the index of a cluster."""
        index = cls._of_clusters.get(cluster)
        if index is None:
            index = cls._of_clusters[cluster] = cls()
        return index

    def update(self, write: ObservedWrite) -> tuple[IndexedPod | None, IndexedPod | None]:
        """Index a written pod; return it before and after the write."""
        # All controllers observe a write before the next one: the first of them decodes the pod for all.
        if write.record is self._last:
            return self._change
        ref = write.ref
        before = self._pods.pop(ref, None)
        if before is not None:
            for place in _places(ref, before):
                group = self._by_label[place]
                group.pop(ref, None)
                if not group:
                    del self._by_label[place]
        after = None
        if not write.record.is_deleted:
            after = self._pods[ref] = _decode(b"{" + write.record.value)
            for place in _places(ref, after):
                self._by_label[place][ref] = None
        self._last, self._change = write.record, (before, after)
        return self._change

    def get(self, ref: ObjectRef) -> IndexedPod | None:
        """Return a pod; None if it does not exist."""
        return self._pods.get(ref)

    def select(self, namespace: str, selector: PodSelector) -> dict[ObjectRef, IndexedPod]:
        """Return the matching pods of a namespace, sorted by key."""
        groups = [self._by_label.get((namespace, label), {}) for label in (*selector.labels, None)]
        smallest = min(groups, key=len)
        found = ((ref, self._pods[ref]) for ref in sorted(smallest, key=lambda ref: ref.key))
        return {ref: pod for ref, pod in found if selector.matches(pod.metadata.labels)}


def _places(ref: ObjectRef, pod: IndexedPod) -> Iterable[tuple[str, tuple[str, str] | None]]:
    labels: Iterable[tuple[str, str] | None] = (*pod.metadata.labels.items(), None)
    return ((ref.namespace, label) for label in labels)
