"""Topology spread constraints of pods, compiled once for all pods that share them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._meta import typeinfo
from masthead_server.scheduling.labels import LabelSelectorFacts, Selector, compile_selector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["SpreadConstraint", "read_constraints"]

_CACHED: Final = 1024


class _ConstraintFacts(msgspec.Struct, rename="camel"):
    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelectorFacts | None = None
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: list[str] = []


@dataclass(frozen=True, slots=True, eq=False)
class SpreadConstraint:
    """A constraint on the distribution of pods.

    Attributes:
        max_skew: The maximum difference between a domain's number of pods and the minimum.
        topology_key: The label whose values are the domains.
        selector: Selects the pods.
        min_domains: With fewer domains, the minimum counts as 0.
        is_required: Whether ``whenUnsatisfiable`` is ``DoNotSchedule``.
        honors_affinity: Whether nodes that the pod's affinity excludes do not count.
        honors_taints: Whether nodes with untolerated taints do not count.
    """

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int
    is_required: bool
    honors_affinity: bool
    honors_taints: bool


_decode: Callable[[bytes], list[_ConstraintFacts]] = typeinfo.json_decoder(list[_ConstraintFacts]).decode


def read_constraints(written: bytes, labels: Mapping[str, str]) -> tuple[SpreadConstraint, ...]:
    """Compile the constraints of a pod.

    Raises:
        SelectorError: If a selector is invalid.
    """
    # Few constraints depend on the pod's labels; otherwise all pods of a workload share the result.
    return _compile(written, tuple(sorted(labels.items())) if b"matchLabelKeys" in written else ())


@lru_cache(maxsize=_CACHED)
def _compile(written: bytes, labels: tuple[tuple[str, str], ...]) -> tuple[SpreadConstraint, ...]:
    known = dict(labels)
    return tuple(
        SpreadConstraint(
            found.max_skew,
            found.topology_key,
            compile_selector(
                found.label_selector, [(key, known[key]) for key in found.match_label_keys if key in known]
            ),
            found.min_domains or 1,
            is_required=found.when_unsatisfiable == "DoNotSchedule",
            honors_affinity=found.node_affinity_policy == "Honor",
            honors_taints=found.node_taints_policy == "Honor",
        )
        for found in _decode(written)
    )
