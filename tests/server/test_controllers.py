"""What the controllers do: namespaces come to an end, garbage is collected, pods end in time, volumes are let go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MERGE_PATCH, Caller, config_map

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from masthead.server import Server

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
NAMESPACES = "/api/v1/namespaces"
NOBODY = "00000000-0000-0000-0000-000000000000"


class Cluster:
    """A server at rest between one call and the next."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.caller = Caller(server.url)

    def call(
        self, method: str, path: str, body: object = None, *, content_type: str = "application/json"
    ) -> Any:
        answer = self.caller.call(method, path, body, content_type=content_type)
        assert answer.code < 300, answer.body
        self.server.wait_until_quiet()
        return answer.json

    def create(self, name: str, *, owners: list[Any] | None = None, **meta: Any) -> Any:
        """Create a config map; returns its metadata."""
        body = config_map(name)
        body["metadata"] |= {"ownerReferences": owners or [], **meta}
        return self.call("POST", MAPS, body)["metadata"]

    def delete(self, name: str, policy: str = "Background") -> None:
        self.call("DELETE", f"{MAPS}/{name}", {"propagationPolicy": policy})

    def free(self, path: str) -> None:
        """Take an object's finalizers off."""
        self.call("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE_PATCH)

    def meta(self, name: str) -> Any:
        """A config map's metadata; None if it is gone."""
        answer = self.caller.call("GET", f"{MAPS}/{name}")
        return answer.json["metadata"] if answer.code == 200 else None

    def is_there(self, path: str) -> bool:
        return self.caller.call("GET", path).code == 200


def owned_by(owner: Any, *, blocks: bool = False, **rest: Any) -> Any:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["name"], "uid": owner["uid"]}
    return {**reference, "blockOwnerDeletion": blocks, **rest}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with masthead.server.run(clock=VirtualClock(), token=None) as server:
        made = Cluster(server)
        yield made
        made.caller.close()


def pod(name: str, **rest: Any) -> Any:
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}], **rest}
    return {"metadata": {"name": name}, "spec": spec}


# Namespaces


def test_a_deleted_namespace_is_emptied_and_gone(cluster: Cluster) -> None:
    cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})
    for path in ("configmaps", "secrets", "services"):
        body: Any = {"metadata": {"name": "a"}}
        if path == "services":
            body["spec"] = {"ports": [{"port": 80}]}
        cluster.call("POST", f"{NAMESPACES}/x/{path}", body)

    gone = cluster.call("DELETE", f"{NAMESPACES}/x")

    assert gone["status"]["phase"] == "Terminating"
    assert not cluster.is_there(f"{NAMESPACES}/x")
    assert cluster.call("GET", f"{NAMESPACES}/x/configmaps")["items"] == []
    assert cluster.call("GET", f"{NAMESPACES}/x/secrets")["items"] == []


def test_a_namespace_waits_for_finalizers_of_what_it_holds_and_says_so(cluster: Cluster) -> None:
    cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})
    held = f"{NAMESPACES}/x/configmaps/held"
    cluster.call("POST", f"{NAMESPACES}/x/configmaps", config_map("held", finalizers=["example.com/one"]))
    cluster.call("POST", f"{NAMESPACES}/x/configmaps", config_map("free"))
    cluster.call("DELETE", f"{NAMESPACES}/x")

    waiting = cluster.call("GET", f"{NAMESPACES}/x")
    conditions = {each["type"]: each for each in waiting["status"]["conditions"]}
    assert {kind: each["status"] for kind, each in conditions.items()} == {
        "NamespaceDeletionDiscoveryFailure": "False",
        "NamespaceDeletionGroupVersionParsingFailure": "False",
        "NamespaceDeletionContentFailure": "False",
        "NamespaceContentRemaining": "True",
        "NamespaceFinalizersRemaining": "True",
    }
    assert (
        conditions["NamespaceContentRemaining"]["message"]
        == "Some resources are remaining: configmaps. has 1 resource instances"
    )
    assert (
        conditions["NamespaceFinalizersRemaining"]["message"]
        == "Some content in the namespace has finalizers remaining: example.com/one in 1 resource instances"
    )
    assert [
        each["metadata"]["name"] for each in cluster.call("GET", f"{NAMESPACES}/x/configmaps")["items"]
    ] == ["held"]

    cluster.free(held)

    assert not cluster.is_there(f"{NAMESPACES}/x")


def test_a_namespace_with_a_finalizer_of_its_own_is_emptied_and_waits(cluster: Cluster) -> None:
    cluster.call("POST", NAMESPACES, {"metadata": {"name": "x", "finalizers": ["example.com/one"]}})
    cluster.call("POST", f"{NAMESPACES}/x/configmaps", config_map("a"))
    cluster.call("DELETE", f"{NAMESPACES}/x")

    assert not cluster.is_there(f"{NAMESPACES}/x/configmaps/a")
    assert "finalizers" not in cluster.call("GET", f"{NAMESPACES}/x")["spec"]
    cluster.free(f"{NAMESPACES}/x")

    assert not cluster.is_there(f"{NAMESPACES}/x")


def test_pods_go_before_everything_else_of_a_namespace_and_have_their_time(cluster: Cluster) -> None:
    cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})
    cluster.call("POST", f"{NAMESPACES}/x/configmaps", config_map("a"))
    cluster.call("POST", f"{NAMESPACES}/x/pods", pod("a"))
    cluster.call("DELETE", f"{NAMESPACES}/x")

    cluster.server.advance(29)
    cluster.server.wait_until_quiet()
    assert cluster.is_there(f"{NAMESPACES}/x/pods/a")
    assert "deletionTimestamp" not in cluster.call("GET", f"{NAMESPACES}/x/configmaps/a")["metadata"]
    cluster.server.advance(1)
    cluster.server.wait_until_quiet()

    assert not cluster.is_there(f"{NAMESPACES}/x")


def test_nothing_can_be_made_in_a_namespace_that_goes(cluster: Cluster) -> None:
    cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})
    cluster.call("POST", f"{NAMESPACES}/x/configmaps", config_map("held", finalizers=["example.com/one"]))
    cluster.call("DELETE", f"{NAMESPACES}/x")

    refused = cluster.caller.call("POST", f"{NAMESPACES}/x/configmaps", config_map("late"))

    assert refused.failure[:2] == (403, "Forbidden")


def test_a_large_namespace_goes_while_others_are_served(cluster: Cluster) -> None:
    cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})
    for index in range(300):
        cluster.caller.call("POST", f"{NAMESPACES}/x/configmaps", config_map(f"a-{index}"))

    cluster.call("DELETE", f"{NAMESPACES}/x")

    assert not cluster.is_there(f"{NAMESPACES}/x")


# Garbage


def test_in_the_background_dependents_go_after_their_owner(cluster: Cluster) -> None:
    owner = cluster.create("owner")
    child = cluster.create("child", owners=[owned_by(owner)])
    cluster.create("grandchild", owners=[owned_by(child)])
    cluster.create("stranger")

    cluster.delete("owner")

    assert [cluster.meta(name) for name in ("owner", "child", "grandchild")] == [None] * 3
    assert cluster.meta("stranger")


def test_orphans_stay_and_belong_to_nobody(cluster: Cluster) -> None:
    owner = cluster.create("owner")
    cluster.create("child", owners=[owned_by(owner)])

    cluster.delete("owner", "Orphan")

    assert cluster.meta("owner") is None
    assert "ownerReferences" not in cluster.meta("child")


def test_in_the_foreground_dependents_that_block_go_first(cluster: Cluster) -> None:
    owner = cluster.create("owner")
    cluster.create("blocks", owners=[owned_by(owner, blocks=True)], finalizers=["example.com/one"])
    cluster.create("free", owners=[owned_by(owner)])

    cluster.delete("owner", "Foreground")

    assert cluster.meta("owner")["finalizers"] == ["foregroundDeletion"]
    assert cluster.meta("blocks")["deletionTimestamp"]
    assert cluster.meta("free") is None
    cluster.free(f"{MAPS}/blocks")
    assert [cluster.meta(name) for name in ("owner", "blocks")] == [None] * 2


def test_in_the_foreground_dependents_that_do_not_block_are_not_waited_for(cluster: Cluster) -> None:
    owner = cluster.create("owner")
    cluster.create("child", owners=[owned_by(owner)], finalizers=["example.com/one"])

    cluster.delete("owner", "Foreground")

    assert cluster.meta("owner") is None
    assert cluster.meta("child")["deletionTimestamp"]


def test_an_owner_in_the_foreground_goes_when_the_last_that_blocks_turns_away(cluster: Cluster) -> None:
    owner = cluster.create("owner")
    cluster.create("child", owners=[owned_by(owner, blocks=True)], finalizers=["example.com/one"])
    cluster.delete("owner", "Foreground")

    patch = {"metadata": {"ownerReferences": None}}
    cluster.call("PATCH", f"{MAPS}/child", patch, content_type=MERGE_PATCH)

    assert cluster.meta("owner") is None
    assert cluster.meta("child")


def test_one_owner_is_enough_to_stay(cluster: Cluster) -> None:
    first, second = cluster.create("first"), cluster.create("second")
    cluster.create("child", owners=[owned_by(first), owned_by(second)])

    cluster.delete("first")
    assert [each["name"] for each in cluster.meta("child")["ownerReferences"]] == ["second"]
    cluster.delete("second")
    assert cluster.meta("child") is None


def test_an_owner_that_waits_for_its_dependents_is_not_enough(cluster: Cluster) -> None:
    first, second = cluster.create("first"), cluster.create("second")
    cluster.create("child", owners=[owned_by(first, blocks=True), owned_by(second)])

    cluster.delete("first", "Foreground")

    assert cluster.meta("first") is None
    assert [each["name"] for each in cluster.meta("child")["ownerReferences"]] == ["second"]


def test_a_circle_that_blocks_itself_is_broken(cluster: Cluster) -> None:
    first = cluster.create("first")
    second = cluster.create("second", owners=[owned_by(first, blocks=True)])
    patch = {"metadata": {"ownerReferences": [owned_by(second, blocks=True)]}}
    cluster.call("PATCH", f"{MAPS}/first", patch, content_type=MERGE_PATCH)

    cluster.delete("first", "Foreground")

    assert [cluster.meta(name) for name in ("first", "second")] == [None] * 2


@pytest.mark.parametrize(
    "reference",
    [
        {"name": "never", "uid": NOBODY},
        {"name": "other", "uid": NOBODY},
        {"kind": "Pod", "name": "other", "uid": NOBODY},
    ],
    ids=["never there", "another of that name", "another kind"],
)
def test_objects_of_owners_that_are_not_there_are_collected(cluster: Cluster, reference: Any) -> None:
    cluster.create("other")

    cluster.create("child", owners=[owned_by({"name": "", "uid": ""}) | reference])

    assert cluster.meta("child") is None


def test_owners_of_kinds_that_are_not_served_count_as_there(cluster: Cluster) -> None:
    reference = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": NOBODY}

    cluster.create("child", owners=[reference])

    assert cluster.meta("child")


def test_an_owner_is_looked_for_in_the_namespace_of_what_it_owns(cluster: Cluster) -> None:
    cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})
    owner = cluster.create("owner")
    body = config_map("child")
    body["metadata"]["ownerReferences"] = [owned_by(owner)]

    cluster.call("POST", f"{NAMESPACES}/x/configmaps", body)

    assert not cluster.is_there(f"{NAMESPACES}/x/configmaps/child")


def test_owners_may_be_of_another_kind_and_without_a_namespace(cluster: Cluster) -> None:
    owner = cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})["metadata"]
    cluster.create("child", owners=[owned_by(owner, kind="Namespace")])
    assert cluster.meta("child")

    cluster.call("DELETE", f"{NAMESPACES}/x")

    assert cluster.meta("child") is None


def test_replica_sets_and_pods_go_with_their_deployment(cluster: Cluster) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    apps = "/apis/apps/v1/namespaces/default"
    meta = cluster.call("POST", f"{apps}/deployments", {"metadata": {"name": "web"}, "spec": spec})[
        "metadata"
    ]
    owner = owned_by(meta, blocks=True, apiVersion="apps/v1", kind="Deployment")
    body = {"metadata": {"name": "web-1", "ownerReferences": [owner]}, "spec": spec}
    meta = cluster.call("POST", f"{apps}/replicasets", body)["metadata"]
    owner = owned_by(meta, blocks=True, apiVersion="apps/v1", kind="ReplicaSet")
    body = pod("web-1-a")
    body["metadata"]["ownerReferences"] = [owner]
    cluster.call("POST", PODS, body)

    cluster.call("DELETE", f"{apps}/deployments/web", {"propagationPolicy": "Foreground"})
    assert cluster.is_there(f"{apps}/deployments/web")
    assert cluster.is_there(f"{apps}/replicasets/web-1")
    cluster.server.advance(30)
    cluster.server.wait_until_quiet()

    assert not cluster.is_there(f"{PODS}/web-1-a")
    assert not cluster.is_there(f"{apps}/replicasets/web-1")
    assert not cluster.is_there(f"{apps}/deployments/web")


# Pods and volumes


def test_a_pod_with_a_finalizer_ends_in_time_and_stays_until_it_is_free(cluster: Cluster) -> None:
    body = pod("a")
    body["metadata"]["finalizers"] = ["example.com/one"]
    cluster.call("POST", PODS, body)
    cluster.call("DELETE", f"{PODS}/a")

    cluster.server.advance(30)
    cluster.server.wait_until_quiet()
    assert cluster.call("GET", f"{PODS}/a")["metadata"]["deletionGracePeriodSeconds"] == 0
    cluster.free(f"{PODS}/a")

    assert not cluster.is_there(f"{PODS}/a")


def test_another_pod_of_the_same_name_does_not_end_in_the_time_of_the_first(cluster: Cluster) -> None:
    cluster.call("POST", PODS, pod("a"))
    cluster.call("DELETE", f"{PODS}/a")
    cluster.call("DELETE", f"{PODS}/a?gracePeriodSeconds=0")
    cluster.call("POST", PODS, pod("a"))

    cluster.server.advance(60)
    cluster.server.wait_until_quiet()

    assert cluster.is_there(f"{PODS}/a")


def claim() -> Any:
    resources = {"requests": {"storage": "1Gi"}}
    return {"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources}}


def test_a_claim_that_nothing_uses_goes_at_once(cluster: Cluster) -> None:
    path = "/api/v1/namespaces/default/persistentvolumeclaims"
    made = cluster.call("POST", path, claim())
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]

    cluster.call("DELETE", f"{path}/c")

    assert not cluster.is_there(f"{path}/c")


def test_a_claim_that_a_pod_uses_goes_after_the_pod(cluster: Cluster) -> None:
    path = "/api/v1/namespaces/default/persistentvolumeclaims"
    cluster.call("POST", path, claim())
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    cluster.call("POST", PODS, pod("a", volumes=volumes))

    cluster.call("DELETE", f"{path}/c")
    assert cluster.is_there(f"{path}/c")
    cluster.call("DELETE", f"{PODS}/a?gracePeriodSeconds=0")

    assert not cluster.is_there(f"{path}/c")


def test_a_volume_that_is_bound_stays_until_it_is_not(cluster: Cluster) -> None:
    path = "/api/v1/persistentvolumes"
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    cluster.call("POST", path, {"metadata": {"name": "v"}, "spec": spec})
    for phase, stays in (("Bound", True), ("Released", False)):
        cluster.call("PATCH", f"{path}/v/status", {"status": {"phase": phase}}, content_type=MERGE_PATCH)
        if phase == "Bound":
            cluster.call("DELETE", f"{path}/v")
        assert cluster.is_there(f"{path}/v") is stays


# Starting, stopping, and doing without


def test_a_deletion_goes_on_where_the_last_server_left_it(tmp_path: Path) -> None:
    with masthead.server.run(data=tmp_path / "data", token=None, clock=VirtualClock()) as server:
        cluster = Cluster(server)
        cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})
        cluster.call("POST", f"{NAMESPACES}/x/pods", pod("a"))
        cluster.call("DELETE", f"{NAMESPACES}/x")
        owner = cluster.create("owner")
        cluster.create("child", owners=[owned_by(owner, blocks=True)], finalizers=["example.com/one"])
        cluster.delete("owner", "Foreground")
        cluster.caller.close()
    with masthead.server.run(data=tmp_path / "data", token=None, clock=VirtualClock()) as server:
        cluster = Cluster(server)
        server.wait_until_quiet()
        assert cluster.is_there(f"{NAMESPACES}/x/pods/a")
        server.advance(31)
        server.wait_until_quiet()
        assert not cluster.is_there(f"{NAMESPACES}/x")
        cluster.free(f"{MAPS}/child")
        assert cluster.meta("owner") is None
        cluster.caller.close()


def test_a_server_without_controllers_leaves_their_work_to_others(tmp_path: Path) -> None:
    with masthead.server.run(data=tmp_path / "data", token=None, controllers=False) as server:
        cluster = Cluster(server)
        cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})
        cluster.call("DELETE", f"{NAMESPACES}/x")
        cluster.create("child", owners=[owned_by({"name": "never", "uid": NOBODY})])
        assert cluster.is_there(f"{NAMESPACES}/x")
        assert cluster.meta("child")
        cluster.caller.close()
    with masthead.server.run(data=tmp_path / "data", token=None) as server:
        cluster = Cluster(server)
        server.wait_until_quiet()
        assert not cluster.is_there(f"{NAMESPACES}/x")
        assert cluster.meta("child") is None
        cluster.caller.close()


def test_who_belonged_to_whom_is_forgotten_with_the_objects(cluster: Cluster) -> None:
    owner = cluster.create("owner")
    cluster.create("child", owners=[owned_by(owner)])
    cluster.delete("owner")

    garbage = cluster.server._controllers._garbage
    assert (garbage._references, garbage._dependents) == ({}, {})
