"""A pod with its requests, constraints and claims."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from masthead._meta import typeinfo
from masthead_server.scheduling.affinity_terms import read_affinity
from masthead_server.scheduling.requests import read_requests
from masthead_server.scheduling.taints import read_tolerations
from masthead_server.scheduling.topology_constraints import read_constraints

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.controllers.objects import ObjectRef
    from masthead_server.scheduling.affinity_terms import Affinity
    from masthead_server.scheduling.facts import OwnerFacts, PodFacts
    from masthead_server.scheduling.taints import Toleration
    from masthead_server.scheduling.topology_constraints import SpreadConstraint

__all__ = ["DEFAULT_SCHEDULER", "HostPort", "PodClaim", "SchedulingPod"]

DEFAULT_SCHEDULER: Final = "default-scheduler"
_FINISHED: Final = frozenset({"Succeeded", "Failed"})
_ANY_ADDRESS: Final = "0.0.0.0"
_CACHED: Final = 1024


class HostPort(NamedTuple):
    """A host port of a container."""

    protocol: str
    port: int
    address: str


class PodClaim(NamedTuple):
    """A claim of a pod.

    Attributes:
        name: Its name.
        is_ephemeral: Whether it belongs to an ephemeral volume of the pod.
    """

    name: str
    is_ephemeral: bool


class _ClaimSource(msgspec.Struct, rename="camel"):
    claim_name: str = ""


class _Volume(msgspec.Struct, rename="camel"):
    name: str = ""
    persistent_volume_claim: _ClaimSource | None = None
    ephemeral: msgspec.Raw = msgspec.Raw(b"")


class _Port(msgspec.Struct, rename="camel"):
    host_port: int = 0
    protocol: str = "TCP"
    host_ip: str = msgspec.field(default="", name="hostIP")


_decode_volumes: Callable[[bytes], list[_Volume]] = typeinfo.json_decoder(list[_Volume]).decode
_CLAIM_FIELDS: Final = (b'"persistentVolumeClaim"', b'"ephemeral"')
_decode_ports: Callable[[bytes], list[_Port]] = typeinfo.json_decoder(list[_Port]).decode


@lru_cache(maxsize=_CACHED)
def _read_ports(written: bytes) -> tuple[HostPort, ...]:
    return tuple(
        HostPort(port.protocol, port.host_port, port.host_ip or _ANY_ADDRESS)
        for port in _decode_ports(written)
        if port.host_port
    )


class SchedulingPod:
    """A pod with its requirements for a node, and its requests.

    Args:
        ref: Names it.
        facts: Its decoded fields.
    """

    def __init__(self, ref: ObjectRef, facts: PodFacts) -> None:
        self.ref = ref
        self.facts = facts
        self.namespace = ref.namespace
        self.name = ref.name
        self.uid = facts.metadata.uid
        self.labels = facts.metadata.labels
        self.priority = facts.spec.priority
        self.requests = read_requests(facts)
        self.node = facts.spec.node_name
        self.is_terminating = facts.metadata.deletion_timestamp is not None
        spec = facts.spec
        self.affinity: Affinity = read_affinity(bytes(spec.affinity), ref.namespace)
        containers = (*spec.containers, *(item for item in spec.init_containers if item.restart_policy == "Always"))
        self.ports: tuple[HostPort, ...] = tuple(
            port for container in containers if container.ports for port in _read_ports(bytes(container.ports))
        )

    @property
    def is_finished(self) -> bool:
        """Whether it has finished, and no longer uses resources."""
        return self.facts.status.phase in _FINISHED

    @property
    def nominated_node(self) -> str:
        """Its nominated node; empty for none."""
        return self.facts.status.nominated_node_name

    @property
    def started(self) -> str:
        """Its start time; empty before its start."""
        return self.facts.status.start_time or ""

    @property
    def controller(self) -> OwnerFacts | None:
        """The reference to its controller; None without one."""
        return next((owner for owner in self.facts.metadata.owner_references if owner.controller), None)

    @cached_property
    def tolerations(self) -> tuple[Toleration, ...]:
        """The taints that it tolerates."""
        return read_tolerations(bytes(self.facts.spec.tolerations))

    @cached_property
    def constraints(self) -> tuple[SpreadConstraint, ...]:
        """Its constraints on the distribution of pods."""
        spread = self.facts.spec.topology_spread_constraints
        return read_constraints(bytes(spread), self.labels) if spread else ()

    @cached_property
    def claims(self) -> tuple[PodClaim, ...]:
        """The claims of its volumes."""
        written = bytes(self.facts.spec.volumes)
        # Search the text first: most pods have no claims.
        if not any(name in written for name in _CLAIM_FIELDS):
            return ()
        claims: list[PodClaim] = []
        for volume in _decode_volumes(written):
            if volume.persistent_volume_claim is not None:
                claims.append(PodClaim(volume.persistent_volume_claim.claim_name, is_ephemeral=False))
            elif bytes(volume.ephemeral):
                claims.append(PodClaim(f"{self.name}-{volume.name}", is_ephemeral=True))
        return tuple(claims)

    def asks_the_same(self, other: SchedulingPod) -> bool:
        """Tell whether another state of this pod has the same requirements."""
        return (
            self.uid == other.uid
            and self.labels == other.labels
            and self.facts.spec == other.facts.spec
            and self.is_terminating == other.is_terminating
        )
