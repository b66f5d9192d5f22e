"""Whether a node runs the pods of a DaemonSet, by node name, selector, affinity and taints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from masthead._meta import typeinfo
from masthead_server.wire.go_numbers import parse_int
from masthead_server.wire.plain import Plain, items, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = [
    "Eligibility",
    "NodeFacts",
    "NodeTaint",
    "daemon_tolerations",
    "decode_node",
    "is_tolerated",
    "judge_node",
    "make_node",
    "matches_terms",
]

_UNTOLERATED: Final = frozenset({"NoSchedule", "NoExecute"})
"""The taint effects that keep new pods away."""
_NAME_FIELD: Final = "metadata.name"


class NodeTaint(msgspec.Struct, frozen=True):
    """A taint of a node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class _NodeMetadata(msgspec.Struct, frozen=True):
    name: str = ""
    labels: dict[str, str] = {}


class _NodeSpec(msgspec.Struct, frozen=True):
    taints: tuple[NodeTaint, ...] = ()


class NodeFacts(msgspec.Struct, frozen=True):
    """The fields of a node that decide whether daemon pods run there; heartbeats do not change them.

    Attributes:
        metadata: Its name and labels.
        spec: Its taints.
    """

    metadata: _NodeMetadata
    spec: _NodeSpec = msgspec.field(default_factory=_NodeSpec)


def make_node(name: str, labels: Mapping[str, str]) -> NodeFacts:
    """Build a node with a name and labels, without taints."""
    return NodeFacts(_NodeMetadata(name, dict(labels)))


decode_node: Callable[[bytes], NodeFacts] = typeinfo.json_decoder(NodeFacts).decode


class Eligibility(NamedTuple):
    """Whether a node gets a daemon pod, and whether it keeps one."""

    should_run: bool
    should_continue: bool


_AUTOMATIC: Final[tuple[tuple[str, str], ...]] = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
"""Taints that every daemon pod tolerates."""
_HOST_NETWORK: Final = ("node.kubernetes.io/network-unavailable", "NoSchedule")


def daemon_tolerations(spec: Plain) -> list[Plain]:
    """Return the tolerations of a daemon pod: its template's, and the automatic ones."""
    tolerations = items(spec, "tolerations")
    automatic = (*_AUTOMATIC, _HOST_NETWORK) if spec.get("hostNetwork") else _AUTOMATIC
    for key, effect in automatic:
        added: Plain = {"key": key, "operator": "Exists", "effect": effect}
        if added not in tolerations:
            tolerations = [*tolerations, added]
    return tolerations


def judge_node(node: NodeFacts, spec: Plain, tolerations: Sequence[Plain]) -> Eligibility:
    """Decide whether the pods of a template should run on a node.

    Args:
        node: The node.
        spec: The pod spec of the template.
        tolerations: The tolerations of its pods, from `daemon_tolerations`.
    """
    if text(spec, "nodeName") not in {"", node.metadata.name} or not _matches_affinity(node, spec):
        return Eligibility(should_run=False, should_continue=False)
    untolerated = {taint.effect for taint in node.spec.taints if not is_tolerated(taint, tolerations)}
    # A running pod stays unless a taint evicts it.
    return Eligibility(untolerated.isdisjoint(_UNTOLERATED), "NoExecute" not in untolerated)


def is_tolerated(taint: NodeTaint, tolerations: Iterable[Plain]) -> bool:
    """Tell whether one of the tolerations tolerates a taint."""
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Plain, taint: NodeTaint) -> bool:
    if text(toleration, "effect") not in {"", taint.effect} or text(toleration, "key") not in {"", taint.key}:
        return False
    match text(toleration, "operator"):
        case "Exists":
            return True
        case "" | "Equal":
            return text(toleration, "value") == taint.value
        case _:
            # The operators Gt and Lt need a disabled feature gate; validation refuses them.
            return False


def _matches_affinity(node: NodeFacts, spec: Plain) -> bool:
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in part(spec, "nodeSelector").items()):
        return False
    affinity = part(part(spec, "affinity"), "nodeAffinity")
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or matches_terms(node, items(required, "nodeSelectorTerms"))


def matches_terms(node: NodeFacts, terms: Iterable[Plain]) -> bool:
    """Tell whether a node matches one of the terms of a node selector; an empty term matches no node."""
    return any(_matches_term(node, term) for term in terms)


def _matches_term(node: NodeFacts, term: Plain) -> bool:
    expressions, fields = items(term, "matchExpressions"), items(term, "matchFields")
    if not expressions and not fields:
        return False
    named = {_NAME_FIELD: node.metadata.name}
    return all(_matches(node.metadata.labels, expression) for expression in expressions) and all(
        _matches(named, field) for field in fields
    )


def _matches(labels: Mapping[str, str], requirement: Plain) -> bool:
    value = labels.get(text(requirement, "key"))
    values: list[str] = requirement.get("values") or []
    match text(requirement, "operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case operator:
            return value is not None and len(values) == 1 and _compares(operator, value, values[0])


def _compares(operator: str, value: str, limit: str) -> bool:
    try:
        number, bound = parse_int(value), parse_int(limit)
    except ValueError:
        return False
    return (operator == "Gt" and number > bound) or (operator == "Lt" and number < bound)
