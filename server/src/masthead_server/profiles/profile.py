"""`ClusterProfile`: nodes, objects and names of a kind of cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from masthead_server.wire.plain import metadata, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from ipaddress import IPv4Network

    from masthead_server.kubelet.static_pods import StaticPod
    from masthead_server.node_templates import NodeTemplate
    from masthead_server.wire.plain import Plain

__all__ = ["ClusterAdministrator", "ClusterProfile", "ProfileContext", "ProfileObject"]


class ProfileObject(NamedTuple):
    """An object of a profile.

    Attributes:
        table: Its table.
        content: The object, as a client would send it.
        manager: The field manager of its author.
    """

    table: str
    content: Plain
    manager: str

    @property
    def namespace(self) -> str:
        """The namespace; empty for a cluster-scoped object."""
        return text(metadata(self.content), "namespace")

    @property
    def key(self) -> str:
        """The key in its table."""
        name = text(metadata(self.content), "name")
        return f"{self.namespace}/{name}" if self.namespace else name


@dataclass(frozen=True, slots=True)
class ProfileContext:
    """The facts about the server that objects of a profile contain.

    Attributes:
        authority: The certificate authority, in PEM; empty without TLS.
        address: The address of the first node.
        now: The time, in the format of metadata.
    """

    authority: str
    address: str
    now: str


@dataclass(frozen=True, slots=True)
class ClusterAdministrator:
    """The user of a profile's kubeconfig.

    Attributes:
        name: The user name.
        groups: The groups.
        context: The name of context, cluster and user in the kubeconfig.
    """

    name: str
    groups: tuple[str, ...]
    context: str


class ClusterProfile(Protocol):
    """A kind of cluster."""

    @property
    def service_network(self) -> IPv4Network:
        """The range of cluster IPs."""
        ...

    @property
    def authorization(self) -> str:
        """The authorization modes, unless the user chooses others."""
        ...

    @property
    def admission(self) -> Sequence[str]:
        """The admission plugins beyond kube-apiserver's defaults."""
        ...

    @property
    def administrator(self) -> ClusterAdministrator:
        """The user of the kubeconfig."""
        ...

    def nodes(self, count: int) -> Sequence[NodeTemplate]:
        """Return the templates of ``count`` nodes; at least one."""
        ...

    def objects(self, context: ProfileContext) -> Iterator[ProfileObject]:
        """Yield the objects in the order of their creation, those of the methods below excepted."""
        ...

    def static_pods(self, context: ProfileContext) -> Iterator[StaticPod]:
        """Yield the static pods of nodes."""
        ...

    def leases(self, context: ProfileContext) -> Iterator[ProfileObject]:
        """Yield the leases of components, which are renewed."""
        ...
