"""The target of a proxy: a port of a pod, of a pod behind a service, or of a node."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._meta.gvk import GroupVersionResource
from masthead._meta.quoting import quoted
from masthead_server.kubelet.pod_observer import is_up
from masthead_server.kubelet.ports import KUBELET_PORT, PortAddress
from masthead_server.kubelet.proxy_rules import ProxyName, unavailable
from masthead_server.wire.failures import StatusFailure, bad_request
from masthead_server.wire.plain import Plain, is_being_deleted, items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.cluster import ClusterState
    from masthead_server.kubelet.ports import Ports
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["ProxyTarget", "ProxyTargets"]

_DEFAULT_PORTS: Final = {"": 80, "http": 80, "https": 443}
_PODS: Final = GroupVersionResource("", "v1", "pods")
_SERVICES: Final = GroupVersionResource("", "v1", "services")
_NODES: Final = GroupVersionResource("", "v1", "nodes")
_ENDPOINTS: Final = GroupVersionResource("", "v1", "endpoints")
_SLICES: Final = GroupVersionResource("discovery.k8s.io", "v1", "endpointslices")


class ProxyTarget(NamedTuple):
    """Where a proxy leads."""

    scheme: str
    """``https``, or anything else for HTTP without TLS."""
    address: PortAddress
    host: str
    """The address of the pod or node and the port, as messages name them."""
    is_up: bool = True
    """Whether anything runs there."""


class _Endpoint(NamedTuple):
    """One pod behind a service, and its port."""

    pod: str
    ip: str
    port: int


class ProxyTargets:
    """Finds out where proxies lead.

    Args:
        cluster: The cluster state.
        ports: What listens.
    """

    def __init__(self, cluster: ClusterState, ports: Ports) -> None:
        self._cluster = cluster
        self._ports = ports

    def find(self, info: RequestInfo) -> ProxyTarget:
        """Return where the proxy of a request leads.

        Raises:
            StatusFailure: If there is no such object, or if the proxy leads nowhere.
        """
        kind = info.resource.removesuffix("s")
        name = ProxyName.of(info.name, kind)
        if kind == "service":
            return self._of_service(info.namespace, name, info.name)
        return self._of_node(name) if kind == "node" else self._of_pod(info.namespace, name)

    def _of_pod(self, namespace: str, name: ProxyName) -> ProxyTarget:
        pod = self._load(_PODS, namespace, name.name)
        port = _number(name.port) if name.port else _first_port(pod) or _DEFAULT_PORTS[name.scheme]
        address = PortAddress(namespace, name.name, port)
        ip = text(part(pod, "status"), "podIP")
        # differs from kube-apiserver: where something listens, it can be reached without an address.
        if not _is_routable(ip) and (self._ports.find(address) is None or not is_up(pod)):
            raise bad_request("address not allowed")
        return ProxyTarget(name.scheme, address, _join_host_port(ip, port), is_up(pod))

    def _of_node(self, name: ProxyName) -> ProxyTarget:
        node = self._load(_NODES, "", name.name)
        port = _number(name.port) if name.port else KUBELET_PORT
        addresses = {text(entry, "type"): text(entry, "address") for entry in items(part(node, "status"), "addresses")}
        ip = addresses.get("InternalIP") or addresses.get("ExternalIP") or addresses.get("Hostname") or name.name
        return ProxyTarget(name.scheme, PortAddress("", name.name, port), _join_host_port(ip, port))

    def _of_service(self, namespace: str, name: ProxyName, shown: str) -> ProxyTarget:
        service = self._load(_SERVICES, namespace, name.name)
        port_name = name.port
        if name.port.isdecimal():
            found = [port for port in items(part(service, "spec"), "ports") if port.get("port") == int(name.port)]
            if not found:
                raise unavailable(f"no service port {int(name.port)} found for service {quoted(name.name)}")
            # Endpoints name their ports: a number leads to them through the service.
            port_name = text(found[0], "name")
        for endpoint in self._endpoints(service, port_name):
            address = PortAddress(namespace, endpoint.pod, endpoint.port)
            pod = self._try_load(_PODS, namespace, endpoint.pod)
            return ProxyTarget(name.scheme, address, _join_host_port(endpoint.ip, endpoint.port), is_up(pod))
        raise unavailable(f"no endpoints available for service {quoted(shown)}")

    def _endpoints(self, service: Plain, port_name: str) -> Iterator[_Endpoint]:
        """Return the ready pods of a service: from its Endpoints or EndpointSlices, or by its selector.

        The selector counts without endpoints, because the controllers that write them may not run.
        """
        namespace, name = (text(part(service, "metadata"), field) for field in ("namespace", "name"))
        written = [*self._endpoints_objects(namespace, name), *self._slices(namespace, name)]
        if not written:
            yield from self._select_endpoints(service, port_name)
            return
        for addresses, ports in written:
            numbers = [port.get("port") for port in ports if text(port, "name") == port_name]
            for pod, ip in addresses if numbers else ():
                yield _Endpoint(pod, ip, int(numbers[0] or 0))

    def _endpoints_objects(self, namespace: str, name: str) -> Iterator[tuple[list[tuple[str, str]], list[Plain]]]:
        found = self._try_load(_ENDPOINTS, namespace, name)
        for subset in items(found or {}, "subsets"):
            pods = [(text(part(entry, "targetRef"), "name"), text(entry, "ip")) for entry in items(subset, "addresses")]
            yield [pod for pod in pods if pod[0]], items(subset, "ports")

    def _slices(self, namespace: str, name: str) -> Iterator[tuple[list[tuple[str, str]], list[Plain]]]:
        for found in self._all(_SLICES, namespace):
            labels = part(part(found, "metadata"), "labels")
            if labels.get("kubernetes.io/service-name") != name:
                continue
            pods = [
                (text(part(endpoint, "targetRef"), "name"), str((endpoint.get("addresses") or [""])[0]))
                for endpoint in items(found, "endpoints")
                if part(endpoint, "conditions").get("ready") is not False
            ]
            yield [pod for pod in pods if pod[0]], items(found, "ports")

    def _select_endpoints(self, service: Plain, port_name: str) -> Iterator[_Endpoint]:
        selector = part(part(service, "spec"), "selector")
        namespace = text(part(service, "metadata"), "namespace")
        ports = [port for port in items(part(service, "spec"), "ports") if text(port, "name") == port_name]
        # A client writes the endpoints of a service without a selector.
        if not selector or not ports:
            return
        for pod in self._all(_PODS, namespace):
            labels = part(part(pod, "metadata"), "labels")
            number = _target_port(ports[0], pod)
            if selector.items() <= labels.items() and _is_ready(pod) and number:
                yield _Endpoint(text(part(pod, "metadata"), "name"), text(part(pod, "status"), "podIP"), number)

    def _load(self, gvr: GroupVersionResource, namespace: str, name: str) -> Plain:
        served = self._cluster.catalog.require(gvr)
        return served.load(self._cluster.find(served, namespace, name))

    def _try_load(self, gvr: GroupVersionResource, namespace: str, name: str) -> Plain | None:
        try:
            return self._load(gvr, namespace, name)
        except StatusFailure:
            return None

    def _all(self, gvr: GroupVersionResource, namespace: str) -> Iterator[Plain]:
        served = self._cluster.catalog.require(gvr)
        for _, found in self._cluster.objects(served):
            if text(part(found, "metadata"), "namespace") == namespace:
                yield found


def _first_port(pod: Plain) -> int:
    """The first port that a pod declares; 0 if it declares none."""
    for container in items(part(pod, "spec"), "containers"):
        for port in items(container, "ports"):
            return int(port.get("containerPort", 0))
    return 0


def _target_port(service_port: Plain, pod: Plain) -> int:
    """The pod's port behind a service's; 0 if the pod has no port of that name."""
    target = service_port.get("targetPort") or service_port.get("port", 0)
    if isinstance(target, int):
        return target
    for container in items(part(pod, "spec"), "containers"):
        for port in items(container, "ports"):
            if port.get("name") == target:
                return int(port.get("containerPort", 0))
    return 0


def _is_ready(pod: Plain) -> bool:
    conditions = items(part(pod, "status"), "conditions")
    is_ready = any(condition.get("type") == "Ready" and condition.get("status") == "True" for condition in conditions)
    return is_ready and not is_being_deleted(pod)


def _number(port: str) -> int:
    """The number of a port.

    Raises:
        StatusFailure: If it is a name: only services have named ports.
    """
    if port.isascii() and port.isdecimal() and 0 < int(port) < 65536:
        return int(port)
    # differs from kube-apiserver, which closes the connection: Go cannot make a request of such a URL.
    raise bad_request(f"invalid port {quoted(port)}: the proxy of a pod or node needs a number from 1 to 65535")


def _is_routable(ip: str) -> bool:
    try:
        address = ipaddress.ip_address(ip)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified or address.is_multicast or address.is_link_local)


def _join_host_port(ip: str, port: int) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
