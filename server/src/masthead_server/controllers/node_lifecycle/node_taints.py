"""The taints that follow from the conditions of a node. Pure decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import set_or_drop
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.wire.plain import Plain

__all__ = [
    "NOT_READY",
    "UNREACHABLE",
    "complete_labels",
    "has_no_execute",
    "lacks_labels",
    "missing_taints",
    "no_execute_for",
    "remove_no_execute",
    "set_no_execute",
    "set_no_schedule",
]

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
_KEYS: Final[Mapping[tuple[str, str], str]] = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
"""The taint of a condition, by its type and status."""
_OWN: Final = frozenset({*_KEYS.values(), _UNSCHEDULABLE})
_LABELS: Final = (("kubernetes.io/os", "beta.kubernetes.io/os"), ("kubernetes.io/arch", "beta.kubernetes.io/arch"))
"""Labels, with the deprecated labels that repeat them."""


def _taints(node: Plain) -> list[Plain]:
    return items(part(node, "spec"), "taints")


def _no_schedule_keys(node: Plain) -> list[str]:
    """The keys of the NoSchedule taints that a node should have."""
    conditions = items(part(node, "status"), "conditions")
    found = [_KEYS.get((text(condition, "type"), text(condition, "status")), "") for condition in conditions]
    cordoned = [_UNSCHEDULABLE] if part(node, "spec").get("unschedulable") else []
    return list(dict.fromkeys([*filter(None, found), *cordoned]))


def _is_own(taint: Plain) -> bool:
    return text(taint, "effect") == "NoSchedule" and text(taint, "key") in _OWN


def missing_taints(node: Plain) -> bool:
    """Tell whether the NoSchedule taints of a node differ from its conditions."""
    return {text(taint, "key") for taint in _taints(node) if _is_own(taint)} != set(_no_schedule_keys(node))


def set_no_schedule(node: Plain, now: str) -> None:
    """Set the NoSchedule taints of a node according to its conditions."""
    wanted = _no_schedule_keys(node)
    kept = [taint for taint in _taints(node) if not _is_own(taint) or text(taint, "key") in wanted]
    known = {text(taint, "key") for taint in kept if _is_own(taint)}
    new = [{"key": key, "effect": "NoSchedule", "timeAdded": now} for key in wanted if key not in known]
    set_or_drop(node.setdefault("spec", {}), "taints", [*kept, *new])


def no_execute_for(ready: str) -> str:
    """Return the key of the NoExecute taint for a status of the condition Ready; empty for no taint."""
    return _KEYS.get(("Ready", ready), "")


def has_no_execute(node: Plain, *keys: str) -> bool:
    """Tell whether a node has a NoExecute taint of one of these keys."""
    return any(text(taint, "effect") == "NoExecute" and text(taint, "key") in keys for taint in _taints(node))


def set_no_execute(node: Plain, key: str, now: str) -> None:
    """Set one of the taints not-ready and unreachable, and remove the other."""
    if not has_no_execute(node, key):
        remove_no_execute(node)
        new = {"key": key, "effect": "NoExecute", "timeAdded": now}
        node.setdefault("spec", {})["taints"] = [*_taints(node), new]


def remove_no_execute(node: Plain) -> None:
    """Remove the NoExecute taints not-ready and unreachable."""

    def is_other(taint: Plain) -> bool:
        return text(taint, "effect") != "NoExecute" or text(taint, "key") not in {NOT_READY, UNREACHABLE}

    set_or_drop(node.setdefault("spec", {}), "taints", [taint for taint in _taints(node) if is_other(taint)])


def lacks_labels(node: Plain) -> bool:
    """Tell whether the deprecated labels of operating system and architecture differ from the current ones."""
    labels = part(part(node, "metadata"), "labels")
    return any(key in labels and labels.get(older) != labels[key] for key, older in _LABELS)


def complete_labels(node: Plain) -> None:
    """Copy operating system and architecture to the deprecated labels."""
    labels = part(part(node, "metadata"), "labels")
    labels |= {older: labels[key] for key, older in _LABELS if key in labels}
