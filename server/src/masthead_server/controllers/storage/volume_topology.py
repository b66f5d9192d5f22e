"""The part of the cluster that reaches a new volume, as provisioners of CSI drivers choose it. Pure decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.wire.plain import Plain, items, part, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["choose_topology", "make_node_affinity", "topology_keys_of"]


def topology_keys_of(csi_node: Plain, driver: str) -> list[str]:
    """Return the labels of a node that a CSI driver calls its topology."""
    for found in items(part(csi_node, "spec"), "drivers"):
        if text(found, "name") == driver:
            return list(found.get("topologyKeys") or ())
    return []


def choose_topology(storage_class: Plain, labels: Mapping[str, str], driver_keys: Sequence[str]) -> dict[str, str]:
    """Choose the labels that nodes must have to reach a new volume; empty where all nodes do.

    Args:
        storage_class: The class of the claim.
        labels: The labels of the node of its first pod; empty unless the class binds on first use.
        driver_keys: The labels that the CSI driver calls its topology; empty for those of the allowed topologies.
    """
    allowed = [_values_by_key(topology) for topology in items(storage_class, "allowedTopologies")]
    matching = [values for values in allowed if all(labels.get(key) in values[key] for key in values)]
    if labels and (matching or not allowed):
        keys = driver_keys or (list(matching[0]) if matching else ())
        return {key: labels[key] for key in sorted(keys) if key in labels}
    # Without a node, or for one outside of the allowed topologies: the first of them.
    return {key: values[0] for key, values in sorted(allowed[0].items()) if values} if allowed else {}


def _values_by_key(topology: Plain) -> dict[str, list[str]]:
    expressions = items(topology, "matchLabelExpressions")
    return {text(expression, "key"): list(expression.get("values") or ()) for expression in expressions}


def make_node_affinity(topology: Mapping[str, str]) -> Plain:
    """Return the node affinity of a volume that only nodes with these labels reach."""
    required = [{"key": key, "operator": "In", "values": [value]} for key, value in topology.items()]
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": required}]}}
