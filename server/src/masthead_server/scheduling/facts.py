"""The fields of pods and nodes that the scheduler decodes; replicas of a workload share what they have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from masthead._meta import typeinfo

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "ContainerFacts",
    "NodeFacts",
    "OwnerFacts",
    "PodFacts",
    "PodSpec",
    "PodStatus",
    "Taint",
    "decode_node",
    "decode_pod",
]

_ABSENT = msgspec.Raw(b"")


class OwnerFacts(msgspec.Struct, rename="camel"):
    """An owner of a pod."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    controller: bool = False


class _PodMetadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    generation: int = 0
    owner_references: list[OwnerFacts] = []


class ContainerFacts(msgspec.Struct, rename="camel"):
    """The fields of a container that the scheduler reads."""

    name: str = ""
    resources: msgspec.Raw = _ABSENT
    ports: msgspec.Raw = _ABSENT
    restart_policy: str = ""


class _Gate(msgspec.Struct):
    name: str = ""


class PodSpec(msgspec.Struct, rename="camel"):
    """The fields of a pod's spec that the scheduler reads."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: int = 0
    preemption_policy: str = ""
    containers: list[ContainerFacts] = []
    init_containers: list[ContainerFacts] = []
    overhead: msgspec.Raw = _ABSENT
    resources: msgspec.Raw = _ABSENT
    node_selector: dict[str, str] = {}
    affinity: msgspec.Raw = _ABSENT
    tolerations: msgspec.Raw = _ABSENT
    topology_spread_constraints: msgspec.Raw = _ABSENT
    volumes: msgspec.Raw = _ABSENT
    scheduling_gates: list[_Gate] = []


class _Condition(msgspec.Struct, rename="camel"):
    type: str = ""
    status: str = ""
    reason: str = ""


class _ContainerStatus(msgspec.Struct, rename="camel"):
    name: str = ""
    allocated_resources: msgspec.Raw = _ABSENT
    resources: msgspec.Raw = _ABSENT


class PodStatus(msgspec.Struct, rename="camel"):
    """The fields of a pod's status that the scheduler reads."""

    phase: str = ""
    start_time: str | None = None
    nominated_node_name: str = ""
    conditions: list[_Condition] | None = None
    container_statuses: list[_ContainerStatus] | None = None
    init_container_statuses: list[_ContainerStatus] | None = None


class PodFacts(msgspec.Struct):
    """The fields of a pod that the scheduler reads."""

    metadata: _PodMetadata
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)


class Taint(msgspec.Struct, frozen=True):
    """A taint of a node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class _NodeMetadata(msgspec.Struct, rename="camel"):
    name: str = ""
    labels: dict[str, str] = {}


class _NodeSpec(msgspec.Struct):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class _NodeStatus(msgspec.Struct):
    allocatable: dict[str, str] = {}


class NodeFacts(msgspec.Struct):
    """The fields of a node that the scheduler reads; a heartbeat does not change them."""

    metadata: _NodeMetadata
    spec: _NodeSpec = msgspec.field(default_factory=_NodeSpec)
    status: _NodeStatus = msgspec.field(default_factory=_NodeStatus)


decode_pod: Callable[[bytes], PodFacts] = typeinfo.json_decoder(PodFacts).decode
decode_node: Callable[[bytes], NodeFacts] = typeinfo.json_decoder(NodeFacts).decode
