"""The metadata of objects, whatever their kinds."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.objects import config_map, deployment

from masthead._meta.gvk import GroupVersionResource
from masthead._meta.patch import Patch
from masthead._meta.v1 import PartialObjectMetadata, PartialObjectMetadataList
from masthead.errors import ConflictError, NotFoundError, UnknownKindError

OURS = "here=yes"


@pytest.fixture
async def maps(client: Any, namespace: str) -> Any:
    """Three objects, of which only the metadata is read."""
    for name in ("a", "b", "c"):
        await client.core_v1.config_maps(namespace).create(
            config_map(name, data={"much": "data"}, labels={"here": "yes", "name": name})
        )
    return client.metadata("v1", "configmaps", namespace=namespace)


async def test_an_object_is_read_without_its_content(maps: Any) -> None:
    found = await maps.get("a")

    assert isinstance(found, PartialObjectMetadata)
    assert found.metadata.labels["name"] == "a"
    assert found.metadata.uid
    assert "data" not in found.to_dict()


async def test_a_metadata_list_is_complete_and_has_no_content(maps: Any) -> None:
    listed = await maps.list(label_selector=OURS, page_size=2)

    assert isinstance(listed, PartialObjectMetadataList)
    assert [each.metadata.name for each in listed] == ["a", "b", "c"]
    assert all("data" not in each.to_dict() for each in listed)
    assert [each.metadata.name async for each in maps.iterate(label_selector=OURS)] == ["a", "b", "c"]


async def test_a_watch_delivers_metadata(maps: Any) -> None:
    since = (await maps.list()).metadata.resource_version
    await maps.patch("a", Patch.merge({"metadata": {"labels": {"name": "changed"}}}))
    await maps.delete("b")

    seen = []
    async with maps.watch(since=since, label_selector=OURS) as events:
        async for event in events:
            assert "data" not in event.object.to_dict()
            seen.append((event.type, event.object.metadata.name, event.object.metadata.labels["name"]))
            if len(seen) == 2:
                break

    assert seen == [("MODIFIED", "a", "changed"), ("DELETED", "b", "b")]


async def test_a_list_can_be_served_as_initial_events_of_a_watch(maps: Any) -> None:
    listed = await maps.watch_list(label_selector=OURS)

    assert sorted(each.metadata.name for each in listed) == ["a", "b", "c"]
    assert all(isinstance(each, PartialObjectMetadata) for each in listed)


async def test_a_patch_changes_the_object_and_returns_its_metadata(
    client: Any, namespace: str, maps: Any
) -> None:
    patched = await maps.patch("a", Patch.merge({"metadata": {"annotations": {"by": "us"}}}))

    assert isinstance(patched, PartialObjectMetadata)
    assert patched.metadata.annotations == {"by": "us"}
    whole = await client.core_v1.config_maps(namespace).get("a")
    assert (whole.metadata.annotations, whole.data) == ({"by": "us"}, {"much": "data"})


async def test_a_dry_run_changes_nothing(maps: Any) -> None:
    tried = await maps.patch("a", Patch.merge({"metadata": {"labels": {"name": "x"}}}), dry_run=True)
    await maps.delete("b", dry_run=True)
    await maps.delete_collection(label_selector=OURS, dry_run=True)

    assert tried.metadata.labels["name"] == "x"
    assert [each.metadata.labels["name"] for each in await maps.list(label_selector=OURS)] == ["a", "b", "c"]


async def test_objects_are_deleted(maps: Any) -> None:
    found = await maps.get("a")
    with pytest.raises(ConflictError):
        await maps.delete("a", uid="00000000-0000-0000-0000-000000000000")

    assert await maps.delete("a", uid=found.metadata.uid) is None
    with pytest.raises(NotFoundError):
        await maps.get("a")


async def test_an_object_with_finalizers_is_returned_by_delete(maps: Any) -> None:
    await maps.patch("a", Patch.merge({"metadata": {"finalizers": ["example.com/wait"]}}))

    waiting = await maps.delete("a")

    assert isinstance(waiting, PartialObjectMetadata)
    assert waiting.metadata.deletion_timestamp is not None
    await maps.patch("a", Patch.merge({"metadata": {"finalizers": None}}))


async def test_a_collection_is_deleted(maps: Any) -> None:
    await maps.delete_collection(label_selector="name in (a, b)")

    assert [each.metadata.name for each in await maps.list(label_selector=OURS)] == ["c"]


async def test_a_resource_is_found_by_any_of_its_names(client: Any, namespace: str) -> None:
    await client.apps_v1.deployments(namespace).create(deployment("web", labels={"app": "a"}))

    for words in (
        ("deploy",),
        ("apps/v1", "Deployment"),
        (GroupVersionResource("apps", "v1", "deployments"),),
    ):
        found = await client.metadata(*words, namespace=namespace).get("web")
        assert found.metadata.labels == {"app": "a"}
        assert found.kind == "PartialObjectMetadata"
    with pytest.raises(UnknownKindError):
        await client.metadata("unicorns").list()
