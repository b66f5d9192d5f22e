"""The resources that a server serves."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.server.definitions import definition_of

from masthead._meta.api_versions import precedence
from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
from masthead_server import scheme
from masthead_server.clock import VirtualClock
from masthead_server.cluster import ClusterState
from masthead_server.faults import Faults
from masthead_server.resources.catalog import Catalog
from masthead_server.resources.custom.resource import served_versions
from masthead_server.storage import Storage
from masthead_server.verbs.rest import Rest
from masthead_server.verbs.watch import WatchLimits
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.request import ApiRequest
from masthead_server.wire.request_info import read_request_info

if TYPE_CHECKING:
    from masthead_server.resources.resource import ServedResource

WIDGETS = GroupVersionResource("example.com", "v1", "widgets")


WIDGET = GroupVersionKind("example.com", "v1", "Widget")


def resources_of(group: str, kind: str, *versions: str) -> list[ServedResource]:
    return served_versions(definition_of(group, kind, *versions), 0)


def widgets_resource() -> ServedResource:
    return resources_of("example.com", "Widget", "v1")[0]


def server_of(catalog: Catalog) -> Rest:
    cluster = ClusterState(Storage(), VirtualClock(), catalog)
    cluster.add_first_namespaces()
    return Rest(cluster, Faults(catalog), WatchLimits(), lambda: None)


def get(server: Rest, path: str, accept: str = "application/json") -> Any:
    request = ApiRequest("GET", path, headers={"accept": accept})
    response: Any = asyncio.run(server.respond(request, read_request_info(request)))
    assert response.code == 200, response.body
    return json.loads(response.body)


def test_the_builtin_catalog_finds_resources_by_name_and_by_kind() -> None:
    catalog = Catalog.builtin()
    deployments = catalog.find(GroupVersionResource("apps", "v1", "deployments"))
    assert deployments is not None
    assert deployments.kind == "Deployment"
    assert catalog.by_kind(GroupVersionKind("apps", "v1", "Deployment")) is deployments
    assert catalog.by_kind(GroupVersionKind("apps", "v1", "DeploymentList")) is None
    assert catalog.by_kind(GroupVersionKind("autoscaling", "v1", "Scale")) is None
    assert catalog.find(GroupVersionResource("apps", "v1beta1", "deployments")) is None


def test_versions_are_in_the_order_of_preference() -> None:
    catalog = Catalog.builtin()
    assert catalog.groups()[:2] == ("", "apiregistration.k8s.io")
    for group in catalog.groups():
        versions = catalog.versions(group)
        assert list(versions) == sorted(versions, key=precedence, reverse=True)
    assert catalog.versions("nowhere") == ()


def test_a_table_is_found_in_a_version_that_has_the_stored_shape() -> None:
    catalog = Catalog.builtin()
    stored = {table: catalog.stored_in(table) for table in ("pods", "events", "resource.k8s.io/resourceclaims")}
    assert {table: each and each.api_version for table, each in stored.items()} == {
        "pods": "v1",
        "events": "v1",
        "resource.k8s.io/resourceclaims": "resource.k8s.io/v1",
    }
    assert catalog.stored_in("example.com/widgets") is None


def test_adding_and_removing_a_resource_changes_the_generation() -> None:
    catalog = Catalog.builtin()
    first = catalog.generation
    catalog.add(widgets_resource())
    assert catalog.generation == first + 1
    found = catalog.find(WIDGETS)
    assert found is not None
    assert catalog.by_kind(WIDGET) is found
    assert catalog.versions("example.com") == ("v1",)
    assert catalog.stored_in("example.com/widgets") is found

    catalog.remove(WIDGETS)
    assert catalog.generation == first + 2
    assert catalog.find(WIDGETS) is None
    assert catalog.by_kind(WIDGET) is None
    assert catalog.groups() == tuple(scheme.VERSIONS)


def test_a_resource_name_is_registered_once() -> None:
    catalog = Catalog.builtin()
    catalog.add(widgets_resource())
    with pytest.raises(ValueError, match="widgets"):
        catalog.add(widgets_resource())
    with pytest.raises(KeyError):
        catalog.remove(GroupVersionResource("example.com", "v1", "gadgets"))


def test_added_groups_come_last_by_name_and_their_versions_by_preference() -> None:
    catalog = Catalog.builtin()
    for each in (
        *resources_of("example.com", "Widget", "v1beta1", "v1"),
        *resources_of("a.example.com", "Gadget", "v1"),
    ):
        catalog.add(each)
    assert catalog.groups() == (*scheme.VERSIONS, "a.example.com", "example.com")
    assert catalog.versions("example.com") == ("v1", "v1beta1")
    catalog.remove(WIDGETS)
    assert catalog.versions("example.com") == ("v1beta1",)


def test_discovery_follows_the_catalog() -> None:
    catalog = Catalog.builtin()
    server = server_of(catalog)
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

    def seen() -> tuple[bool, bool, bool]:
        groups = [each["name"] for each in get(server, "/apis")["groups"]]
        items = [each["metadata"]["name"] for each in get(server, "/apis", aggregated)["items"]]
        return (
            "example.com" in groups,
            "example.com" in items,
            "/apis/example.com" in get(server, "/")["paths"],
        )

    assert seen() == (False, False, False)
    catalog.add(widgets_resource())
    assert seen() == (True, True, True)
    assert [each["name"] for each in get(server, "/apis/example.com/v1")["resources"]] == [
        "widgets",
        "widgets/status",
    ]
    catalog.remove(WIDGETS)
    assert seen() == (False, False, False)


def test_two_servers_in_one_process_serve_different_catalogs() -> None:
    more = Catalog.builtin()
    more.add(widgets_resource())
    less = Catalog.builtin()
    less.remove(GroupVersionResource("", "v1", "pods"))
    first, second = server_of(more), server_of(less)
    widgets, pods = "/apis/example.com/v1/namespaces/default/widgets", "/api/v1/namespaces/default/pods"

    assert get(first, widgets)["kind"] == "WidgetList"
    assert get(first, pods)["kind"] == "PodList"
    with pytest.raises(StatusFailure):
        get(second, pods)
    assert "pods" not in {each["name"] for each in get(second, "/api/v1")["resources"]}
    assert "pods" in {each["name"] for each in get(first, "/api/v1")["resources"]}
    request = ApiRequest("GET", widgets)
    response: Any = asyncio.run(second.respond(request, read_request_info(request)))
    assert response.code == 404
