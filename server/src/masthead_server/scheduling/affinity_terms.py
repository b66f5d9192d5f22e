"""Affinity of pods to nodes and to other pods, compiled once for all pods that share it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._meta import typeinfo
from masthead_server.scheduling.labels import (
    LabelSelectorFacts,
    NodeSelectorFacts,
    NodeTerm,
    Selector,
    compile_selector,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["NO_AFFINITY", "Affinity", "PodTerm", "read_affinity"]

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_CACHED: Final = 1024


class _PodTermFacts(msgspec.Struct, rename="camel"):
    topology_key: str = ""
    label_selector: LabelSelectorFacts | None = None
    namespaces: list[str] = []
    namespace_selector: LabelSelectorFacts | None = None


class _WeightedNodeTerm(msgspec.Struct):
    weight: int = 0
    preference: NodeTerm = msgspec.field(default_factory=NodeTerm)


class _WeightedPodTerm(msgspec.Struct, rename="camel"):
    weight: int = 0
    pod_affinity_term: _PodTermFacts = msgspec.field(default_factory=_PodTermFacts)


class _NodeAffinity(msgspec.Struct):
    required: NodeSelectorFacts | None = msgspec.field(default=None, name=_REQUIRED)
    preferred: list[_WeightedNodeTerm] = msgspec.field(default_factory=list[_WeightedNodeTerm], name=_PREFERRED)


class _PodAffinity(msgspec.Struct):
    required: list[_PodTermFacts] = msgspec.field(default_factory=list[_PodTermFacts], name=_REQUIRED)
    preferred: list[_WeightedPodTerm] = msgspec.field(default_factory=list[_WeightedPodTerm], name=_PREFERRED)


class _Affinity(msgspec.Struct, rename="camel"):
    node_affinity: _NodeAffinity = msgspec.field(default_factory=_NodeAffinity)
    pod_affinity: _PodAffinity = msgspec.field(default_factory=_PodAffinity)
    pod_anti_affinity: _PodAffinity = msgspec.field(default_factory=_PodAffinity)


@dataclass(frozen=True, slots=True, eq=False)
class PodTerm:
    """A term of affinity between pods.

    Attributes:
        topology_key: The label of the topology domain.
        selector: Selects the pods.
        namespaces: The namespaces of the pods.
        namespace_selector: Selects further namespaces.
        weight: Its weight, if it is preferred.
    """

    topology_key: str
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector
    weight: int = 0

    def covers(self, namespace: str, namespace_labels: Mapping[str, str]) -> bool:
        """Tell whether the term applies to pods of a namespace."""
        return namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)


@dataclass(frozen=True, slots=True, eq=False)
class Affinity:
    """The affinity of a pod.

    Attributes:
        node_terms: The required node terms; None for any node.
        preferred_nodes: Preferred node terms, with their weights.
        required: Required affinity terms.
        anti_required: Required anti-affinity terms.
        preferred: Preferred terms; those of anti-affinity have negative weights.
    """

    node_terms: tuple[NodeTerm, ...] | None = None
    preferred_nodes: tuple[tuple[int, NodeTerm], ...] = ()
    required: tuple[PodTerm, ...] = ()
    anti_required: tuple[PodTerm, ...] = ()
    preferred: tuple[PodTerm, ...] = ()

    @property
    def concerns_pods(self) -> bool:
        """Whether it has terms about other pods."""
        return bool(self.required or self.anti_required or self.preferred)

    def node_names(self) -> set[str] | None:
        """Return the node names that the required terms are limited to; None for no limit."""
        names: set[str] = set()
        for term in self.node_terms or ():
            limited = term.names()
            if limited is None:
                return None
            names |= limited
        return names if self.node_terms else None


NO_AFFINITY: Final = Affinity()
_decode: Callable[[bytes], _Affinity] = typeinfo.json_decoder(_Affinity).decode


def read_affinity(written: bytes, namespace: str) -> Affinity:
    """Compile the affinity of a pod.

    The API server has added the requirements of ``matchLabelKeys`` to the selectors.

    Args:
        written: The affinity, as JSON.
        namespace: The pod's namespace, which terms without one mean.

    Raises:
        SelectorError: If a selector is invalid.
    """
    if not written:
        return NO_AFFINITY
    return _compile(written, namespace)


@lru_cache(maxsize=_CACHED)
def _compile(written: bytes, namespace: str) -> Affinity:
    found = _decode(written)
    required = found.node_affinity.required
    anti = found.pod_anti_affinity
    return Affinity(
        None if required is None else tuple(required.node_selector_terms),
        tuple((term.weight, term.preference) for term in found.node_affinity.preferred if term.weight),
        _compile_terms(((0, term) for term in found.pod_affinity.required), namespace),
        _compile_terms(((0, term) for term in anti.required), namespace),
        (
            *_compile_terms(
                ((term.weight, term.pod_affinity_term) for term in found.pod_affinity.preferred), namespace
            ),
            *_compile_terms(((-term.weight, term.pod_affinity_term) for term in anti.preferred), namespace),
        ),
    )


def _compile_terms(terms: Iterable[tuple[int, _PodTermFacts]], namespace: str) -> tuple[PodTerm, ...]:
    return tuple(_compile_term(term, weight, namespace) for weight, term in terms)


def _compile_term(term: _PodTermFacts, weight: int, namespace: str) -> PodTerm:
    is_local = not term.namespaces and term.namespace_selector is None
    return PodTerm(
        term.topology_key,
        compile_selector(term.label_selector),
        frozenset((namespace,) if is_local else term.namespaces),
        compile_selector(term.namespace_selector),
        weight,
    )
