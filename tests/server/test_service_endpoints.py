"""Endpoints and EndpointSlices follow the pods of a Service."""

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
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name%3Dweb"
LABELS = {"app": "web"}
PORTS = [{"name": "http", "port": 80, "targetPort": 8080}]


@pytest.fixture
def cluster() -> Iterator[QuietCluster]:
    with masthead.server.run(clock=VirtualClock, token=None, workloads=True) as running:
        made = QuietCluster(running)
        made.call("POST", "/api/v1/nodes", {"metadata": {"name": "n", "labels": {"topology.kubernetes.io/zone": "z"}}})
        yield made
        made.caller.close()


def create_service(cluster: QuietCluster, **spec: Any) -> Any:
    body = {"selector": LABELS, "ports": PORTS, **spec}
    return cluster.call(
        "POST", f"{CORE}/services", {"metadata": {"name": "web", "labels": {"tier": "a"}}, "spec": body}
    )


def create_pod(cluster: QuietCluster, name: str, *, ip: str = "10.1.0.1", is_ready: bool = True, **spec: Any) -> None:
    container = {"name": "c", "image": "i", "ports": [{"name": "web", "containerPort": 9000}]}
    body = {"nodeName": "n", "containers": [container], **spec}
    cluster.call("POST", f"{CORE}/pods", {"metadata": {"name": name, "labels": LABELS}, "spec": body})
    set_status(cluster, name, ip=ip, is_ready=is_ready)


def set_status(cluster: QuietCluster, name: str, *, ip: str = "10.1.0.1", is_ready: bool = True) -> None:
    ready = {"type": "Ready", "status": "True" if is_ready else "False"}
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": [ready]}
    cluster.call("PATCH", f"{CORE}/pods/{name}/status", {"status": status}, content_type=MERGE_PATCH)


def subsets(cluster: QuietCluster) -> Any:
    return cluster.call("GET", f"{CORE}/endpoints/web").get("subsets", [])


def slices(cluster: QuietCluster) -> list[Any]:
    found: list[Any] = cluster.call("GET", SLICES)["items"]
    return found


def addresses(cluster: QuietCluster) -> dict[str, dict[str, bool]]:
    """The conditions of each address, in all slices."""
    return {
        endpoint["addresses"][0]: endpoint["conditions"]
        for found in slices(cluster)
        for endpoint in found.get("endpoints") or ()
    }


def test_a_ready_pod_is_an_endpoint(cluster: QuietCluster) -> None:
    service = create_service(cluster)
    create_pod(cluster, "a")

    (subset,) = subsets(cluster)
    (address,) = subset["addresses"]
    assert (address["ip"], address["nodeName"], address["targetRef"]["name"]) == ("10.1.0.1", "n", "a")
    assert subset["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    (found,) = slices(cluster)
    assert found["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    assert found["metadata"]["labels"] == {
        "tier": "a",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    assert found["metadata"]["ownerReferences"][0]["uid"] == service["metadata"]["uid"]
    (endpoint,) = found["endpoints"]
    assert (endpoint["zone"], endpoint["nodeName"]) == ("z", "n")


def test_a_service_without_pods_has_an_empty_slice(cluster: QuietCluster) -> None:
    create_service(cluster)

    assert subsets(cluster) == []
    (found,) = slices(cluster)
    assert not found["endpoints"]


def test_a_pod_that_is_not_ready_waits(cluster: QuietCluster) -> None:
    create_service(cluster)
    create_pod(cluster, "a", is_ready=False)
    assert "addresses" not in subsets(cluster)[0]
    assert addresses(cluster) == {"10.1.0.1": {"ready": False, "serving": False, "terminating": False}}

    set_status(cluster, "a")

    assert "notReadyAddresses" not in subsets(cluster)[0]
    assert addresses(cluster)["10.1.0.1"]["ready"]


def test_a_terminating_pod_serves_until_it_is_gone(cluster: QuietCluster) -> None:
    create_service(cluster)
    create_pod(cluster, "a", terminationGracePeriodSeconds=30)
    cluster.call("DELETE", f"{CORE}/pods/a")
    assert subsets(cluster) == []
    assert addresses(cluster) == {"10.1.0.1": {"ready": False, "serving": True, "terminating": True}}

    cluster.server.advance(31)
    cluster.server.block_until_idle()

    assert addresses(cluster) == {}


def test_unready_addresses_are_published_on_request(cluster: QuietCluster) -> None:
    create_service(cluster, publishNotReadyAddresses=True, clusterIP="None")
    create_pod(cluster, "a", is_ready=False, hostname="a", subdomain="web")

    assert subsets(cluster)[0]["addresses"][0]["hostname"] == "a"
    assert addresses(cluster)["10.1.0.1"] == {"ready": True, "serving": False, "terminating": False}


def test_a_named_port_is_the_one_of_each_pod(cluster: QuietCluster) -> None:
    create_service(cluster, ports=[{"port": 80, "targetPort": "web"}])
    create_pod(cluster, "a")
    create_pod(cluster, "b", ip="10.1.0.2", containers=[{"name": "c", "image": "i"}])

    (subset,) = subsets(cluster)
    assert subset["ports"] == [{"port": 9000, "protocol": "TCP"}]
    assert [address["ip"] for address in subset["addresses"]] == ["10.1.0.1"]


def test_labels_decide_at_any_time(cluster: QuietCluster) -> None:
    create_service(cluster)
    create_pod(cluster, "a")
    cluster.call("PATCH", f"{CORE}/pods/a", {"metadata": {"labels": {"app": "x"}}}, content_type=MERGE_PATCH)
    assert (subsets(cluster), addresses(cluster)) == ([], {})

    cluster.call("PATCH", f"{CORE}/services/web", {"spec": {"selector": {"app": "x"}}}, content_type=MERGE_PATCH)

    assert set(addresses(cluster)) == {"10.1.0.1"}


def test_a_slice_has_a_hundred_endpoints_at_most(cluster: QuietCluster) -> None:
    create_service(cluster)
    for number in range(103):
        create_pod(cluster, f"p{number}", ip=f"10.1.1.{number}")
    assert sorted(len(found["endpoints"]) for found in slices(cluster)) == [3, 100]

    cluster.call("DELETE", f"{CORE}/pods/p0", {"gracePeriodSeconds": 0})

    assert sum(len(found["endpoints"]) for found in slices(cluster)) == 102
    assert len(subsets(cluster)[0]["addresses"]) == 102


def test_a_pod_of_an_unknown_node_waits_for_the_node(cluster: QuietCluster) -> None:
    create_service(cluster)
    create_pod(cluster, "a", nodeName="late")
    assert addresses(cluster) == {}
    messages = [event["message"] for event in cluster.call("GET", f"{CORE}/events")["items"]]
    assert messages[0].endswith("skipping Pod a for Service default/web: Node late Not Found")

    cluster.call("POST", "/api/v1/nodes", {"metadata": {"name": "late"}})

    assert set(addresses(cluster)) == {"10.1.0.1"}


def test_endpoints_end_with_their_service(cluster: QuietCluster) -> None:
    create_service(cluster)
    create_pod(cluster, "a")
    cluster.call("DELETE", f"{CORE}/services/web")

    assert not cluster.is_there(f"{CORE}/endpoints/web")
    assert slices(cluster) == []


def test_a_service_without_a_selector_is_left_alone(cluster: QuietCluster) -> None:
    create_service(cluster, selector=None)
    mine = {"metadata": {"name": "web"}, "subsets": [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}]}
    cluster.call("POST", f"{CORE}/endpoints", mine)
    create_pod(cluster, "a")

    assert subsets(cluster)[0]["addresses"] == [{"ip": "192.0.2.1"}]


def test_a_change_of_endpoints_remains_until_a_pod_changes(cluster: QuietCluster) -> None:
    create_service(cluster)
    create_pod(cluster, "a")
    changed = {"subsets": [{"addresses": [{"ip": "10.2.0.1"}]}]}
    cluster.call("PATCH", f"{CORE}/endpoints/web", changed, content_type=MERGE_PATCH)
    assert subsets(cluster) == changed["subsets"]

    set_status(cluster, "a", is_ready=False)

    assert [address["ip"] for address in subsets(cluster)[0]["notReadyAddresses"]] == ["10.1.0.1"]
    cluster.call("DELETE", f"{CORE}/endpoints/web")
    assert "notReadyAddresses" in subsets(cluster)[0]


def test_a_deleted_slice_comes_back(cluster: QuietCluster) -> None:
    create_service(cluster)
    create_pod(cluster, "a")
    name = slices(cluster)[0]["metadata"]["name"]
    cluster.call("DELETE", f"{SLICES.partition('?')[0]}/{name}")

    assert set(addresses(cluster)) == {"10.1.0.1"}


def test_pods_that_lack_a_named_port_share_only_the_others(cluster: QuietCluster) -> None:
    ports = [{"name": "web", "port": 80, "targetPort": "web"}, {"name": "admin", "port": 81, "targetPort": 8081}]
    create_service(cluster, ports=ports)
    create_pod(cluster, "a", ip="10.1.0.1")
    create_pod(cluster, "b", ip="10.1.0.2", containers=[{"name": "c", "image": "i"}])

    served = {
        subset["ports"][0]["name"]: [address["ip"] for address in subset["addresses"]] for subset in subsets(cluster)
    }
    assert served == {"web": ["10.1.0.1"], "admin": ["10.1.0.1", "10.1.0.2"]}


def test_a_slice_that_is_not_needed_gets_the_next_ports(cluster: QuietCluster) -> None:
    create_service(cluster)
    (empty,) = slices(cluster)
    create_pod(cluster, "a")
    (filled,) = slices(cluster)
    change = {"spec": {"ports": [{"name": "http", "port": 80, "targetPort": 9000}]}}
    cluster.call("PATCH", f"{CORE}/services/web", change, content_type=MERGE_PATCH)

    (moved,) = slices(cluster)
    assert empty["metadata"]["name"] == filled["metadata"]["name"] == moved["metadata"]["name"]
    assert moved["ports"] == [{"name": "http", "port": 9000, "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("distribution", "hints"),
    [
        ("PreferSameZone", {"forZones": [{"name": "z"}]}),
        ("PreferSameNode", {"forZones": [{"name": "z"}], "forNodes": [{"name": "n"}]}),
    ],
)
def test_a_traffic_distribution_gives_ready_endpoints_hints(
    cluster: QuietCluster, distribution: str, hints: Any
) -> None:
    create_service(cluster, trafficDistribution=distribution)
    create_pod(cluster, "a", ip="10.1.0.1")
    create_pod(cluster, "b", ip="10.1.0.2", is_ready=False)

    def read_hints() -> Any:
        return {
            endpoint["addresses"][0]: endpoint.get("hints")
            for found in slices(cluster)
            for endpoint in found["endpoints"]
        }

    assert read_hints() == {"10.1.0.1": hints, "10.1.0.2": None}
    change = {"spec": {"trafficDistribution": None}}
    cluster.call("PATCH", f"{CORE}/services/web", change, content_type=MERGE_PATCH)
    assert read_hints() == {"10.1.0.1": None, "10.1.0.2": None}


def test_endpoints_of_somebody_else_end_with_their_service(cluster: QuietCluster) -> None:
    create_service(cluster, selector=None)
    cluster.call("POST", f"{CORE}/endpoints", {"metadata": {"name": "web"}, "subsets": []})

    cluster.call("DELETE", f"{CORE}/services/web")

    names = [found["metadata"]["name"] for found in cluster.call("GET", f"{CORE}/endpoints")["items"]]
    assert names == ["kubernetes"]
