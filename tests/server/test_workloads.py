"""Workloads: Deployments roll out, ReplicaSets and ReplicationControllers keep their pods."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MERGE_PATCH
from tests.server.quiet_cluster import QuietCluster

import masthead.aio
import masthead.server
from masthead.api.batch.v1 import Job
from masthead.server import VirtualClock
from masthead_server.controllers.workloads import refusals

if TYPE_CHECKING:
    from collections.abc import Iterator

APPS = "/apis/apps/v1/namespaces/default"
CORE = "/api/v1/namespaces/default"
LABELS = {"app": "web"}
REVISION = "deployment.kubernetes.io/revision"


@pytest.fixture
def cluster() -> Iterator[QuietCluster]:
    with masthead.server.run(clock=VirtualClock, token=None, workloads=True) as running:
        made = QuietCluster(running)
        yield made
        made.caller.close()


def template(image: str = "nginx:1") -> dict[str, Any]:
    return {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "web", "image": image}]}}


def deployment(replicas: int = 3, **spec: Any) -> dict[str, Any]:
    body = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template(), **spec}
    return {"metadata": {"name": "web"}, "spec": body}


def pods(cluster: QuietCluster) -> list[Any]:
    found: list[Any] = cluster.call("GET", f"{CORE}/pods")["items"]
    return found


def sizes(cluster: QuietCluster) -> dict[str, int]:
    """The replicas of each revision."""
    found = cluster.call("GET", f"{APPS}/replicasets")["items"]
    return {each["metadata"]["annotations"][REVISION]: each["spec"]["replicas"] for each in found}


def make_ready(cluster: QuietCluster) -> None:
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    for pod in pods(cluster):
        path = f"{CORE}/pods/{pod['metadata']['name']}/status"
        patch = {"status": {"phase": "Running", "conditions": [ready]}}
        # A pod may be gone by now, because the one before it became ready.
        cluster.caller.call("PATCH", path, patch, content_type=MERGE_PATCH)
        cluster.server.block_until_idle()


def patch(cluster: QuietCluster, spec: dict[str, Any]) -> None:
    cluster.call("PATCH", f"{APPS}/deployments/web", {"spec": spec}, content_type=MERGE_PATCH)


def status(cluster: QuietCluster) -> Any:
    return cluster.call("GET", f"{APPS}/deployments/web")["status"]


def condition(cluster: QuietCluster, kind: str) -> tuple[str, str]:
    found = next(each for each in status(cluster)["conditions"] if each["type"] == kind)
    return found["status"], found["reason"]


def test_a_deployment_gets_a_replica_set_and_pods(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/deployments", deployment())

    (replica_set,) = cluster.call("GET", f"{APPS}/replicasets")["items"]
    assert replica_set["metadata"]["ownerReferences"][0]["kind"] == "Deployment"
    assert len(pods(cluster)) == 3
    assert pods(cluster)[0]["metadata"]["ownerReferences"][0]["name"] == replica_set["metadata"]["name"]
    assert status(cluster)["unavailableReplicas"] == 3
    assert condition(cluster, "Available") == ("False", "MinimumReplicasUnavailable")
    assert condition(cluster, "Progressing") == ("True", "ReplicaSetUpdated")


def test_it_is_complete_when_its_pods_are_ready(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/deployments", deployment())
    make_ready(cluster)

    assert status(cluster)["availableReplicas"] == 3
    assert condition(cluster, "Available") == ("True", "MinimumReplicasAvailable")
    assert condition(cluster, "Progressing") == ("True", "NewReplicaSetAvailable")


def test_a_new_template_rolls_out_as_pods_become_ready(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/deployments", deployment())
    make_ready(cluster)
    patch(cluster, {"template": template("nginx:2")})
    assert sizes(cluster) == {"1": 3, "2": 1}

    for _ in range(4):
        make_ready(cluster)

    assert sizes(cluster) == {"1": 0, "2": 3}
    assert {pod["spec"]["containers"][0]["image"] for pod in pods(cluster)} == {"nginx:2"}


def test_going_back_makes_an_old_replica_set_the_newest_revision(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/deployments", deployment())
    patch(cluster, {"template": template("nginx:2")})
    patch(cluster, {"template": template("nginx:1")})

    assert set(sizes(cluster)) == {"2", "3"}
    annotations = cluster.call("GET", f"{APPS}/deployments/web")["metadata"]["annotations"]
    assert annotations[REVISION] == "3"


def test_recreate_waits_until_the_old_pods_are_gone(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/deployments", deployment(strategy={"type": "Recreate"}))
    cluster.call(
        "PATCH",
        f"{CORE}/pods/{pods(cluster)[0]['metadata']['name']}",
        {"metadata": {"finalizers": ["example.com/hold"]}},
        content_type=MERGE_PATCH,
    )
    patch(cluster, {"template": template("nginx:2")})
    assert sizes(cluster) in ({"1": 0}, {"1": 0, "2": 3})

    cluster.free(f"{CORE}/pods/{pods(cluster)[0]['metadata']['name']}")
    assert sizes(cluster) == {"1": 0, "2": 3}


def test_recreate_waits_until_bound_pods_have_ended(cluster: QuietCluster) -> None:
    bound = {**template(), "spec": {**template()["spec"], "nodeName": "n"}}
    cluster.call("POST", f"{APPS}/deployments", deployment(1, strategy={"type": "Recreate"}, template=bound))
    patch(cluster, {"template": template("nginx:2")})
    assert sizes(cluster) == {"1": 0}

    cluster.call("DELETE", f"{CORE}/pods/{pods(cluster)[0]['metadata']['name']}?gracePeriodSeconds=0")
    assert sizes(cluster) == {"1": 0, "2": 1}


def test_annotations_of_a_paused_deployment_reach_its_replica_set(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/deployments", deployment())
    patch(cluster, {"paused": True})
    change = {"metadata": {"annotations": {"note": "b"}}}
    cluster.call("PATCH", f"{APPS}/deployments/web", change, content_type=MERGE_PATCH)

    (replica_set,) = cluster.call("GET", f"{APPS}/replicasets")["items"]
    assert replica_set["metadata"]["annotations"]["note"] == "b"


def test_a_paused_deployment_scales_but_does_not_roll_out(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/deployments", deployment())
    patch(cluster, {"paused": True, "template": template("nginx:2"), "replicas": 5})

    assert sizes(cluster) == {"1": 5}
    assert condition(cluster, "Progressing") == ("Unknown", "DeploymentPaused")
    patch(cluster, {"paused": False})
    assert set(sizes(cluster)) == {"1", "2"}


def test_a_rollout_that_makes_no_progress_times_out(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/deployments", deployment(progressDeadlineSeconds=60))
    cluster.server.advance(59)
    assert condition(cluster, "Progressing")[0] == "True"

    cluster.server.advance(5)
    cluster.server.block_until_idle()
    assert condition(cluster, "Progressing") == ("False", "ProgressDeadlineExceeded")


def test_old_revisions_above_the_limit_are_deleted(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/deployments", deployment(1, revisionHistoryLimit=1))
    for number in range(2, 6):
        make_ready(cluster)
        patch(cluster, {"template": template(f"nginx:{number}")})
    make_ready(cluster)

    assert sizes(cluster) == {"4": 0, "5": 1}


def test_a_deleted_deployment_takes_its_replica_sets_and_pods_with_it(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/deployments", deployment())
    cluster.call("DELETE", f"{APPS}/deployments/web")

    assert sizes(cluster) == {}
    assert pods(cluster) == []


def replica_set(replicas: int = 2, **spec: Any) -> dict[str, Any]:
    body = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template(), **spec}
    return {"metadata": {"name": "web"}, "spec": body}


def test_a_deleted_pod_is_replaced(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/replicasets", replica_set())
    before = {pod["metadata"]["name"] for pod in pods(cluster)}
    cluster.call("DELETE", f"{CORE}/pods/{min(before)}")

    after = {pod["metadata"]["name"] for pod in pods(cluster)}
    assert len(after) == 2
    assert min(before) not in after


def test_a_pod_that_finished_is_replaced(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/replicasets", replica_set(1))
    path = f"{CORE}/pods/{pods(cluster)[0]['metadata']['name']}/status"
    cluster.call("PATCH", path, {"status": {"phase": "Failed"}}, content_type=MERGE_PATCH)

    assert sorted(pod["status"]["phase"] for pod in pods(cluster)) == ["Failed", "Pending"]


def test_scaling_down_keeps_ready_pods(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/replicasets", replica_set(1))
    make_ready(cluster)
    (ready,) = (pod["metadata"]["name"] for pod in pods(cluster))
    for replicas in (5, 1):
        path = f"{APPS}/replicasets/web"
        cluster.call("PATCH", path, {"spec": {"replicas": replicas}}, content_type=MERGE_PATCH)

    assert [pod["metadata"]["name"] for pod in pods(cluster)] == [ready]


def test_a_matching_orphan_is_adopted_and_a_pod_that_stops_matching_is_released(
    cluster: QuietCluster,
) -> None:
    body = {**template(), "metadata": {"name": "orphan", "labels": LABELS}}
    cluster.call("POST", f"{CORE}/pods", body)
    cluster.call("POST", f"{APPS}/replicasets", replica_set(2))
    assert len(pods(cluster)) == 2
    assert cluster.call("GET", f"{CORE}/pods/orphan")["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"

    change = {"metadata": {"labels": {"app": "other"}}}
    cluster.call("PATCH", f"{CORE}/pods/orphan", change, content_type=MERGE_PATCH)
    assert "ownerReferences" not in cluster.call("GET", f"{CORE}/pods/orphan")["metadata"]
    assert len(pods(cluster)) == 3


def test_pods_are_available_after_their_minimum_of_ready_seconds(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/replicasets", replica_set(1, minReadySeconds=30))
    path = f"{CORE}/pods/{pods(cluster)[0]['metadata']['name']}"
    since = cluster.call("GET", path)["metadata"]["creationTimestamp"]
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": since}
    cluster.call("PATCH", f"{path}/status", {"status": {"conditions": [ready]}}, content_type=MERGE_PATCH)
    found = cluster.call("GET", f"{APPS}/replicasets/web")["status"]
    assert (found["readyReplicas"], found.get("availableReplicas")) == (1, None)

    cluster.server.advance(31)
    assert cluster.call("GET", f"{APPS}/replicasets/web")["status"]["availableReplicas"] == 1


def test_a_replication_controller_has_a_map_of_labels_for_a_selector(cluster: QuietCluster) -> None:
    body = {"metadata": {"name": "web"}, "spec": {"replicas": 2, "selector": LABELS, "template": template()}}
    cluster.call("POST", f"{CORE}/replicationcontrollers", body)

    assert len(pods(cluster)) == 2
    assert cluster.call("GET", f"{CORE}/replicationcontrollers/web")["status"]["replicas"] == 2


def stateful_set(replicas: int = 2, **spec: Any) -> dict[str, Any]:
    body = {
        "replicas": replicas,
        "serviceName": "web",
        "selector": {"matchLabels": LABELS},
        "template": template(),
        **spec,
    }
    return {"metadata": {"name": "db"}, "spec": body}


def names(cluster: QuietCluster, resource: str = "pods") -> list[str]:
    return [each["metadata"]["name"] for each in cluster.call("GET", f"{CORE}/{resource}")["items"]]


def test_pods_of_a_stateful_set_come_one_after_the_other(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/statefulsets", stateful_set())
    assert names(cluster) == ["db-0"]

    make_ready(cluster)
    assert names(cluster) == ["db-0", "db-1"]
    make_ready(cluster)
    found = cluster.call("GET", f"{APPS}/statefulsets/db")["status"]
    assert (found["readyReplicas"], found["currentRevision"]) == (2, found["updateRevision"])


def test_they_come_at_once_if_they_may(cluster: QuietCluster) -> None:
    body = stateful_set(3, podManagementPolicy="Parallel", ordinals={"start": 5})
    cluster.call("POST", f"{APPS}/statefulsets", body)

    assert names(cluster) == ["db-5", "db-6", "db-7"]


def test_each_has_a_claim_of_its_own_that_stays(cluster: QuietCluster) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    cluster.call("POST", f"{APPS}/statefulsets", stateful_set(1, volumeClaimTemplates=[claim]))
    volumes = cluster.call("GET", f"{CORE}/pods/db-0")["spec"]["volumes"]
    assert {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}} in volumes

    cluster.call("DELETE", f"{APPS}/statefulsets/db")
    assert names(cluster) == []
    assert names(cluster, "persistentvolumeclaims") == ["data-db-0"]


def test_a_new_template_replaces_the_last_pod_first_and_leaves_those_of_the_partition(
    cluster: QuietCluster,
) -> None:
    update = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    cluster.call("POST", f"{APPS}/statefulsets", stateful_set(3, updateStrategy=update))
    for _ in range(3):
        make_ready(cluster)
    change = {"spec": {"template": template("nginx:2")}}
    cluster.call("PATCH", f"{APPS}/statefulsets/db", change, content_type=MERGE_PATCH)
    images = [pod["spec"]["containers"][0]["image"] for pod in pods(cluster)]
    assert images == ["nginx:1", "nginx:1", "nginx:2"]

    for _ in range(3):
        make_ready(cluster)
    images = [pod["spec"]["containers"][0]["image"] for pod in pods(cluster)]
    assert images == ["nginx:1", "nginx:2", "nginx:2"]


def test_a_stateful_set_shrinks_from_its_end(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/statefulsets", stateful_set(3))
    for _ in range(3):
        make_ready(cluster)
    path = f"{APPS}/statefulsets/db"
    cluster.call("PATCH", path, {"spec": {"replicas": 1}}, content_type=MERGE_PATCH)
    # No kubelet ends them: their grace period does.
    cluster.server.advance(61)
    cluster.server.block_until_idle()

    assert names(cluster) == ["db-0"]


def test_the_history_keeps_every_template_once(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/statefulsets", stateful_set(0))
    for image in ("nginx:2", "nginx:1"):
        change = {"spec": {"template": template(image)}}
        cluster.call("PATCH", f"{APPS}/statefulsets/db", change, content_type=MERGE_PATCH)
    history = cluster.call("GET", f"{APPS}/controllerrevisions")["items"]

    assert sorted(each["revision"] for each in history) == [2, 3]


def test_a_stateful_set_adopts_a_pod_that_comes_later_and_releases_one_whose_labels_change(
    cluster: QuietCluster,
) -> None:
    cluster.call("POST", f"{APPS}/statefulsets", stateful_set(2, updateStrategy={"type": "OnDelete"}))
    pod = {"metadata": {"name": "db-1", "labels": LABELS}, "spec": template()["spec"]}
    cluster.call("POST", f"{CORE}/pods", pod)
    assert [owner["kind"] for owner in pods(cluster)[1]["metadata"]["ownerReferences"]] == ["StatefulSet"]
    make_ready(cluster)
    assert pods(cluster)[1]["metadata"]["labels"] == {
        **LABELS,
        "statefulset.kubernetes.io/pod-name": "db-1",
        "apps.kubernetes.io/pod-index": "1",
    }

    change = {"metadata": {"labels": dict.fromkeys(LABELS, "other")}}
    cluster.call("PATCH", f"{CORE}/pods/db-1", change, content_type=MERGE_PATCH)
    assert "ownerReferences" not in pods(cluster)[1]["metadata"]


def test_orphaned_pods_of_a_stateful_set_are_adopted(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/statefulsets", stateful_set(1))
    uid = cluster.call("GET", f"{CORE}/pods/db-0")["metadata"]["uid"]
    cluster.call("DELETE", f"{APPS}/statefulsets/db", {"propagationPolicy": "Orphan"})
    cluster.call("POST", f"{APPS}/statefulsets", stateful_set(1))

    found = cluster.call("GET", f"{CORE}/pods/db-0")["metadata"]
    assert found["uid"] == uid
    assert found["ownerReferences"][0]["kind"] == "StatefulSet"


def test_many_pods_come_in_several_steps(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/replicasets", replica_set(230))
    assert len(pods(cluster)) == 230

    cluster.call("PATCH", f"{APPS}/replicasets/web", {"spec": {"replicas": 0}}, content_type=MERGE_PATCH)
    assert pods(cluster) == []


def test_nothing_is_written_when_nothing_is_left_to_do(cluster: QuietCluster) -> None:
    cluster.call("POST", f"{APPS}/deployments", deployment())
    revision = cluster.server.revision
    recorded = len(cluster.call("GET", f"{CORE}/events")["items"])
    cluster.server.advance(3600)
    cluster.server.block_until_idle()
    after = cluster.server.revision
    cluster.server.advance(3600)

    assert after - revision <= 1 + recorded  # the rollout times out, once, and its Events expire
    assert cluster.server.revision == after


def test_by_default_there_are_no_workloads() -> None:
    with masthead.server.run(token=None) as running:
        cluster = QuietCluster(running)
        cluster.call("POST", f"{APPS}/deployments", deployment())
        assert pods(cluster) == []
        cluster.caller.close()


async def test_requests_have_their_turn_while_a_job_gets_many_pods() -> None:
    revisions = list[int]()

    def note_revision() -> None:
        revisions.append(server.revision)
        noting[0] = loop.call_soon(note_revision)

    loop = asyncio.get_running_loop()
    async with (
        masthead.server.run(workloads=True) as server,
        masthead.aio.Client(kubeconfig=server.kubeconfig()) as client,
    ):
        noting = [loop.call_soon(note_revision)]
        pod = {**template()["spec"], "restartPolicy": "Never"}
        spec = {"parallelism": 500, "completions": 500, "template": {"spec": pod}}
        await client.batch_v1.jobs("default").create(Job.new("web", spec=spec))
        await server.wait_for_idle()
        noting[0].cancel()
        assert len(await client.core_v1.pods("default").list()) == 500

    assert max(after - before for before, after in itertools.pairwise(revisions)) < 100


def test_workloads_get_no_more_pods_than_a_server_can_hold(
    cluster: QuietCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "MAX_PODS", 5)

    cluster.call("POST", f"{APPS}/replicasets", replica_set(7))

    assert len(pods(cluster)) == 5
    messages = [each["message"] for each in cluster.call("GET", f"{CORE}/events")["items"] if each["type"] == "Warning"]
    assert messages == ["Error creating: this server has 5 pods, and creates no more for workloads"]
    cluster.call("DELETE", f"{CORE}/pods/{pods(cluster)[0]['metadata']['name']}")
    cluster.server.advance(60)
    assert len(pods(cluster)) == 5
