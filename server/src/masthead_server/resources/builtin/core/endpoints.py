"""Endpoints: defaults, validation and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, required
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.defaulting.fill import for_each, shape
from masthead_server.resources.validation.addresses import PROTOCOLS, endpoint_ip_errors, ip_errors, is_ip
from masthead_server.resources.validation.checks import each_of, follows, one_of, port, same
from masthead_server.resources.warnings.addresses import address_warnings
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

DEFAULTS: Final[Fill] = shape(
    inside={"subsets": for_each(shape(inside={"ports": for_each(shape(blank={"protocol": "TCP"}))}))}
)


def subset_errors(endpoints: Plain) -> Errors:
    """Return the errors of the subsets of Endpoints."""
    errors: Errors = []
    for index, subset in enumerate(items(endpoints, "subsets")):
        at = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(required(at, "must specify `addresses` or `notReadyAddresses`"))
        for field in ("addresses", "notReadyAddresses"):
            for where, address in each_of(subset, field, at):
                errors += _address_errors(address, where)
        # A single port needs no name; several need unique names.
        many = len(items(subset, "ports")) > 1
        for where, endpoint_port in each_of(subset, "ports", at):
            errors += _endpoint_port_errors(endpoint_port, where, many=many)
    return errors


def _address_errors(address: Plain, path: str) -> Errors:
    ip = text(address, "ip")
    errors = ip_errors(f"{path}.ip", ip)
    if address.get("hostname"):
        errors += follows(f"{path}.hostname", address["hostname"], names.label)
    if address.get("nodeName") is not None:
        errors += follows(f"{path}.nodeName", address["nodeName"], names.SUBDOMAIN)
    # The range of an address is checked after the node's name; an unreadable address gets a second error there.
    if errors and not is_ip(ip):
        return [*errors, invalid(f"{path}.ip", ip, "must be a valid IP address")]
    return errors + endpoint_ip_errors(f"{path}.ip", ip)


def _endpoint_port_errors(endpoint_port: Plain, path: str, *, many: bool) -> Errors:
    name = text(endpoint_port, "name")
    errors: Errors = []
    if name:
        errors += follows(f"{path}.name", name, names.label)
    elif many:
        errors.append(required(f"{path}.name"))
    errors += port(f"{path}.port", endpoint_port.get("port"))
    errors += one_of(f"{path}.protocol", endpoint_port.get("protocol"), PROTOCOLS)
    protocol = endpoint_port.get("appProtocol")
    return errors if protocol is None else errors + follows(f"{path}.appProtocol", protocol, names.qualified_name)


def endpoints_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of Endpoints."""
    # Ratcheting: unchanged subsets of an older server stay valid.
    return [] if same(new.get("subsets"), old.get("subsets")) else subset_errors(new)


_MANAGED: Final = ("endpoints.kubernetes.io/managed-by", "endpoint-controller")
"""The label of Endpoints that are known to be written well."""


def endpoints_warnings(obj: Plain) -> list[str]:
    """Return the warnings about Endpoints."""
    label, controller = _MANAGED
    if part(part(obj, "metadata"), "labels").get(label) == controller:
        return []
    found: list[str] = []
    for index, subset in enumerate(items(obj, "subsets")):
        for name in ("addresses", "notReadyAddresses"):
            for number, item in enumerate(items(subset, name)):
                found += address_warnings(f"subsets[{index}].{name}[{number}].ip", text(item, "ip"))
    return found


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(validate_create=subset_errors, validate_update=endpoints_changes),
    warnings=always(endpoints_warnings),
)
