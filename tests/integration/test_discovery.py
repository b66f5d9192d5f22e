"""Discovery: the resources of a cluster and their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.conftest import connected

from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
from masthead.errors import ArgumentError, UnknownKindError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.conftest import Cluster


async def test_groups_are_listed_with_their_versions_the_core_group_first(client: Any) -> None:
    groups = await client.discovery.groups()
    by_name = {group.name: group for group in groups}

    assert (groups[0].name, groups[0].versions) == ("", ("v1",))
    assert by_name["autoscaling"].versions == ("v2", "v1")
    assert by_name["autoscaling"].preferred == "v2"


async def test_resources_have_all_their_discovery_fields(client: Any) -> None:
    resources = {resource.name: resource for resource in await client.discovery.resources("apps/v1")}
    found = resources["deployments"]

    assert found.gvk == GroupVersionKind("apps", "v1", "Deployment")
    assert (found.singular, found.namespaced, found.short_names) == ("deployment", True, ("deploy",))
    assert "all" in found.categories
    assert {"get", "list", "watch", "create", "deletecollection"} <= set(found.verbs)
    scale = found.subresource("scale")
    assert scale is not None
    assert scale.kind == GroupVersionKind("autoscaling", "v1", "Scale")


async def test_discovery_lists_the_resources_of_all_groups(client: Any) -> None:
    everything = await client.discovery.resources()

    assert not everything.failures
    names = {each.gvr.group_resource for each in everything}
    assert {"pods", "deployments.apps", "customresourcedefinitions.apiextensions.k8s.io"} <= names


async def test_each_resource_is_preferred_once(client: Any) -> None:
    preferred = await client.discovery.preferred_resources()
    found = [each.gvr for each in preferred]

    assert len({each.group_resource for each in found}) == len(found)
    assert GroupVersionResource("autoscaling", "v2", "horizontalpodautoscalers") in found


async def test_a_version_that_is_not_served_is_unknown(client: Any) -> None:
    with pytest.raises(UnknownKindError, match=r"no apps/v7; the nearest: .*apps/v1"):
        await client.discovery.resources("apps/v7")
    with pytest.raises(ArgumentError):
        await client.discovery.resources("a/b/c")


async def test_a_client_can_check_whether_a_resource_is_served(client: Any) -> None:
    assert await client.discovery.supports(GroupVersionResource("apps", "v1", "deployments"))
    assert not await client.discovery.supports(GroupVersionResource("apps", "v1", "unicorns"))
    assert not await client.discovery.supports(GroupVersionResource("example.com", "v1", "unicorns"))


async def test_the_server_version_can_be_read(client: Any) -> None:
    version = await client.discovery.server_version()

    assert version.number == (1, 36)
    assert str(version).startswith("v1.36.")


async def test_openapi_documents_are_found_and_read(client: Any) -> None:
    paths = await client.discovery.openapi_paths()
    document = await client.discovery.openapi("apps/v1")

    assert "apis/apps/v1" in paths
    assert document["openapi"].startswith("3.")
    assert "/apis/apps/v1/namespaces/{namespace}/deployments" in document["paths"]
    assert await client.discovery.openapi("v1") != document
    with pytest.raises(UnknownKindError):
        await client.discovery.openapi("example.com/v1")


async def test_kinds_and_resources_map_to_each_other(client: Any) -> None:
    job = await client.mapper.kind(GroupVersionKind("batch", "v1", "Job"))
    jobs = await client.mapper.resource(GroupVersionResource("batch", "v1", "jobs"))

    assert job == jobs
    assert job.name == "jobs"
    with pytest.raises(UnknownKindError, match="kind Jub"):
        await client.mapper.kind(GroupVersionKind("batch", "v1", "Jub"))
    with pytest.raises(UnknownKindError, match="resource jubs"):
        await client.mapper.resource(GroupVersionResource("batch", "v1", "jubs"))


async def test_names_are_resolved_by_group_and_version(client: Any) -> None:
    assert (await client.mapper.find("hpa")).gvr.version == "v2"
    assert (await client.mapper.find("hpa", api_version="autoscaling/v1")).gvr.version == "v1"
    assert (await client.mapper.find("horizontalpodautoscalers.v1.autoscaling")).gvr.version == "v1"
    assert (await client.mapper.find("events", group="events.k8s.io")).api_version == "events.k8s.io/v1"
    assert (await client.mapper.find("CSR")).kind == "CertificateSigningRequest"
    with pytest.raises(UnknownKindError, match="in the core group"):
        await client.mapper.find("deployments", group="")


async def test_a_category_is_many_resources(client: Any) -> None:
    found = {each.gvr.group_resource for each in await client.mapper.category("all")}

    assert {"pods", "services", "deployments.apps", "jobs.batch"} <= found
    with pytest.raises(UnknownKindError, match=r"it has .*all"):
        await client.mapper.category("some")


@pytest.mark.embedded_only
async def test_discovery_is_cached_until_it_is_invalidated(cluster: Cluster, client: Any) -> None:
    server = cluster.embedded
    assert server is not None
    first = await client.discovery.resources()
    before = len(server.requests)

    again = await client.discovery.resources()
    assert len(server.requests) == before
    client.discovery.invalidate()
    anew = await client.discovery.resources()

    assert len(server.requests) > before
    assert first.resources == again.resources == anew.resources


@pytest.mark.embedded_only
async def test_discovery_is_cached_on_disk_for_the_next_client(cluster: Cluster, facade: str, tmp_path: Path) -> None:
    server = cluster.embedded
    assert server is not None
    async with connected(cluster.config, facade, discovery_cache=tmp_path) as first:
        found = await first.mapper.find("deploy")
    before = len(server.requests)

    async with connected(cluster.config, facade, discovery_cache=tmp_path) as second:
        assert await second.mapper.find("deploy") == found

    assert len(server.requests) == before
