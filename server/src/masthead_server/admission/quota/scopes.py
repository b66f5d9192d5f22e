"""Scopes of quotas: predicates of pods and claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead_server.resources.builtin.core.pod.qos import qos_class
from masthead_server.resources.validation.checks import words
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

__all__ = ["Scope", "has_deadline", "is_claim_in_scope", "is_pod_in_scope", "read_scopes"]

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class Scope:
    """A requirement of a scope selector.

    Attributes:
        name: The scope.
        operator: ``Exists`` for a scope outside a selector.
        values: The operands of ``In`` and ``NotIn``.
    """

    name: str
    operator: str = "Exists"
    values: tuple[str, ...] = ()

    def matches(self, value: str) -> bool:
        """Tell whether a class name meets the requirement; empty for an object without a class."""
        match self.operator:
            case "Exists":
                return bool(value)
            case "DoesNotExist":
                return not value
            case "In":
                return bool(value) and value in self.values
            case _:
                return not value or value not in self.values


def read_scopes(spec: Plain) -> tuple[Scope, ...]:
    """Read the scopes and the scope selector of a quota."""
    expressions = items(part(spec, "scopeSelector"), "matchExpressions")
    selected = (
        Scope(text(expression, "scopeName"), text(expression, "operator"), tuple(words(expression, "values")))
        for expression in expressions
    )
    return (*map(Scope, words(spec, "scopes")), *selected)


def is_pod_in_scope(scope: Scope, pod: Plain) -> bool:
    """Tell whether a pod is in a scope."""
    match scope.name:
        case "Terminating":
            return has_deadline(pod)
        case "NotTerminating":
            return not has_deadline(pod)
        case "BestEffort":
            return _is_best_effort(pod)
        case "NotBestEffort":
            return not _is_best_effort(pod)
        case "PriorityClass":
            return scope.matches(text(part(pod, "spec"), "priorityClassName"))
        case "CrossNamespacePodAffinity":
            return _reaches_other_namespaces(pod)
        case _:
            return False


def is_claim_in_scope(scope: Scope, claim: Plain) -> bool:
    """Tell whether a claim is in a scope: any of the classes that it has, had or gets."""
    if scope.name != "VolumeAttributesClass":
        return False
    status = part(claim, "status")
    names = {
        text(part(claim, "spec"), "volumeAttributesClassName"),
        text(status, "currentVolumeAttributesClassName"),
        text(part(status, "modifyVolumeStatus"), "targetVolumeAttributesClassName"),
    } - {""}
    return any(map(scope.matches, names or {""}))


def has_deadline(pod: Plain) -> bool:
    """Tell whether a pod has a deadline, which the scope ``Terminating`` is about."""
    seconds = part(pod, "spec").get("activeDeadlineSeconds")
    return isinstance(seconds, int) and seconds >= 0


def _is_best_effort(pod: Plain) -> bool:
    return (text(part(pod, "status"), "qosClass") or qos_class(part(pod, "spec"))) == "BestEffort"


def _reaches_other_namespaces(pod: Plain) -> bool:
    affinity = part(part(pod, "spec"), "affinity")
    for field in ("podAffinity", "podAntiAffinity"):
        preferred = [part(weighted, "podAffinityTerm") for weighted in items(part(affinity, field), _PREFERRED)]
        for term in (*items(part(affinity, field), _REQUIRED), *preferred):
            if term.get("namespaces") or term.get("namespaceSelector") is not None:
                return True
    return False
