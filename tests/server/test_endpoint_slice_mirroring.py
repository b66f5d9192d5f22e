"""Endpoints of Services without selector are mirrored to EndpointSlices."""

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
ALL_SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
SLICES = f"{ALL_SLICES}?labelSelector=kubernetes.io/service-name%3Dweb"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
HTTP = {"name": "http", "port": 80, "protocol": "TCP"}
ADMIN = {"name": "admin", "port": 81, "protocol": "TCP"}


@pytest.fixture
def cluster() -> Iterator[QuietCluster]:
    enabled = ("endpointslicemirroring", "garbage")
    with masthead.server.run(clock=VirtualClock, token=None, controllers=enabled) as running:
        made = QuietCluster(running)
        yield made
        made.caller.close()


def create_service(cluster: QuietCluster, **spec: Any) -> None:
    body = {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}], **spec}}
    cluster.call("POST", f"{CORE}/services", body)


def create_endpoints(cluster: QuietCluster, *subsets: Any, **metadata: Any) -> None:
    cluster.call("POST", f"{CORE}/endpoints", {"metadata": {"name": "web", **metadata}, "subsets": list(subsets)})


def subset(*ips: str, ports: tuple[Any, ...] = (HTTP,), **more: Any) -> Any:
    return {"addresses": [{"ip": ip} for ip in ips], "ports": list(ports), **more}


def replace_subsets(cluster: QuietCluster, *subsets: Any) -> None:
    cluster.call("PATCH", f"{CORE}/endpoints/web", {"subsets": list(subsets)}, content_type=MERGE_PATCH)


def slices(cluster: QuietCluster) -> list[Any]:
    found: list[Any] = cluster.call("GET", SLICES)["items"]
    return found


def addresses(found: Any) -> list[str]:
    return [endpoint["addresses"][0] for endpoint in found["endpoints"]]


def test_endpoints_of_a_service_without_selector_have_a_slice(cluster: QuietCluster) -> None:
    create_service(cluster)
    create_endpoints(
        cluster,
        subset("10.2.0.1", notReadyAddresses=[{"ip": "10.2.0.2", "hostname": "b", "nodeName": "n"}]),
        labels={"by": "hand"},
        annotations={"note": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
    )

    (found,) = slices(cluster)
    assert found["addressType"] == "IPv4"
    assert found["ports"] == [HTTP]
    assert found["endpoints"] == [
        {"addresses": ["10.2.0.1"], "conditions": {"ready": True}},
        {"addresses": ["10.2.0.2"], "conditions": {"ready": False}, "hostname": "b", "nodeName": "n"},
    ]
    metadata = found["metadata"]
    assert metadata["generateName"] == "web-"
    assert metadata["labels"] == {
        "by": "hand",
        "kubernetes.io/service-name": "web",
        MANAGED_BY: "endpointslicemirroring-controller.k8s.io",
    }
    assert metadata["annotations"] == {"note": "x"}
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Endpoints", "web", True)


def test_each_address_type_and_each_set_of_ports_has_a_slice(cluster: QuietCluster) -> None:
    create_service(cluster)
    create_endpoints(cluster, subset("10.2.0.1", "2001:db8::1"), subset("10.2.0.9", ports=(ADMIN,)))

    found = {(each["addressType"], each["ports"][0]["name"]): addresses(each) for each in slices(cluster)}
    assert found == {
        ("IPv4", "http"): ["10.2.0.1"],
        ("IPv6", "http"): ["2001:db8::1"],
        ("IPv4", "admin"): ["10.2.0.9"],
    }


def test_subsets_with_equal_addresses_share_a_slice(cluster: QuietCluster) -> None:
    create_service(cluster)
    create_endpoints(cluster, subset("10.2.0.1"), subset("10.2.0.1", ports=(ADMIN,)))

    (found,) = slices(cluster)
    assert {port["name"] for port in found["ports"]} == {"http", "admin"}


def test_a_slice_follows_its_endpoints_and_keeps_its_name(cluster: QuietCluster) -> None:
    create_service(cluster)
    create_endpoints(cluster, subset("10.2.0.1"))
    (before,) = slices(cluster)

    replace_subsets(cluster, subset("10.2.0.2", ports=(ADMIN,)))

    (after,) = slices(cluster)
    assert after["metadata"]["name"] == before["metadata"]["name"]
    assert (addresses(after), after["ports"]) == (["10.2.0.2"], [ADMIN])


def test_an_update_leaves_a_generated_name_only_to_slices_with_new_ports(cluster: QuietCluster) -> None:
    create_service(cluster)
    create_endpoints(cluster, subset("10.2.0.1"), annotations={"note": "x"})
    cluster.call("PATCH", f"{CORE}/endpoints/web", {"metadata": {"annotations": None}}, content_type=MERGE_PATCH)
    replace_subsets(cluster, subset("10.2.0.2"))
    assert not slices(cluster)[0]["metadata"].keys() & {"generateName", "annotations"}

    replace_subsets(cluster, subset("10.2.0.2", ports=(ADMIN,)))
    assert slices(cluster)[0]["metadata"]["generateName"] == "web-"


def test_a_change_of_a_slice_is_undone(cluster: QuietCluster) -> None:
    create_service(cluster)
    create_endpoints(cluster, subset("10.2.0.1"))
    (found,) = slices(cluster)
    path = f"{ALL_SLICES}/{found['metadata']['name']}"

    cluster.call("PATCH", path, {"endpoints": [{"addresses": ["10.9.9.9"]}]}, content_type=MERGE_PATCH)
    (restored,) = slices(cluster)
    assert addresses(restored) == ["10.2.0.1"]

    cluster.call("DELETE", path)
    (recreated,) = slices(cluster)
    assert addresses(recreated) == ["10.2.0.1"]


@pytest.mark.parametrize("gone", ["endpoints", "services"])
def test_slices_go_with_service_or_endpoints(cluster: QuietCluster, gone: str) -> None:
    create_service(cluster)
    create_endpoints(cluster, subset("10.2.0.1"))

    cluster.call("DELETE", f"{CORE}/{gone}/web")

    assert not slices(cluster)


def test_endpoints_without_addresses_have_no_slice(cluster: QuietCluster) -> None:
    create_service(cluster)
    create_endpoints(cluster, subset("10.2.0.1"))

    replace_subsets(cluster)

    assert not slices(cluster)


def test_a_selector_ends_the_mirroring_and_its_removal_begins_it_again(cluster: QuietCluster) -> None:
    create_service(cluster)
    create_endpoints(cluster, subset("10.2.0.1"))

    cluster.call("PATCH", f"{CORE}/services/web", {"spec": {"selector": {"a": "b"}}}, content_type=MERGE_PATCH)
    assert not slices(cluster)

    cluster.call("PATCH", f"{CORE}/services/web", {"spec": {"selector": None}}, content_type=MERGE_PATCH)
    assert len(slices(cluster)) == 1


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        {"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}},
    ],
)
def test_excluded_endpoints_are_not_mirrored(cluster: QuietCluster, metadata: Any) -> None:
    create_service(cluster)
    create_endpoints(cluster, subset("10.2.0.1"), **metadata)
    assert not slices(cluster)

    change = {"metadata": {kind: dict.fromkeys(values) for kind, values in metadata.items()}}
    cluster.call("PATCH", f"{CORE}/endpoints/web", change, content_type=MERGE_PATCH)
    assert len(slices(cluster)) == 1


def test_endpoints_without_a_service_are_not_mirrored(cluster: QuietCluster) -> None:
    create_endpoints(cluster, subset("10.2.0.1"))
    assert not slices(cluster)

    create_service(cluster)
    assert len(slices(cluster)) == 1


def test_addresses_above_the_limit_of_a_subset_are_reported(cluster: QuietCluster) -> None:
    create_service(cluster)
    create_endpoints(cluster, subset(*(f"10.2.{number // 250}.{number % 250 + 1}" for number in range(1002))))

    (found,) = slices(cluster)
    assert len(found["endpoints"]) == 1000
    (event,) = cluster.call("GET", f"{CORE}/events")["items"]
    assert (event["reason"], event.get("count")) == ("TooManyAddressesToMirror", 1)
    assert event["message"].endswith("2 addresses were skipped")
    assert event["source"] == {"component": "endpoint-slice-mirroring-controller"}
