"""Nodes: defaults, validation and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import FieldError, duplicate, forbidden, internal_error, invalid, required
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.defaulting.disabled import dropped_on_update
from masthead_server.resources.defaulting.fill import round_up, shape
from masthead_server.resources.validation.addresses import cidr_errors, parse_interface
from masthead_server.resources.validation.checks import each_of, follows, texts_of, unsupported, words
from masthead_server.resources.validation.resource_requirements import value_errors
from masthead_server.resources.warnings.addresses import network_warnings
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain


def _fill_allocatable(status: Plain) -> None:
    if status.get("allocatable") is None and status.get("capacity") is not None:
        status["allocatable"] = dict(status["capacity"])


def _fill_pod_cidrs(spec: Plain) -> None:
    one, many = spec.get("podCIDR"), spec.get("podCIDRs")
    # The older field wins: a client that knows podCIDR only has changed that one.
    if one and (not many or many[0] != one):
        spec["podCIDRs"] = [one]
    elif many:
        spec["podCIDR"] = many[0]


DEFAULTS: Final[Fill] = shape(
    inside={
        "spec": _fill_pod_cidrs,
        "status": shape(inside={"capacity": round_up, "allocatable": round_up}, then=_fill_allocatable),
    }
)

_NO_CHANGE: Final = 'node updates may not change {} except from "" to valid'


def node_errors(node: Plain) -> Errors:
    """Return the errors of a Node."""
    spec = part(node, "spec")
    # Taints first, then resources, then networks: the order of ValidateNode.
    errors = _taint_errors(spec) + _supply_errors(node)
    return errors + _network_errors(spec)


def _network_errors(spec: Plain) -> Errors:
    errors: Errors = []
    for at, network in texts_of(spec, "podCIDRs", "spec"):
        errors += cidr_errors(at, network)
    networks = words(spec, "podCIDRs")
    families = [None if found is None else found.version for found in map(parse_interface, networks)]
    if len(networks) > 1 and None in families:
        index = families.index(None)
        problem = f"invalid CIDR[{index}]: <nil> (invalid CIDR address: {networks[index]})"
        why = f"invalid PodCIDRs. failed to check with dual stack with error:{problem}"
        errors.append(internal_error("spec.podCIDRs", why))
    if len(networks) > 1 and sorted(family or 0 for family in families) != [4, 6]:
        errors.append(invalid("spec.podCIDRs", networks, "may specify no more than one CIDR for each IP family"))
    return errors


def _supply_errors(node: Plain) -> Errors:
    errors: Errors = []
    for side in ("capacity", "allocatable"):
        # Sorted, because Go's order of maps is random.
        for name, value in sorted(part(part(node, "status"), side).items()):
            errors += value_errors(f"status.{side}.{name}", name, value)
    return errors


def _taint_errors(spec: Plain) -> Errors:
    errors: Errors = []
    seen: set[tuple[str, str]] = set()
    # kube-apiserver names the path metadata.taints, although taints are in the spec.
    for at, taint in each_of(spec, "taints", "metadata"):
        key, effect = text(taint, "key"), text(taint, "effect")
        errors += follows(f"{at}.key", key, names.qualified_name)
        wrong = names.LABEL_VALUE(text(taint, "value"))
        if wrong:
            # One error for all problems of a value, joined by semicolons, unlike for keys.
            errors.append(invalid(f"{at}.value", text(taint, "value"), ";".join(wrong)))
        effects = ("NoSchedule", "PreferNoSchedule", "NoExecute")
        if not effect:
            errors.append(required(f"{at}.effect"))
        elif effect not in effects:
            errors.append(unsupported(f"{at}.effect", effect, effects))
        if (key, effect) in seen:
            why = "taints must be unique by key and effect pair"
            errors.append(FieldError("FieldValueDuplicate", at, _shown_taint(taint), why))
        seen.add((key, effect))
    return errors


def _shown_taint(taint: Plain) -> Plain:
    """A taint as messages of kube-apiserver print it, in its internal type."""
    fields = {field.capitalize(): text(taint, field) for field in ("key", "value", "effect")}
    return {**fields, "TimeAdded": taint.get("timeAdded")}


def node_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a Node."""
    # kube-apiserver validates most of a node twice, and reports errors twice.
    return node_errors(new) + node_status_errors(new, old)


def node_status_errors(new: Plain, old: Plain) -> Errors:
    """Return the errors of the status of a Node."""
    after, before = part(new, "spec"), part(old, "spec")
    errors = _supply_errors(new)
    seen: set[tuple[str, str]] = set()
    for at, address in each_of(part(new, "status"), "addresses", "status"):
        identity = (text(address, "type"), text(address, "address"))
        if identity in seen:
            shown = {field.capitalize(): text(address, field) for field in ("type", "address")}
            errors.append(duplicate(at, shown))
        seen.add(identity)
    # Both may be set once: routes and cloud resources depend on them.
    if before.get("podCIDRs") and after.get("podCIDRs") != before["podCIDRs"]:
        errors.append(forbidden("spec.podCIDRs", _NO_CHANGE.format("podCIDR")))
    if before.get("providerID") and after.get("providerID") != before["providerID"]:
        errors.append(forbidden("spec.providerID", _NO_CHANGE.format("providerID")))
    errors += _taint_errors(after)
    if text(after, "externalID") != text(before, "externalID"):
        errors.append(forbidden("spec.externalID", "may not be updated"))
    return errors


def node_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a Node."""
    spec = part(obj, "spec")
    found: list[str] = []
    if spec.get("externalID"):
        found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    for index, value in enumerate(spec.get("podCIDRs") or ()):
        found += network_warnings(f"spec.podCIDRs[{index}]", value)
    return found


def _prepare_node(node: Plain, _allocate: Allocator) -> None:
    # Dynamic kubelet configuration was removed; the field remains in the API.
    part(node, "spec").pop("configSource", None)
    _forget_config(node)


def _forget_config(node: Plain) -> None:
    """Drop the state of a removed feature."""
    part(node, "status").pop("config", None)


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=_prepare_node,
        prepare_update=dropped_on_update("spec", "configSource"),
        validate_create=node_errors,
        validate_update=node_changes,
        prepare_status=lambda new, _old, _allocate: _forget_config(new),
        validate_status=node_status_errors,
    ),
    warnings=always(node_warnings),
)
