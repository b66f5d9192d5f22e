"""What every cluster has: there at once, kept, and switchable."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MERGE_PATCH, Caller, config_map
from tests.server.quiet_cluster import QuietCluster

import masthead.server
from masthead.api.rbac.v1 import ClusterRole
from masthead.meta.v1 import ObjectMeta
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
ACCOUNTS = "/api/v1/namespaces/{}/serviceaccounts/default"
AUTHORITY = "/api/v1/namespaces/{}/configmaps/kube-root-ca.crt"
NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
SERVICE = "/api/v1/namespaces/default/services/kubernetes"
ENDPOINTS = "/api/v1/namespaces/default/endpoints/kubernetes"
SLICE = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
RESTORED = (
    SERVICE,
    ENDPOINTS,
    SLICE,
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/catch-all",
    "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/exempt",
)


@pytest.fixture
def cluster() -> Iterator[QuietCluster]:
    with masthead.server.run(clock=VirtualClock, token=None) as running:
        made = QuietCluster(running)
        yield made
        made.caller.close()


def names(cluster: QuietCluster, path: str) -> list[str]:
    return [each["metadata"]["name"] for each in cluster.call("GET", path)["items"]]


def test_the_service_leads_to_the_server(cluster: QuietCluster) -> None:
    port = cluster.caller.port

    assert cluster.call("GET", SERVICE)["spec"]["ports"][0]["targetPort"] == port
    assert cluster.call("GET", SERVICE)["spec"]["clusterIP"] == "10.0.0.1"
    assert cluster.call("GET", ENDPOINTS)["subsets"] == [
        {
            "addresses": [{"ip": cluster.caller.host}],
            "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
        }
    ]
    assert cluster.call("GET", SLICE)["endpoints"][0]["addresses"] == [cluster.caller.host]


def test_every_namespace_has_a_service_account_and_the_authority(cluster: QuietCluster) -> None:
    cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": "new"}})

    for namespace in (*NAMESPACES, "new"):
        assert cluster.is_there(ACCOUNTS.format(namespace))
        assert cluster.is_there(AUTHORITY.format(namespace))


def test_they_are_there_before_the_response_to_the_next_request(cluster: QuietCluster) -> None:
    cluster.caller.call("POST", "/api/v1/namespaces", {"metadata": {"name": "new"}})

    assert cluster.caller.call("GET", ACCOUNTS.format("new")).code == 200


def test_a_deleted_service_account_comes_back_as_another(cluster: QuietCluster) -> None:
    before = cluster.call("GET", ACCOUNTS.format("default"))["metadata"]["uid"]
    cluster.call("DELETE", ACCOUNTS.format("default"))

    assert cluster.call("GET", ACCOUNTS.format("default"))["metadata"]["uid"] != before


def test_the_authoritys_certificate_cannot_be_changed(cluster: QuietCluster) -> None:
    patch = {"data": {"ca.crt": "another", "more": "data"}}
    cluster.call("PATCH", AUTHORITY.format("default"), patch, content_type=MERGE_PATCH)

    assert cluster.call("GET", AUTHORITY.format("default"))["data"] == {"ca.crt": ""}


def test_a_terminating_namespace_gets_nothing_new(cluster: QuietCluster) -> None:
    cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": "going"}})
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.call("POST", "/api/v1/namespaces/going/configmaps", held)
    cluster.call("DELETE", "/api/v1/namespaces/going")

    assert names(cluster, "/api/v1/namespaces/going/configmaps") == ["held"]
    assert not cluster.is_there(ACCOUNTS.format("going"))


def test_a_namespace_is_deleted_with_what_it_got(cluster: QuietCluster) -> None:
    cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": "going"}})
    cluster.call("DELETE", "/api/v1/namespaces/going")

    assert not cluster.is_there("/api/v1/namespaces/going")


@pytest.mark.parametrize("path", RESTORED)
def test_what_a_running_server_restores_comes_back(cluster: QuietCluster, path: str) -> None:
    before = cluster.call("GET", path)
    cluster.call("DELETE", path)
    after = cluster.call("GET", path)

    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after.get("spec") == before.get("spec")


def test_a_restored_service_has_its_address_again(cluster: QuietCluster) -> None:
    cluster.call("DELETE", SERVICE)
    body = {"metadata": {"name": "other"}, "spec": {"ports": [{"port": 1}]}}
    other = cluster.call("POST", "/api/v1/namespaces/default/services", body)

    assert cluster.call("GET", SERVICE)["spec"]["clusterIP"] == "10.0.0.1"
    assert other["spec"]["clusterIP"] == "10.0.0.2"


def test_a_deleted_role_is_back_after_a_restart_and_a_changed_one_stays_changed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with masthead.server.run(token=None, data=data) as running:
        caller = Caller(running.url)
        caller.call("DELETE", f"{ROLES}/system:basic-user")
        assert caller.call("GET", f"{ROLES}/system:basic-user").code == 404
        caller.call("PATCH", f"{ROLES}/cluster-admin", {"rules": None}, content_type=MERGE_PATCH)
        caller.close()
    with masthead.server.run(token=None, data=data) as running:
        caller = Caller(running.url)
        assert caller.call("GET", f"{ROLES}/system:basic-user").code == 200
        assert not caller.call("GET", f"{ROLES}/cluster-admin").json["rules"]
        caller.close()


def test_after_a_restart_the_service_leads_to_the_new_port(tmp_path: Path) -> None:
    for _ in range(2):
        with masthead.server.run(token=None, data=tmp_path / "data") as running:
            caller = Caller(running.url)
            assert caller.call("GET", ENDPOINTS).json["subsets"][0]["ports"][0]["port"] == caller.port
            assert caller.call("GET", SERVICE).json["spec"]["ports"][0]["targetPort"] == caller.port
            caller.close()


def test_the_authority_of_a_server_with_tls_is_published() -> None:
    pytest.importorskip("trustme")
    with masthead.server.run(tls=True) as running, masthead.Client(kubeconfig=running.kubeconfig()) as client:
        published = client.core_v1.config_maps("default").get("kube-root-ca.crt")

        assert published.data["ca.crt"] == running.ca


def test_the_authority_is_published_where_pods_run_and_restored_when_it_is_emptied() -> None:
    pytest.importorskip("trustme")
    with masthead.server.run(kubelet=True) as running, masthead.Client(kubeconfig=running.kubeconfig()) as client:
        config_maps = client.core_v1.config_maps("default")
        published = config_maps.get("kube-root-ca.crt")
        assert published.data["ca.crt"] == running.ca

        published.data["ca.crt"] = ""
        config_maps.update(published)
        running.block_until_idle()
        assert config_maps.get("kube-root-ca.crt").data["ca.crt"] == running.ca


def rules(cluster: QuietCluster, name: str) -> list[Any]:
    found = cluster.call("GET", f"{ROLES}/{name}")["rules"]
    return found or []


def test_aggregated_roles_have_the_rules_of_what_they_select(cluster: QuietCluster) -> None:
    for rule in rules(cluster, "system:aggregate-to-view"):
        assert rule in rules(cluster, "view")
        assert rule in rules(cluster, "edit")
        assert rule in rules(cluster, "admin")


def test_the_controller_has_nothing_to_add_to_them(cluster: QuietCluster) -> None:
    history = cluster.server.history

    for name in ("admin", "edit", "view"):
        assert len(history(ClusterRole(metadata=ObjectMeta(name=name)))) == 1


def test_an_aggregated_role_follows_roles_that_come_change_and_go(cluster: QuietCluster) -> None:
    rule = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["widgets"]}
    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    cluster.call("POST", ROLES, {"metadata": {"name": "mine", "labels": labels}, "rules": [rule]})
    assert rule in rules(cluster, "admin")

    changed = {**rule, "verbs": ["list"]}
    cluster.call("PATCH", f"{ROLES}/mine", {"rules": [changed]}, content_type=MERGE_PATCH)
    assert rule not in rules(cluster, "admin")
    assert changed in rules(cluster, "admin")

    cluster.call("DELETE", f"{ROLES}/mine")
    assert changed not in rules(cluster, "admin")


def test_without_controllers_only_what_kube_apiserver_makes_is_there() -> None:
    with masthead.server.run(token=None, controllers=False) as running:
        caller = Caller(running.url)
        assert caller.call("GET", SERVICE).code == 200
        assert caller.call("GET", ACCOUNTS.format("default")).code == 404
        assert caller.call("GET", f"{ROLES}/admin").json["rules"]
        caller.close()


def test_it_can_be_switched_off() -> None:
    with masthead.server.run(token=None, bootstrap=False) as running:
        caller = Caller(running.url)
        caller.call("POST", "/api/v1/namespaces", {"metadata": {"name": "new"}})
        for path in (SERVICE, ACCOUNTS.format("new"), f"{ROLES}/admin"):
            assert caller.call("GET", path).code == 404
        assert len(caller.call("GET", "/api/v1/namespaces").json["items"]) == 5
        caller.close()


@pytest.mark.slow
def test_the_command_switches_it_off() -> None:
    command = [sys.executable, "-m", "masthead.server", "--no-auth", "--no-bootstrap"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        caller = Caller(process.stdout.readline().removeprefix("Serving on ").strip())
        code = caller.call("GET", SERVICE).code
        caller.close()
        process.terminate()

    assert code == 404
