"""The cells of services and networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import metadata, service
from tests.conformance.rows import show, show_with_status

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Cells of networks")


@case("services of every type")
def _(api: Api) -> None:
    for name, spec in (
        ("a", {"clusterIP": "None"}),
        ("b", {"clusterIP": "None", "selector": {"b": "2", "a": "1"}}),
        ("c", {"type": "ExternalName", "externalName": "example.com"}),
        ("d", {"clusterIP": "None", "externalIPs": ["192.0.2.1", "192.0.2.2"]}),
        ("e", {"clusterIP": "None", "ports": None}),
        (
            "f",
            {
                "clusterIP": "None",
                "ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2, "protocol": "UDP"}],
            },
        ),
    ):
        api.create("services", service(name, spec=spec))
        show(api, "services", name)


@case("a service with a load balancer")
def _(api: Api) -> None:
    spec = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}
    show_with_status(
        api,
        "services",
        service("a", spec=spec),
        {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}, {"hostname": "lb.example.com"}, {"ip": "192.0.2.1"}]}},
    )
    api.patch("services", "a", {"spec": {"externalIPs": ["198.51.100.1"]}})
    show(api, "services", "a")


@case("endpoints")
def _(api: Api) -> None:
    def addresses(*ips: str) -> list[Plain]:
        return [{"ip": ip} for ip in ips]

    one, two = {"name": "a", "port": 80}, {"name": "b", "port": 443}
    for name, subsets in (
        ("a", [{"addresses": addresses("192.0.2.1"), "ports": [one]}]),
        ("b", [{"addresses": addresses("192.0.2.1", "192.0.2.2"), "ports": [one, two]}]),
        ("c", [{"addresses": addresses("192.0.2.1", "192.0.2.2")}]),
        ("d", [{"notReadyAddresses": addresses("192.0.2.1"), "ports": [one]}]),
        ("e", [{"addresses": addresses("2001:db8::1"), "ports": [one]}]),
        (
            "f",
            [
                {"addresses": addresses("192.0.2.1", "192.0.2.2"), "ports": [one]},
                {"addresses": addresses("192.0.2.3", "192.0.2.4"), "ports": [two]},
            ],
        ),
    ):
        api.create("endpoints", {"metadata": {"name": name}, "subsets": subsets})
        show(api, "endpoints", name)


@case("endpoint slices")
def _(api: Api) -> None:
    for name, fields in (
        ("a", {"ports": [{"port": 80}], "endpoints": [{"addresses": ["192.0.2.1"]}]}),
        (
            "b",
            {
                "ports": [{"name": f"p{port}", "port": port} for port in range(1, 6)],
                "endpoints": [{"addresses": [f"192.0.2.{each}"]} for each in range(1, 5)],
            },
        ),
        ("c", {"ports": [{"name": "any"}, {"name": "b", "port": 2}], "endpoints": []}),
        ("d", {"ports": [{}], "endpoints": []}),
    ):
        body = {"metadata": {"name": name}, "addressType": "IPv4", **fields}
        api.create("endpointslices", body)
        show(api, "endpointslices", name)


@case("ingresses")
def _(api: Api) -> None:
    backend = {"service": {"name": "a", "port": {"number": 80}}}

    def rules(*hosts: str) -> list[Plain]:
        paths = {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}
        return [{"host": host, "http": paths} if host else {"http": paths} for host in hosts]

    for name, spec in (
        ("a", {"defaultBackend": backend}),
        ("b", {"rules": rules("a.example.com", "b.example.com"), "ingressClassName": "nginx"}),
        (
            "c",
            {
                "rules": rules(*(f"{each}.example.com" for each in "abcde")),
                "tls": [{"hosts": ["a.example.com"]}],
            },
        ),
        ("d", {"rules": rules("", "a.example.com")}),
        ("e", {"rules": rules("a.example.com", "b.example.com", "c.example.com", "")}),
    ):
        show_with_status(
            api,
            "ingresses",
            {"metadata": {"name": name}, "spec": spec},
            {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}, {"hostname": "lb.example.com"}]}},
        )


@case("ingress classes")
def _(api: Api) -> None:
    for suffix, parameters, notes in (
        ("a", {"kind": "Thing", "name": "x"}, {}),
        (
            "b",
            {"apiGroup": "example.com", "kind": "Thing", "name": "x"},
            {"ingressclass.kubernetes.io/is-default-class": "true"},
        ),
    ):
        name = f"{api.namespace}-{suffix}"
        spec = {"controller": "example.com/c", "parameters": parameters}
        api.create("ingressclasses", {"metadata": metadata(name, annotations=notes), "spec": spec})
        show(api, "ingressclasses", name)


@case("network policies")
def _(api: Api) -> None:
    for name, selector in (
        ("a", {}),
        ("b", {"matchLabels": {"app": "a"}}),
        ("c", {"matchExpressions": [{"key": "app", "operator": "In", "values": ["b", "a"]}]}),
    ):
        api.create("networkpolicies", {"metadata": {"name": name}, "spec": {"podSelector": selector}})
        show(api, "networkpolicies", name)
