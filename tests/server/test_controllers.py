"""The controllers: namespace termination, garbage collection, and grace periods of pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MAPS, MERGE_PATCH, PODS, config_map
from tests.server.quiet_cluster import QuietCluster, pod

import masthead.server
from masthead.server import VirtualClock
from masthead_server.controllers.garbage import GarbageCollector
from masthead_server.controllers.namespaces import NamespaceController
from masthead_server.controllers.objects import ObjectClient, ObjectRef

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from masthead.server import Server
    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.wire.plain import Plain

NAMESPACES = "/api/v1/namespaces"
MISSING = "00000000-0000-0000-0000-000000000000"


def owned_by(owner: Any, *, blocks: bool = False, **rest: Any) -> Any:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["name"], "uid": owner["uid"]}
    return {**reference, "blockOwnerDeletion": blocks, **rest}


# Namespaces


def test_a_deleted_namespace_is_emptied_and_gone(cluster: QuietCluster) -> None:
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


def test_a_namespace_waits_for_the_finalizers_of_its_contents_and_reports_them(cluster: QuietCluster) -> None:
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
    assert [each["metadata"]["name"] for each in cluster.call("GET", f"{NAMESPACES}/x/configmaps")["items"]] == ["held"]

    cluster.free(held)

    assert not cluster.is_there(f"{NAMESPACES}/x")


def test_a_namespace_with_a_finalizer_of_its_own_is_emptied_and_waits(cluster: QuietCluster) -> None:
    cluster.call("POST", NAMESPACES, {"metadata": {"name": "x", "finalizers": ["example.com/one"]}})
    cluster.call("POST", f"{NAMESPACES}/x/configmaps", config_map("a"))
    cluster.call("DELETE", f"{NAMESPACES}/x")

    assert not cluster.is_there(f"{NAMESPACES}/x/configmaps/a")
    assert "finalizers" not in cluster.call("GET", f"{NAMESPACES}/x")["spec"]
    cluster.free(f"{NAMESPACES}/x")

    assert not cluster.is_there(f"{NAMESPACES}/x")


def test_pods_of_a_namespace_are_deleted_first_with_their_grace_period(cluster: QuietCluster) -> None:
    cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})
    cluster.call("POST", f"{NAMESPACES}/x/configmaps", config_map("a"))
    cluster.call("POST", f"{NAMESPACES}/x/pods", pod("a"))
    cluster.call("DELETE", f"{NAMESPACES}/x")

    cluster.server.advance(29)
    cluster.server.block_until_idle()
    assert cluster.is_there(f"{NAMESPACES}/x/pods/a")
    assert "deletionTimestamp" not in cluster.call("GET", f"{NAMESPACES}/x/configmaps/a")["metadata"]
    cluster.server.advance(1)
    cluster.server.block_until_idle()

    assert not cluster.is_there(f"{NAMESPACES}/x")


def test_nothing_can_be_created_in_a_terminating_namespace(cluster: QuietCluster) -> None:
    cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})
    cluster.call("POST", f"{NAMESPACES}/x/configmaps", config_map("held", finalizers=["example.com/one"]))
    cluster.call("DELETE", f"{NAMESPACES}/x")

    refused = cluster.caller.call("POST", f"{NAMESPACES}/x/configmaps", config_map("late"))

    assert refused.failure[:2] == (403, "Forbidden")


def test_other_requests_are_served_while_a_large_namespace_terminates(cluster: QuietCluster) -> None:
    cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})
    for index in range(300):
        cluster.caller.call("POST", f"{NAMESPACES}/x/configmaps", config_map(f"a-{index}"))

    cluster.call("DELETE", f"{NAMESPACES}/x")

    assert not cluster.is_there(f"{NAMESPACES}/x")


# Garbage


def test_in_the_background_dependents_go_after_their_owner(cluster: QuietCluster) -> None:
    owner = cluster.create("owner")
    child = cluster.create("child", owners=[owned_by(owner)])
    cluster.create("grandchild", owners=[owned_by(child)])
    cluster.create("stranger")

    cluster.delete("owner")

    assert [cluster.meta(name) for name in ("owner", "child", "grandchild")] == [None] * 3
    assert cluster.meta("stranger")


def test_orphans_stay_and_lose_their_owner_references(cluster: QuietCluster) -> None:
    owner = cluster.create("owner")
    cluster.create("child", owners=[owned_by(owner)])

    cluster.delete("owner", "Orphan")

    assert cluster.meta("owner") is None
    assert "ownerReferences" not in cluster.meta("child")


def test_in_the_foreground_dependents_that_block_go_first(cluster: QuietCluster) -> None:
    owner = cluster.create("owner")
    cluster.create("blocks", owners=[owned_by(owner, blocks=True)], finalizers=["example.com/one"])
    cluster.create("free", owners=[owned_by(owner)])

    cluster.delete("owner", "Foreground")

    assert cluster.meta("owner")["finalizers"] == ["foregroundDeletion"]
    assert cluster.meta("blocks")["deletionTimestamp"]
    assert cluster.meta("free") is None
    cluster.free(f"{MAPS}/blocks")
    assert [cluster.meta(name) for name in ("owner", "blocks")] == [None] * 2


def test_in_the_foreground_dependents_that_do_not_block_are_not_waited_for(cluster: QuietCluster) -> None:
    owner = cluster.create("owner")
    cluster.create("child", owners=[owned_by(owner)], finalizers=["example.com/one"])

    cluster.delete("owner", "Foreground")

    assert cluster.meta("owner") is None
    assert cluster.meta("child")["deletionTimestamp"]


def test_foreground_deletion_completes_when_the_last_blocking_dependent_drops_its_reference(
    cluster: QuietCluster,
) -> None:
    owner = cluster.create("owner")
    cluster.create("child", owners=[owned_by(owner, blocks=True)], finalizers=["example.com/one"])
    cluster.delete("owner", "Foreground")

    patch = {"metadata": {"ownerReferences": None}}
    cluster.call("PATCH", f"{MAPS}/child", patch, content_type=MERGE_PATCH)

    assert cluster.meta("owner") is None
    assert cluster.meta("child")


def test_one_existing_owner_keeps_a_dependent(cluster: QuietCluster) -> None:
    first, second = cluster.create("first"), cluster.create("second")
    cluster.create("child", owners=[owned_by(first), owned_by(second)])

    cluster.delete("first")
    assert [each["name"] for each in cluster.meta("child")["ownerReferences"]] == ["second"]
    cluster.delete("second")
    assert cluster.meta("child") is None


def test_an_owner_that_waits_for_its_dependents_is_not_enough(cluster: QuietCluster) -> None:
    first, second = cluster.create("first"), cluster.create("second")
    cluster.create("child", owners=[owned_by(first, blocks=True), owned_by(second)])

    cluster.delete("first", "Foreground")

    assert cluster.meta("first") is None
    assert [each["name"] for each in cluster.meta("child")["ownerReferences"]] == ["second"]


def test_a_cycle_of_blocking_owners_is_broken(cluster: QuietCluster) -> None:
    first = cluster.create("first")
    second = cluster.create("second", owners=[owned_by(first, blocks=True)])
    patch = {"metadata": {"ownerReferences": [owned_by(second, blocks=True)]}}
    cluster.call("PATCH", f"{MAPS}/first", patch, content_type=MERGE_PATCH)

    cluster.delete("first", "Foreground")

    assert [cluster.meta(name) for name in ("first", "second")] == [None] * 2


@pytest.mark.parametrize(
    "reference",
    [
        {"name": "never", "uid": MISSING},
        {"name": "other", "uid": MISSING},
        {"kind": "Pod", "name": "other", "uid": MISSING},
    ],
    ids=["never there", "another of that name", "another kind"],
)
def test_objects_of_owners_that_do_not_exist_are_collected(cluster: QuietCluster, reference: Any) -> None:
    cluster.create("other")

    cluster.create("child", owners=[owned_by({"name": "", "uid": ""}) | reference])

    assert cluster.meta("child") is None


def test_owners_of_kinds_that_are_not_served_count_as_existing(cluster: QuietCluster) -> None:
    reference = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": MISSING}

    cluster.create("child", owners=[reference])

    assert cluster.meta("child")


def test_an_owner_is_looked_up_in_the_namespace_of_its_dependent(cluster: QuietCluster) -> None:
    cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})
    owner = cluster.create("owner")
    body = config_map("child")
    body["metadata"]["ownerReferences"] = [owned_by(owner)]

    cluster.call("POST", f"{NAMESPACES}/x/configmaps", body)

    assert not cluster.is_there(f"{NAMESPACES}/x/configmaps/child")


def test_owners_may_be_of_another_kind_and_without_a_namespace(cluster: QuietCluster) -> None:
    owner = cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})["metadata"]
    cluster.create("child", owners=[owned_by(owner, kind="Namespace")])
    assert cluster.meta("child")

    cluster.call("DELETE", f"{NAMESPACES}/x")

    assert cluster.meta("child") is None


def test_replica_sets_and_pods_go_with_their_deployment(cluster: QuietCluster) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    apps = "/apis/apps/v1/namespaces/default"
    meta = cluster.call("POST", f"{apps}/deployments", {"metadata": {"name": "web"}, "spec": spec})["metadata"]
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
    cluster.server.block_until_idle()

    assert not cluster.is_there(f"{PODS}/web-1-a")
    assert not cluster.is_there(f"{apps}/replicasets/web-1")
    assert not cluster.is_there(f"{apps}/deployments/web")


# Pods and volumes


def test_a_pod_with_a_finalizer_ends_in_time_and_stays_until_it_is_free(cluster: QuietCluster) -> None:
    body = pod("a")
    body["metadata"]["finalizers"] = ["example.com/one"]
    cluster.call("POST", PODS, body)
    cluster.call("DELETE", f"{PODS}/a")

    cluster.server.advance(30)
    cluster.server.block_until_idle()
    assert cluster.call("GET", f"{PODS}/a")["metadata"]["deletionGracePeriodSeconds"] == 0
    cluster.free(f"{PODS}/a")

    assert not cluster.is_there(f"{PODS}/a")


def test_another_pod_of_the_same_name_does_not_end_in_the_time_of_the_first(cluster: QuietCluster) -> None:
    cluster.call("POST", PODS, pod("a"))
    cluster.call("DELETE", f"{PODS}/a")
    cluster.call("DELETE", f"{PODS}/a?gracePeriodSeconds=0")
    cluster.call("POST", PODS, pod("a"))

    cluster.server.advance(60)
    cluster.server.block_until_idle()

    assert cluster.is_there(f"{PODS}/a")


# Starting, stopping, and doing without


def test_a_deletion_continues_after_a_restart(tmp_path: Path) -> None:
    with masthead.server.run(data=tmp_path / "data", token=None, clock=VirtualClock) as server:
        cluster = QuietCluster(server)
        cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})
        cluster.call("POST", f"{NAMESPACES}/x/pods", pod("a"))
        cluster.call("DELETE", f"{NAMESPACES}/x")
        owner = cluster.create("owner")
        cluster.create("child", owners=[owned_by(owner, blocks=True)], finalizers=["example.com/one"])
        cluster.delete("owner", "Foreground")
        cluster.caller.close()
    with masthead.server.run(data=tmp_path / "data", token=None, clock=VirtualClock) as server:
        cluster = QuietCluster(server)
        server.block_until_idle()
        assert cluster.is_there(f"{NAMESPACES}/x/pods/a")
        server.advance(31)
        server.block_until_idle()
        assert not cluster.is_there(f"{NAMESPACES}/x")
        cluster.free(f"{MAPS}/child")
        assert cluster.meta("owner") is None
        cluster.caller.close()


def test_a_server_without_controllers_leaves_their_work_to_others(tmp_path: Path) -> None:
    with masthead.server.run(data=tmp_path / "data", token=None, controllers=False) as server:
        cluster = QuietCluster(server)
        cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})
        cluster.call("DELETE", f"{NAMESPACES}/x")
        cluster.create("child", owners=[owned_by({"name": "never", "uid": MISSING})])
        assert cluster.is_there(f"{NAMESPACES}/x")
        assert cluster.meta("child")
        cluster.caller.close()
    with masthead.server.run(data=tmp_path / "data", token=None) as server:
        cluster = QuietCluster(server)
        server.block_until_idle()
        assert not cluster.is_there(f"{NAMESPACES}/x")
        assert cluster.meta("child") is None
        cluster.caller.close()


def test_a_server_runs_only_the_enabled_controllers() -> None:
    with masthead.server.run(token=None, controllers=["garbage"]) as server:
        cluster = QuietCluster(server)
        cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})
        cluster.call("DELETE", f"{NAMESPACES}/x")
        cluster.create("child", owners=[owned_by({"name": "never", "uid": MISSING})])
        server.block_until_idle()
        assert cluster.is_there(f"{NAMESPACES}/x")
        assert cluster.meta("child") is None
        cluster.caller.close()


@pytest.mark.parametrize(
    ("controllers", "problem"),
    [
        (["gc"], "there is no controller 'gc'; there are namespaces, garbage, pods, volumes, deletions"),
        ("garbage", "controllers must be a bool or a list of names, not 'garbage'"),
    ],
)
def test_an_unknown_controller_is_rejected(controllers: Any, problem: str) -> None:
    with (
        pytest.raises(masthead.errors.ConfigError, match=problem),
        masthead.server.run(token=None, controllers=controllers),
    ):
        pass


def test_owner_references_are_dropped_with_the_objects(cluster: QuietCluster) -> None:
    owner = cluster.create("owner")
    cluster.create("child", owners=[owned_by(owner)])
    cluster.delete("owner")

    garbage = cluster.server._controllers.controllers["garbage"]
    assert isinstance(garbage, GarbageCollector)
    assert (garbage._references, garbage._dependents) == ({}, {})


# Many objects


class CountingClient(ObjectClient):
    """Counts the objects that controllers load."""

    loads = 0

    def load(self, ref: ObjectRef) -> Plain | None:
        self.loads += 1
        return super().load(ref)

    def within(self, namespace: str, *, only: str = "") -> Iterator[ObjectRef]:
        for each in super().within(namespace, only=only):
            self.loads += 1
            yield each


def counted(server: Server) -> CountingClient:
    """Count the objects that a server's controllers load from now on."""
    controllers = server._controllers
    client = CountingClient(server._cluster)
    for controller in controllers.controllers.values():
        controller._client = client  # type: ignore[attr-defined]
    return client


def loads_for_each(cluster: QuietCluster, paths: list[str]) -> list[int]:
    """Remove finalizers one by one; returns how many objects were loaded after each."""
    client = counted(cluster.server)
    loads: list[int] = []
    for path in paths:
        before = client.loads
        cluster.free(path)
        loads.append(client.loads - before)
    return loads


def test_the_cost_of_a_removal_does_not_depend_on_the_size_of_the_namespace(cluster: QuietCluster) -> None:
    cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})
    names = [f"held-{index}" for index in range(10)]
    for name in names:
        cluster.call("POST", f"{NAMESPACES}/x/configmaps", config_map(name, finalizers=["example.com/one"]))
    cluster.call("DELETE", f"{NAMESPACES}/x")
    revision = cluster.server.revision

    loads = loads_for_each(cluster, [f"{NAMESPACES}/x/configmaps/{name}" for name in names])

    assert len(set(loads[:-1])) == 1
    assert cluster.server.revision - revision == 2 * len(names) + 1  # removed, reported, and the namespace itself
    assert not cluster.is_there(f"{NAMESPACES}/x")


def test_the_cost_of_removing_a_dependent_does_not_depend_on_the_number_of_others(
    cluster: QuietCluster,
) -> None:
    owner = cluster.create("owner")
    names = [f"held-{index}" for index in range(10)]
    for name in names:
        cluster.create(name, owners=[owned_by(owner, blocks=True)], finalizers=["example.com/one"])
    cluster.delete("owner", "Foreground")

    loads = loads_for_each(cluster, [f"{MAPS}/{name}" for name in names])

    assert len(set(loads[:-1])) == 1
    assert cluster.meta("owner") is None


def test_the_counts_of_a_namespace_are_dropped_with_it(cluster: QuietCluster) -> None:
    cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})
    cluster.call("POST", f"{NAMESPACES}/x/configmaps", config_map("a"))
    cluster.call("DELETE", f"{NAMESPACES}/x")

    namespaces = cluster.server._controllers.controllers["namespaces"]
    assert isinstance(namespaces, NamespaceController)
    assert namespaces._contents == {}


# Steps of time


@pytest.mark.parametrize("steps", [[60], [30, 30], [1] * 60, [59.5, 0.5]], ids=["one", "two", "sixty", "odd"])
def test_the_result_does_not_depend_on_the_steps_of_the_clock(cluster: QuietCluster, steps: list[float]) -> None:
    owner = cluster.call("POST", PODS, pod("owner"))["metadata"]
    body = pod("child")
    body["metadata"] |= {"ownerReferences": [owned_by(owner, kind="Pod")], "finalizers": ["example.com/one"]}
    cluster.call("POST", PODS, body)
    cluster.call("DELETE", f"{PODS}/owner")

    for seconds in steps:
        cluster.server.advance(seconds)

    child = cluster.call("GET", f"{PODS}/child")["metadata"]
    assert (
        child["deletionTimestamp"] == "2026-01-01T00:00:30Z"
    )  # when its deletion began: its grace period is cut short then
    assert child["deletionGracePeriodSeconds"] == 0
    cluster.free(f"{PODS}/child")
    assert not cluster.is_there(f"{PODS}/child")


def test_a_grace_period_shortened_to_the_elapsed_time_is_over(cluster: QuietCluster) -> None:
    cluster.call("POST", PODS, pod("a"))
    cluster.call("DELETE", f"{PODS}/a")
    cluster.server.advance(20)

    cluster.call("DELETE", f"{PODS}/a?gracePeriodSeconds=10")

    assert not cluster.is_there(f"{PODS}/a")


def test_a_controller_that_fails_at_a_write_tries_again_and_disturbs_nobody(
    cluster: QuietCluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    garbage = cluster.server._controllers.controllers["garbage"]
    observe, failures = garbage.observe, iter(range(2))

    def fail_at_first(write: ObservedWrite) -> Iterable[ObjectRef]:
        if write.ref.name == "orphan" and next(failures, None) is not None:
            raise ValueError("an exit code that is text")
        return observe(write)

    monkeypatch.setattr(garbage, "observe", fail_at_first)
    cluster.create("orphan", owners=[owned_by({"name": "missing", "uid": MISSING})])
    assert cluster.meta("orphan") is not None
    assert "the controller garbage failed at a write of" in caplog.text

    cluster.server.advance(1)
    cluster.server.block_until_idle()

    assert cluster.meta("orphan") is None


def test_a_later_write_replaces_one_at_which_a_controller_failed(
    cluster: QuietCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    garbage = cluster.server._controllers.controllers["garbage"]
    observe, labels = garbage.observe, list[object]()

    def fail_without_label(write: ObservedWrite) -> Iterable[ObjectRef]:
        if write.ref.name == "mine":
            labels.append(b"seen" in write.record.value)
            if not labels[-1]:
                raise ValueError("not yet")
        return observe(write)

    monkeypatch.setattr(garbage, "observe", fail_without_label)
    cluster.create("mine")
    cluster.call("PATCH", f"{MAPS}/mine", {"metadata": {"labels": {"seen": "yes"}}}, content_type=MERGE_PATCH)
    cluster.server.advance(10)

    assert labels == [False, False, True]
