"""EndpointSlices: defaults, validation and warnings."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, required, too_many
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks
from masthead_server.resources.defaulting.fill import for_each, shape
from masthead_server.resources.validation.addresses import PROTOCOLS, endpoint_ip_errors, ip_errors
from masthead_server.resources.validation.checks import (
    each_of,
    follows,
    immutable,
    known_or_nothing,
    one_of,
    same,
    texts_of,
    unique,
    words,
)
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

_MAX_ENDPOINTS: Final = 1_000
_MAX_ADDRESSES: Final = 100
_MAX_PORTS: Final = 20_000
_MAX_HINTS: Final = 8
DEFAULTS: Final[Fill] = shape(inside={"ports": for_each(shape(unset={"name": "", "protocol": "TCP"}))})


def slice_errors(found: Plain) -> Errors:
    """Return the errors of an EndpointSlice."""
    kind = text(found, "addressType")
    errors = one_of("addressType", kind, ("FQDN", "IPv4", "IPv6"))
    return errors + _port_errors(items(found, "ports")) + _all_endpoint_errors(items(found, "endpoints"), kind)


def _all_endpoint_errors(endpoints: list[Plain], kind: str) -> Errors:
    if len(endpoints) > _MAX_ENDPOINTS:
        return [too_many("endpoints", len(endpoints), _MAX_ENDPOINTS)]
    return [
        error
        for index, endpoint in enumerate(endpoints)
        for error in _endpoint_errors(endpoint, f"endpoints[{index}]", kind)
    ]


def _port_errors(ports: list[Plain]) -> Errors:
    if len(ports) > _MAX_PORTS:
        return [too_many("ports", len(ports), _MAX_PORTS)]
    errors: Errors = []
    seen: set[str] = set()
    for index, port in enumerate(ports):
        at, name = f"ports[{index}]", text(port, "name")
        if name:
            errors += follows(f"{at}.name", name, names.label)
        # Two ports without a name are duplicates as well: the empty name counts.
        errors += unique(f"{at}.name", name, seen)
        errors += known_or_nothing(f"{at}.protocol", port.get("protocol"), PROTOCOLS)
        if port.get("appProtocol") is not None:
            errors += follows(f"{at}.appProtocol", port["appProtocol"], names.qualified_name)
    return errors


def _endpoint_errors(endpoint: Plain, path: str, kind: str) -> Errors:
    addresses = words(endpoint, "addresses")
    errors: Errors = []
    if not addresses:
        errors.append(required(f"{path}.addresses", "must contain at least 1 address"))
    elif len(addresses) > _MAX_ADDRESSES:
        errors.append(too_many(f"{path}.addresses", len(addresses), _MAX_ADDRESSES))
    for at, address in texts_of(endpoint, "addresses", path):
        errors += _slice_address_errors(at, address, kind)
    if endpoint.get("nodeName") is not None:
        errors += follows(f"{path}.nodeName", endpoint["nodeName"], names.SUBDOMAIN)
    if endpoint.get("hostname") is not None:
        errors += follows(f"{path}.hostname", endpoint["hostname"], names.label)
    return errors + _hint_errors(part(endpoint, "hints"), f"{path}.hints")


def _hint_errors(hints: Plain, path: str) -> Errors:
    errors: Errors = []
    for field, rule in (("forZones", names.LABEL_VALUE), ("forNodes", names.SUBDOMAIN)):
        hinted = items(hints, field)
        if len(hinted) > _MAX_HINTS:
            return [*errors, too_many(f"{path}.{field}", len(hinted), _MAX_HINTS)]
        seen: set[str] = set()
        for at, hint in each_of(hints, field, path):
            name = text(hint, "name")
            errors += unique(f"{at}.name", name, seen) + follows(f"{at}.name", name, rule)
    return errors


def _slice_address_errors(path: str, address: str, kind: str) -> Errors:
    if kind == "FQDN":
        return _domain_errors(path, address)
    # Of an unknown type, nothing is known.
    if kind not in {"IPv4", "IPv6"}:
        return []
    errors = ip_errors(path, address)
    if errors:
        return errors
    if f"IPv{ip_address(address).version}" != kind:
        # kube-apiserver names the list here, not the item.
        errors.append(invalid(re.sub(r"\[\d+\]$", "", path), address, f"must be an {kind} address"))
    return errors + endpoint_ip_errors(path, address)


def _domain_errors(path: str, name: str) -> Errors:
    if not name:
        return [required(path)]
    name = name.removesuffix(".")
    if problems := names.SUBDOMAIN(name):
        return [invalid(path, name, ",".join(problems))]
    if "." not in name:
        return [invalid(path, name, "should be a domain with at least two segments separated by dots")]
    # The first segment that is no label is the only one in the error.
    wrong = [(segment, problems) for segment in name.split(".") if (problems := names.label(segment))]
    return [invalid(path, wrong[0][0], ",".join(wrong[0][1]))] if wrong else []


def slice_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of an EndpointSlice."""
    errors = slice_errors(new)
    # Ratcheting: unchanged endpoints of an older server stay valid.
    if same(new.get("endpoints"), old.get("endpoints")):
        errors = [error for error in errors if not error.field.startswith("endpoints")]
    return errors + immutable("addressType", text(new, "addressType"), text(old, "addressType"))


def endpoint_slice_warnings(obj: Plain) -> list[str]:
    """Return the warnings about an EndpointSlice."""
    # An EndpointSlice has no such path; it is kube-apiserver's.
    is_named = obj.get("addressType") == "FQDN"
    return ["spec.addressType: FQDN endpoints are deprecated"] if is_named else []


def _drop_topology(found: Plain) -> None:
    """Drop the topology of endpoints: only v1beta1, which was removed, could write it."""
    for endpoint in items(found, "endpoints"):
        endpoint.pop("deprecatedTopology", None)


def _carry_slice(new: Plain, old: Plain) -> None:
    if not same(new.get("endpoints"), old.get("endpoints")):
        _drop_topology(new)


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=lambda new, _allocate: _drop_topology(new),
        prepare_update=_carry_slice,
        validate_create=slice_errors,
        validate_update=slice_changes,
    ),
    warnings=WarningHooks(endpoint_slice_warnings),
)
