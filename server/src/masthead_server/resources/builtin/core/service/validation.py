"""Validation of Services."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import duplicate, forbidden, invalid, required
from masthead_server.resources import names
from masthead_server.resources.behavior import Errors
from masthead_server.resources.validation.addresses import (
    PROTOCOLS,
    cidr_errors,
    endpoint_ip_errors,
    ip_errors,
)
from masthead_server.resources.validation.checks import (
    between,
    each_of,
    follows,
    given,
    known_or_nothing,
    labels,
    one_of,
    port,
    port_or_name,
    same,
    texts_of,
    unique,
    words,
)
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_OUTSIDE: Final = frozenset({"NodePort", "LoadBalancer"})
_EXTERNAL: Final = "may not be set for ExternalName services"
_LOAD_BALANCED: Final = "may only be used when `type` is 'LoadBalancer'"
_ONCE: Final = "may not change once set"
_DAY: Final = 86400


def headless(spec: Plain) -> bool:
    """Tell whether a service is headless."""
    return words(spec, "clusterIPs") == ["None"]


def address_errors(spec: Plain) -> Errors:
    """Validate how a service's addresses, families and policy fit together."""
    # An alias has no addresses; `_type_errors` forbids their fields.
    if spec.get("type") == "ExternalName":
        return []
    path, one, many = "spec.clusterIPs", text(spec, "clusterIP"), words(spec, "clusterIPs")
    errors: Errors = []
    # clusterIP is the older field, and must repeat the first item of clusterIPs.
    if one and not many:
        errors.append(required(path))
    elif one and many[0] != one:
        errors.append(invalid(path, many, "first value must match `clusterIP`"))
    elif many and not one:
        errors.append(invalid(path, many, "must be empty when `clusterIP` is not specified"))
    seen: set[str] = set()
    for at, family in texts_of(spec, "ipFamilies", "spec"):
        errors += known_or_nothing(at, family, ("IPv4", "IPv6"))
        errors += unique(at, family, seen)
    # In the order of kube-apiserver's message, which is alphabetical.
    policies = ("PreferDualStack", "RequireDualStack", "SingleStack")
    errors += known_or_nothing("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), policies)
    bad = _bad_addresses(path, many)
    errors += bad
    if len(many) > 2:
        errors.append(invalid(path, many, "may only hold up to 2 values"))
    # Of addresses that cannot be read, the families cannot be compared.
    return errors if bad else errors + _mixed_addresses(path, many, words(spec, "ipFamilies"))


def _bad_addresses(path: str, addresses: list[str]) -> Errors:
    if addresses[:1] == ["None"]:
        if len(addresses) == 1:
            return []
        return [invalid(path, addresses, "'None' must be the first and only value")]
    return [error for index, address in enumerate(addresses) for error in ip_errors(f"{path}[{index}]", address)]


def _mixed_addresses(path: str, addresses: list[str], families: list[str]) -> Errors:
    errors: Errors = []
    if addresses == ["None"]:
        return errors
    # All addresses can be parsed here, because the caller stops at malformed ones.
    found = [f"IPv{ip_address(text_address).version}" for text_address in addresses]
    if len(found) > 1 and sorted(found) != ["IPv4", "IPv6"]:
        errors.append(invalid(path, addresses, "may specify no more than one IP for each IP family"))
    # Missing families are inferred from the addresses at allocation; there is nothing to compare yet.
    for index, (address, is_family, family) in enumerate(zip(addresses, found, families, strict=False)):
        if is_family != family and family in {"IPv4", "IPv6"}:
            detail = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            errors.append(invalid(f"{path}[{index}]", address, detail))
    return errors


def _type_errors(spec: Plain) -> Errors:
    kind, errors = spec.get("type"), list[Errors]()
    # Without a virtual address, DNS alone makes a service useful, and no port is needed.
    if not spec.get("ports") and not headless(spec) and kind != "ExternalName":
        errors.append([required("spec.ports")])
    # A load balancer or node port forwards to the virtual address, which a headless service lacks.
    if kind in _OUTSIDE and headless(spec):
        errors.append([invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")])
    if kind == "ExternalName":
        fields = ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
        errors.append([forbidden(f"spec.{field}", _EXTERNAL) for field in fields if spec.get(field)])
        # A fully qualified name may end with a dot, which is no part of a subdomain.
        name = text(spec, "externalName").removesuffix(".")
        errors.append(given("spec.externalName", name, names.SUBDOMAIN))
    return [error for some in errors for error in some]


def _port_errors(spec: Plain) -> Errors:
    errors, seen = list[Errors](), set[str]()
    many = len(items(spec, "ports")) > 1
    for at, service_port in each_of(spec, "ports", "spec"):
        name = text(service_port, "name")
        if name:
            # Port names become DNS SRV labels.
            errors += [follows(f"{at}.name", name, names.label), unique(f"{at}.name", name, seen)]
        # Clients tell several ports apart by name.
        elif many:
            errors.append([required(f"{at}.name")])
        errors += [
            # The order of kube-apiserver: name, port, protocol, target, application protocol.
            port(f"{at}.port", service_port.get("port")),
            one_of(f"{at}.protocol", service_port.get("protocol"), PROTOCOLS),
            port_or_name(f"{at}.targetPort", service_port.get("targetPort")),
        ]
        if service_port.get("appProtocol") is not None:
            errors.append(follows(f"{at}.appProtocol", service_port["appProtocol"], names.qualified_name))
    return [error for some in errors for error in some]


def _affinity_errors(spec: Plain) -> Errors:
    path, affinity = "spec.sessionAffinityConfig", spec.get("sessionAffinity")
    errors = one_of("spec.sessionAffinity", affinity, ("ClientIP", "None"))
    if affinity == "ClientIP":
        seconds = part(part(spec, "sessionAffinityConfig"), "clientIP").get("timeoutSeconds")
        # The message says "less than", but a whole day is valid.
        if not isinstance(seconds, int) or not 0 < seconds <= _DAY:
            detail = f"must be greater than 0 and less than {_DAY}"
            errors.append(invalid(f"{path}.clientIP.timeoutSeconds", seconds, detail))
    return errors


def _node_port_errors(spec: Plain) -> Errors:
    errors: Errors = []
    if spec.get("type") == "ClusterIP":
        # As in kube-apiserver, only ClusterIP is checked: an ExternalName service may have node ports.
        for at, service_port in each_of(spec, "ports", "spec"):
            if service_port.get("nodePort"):
                errors.append(forbidden(f"{at}.nodePort", "may not be used when `type` is 'ClusterIP'"))
    seen: set[tuple[object, object]] = set()
    for at, item in each_of(spec, "ports", "spec"):
        key = (item.get("protocol"), item.get("nodePort"))
        # Unset node ports never clash; the server allocates them later.
        if item.get("nodePort") and key in seen:
            errors.append(duplicate(f"{at}.nodePort", item["nodePort"]))
        seen.add(key)
    seen = set()
    for at, target in each_of(spec, "ports", "spec"):
        key = (target.get("protocol"), target.get("port"))
        if key in seen:
            # Two ports with equal numbers and protocols cannot be told apart by kube-proxy, whatever their names.
            errors.append(duplicate(at, _shown_port(*key)))
        seen.add(key)
    return errors


def _shown_port(protocol: object, number: object) -> Plain:
    """A port as messages of kube-apiserver print it, in its internal type."""
    # kube-apiserver builds this value from protocol and port alone, so that the other fields are zero.
    fields = {"Name": "", "Protocol": protocol, "AppProtocol": None, "Port": number}
    return {**fields, "TargetPort": 0, "NodePort": 0}


def _balancer_errors(spec: Plain) -> Errors:
    errors: Errors = []
    balanced = spec.get("type") == "LoadBalancer"
    # kube-apiserver writes this path with a capital letter.
    path = "spec.LoadBalancerSourceRanges"
    if spec.get("loadBalancerSourceRanges"):
        if not balanced:
            errors.append(forbidden(path, _LOAD_BALANCED))
        for index, cidr in enumerate(words(spec, "loadBalancerSourceRanges")):
            # Spaces around ranges are tolerated, because the annotation that preceded this field was split at commas.
            errors += cidr_errors(f"{path}[{index}]", cidr.strip())
    if spec.get("allocateLoadBalancerNodePorts") is not None and not balanced:
        errors.append(forbidden("spec.allocateLoadBalancerNodePorts", _LOAD_BALANCED))
    return errors + _class_errors(spec)


def _class_errors(spec: Plain) -> Errors:
    path, name = "spec.loadBalancerClass", spec.get("loadBalancerClass")
    if name is None:
        return []
    if spec.get("type") != "LoadBalancer":
        return [forbidden(path, _LOAD_BALANCED)]
    # A prefix is optional: names without one belong to end users.
    return follows(path, name, names.qualified_name)


def _traffic_errors(spec: Plain) -> Errors:
    kind, policy = spec.get("type"), spec.get("externalTrafficPolicy")
    path, errors = "spec.externalTrafficPolicy", list[Errors]()
    # External addresses make any service reachable from outside.
    if kind in _OUTSIDE or (kind == "ClusterIP" and spec.get("externalIPs")):
        errors.append(one_of(path, policy, ("Cluster", "Local")))
    elif policy:
        errors.append([invalid(path, policy, "may only be set for externally-accessible services")])
    path, health = "spec.healthCheckNodePort", spec.get("healthCheckNodePort")
    # The balancer asks this port which nodes have endpoints.
    if kind == "LoadBalancer" and policy == "Local":
        errors.append(between(path, health, 1, 65535) if health else [required(path)])
    elif health:
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        errors.append([invalid(path, health, detail)])
    inside = spec.get("internalTrafficPolicy")
    errors.append(known_or_nothing("spec.internalTrafficPolicy", inside, ("Cluster", "Local")))
    near = ("PreferClose", "PreferSameZone", "PreferSameNode")
    errors.append(known_or_nothing("spec.trafficDistribution", spec.get("trafficDistribution"), near))
    return [error for some in errors for error in some]


def create_errors(service: Plain) -> Errors:
    """Validate a service."""
    spec = part(service, "spec")
    errors = _type_errors(spec) + _port_errors(spec)
    errors += labels("spec.selector", part(spec, "selector"))
    errors += _affinity_errors(spec) + address_errors(spec)
    for at, address in texts_of(spec, "externalIPs", "spec"):
        # An address that cannot be parsed gets no second error about its range.
        errors += ip_errors(at, address) or endpoint_ip_errors(at, address)
    errors += one_of("spec.type", spec.get("type"), _TYPES)
    # The unknown type is reported after the ports and addresses, as kube-apiserver orders its checks.
    return errors + _node_port_errors(spec) + _balancer_errors(spec) + _traffic_errors(spec)


def update_errors(new: Plain, old: Plain) -> Errors:
    """Validate a change of a service."""
    after, before = part(new, "spec"), part(old, "spec")
    errors: Errors = []
    # From and to ExternalName, the address may appear and vanish.
    if "ExternalName" not in {after.get("type"), before.get("type")}:
        errors = _address_changes(after, before)
    both = after.get("type") == before.get("type") == "LoadBalancer"
    # A controller may have provisioned a balancer of that class already.
    if both and not same(after.get("loadBalancerClass"), before.get("loadBalancerClass")):
        errors.append(invalid("spec.loadBalancerClass", after.get("loadBalancerClass"), _ONCE))
    # kube-apiserver checks the class in the comparison and again in the service itself, so that errors come twice.
    errors += _class_errors(after)
    local = after.get("externalTrafficPolicy") == before.get("externalTrafficPolicy") == "Local"
    if both and local and after.get("healthCheckNodePort") != before.get("healthCheckNodePort"):
        errors.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
    return errors + create_errors(new)


def _address_changes(after: Plain, before: Plain) -> Errors:
    # "None" is no address, so nothing can change.
    if headless(after) and headless(before):
        return []
    now, then = words(after, "clusterIPs"), words(before, "clusterIPs")
    errors = [
        invalid(f"spec.clusterIPs[{index}]", now, _ONCE)
        # Only common positions are compared: a second address may be added and removed.
        for index, (one, other) in enumerate(zip(now, then, strict=False))
        if one != other
    ]
    if then and not now:
        errors.append(invalid("spec.clusterIPs[0]", None, "primary clusterIP can not be unset"))
    families, known = words(after, "ipFamilies"), words(before, "ipFamilies")
    # A change from or to headless may choose other families.
    if headless(after) == headless(before) and families[:1] != known[:1]:
        errors.append(invalid("spec.ipFamilies[0]", families, _ONCE))
    return errors
