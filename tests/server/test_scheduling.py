"""The scheduler as users of a cluster see it: nodes, conditions and events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.quiet_cluster import QuietCluster

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
MERGE_PATCH = "application/merge-patch+json"


@pytest.fixture
def cluster() -> Iterator[QuietCluster]:
    """A cluster with a scheduler, and without nodes and kubelet."""
    options: dict[str, Any] = {"clock": VirtualClock, "token": None, "bootstrap": False}
    with masthead.server.run(**options, controllers=["scheduler", "pods"]) as running:
        made = QuietCluster(running)
        yield made
        made.caller.close()


def add_node(cluster: QuietCluster, name: str, *, labels: Any = None, **spec: Any) -> None:
    """Register a node that takes pods."""
    meta = {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}
    cluster.call("POST", NODES, {"metadata": meta, "spec": spec})
    # Admission taints new nodes until they are ready.
    cluster.call("PATCH", f"{NODES}/{name}", {"spec": {"taints": spec.get("taints")}}, content_type=MERGE_PATCH)
    resize(cluster, name, cpu="4", memory="8Gi", pods="110")


def resize(cluster: QuietCluster, node: str, **allocatable: str) -> None:
    """Set what a node offers."""
    status = {"capacity": allocatable, "allocatable": allocatable}
    cluster.call("PATCH", f"{NODES}/{node}/status", {"status": status}, content_type=MERGE_PATCH)


def add_pod(cluster: QuietCluster, name: str, *, cpu: str = "", labels: Any = None, **spec: Any) -> None:
    """Create a pod with one container."""
    container: Any = {"name": "main", "image": "nginx"}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    meta = {"name": name, "labels": labels or {}}
    cluster.call("POST", PODS, {"metadata": meta, "spec": {"containers": [container], **spec}})


def node_of(cluster: QuietCluster, pod: str) -> str | None:
    """The node of a pod; None if it has none."""
    found: Any = cluster.call("GET", f"{PODS}/{pod}")
    node: str | None = found["spec"].get("nodeName")
    return node


def problem_of(cluster: QuietCluster, pod: str) -> str:
    """The message of the condition of a pod without a node."""
    found: Any = cluster.call("GET", f"{PODS}/{pod}")
    assert "nodeName" not in found["spec"]
    condition = next(item for item in found["status"]["conditions"] if item["type"] == "PodScheduled")
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    message: str = condition["message"]
    return message


def reports(cluster: QuietCluster, pod: str) -> list[tuple[str, str, str]]:
    """The events of a pod."""
    found: Any = cluster.call("GET", "/api/v1/namespaces/default/events")
    return [
        (event["type"], event["reason"], event["message"])
        for event in found["items"]
        if event["involvedObject"]["name"] == pod
    ]


def test_a_pod_gets_a_node_that_fits(cluster: QuietCluster) -> None:
    add_node(cluster, "small")
    resize(cluster, "small", cpu="1", memory="1Gi", pods="10")
    add_node(cluster, "large")

    add_pod(cluster, "web", cpu="2")

    assert node_of(cluster, "web") == "large"
    assert reports(cluster, "web") == [("Normal", "Scheduled", "Successfully assigned default/web to large")]
    found: Any = cluster.call("GET", f"{PODS}/web")
    assert [(item["type"], item["status"]) for item in found["status"]["conditions"]] == [("PodScheduled", "True")]


def test_without_nodes_a_pod_says_so(cluster: QuietCluster) -> None:
    add_pod(cluster, "web")

    assert problem_of(cluster, "web") == "no nodes available to schedule pods"
    assert reports(cluster, "web") == [("Warning", "FailedScheduling", "no nodes available to schedule pods")]


def test_a_pod_names_the_reasons_of_all_nodes_sorted_as_text(cluster: QuietCluster) -> None:
    add_node(cluster, "tainted", taints=[{"key": "gpu", "effect": "NoSchedule"}])
    add_node(cluster, "full-1")
    add_node(cluster, "full-2")
    add_node(cluster, "cordoned", unschedulable=True)

    add_pod(cluster, "web", cpu="5")

    assert problem_of(cluster, "web").startswith(
        "0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 2 Insufficient cpu."
    )


def test_a_node_without_allocatable_takes_no_pods(cluster: QuietCluster) -> None:
    cluster.call("POST", NODES, {"metadata": {"name": "bare"}})
    cluster.call("PATCH", f"{NODES}/bare", {"spec": {"taints": None}}, content_type=MERGE_PATCH)

    add_pod(cluster, "web")

    assert problem_of(cluster, "web").startswith("0/1 nodes are available: 1 Too many pods.")


def test_a_new_node_gets_the_pods_that_waited_for_it(cluster: QuietCluster) -> None:
    add_pod(cluster, "web", nodeSelector={"disk": "ssd"})
    add_node(cluster, "plain")
    assert node_of(cluster, "web") is None

    add_node(cluster, "fast", labels={"disk": "ssd"})

    assert node_of(cluster, "web") == "fast"


def test_the_end_of_a_pod_makes_room_for_the_next(cluster: QuietCluster) -> None:
    add_node(cluster, "only")
    add_pod(cluster, "first", cpu="3")
    add_pod(cluster, "second", cpu="3")
    assert problem_of(cluster, "second").startswith("0/1 nodes are available: 1 Insufficient cpu.")

    cluster.call("DELETE", f"{PODS}/first?gracePeriodSeconds=0")

    assert node_of(cluster, "second") == "only"


def test_pods_of_other_schedulers_and_gated_pods_are_left_alone(cluster: QuietCluster) -> None:
    add_node(cluster, "only")
    add_pod(cluster, "foreign", schedulerName="mine")
    add_pod(cluster, "gated", schedulingGates=[{"name": "wait"}])
    assert (node_of(cluster, "foreign"), node_of(cluster, "gated")) == (None, None)

    cluster.call("PATCH", f"{PODS}/gated", {"spec": {"schedulingGates": None}}, content_type=MERGE_PATCH)

    assert node_of(cluster, "gated") == "only"


def test_of_equal_nodes_the_first_by_name_is_chosen(cluster: QuietCluster) -> None:
    for name in ("b", "a", "c"):
        add_node(cluster, name)

    for pod in ("one", "two", "three"):
        add_pod(cluster, pod, cpu="1")

    assert [node_of(cluster, pod) for pod in ("one", "two", "three")] == ["a", "b", "c"]


ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def test_required_anti_affinity_keeps_replicas_apart(cluster: QuietCluster) -> None:
    for name in ("a", "b"):
        add_node(cluster, name)
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "db"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    for pod in ("db-0", "db-1", "db-2"):
        add_pod(cluster, pod, labels={"app": "db"}, affinity=affinity)

    assert {node_of(cluster, "db-0"), node_of(cluster, "db-1")} == {"a", "b"}
    assert problem_of(cluster, "db-2") == (
        "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. "
        "no new claims to deallocate, "
        "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
    )
    add_pod(cluster, "other", labels={"app": "db"})
    assert problem_of(cluster, "other").startswith(
        "0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules."
    )


def test_required_affinity_joins_a_pod_in_its_zone(cluster: QuietCluster) -> None:
    for name, zone in (("a", "one"), ("b", "two"), ("c", "two")):
        add_node(cluster, name, labels={ZONE: zone})
    add_pod(cluster, "db", labels={"app": "db"}, nodeSelector={HOST: "c"})
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "db"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    add_pod(cluster, "web", affinity=affinity)

    assert node_of(cluster, "web") == "b"


def test_the_first_pod_of_a_group_that_wants_to_be_together_is_scheduled(cluster: QuietCluster) -> None:
    add_node(cluster, "a")
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "db"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    add_pod(cluster, "stranger", affinity=affinity)
    add_pod(cluster, "db", labels={"app": "db"}, affinity=affinity)

    assert node_of(cluster, "db") == "a"
    assert node_of(cluster, "stranger") == "a"


def test_spread_constraints_balance_the_zones(cluster: QuietCluster) -> None:
    for name, zone in (("a", "one"), ("b", "one"), ("c", "two")):
        add_node(cluster, name, labels={ZONE: zone})
    resize(cluster, "c", cpu="4", memory="8Gi", pods="1")
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }

    for number in range(4):
        add_pod(cluster, f"web-{number}", labels={"app": "web"}, topologySpreadConstraints=[constraint])

    nodes = [node_of(cluster, f"web-{number}") for number in range(3)]
    assert nodes == ["a", "c", "b"]
    assert problem_of(cluster, "web-3").startswith(
        "0/3 nodes are available: 1 Too many pods, 2 node(s) didn't match pod topology spread constraints."
    )


def test_preferred_constraints_and_affinity_decide_between_nodes(cluster: QuietCluster) -> None:
    for name in ("a", "b"):
        add_node(cluster, name, labels={"disk": name})
    term = {"weight": 50, "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["b"]}]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    selector = {"matchLabels": {"app": "web"}}
    peer = {"weight": 100, "podAffinityTerm": {"topologyKey": HOST, "labelSelector": selector}}
    constraint = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector}

    add_pod(cluster, "web", labels={"app": "web"}, affinity=affinity)
    add_pod(cluster, "near", affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [peer]}})
    add_pod(cluster, "away", labels={"app": "web"}, topologySpreadConstraints=[constraint])

    assert [node_of(cluster, pod) for pod in ("web", "near", "away")] == ["b", "b", "a"]


def test_a_pod_of_higher_priority_preempts_the_least_important_one(cluster: QuietCluster) -> None:
    add_node(cluster, "only")
    for name, value in (("low", 1), ("middle", 10), ("high", 100)):
        cluster.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value})
    add_pod(cluster, "middling", cpu="2", priorityClassName="middle")
    add_pod(cluster, "unimportant", cpu="2", priorityClassName="low")

    add_pod(cluster, "urgent", cpu="2", priorityClassName="high")

    message = "0/1 nodes are available: 1 Insufficient cpu."
    assert problem_of(cluster, "urgent") == message
    urgent: Any = cluster.call("GET", f"{PODS}/urgent")
    assert urgent["status"]["nominatedNodeName"] == "only"
    victim: Any = cluster.call("GET", f"{PODS}/unimportant")
    condition = victim["status"]["conditions"][-1]
    assert (condition["type"], condition["reason"]) == ("DisruptionTarget", "PreemptionByScheduler")
    assert condition["message"] == "default-scheduler: preempting to accommodate a higher priority pod"
    preempted = f"Preempted by pod {urgent['metadata']['uid']} on node only"
    assert reports(cluster, "unimportant")[1:] == [("Normal", "Preempted", preempted)]

    cluster.server.advance(30)

    assert node_of(cluster, "urgent") == "only"
    assert node_of(cluster, "middling") == "only"
    urgent = cluster.call("GET", f"{PODS}/urgent")
    assert "nominatedNodeName" not in urgent["status"]


def test_room_for_a_nominated_pod_is_kept(cluster: QuietCluster) -> None:
    add_node(cluster, "only")
    priority = {"metadata": {"name": "high"}, "value": 100}
    cluster.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", priority)
    add_pod(cluster, "victim", cpu="4")
    add_pod(cluster, "urgent", cpu="3", priorityClassName="high")

    add_pod(cluster, "late", cpu="2")
    cluster.server.advance(30)

    assert node_of(cluster, "urgent") == "only"
    assert problem_of(cluster, "late").startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_a_pod_that_never_preempts_says_so(cluster: QuietCluster) -> None:
    add_node(cluster, "only")
    polite = {"metadata": {"name": "polite"}, "value": 100, "preemptionPolicy": "Never"}
    cluster.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", polite)
    add_pod(cluster, "first", cpu="4")

    add_pod(cluster, "second", cpu="2", priorityClassName="polite")

    assert problem_of(cluster, "second") == (
        "0/1 nodes are available: 1 Insufficient cpu. "
        "no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never."
    )


def test_preemption_spares_pods_with_a_budget(cluster: QuietCluster) -> None:
    for name in ("a", "b"):
        add_node(cluster, name)
    cluster.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 100})
    budget = {"metadata": {"name": "db"}, "spec": {"selector": {"matchLabels": {"app": "db"}}, "maxUnavailable": 0}}
    cluster.call("POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget)
    add_pod(cluster, "db", cpu="4", labels={"app": "db"})
    add_pod(cluster, "web", cpu="4")

    add_pod(cluster, "urgent", cpu="4", priorityClassName="high")

    assert [reason for _, reason, _ in reports(cluster, "web")] == ["Scheduled", "Preempted"]
    assert [reason for _, reason, _ in reports(cluster, "db")] == ["Scheduled"]


def test_a_repeated_event_becomes_a_series(cluster: QuietCluster) -> None:
    add_pod(cluster, "web", cpu="8")
    for name in ("a", "b", "c"):
        add_node(cluster, name)
        cluster.server.advance(20)
    resize(cluster, "c", cpu="5", memory="8Gi", pods="110")
    cluster.server.advance(20)
    resize(cluster, "c", cpu="6", memory="8Gi", pods="110")
    cluster.server.advance(20)

    found: Any = cluster.call("GET", "/apis/events.k8s.io/v1/namespaces/default/events")
    last = max((event for event in found["items"]), key=lambda event: event["eventTime"])
    assert last["note"].startswith("0/3 nodes are available: 3 Insufficient cpu.")
    assert last["series"]["count"] == 2


CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
DATA = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


@pytest.mark.parametrize("by", ["a Service", "a ReplicaSet"])
def test_pods_of_one_workload_are_spread_by_default(cluster: QuietCluster, by: str) -> None:
    for number in range(4):
        add_node(cluster, f"node-{number}", labels={ZONE: "one" if number < 3 else "two"})
    # Without the spread, this pod would make the last node the worst.
    add_pod(cluster, "large", cpu="500m", nodeSelector={HOST: "node-3"})
    labels, selector = {"app": "web"}, {"app": "web"}
    owners: Any = None
    if by == "a Service":
        service = {"metadata": {"name": "web"}, "spec": {"selector": selector, "ports": [{"port": 80}]}}
        cluster.call("POST", "/api/v1/namespaces/default/services", service)
    else:
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}}
        replica_set: Any = {
            "metadata": {"name": "web"},
            "spec": {"selector": {"matchLabels": selector}, "template": template},
        }
        created: Any = cluster.call("POST", "/apis/apps/v1/namespaces/default/replicasets", replica_set)
        uid = created["metadata"]["uid"]
        owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": uid, "controller": True}]

    for number in range(4):
        container = {"name": "main", "image": "nginx"}
        meta = {"name": f"web-{number}", "labels": labels, "ownerReferences": owners}
        cluster.call("POST", PODS, {"metadata": meta, "spec": {"containers": [container]}})

    assert [node_of(cluster, f"web-{number}") for number in range(2)] == ["node-0", "node-3"]
    assert {node_of(cluster, f"web-{number}") for number in range(4)} == {f"node-{number}" for number in range(4)}


@pytest.fixture
def storage() -> Iterator[QuietCluster]:
    """A cluster with a scheduler and a volume binder."""
    options: dict[str, Any] = {"clock": VirtualClock, "token": None, "bootstrap": False}
    with masthead.server.run(**options, controllers=["scheduler", "pods", "persistentvolumes"]) as running:
        made = QuietCluster(running)
        yield made
        made.caller.close()


def add_class(cluster: QuietCluster, name: str, provisioner: str, mode: str, **rest: Any) -> None:
    """Create a storage class."""
    body = {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode, **rest}
    cluster.call("POST", CLASSES, body)


def add_claim(cluster: QuietCluster, storage_class: str, mode: str = "ReadWriteOnce") -> None:
    """Create the claim ``data``."""
    spec = {
        "storageClassName": storage_class,
        "accessModes": [mode],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    cluster.call("POST", CLAIMS, {"metadata": {"name": "data"}, "spec": spec})


def add_volume(cluster: QuietCluster, name: str, node: str) -> None:
    """Create a local volume of a node."""
    requirement = {"key": HOST, "operator": "In", "values": [node]}
    spec = {
        "storageClassName": "local",
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "local": {"path": "/data"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}},
    }
    cluster.call("POST", "/api/v1/persistentvolumes", {"metadata": {"name": name}, "spec": spec})


def test_a_claim_is_provisioned_for_the_node_of_its_first_pod(storage: QuietCluster) -> None:
    add_node(storage, "a")
    add_class(storage, "fast", "disk.csi.example.com", "WaitForFirstConsumer")
    add_claim(storage, "fast")

    add_pod(storage, "web", volumes=DATA)

    assert node_of(storage, "web") == "a"
    claim: Any = storage.call("GET", f"{CLAIMS}/data")
    assert claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == "a"
    assert claim["status"]["phase"] == "Bound"


def affinity_of_volume(cluster: QuietCluster) -> list[tuple[str, list[str]]]:
    """The labels of the nodes that reach the only volume."""
    volumes: Any = cluster.call("GET", "/api/v1/persistentvolumes")
    [volume] = volumes["items"]
    [term] = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    return [(requirement["key"], requirement["values"]) for requirement in term["matchExpressions"]]


ALLOWED = [{"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["two", "three"]}]}]


def test_the_next_pod_of_a_provisioned_claim_is_in_the_zone_of_the_first(storage: QuietCluster) -> None:
    for name, zone in (("a", "one"), ("b", "two"), ("c", "two")):
        add_node(storage, name, labels={"topology.kubernetes.io/zone": zone})
    add_class(storage, "fast", "disk.csi.example.com", "WaitForFirstConsumer", allowedTopologies=ALLOWED)
    add_claim(storage, "fast")
    add_pod(storage, "first", volumes=DATA)
    assert node_of(storage, "first") == "b"
    assert affinity_of_volume(storage) == [("topology.kubernetes.io/zone", ["two"])]
    storage.call("DELETE", f"{PODS}/first?gracePeriodSeconds=0")

    storage.call("PATCH", f"{NODES}/b", {"spec": {"unschedulable": True}}, content_type=MERGE_PATCH)
    add_pod(storage, "second", volumes=DATA)

    assert node_of(storage, "second") == "c"


def test_a_volume_has_the_topology_of_its_driver(storage: QuietCluster) -> None:
    add_node(storage, "a", labels={"topology.kubernetes.io/zone": "one"})
    driver = {"name": "disk.csi.example.com", "nodeID": "a", "topologyKeys": ["topology.kubernetes.io/zone"]}
    node = {"metadata": {"name": "a"}, "spec": {"drivers": [driver]}}
    storage.call("POST", "/apis/storage.k8s.io/v1/csinodes", node)
    add_class(storage, "fast", "disk.csi.example.com", "WaitForFirstConsumer")
    add_claim(storage, "fast")

    add_pod(storage, "web", volumes=DATA)

    assert affinity_of_volume(storage) == [("topology.kubernetes.io/zone", ["one"])]


def test_a_pod_goes_to_the_allowed_topology_of_an_immediate_claim(storage: QuietCluster) -> None:
    for name, zone in (("a", "one"), ("b", "two")):
        add_node(storage, name, labels={"topology.kubernetes.io/zone": zone})
    add_class(storage, "fast", "disk.csi.example.com", "Immediate", allowedTopologies=ALLOWED)
    add_claim(storage, "fast")
    assert affinity_of_volume(storage) == [("topology.kubernetes.io/zone", ["two"])]

    add_pod(storage, "web", volumes=DATA)

    assert node_of(storage, "web") == "b"


def test_a_pod_goes_where_a_local_volume_is(storage: QuietCluster) -> None:
    for name in ("a", "b"):
        add_node(storage, name)
    add_class(storage, "local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")
    add_claim(storage, "local")
    add_pod(storage, "web", volumes=DATA)
    assert problem_of(storage, "web").startswith(
        "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."
    )

    add_volume(storage, "disk", "b")

    assert node_of(storage, "web") == "b"
    add_pod(storage, "second", volumes=DATA, nodeSelector={HOST: "a"})
    assert problem_of(storage, "second").startswith(
        "0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, "
        "1 node(s) didn't match Pod's node affinity/selector."
    )


def test_a_pod_waits_for_its_claims(storage: QuietCluster) -> None:
    add_node(storage, "a")
    add_pod(storage, "web", volumes=DATA)
    assert problem_of(storage, "web") == (
        '0/1 nodes are available: persistentvolumeclaim "data" not found. '
        "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    )
    add_class(storage, "local", "kubernetes.io/no-provisioner", "Immediate")
    add_claim(storage, "local")
    storage.server.advance(10)
    assert problem_of(storage, "web").startswith(
        "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    )

    add_volume(storage, "disk", "a")
    storage.server.advance(10)

    assert node_of(storage, "web") == "a"


def test_one_pod_at_a_time_uses_an_exclusive_claim(storage: QuietCluster) -> None:
    for name in ("a", "b"):
        add_node(storage, name)
    add_class(storage, "fast", "disk.csi.example.com", "WaitForFirstConsumer")
    add_claim(storage, "fast", "ReadWriteOncePod")
    add_pod(storage, "web", volumes=DATA)
    assert node_of(storage, "web") == "a"

    add_pod(storage, "second", volumes=DATA)

    assert problem_of(storage, "second") == (
        "0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod. no new claims to deallocate, preemption: 0/2 nodes are available: "
        "2 No preemption victims found for incoming pod."
    )
    storage.call("DELETE", f"{PODS}/web?gracePeriodSeconds=0")
    storage.server.advance(10)
    assert node_of(storage, "second") is not None


def test_a_pod_preempts_the_user_of_its_exclusive_claim(storage: QuietCluster) -> None:
    add_node(storage, "a")
    add_class(storage, "fast", "disk.csi.example.com", "WaitForFirstConsumer")
    add_claim(storage, "fast", "ReadWriteOncePod")
    storage.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 100})
    add_pod(storage, "web", volumes=DATA)

    add_pod(storage, "urgent", volumes=DATA, priorityClassName="high")

    assert [reason for _, reason, _ in reports(storage, "web")] == ["Scheduled", "Preempted"]


def test_a_pod_that_waits_for_a_change_is_tried_every_five_minutes(cluster: QuietCluster) -> None:
    add_pod(cluster, "web")
    cluster.server.advance(299)
    assert len(reports(cluster, "web")) == 1

    cluster.server.advance(2)

    found: Any = cluster.call("GET", "/apis/events.k8s.io/v1/namespaces/default/events")
    times = sorted(event["eventTime"] for event in found["items"])
    assert times == ["2026-01-01T00:00:00.000000Z", "2026-01-01T00:05:00.000000Z"]


def test_without_a_volume_binder_claims_do_not_matter(cluster: QuietCluster) -> None:
    add_node(cluster, "a")

    add_pod(cluster, "web", volumes=DATA)

    assert node_of(cluster, "web") == "a"
