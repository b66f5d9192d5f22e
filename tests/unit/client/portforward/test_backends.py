from __future__ import annotations

import msgspec
import pytest

from masthead._client.portforward.backends import (
    Backend,
    PodState,
    can_forward,
    choose_pod,
    container_port,
    selector_of,
    target_port,
)
from masthead._meta.gvk import GroupVersionKind
from masthead.errors import PortForwardError


def pod(
    name: str,
    *,
    phase: str = "Running",
    ready: bool = True,
    created: str = "2026-01-01T00:00:00Z",
    deleted: str | None = None,
    ports: list[dict[str, object]] | None = None,
    init_ports: list[dict[str, object]] | None = None,
) -> PodState:
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": "shop",
                "uid": name,
                "creationTimestamp": created,
                "deletionTimestamp": deleted,
            },
            "spec": {"containers": [{"ports": ports}], "initContainers": [{"ports": init_ports}]},
            "status": {
                "phase": phase,
                "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            },
        },
        PodState,
    )


def backend(**spec: object) -> Backend:
    return msgspec.convert({"metadata": {"name": "web", "namespace": "shop"}, "spec": spec}, Backend)


def test_a_pod_that_is_ready_and_stays_is_chosen_and_the_newest_of_those() -> None:
    pods = [
        pod("pending", phase="Pending"),
        pod("leaving", created="2026-01-05T00:00:00Z", deleted="2026-01-06T00:00:00Z"),
        pod("not-ready", ready=False, created="2026-01-04T00:00:00Z"),
        pod("older", created="2026-01-02T00:00:00Z"),
        pod("newer", created="2026-01-03T00:00:00Z"),
    ]
    chosen = []
    while len(pods) > 1:
        best = choose_pod(pods, "services shop/web")
        chosen.append(best.metadata.name)
        pods.remove(best)
    assert chosen == ["newer", "older", "not-ready", "leaving"]


def test_without_a_running_pod_there_is_nothing_to_forward_to() -> None:
    with pytest.raises(PortForwardError, match=r"services shop/web: it has no pods; wait until one runs"):
        choose_pod([], "services shop/web")
    with pytest.raises(PortForwardError, match=r"none of its 2 pods runs \(Failed, Pending\)"):
        choose_pod([pod("a", phase="Pending"), pod("b", phase="Failed")], "services shop/web")


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"app": "web", "tier": "front"}, "app=web,tier=front"),
        ({"matchLabels": {"app": "web"}}, "app=web"),
        (
            {
                "matchLabels": {"app": "web"},
                "matchExpressions": [
                    {"key": "tier", "operator": "In", "values": ["a", "b"]},
                    {"key": "env", "operator": "NotIn", "values": ["dev"]},
                    {"key": "live", "operator": "Exists"},
                    {"key": "old", "operator": "DoesNotExist"},
                ],
            },
            "app=web,tier in (a,b),env notin (dev),live,!old",
        ),
    ],
)
def test_the_selector_of_a_service_or_workload(selector: dict[str, object], expected: str) -> None:
    assert selector_of(backend(selector=selector), "x") == expected


@pytest.mark.parametrize("selector", [None, {}])
def test_a_service_without_selector_has_no_pods(selector: dict[str, object] | None) -> None:
    with pytest.raises(PortForwardError, match=r"services shop/web: it has no selector"):
        selector_of(backend(selector=selector), "services shop/web")


def test_a_number_need_not_be_declared_and_a_name_has_to_be() -> None:
    one = pod(
        "web",
        ports=[{"containerPort": 80, "name": "http"}],
        init_ports=[{"containerPort": 90, "name": "setup"}],
    )
    assert container_port(one, 8080, "x") == 8080
    assert container_port(one, "http", "x") == 80
    assert container_port(one, "setup", "x") == 90
    with pytest.raises(PortForwardError, match=r"pod shop/web has no port named 'https' \(named ports: http, setup\)"):
        container_port(one, "https", "pods shop/web")


def test_a_port_for_udp_alone_cannot_be_forwarded() -> None:
    dns = [{"containerPort": 53, "name": "dns", "protocol": "UDP"}]
    for port in (53, "dns"):
        with pytest.raises(PortForwardError, match="is one for UDP, which cannot be forwarded"):
            container_port(pod("dns", ports=dns), port, "x")
    both = [*dns, {"containerPort": 53, "name": "dns-tcp", "protocol": "TCP"}]
    assert container_port(pod("dns", ports=both), 53, "x") == 53
    with pytest.raises(PortForwardError, match="UDP"):
        target_port(backend(ports=[{"port": 53, "protocol": "UDP"}]), pod("dns"), 53, "x")


def test_a_port_of_a_service_is_translated() -> None:
    service = backend(
        clusterIP="10.0.0.1",
        ports=[
            {"port": 80, "name": "http", "targetPort": 8080},
            {"port": 443, "name": "https", "targetPort": "tls"},
            {"port": 5432},
        ],
    )
    one = pod("web", ports=[{"containerPort": 8443, "name": "tls"}])
    assert [target_port(service, one, each, "x") for each in (80, "http", 443, "https", 5432)] == [
        8080,
        8080,
        8443,
        8443,
        5432,
    ]
    with pytest.raises(
        PortForwardError, match=r"the service has no port 8080 \(ports: 80 \(http\), 443 \(https\), 5432\)"
    ):
        target_port(service, one, 8080, "services shop/web")


def test_a_headless_service_leads_to_the_ports_of_its_pods() -> None:
    service = backend(clusterIP="None", ports=[{"port": 80, "targetPort": 8080}])
    assert target_port(service, pod("web"), 80, "x") == 80


@pytest.mark.parametrize(
    ("group", "kind", "expected"),
    [
        ("", "Service", True),
        ("apps", "Deployment", True),
        ("batch", "Job", True),
        ("", "ReplicationController", True),
        ("serving.knative.dev", "Service", False),
        ("", "ConfigMap", False),
        ("", "Pod", False),
    ],
)
def test_kinds_that_lead_to_pods(group: str, kind: str, expected: bool) -> None:
    assert can_forward(GroupVersionKind(group, "v1", kind)) is expected
