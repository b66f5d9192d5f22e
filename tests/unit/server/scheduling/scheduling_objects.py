"""Pods and nodes as the scheduler sees them, made from plain objects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from masthead_server.controllers.objects import ObjectRef
from masthead_server.scheduling.facts import decode_node, decode_pod
from masthead_server.scheduling.nodes import SchedulingNode
from masthead_server.scheduling.pods import SchedulingPod

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.scheduling.facts import NodeFacts

ALLOCATABLE = {"cpu": "8", "memory": "16Gi", "pods": "110"}


def make_pod(
    name: str,
    *,
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    uid: str = "",
    created: str = "2026-01-01T00:00:00Z",
    **spec: Any,
) -> SchedulingPod:
    """Build a pod; `spec` has the names of the API."""
    meta = {
        "name": name,
        "namespace": namespace,
        "uid": uid or name,
        "labels": labels or {},
        "creationTimestamp": created,
    }
    written = {"metadata": meta, "spec": {"containers": [{"name": "main"}], **spec}}
    return SchedulingPod(ObjectRef("pods", f"{namespace}/{name}"), decode_pod(json.dumps(written).encode()))


def make_node_facts(name: str, labels: Mapping[str, str] | None = None, **spec: Any) -> NodeFacts:
    """Build the facts of a node; `spec` has the names of the API."""
    written = {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": spec,
        "status": {"allocatable": ALLOCATABLE},
    }
    return decode_node(json.dumps(written).encode())


def make_node(name: str, labels: Mapping[str, str] | None = None, **spec: Any) -> SchedulingNode:
    """Build a node without pods."""
    node = SchedulingNode(name)
    node.set(make_node_facts(name, labels, **spec))
    return node
