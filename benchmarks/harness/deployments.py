"""The work of apply: deployments of the benchmark's pod, as a client declares them, about 4 KB of JSON each."""

from __future__ import annotations

import functools
import json

from benchmarks.harness import pods


def new_deployment(namespace: str, name: str, serial: int) -> bytes:
    """Make a deployment; two of one name differ in their serial number, which is an annotation.

    Making many is cheap: the rest is written once.
    """
    return _new_deployment_in(namespace) % {b"name": name.encode(), b"serial": b"%08d" % serial}


def one_field(name: str, revisions: int) -> bytes:
    """What another manager declares of such a deployment: how many revisions are kept."""
    spec = {"revisionHistoryLimit": revisions}
    declared = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}
    return json.dumps(declared, separators=(",", ":")).encode()


@functools.cache
def _new_deployment_in(namespace: str) -> bytes:
    """The text of a new deployment with places for what differs."""
    pod = json.loads(pods.new_pod(namespace, "pod", 0))
    labels = pod["metadata"]["labels"]
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "\0name",
            "namespace": namespace,
            "labels": labels,
            "annotations": {"benchmark/serial": "\0serial"},
        },
        "spec": {
            "replicas": 3,
            "revisionHistoryLimit": 10,
            "selector": {"matchLabels": {"app": labels["app"]}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}},
            "template": {
                "metadata": {"labels": labels, "annotations": pod["metadata"]["annotations"]},
                "spec": pod["spec"],
            },
        },
    }
    text = json.dumps(deployment, separators=(",", ":")).replace("%", "%%")
    for place in ("name", "serial"):
        text = text.replace(f"\\u0000{place}", f"%({place})b")
    return text.encode()
