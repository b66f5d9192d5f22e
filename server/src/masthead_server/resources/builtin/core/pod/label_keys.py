"""Label keys of affinity and topology spread: the server adds requirements for a pod's own values to the selectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.wire.plain import Plain

__all__ = ["merge_label_keys"]

_OPERATORS: Final = {"matchLabelKeys": "In", "mismatchLabelKeys": "NotIn"}
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def merge_label_keys(pod: Plain) -> None:
    """Add requirements to the label selectors of a new pod, for each of their keys that is a label of the pod.

    Pods of one template then have different selectors, such as for pods of the same revision. The scheduler
    and other readers of the pod need not know the keys.
    """
    spec = part(pod, "spec")
    if not spec.get("affinity") and not spec.get("topologySpreadConstraints"):
        return
    labels = part(part(pod, "metadata"), "labels")
    for term in _terms(spec):
        added = _requirements(term, labels)
        # Without a selector the term is about no pod.
        if added and term.get("labelSelector") is not None:
            selector = part(term, "labelSelector")
            term["labelSelector"] = {**selector, "matchExpressions": [*items(selector, "matchExpressions"), *added]}


def _terms(spec: Plain) -> Iterator[Plain]:
    for side in ("podAffinity", "podAntiAffinity"):
        affinity = part(part(spec, "affinity"), side)
        yield from items(affinity, _REQUIRED)
        for weighted in items(affinity, _PREFERRED):
            yield part(weighted, "podAffinityTerm")
    yield from items(spec, "topologySpreadConstraints")


def _requirements(term: Plain, labels: Plain) -> list[Plain]:
    return [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in _OPERATORS.items()
        for key in term.get(field) or ()
        if key in labels
    ]
