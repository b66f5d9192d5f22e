"""Claims and volumes: binding, provisioning, release and growth."""

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
CLAIMS = f"{CORE}/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"


@pytest.fixture
def cluster() -> Iterator[QuietCluster]:
    with masthead.server.run(clock=VirtualClock, token=None, workloads=True) as running:
        made = QuietCluster(running)
        yield made
        made.caller.close()


def add_volume(cluster: QuietCluster, name: str, size: str = "1Gi", **spec: Any) -> None:
    body = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/data"},
        "persistentVolumeReclaimPolicy": "Retain",
        **spec,
    }
    labels = body.pop("labels", {})
    cluster.call("POST", VOLUMES, {"metadata": {"name": name, "labels": labels}, "spec": body})


def add_class(cluster: QuietCluster, name: str, **rest: Any) -> None:
    cluster.call("POST", CLASSES, {"metadata": {"name": name}, "provisioner": "disk.csi.example.com", **rest})


def add_claim(cluster: QuietCluster, name: str = "data", size: str = "1Gi", **spec: Any) -> None:
    requests = {"resources": {"requests": {"storage": size}}}
    body = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", **requests, **spec}
    cluster.call("POST", CLAIMS, {"metadata": {"name": name}, "spec": body})


def claim(cluster: QuietCluster, name: str = "data") -> Any:
    return cluster.call("GET", f"{CLAIMS}/{name}")


def volume(cluster: QuietCluster, name: str) -> Any:
    return cluster.call("GET", f"{VOLUMES}/{name}")


def add_pod(cluster: QuietCluster, claim_name: str, **spec: Any) -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}]
    body = {"containers": [{"name": "web", "image": "nginx"}], "volumes": volumes, **spec}
    cluster.call("POST", f"{CORE}/pods", {"metadata": {"name": "web"}, "spec": body})


def reasons(cluster: QuietCluster) -> list[str]:
    return [event["reason"] for event in cluster.call("GET", f"{CORE}/events")["items"]]


def test_a_claim_gets_the_smallest_volume_that_fits(cluster: QuietCluster) -> None:
    add_volume(cluster, "large", "9Gi")
    add_volume(cluster, "fitting", "2Gi")
    add_volume(cluster, "small", "500Mi")
    add_claim(cluster)

    bound = claim(cluster)
    assert bound["spec"]["volumeName"] == "fitting"
    assert bound["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "2Gi"}}
    assert bound["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    assert volume(cluster, "fitting")["spec"]["claimRef"]["uid"] == bound["metadata"]["uid"]
    assert volume(cluster, "fitting")["status"]["phase"] == "Bound"
    assert volume(cluster, "large")["status"]["phase"] == "Available"


@pytest.mark.parametrize(
    "wanted",
    [
        {"accessModes": ["ReadWriteMany"]},
        {"volumeMode": "Block"},
        {"selector": {"matchLabels": {"tier": "gold"}}},
        {"resources": {"requests": {"storage": "2Gi"}}},
        {"storageClassName": "other"},
    ],
    ids=["access", "mode", "labels", "size", "class"],
)
def test_a_volume_that_does_not_fit_stays_available(cluster: QuietCluster, wanted: dict[str, Any]) -> None:
    add_volume(cluster, "one", labels={"tier": "silver"})
    add_claim(cluster, **wanted)

    assert claim(cluster)["status"] == {"phase": "Pending"}
    assert volume(cluster, "one")["status"]["phase"] == "Available"


def test_a_claim_without_a_class_is_bound_when_a_volume_comes(cluster: QuietCluster) -> None:
    add_claim(cluster)
    assert "FailedBinding" in reasons(cluster)

    add_volume(cluster, "late")

    assert claim(cluster)["spec"]["volumeName"] == "late"


def test_a_reserved_volume_waits_for_its_claim(cluster: QuietCluster) -> None:
    add_volume(cluster, "reserved", "9Gi", claimRef={"namespace": "default", "name": "data"})
    add_volume(cluster, "smaller", "1Gi")
    add_claim(cluster, "other")
    add_claim(cluster)

    assert claim(cluster, "other")["spec"]["volumeName"] == "smaller"
    assert claim(cluster)["spec"]["volumeName"] == "reserved"


def test_a_class_provisions_a_volume(cluster: QuietCluster) -> None:
    add_class(cluster, "fast", mountOptions=["noatime"])
    add_claim(cluster, storageClassName="fast")

    made = volume(cluster, claim(cluster)["spec"]["volumeName"])
    assert made["metadata"]["name"] == f"pvc-{claim(cluster)['metadata']['uid']}"
    assert made["metadata"]["annotations"] == {"pv.kubernetes.io/provisioned-by": "disk.csi.example.com"}
    assert made["spec"]["csi"]["driver"] == "disk.csi.example.com"
    assert (made["spec"]["mountOptions"], made["spec"]["persistentVolumeReclaimPolicy"]) == (["noatime"], "Delete")
    assert claim(cluster)["status"]["phase"] == "Bound"
    assert {"ExternalProvisioning", "ProvisioningSucceeded"} <= set(reasons(cluster))


def test_a_provisioner_before_csi_makes_a_folder(cluster: QuietCluster) -> None:
    add_class(cluster, "old", provisioner="example.com/nfs")
    add_claim(cluster, storageClassName="old")

    assert "hostPath" in volume(cluster, claim(cluster)["spec"]["volumeName"])["spec"]


def test_a_claim_of_an_unknown_class_waits_for_the_class(cluster: QuietCluster) -> None:
    add_claim(cluster, storageClassName="fast")
    assert reasons(cluster) == ["ProvisioningFailed"]

    add_class(cluster, "fast")

    assert claim(cluster)["status"]["phase"] == "Bound"


def test_a_class_without_a_provisioner_makes_no_volume(cluster: QuietCluster) -> None:
    add_class(cluster, "manual", provisioner="kubernetes.io/no-provisioner")
    add_claim(cluster, storageClassName="manual")
    assert claim(cluster)["status"]["phase"] == "Pending"

    add_volume(cluster, "mine", storageClassName="manual")

    assert claim(cluster)["spec"]["volumeName"] == "mine"


def test_a_delayed_claim_waits_for_a_pod_with_a_node(cluster: QuietCluster) -> None:
    add_class(cluster, "local", provisioner="rancher.io/local-path", volumeBindingMode="WaitForFirstConsumer")
    add_claim(cluster, storageClassName="local")
    assert reasons(cluster) == ["WaitForFirstConsumer"]

    add_pod(cluster, "data", nodeName="n1")

    assert claim(cluster)["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == "n1"
    required = volume(cluster, claim(cluster)["spec"]["volumeName"])["spec"]["nodeAffinity"]["required"]
    assert required["nodeSelectorTerms"][0]["matchExpressions"][0]["values"] == ["n1"]


def test_a_provisioned_volume_is_deleted_with_its_claim(cluster: QuietCluster) -> None:
    add_class(cluster, "fast")
    add_claim(cluster, storageClassName="fast")
    cluster.call("DELETE", f"{CLAIMS}/data")

    assert cluster.call("GET", VOLUMES)["items"] == []


@pytest.mark.parametrize(("policy", "phase"), [("Retain", "Released"), ("Recycle", "Available")])
def test_a_released_volume_follows_its_policy(cluster: QuietCluster, policy: str, phase: str) -> None:
    add_volume(cluster, "one", persistentVolumeReclaimPolicy=policy)
    add_claim(cluster)
    cluster.call("DELETE", f"{CLAIMS}/data")

    assert volume(cluster, "one")["status"]["phase"] == phase


def test_a_claim_whose_volume_is_gone_is_lost(cluster: QuietCluster) -> None:
    add_volume(cluster, "one")
    add_claim(cluster)
    cluster.call("DELETE", f"{VOLUMES}/one")
    cluster.free(f"{VOLUMES}/one")

    assert claim(cluster)["status"] == {"phase": "Lost"}
    assert "ClaimLost" in reasons(cluster)


def test_a_claim_grows_if_its_class_allows_it(cluster: QuietCluster) -> None:
    add_class(cluster, "fast", allowVolumeExpansion=True)
    add_claim(cluster, storageClassName="fast")
    larger = {"spec": {"resources": {"requests": {"storage": "3Gi"}}}}
    cluster.call("PATCH", f"{CLAIMS}/data", larger, content_type=MERGE_PATCH)

    assert claim(cluster)["status"]["capacity"] == {"storage": "3Gi"}
    assert volume(cluster, claim(cluster)["spec"]["volumeName"])["spec"]["capacity"] == {"storage": "3Gi"}


def test_an_ephemeral_volume_gets_a_claim_of_its_pod(cluster: QuietCluster) -> None:
    add_class(cluster, "fast")
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    spec = {"containers": [{"name": "web", "image": "nginx"}], "volumes": volumes}
    cluster.call("POST", f"{CORE}/pods", {"metadata": {"name": "web"}, "spec": spec})

    made = claim(cluster, "web-scratch")
    assert (made["status"]["phase"], made["metadata"]["labels"]) == ("Bound", {"app": "web"})
    assert made["metadata"]["ownerReferences"][0]["kind"] == "Pod"
