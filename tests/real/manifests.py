"""Manifests that tests apply on both servers."""

from __future__ import annotations

from typing import Any

Plain = dict[str, Any]


def config_map(name: str = "settings", labels: dict[str, str] | None = None, **data: str) -> Plain:
    metadata = {"name": name, "labels": labels} if labels else {"name": name}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def deployment(image: str = "web:1", replicas: int | None = 2, **container: object) -> Plain:
    main = {"name": "main", "image": image, "ports": [{"containerPort": 80}], **container}
    spec: Plain = {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [main]}},
    }
    if replicas is not None:
        spec["replicas"] = replicas
    metadata = {"name": "web", "labels": {"app": "web"}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def service(*ports: int) -> Plain:
    named = [{"name": f"port-{port}", "port": port} for port in ports]
    spec = {"selector": {"app": "web"}, "ports": named}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec}


def listed(*items: Plain) -> Plain:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}
