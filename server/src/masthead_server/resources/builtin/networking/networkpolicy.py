"""NetworkPolicies: defaults, validation and warnings."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid, required
from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.defaulting.fill import for_each, shape
from masthead_server.resources.validation.addresses import cidr_errors
from masthead_server.resources.validation.checks import (
    each_of,
    follows,
    known_or_nothing,
    label_selector,
    port,
    port_name,
    texts_of,
    unsupported,
    words,
)
from masthead_server.resources.warnings.addresses import network_warnings
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain


def _fill_policy_types(spec: Plain) -> None:
    if not spec.get("policyTypes"):
        # Ingress is always isolated; egress only if there are rules for it.
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


_POLICY_PORTS: Final = for_each(shape(inside={"ports": for_each(shape(unset={"protocol": "TCP"}))}))
DEFAULTS: Final[Fill] = shape(
    always={"spec": shape(inside={"ingress": _POLICY_PORTS, "egress": _POLICY_PORTS}, then=_fill_policy_types)}
)


def _policy_port_errors(policy_port: Plain, path: str) -> Errors:
    errors = known_or_nothing(f"{path}.protocol", policy_port.get("protocol"), ("TCP", "UDP", "SCTP"))
    start, end = policy_port.get("port"), policy_port.get("endPort")
    if isinstance(start, int):
        errors += port(f"{path}.port", start)
        if end is not None and end < start:
            # kube-apiserver shows the value of port here, not that of endPort.
            errors.append(invalid(f"{path}.endPort", start, "must be greater than or equal to `port`"))
        return errors + (port(f"{path}.endPort", end) if end is not None else [])
    # A range needs numbers: a named port may differ from pod to pod.
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
    stated = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(name) is not None]
    if not stated:
        errors.append(required(path, "must specify a peer"))
    # Pod and namespace selectors combine; an address block excludes both.
    elif len(stated) > 1 and block is not None:
        errors.append(forbidden(path, "may not specify both ipBlock and another peer"))
    return errors


def _block_errors(block: Plain, path: str) -> Errors:
    cidr = text(block, "cidr")
    if not cidr:
        return [required(f"{path}.cidr")]
    errors = cidr_errors(f"{path}.cidr", cidr)
    # The exceptions are compared with the block, which has to be readable.
    if errors:
        return errors
    outer = ip_network(cidr, strict=False)
    for at, item in texts_of(block, "except", path):
        wrong = cidr_errors(at, item)
        if not wrong:
            inner = ip_network(item, strict=False)
            # With a longer prefix, all of it is inside if its first address is.
            inside = inner.version == outer.version and inner.network_address in outer
            if not inside or inner.prefixlen <= outer.prefixlen:
                wrong = [invalid(at, item, "must be a strict subset of `cidr`")]
        errors += wrong
    return errors


def policy_errors(policy: Plain) -> Errors:
    """Return the errors of a NetworkPolicy."""
    spec = part(policy, "spec")
    errors = label_selector("spec.podSelector", part(spec, "podSelector"))
    for side, peers in (("ingress", "from"), ("egress", "to")):
        for at, rule in each_of(spec, side, "spec"):
            for where, policy_port in each_of(rule, "ports", at):
                errors += _policy_port_errors(policy_port, where)
            for where, peer in each_of(rule, peers, at):
                errors += _peer_errors(peer, where)
    types = words(spec, "policyTypes")
    if len(types) > 2:
        # The items are not looked at when there are too many.
        return [*errors, invalid("spec.policyTypes", types, "may not specify more than two policyTypes")]
    for at, kind in texts_of(spec, "policyTypes", "spec"):
        if kind not in {"Ingress", "Egress"}:
            errors.append(unsupported(at, kind, ("Ingress", "Egress")))
    return errors


def policy_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a NetworkPolicy."""
    found: list[str] = []
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(items(part(obj, "spec"), direction)):
            for number, peer in enumerate(items(rule, peers)):
                at = f"spec.{direction}[{index}].{peers}[{number}].ipBlock"
                found += _block(at, part(peer, "ipBlock"))
    return found


def _block(path: str, block: Plain) -> list[str]:
    found = network_warnings(f"{path}.cidr", text(block, "cidr"))
    for index, value in enumerate(block.get("except") or ()):
        found += network_warnings(f"{path}.except[{index}]", value)
    return found


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(validate_create=policy_errors, validate_update=lambda new, _old: policy_errors(new)),
    warnings=always(policy_warnings),
)
