"""How traffic finds its way: ingresses, network policies, endpoints."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Final

from masthead._server.resources import names
from masthead._server.resources.behavior import StrategyHooks
from masthead._server.resources.rules.servicechecks import (
    PROTOCOLS,
    cidr_errors,
    endpoint_ip_errors,
    ip_errors,
)
from masthead._server.resources.rules.statuses import ingress_errors
from masthead._server.resources.validation.checks import (
    each_of,
    follows,
    given,
    immutable,
    known_or_nothing,
    label_selector,
    one_of,
    port,
    port_name,
    same,
    texts_of,
    unsupported,
    words,
)
from masthead._server.wire.failures import FieldError, duplicate, forbidden, invalid, required
from masthead._server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from masthead._server.resources.allocator import Allocator
    from masthead._server.resources.behavior import Errors
    from masthead._server.wire.plain import Plain

_ABSOLUTE: Final = "must be an absolute path"
_WILDCARD: Final = names.Format(
    rf"\*\.{names.SUBDOMAIN.pattern}",
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist"
    " of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    ("*.example.com",),
    limit=253,
    unit="characters",
)
_CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"


def _is_ip(value: str) -> bool:
    try:
        ip_address(value)
    except ValueError:
        return False
    return True


def _host_errors(path: str, host: str) -> Errors:
    return follows(path, host, _WILDCARD if "*" in host else names.SUBDOMAIN)


def _backend_errors(backend: Plain, path: str) -> Errors:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return [required(f"{path}.resource.{field}") for field in ("kind", "name") if not resource.get(field)]
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    errors = given(f"{path}.service.name", service.get("name"), names.label)
    at, which = f"{path}.service.port", part(service, "port")
    if which.get("name") and which.get("number"):
        errors.append(invalid(path, "", "cannot set both port name & port number"))
    elif which.get("name"):
        errors += follows(f"{at}.name", which["name"], port_name)
    elif which.get("number"):
        errors += port(f"{at}.number", which["number"])
    else:
        errors.append(required(path, "port name or number is required"))
    return errors


def _path_errors(each: Plain, path: str) -> Errors:
    kind, where, at = each.get("pathType"), text(each, "path"), f"{path}.path"
    if kind is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    errors: Errors = []
    if kind in {"Exact", "Prefix"}:
        if not where.startswith("/"):
            errors.append(invalid(at, where, _ABSOLUTE))
        bad = [some for some in ("//", "/./", "/../", "%2f", "%2F") if some in where]
        errors += [invalid(at, where, f"must not contain '{some}'") for some in bad]
        ends = [some for some in ("/..", "/.") if where.endswith(some)]
        errors += [invalid(at, where, f"cannot end with '{some}'") for some in ends]
    elif kind != "ImplementationSpecific":
        known = ("Exact", "ImplementationSpecific", "Prefix")
        errors.append(unsupported(f"{path}.pathType", kind, known))
    elif where and not where.startswith("/"):
        errors.append(invalid(at, where, _ABSOLUTE))
    return errors + _backend_errors(part(each, "backend"), f"{path}.backend")


def _ingress_errors(ingress: Plain) -> Errors:
    spec = part(ingress, "spec")
    errors: Errors = []
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        why = "either `defaultBackend` or `rules` must be specified"
        errors.append(invalid("spec", spec.get("rules"), why))
    if spec.get("defaultBackend") is not None:
        errors += _backend_errors(part(spec, "defaultBackend"), "spec.defaultBackend")
    for at, rule in each_of(spec, "rules", "spec"):
        errors += _rule_errors(rule, at)
    for at, tls in each_of(spec, "tls", "spec"):
        for where, host in texts_of(tls, "hosts", at):
            errors += _host_errors(where, host)
        if tls.get("secretName"):
            errors += follows(f"{at}.secretName", tls["secretName"], names.SUBDOMAIN)
    if spec.get("ingressClassName") is not None:
        errors += follows("spec.ingressClassName", spec["ingressClassName"], names.SUBDOMAIN)
    return errors


def _rule_errors(rule: Plain, path: str) -> Errors:
    host = text(rule, "host")
    errors: Errors = []
    if host:
        if _is_ip(host):
            errors.append(invalid(f"{path}.host", host, "must be a DNS name, not an IP address"))
        errors += _host_errors(f"{path}.host", host)
    if rule.get("http") is not None:
        if not part(rule, "http").get("paths"):
            errors.append(required(f"{path}.http.paths"))
        for at, each in each_of(part(rule, "http"), "paths", f"{path}.http"):
            errors += _path_errors(each, at)
    return errors


def _new_ingress_errors(ingress: Plain) -> Errors:
    errors = _ingress_errors(ingress)
    annotated = part(metadata(ingress), "annotations").get(_CLASS_ANNOTATION)
    name = part(ingress, "spec").get("ingressClassName")
    if annotated is not None and name is not None and annotated != name:
        why = "must match `ingressClassName` when both are specified"
        errors.append(invalid(f"annotations.{_CLASS_ANNOTATION}", annotated, why))
    return errors


def _prepare_ingress(ingress: Plain, allocate: Allocator) -> None:
    """Choose the default class for an ingress that names none."""
    annotated = part(metadata(ingress), "annotations").get(_CLASS_ANNOTATION)
    spec = ingress.setdefault("spec", {})
    if annotated is not None or spec.get("ingressClassName") is not None:
        return
    key = "ingressclass.kubernetes.io/is-default-class"
    marked = [
        metadata(each)
        for each in allocate.listed("networking.k8s.io", "ingressclasses")
        if part(metadata(each), "annotations").get(key) == "true"
    ]
    ranked = sorted(marked, key=lambda meta: text(meta, "name"))
    ranked.sort(key=lambda meta: text(meta, "creationTimestamp"), reverse=True)
    if ranked:
        spec["ingressClassName"] = text(ranked[0], "name")


def _class_errors(found: Plain) -> Errors:
    spec = part(found, "spec")
    errors = _controller_errors(text(spec, "controller"))
    if spec.get("parameters") is None:
        return errors
    parameters, path = part(spec, "parameters"), "spec.parameters"
    for field in ("kind", "name"):
        errors += given(f"{path}.{field}", parameters.get(field), names.path_segment)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    errors += known_or_nothing(f"{path}.scope", scope, ("Cluster", "Namespace"))
    if scope == "Namespace" and namespace is None:
        errors.append(required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"))
    if scope == "Cluster" and namespace is not None:
        errors.append(forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'"))
    return errors


def _controller_errors(controller: str) -> Errors:
    path = "spec.controller"
    if not controller:
        return [required(path)]
    domain, slash, rest = controller.partition("/")
    if not slash or not rest:
        return [invalid(path, controller, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    return follows(path, domain, names.SUBDOMAIN)


def _class_changes(new: Plain, old: Plain) -> Errors:
    controllers = [text(part(each, "spec"), "controller") for each in (new, old)]
    return immutable("spec.controller", *controllers) + _class_errors(new)


def _policy_port_errors(each: Plain, path: str) -> Errors:
    errors = known_or_nothing(f"{path}.protocol", each.get("protocol"), ("TCP", "UDP", "SCTP"))
    start, end = each.get("port"), each.get("endPort")
    if isinstance(start, int):
        errors += port(f"{path}.port", start)
        if end is not None and end < start:
            errors.append(invalid(f"{path}.endPort", start, "must be greater than or equal to `port`"))
        return errors + (port(f"{path}.endPort", end) if end is not None else [])
    if end is not None:
        state = "non-numeric" if start is not None else "not specified"
        errors.append(invalid(f"{path}.endPort", end, f"may not be specified when `port` is {state}"))
    return errors + (follows(f"{path}.port", start, port_name) if start is not None else [])


def _peer_errors(peer: Plain, path: str) -> Errors:
    errors: Errors = []
    for field in ("podSelector", "namespaceSelector"):
        errors += label_selector(f"{path}.{field}", part(peer, field))
    block = peer.get("ipBlock")
    if block is not None:
        errors += _block_errors(block, f"{path}.ipBlock")
    stated = [each for each in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(each) is not None]
    if not stated:
        errors.append(required(path, "must specify a peer"))
    elif len(stated) > 1 and block is not None:
        errors.append(forbidden(path, "may not specify both ipBlock and another peer"))
    return errors


def _block_errors(block: Plain, path: str) -> Errors:
    cidr = text(block, "cidr")
    if not cidr:
        return [required(f"{path}.cidr")]
    errors = cidr_errors(f"{path}.cidr", cidr)
    if errors:
        return errors
    outer = ip_network(cidr, strict=False)
    for at, each in texts_of(block, "except", path):
        wrong = cidr_errors(at, each)
        if not wrong:
            inner = ip_network(each, strict=False)
            inside = inner.version == outer.version and inner.network_address in outer
            if not inside or inner.prefixlen <= outer.prefixlen:
                wrong = [invalid(at, each, "must be a strict subset of `cidr`")]
        errors += wrong
    return errors


def _policy_errors(policy: Plain) -> Errors:
    spec = part(policy, "spec")
    errors = label_selector("spec.podSelector", part(spec, "podSelector"))
    for side, peers in (("ingress", "from"), ("egress", "to")):
        for at, rule in each_of(spec, side, "spec"):
            for where, each in each_of(rule, "ports", at):
                errors += _policy_port_errors(each, where)
            for where, peer in each_of(rule, peers, at):
                errors += _peer_errors(peer, where)
    types = words(spec, "policyTypes")
    if len(types) > 2:
        return [*errors, invalid("spec.policyTypes", types, "may not specify more than two policyTypes")]
    for at, kind in texts_of(spec, "policyTypes", "spec"):
        if kind not in {"Ingress", "Egress"}:
            errors.append(unsupported(at, kind, ("Ingress", "Egress")))
    return errors


def _subset_errors(endpoints: Plain) -> Errors:
    errors: Errors = []
    for index, subset in enumerate(items(endpoints, "subsets")):
        at = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(required(at, "must specify `addresses` or `notReadyAddresses`"))
        for field in ("addresses", "notReadyAddresses"):
            for where, address in each_of(subset, field, at):
                errors += _address_errors(address, where)
        many = len(items(subset, "ports")) > 1
        for where, each in each_of(subset, "ports", at):
            errors += _endpoint_port_errors(each, where, many=many)
    return errors


def _address_errors(address: Plain, path: str) -> Errors:
    ip = text(address, "ip")
    errors = ip_errors(f"{path}.ip", ip)
    if address.get("hostname"):
        errors += follows(f"{path}.hostname", address["hostname"], names.label)
    if address.get("nodeName") is not None:
        errors += follows(f"{path}.nodeName", address["nodeName"], names.SUBDOMAIN)
    if errors and not _is_ip(ip):
        return [*errors, invalid(f"{path}.ip", ip, "must be a valid IP address")]
    return errors + endpoint_ip_errors(f"{path}.ip", ip)


def _endpoint_port_errors(each: Plain, path: str, *, many: bool) -> Errors:
    name = text(each, "name")
    errors: Errors = []
    if name:
        errors += follows(f"{path}.name", name, names.label)
    elif many:
        errors.append(required(f"{path}.name"))
    errors += port(f"{path}.port", each.get("port"))
    return errors + one_of(f"{path}.protocol", each.get("protocol"), PROTOCOLS)


def _endpoints_changes(new: Plain, old: Plain) -> Errors:
    return [] if same(new.get("subsets"), old.get("subsets")) else _subset_errors(new)


def _slice_errors(found: Plain) -> Errors:
    kind = text(found, "addressType")
    errors = one_of("addressType", kind, ("FQDN", "IPv4", "IPv6"))
    seen: set[str] = set()
    for index, each in enumerate(items(found, "ports")):
        at, name = f"ports[{index}]", text(each, "name")
        if name:
            errors += follows(f"{at}.name", name, names.label)
        if name in seen:
            errors.append(duplicate(f"{at}.name", name))
        seen.add(name)
        errors += known_or_nothing(f"{at}.protocol", each.get("protocol"), PROTOCOLS)
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
    if kind not in {"IPv4", "IPv6"}:
        return []
    errors = ip_errors(path, address)
    if errors:
        return errors
    if f"IPv{ip_address(address).version}" != kind:
        errors.append(invalid(re.sub(r"\[\d+\]$", "", path), address, f"must be an {kind} address"))
    return errors + endpoint_ip_errors(path, address)


def _slice_changes(new: Plain, old: Plain) -> Errors:
    errors = _slice_errors(new)
    if same(new.get("endpoints"), old.get("endpoints")):
        errors = [each for each in errors if not each.field.startswith("endpoints")]
    return errors + immutable("addressType", text(new, "addressType"), text(old, "addressType"))


RULES: Final = {
    "ingresses": StrategyHooks(
        prepare_create=_prepare_ingress,
        validate_create=_new_ingress_errors,
        validate_update=lambda new, _old: _ingress_errors(new),
        validate_status=ingress_errors,
    ),
    "ingressclasses": StrategyHooks(validate_create=_class_errors, validate_update=_class_changes),
    "networkpolicies": StrategyHooks(
        validate_create=_policy_errors, validate_update=lambda new, _old: _policy_errors(new)
    ),
    "endpoints": StrategyHooks(validate_create=_subset_errors, validate_update=_endpoints_changes),
    "endpointslices": StrategyHooks(validate_create=_slice_errors, validate_update=_slice_changes),
}
