"""Selectors for default spreading: pods of the same Services and workload belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from masthead._meta import typeinfo
from masthead_server.scheduling.labels import LabelSelectorFacts, Selector, compile_selector

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.controllers.objects import ObjectRef
    from masthead_server.scheduling.pods import SchedulingPod

__all__ = ["WORKLOAD_TABLES", "DefaultSelectors"]

_SERVICES: Final = "services"
_TABLES: Final = {
    ("v1", "ReplicationController"): "replicationcontrollers",
    ("apps/v1", "ReplicaSet"): "apps/replicasets",
    ("apps/v1", "StatefulSet"): "apps/statefulsets",
}
WORKLOAD_TABLES: Final = frozenset({_SERVICES, *_TABLES.values()})
"""The tables of Services and workloads."""
_MAX_COMPILED: Final = 1024
_Name = TypeVar("_Name")
_Key = tuple[str, str, tuple[tuple[str, str], ...]]


class _MapSpec(msgspec.Struct):
    selector: dict[str, str] | None = None


class _SelectorSpec(msgspec.Struct):
    selector: LabelSelectorFacts | None = None


class _MapObject(msgspec.Struct):
    spec: _MapSpec = msgspec.field(default_factory=_MapSpec)


class _SelectorObject(msgspec.Struct):
    spec: _SelectorSpec = msgspec.field(default_factory=_SelectorSpec)


_decode_map: Callable[[bytes], _MapObject] = typeinfo.json_decoder(_MapObject).decode
_decode_selector: Callable[[bytes], _SelectorObject] = typeinfo.json_decoder(_SelectorObject).decode


def _read_selector(table: str, written: bytes) -> LabelSelectorFacts | None:
    if table in {_SERVICES, "replicationcontrollers"}:
        pairs = _decode_map(written).spec.selector
        return LabelSelectorFacts(pairs) if pairs else None
    return _decode_selector(written).spec.selector


class DefaultSelectors:
    """Combines the selectors of the Services and the workload of a pod."""

    def __init__(self) -> None:
        self._services: dict[str, dict[str, LabelSelectorFacts]] = {}
        self._workloads: dict[tuple[str, str], LabelSelectorFacts] = {}
        self._compiled: dict[_Key, Selector | None] = {}

    def set(self, ref: ObjectRef, written: bytes | None) -> None:
        """Record the selector of a Service or a workload; None after its deletion."""
        found = None if written is None else _read_selector(ref.table, written)
        if ref.table == _SERVICES:
            known, key = self._services.setdefault(ref.namespace, {}), ref.name
            is_changed = _replace(known, key, found)
            if not known:
                del self._services[ref.namespace]
        else:
            is_changed = _replace(self._workloads, (ref.table, ref.key), found)
        if is_changed:
            # Selectors rarely change: clear the whole cache rather than find the affected pods.
            self._compiled.clear()

    def select(self, pod: SchedulingPod) -> Selector | None:
        """Return the selector of the pods of the same Services and workload; None without any."""
        owner = pod.controller
        workload = ""
        if owner is not None and (owner.api_version, owner.kind) in _TABLES:
            workload = f"{_TABLES[owner.api_version, owner.kind]} {pod.namespace}/{owner.name}"
        if not workload and pod.namespace not in self._services:
            return None
        key = pod.namespace, workload, tuple(pod.labels.items())
        if key not in self._compiled:
            if len(self._compiled) >= _MAX_COMPILED:
                self._compiled.clear()
            self._compiled[key] = self._compile(pod, workload)
        return self._compiled[key]

    def _compile(self, pod: SchedulingPod, workload: str) -> Selector | None:
        whole = LabelSelectorFacts()
        for service in self._services.get(pod.namespace, {}).values():
            # All of them match the labels of the pod, so that they cannot contradict each other.
            if service.match_labels.items() <= pod.labels.items():
                whole = LabelSelectorFacts({**whole.match_labels, **service.match_labels})
        table, _, name = workload.partition(" ")
        owned = self._workloads.get((table, name))
        if owned is not None:
            whole = LabelSelectorFacts({**whole.match_labels, **owned.match_labels}, owned.match_expressions)
        selector = compile_selector(whole)
        return None if selector.is_empty else selector


def _replace(known: dict[_Name, LabelSelectorFacts], key: _Name, found: LabelSelectorFacts | None) -> bool:
    before = known.pop(key, None) if found is None else known.get(key)
    if found is not None:
        known[key] = found
    return before != found
