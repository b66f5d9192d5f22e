"""Validation of the load balancer status of Services and Ingresses."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from masthead._schema.errors import forbidden, invalid, required
from masthead_server.resources import names
from masthead_server.resources.validation.addresses import ip_errors
from masthead_server.resources.validation.checks import each_of, follows, unsupported
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def service_status_errors(new: Plain, _old: Plain) -> Errors:
    """Validate where a service of any type is reached from outside: only one with a load balancer is."""
    status = part(part(new, "status"), "loadBalancer")
    if status.get("ingress") and part(new, "spec").get("type") != "LoadBalancer":
        why = "may only be used when `spec.type` is 'LoadBalancer'"
        return [forbidden("status.loadBalancer.ingress", why)]
    errors: Errors = []
    for at, point in each_of(status, "ingress", "status.loadBalancer"):
        errors += _entry_address_errors(at, point) + _mode_errors(at, point) + _entry_name_errors(at, point)
    return errors


def ingress_status_errors(new: Plain, _old: Plain) -> Errors:
    """Validate where an ingress is reached from outside."""
    errors: Errors = []
    status = part(part(new, "status"), "loadBalancer")
    for at, point in each_of(status, "ingress", "status.loadBalancer"):
        errors += _entry_address_errors(at, point) + _entry_name_errors(at, point)
    return errors


def _entry_address_errors(path: str, point: Plain) -> Errors:
    return ip_errors(f"{path}.ip", text(point, "ip")) if point.get("ip") else []


def _mode_errors(path: str, point: Plain) -> Errors:
    mode, at = point.get("ipMode"), f"{path}.ipMode"
    if mode is None:
        return [required(at, "must be specified when `ip` is set")] if point.get("ip") else []
    if not point.get("ip"):
        return [forbidden(at, "may not be specified when `ip` is not set")]
    return [] if mode in {"Proxy", "VIP"} else [unsupported(at, mode, ("Proxy", "VIP"))]


def _entry_name_errors(path: str, point: Plain) -> Errors:
    name, at = text(point, "hostname"), f"{path}.hostname"
    if not name:
        return []
    errors = follows(at, name, names.SUBDOMAIN)
    try:
        ip_address(name)
    except ValueError:
        return errors
    return [*errors, invalid(at, name, "must be a DNS name, not an IP address")]
