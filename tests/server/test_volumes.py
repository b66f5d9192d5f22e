"""Volumes and claims that are protected: they are let go of when nothing uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.server.calls import MERGE_PATCH, PODS
from tests.server.quiet_cluster import pod

if TYPE_CHECKING:
    from tests.server.quiet_cluster import QuietCluster

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


def claim(name: str = "c", *owners: Any) -> Any:
    resources = {"requests": {"storage": "1Gi"}}
    return {
        "metadata": {"name": name, "ownerReferences": owners},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources},
    }


def test_a_claim_that_nothing_uses_is_removed_at_once(cluster: QuietCluster) -> None:
    made = cluster.call("POST", CLAIMS, claim())
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]

    cluster.call("DELETE", f"{CLAIMS}/c")

    assert not cluster.is_there(f"{CLAIMS}/c")


def test_a_claim_that_a_pod_uses_is_removed_after_the_pod(cluster: QuietCluster) -> None:
    cluster.call("POST", CLAIMS, claim())
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    cluster.call("POST", PODS, pod("a", volumes=volumes))

    cluster.call("DELETE", f"{CLAIMS}/c")
    assert cluster.is_there(f"{CLAIMS}/c")
    cluster.call("DELETE", f"{PODS}/a?gracePeriodSeconds=0")

    assert not cluster.is_there(f"{CLAIMS}/c")


def test_a_pod_that_has_ended_uses_its_claims_until_it_is_gone(cluster: QuietCluster) -> None:
    cluster.call("POST", CLAIMS, claim())
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    cluster.call("POST", PODS, pod("a", volumes=volumes))
    cluster.call("PATCH", f"{PODS}/a/status", {"status": {"phase": "Succeeded"}}, content_type=MERGE_PATCH)

    cluster.call("DELETE", f"{CLAIMS}/c")
    assert cluster.is_there(f"{CLAIMS}/c")
    cluster.call("DELETE", f"{PODS}/a?gracePeriodSeconds=0")

    assert not cluster.is_there(f"{CLAIMS}/c")


def pod_with_a_claim_of_its_own(cluster: QuietCluster) -> Any:
    """Make a pod whose volume is to be made for it, with a finalizer; returns a reference to it."""
    template = {"spec": claim()["spec"]}
    body = pod("a", volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}])
    body["metadata"]["finalizers"] = ["example.com/one"]
    made = cluster.call("POST", PODS, body)["metadata"]
    return {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": made["uid"], "controller": True}


def test_the_claim_of_an_ephemeral_volume_is_removed_when_only_finalizers_hold_the_pod(
    cluster: QuietCluster,
) -> None:
    owner = pod_with_a_claim_of_its_own(cluster)
    cluster.call("POST", CLAIMS, claim("a-v", owner))

    cluster.call("DELETE", f"{CLAIMS}/a-v")
    assert cluster.is_there(f"{CLAIMS}/a-v")
    cluster.call("DELETE", f"{PODS}/a?gracePeriodSeconds=0")

    assert cluster.is_there(f"{PODS}/a")
    assert not cluster.is_there(f"{CLAIMS}/a-v")


def test_a_claim_that_is_only_called_like_one_made_for_a_pod_is_not_used_by_it(cluster: QuietCluster) -> None:
    pod_with_a_claim_of_its_own(cluster)
    cluster.call("POST", CLAIMS, claim("a-v"))

    cluster.call("DELETE", f"{CLAIMS}/a-v")

    assert not cluster.is_there(f"{CLAIMS}/a-v")


def test_a_bound_volume_is_kept_until_it_is_unbound(cluster: QuietCluster) -> None:
    path = "/api/v1/persistentvolumes"
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    cluster.call("POST", path, {"metadata": {"name": "v"}, "spec": spec})
    for phase, stays in (("Bound", True), ("Released", False)):
        cluster.call("PATCH", f"{path}/v/status", {"status": {"phase": phase}}, content_type=MERGE_PATCH)
        if phase == "Bound":
            cluster.call("DELETE", f"{path}/v")
        assert cluster.is_there(f"{path}/v") is stays


ATTRIBUTES_CLASSES = "/apis/storage.k8s.io/v1/volumeattributesclasses"


def attributes_class(cluster: QuietCluster) -> None:
    body = {"metadata": {"name": "fast"}, "driverName": "example.com", "parameters": {"iops": "1"}}
    created = cluster.call("POST", ATTRIBUTES_CLASSES, body)
    assert created["metadata"]["finalizers"] == ["kubernetes.io/vac-protection"]


def test_an_attributes_class_that_nothing_names_is_removed_at_once(cluster: QuietCluster) -> None:
    attributes_class(cluster)

    cluster.call("DELETE", f"{ATTRIBUTES_CLASSES}/fast")

    assert not cluster.is_there(f"{ATTRIBUTES_CLASSES}/fast")


def test_an_attributes_class_is_removed_after_the_last_claim_with_it(cluster: QuietCluster) -> None:
    attributes_class(cluster)
    body = claim()
    body["spec"]["volumeAttributesClassName"] = "fast"
    cluster.call("POST", CLAIMS, body)

    cluster.call("DELETE", f"{ATTRIBUTES_CLASSES}/fast")
    assert cluster.is_there(f"{ATTRIBUTES_CLASSES}/fast")
    cluster.call("DELETE", f"{CLAIMS}/c")

    assert not cluster.is_there(f"{ATTRIBUTES_CLASSES}/fast")
