"""The Deployment of an operator, and its namespace."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from masthead._endpoint.bind_address import parse_bind_address
from masthead._scaffold.webhooks import CERTIFICATE_FOLDER
from masthead._webhook.configurations import PORT_NAME
from masthead._webhook.locations import service_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._scaffold.settings import Deploy

__all__ = ["workload_objects"]

_POD_SECURITY: Final = "pod-security.kubernetes.io/enforce"
_CERTIFICATE: Final = "webhook-certificate"
_DRAIN_SECONDS: Final = 5
_SPARE: Final = 5
"""Seconds between the end of the graceful stop and the kubelet's SIGKILL."""


def namespace_object(deploy: Deploy) -> dict[str, object]:
    """Return the namespace, with the restricted pod security standard."""
    labels = {**deploy.selector, _POD_SECURITY: "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": deploy.namespace, "labels": labels}}


def workload_objects(deploy: Deploy) -> Iterator[dict[str, object]]:
    """Yield the disruption budget of replicated webhooks, and the Deployment."""
    if deploy.serves_webhooks and deploy.count > 1:
        yield _disruption_budget(deploy)
    yield {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": deploy.metadata(deploy.namespace),
        "spec": {
            "replicas": deploy.count,
            # Two replicas without an election must not overlap, so the old pod stops before the new one starts.
            **({"strategy": {"type": "Recreate"}} if deploy.is_single else {}),
            "selector": {"matchLabels": deploy.selector},
            "template": {"metadata": {"labels": deploy.selector}, "spec": _pod(deploy)},
        },
    }


def _disruption_budget(deploy: Deploy) -> dict[str, object]:
    """Return the budget that lets a node drain evict the pods one after the other."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": deploy.metadata(deploy.namespace),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": deploy.selector}},
    }


def _pod(deploy: Deploy) -> dict[str, object]:
    return {
        "serviceAccountName": deploy.name,
        # Otherwise the kubelet would kill the process before its graceful stop ends.
        "terminationGracePeriodSeconds": math.ceil(deploy.options.graceful_timeout) + _SPARE + _drain_seconds(deploy),
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(deploy)],
        **_volumes(deploy),
    }


def _drain_seconds(deploy: Deploy) -> int:
    """Return the seconds that a stopping pod still serves webhooks, until no API server calls it any more."""
    return _DRAIN_SECONDS if deploy.serves_webhooks else 0


def _volumes(deploy: Deploy) -> dict[str, object]:
    if not deploy.uses_cert_manager or not deploy.serves_webhooks:
        return {}
    return {"volumes": [{"name": _CERTIFICATE, "secret": {"secretName": service_name(deploy.name)}}]}


def _container(deploy: Deploy) -> dict[str, object]:
    options = deploy.options
    ports = {"metrics": _port(options.metrics_bind), "probes": _port(options.probe_bind)}
    # The names of ports in a pod must differ, and equal addresses share one listener.
    if ports["metrics"] == ports["probes"]:
        del ports["metrics"]
    if deploy.serves_webhooks:
        ports[PORT_NAME] = _port(options.webhook_bind)
    listed = [{"name": name, "containerPort": port} for name, port in ports.items() if port]
    return {
        "name": "manager",
        "image": deploy.image,
        "args": ["run", deploy.target],
        "env": _environment(deploy),
        **({"ports": listed} if listed else {}),
        **(_probes() if ports["probes"] else {}),
        **_webhook_settings(deploy),
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }


def _webhook_settings(deploy: Deploy) -> dict[str, object]:
    if not deploy.serves_webhooks:
        return {}
    settings: dict[str, object] = {"lifecycle": {"preStop": {"sleep": {"seconds": _drain_seconds(deploy)}}}}
    if deploy.uses_cert_manager:
        settings["volumeMounts"] = [{"name": _CERTIFICATE, "mountPath": CERTIFICATE_FOLDER, "readOnly": True}]
    return settings


def _environment(deploy: Deploy) -> list[dict[str, object]]:
    """Return the environment variables of the container."""
    variables: list[dict[str, object]] = [
        {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}
    ]
    # Options in the code need no variable, and a variable would override later changes of the code.
    if deploy.options.namespaces != deploy.manager.options.namespaces:
        variables.append({"name": "MASTHEAD_NAMESPACE", "value": ",".join(deploy.options.namespaces) or "*"})
    if deploy.uses_cert_manager and deploy.serves_webhooks:
        variables.append({"name": "MASTHEAD_WEBHOOK_CERT_DIR", "value": CERTIFICATE_FOLDER})
    return variables


def _probes() -> dict[str, object]:
    def probe(path: str) -> dict[str, object]:
        return {"httpGet": {"path": path, "port": "probes"}}

    return {
        "livenessProbe": {**probe("/healthz"), "initialDelaySeconds": 15, "periodSeconds": 20},
        "readinessProbe": probe("/readyz"),
    }


def _port(address: str) -> int:
    parsed = parse_bind_address(address)
    # A port that is assigned at the start of the process is unknown here.
    return parsed.port if parsed is not None else 0
