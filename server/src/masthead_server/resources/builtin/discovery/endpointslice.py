"""EndpointSlices: defaults, validation and warnings."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import FieldError, duplicate, invalid, required
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks
from masthead_server.resources.defaulting.fill import for_each, shape
from masthead_server.resources.validation.addresses import PROTOCOLS, endpoint_ip_errors, ip_errors
from masthead_server.resources.validation.checks import (
    follows,
    immutable,
    known_or_nothing,
    one_of,
    same,
    texts_of,
    words,
)
from masthead_server.wire.plain import items, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

DEFAULTS: Final[Fill] = shape(inside={"ports": for_each(shape(unset={"name": "", "protocol": "TCP"}))})


def slice_errors(found: Plain) -> Errors:
    """Return the errors of an EndpointSlice."""
    kind = text(found, "addressType")
    errors = one_of("addressType", kind, ("FQDN", "IPv4", "IPv6"))
    seen: set[str] = set()
    for index, port in enumerate(items(found, "ports")):
        at, name = f"ports[{index}]", text(port, "name")
        if name:
            errors += follows(f"{at}.name", name, names.label)
        # Two ports without a name are duplicates as well: the empty name counts.
        if name in seen:
            errors.append(duplicate(f"{at}.name", name))
        seen.add(name)
        errors += known_or_nothing(f"{at}.protocol", port.get("protocol"), PROTOCOLS)
    for index, endpoint in enumerate(items(found, "endpoints")):
        errors += _endpoint_errors(endpoint, f"endpoints[{index}]", kind)
    return errors


def _endpoint_errors(endpoint: Plain, path: str, kind: str) -> Errors:
    addresses = words(endpoint, "addresses")
    errors: Errors = []
    if not addresses:
        errors.append(required(f"{path}.addresses", "must contain at least 1 address"))
    elif len(addresses) > 100:
        detail = "must have at most 100 items"
        errors.append(FieldError("FieldValueTooMany", f"{path}.addresses", len(addresses), detail))
    for at, address in texts_of(endpoint, "addresses", path):
        errors += _slice_address_errors(at, address, kind)
    if endpoint.get("nodeName") is not None:
        errors += follows(f"{path}.nodeName", endpoint["nodeName"], names.SUBDOMAIN)
    if endpoint.get("hostname") is not None:
        errors += follows(f"{path}.hostname", endpoint["hostname"], names.label)
    return errors


def _slice_address_errors(path: str, address: str, kind: str) -> Errors:
    # differs from kube-apiserver, which checks the form of domain names, too.
    if kind not in {"IPv4", "IPv6"}:
        return []
    errors = ip_errors(path, address)
    if errors:
        return errors
    if f"IPv{ip_address(address).version}" != kind:
        # kube-apiserver names the list here, not the item.
        errors.append(invalid(re.sub(r"\[\d+\]$", "", path), address, f"must be an {kind} address"))
    return errors + endpoint_ip_errors(path, address)


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


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(validate_create=slice_errors, validate_update=slice_changes),
    warnings=WarningHooks(endpoint_slice_warnings),
)
