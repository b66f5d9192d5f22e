"""The official Python client at work: run by an interpreter that has it, against the server of a kubeconfig.

    python tests/real/official_client.py NAMESPACE

It prints what the server let it do, a line of JSON for each call.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def deployment(**spec: object) -> dict[str, object]:
    """A deployment of one container."""
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "web:1"}]},
    }
    all_of_it = {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": all_of_it}


def only(**spec: object) -> dict[str, object]:
    """Some fields of that deployment."""
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def dynamic_calls(resource: Any, namespace: str) -> list[Callable[[], object]]:
    """Calls of the dynamic client, in turn."""

    def apply(body: object, manager: str, **options: object) -> object:
        done: Any = resource.server_side_apply(
            name="web", namespace=namespace, body=body, field_manager=manager, **options
        )
        return done.to_dict()

    return [
        lambda: apply(deployment(replicas=1), "first"),
        lambda: apply(deployment(replicas=1), "first"),
        lambda: apply(only(replicas=2), "second"),
        lambda: apply(only(replicas=2), "second", force_conflicts=True),
        lambda: apply(deployment(), "first"),
        lambda: apply(deployment(minReadySeconds=5), "first", dry_run="All"),
        lambda: apply({**deployment(), "spam": 1}, "first"),
        lambda: apply(only(replicas="many"), "second"),
        lambda: resource.patch(
            name="web",
            namespace=namespace,
            body=only(paused=True),
            content_type="application/merge-patch+json",
        ).to_dict(),
        lambda: resource.get(name="web", namespace=namespace).to_dict(),
    ]


def typed_calls(apps: Any, namespace: str) -> list[Callable[[], object]]:
    """Calls of the typed client, in turn."""
    return [
        lambda: apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 4}}).to_dict(),
        lambda: apps.patch_namespaced_deployment(
            "web", namespace, {"metadata": {"labels": {"typed": "yes"}}}, field_manager="typed"
        ).to_dict(),
        lambda: apps.replace_namespaced_deployment(
            "web", namespace, apps.read_namespaced_deployment("web", namespace)
        ).to_dict(),
        lambda: apps.create_namespaced_deployment(namespace, deployment(), field_manager="typed").to_dict(),
    ]


def in_order(said: Any) -> object:
    """An object with its managers in the order of their names, and not of the seconds in which they wrote."""
    metadata = said["metadata"]
    for name in {"managedFields", "managed_fields"} & metadata.keys():
        entries = metadata[name] or []
        metadata[name] = sorted(entries, key=lambda each: (each["manager"], each["operation"]))
    return said


def main() -> None:
    """Make all calls."""
    client: Any = importlib.import_module("kubernetes.client")
    config: Any = importlib.import_module("kubernetes.config")
    dynamic: Any = importlib.import_module("kubernetes.dynamic")
    config.load_kube_config()
    namespace = sys.argv[1]
    with client.ApiClient() as connection:
        resources = dynamic.DynamicClient(connection).resources
        resource = resources.get(api_version="apps/v1", kind="Deployment")
        calls = dynamic_calls(resource, namespace) + typed_calls(client.AppsV1Api(connection), namespace)
        for call in calls:
            try:
                said = in_order(call())
            except client.ApiException as error:
                said = {"status": error.status, "body": json.loads(error.body)}
            print(json.dumps(said, default=str, sort_keys=True, indent=1))


if __name__ == "__main__":
    main()
