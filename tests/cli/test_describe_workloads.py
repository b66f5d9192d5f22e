"""``masthead describe`` of what selects pods, on a server whose workloads have pods that run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import Ran

    from masthead.server import Server

    Cli = Callable[..., Ran]

MANIFESTS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: front, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: front}}
  template:
    metadata: {labels: {app: front}}
    spec: {containers: [{name: main, image: nginx}]}
---
apiVersion: v1
kind: Service
metadata: {name: front, namespace: default}
spec: {selector: {app: front}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: lonely, namespace: default}
spec: {selector: {app: nothing}, ports: [{port: 80}]}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with (
        masthead.server.run(workloads=True, kubelet=True) as running,
        masthead.Client(kubeconfig=running.kubeconfig()) as client,
    ):
        client.apply_manifests(MANIFESTS, field_manager="test")
        client.wait_for_manifests(MANIFESTS, masthead.conditions.ready(), timeout=60)
        yield running


@pytest.mark.parametrize(
    ("reference", "title"),
    [
        ("deploy/front", "Pods\n"),
        ("replicasets", "Pods\n"),
        ("svc/front", "Pods\n  2 of 2 ready\n"),
    ],
)
def test_workloads_and_services_list_the_pods_that_they_select(cli: Cli, reference: str, title: str) -> None:
    _, _, listed = cli(f"describe {reference}").out.partition(f"\n{title}")
    head, *rows = listed.splitlines()[:3]

    assert head.split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "NODE"]
    for row in rows:
        assert row.startswith("  front-")
        assert row.split()[1:4] == ["1/1", "Running", "0"]


def test_a_service_without_pods_says_so(cli: Cli) -> None:
    assert "\nPods\n  none: no pod has the labels app=nothing\n" in cli("describe svc/lonely").out


def test_the_pods_are_listed_in_one_request(cli: Cli, server: Server) -> None:
    before = len(server.requests)
    cli("describe deploy/front")

    paths = [request.path for request in server.requests[before:]]
    assert paths.count("/api/v1/namespaces/default/pods") == 1


def test_that_pods_may_not_be_listed_does_not_hide_the_object(cli: Cli, server: Server) -> None:
    server.faults.fail(403, verb="list", resource="pods", times=None)
    ran = cli("describe deploy/front")

    assert ran.code == 0
    assert "\nPods\n  not known: " in ran.out
