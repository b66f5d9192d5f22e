"""Pods and deployments for the examples to find."""

from __future__ import annotations

from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import Pod


def new_pod(name: str, *, node: str = "", **spec: object) -> Pod:
    """A pod of one container, on a node or on none."""
    container = {"name": "app", "image": "nginx"}
    return Pod.new(name, labels={"app": name}, spec={"nodeName": node or None, "containers": [container], **spec})


def new_deployment(name: str, **pod_spec: object) -> Deployment:
    """A deployment of one replica."""
    labels = {"app": name}
    spec = {"containers": [{"name": "app", "image": "nginx"}], **pod_spec}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return Deployment.new(name, spec={"selector": {"matchLabels": labels}, "template": template})
