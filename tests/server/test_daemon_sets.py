"""DaemonSets: a pod on every eligible node, rolled out node by node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MERGE_PATCH
from tests.server.quiet_cluster import QuietCluster

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.server import Server

APPS = "/apis/apps/v1/namespaces/default"
CORE = "/api/v1/namespaces/default"
NODES = "/api/v1/nodes"
LABELS = {"app": "agent"}
NO_EXECUTE = {"key": "maintenance", "effect": "NoExecute"}
NO_SCHEDULE = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}


class DaemonCluster(QuietCluster):
    """A cluster that knows its time."""

    def __init__(self, server: Server, clock: VirtualClock) -> None:
        super().__init__(server)
        self.clock = clock


@pytest.fixture
def cluster() -> Iterator[DaemonCluster]:
    clock = VirtualClock()
    with masthead.server.run(clock=clock, token=None, workloads=True) as running:
        made = DaemonCluster(running, clock)
        yield made
        made.caller.close()


def add_node(cluster: DaemonCluster, name: str, *, taints: list[Any] | None = None, **labels: str) -> None:
    cluster.call("POST", NODES, {"metadata": {"name": name, "labels": labels}})
    # Admission taints a new node as not ready.
    cluster.call("PATCH", f"{NODES}/{name}", {"spec": {"taints": taints}}, content_type=MERGE_PATCH)


def daemon_set(pod: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    pod_spec = {"containers": [{"name": "agent", "image": "agent:1"}], **(pod or {})}
    template = {"metadata": {"labels": LABELS}, "spec": pod_spec}
    return {"metadata": {"name": "agent"}, "spec": {"selector": {"matchLabels": LABELS}, "template": template, **spec}}


def create(cluster: DaemonCluster, pod: dict[str, Any] | None = None, **spec: Any) -> None:
    cluster.call("POST", f"{APPS}/daemonsets", daemon_set(pod, **spec))


def change_image(cluster: DaemonCluster, image: str) -> None:
    body = {"spec": {"template": {"spec": {"containers": [{"name": "agent", "image": image}]}}}}
    cluster.call("PATCH", f"{APPS}/daemonsets/agent", body, content_type=MERGE_PATCH)


def pods(cluster: DaemonCluster) -> list[Any]:
    found: list[Any] = cluster.call("GET", f"{CORE}/pods")["items"]
    return found


def node_of(pod: Any) -> str:
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    name: str = required["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]
    return name


def nodes(cluster: DaemonCluster) -> list[str]:
    return sorted(node_of(pod) for pod in pods(cluster) if "deletionTimestamp" not in pod["metadata"])


def bind_all(cluster: DaemonCluster) -> None:
    """Bind the pods to their nodes, as the scheduler does."""
    for pod in pods(cluster):
        name = pod["metadata"]["name"]
        body = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node_of(pod)}}
        cluster.call("POST", f"{CORE}/pods/{name}/binding", body)


def images(cluster: DaemonCluster) -> dict[str, str]:
    found = {node_of(pod): pod["spec"]["containers"][0]["image"] for pod in pods(cluster)}
    assert len(found) == len(pods(cluster)), "a node has several pods"
    return found


def set_phase(cluster: DaemonCluster, pod: Any, phase: str, *, is_ready: bool = False) -> None:
    now = cluster.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = {"type": "Ready", "status": "True" if is_ready else "False", "lastTransitionTime": now}
    path = f"{CORE}/pods/{pod['metadata']['name']}/status"
    body = {"status": {"phase": phase, "conditions": [ready]}}
    # The pod may be gone, because an earlier one became ready.
    cluster.caller.call("PATCH", path, body, content_type=MERGE_PATCH)
    cluster.server.block_until_idle()


def make_ready(cluster: DaemonCluster) -> None:
    for pod in pods(cluster):
        set_phase(cluster, pod, "Running", is_ready=True)


def status(cluster: DaemonCluster) -> Any:
    return cluster.call("GET", f"{APPS}/daemonsets/agent")["status"]


def events(cluster: DaemonCluster, reason: str) -> list[str]:
    found = cluster.call("GET", f"{CORE}/events")["items"]
    return [event["message"] for event in found if event["reason"] == reason]


def test_every_node_gets_a_pod(cluster: DaemonCluster) -> None:
    add_node(cluster, "one")
    create(cluster)
    add_node(cluster, "two")

    assert nodes(cluster) == ["one", "two"]
    make_ready(cluster)
    assert status(cluster) == {
        "currentNumberScheduled": 2,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 2,
        "numberReady": 2,
        "observedGeneration": 1,
        "updatedNumberScheduled": 2,
        "numberAvailable": 2,
    }
    assert len(events(cluster, "SuccessfulCreate")) == 2


def test_selector_and_affinity_choose_nodes(cluster: DaemonCluster) -> None:
    add_node(cluster, "ssd", disk="ssd", size="9")
    add_node(cluster, "small", disk="ssd", size="1")
    add_node(cluster, "hdd", disk="hdd", size="9")
    expression = {"key": "size", "operator": "Gt", "values": ["5"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    create(cluster, {"nodeSelector": {"disk": "ssd"}, "affinity": affinity})

    assert nodes(cluster) == ["ssd"]


def test_a_node_that_no_longer_matches_loses_its_pod(cluster: DaemonCluster) -> None:
    add_node(cluster, "one", disk="ssd")
    create(cluster, {"nodeSelector": {"disk": "ssd"}})
    assert nodes(cluster) == ["one"]

    bind_all(cluster)
    cluster.call("PATCH", f"{NODES}/one", {"metadata": {"labels": {"disk": "hdd"}}}, content_type=MERGE_PATCH)

    assert nodes(cluster) == []
    assert len(events(cluster, "SuccessfulDelete")) == 1


def test_taints_keep_new_pods_away_and_only_some_evict_running_ones(cluster: DaemonCluster) -> None:
    add_node(cluster, "one")
    add_node(cluster, "two")
    add_node(cluster, "tainted", taints=[NO_SCHEDULE])
    create(cluster, {"terminationGracePeriodSeconds": 0})
    assert nodes(cluster) == ["one", "two"]

    bind_all(cluster)
    cluster.call("PATCH", f"{NODES}/one", {"spec": {"taints": [NO_SCHEDULE]}}, content_type=MERGE_PATCH)
    cluster.call("PATCH", f"{NODES}/two", {"spec": {"taints": [NO_EXECUTE]}}, content_type=MERGE_PATCH)

    assert nodes(cluster) == ["one"]
    assert status(cluster)["numberMisscheduled"] == 1


def test_the_status_does_not_follow_a_node_that_changes_nothing_for_its_pod(cluster: DaemonCluster) -> None:
    add_node(cluster, "one")
    create(cluster)
    bind_all(cluster)

    cluster.call("PATCH", f"{NODES}/one", {"spec": {"taints": [NO_SCHEDULE]}}, content_type=MERGE_PATCH)
    assert status(cluster)["desiredNumberScheduled"] == 1

    make_ready(cluster)
    assert status(cluster)["numberMisscheduled"] == 1

    cluster.call("PATCH", f"{NODES}/one", {"spec": {"taints": None}}, content_type=MERGE_PATCH)
    assert status(cluster)["numberMisscheduled"] == 0


def test_a_toleration_or_a_cordon_keeps_nobody_away(cluster: DaemonCluster) -> None:
    add_node(cluster, "tainted", taints=[NO_SCHEDULE])
    add_node(cluster, "cordoned", taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}])
    create(cluster, {"tolerations": [{"key": "dedicated", "operator": "Exists"}]})

    assert nodes(cluster) == ["cordoned", "tainted"]


def test_an_update_replaces_one_pod_at_a_time(cluster: DaemonCluster) -> None:
    for name in ("one", "two", "three"):
        add_node(cluster, name)
    create(cluster)
    make_ready(cluster)

    change_image(cluster, "agent:2")
    assert sorted(images(cluster).values()) == ["agent:1", "agent:1", "agent:2"]
    make_ready(cluster)
    make_ready(cluster)
    make_ready(cluster)

    assert set(images(cluster).values()) == {"agent:2"}
    assert status(cluster)["updatedNumberScheduled"] == 3
    assert len(cluster.call("GET", f"{APPS}/controllerrevisions")["items"]) == 2


def test_max_unavailable_is_rounded_up(cluster: DaemonCluster) -> None:
    for name in ("one", "two", "three"):
        add_node(cluster, name)
    create(cluster, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "50%"}})
    make_ready(cluster)

    change_image(cluster, "agent:2")

    assert sorted(images(cluster).values()) == ["agent:1", "agent:2", "agent:2"]


def test_an_update_begins_with_the_oldest_pod_whichever_became_ready_first(cluster: DaemonCluster) -> None:
    for name in ("one", "two", "three"):
        add_node(cluster, name)
        if name == "one":
            create(cluster)
    by_node = {node_of(pod): pod for pod in pods(cluster)}
    for name in ("three", "one", "two"):
        set_phase(cluster, by_node[name], "Running", is_ready=True)

    change_image(cluster, "agent:2")

    assert images(cluster) == {"one": "agent:2", "two": "agent:1", "three": "agent:1"}


def test_a_surging_update_keeps_the_old_pod_until_the_new_one_is_available(cluster: DaemonCluster) -> None:
    add_node(cluster, "one")
    create(cluster, updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}, minReadySeconds=30)
    make_ready(cluster)
    cluster.server.advance(31)

    change_image(cluster, "agent:2")
    assert len(pods(cluster)) == 2
    new = next(pod for pod in pods(cluster) if pod["spec"]["containers"][0]["image"] == "agent:2")
    set_phase(cluster, new, "Running", is_ready=True)
    assert len(pods(cluster)) == 2
    cluster.server.advance(31)
    cluster.server.block_until_idle()

    assert list(images(cluster).values()) == ["agent:2"]


def test_on_delete_waits_for_the_user(cluster: DaemonCluster) -> None:
    add_node(cluster, "one")
    create(cluster, updateStrategy={"type": "OnDelete"})
    make_ready(cluster)
    change_image(cluster, "agent:2")
    assert set(images(cluster).values()) == {"agent:1"}

    (pod,) = pods(cluster)
    cluster.call("DELETE", f"{CORE}/pods/{pod['metadata']['name']}", {"gracePeriodSeconds": 0})

    assert set(images(cluster).values()) == {"agent:2"}


def test_a_failed_pod_is_replaced_and_the_second_time_after_a_delay(cluster: DaemonCluster) -> None:
    add_node(cluster, "one")
    create(cluster)
    (first,) = pods(cluster)
    set_phase(cluster, first, "Failed")
    (second,) = pods(cluster)
    assert second["metadata"]["name"] != first["metadata"]["name"]
    assert events(cluster, "FailedDaemonPod") == [
        f"Found failed daemon pod default/{first['metadata']['name']} on node one, will try to kill it"
    ]

    set_phase(cluster, second, "Failed")
    assert pods(cluster)[0]["metadata"]["name"] == second["metadata"]["name"]
    cluster.server.advance(2)
    cluster.server.block_until_idle()

    assert pods(cluster)[0]["metadata"]["name"] not in {first["metadata"]["name"], second["metadata"]["name"]}


def test_old_revisions_are_removed(cluster: DaemonCluster) -> None:
    create(cluster, revisionHistoryLimit=2)
    for number in range(2, 7):
        change_image(cluster, f"agent:{number}")

    found = cluster.call("GET", f"{APPS}/controllerrevisions")["items"]
    assert sorted(revision["revision"] for revision in found) == [4, 5, 6]


def test_the_fields_of_a_revision_are_sorted_as_those_of_a_patch_in_go(cluster: DaemonCluster) -> None:
    create(cluster, {"hostNetwork": True, "containers": [{"name": "agent", "image": "agent:1", "args": ["-v"]}]})

    (revision,) = cluster.call("GET", f"{APPS}/controllerrevisions")["items"]
    template = revision["data"]["spec"]["template"]
    assert list(template) == ["$patch", "metadata", "spec"]
    assert list(template["spec"]) == sorted(template["spec"])
    assert list(template["spec"]["containers"][0]) == sorted(template["spec"]["containers"][0])


def test_a_matching_orphan_is_adopted(cluster: DaemonCluster) -> None:
    add_node(cluster, "one")
    spec = {"nodeName": "one", "containers": [{"name": "agent", "image": "agent:1"}]}
    cluster.call("POST", f"{CORE}/pods", {"metadata": {"name": "orphan", "labels": LABELS}, "spec": spec})
    create(cluster, updateStrategy={"type": "OnDelete"})

    (pod,) = pods(cluster)
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "DaemonSet"
