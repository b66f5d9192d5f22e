"""The API ``metrics.k8s.io``: what running pods use, and the sums of nodes, as `kubectl top` reads them.

It is served as soon as a usage was set, so that discovery of other servers shows no group without contents.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._meta import typeinfo
from masthead._meta.labels import parse
from masthead._meta.quantity import Quantity
from masthead.errors import SelectorError
from masthead_server.clock import stamp
from masthead_server.wire.failures import StatusFailure, bad_request, not_found
from masthead_server.wire.request import ApiResponse, json_response, status_response

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from masthead_server.cluster import ClusterState
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.request import ApiRequest

__all__ = ["aggregated_group", "group", "respond"]

_GROUP: Final = "metrics.k8s.io"
_VERSION: Final = "v1beta1"
_API: Final = f"{_GROUP}/{_VERSION}"
_KINDS: Final = {"nodes": "NodeMetrics", "pods": "PodMetrics"}
_VERBS: Final = ["get", "list"]
_WINDOW: Final = "15s"
"""The time over which every sample counts as measured."""


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}


class _Container(msgspec.Struct, rename="camel"):
    name: str = ""
    restart_policy: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""
    containers: list[_Container] = []
    init_containers: list[_Container] = []


class _Status(msgspec.Struct):
    phase: str = ""


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class _Node(msgspec.Struct):
    metadata: _Metadata


_decode_pod = typeinfo.json_decoder(_Pod).decode
_decode_node = typeinfo.json_decoder(_Node).decode


def group() -> Plain:
    """Describe the group for the list of groups."""
    version = {"groupVersion": _API, "version": _VERSION}
    return {"name": _GROUP, "versions": [version], "preferredVersion": version}


def aggregated_group() -> Plain:
    """Describe the group for aggregated discovery."""
    resources = [
        {
            "resource": name,
            "responseKind": {"group": "", "version": "", "kind": kind},
            "scope": "Namespaced" if name == "pods" else "Cluster",
            "singularResource": "",
            "verbs": _VERBS,
        }
        for name, kind in _KINDS.items()
    ]
    versions = [{"version": _VERSION, "resources": resources, "freshness": "Current"}]
    return {"metadata": {"name": _GROUP}, "versions": versions}


def respond(cluster: ClusterState, request: ApiRequest) -> ApiResponse | None:
    """Respond to a GET below the path of the group; None if there is no such path."""
    match request.path.strip("/").split("/")[2:]:
        case []:
            return json_response(200, {"kind": "APIGroup", "apiVersion": "v1", **group()})
        case ["v1beta1"]:
            return json_response(200, _resource_list())
        case ["v1beta1", "nodes"]:
            return _list("NodeMetricsList", request, _node_metrics(cluster))
        case ["v1beta1", "nodes", name]:
            return _get("nodes", name, _node_metrics(cluster))
        case ["v1beta1", "pods"]:
            return _list("PodMetricsList", request, _pod_metrics(cluster, ""))
        case ["v1beta1", "namespaces", namespace, "pods"]:
            return _list("PodMetricsList", request, _pod_metrics(cluster, namespace))
        case ["v1beta1", "namespaces", namespace, "pods", name]:
            return _get("pods", name, _pod_metrics(cluster, namespace))
        case _:
            return None


def _resource_list() -> Plain:
    resources = [
        {"name": name, "singularName": "", "namespaced": name == "pods", "kind": kind, "verbs": _VERBS}
        for name, kind in _KINDS.items()
    ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": _API, "resources": resources}


def _list(kind: str, request: ApiRequest, found: Iterable[Plain]) -> ApiResponse:
    try:
        selector = parse(request.first("labelSelector"))
    except SelectorError as error:
        return status_response(bad_request(str(error)))
    chosen = [item for item in found if selector.matches(item["metadata"].get("labels", {}))]
    return json_response(200, {"kind": kind, "apiVersion": _API, "metadata": {}, "items": chosen})


def _get(resource: str, name: str, found: Iterable[Plain]) -> ApiResponse:
    for item in found:
        if item["metadata"]["name"] == name:
            return json_response(200, {"kind": _KINDS[resource], "apiVersion": _API, **item})
    failure: StatusFailure = not_found(_GROUP, resource, name)
    return status_response(failure)


def _pod_metrics(cluster: ClusterState, namespace: str) -> Iterator[Plain]:
    for pod, usage in _measured(cluster, namespace):
        containers = [{"name": name, "usage": _written(of_container)} for name, of_container in usage.items()]
        yield {**_head(cluster, pod.metadata), "containers": containers}


def _node_metrics(cluster: ClusterState) -> Iterator[Plain]:
    sums: defaultdict[str, dict[str, Quantity]] = defaultdict(dict)
    for pod, usage in _measured(cluster, ""):
        for of_container in usage.values():
            of_node = sums[pod.spec.node_name]
            for resource, amount in of_container.items():
                of_node[resource] = of_node[resource] + amount if resource in of_node else amount
    storage = cluster.storage
    for record in storage.table("nodes").scan("", storage.revision):
        node = _decode_node(b"{" + record.value).metadata
        zero = {"cpu": Quantity("0"), "memory": Quantity("0")}
        yield {**_head(cluster, node), "usage": _written({**zero, **sums.get(node.name, {})})}


def _measured(cluster: ClusterState, namespace: str) -> Iterator[tuple[_Pod, dict[str, dict[str, Quantity]]]]:
    """The running pods with a usage."""
    storage = cluster.storage
    for record in storage.table("pods").scan(f"{namespace}/" if namespace else "", storage.revision):
        pod = _decode_pod(b"{" + record.value)
        if pod.status.phase != "Running":
            continue
        sidecars = [found.name for found in pod.spec.init_containers if found.restart_policy == "Always"]
        names = [*(found.name for found in pod.spec.containers), *sidecars]
        usage = cluster.metrics.usage_of(pod.metadata.namespace, pod.metadata.name, names)
        if usage:
            yield pod, usage


def _head(cluster: ClusterState, found: _Metadata) -> Plain:
    now = stamp(cluster.clock.now())
    meta: Plain = {"name": found.name, "creationTimestamp": now}
    if found.namespace:
        meta["namespace"] = found.namespace
    if found.labels:
        meta["labels"] = found.labels
    return {"metadata": meta, "timestamp": now, "window": _WINDOW}


def _written(usage: Mapping[str, Quantity]) -> dict[str, str]:
    return {resource: str(amount) for resource, amount in usage.items()}
