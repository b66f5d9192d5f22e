"""StatefulSets: who owns their claims, and when their pods count as available."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MERGE_PATCH
from tests.server.quiet_cluster import QuietCluster

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

APPS = "/apis/apps/v1/namespaces/default/statefulsets"
CORE = "/api/v1/namespaces/default"
LABELS = {"app": "db"}


@pytest.fixture
def cluster() -> Iterator[QuietCluster]:
    with masthead.server.run(clock=VirtualClock, token=None, workloads=True, kubelet=True) as running:
        made = QuietCluster(running)
        yield made
        made.caller.close()


def create(cluster: QuietCluster, **spec: Any) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
    body = {
        "replicas": 2,
        "serviceName": "db",
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "db", "image": "db:1"}]}},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
        **spec,
    }
    cluster.call("POST", APPS, {"metadata": {"name": "db"}, "spec": body})


def owners(cluster: QuietCluster) -> dict[str, list[str]]:
    """The kinds of the owners of each claim."""
    claims = cluster.call("GET", f"{CORE}/persistentvolumeclaims")["items"]
    return {
        claim["metadata"]["name"]: [owner["kind"] for owner in claim["metadata"].get("ownerReferences", ())]
        for claim in claims
    }


def scale(cluster: QuietCluster, replicas: int) -> None:
    cluster.call("PATCH", f"{APPS}/db", {"spec": {"replicas": replicas}}, content_type=MERGE_PATCH)


def status(cluster: QuietCluster) -> Any:
    return cluster.call("GET", f"{APPS}/db")["status"]


def test_claims_are_retained_by_default(cluster: QuietCluster) -> None:
    create(cluster)
    scale(cluster, 1)
    cluster.call("DELETE", f"{APPS}/db")

    assert owners(cluster) == {"data-db-0": [], "data-db-1": []}


def test_claims_of_a_deleted_set_can_go_with_it(cluster: QuietCluster) -> None:
    create(cluster, persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete", "whenScaled": "Retain"})
    assert owners(cluster) == {"data-db-0": ["StatefulSet"], "data-db-1": ["StatefulSet"]}
    scale(cluster, 1)
    assert owners(cluster) == {"data-db-0": ["StatefulSet"], "data-db-1": ["StatefulSet"]}

    cluster.call("DELETE", f"{APPS}/db")

    assert owners(cluster) == {}


def test_claims_of_a_smaller_set_can_go_with_their_pods(cluster: QuietCluster) -> None:
    create(cluster, persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain", "whenScaled": "Delete"})
    scale(cluster, 1)

    assert owners(cluster) == {"data-db-0": []}


def test_a_changed_policy_releases_the_claims(cluster: QuietCluster) -> None:
    create(cluster, persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete", "whenScaled": "Delete"})
    policy = {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"}}
    cluster.call("PATCH", f"{APPS}/db", {"spec": policy}, content_type=MERGE_PATCH)

    assert owners(cluster) == {"data-db-0": [], "data-db-1": []}


def test_the_next_pod_waits_until_the_one_before_is_available(cluster: QuietCluster) -> None:
    create(cluster, minReadySeconds=30)
    assert (status(cluster)["replicas"], status(cluster)["availableReplicas"]) == (1, 0)

    cluster.server.advance(31)
    cluster.server.block_until_idle()
    assert (status(cluster)["replicas"], status(cluster)["availableReplicas"]) == (2, 1)

    cluster.server.advance(31)
    cluster.server.block_until_idle()
    assert status(cluster)["availableReplicas"] == 2


def test_parallel_pods_do_not_wait(cluster: QuietCluster) -> None:
    create(cluster, podManagementPolicy="Parallel", minReadySeconds=30, ordinals={"start": 5})

    pods = cluster.call("GET", f"{CORE}/pods")["items"]
    assert [pod["metadata"]["name"] for pod in pods] == ["db-5", "db-6"]


def failures(cluster: QuietCluster) -> list[str]:
    events = cluster.call("GET", f"{CORE}/events?fieldSelector=reason=FailedCreate")["items"]
    return [event["message"] for event in events]


def test_a_refused_claim_keeps_its_pod_from_being_created(cluster: QuietCluster) -> None:
    quota = {"metadata": {"name": "claims"}, "spec": {"hard": {"persistentvolumeclaims": "1"}}}
    cluster.call("POST", f"{CORE}/resourcequotas", quota)

    create(cluster)

    assert status(cluster)["replicas"] == 1
    claim, pod = failures(cluster)
    assert claim.startswith(
        'Create Claim data-db-1 for Pod db-1 in StatefulSet db failed error: persistentvolumeclaims "data-db-1" is'
    )
    assert pod.startswith("create Pod db-1 in StatefulSet db failed error: failed to create PVC data-db-1: ")

    cluster.call("DELETE", f"{CORE}/resourcequotas/claims")
    cluster.server.advance(3600)
    cluster.server.block_until_idle()
    assert status(cluster)["readyReplicas"] == 2


def test_a_pod_waits_until_the_deletion_of_its_claim_ends(cluster: QuietCluster) -> None:
    claim = f"{CORE}/persistentvolumeclaims/data-db-1"
    create(cluster)
    scale(cluster, 1)
    cluster.call("PATCH", claim, {"metadata": {"finalizers": ["example.com/keep"]}}, content_type=MERGE_PATCH)
    cluster.call("DELETE", claim)

    scale(cluster, 2)

    assert status(cluster)["replicas"] == 1
    assert failures(cluster) == ["create Pod db-1 in StatefulSet db failed error: pvc data-db-1 is being deleted"]

    cluster.free(claim)
    cluster.server.advance(3600)
    cluster.server.block_until_idle()
    assert status(cluster)["readyReplicas"] == 2
