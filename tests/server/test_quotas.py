"""Quotas of the embedded server with its controller, which keeps their status current."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MAPS, MERGE_PATCH, PODS, Caller, config_map
from tests.server.custom_definitions import DEFINITIONS
from tests.server.quiet_cluster import QuietCluster, pod

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from pathlib import Path

QUOTAS = "/api/v1/namespaces/default/resourcequotas"


def quota(name: str = "q", /, scopes: list[str] | None = None, **hard: str) -> Any:
    names = {key.replace("__", "/").replace("_", "."): value for key, value in hard.items()}
    return {"metadata": {"name": name}, "spec": {"hard": names, **({"scopes": scopes} if scopes else {})}}


def status(cluster: QuietCluster, name: str = "q") -> Any:
    return cluster.call("GET", f"{QUOTAS}/{name}").get("status")


def used(cluster: QuietCluster, name: str = "q") -> Any:
    return status(cluster, name)["used"]


def sized(name: str, cpu: str, **spec: Any) -> Any:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}}
    return pod(name, containers=[container], **spec)


def test_a_new_quota_counts_what_is_there(cluster: QuietCluster) -> None:
    cluster.create("a")
    cluster.call("POST", PODS, sized("p", "500m"))

    cluster.call("POST", QUOTAS, quota(configmaps="5", requests_cpu="1", pods="5", secrets="1"))

    assert status(cluster) == {
        "hard": {"configmaps": "5", "pods": "5", "requests.cpu": "1", "secrets": "1"},
        "used": {"configmaps": "1", "pods": "1", "requests.cpu": "500m", "secrets": "0"},
    }


def test_what_does_not_fit_is_refused(cluster: QuietCluster) -> None:
    cluster.call("POST", QUOTAS, quota(configmaps="1"))
    cluster.create("a")

    response = cluster.caller.call("POST", MAPS, config_map("b"))

    message = (
        'configmaps "b" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=1, '
        "limited: configmaps=1"
    )
    assert response.failure == (403, "Forbidden", message)


def test_a_deletion_makes_room(cluster: QuietCluster) -> None:
    cluster.call("POST", QUOTAS, quota(configmaps="1"))
    cluster.create("a")
    cluster.delete("a")
    assert used(cluster) == {"configmaps": "0"}
    cluster.create("b")
    assert used(cluster) == {"configmaps": "1"}


def test_a_pod_that_has_ended_makes_room(cluster: QuietCluster) -> None:
    cluster.call("POST", QUOTAS, quota(pods="1", count__pods="9", cpu="1"))
    cluster.call("POST", PODS, sized("a", "1"))
    cluster.call("PATCH", f"{PODS}/a/status", {"status": {"phase": "Succeeded"}}, content_type=MERGE_PATCH)
    assert used(cluster) == {"count/pods": "1", "cpu": "0", "pods": "0"}
    cluster.call("POST", PODS, sized("b", "1"))


def test_a_pod_whose_deletion_hangs_makes_room_after_its_grace_period(cluster: QuietCluster) -> None:
    cluster.call("POST", QUOTAS, quota(pods="1"))
    held = sized("a", "1")
    held["metadata"]["finalizers"] = ["example.com/one"]
    cluster.call("POST", PODS, held)
    cluster.call("DELETE", f"{PODS}/a?gracePeriodSeconds=30")
    assert used(cluster) == {"pods": "1"}

    # The deletion timestamp is 30 seconds away, and the pod has as long again.
    cluster.server.advance(120)
    cluster.server.block_until_idle()

    assert used(cluster) == {"pods": "0"}


def test_a_changed_quota_is_measured_again(cluster: QuietCluster) -> None:
    cluster.create("a")
    cluster.call("POST", QUOTAS, quota(configmaps="1"))
    hard = {"configmaps": "3", "secrets": "1"}
    cluster.call("PATCH", f"{QUOTAS}/q", {"spec": {"hard": hard}}, content_type=MERGE_PATCH)
    assert status(cluster) == {"hard": hard, "used": {"configmaps": "1", "secrets": "0"}}

    cluster.call("PATCH", f"{QUOTAS}/q", {"spec": {"hard": {"secrets": None}}}, content_type=MERGE_PATCH)
    assert status(cluster) == {"hard": {"configmaps": "3"}, "used": {"configmaps": "1"}}


def test_a_create_that_fails_after_it_was_charged_gives_back_the_charge(cluster: QuietCluster) -> None:
    cluster.call("POST", QUOTAS, quota(configmaps="5"))
    cluster.create("a")

    assert cluster.caller.call("POST", MAPS, config_map("a")).code == 409
    cluster.server.block_until_idle()

    assert used(cluster) == {"configmaps": "1"}


def test_a_status_written_by_hand_is_corrected(cluster: QuietCluster) -> None:
    cluster.call("POST", QUOTAS, quota(configmaps="5"))
    wrong = {"status": {"hard": {"configmaps": "9"}, "used": {"configmaps": "7"}}}
    cluster.call("PATCH", f"{QUOTAS}/q/status", wrong, content_type=MERGE_PATCH)
    assert status(cluster) == {"hard": {"configmaps": "5"}, "used": {"configmaps": "0"}}


def test_a_dry_run_is_not_charged(cluster: QuietCluster) -> None:
    cluster.call("POST", QUOTAS, quota(configmaps="1"))
    cluster.call("POST", f"{MAPS}?dryRun=All", config_map("a"))
    assert used(cluster) == {"configmaps": "0"}


def test_quotas_count_themselves(cluster: QuietCluster) -> None:
    cluster.call("POST", QUOTAS, quota("first", resourcequotas="2"))
    cluster.call("POST", QUOTAS, quota("second", pods="1"))
    assert used(cluster, "first") == {"resourcequotas": "2"}
    assert cluster.caller.call("POST", QUOTAS, quota("third", pods="1")).code == 403


def test_a_deleted_quota_has_no_effect(cluster: QuietCluster) -> None:
    cluster.call("POST", QUOTAS, quota(configmaps="0"))
    cluster.call("DELETE", f"{QUOTAS}/q")
    cluster.create("a")


def test_the_count_of_a_custom_resource_is_known_once_it_is_defined(cluster: QuietCluster) -> None:
    cluster.call("POST", QUOTAS, quota(count__widgets_example_com="1"))
    assert used(cluster) == {}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    definition = {
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    cluster.call("POST", DEFINITIONS, definition)
    assert used(cluster) == {"count/widgets.example.com": "0"}

    widgets = "/apis/example.com/v1/namespaces/default/widgets"
    widget = {"apiVersion": "example.com/v1", "kind": "Widget"}
    cluster.call("POST", widgets, {**widget, "metadata": {"name": "a"}})
    assert used(cluster) == {"count/widgets.example.com": "1"}
    assert cluster.caller.call("POST", widgets, {**widget, "metadata": {"name": "b"}}).code == 403


def test_a_scope_counts_only_the_pods_in_it(cluster: QuietCluster) -> None:
    cluster.call("POST", QUOTAS, quota(scopes=["BestEffort"], pods="1"))
    cluster.call("POST", PODS, pod("a"))
    cluster.call("POST", PODS, sized("b", "1"))
    assert cluster.caller.call("POST", PODS, pod("c")).code == 403
    assert used(cluster) == {"pods": "1"}


def test_workloads_report_refused_pods_and_create_them_when_there_is_room() -> None:
    clock = VirtualClock()
    with masthead.server.run(clock=clock, token=None, bootstrap=False, workloads=True) as server:
        cluster = QuietCluster(server)
        cluster.call("POST", QUOTAS, quota(pods="1"))
        sets = "/apis/apps/v1/namespaces/default/replicasets"
        cluster.call("POST", "/apis/apps/v1/namespaces/default/deployments", workload("web"))
        cluster.call("POST", "/apis/apps/v1/namespaces/default/statefulsets", workload("data", serviceName="data"))

        (replica_set,) = cluster.call("GET", sets)["items"]
        (failure,) = replica_set["status"]["conditions"]
        assert (failure["type"], failure["reason"]) == ("ReplicaFailure", "FailedCreate")
        assert "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1" in failure["message"]
        deployment = cluster.call("GET", "/apis/apps/v1/namespaces/default/deployments/web")
        copied = [item for item in deployment["status"]["conditions"] if item["type"] == "ReplicaFailure"]
        assert [item["message"] for item in copied] == [failure["message"]]
        events = cluster.call("GET", "/api/v1/namespaces/default/events?fieldSelector=reason=FailedCreate")["items"]
        assert {event["involvedObject"]["kind"] for event in events} == {"ReplicaSet", "StatefulSet"}

        cluster.call("PATCH", f"{QUOTAS}/q", {"spec": {"hard": {"pods": "3"}}}, content_type=MERGE_PATCH)
        server.advance(60)
        server.block_until_idle()

        assert len(cluster.call("GET", PODS)["items"]) == 3
        (replica_set,) = cluster.call("GET", sets)["items"]
        assert "conditions" not in replica_set["status"]
        cluster.caller.close()


def workload(name: str, **spec: Any) -> Any:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": 2 if name == "web" else 1,
            "selector": {"matchLabels": labels},
            "template": template,
            **spec,
        },
    }


@pytest.mark.parametrize("switch", [{"controllers": False}, {"controllers": ["namespaces"]}], ids=["none", "others"])
def test_without_the_controller_a_new_quota_has_no_effect(switch: dict[str, Any]) -> None:
    with masthead.server.run(token=None, **switch) as server:
        caller = Caller(server.url)
        caller.call("POST", QUOTAS, quota(configmaps="0"))
        assert caller.call("POST", MAPS, config_map("a")).code == 201
        caller.close()


@pytest.mark.slow
def test_usage_is_current_after_a_restart(tmp_path: Path) -> None:
    data = tmp_path / "data.db"
    with masthead.server.run(data=data, token=None) as server:
        caller = Caller(server.url)
        caller.call("POST", QUOTAS, quota(services="2"))
        caller.close()
    with masthead.server.run(data=data, token=None, controllers=False) as server:
        caller = Caller(server.url)
        caller.call("POST", "/api/v1/namespaces/default/services", service("a"))
        caller.call("DELETE", "/api/v1/namespaces/default/services/a")
        # The service of the server itself counts, and nothing releases a deleted one.
        assert caller.call("GET", f"{QUOTAS}/q").json["status"]["used"] == {"services": "2"}
        caller.close()
    with masthead.server.run(data=data, token=None) as server:
        caller = Caller(server.url)
        server.block_until_idle()
        assert caller.call("GET", f"{QUOTAS}/q").json["status"]["used"] == {"services": "1"}
        caller.close()


def service(name: str) -> Any:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}
