"""Definitions of custom resources for the tests of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.server.quiet_cluster import QuietCluster

Plain = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "example.com"
NAME = f"widgets.{GROUP}"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/widgets"
ANYTHING: Plain = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def version_of(name: str = "v1", schema: Plain | None = None, **more: Any) -> Plain:
    return {
        "name": name,
        "served": True,
        "storage": name == "v1",
        "schema": {"openAPIV3Schema": schema or ANYTHING},
        **more,
    }


def definition(*versions: Plain, plural: str = "widgets", kind: str = "Widget", **spec: Any) -> Plain:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": list(versions) or [version_of()],
            **spec,
        },
    }


def widget(name: str = "a", *, version: str = "v1", **fields: Any) -> Plain:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Widget", "metadata": metadata, **fields}


def define(cluster: QuietCluster, *versions: Plain, **more: Any) -> Plain:
    """Create a definition; returns it as it is once it is established."""
    made = cluster.call("POST", DEFINITIONS, definition(*versions, **more))
    found: Plain = cluster.call("GET", f"{DEFINITIONS}/{made['metadata']['name']}")
    return found
