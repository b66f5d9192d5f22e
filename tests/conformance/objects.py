"""Manifests that cases send, as small as the server takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.conformance.api import Plain


def metadata(
    name: str = "",
    *,
    version: str = "",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    finalizers: list[str] | None = None,
    **more: Any,
) -> Plain:
    """Metadata with what is not empty."""
    fields = {
        "name": name,
        "resourceVersion": version,
        "labels": labels,
        "annotations": annotations,
        "finalizers": finalizers,
        **more,
    }
    return {key: value for key, value in fields.items() if value not in ("", None)}


def config_map(name: str = "", *, data: dict[str, str] | None = None, **meta: Any) -> Plain:
    made: Plain = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(name, **meta)}
    return made if data is None else {**made, "data": data}


def pod_spec() -> Plain:
    return {"containers": [{"name": "main", "image": "image"}]}


def template() -> Plain:
    return {"metadata": {"labels": {"app": "a"}}, "spec": pod_spec()}


def pod(name: str = "", *, spec: Plain | None = None, **meta: Any) -> Plain:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(name, **meta),
        "spec": {**pod_spec(), **(spec or {})},
    }


def workload(kind: str, name: str = "", *, replicas: int | None = None, **meta: Any) -> Plain:
    """A Deployment, a ReplicaSet, a StatefulSet or a DaemonSet."""
    spec: Plain = {"selector": {"matchLabels": {"app": "a"}}, "template": template()}
    if replicas is not None:
        spec["replicas"] = replicas
    if kind == "StatefulSet":
        spec["serviceName"] = "a"
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata(name, **meta), "spec": spec}


def deployment(name: str = "", *, replicas: int | None = None, **meta: Any) -> Plain:
    return workload("Deployment", name, replicas=replicas, **meta)


def job(name: str = "", **meta: Any) -> Plain:
    spec = {"template": {"spec": {**pod_spec(), "restartPolicy": "Never"}}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata(name, **meta), "spec": spec}


def service(name: str = "", *, spec: Plain | None = None, **meta: Any) -> Plain:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(name, **meta),
        "spec": {"ports": [{"port": 80}], **(spec or {})},
    }


def named(api_version: str, kind: str, name: str = "", **fields: object) -> Plain:
    """Any object, with its metadata's name and what else it has at the top."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def namespace(name: str, **meta: Any) -> Plain:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(name, **meta)}
