"""``run(like="kind")``: what suites written for kind find when they start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.server
from masthead.errors import ConfigError, ForbiddenError
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from masthead.server import Server

CONTROL_PLANE = "kind-control-plane"
SYSTEM = "kube-system"
STATIC = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with masthead.server.run(like="kind", seed=1) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[masthead.Client]:
    with masthead.Client(kubeconfig=server.kubeconfig()) as opened:
        yield opened


def pod_names(client: masthead.Client) -> list[str]:
    return [pod.metadata.name or "" for pod in client.core_v1.pods(SYSTEM).list()]


def test_the_only_node_is_a_control_plane_that_runs_everything(client: masthead.Client) -> None:
    (node,) = client.core_v1.nodes.list()
    assert node.metadata.name == CONTROL_PLANE
    assert (node.metadata.labels or {})["node-role.kubernetes.io/control-plane"] == ""
    assert node.spec is not None
    assert not node.spec.taints
    assert node.spec.provider_id == "kind://docker/kind/kind-control-plane"


def test_all_pods_are_running_and_ready(client: masthead.Client) -> None:
    pods = [*client.core_v1.pods(SYSTEM).list(), *client.core_v1.pods("local-path-storage").list()]
    assert len(pods) == 9
    for pod in pods:
        assert pod.status is not None
        assert pod.status.phase == "Running", pod.metadata.name
        ready = [condition.status for condition in pod.status.conditions or () if condition.type == "Ready"]
        assert ready == ["True"], pod.metadata.name


def test_static_pods_belong_to_their_node(client: masthead.Client) -> None:
    node = client.core_v1.nodes.get(CONTROL_PLANE)
    for component in STATIC:
        pod = client.core_v1.pods(SYSTEM).get(f"{component}-{CONTROL_PLANE}")
        assert (pod.metadata.labels or {}) == {"component": component, "tier": "control-plane"}
        annotations = pod.metadata.annotations or {}
        assert annotations["kubernetes.io/config.source"] == "file"
        assert annotations["kubernetes.io/config.mirror"] == annotations["kubernetes.io/config.hash"]
        assert [owner.uid for owner in pod.metadata.owner_references or ()] == [node.metadata.uid]


@pytest.mark.slow
def test_a_deleted_static_pod_is_back() -> None:
    with masthead.server.run(like="kind") as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
        name = f"etcd-{CONTROL_PLANE}"
        before = client.core_v1.pods(SYSTEM).get(name)
        client.core_v1.pods(SYSTEM).delete(name, grace_period_seconds=0)
        server.block_until_idle()
        after = client.core_v1.pods(SYSTEM).get(name)
        assert after.metadata.uid != before.metadata.uid
        assert after.status is not None
        assert after.status.phase == "Running"


def test_dns_has_its_service_with_endpoints(server: Server, client: masthead.Client) -> None:
    server.block_until_idle()
    service = client.core_v1.services(SYSTEM).get("kube-dns")
    assert service.spec is not None
    assert service.spec.cluster_ip == "10.96.0.10"
    (endpoints,) = client.discovery_v1.endpoint_slices(SYSTEM).list()
    assert len(endpoints.endpoints or ()) == 2
    kubernetes = client.core_v1.services("default").get("kubernetes")
    assert kubernetes.spec is not None
    assert kubernetes.spec.cluster_ip == "10.96.0.1"


def test_the_configuration_of_kubeadm_is_there(client: masthead.Client) -> None:
    maps = {found.metadata.name: found.data or {} for found in client.core_v1.config_maps(SYSTEM).list()}
    assert {"coredns", "kube-proxy", "kubeadm-config", "kubelet-config"} <= maps.keys()
    assert "clusterName: kind" in maps["kubeadm-config"]["ClusterConfiguration"]
    assert "BEGIN CERTIFICATE" in maps["extension-apiserver-authentication"]["client-ca-file"]
    info = client.core_v1.config_maps("kube-public").get("cluster-info")
    assert "certificate-authority-data" in (info.data or {})["kubeconfig"]


def test_the_kubeconfig_has_a_certificate_and_the_names_of_kind(server: Server) -> None:
    text = server.kubeconfig()
    assert "current-context: kind-kind" in text
    assert "client-certificate-data" in text
    assert "token" not in text


def test_roles_decide(server: Server, client: masthead.Client) -> None:
    token = client.core_v1.service_accounts("default").create_token("default").status
    assert token is not None
    with masthead.Client(kubeconfig=server.kubeconfig(token.token)) as limited, pytest.raises(ForbiddenError):
        limited.core_v1.secrets(SYSTEM).list()


def test_a_claim_gets_a_volume_on_the_node_of_its_pod(server: Server, client: masthead.Client) -> None:
    claims, pods = client.core_v1.persistent_volume_claims("default"), client.core_v1.pods("default")
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    created = claims.create({"metadata": {"name": "data"}, "spec": spec})
    assert created.spec is not None
    assert created.spec.storage_class_name == "standard"
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    container = {"name": "web", "image": "nginx"}
    pods.create({"metadata": {"name": "web"}, "spec": {"containers": [container], "volumes": [volume]}})
    server.block_until_idle()
    claim = claims.get("data")
    assert claim.status is not None
    assert claim.status.phase == "Bound"
    assert claim.spec is not None
    bound = client.core_v1.persistent_volumes.get(claim.spec.volume_name or "")
    assert (bound.metadata.annotations or {})["pv.kubernetes.io/provisioned-by"] == "rancher.io/local-path"


def test_leases_of_the_control_plane_are_renewed() -> None:
    clock = VirtualClock()
    with (
        masthead.server.run(like="kind", clock=clock) as server,
        masthead.Client(kubeconfig=server.kubeconfig()) as client,
    ):
        leases = client.coordination_v1.leases(SYSTEM)
        before = leases.get("kube-scheduler").spec
        server.advance(30)
        after = leases.get("kube-scheduler").spec
    assert before is not None
    assert after is not None
    assert before.renew_time is not None
    assert after.renew_time is not None
    assert (after.renew_time - before.renew_time).total_seconds() == 30


@pytest.mark.slow
def test_a_node_renews_its_lease_until_it_fails() -> None:
    with (
        masthead.server.run(like="kind", clock=VirtualClock) as server,
        masthead.Client(kubeconfig=server.kubeconfig()) as client,
    ):
        leases = client.coordination_v1.leases("kube-node-lease")
        renewals = []
        for step in range(3):
            if step == 2:
                server.kubelet.nodes.fail(CONTROL_PLANE)
            server.advance(20)
            lease = leases.get(CONTROL_PLANE).spec
            assert lease is not None
            assert lease.holder_identity == CONTROL_PLANE
            renewals.append(lease.renew_time)
        assert renewals[0] != renewals[1]
        assert renewals[1] == renewals[2]


@pytest.mark.slow
def test_after_a_restart_the_cluster_is_the_same(tmp_path: Path) -> None:
    data = tmp_path / "cluster.db"
    with masthead.server.run(like="kind", data=data) as server:
        server.block_until_idle()
        before = server.dump()
        config = server.kubeconfig()
        port = int(server.url.rpartition(":")[2])
        with masthead.Client(kubeconfig=config) as client:
            client.core_v1.config_maps(SYSTEM).delete("coredns")
    with masthead.server.run(like="kind", data=data, port=port) as server:
        server.block_until_idle()
        after = server.dump()
        with masthead.Client(kubeconfig=config) as client:
            assert client.core_v1.config_maps(SYSTEM).get("coredns").data
    assert before.keys() == after.keys()
    for resource, objects in before.items():
        assert objects.keys() == after[resource].keys(), resource


@pytest.mark.slow
def test_workers_take_the_pods_that_the_control_plane_refuses() -> None:
    with (
        masthead.server.run(like="kind", nodes=3) as server,
        masthead.Client(kubeconfig=server.kubeconfig()) as client,
    ):
        names = [node.metadata.name for node in client.core_v1.nodes.list()]
        assert names == [CONTROL_PLANE, "kind-worker", "kind-worker2"]
        taints = client.core_v1.nodes.get(CONTROL_PLANE).spec
        assert taints is not None
        assert [taint.effect for taint in taints.taints or ()] == ["NoSchedule"]
        client.core_v1.pods("default").create(
            {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}
        )
        server.block_until_idle()
        web = client.core_v1.pods("default").get("web")
        assert web.spec is not None
        assert web.spec.node_name in {"kind-worker", "kind-worker2"}
        proxies = client.core_v1.pods(SYSTEM).list(label_selector="k8s-app=kube-proxy")
        assert sorted(pod.spec.node_name or "" for pod in proxies) == names


def test_without_the_profile_there_is_nothing_of_it() -> None:
    with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
        assert pod_names(client) == []
        assert list(client.core_v1.nodes.list()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"like": "minikube"}, "there is no profile 'minikube'; there are kind"),
        ({"like": "kind", "controllers": False}, r"cannot start with controllers=False \(--no-controllers\)"),
        ({"like": "kind", "bootstrap": False}, r"cannot start with bootstrap=False \(--no-bootstrap\)"),
        ({"like": "kind", "kubelet": False}, r"cannot start with kubelet=False \(--no-kubelet\)"),
        ({"like": "kind", "workloads": False}, r"cannot start with workloads=False \(--no-workloads\)"),
        ({"like": "kind", "nodes": 0}, "has at least one node, not 0"),
        ({"like": 1}, "like must be the name of a profile, such as 'kind', not 1"),
    ],
)
def test_a_profile_that_cannot_be_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message), masthead.server.run(**arguments):  # type: ignore[arg-type]
        pass
