"""ResourceClaims of pods: created from templates, reserved, released and deleted with their pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MERGE_PATCH
from tests.server.quiet_cluster import QuietCluster

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

CORE = "/api/v1/namespaces/default"
DRA = "/apis/resource.k8s.io/v1/namespaces/default"
FINALIZER = "resource.kubernetes.io/delete-protection"
REQUEST = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
DEVICES = {"devices": {"requests": [REQUEST]}}
RESULT = {"request": "gpu", "driver": "gpu.example.com", "pool": "a", "device": "gpu-0"}
ALLOCATION = {"devices": {"results": [RESULT]}}


@pytest.fixture
def cluster() -> Iterator[QuietCluster]:
    enabled = ("resourceclaims", "garbage", "pods")
    with masthead.server.run(clock=VirtualClock, token=None, controllers=enabled) as running:
        made = QuietCluster(running)
        yield made
        made.caller.close()


def create_template(cluster: QuietCluster) -> None:
    metadata = {"labels": {"tier": "a"}, "annotations": {"note": "x"}}
    body = {"metadata": {"name": "gpus"}, "spec": {"metadata": metadata, "spec": DEVICES}}
    cluster.call("POST", f"{DRA}/resourceclaimtemplates", body)


def create_pod(cluster: QuietCluster, claim: dict[str, str], **spec: Any) -> Any:
    containers = [{"name": "c", "image": "i"}]
    body = {"containers": containers, "resourceClaims": [{"name": "device", **claim}], **spec}
    return cluster.call("POST", f"{CORE}/pods", {"metadata": {"name": "train"}, "spec": body})


def create_claim(cluster: QuietCluster, *pods: Any) -> None:
    """Create a claim that is allocated, and reserved for pods."""
    metadata = {"name": "shared", "finalizers": [FINALIZER]}
    cluster.call("POST", f"{DRA}/resourceclaims", {"metadata": metadata, "spec": DEVICES})
    reserved = [{"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]} for pod in pods]
    change_status(cluster, "resourceclaims/shared", {"allocation": ALLOCATION, "reservedFor": reserved})


def change_status(cluster: QuietCluster, path: str, status: Any) -> None:
    base = DRA if path.startswith("resourceclaims") else CORE
    cluster.call("PATCH", f"{base}/{path}/status", {"status": status}, content_type=MERGE_PATCH)


def claims(cluster: QuietCluster) -> list[Any]:
    found: list[Any] = cluster.call("GET", f"{DRA}/resourceclaims")["items"]
    return found


def events(cluster: QuietCluster) -> list[tuple[str, str]]:
    return [(event["reason"], event["message"]) for event in cluster.call("GET", f"{CORE}/events")["items"]]


def test_a_pod_gets_a_claim_of_its_template(cluster: QuietCluster) -> None:
    create_template(cluster)
    pod = create_pod(cluster, {"resourceClaimTemplateName": "gpus"})

    (claim,) = claims(cluster)
    metadata = claim["metadata"]
    assert metadata["generateName"] == "train-device-"
    assert metadata["labels"] == {"tier": "a"}
    assert metadata["annotations"] == {"note": "x", "resource.kubernetes.io/pod-claim-name": "device"}
    assert metadata["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "train", "uid": pod["metadata"]["uid"], "controller": True}
    ]
    assert claim["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] == "gpu.example.com"
    stored = cluster.call("GET", f"{CORE}/pods/train")
    assert stored["status"]["resourceClaimStatuses"] == [{"name": "device", "resourceClaimName": metadata["name"]}]


def test_a_deleted_claim_of_a_pod_is_created_anew(cluster: QuietCluster) -> None:
    create_template(cluster)
    create_pod(cluster, {"resourceClaimTemplateName": "gpus"})
    (before,) = claims(cluster)

    cluster.call("DELETE", f"{DRA}/resourceclaims/{before['metadata']['name']}")

    (after,) = claims(cluster)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    (status,) = cluster.call("GET", f"{CORE}/pods/train")["status"]["resourceClaimStatuses"]
    assert status["resourceClaimName"] == after["metadata"]["name"]


def test_a_pod_waits_for_its_template_and_says_so(cluster: QuietCluster) -> None:
    create_pod(cluster, {"resourceClaimTemplateName": "gpus"})

    missing = 'resourceclaimtemplate.resource.k8s.io "gpus" not found'
    message = f'PodResourceClaim device: resource claim template "gpus": {missing}'
    assert events(cluster) == [("FailedResourceClaimCreation", message)]
    create_template(cluster)
    assert len(claims(cluster)) == 1


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_the_claim_of_a_finished_pod_is_deleted(cluster: QuietCluster, phase: str) -> None:
    create_template(cluster)
    create_pod(cluster, {"resourceClaimTemplateName": "gpus"})

    change_status(cluster, "pods/train", {"phase": phase})

    assert claims(cluster) == []


def test_the_claim_goes_with_its_pod(cluster: QuietCluster) -> None:
    create_template(cluster)
    create_pod(cluster, {"resourceClaimTemplateName": "gpus"})

    cluster.call("DELETE", f"{CORE}/pods/train")

    assert claims(cluster) == []


def test_an_allocated_claim_is_reserved_for_a_pod_that_is_bound(cluster: QuietCluster) -> None:
    create_claim(cluster)
    pod = create_pod(cluster, {"resourceClaimName": "shared"}, nodeName="n")

    (claim,) = claims(cluster)
    reserved = {"resource": "pods", "name": "train", "uid": pod["metadata"]["uid"]}
    assert claim["status"]["reservedFor"] == [reserved]


def test_a_claim_is_deallocated_after_its_last_pod(cluster: QuietCluster) -> None:
    pod = create_pod(cluster, {"resourceClaimName": "shared"}, nodeName="n")
    create_claim(cluster, pod)
    (claim,) = claims(cluster)
    assert len(claim["status"]["reservedFor"]) == 1

    change_status(cluster, "pods/train", {"phase": "Succeeded"})

    (claim,) = claims(cluster)
    assert "allocation" not in claim.get("status", {})
    assert "reservedFor" not in claim.get("status", {})
    assert "finalizers" not in claim["metadata"]


def test_a_claim_that_is_allocated_for_a_pod_that_has_ended_is_deallocated(cluster: QuietCluster) -> None:
    create_pod(cluster, {"resourceClaimName": "shared"}, nodeName="n")
    change_status(cluster, "pods/train", {"phase": "Failed"})

    create_claim(cluster)

    (claim,) = claims(cluster)
    assert not claim.get("status", {}).keys() & {"allocation", "reservedFor"}
    assert "finalizers" not in claim["metadata"]


def test_a_reservation_of_an_unknown_pod_ends(cluster: QuietCluster) -> None:
    create_claim(cluster, {"metadata": {"name": "gone", "uid": "00000000-0000-0000-0000-000000000001"}})

    (claim,) = claims(cluster)
    assert "allocation" not in claim.get("status", {})


def test_a_deleted_claim_stays_until_its_pod_has_ended(cluster: QuietCluster) -> None:
    pod = create_pod(cluster, {"resourceClaimName": "shared"}, nodeName="n")
    create_claim(cluster, pod)

    cluster.call("DELETE", f"{DRA}/resourceclaims/shared")
    assert len(claims(cluster)) == 1

    cluster.call("DELETE", f"{CORE}/pods/train?gracePeriodSeconds=0")
    assert claims(cluster) == []
