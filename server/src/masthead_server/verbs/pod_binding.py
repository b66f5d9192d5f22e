"""What ``pods/binding`` does to a pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.quoting import quoted
from masthead_server.wire.failures import conflict
from masthead_server.wire.plain import Plain, is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["bind_pod"]


def bind_pod(pod: Plain, node: str, now: str, added: Mapping[str, Mapping[str, str]]) -> None:
    """Give a pod its node, in place.

    Args:
        pod: The pod.
        node: The node's name.
        now: The time, in the format of metadata.
        added: Labels and annotations that it gets beside.

    Raises:
        StatusFailure: If it has a node already, is being deleted, or is held by scheduling gates.
    """
    name, spec = text(metadata(pod), "name"), pod.setdefault("spec", {})
    problem = ""
    if is_being_deleted(pod):
        problem = f"pod {name} is being deleted, cannot be assigned to a host"
    elif text(spec, "nodeName"):
        problem = f"pod {name} is already assigned to node {quoted(text(spec, 'nodeName'))}"
    elif items(spec, "schedulingGates"):
        problem = f"pod {name} has non-empty .spec.schedulingGates"
    if problem:
        raise conflict("", "pods/binding", name, problem)
    spec["nodeName"] = node
    for field in ("labels", "annotations"):
        if more := added.get(field):
            metadata(pod)[field] = {**part(metadata(pod), field), **more}
    status = pod.setdefault("status", {})
    status.pop("nominatedNodeName", None)
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    conditions = items(status, "conditions")
    others = [condition for condition in conditions if condition.get("type") != "PodScheduled"]
    if len(others) == len(conditions):
        status["conditions"] = [*conditions, scheduled]
    else:
        status["conditions"] = [
            scheduled if condition.get("type") == "PodScheduled" else condition for condition in conditions
        ]
