"""The host ports of pods. A kubelet rejects a pod if another pod uses one of its host ports on the node."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.kubelet.container_states import is_sidecar
from masthead_server.kubelet.containers import ContainerRef
from masthead_server.kubelet.phases import is_ended
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.wire.plain import Plain

__all__ = ["HostPorts"]

_ANY_ADDRESS: Final = "0.0.0.0"


class _HostPort(NamedTuple):
    protocol: str
    number: int
    address: str


class HostPorts:
    """Assigns host ports of nodes to pods.

    Args:
        load_pod: Loads a pod; None if it does not exist.
    """

    def __init__(self, load_pod: Callable[[str, str], Plain | None]) -> None:
        self._load_pod = load_pod
        self._taken: defaultdict[str, dict[ContainerRef, frozenset[_HostPort]]] = defaultdict(dict)

    def take(self, pod: Plain) -> bool:
        """Assign the host ports of a pod; return False if another pod has one of them."""
        ports = _ports_of(pod)
        # Nearly all pods have no host ports.
        if not ports:
            return True
        ref, of_node = _ref_of(pod), self._taken[text(part(pod, "spec"), "nodeName")]
        for owner, taken in tuple(of_node.items()):
            if owner == ref or not _conflict(ports, taken):
                continue
            found = self._load_pod(owner.namespace, owner.pod)
            # A finished pod keeps its entry until its deletion, but not the ports.
            if found is not None and not is_ended(found):
                return False
            del of_node[owner]
        of_node[ref] = ports
        return True

    def forget(self, namespace: str, pod: str) -> None:
        """Free the ports of a pod that was removed."""
        ref = ContainerRef(namespace, pod)
        # A removed pod no longer tells its node.
        for node in [node for node, owners in self._taken.items() if ref in owners]:
            del self._taken[node][ref]
            if not self._taken[node]:
                del self._taken[node]


def _ref_of(pod: Plain) -> ContainerRef:
    meta = metadata(pod)
    return ContainerRef(text(meta, "namespace"), text(meta, "name"))


def _ports_of(pod: Plain) -> frozenset[_HostPort]:
    spec = part(pod, "spec")
    # Other init containers have ended before the main containers listen.
    sidecars = [container for container in items(spec, "initContainers") if is_sidecar(container)]
    return frozenset(
        _HostPort(text(port, "protocol") or "TCP", port["hostPort"], text(port, "hostIP") or _ANY_ADDRESS)
        for container in (*items(spec, "containers"), *sidecars)
        for port in items(container, "ports")
        if port.get("hostPort")
    )


def _conflict(ports: frozenset[_HostPort], taken: frozenset[_HostPort]) -> bool:
    return any(
        wanted[:2] == other[:2] and (wanted.address == other.address or _ANY_ADDRESS in {wanted.address, other.address})
        for wanted in ports
        for other in taken
    )
