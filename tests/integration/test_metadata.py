"""The metadata of objects, whatever their kinds."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest
from tests.conformance.objects import config_map, deployment
from tests.integration import scripts
from tests.integration.facades import informer_of

from masthead._meta.gvk import GroupVersionResource
from masthead._meta.patch import Patch
from masthead._meta.v1 import PartialObjectMetadata, PartialObjectMetadataList
from masthead.errors import ConflictError, DecodeError, NotFoundError, UnknownKindError

OURS = "here=yes"
CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


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
    assert [each.metadata.name async for each in maps.iter(label_selector=OURS)] == ["a", "b", "c"]


async def test_a_watch_delivers_metadata(maps: Any) -> None:
    since = (await maps.list()).metadata.resource_version
    await maps.patch("a", Patch.merge({"metadata": {"labels": {"name": "changed"}}}))
    await maps.delete("b")

    seen = []
    async with maps.watch(resource_version=since, label_selector=OURS) as events:
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


async def test_a_patch_changes_the_object_and_returns_its_metadata(client: Any, namespace: str, maps: Any) -> None:
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


def whole(name: str, version: str = "5") -> dict[str, Any]:
    """A whole object, as a server sends it that cannot send metadata alone."""
    return scripts.config_map(name, version, data={"much": "data"}, immutable=True)


def names_of(objects: Any) -> list[str]:
    """The names; none of the objects has any content."""
    assert all(isinstance(obj, PartialObjectMetadata) for obj in objects)
    assert all(obj.to_dict().keys() == {"apiVersion", "kind", "metadata"} for obj in objects)
    return [obj.metadata.name for obj in objects]


async def test_metadata_is_taken_from_a_server_that_answers_with_whole_objects(facade: str) -> None:
    without_kind = {key: value for key, value in whole("b").items() if key not in {"apiVersion", "kind"}}
    script = scripts.ScriptedServer(
        rest=deque(
            [
                scripts.json_response(whole("a")),
                scripts.json_response(scripts.listed(whole("a"), without_kind, version="9")),
            ]
        )
    )
    async with scripts.client_of(script.handle, facade) as client:
        maps = client.metadata(CONFIG_MAPS, namespace="shop")

        assert names_of([await maps.get("a")]) == ["a"]
        listed = await maps.list()

    assert names_of(listed) == ["a", "b"]
    assert isinstance(listed, PartialObjectMetadataList)
    assert listed.metadata.resource_version == "9"


async def test_metadata_is_taken_from_a_watch_of_whole_objects(facade: str) -> None:
    events = scripts.stream(
        scripts.event("ADDED", whole("a")),
        scripts.bookmark("6", ends=True),
        scripts.event("DELETED", whole("a", "7")),
    )
    script = scripts.ScriptedServer(deque([events]))
    async with scripts.client_of(script.handle, facade) as client:
        maps = client.metadata(CONFIG_MAPS, namespace="shop")

        assert names_of(await maps.watch_list()) == ["a"]
        async with maps.watch() as watch:
            first, second = await anext(watch), await anext(watch)

    assert (first.type, second.type) == ("ADDED", "DELETED")
    assert names_of([first.object, second.object]) == ["a", "a"]


@pytest.mark.parametrize("lists", [False, True], ids=["watch-list", "list"])
async def test_a_metadata_informer_mirrors_a_server_of_whole_objects(facade: str, lists: bool) -> None:
    changed = scripts.event("MODIFIED", whole("b", "10"))
    initial = [scripts.event("ADDED", whole("b")), scripts.bookmark("9", ends=True), changed]
    refused = scripts.json_response(scripts.status(400, "BadRequest", "no initial events"), "400 Bad Request")
    watches = [scripts.ScriptedResponse(refused), scripts.stream(changed)] if lists else [scripts.stream(*initial)]
    script = scripts.ScriptedServer(
        deque(watches), rest=deque([scripts.json_response(scripts.listed(whole("a"), whole("b")))])
    )
    async with scripts.client_of(script.handle, facade) as client:
        informer = informer_of(client.metadata(CONFIG_MAPS, namespace="shop"))
        async with informer:
            await informer.wait_for_version("10", 30)
            assert sorted(names_of(informer.indexer.list())) == (["a", "b"] if lists else ["b"])


async def test_a_status_is_not_taken_for_an_object(facade: str) -> None:
    answer = {"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Success"}
    script = scripts.ScriptedServer(rest=deque([scripts.json_response(answer)]))
    async with scripts.client_of(script.handle, facade) as client:
        with pytest.raises(DecodeError, match="PartialObjectMetadata: apiVersion"):
            await client.metadata(CONFIG_MAPS, namespace="shop").get("a")
