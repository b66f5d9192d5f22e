"""APIServices: one for each group-version, those of definitions among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MERGE_PATCH, Caller

import masthead.server
from masthead_server.bootstrap.network import ApiServerAddress
from masthead_server.bootstrap.objects import bootstrap_objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.quiet_cluster import QuietCluster

SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LABEL = "kube-aggregator.kubernetes.io/automanaged"


def version(name: str, *, served: bool = True) -> Any:
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {"name": name, "served": served, "storage": name == "v1", "schema": schema}


def define(cluster: QuietCluster, *versions: Any) -> None:
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    cluster.call("POST", DEFINITIONS, {"metadata": {"name": "widgets.example.com"}, "spec": spec})


def test_a_definition_has_an_api_service_for_each_served_version(cluster: QuietCluster) -> None:
    define(cluster, version("v1"), version("v2"), version("v3", served=False))

    service = cluster.call("GET", f"{SERVICES}/v2.example.com")
    assert service["metadata"]["labels"] == {LABEL: "true"}
    assert service["spec"]["groupPriorityMinimum"] == 1000
    assert not cluster.is_there(f"{SERVICES}/v3.example.com")

    cluster.call("DELETE", f"{DEFINITIONS}/widgets.example.com")

    assert not cluster.is_there(f"{SERVICES}/v1.example.com")
    assert not cluster.is_there(f"{SERVICES}/v2.example.com")


def test_the_api_service_of_a_definition_is_restored(cluster: QuietCluster) -> None:
    define(cluster, version("v1"))

    cluster.call("DELETE", f"{SERVICES}/v1.example.com")
    assert cluster.is_there(f"{SERVICES}/v1.example.com")
    change = {"spec": {"versionPriority": 5}}
    cluster.call("PATCH", f"{SERVICES}/v1.example.com", change, content_type=MERGE_PATCH)

    assert cluster.call("GET", f"{SERVICES}/v1.example.com")["spec"]["versionPriority"] == 100


@pytest.fixture(scope="module")
def bootstrapped() -> Iterator[Caller]:
    with masthead.server.run(token=None) as server:
        caller = Caller(server.url)
        yield caller
        caller.close()


def test_built_in_groups_have_api_services(bootstrapped: Caller) -> None:
    service = bootstrapped.call("GET", f"{SERVICES}/v1.apps").json

    assert service["metadata"]["labels"] == {LABEL: "onstart"}
    assert service["spec"] == {"group": "apps", "version": "v1", "groupPriorityMinimum": 17800, "versionPriority": 15}
    assert service["status"]["conditions"][0]["type"] == "Available"


@pytest.mark.parametrize("authority", ["", "PEM"], ids=["without TLS", "with TLS"])
def test_extension_servers_find_the_authority_of_client_certificates(authority: str) -> None:
    address = ApiServerAddress("127.0.0.1", 6443, "10.0.0.1", "10.0.0.0/16")

    found = [
        bootstrap_object.content["data"]
        for bootstrap_object in bootstrap_objects(address, "2001-02-03T04:05:06Z", authority)
        if bootstrap_object.content["metadata"]["name"] == "extension-apiserver-authentication"
    ]

    assert found == ([{"client-ca-file": authority}] if authority else [])
