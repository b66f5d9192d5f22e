"""Services, and the endpoints behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.plain import entries, has, integer, part, text, texts
from masthead._printers.formats import cut_list, label_set
from masthead._printers.printer import AGE, NAME, Column, Printer, age_of, name_of, wide

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["PRINTERS", "load_balancer_addresses"]

_MAX_ENDPOINTS: Final = 3


def _external_ip(service: Plain) -> str:
    spec = part(service, "spec")
    kind, external = text(spec, "type"), texts(spec, "externalIPs")
    if kind == "ExternalName":
        return text(spec, "externalName")
    # External addresses are routed by others, so that any type may have them.
    if kind in {"ClusterIP", "NodePort"}:
        return ",".join(external) or "<none>"
    if kind == "LoadBalancer":
        return ",".join([*load_balancer_addresses(service), *external]) or "<pending>"
    return "<unknown>"


def load_balancer_addresses(owner: Plain) -> list[str]:
    """Return the addresses of a load balancer, each once, sorted."""
    ingress = entries(part(owner, "status", "loadBalancer"), "ingress")
    # A load balancer has an address or a name, depending on its provider.
    return sorted({text(entry, "ip") or text(entry, "hostname") for entry in ingress} - {""})


def _ports(spec: Plain) -> str:
    return ",".join(_port(entry) for entry in entries(spec, "ports")) or "<none>"


def _port(port: Plain) -> str:
    node_port = integer(port, "nodePort")
    shown = f"{integer(port, 'port')}:{node_port}" if node_port > 0 else f"{integer(port, 'port')}"
    return f"{shown}/{text(port, 'protocol')}"


def _service(obj: Plain, now: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    cluster_ips = texts(spec, "clusterIPs")
    return [
        name_of(obj),
        text(spec, "type"),
        cluster_ips[0] if cluster_ips else text(spec, "clusterIP") or "<none>",
        _external_ip(obj),
        _ports(spec),
        age_of(obj, now),
        label_set(spec, "selector"),
    ]


def _endpoints(obj: Plain, now: datetime) -> list[Cell]:
    return [name_of(obj), _addresses(entries(obj, "subsets")), age_of(obj, now)]


def _addresses(subsets: list[Plain]) -> str:
    if not subsets:
        return "<none>"
    shown: list[str] = []
    count = 0
    for subset in subsets:
        ips = [text(entry, "ip") for entry in entries(subset, "addresses")]
        ports = entries(subset, "ports")
        count += len(ips) * (len(ports) or 1)
        # A headless service may have addresses without ports.
        if not ports:
            shown += ips[:_MAX_ENDPOINTS]
        for port in ports[:_MAX_ENDPOINTS]:
            shown += [_join_host_port(ip, integer(port, "port")) for ip in ips[:_MAX_ENDPOINTS]]
    joined = ",".join(shown[:_MAX_ENDPOINTS])
    return f"{joined} + {count - _MAX_ENDPOINTS} more..." if count > _MAX_ENDPOINTS else joined


def _join_host_port(host: str, port: int) -> str:
    # IPv6 addresses need brackets in front of a port.
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _endpoint_slice(obj: Plain, now: datetime) -> list[Cell]:
    addresses = [address for endpoint in entries(obj, "endpoints") for address in texts(endpoint, "addresses")]
    return [
        name_of(obj),
        text(obj, "addressType"),
        cut_list([_slice_port(entry) for entry in entries(obj, "ports")]),
        cut_list(addresses),
        age_of(obj, now),
    ]


def _slice_port(port: Plain) -> str:
    if has(port, "port"):
        return str(integer(port, "port"))
    name = port.get("name")
    return name if isinstance(name, str) else "*"


PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {
    ("", "Service"): Printer(
        (
            NAME,
            Column("Type"),
            Column("Cluster-IP"),
            Column("External-IP"),
            Column("Port(s)"),
            AGE,
            wide("Selector"),
        ),
        _service,
    ),
    ("", "Endpoints"): Printer((NAME, Column("Endpoints"), AGE), _endpoints),
    ("discovery.k8s.io", "EndpointSlice"): Printer(
        (NAME, Column("AddressType"), Column("Ports"), Column("Endpoints"), AGE), _endpoint_slice
    ),
}
"""The printers, by group and kind."""
