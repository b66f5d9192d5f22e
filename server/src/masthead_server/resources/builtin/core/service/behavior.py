"""Behavior of Services."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import FieldError, invalid
from masthead_server.resources.allocator import AddressInUse, RangeExhausted
from masthead_server.resources.behavior import (
    Behavior,
    StrategyHooks,
    SubresourceBehavior,
    WarningHooks,
    always,
)
from masthead_server.resources.builtin.core.service.defaults import fill_service
from masthead_server.resources.builtin.core.service.validation import (
    address_errors,
    create_errors,
    update_errors,
)
from masthead_server.resources.builtin.core.service.warnings import service_warnings
from masthead_server.resources.validation.checks import words
from masthead_server.resources.validation.load_balancer_status import service_status_errors
from masthead_server.resources.warnings.addresses import load_balancer_status_warnings
from masthead_server.wire.failures import StatusFailure, refused_fields
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain

_NODE_PORT_TYPES: Final = frozenset({"NodePort", "LoadBalancer"})
_OUR_FAMILY: Final = "IPv4"
_OTHER: Final = {"IPv4": "IPv6", "IPv6": "IPv4"}


def _refuse(service: Plain, *errors: FieldError) -> StatusFailure:
    return refused_fields("", "Service", text(metadata(service), "name"), errors)


def _needs_address(spec: Plain) -> bool:
    return spec.get("type") != "ExternalName"


def _needs_ports(spec: Plain) -> bool:
    return spec.get("type") in _NODE_PORT_TYPES


def _needs_health_port(spec: Plain) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _wants_ports(spec: Plain) -> bool:
    if spec.get("type") == "LoadBalancer":
        # Load balancers that reach pods directly need no node ports, and ports are scarce.
        return bool(spec.get("allocateLoadBalancerNodePorts"))
    return spec.get("type") == "NodePort"


def _choose_families(service: Plain, old_policy: str) -> None:
    """Settle of which families the addresses are. This cluster has one; a service without pods may name both."""
    spec = service["spec"]
    # Its endpoints are written by hand, and may be of families that the cluster does not have.
    loose = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        # An update without a policy keeps the stored one, so that a service changes its families only on request.
        spec["ipFamilyPolicy"] = old_policy or ("RequireDualStack" if loose else "SingleStack")
    # Before allocation, as in kube-apiserver: an address that cannot be parsed has no family to compare.
    errors = address_errors(spec)
    if errors:
        raise _refuse(service, *errors)
    policy, families = spec["ipFamilyPolicy"], words(spec, "ipFamilies")
    errors = _count_problem(spec, families)
    if errors:
        raise _refuse(service, *errors)
    if not loose:
        _check_families(service, families)
    # The default comes after the checks: only the client's choice can be wrong.
    families = families or [_OUR_FAMILY]
    # PreferDualStack counts as well: without allocation, a headless service can name both families in any cluster.
    if loose and len(families) == 1 and policy != "SingleStack":
        families.append(_OTHER[families[0]])
    spec["ipFamilies"] = families


def _count_problem(spec: Plain, families: list[str]) -> list[FieldError]:
    policy, path = spec["ipFamilyPolicy"], "spec.ipFamilyPolicy"
    errors: list[FieldError] = []
    if policy == "SingleStack":
        why = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
        if len(words(spec, "clusterIPs")) == 2:
            errors.append(invalid(path, policy, why.format("cluster IPs")))
        if len(families) == 2:
            errors.append(invalid(path, policy, why.format("IP families")))
    addresses = words(spec, "clusterIPs")
    for index, address in enumerate(addresses):
        # Headless: the list has no further item, which `address_errors` has made sure of.
        if address == "None":
            break
        family = "IPv4" if ip_address(address).version == 4 else "IPv6"
        # An address with a family beside it was compared with that family already.
        if index >= len(families) and family != _OUR_FAMILY:
            detail = f"{family} is not configured on this cluster"
            errors.append(invalid(f"spec.clusterIPs[{index}]", addresses, detail))
    return errors


def _check_families(service: Plain, families: list[str]) -> None:
    policy, errors = service["spec"]["ipFamilyPolicy"], list[FieldError]()
    if policy == "RequireDualStack":
        detail = "this cluster is not configured for dual-stack services"
        errors.append(invalid("spec.ipFamilyPolicy", policy, detail))
    for index, family in enumerate(families):
        if family != _OUR_FAMILY:
            errors.append(invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
    if errors:
        raise _refuse(service, *errors)


def _take_address(service: Plain, allocate: Allocator) -> None:
    spec = service["spec"]
    addresses = words(spec, "clusterIPs") or [""]
    # A headless service has no address to allocate.
    if addresses[0] == "None":
        return
    wanted = addresses[0]
    why = _range_problem(wanted, allocate) if wanted else ""
    try:
        # An address outside the range is never tried, so that nothing has to be released.
        taken = wanted if why else allocate.address(wanted)
    except AddressInUse:
        taken, why = wanted, "provided IP is already allocated"
    except RangeExhausted:
        message = f'failed to allocate a serviceIP for Service "{text(metadata(service), "name")}": range is full'
        raise _internal(message) from None
    if why:
        raise _refuse(service, invalid("spec.clusterIPs", addresses, f"failed to allocate IP {wanted}: {why}"))
    spec["clusterIP"] = taken
    spec["clusterIPs"] = [taken, *addresses[1:]]


def _range_problem(address: str, allocate: Allocator) -> str:
    """Return why a service may not have an address; empty if it may."""
    network = allocate.network
    if not allocate.holds(address):
        return f"the provided IP ({address}) is not in the valid range. The range of valid IPs is {network}"
    # Both are reserved in every IPv4 network.
    ends = (str(network.network_address), str(network.broadcast_address))
    return "the provided network does not match the current range" if address in ends else ""


def _internal(message: str) -> StatusFailure:
    # The cause without a field is how kube-apiserver's InternalError writes its details.
    causes = {"causes": [{"message": message}]}
    return StatusFailure(500, "InternalError", f"Internal error occurred: {message}", details=causes)


def _take_port(service: Plain, index: int, wanted: int, allocate: Allocator) -> int:
    path, why = f"spec.ports[{index}].nodePort", ""
    if wanted and wanted not in allocate.ports:
        span = f"{allocate.ports.start}-{allocate.ports.stop - 1}"
        why = f"provided port is not in the valid range. The range of valid ports is {span}"
    try:
        if not why:
            return allocate.port(wanted)
    except AddressInUse:
        why = "provided port is already allocated"
    except RangeExhausted:
        raise _internal("failed to allocate a nodePort: range is full") from None
    raise _refuse(service, invalid(path, wanted, why))


def _take_new_ports(service: Plain, allocate: Allocator) -> None:
    """Give every port one on the nodes. Two protocols at one port share it."""
    spec, shared = service["spec"], dict[int, int]()
    ports = items(spec, "ports")
    # One explicit nodePort serves all ports of the same number, also those listed before it.
    requested: dict[object, int] = {}
    for port in ports:
        if port.get("nodePort"):
            requested.setdefault(port.get("port"), port["nodePort"])
    for index, service_port in enumerate(ports):
        number, wanted = service_port.get("port", 0), service_port.get("nodePort") or 0
        # An explicit number is honored even where allocation is switched off.
        if not wanted and not _wants_ports(spec):
            continue
        if number not in shared:
            shared[number] = _take_port(service, index, requested.get(service_port.get("port"), 0), allocate)
            service_port["nodePort"] = shared[number]
        elif not wanted:
            service_port["nodePort"] = shared[number]
        elif wanted != shared[number]:
            # The same port with another number for a second protocol: both numbers are allocated.
            _take_port(service, index, wanted, allocate)


def _take_health_port(spec: Plain, allocate: Allocator) -> None:
    wanted = spec.get("healthCheckNodePort") or 0
    try:
        spec["healthCheckNodePort"] = allocate.port(wanted)
    except (AddressInUse, RangeExhausted):
        # kube-apiserver answers with 500 here, not with 422, although the client may have chosen the number.
        why = "provided port is already allocated"
        raise _internal(f"failed to allocate requested HealthCheck NodePort {wanted}: {why}") from None


def _prepare_create(service: Plain, allocate: Allocator) -> None:
    spec = service["spec"]
    # Clients of the time before dual stack set clusterIP only.
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    if _needs_address(spec):
        _choose_families(service, "")
        _take_address(service, allocate)
    if _needs_ports(spec):
        _take_new_ports(service, allocate)
    if _needs_health_port(spec):
        _take_health_port(spec, allocate)


def _keep_allocated(new: Plain, old: Plain) -> None:
    """Put back what the server chose and the writer left out."""
    if _needs_address(new) and _needs_address(old):
        for field in ("clusterIP", "clusterIPs"):
            if not new.get(field) and old.get(field):
                new[field] = old[field]
    if _needs_ports(new) and _needs_ports(old):
        # By name, because the position of a port may change; a single port may have an empty name.
        held = {port.get("name", ""): port.get("nodePort") for port in items(old, "ports")}
        used = {port.get("nodePort") for port in items(new, "ports")}
        for port in items(new, "ports"):
            known = held.get(port.get("name", ""))
            # The number may have moved to another port of the service, and must not be used twice.
            if not port.get("nodePort") and known and known not in used:
                port["nodePort"] = known
    if _needs_health_port(new) and _needs_health_port(old) and not new.get("healthCheckNodePort"):
        new["healthCheckNodePort"] = old.get("healthCheckNodePort")


def _pair_addresses(new: Plain, old: Plain) -> None:
    """Follow a change of the one address in the list of addresses."""
    # A client that changed both has to make them agree; validation compares them.
    unchanged = new.get("clusterIPs") == old.get("clusterIPs")
    if new.get("clusterIP") != old.get("clusterIP") and unchanged:
        if new.get("clusterIP"):
            new["clusterIPs"] = [new["clusterIP"]]
        else:
            new.pop("clusterIPs", None)


def _reallocate(new: Plain, old: Plain, allocate: Allocator) -> None:
    after, before = new["spec"], part(old, "spec")
    # First, because what the service keeps needs no allocation.
    _keep_allocated(after, before)
    _pair_addresses(after, before)
    if _needs_address(after):
        _choose_families(new, text(before, "ipFamilyPolicy"))
        # A service that had an address keeps it: clusterIPs are immutable, except from and to ExternalName.
        if not _needs_address(before):
            _take_address(new, allocate)
    elif _needs_address(before):
        for address in words(before, "clusterIPs"):
            if address != "None":
                allocate.drop_address(address)
    _move_ports(new, before, allocate)
    if _needs_health_port(after) and not _needs_health_port(before):
        _take_health_port(after, allocate)
    elif _needs_health_port(before) and not _needs_health_port(after):
        allocate.drop_port(before.get("healthCheckNodePort", 0))


def _move_ports(new: Plain, before: Plain, allocate: Allocator) -> None:
    held = {port["nodePort"] for port in items(before, "ports") if port.get("nodePort")}
    kept, seen = set[int](), set[tuple[object, int]]()
    if _needs_ports(new["spec"]):
        for index, service_port in enumerate(items(new["spec"], "ports")):
            wanted = service_port.get("nodePort") or 0
            if not wanted and not _wants_ports(new["spec"]):
                continue
            # Two protocols may share a number that one of them already holds.
            if wanted not in held and wanted not in kept:
                service_port["nodePort"] = _take_port(new, index, wanted, allocate)
            number, protocol = service_port["nodePort"], service_port.get("protocol")
            # A plain Go error, no API status: it reaches the client as a 500 without a reason.
            if (protocol, number) in seen:
                raise StatusFailure(500, "", f"duplicate nodePort: {{{protocol} {number}}}")
            seen.add((protocol, number))
            kept.add(number)
    # Last, because a number that moved to another port of the service stays allocated.
    for number in held - kept:
        allocate.drop_port(number)


def _reachable(spec: Plain) -> bool:
    return _needs_ports(spec) or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


def _drop(spec: Plain, old: Plain, *fields: str) -> None:
    """Forget fields that no longer mean anything, if the writer did not also change them."""
    for field in fields:
        if spec.get(field) == old.get(field):
            spec.pop(field, None)


def _prepare_update(new: Plain, old: Plain) -> None:
    after, before = new["spec"], part(old, "spec")
    if _needs_address(before) and not _needs_address(after):
        # Only what the client left unchanged is dropped; a new value is refused by validation.
        if after.get("clusterIP") == before.get("clusterIP"):
            _drop(after, before, "clusterIPs", "clusterIP")
        _drop(after, before, "ipFamilies", "ipFamilyPolicy")
    if _needs_ports(before) and not _needs_ports(after):
        held = {port.get("nodePort") for port in items(before, "ports")}
        # A number that the client changed together with the type stays, so that validation can refuse it.
        if all(port.get("nodePort") in held for port in items(after, "ports") if port.get("nodePort")):
            for port in items(after, "ports"):
                port.pop("nodePort", None)
    if _needs_health_port(before) and not _needs_health_port(after):
        _drop(after, before, "healthCheckNodePort")
    if before.get("type") == "LoadBalancer" != after.get("type"):
        _drop(after, before, "allocateLoadBalancerNodePorts", "loadBalancerClass")
    if _reachable(before) and not _reachable(after):
        _drop(after, before, "externalTrafficPolicy")
    # Addresses of a former load balancer must not outlive it.
    if after.get("type") != "LoadBalancer":
        new["status"] = {**part(new, "status"), "loadBalancer": {}}


BEHAVIOR: Final = Behavior(
    defaults=fill_service,
    hooks=StrategyHooks(
        prepare_create=_prepare_create,
        reallocate=_reallocate,
        prepare_update=_prepare_update,
        validate_create=create_errors,
        validate_update=update_errors,
        validate_status=service_status_errors,
    ),
    warnings=always(service_warnings),
    subresources={"status": SubresourceBehavior(warnings=WarningHooks(on_update=load_balancer_status_warnings))},
)
