"""Networking: ingresses and their classes, network policies, addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.plain import entries, has, part, text, texts
from masthead._printers.formats import group_resource, label_selector
from masthead._printers.printer import AGE, NAME, Column, Printer, age_of, name_of
from masthead._printers.services import load_balancer_addresses

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["PRINTERS"]

_MAX_HOSTS: Final = 3
_DEFAULT_CLASS: Final = "ingressclass.kubernetes.io/is-default-class"


def _hosts(rules: list[Plain]) -> str:
    shown: list[str] = []
    for rule in rules:
        if len(shown) == _MAX_HOSTS:
            # All rules count here, those without a host as well.
            return f"{','.join(shown)} + {len(rules) - _MAX_HOSTS} more..."
        if host := text(rule, "host"):
            shown.append(host)
    return ",".join(shown) or "*"


def _ingress(obj: Plain, now: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    class_name = spec.get("ingressClassName")
    return [
        name_of(obj),
        class_name if isinstance(class_name, str) else "<none>",
        _hosts(entries(spec, "rules")),
        ",".join(load_balancer_addresses(obj)),
        # The ports are not in the object; kube-apiserver assumes the usual ones.
        "80, 443" if entries(spec, "tls") else "80",
        age_of(obj, now),
    ]


def _ingress_class(obj: Plain, now: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    is_default = part(obj, "metadata", "annotations").get(_DEFAULT_CLASS) == "true"
    return [
        f"{name_of(obj)} (default)" if is_default else name_of(obj),
        text(spec, "controller"),
        _parameters(part(spec, "parameters")) if has(spec, "parameters") else "<none>",
        age_of(obj, now),
    ]


def _parameters(parameters: Plain) -> str:
    kind, group = text(parameters, "kind"), parameters.get("apiGroup")
    # A group that is set and empty still has its dot.
    shown = f"{kind}.{group}" if isinstance(group, str) else kind
    return f"{shown}/{text(parameters, 'name')}"


def _network_policy(obj: Plain, now: datetime) -> list[Cell]:
    return [name_of(obj), label_selector(part(obj, "spec"), "podSelector"), age_of(obj, now)]


def _service_cidr(obj: Plain, now: datetime) -> list[Cell]:
    return [name_of(obj), ",".join(texts(part(obj, "spec"), "cidrs")), age_of(obj, now)]


def _ip_address(obj: Plain, now: datetime) -> list[Cell]:
    # The age has no column: kube-apiserver sends one cell too many.
    return [name_of(obj), _parent(part(obj, "spec")), age_of(obj, now)]


def _parent(spec: Plain) -> str:
    if not has(spec, "parentRef"):
        return "<none>"
    reference = part(spec, "parentRef")
    resource = group_resource(text(reference, "group"), text(reference, "resource")).lower()
    namespace = text(reference, "namespace")
    place = f"{resource}/{namespace}" if namespace else resource
    return f"{place}/{text(reference, 'name')}"


_INGRESS: Final = Printer((NAME, Column("Class"), Column("Hosts"), Column("Address"), Column("Ports"), AGE), _ingress)
_NETWORK_POLICY: Final = Printer((NAME, Column("Pod-Selector"), AGE), _network_policy)

PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {
    ("networking.k8s.io", "Ingress"): _INGRESS,
    ("networking.k8s.io", "IngressClass"): Printer(
        (NAME, Column("Controller"), Column("Parameters"), AGE), _ingress_class
    ),
    ("networking.k8s.io", "NetworkPolicy"): _NETWORK_POLICY,
    ("networking.k8s.io", "ServiceCIDR"): Printer((NAME, Column("CIDRs"), AGE), _service_cidr),
    ("networking.k8s.io", "IPAddress"): Printer((NAME, Column("ParentRef")), _ip_address),
    # Where these kinds began.
    ("extensions", "Ingress"): _INGRESS,
    ("extensions", "NetworkPolicy"): _NETWORK_POLICY,
}
"""The printers, by group and kind."""
