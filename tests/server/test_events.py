"""The Events of workloads, and how long Events live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MERGE_PATCH
from tests.server.quiet_cluster import QuietCluster

import masthead.server
from masthead.api.core.v1 import Event
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

APPS = "/apis/apps/v1/namespaces/default"
CORE = "/api/v1/namespaces/default"
EVENTS = f"{CORE}/events"
LABELS = {"app": "web"}
HOUR = 3600


@pytest.fixture
def cluster() -> Iterator[QuietCluster]:
    with masthead.server.run(clock=VirtualClock, token=None, workloads=True, kubelet=True) as running:
        made = QuietCluster(running)
        yield made
        made.caller.close()


@pytest.fixture
def plain() -> Iterator[QuietCluster]:
    """A cluster without workloads, kubelet and other controllers."""
    with masthead.server.run(clock=VirtualClock, token=None, controllers=False) as running:
        made = QuietCluster(running)
        yield made
        made.caller.close()


def workload(replicas: int, image: str = "nginx:1", **spec: Any) -> Any:
    template = {
        "metadata": {"labels": LABELS},
        "spec": {"containers": [{"name": "web", "image": image}]},
    }
    body = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template, **spec}
    return {"metadata": {"name": "web"}, "spec": body}


def events(cluster: QuietCluster, kind: str) -> list[Any]:
    """The Events of objects of a kind, in the order in which they were first written."""
    found = cluster.call("GET", f"{EVENTS}?fieldSelector=involvedObject.kind={kind}")["items"]
    return sorted(found, key=lambda each: int(each["metadata"]["name"].rpartition(".")[2], 16))


def summary(cluster: QuietCluster, kind: str) -> list[tuple[str, str]]:
    return [(each["reason"], each["message"]) for each in events(cluster, kind)]


def names(cluster: QuietCluster, path: str) -> list[str]:
    return [each["metadata"]["name"] for each in cluster.call("GET", path)["items"]]


def event(name: str, **fields: Any) -> Any:
    reference = {"kind": "ConfigMap", "namespace": "default", "name": "a"}
    return {"metadata": {"name": name}, "involvedObject": reference, **fields}


def test_a_deployment_says_how_it_scales_its_replica_sets(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/deployments", workload(2))
    [old] = names(cluster, f"{APPS}/replicasets")

    cluster.call(
        "PATCH",
        f"{APPS}/deployments/web",
        {"spec": workload(2, "nginx:2")["spec"]},
        content_type=MERGE_PATCH,
    )

    [new] = set(names(cluster, f"{APPS}/replicasets")) - {old}
    assert summary(cluster, "Deployment") == [
        ("ScalingReplicaSet", f"Scaled up replica set {old} from 0 to 2"),
        ("ScalingReplicaSet", f"Scaled up replica set {new} from 0 to 1"),
        ("ScalingReplicaSet", f"Scaled down replica set {old} from 2 to 1"),
        ("ScalingReplicaSet", f"Scaled up replica set {new} from 1 to 2"),
        ("ScalingReplicaSet", f"Scaled down replica set {old} from 1 to 0"),
    ]


def test_an_event_of_a_controller_has_the_fields_of_a_real_one(cluster: QuietCluster) -> None:
    created = cluster.call("POST", f"{APPS}/deployments", workload(1))["metadata"]

    [found] = events(cluster, "Deployment")

    assert found["involvedObject"] == {
        "kind": "Deployment",
        "namespace": "default",
        "name": "web",
        "uid": created["uid"],
        "apiVersion": "apps/v1",
        "resourceVersion": created["resourceVersion"],
    }
    assert found["source"] == {"component": "deployment-controller"}
    assert (found["reportingComponent"], found["reportingInstance"]) == ("deployment-controller", "")
    assert (found["type"], found["count"], found["eventTime"]) == ("Normal", 1, None)
    [entry] = found["metadata"]["managedFields"]
    assert entry["manager"] == "kube-controller-manager"
    assert entry["fieldsV1"]["f:source"] == {"f:component": {}}
    assert "f:reportingInstance" not in entry["fieldsV1"]


@pytest.mark.parametrize(
    ("path", "kind", "component"),
    [
        (f"{APPS}/replicasets", "ReplicaSet", "replicaset-controller"),
        (f"{CORE}/replicationcontrollers", "ReplicationController", "replication-controller"),
    ],
)
def test_replica_controllers_say_which_pods_they_create_and_delete(
    cluster: QuietCluster, path: str, kind: str, component: str
) -> None:
    body = workload(1)
    if kind == "ReplicationController":
        body["spec"]["selector"] = LABELS
    cluster.call("POST", path, body)
    [pod] = names(cluster, f"{CORE}/pods")

    cluster.call("PATCH", f"{path}/web", {"spec": {"replicas": 0}}, content_type=MERGE_PATCH)

    assert summary(cluster, kind) == [
        ("SuccessfulCreate", f"Created pod: {pod}"),
        ("SuccessfulDelete", f"Deleted pod: {pod}"),
    ]
    assert {each["source"]["component"] for each in events(cluster, kind)} == {component}


def test_a_stateful_set_says_which_pods_and_claims_it_creates_and_deletes(cluster: QuietCluster) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    cluster.call("POST", f"{APPS}/statefulsets", workload(1, serviceName="web", volumeClaimTemplates=[claim]))
    cluster.call("PATCH", f"{APPS}/statefulsets/web", {"spec": {"replicas": 0}}, content_type=MERGE_PATCH)

    assert summary(cluster, "StatefulSet") == [
        ("SuccessfulCreate", "Create Claim data-web-0 Pod web-0 in StatefulSet web success"),
        ("SuccessfulCreate", "Create Pod web-0 in StatefulSet web successful"),
        ("SuccessfulDelete", "Delete Pod web-0 in StatefulSet web successful"),
    ]


def test_events_of_many_pods_of_one_replica_set_are_combined(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/replicasets", workload(40))

    found = events(cluster, "ReplicaSet")

    assert len(found) == 10
    assert [each["count"] for each in found] == [1] * 9 + [16]  # the rest is too much of it
    assert found[-1]["message"].startswith("(combined from similar events): Created pod: web-")
    assert (found[-1]["reportingComponent"], found[-1]["source"]) == (
        "",
        {"component": "replicaset-controller"},
    )


@pytest.mark.slow
def test_a_component_drops_what_is_too_much_at_once(cluster: QuietCluster) -> None:
    room = {"status": {"allocatable": {"pods": "1000"}}}
    cluster.call("PATCH", "/api/v1/nodes/masthead-node/status", room, content_type=MERGE_PATCH)
    cluster.call("POST", f"{APPS}/replicasets", workload(400))

    found = [each for each in events(cluster, "Pod") if each["source"]]
    assert len(found) == 999  # and one of the node

    cluster.server.advance(1)
    cluster.call("PATCH", f"{APPS}/replicasets/web", {"spec": {"replicas": 401}}, content_type=MERGE_PATCH)
    later = [each for each in events(cluster, "Pod") if each["source"]]
    assert len(later) == 1002


def test_without_workloads_and_kubelet_there_are_no_events(plain: QuietCluster) -> None:
    plain.call("POST", f"{APPS}/deployments", workload(2))

    assert names(plain, "/api/v1/events") == []


def test_an_event_expires_an_hour_after_its_last_write(plain: QuietCluster) -> None:
    plain.call("POST", EVENTS, event("once"))
    plain.call("POST", EVENTS, event("again"))
    plain.server.advance(HOUR - 1)
    plain.call("PATCH", f"{EVENTS}/again", {"count": 2}, content_type=MERGE_PATCH)
    assert names(plain, EVENTS) == ["again", "once"]

    plain.server.advance(1)
    assert names(plain, EVENTS) == ["again"]

    plain.server.advance(HOUR)
    assert names(plain, EVENTS) == []


@pytest.mark.slow
def test_many_events_expire_in_batches(plain: QuietCluster) -> None:
    for number in range(450):
        plain.caller.call("POST", EVENTS, event(f"a-{number}"))

    plain.server.advance(HOUR)

    assert names(plain, EVENTS) == []


def test_events_expire_whatever_their_group_and_finalizers(plain: QuietCluster) -> None:
    body = event("new")
    body["regarding"] = body.pop("involvedObject")
    body["metadata"]["finalizers"] = ["a.test/wait"]
    reporter = {"reportingController": "a.test/b", "reportingInstance": "c", "type": "Normal"}
    details = {"eventTime": "2026-01-01T00:00:00.000000Z", "action": "Look", "reason": "Why"}
    plain.call("POST", "/apis/events.k8s.io/v1/namespaces/default/events", {**body, **reporter, **details})

    plain.server.advance(HOUR)

    assert names(plain, EVENTS) == []


def test_watches_see_that_an_event_has_expired(plain: QuietCluster) -> None:
    plain.call("POST", EVENTS, event("once"))
    plain.server.advance(HOUR)

    last = plain.server.history(Event.new("once", namespace="default"))[-1]

    assert (last.type, last.version) == ("DELETED", str(plain.server.revision))


def test_events_of_a_file_have_another_hour_after_a_restart(tmp_path: Path) -> None:
    with masthead.server.run(data=tmp_path / "db", clock=VirtualClock, token=None) as running:
        first = QuietCluster(running)
        first.call("POST", EVENTS, event("once"))
        first.caller.close()
    with masthead.server.run(data=tmp_path / "db", clock=VirtualClock, token=None) as running:
        second = QuietCluster(running)
        running.advance(HOUR - 1)
        assert names(second, EVENTS) == ["once"]
        running.advance(1)
        assert names(second, EVENTS) == []
        second.caller.close()


def test_events_do_not_keep_a_server_from_being_quiet(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/deployments", workload(3))
    revision = cluster.server.revision

    cluster.server.block_until_idle()
    cluster.server.advance(60)

    assert cluster.server.revision == revision
