"""Custom resources, from the moment they are defined."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.objects import named

import masthead.aio
from masthead import conditions
from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
from masthead._meta.model import Struct, field
from masthead._meta.object import Object
from masthead._meta.patch import Patch
from masthead._meta.resource import Resource
from masthead._sansio.backoff import Attempts
from masthead.aio import retry_on
from masthead.errors import (
    AlreadyExistsError,
    ArgumentError,
    BadRequestError,
    DeadlineError,
    NotFoundError,
    UnknownKindError,
    UnprocessableError,
    UnsupportedMediaTypeError,
)

if TYPE_CHECKING:
    from tests.integration.conftest import Cluster


SOON = Attempts(count=60, first=0.1, factor=1.0, jitter=0.0)
"""Discovery forgets a kind a moment after its definition is gone."""
SHARED = "shared.example.com"


class BoxSpec(Struct):
    size: int = 0
    color: str | None = None
    replicas: int | None = None


class BoxStatus(Struct):
    replicas: int = 0


SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 0},
                "color": {"type": "string", "default": "brown"},
                "replicas": {"type": "integer"},
            },
        },
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
    },
}


def definition(group: str, *, scope: str = "Namespaced", **names: Any) -> dict[str, Any]:
    """A definition of boxes, whose plural no rule would find."""
    called = {
        "kind": "Box",
        "listKind": "BoxCollection",
        "plural": "boxen",
        "singular": "box",
        "shortNames": ["bx"],
        "categories": ["things"],
        **names,
    }
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": SCHEMA},
        "subresources": {"status": {}, "scale": scale},
    }
    spec = {"group": group, "scope": scope, "names": called, "versions": [version]}
    name = f"{called['plural']}.{group}"
    return named("apiextensions.k8s.io/v1", "CustomResourceDefinition", name, spec=spec)


async def define(client: Any, wanted: dict[str, Any]) -> None:
    """Define a kind, and wait until it is served."""
    definitions = client.apiextensions_v1.custom_resource_definitions()
    await definitions.create(wanted)
    name, spec = wanted["metadata"]["name"], wanted["spec"]
    assert await definitions.wait_for(name, conditions.crd_established(), timeout=60)

    await client.wait_for_kind(GroupVersionKind(spec["group"], "v1", spec["names"]["kind"]))


@pytest.fixture(scope="session")
def group(cluster: Cluster) -> str:
    """A group in which boxes are served."""

    async def make() -> None:
        async with masthead.aio.Client(cluster.config) as client:
            # In random order, pytest comes back to this server after tests of the real one.
            with suppress(AlreadyExistsError):
                await define(client, definition(SHARED))

    asyncio.run(make())
    return SHARED


@pytest.fixture
async def new_group(client: Any, namespace: str) -> str:
    """A group of the test's own, in which boxes are served, and which its client has not discovered yet."""
    await client.discovery.resources()
    made = f"{namespace}.example.com"
    await define(client, definition(made))
    return made


def box(group: str, name: str, **spec: Any) -> dict[str, Any]:
    return named(f"{group}/v1", "Box", name, spec={"size": 1, **spec})


def box_class(group: str) -> Any:
    """The class that a user would write for the kind; built here, because each test has its own group."""

    class Box(Object):
        GVK = GroupVersionKind(group, "v1", "Box")
        RESOURCE = Resource("boxen", singular="box", namespaced=True)

        spec: BoxSpec = field(default_factory=BoxSpec)
        status: BoxStatus = field(default_factory=BoxStatus)

    return Box


@pytest.mark.slow
async def test_a_kind_that_is_not_served_says_what_its_definition_lacks(client: Any, new_group: str) -> None:
    taken = definition(new_group, kind="Bag", listKind="BagList", plural="bags", shortNames=["bg"])
    await client.apiextensions_v1.custom_resource_definitions().create(taken)

    with pytest.raises(DeadlineError, match=r"bags\..*: NamesAccepted is False \(SingularConflict: "):
        await client.wait_for_kind(GroupVersionKind(new_group, "v1", "Bag"), timeout=1)
    with pytest.raises(DeadlineError, match="there is no definition of the kind Sack in the group"):
        await client.wait_for_kind(GroupVersionKind(new_group, "v1", "Sack"), timeout=0.2)
    with pytest.raises(DeadlineError, match="serves v1, not v9"):
        await client.wait_for_kind(GroupVersionKind(new_group, "v9", "Box"), timeout=0.2)


async def test_a_kind_that_was_just_defined_is_found(client: Any, new_group: str) -> None:
    for called in ("boxen", "box", "Box", "bx", "boxen.v1"):
        found = await client.mapper.find(f"{called}.{new_group}")
        assert (found.gvr, found.kind) == (GroupVersionResource(new_group, "v1", "boxen"), "Box")
        short = await client.mapper.find(called.partition(".")[0])
        assert (short.name, short.kind) == ("boxen", "Box")


async def test_a_custom_kind_works_like_any_other(client: Any, group: str) -> None:
    mapped = await client.mapper.kind(GroupVersionKind(group, "v1", "Box"))
    things = await client.mapper.category("things")

    assert (mapped.namespaced, mapped.short_names) == (True, ("bx",))
    assert {subresource.name for subresource in mapped.subresources} == {"status", "scale"}
    assert ("boxen", "Box") in {(thing.name, thing.kind) for thing in things}
    assert await client.discovery.supports(GroupVersionResource(group, "v1", "boxen"))
    assert not await client.discovery.supports(GroupVersionResource(group, "v2", "boxen"))


async def test_objects_without_a_type_are_written_and_read(client: Any, namespace: str, group: str) -> None:
    boxes = client.dynamic(f"{group}/v1", "Box", namespace=namespace)

    made = await boxes.create(box(group, "a"))
    listed = await boxes.list()
    patched = await boxes.patch("a", Patch.merge({"spec": {"size": 2}}))

    assert made["spec"] == {"size": 1, "color": "brown"}
    assert (listed.kind, [each.kind for each in listed]) == ("BoxCollection", ["Box"])
    assert patched.get("spec", "size") == 2
    with pytest.raises(AlreadyExistsError):
        await boxes.create(box(group, "a"))
    with pytest.raises(UnprocessableError, match=r"spec\.size"):
        await boxes.create(box(group, "b", size=-1))
    with pytest.raises(UnsupportedMediaTypeError):
        await boxes.patch("a", Patch.strategic({"spec": {"size": 3}}))


async def test_a_typed_class_written_by_hand_has_every_verb(client: Any, namespace: str, group: str) -> None:
    cls = box_class(group)
    boxes = client.resource(cls, namespace)

    made = await boxes.create(cls.new("a", spec={"size": 1, "replicas": 2}))
    made.spec.size = 5
    updated = await boxes.update(made)
    updated.status.replicas = 1
    status = await boxes.update_status(updated)
    scale = await boxes.get_scale("a")
    scaled = await boxes.patch_scale("a", Patch.merge({"spec": {"replicas": 3}}))
    listed = await boxes.list(page_size=1)

    assert type(made).__name__ == "Box"
    assert (updated.spec.size, updated.spec.color, status.status.replicas) == (5, "brown", 1)
    assert (scale.spec.replicas, scale.status.replicas, scaled.spec.replicas) == (2, 1, 3)
    assert [(each.metadata.name, each.spec.size) for each in listed] == [("a", 5)]
    assert (await client.scales(namespace).get("bx." + group, "a")).spec.replicas == 3
    await boxes.delete_collection()
    assert len(await boxes.list()) == 0


async def test_a_typed_class_written_by_hand_is_applied(client: Any, namespace: str, group: str) -> None:
    cls = box_class(group)
    boxes = client.resource(cls, namespace)
    await boxes.create(cls.new("a", spec={"size": 1, "replicas": 2}))

    applied = await boxes.apply(cls.new("a", spec={"size": 7}), field_manager="us", force=True)

    assert (applied.spec.size, applied.spec.replicas) == (7, 2)


async def test_a_custom_resource_is_applied_by_the_client(client: Any, namespace: str, group: str) -> None:
    cls = box_class(group)
    boxes = client.resource(cls, namespace)
    await boxes.apply_client_side(cls.new("a", spec={"size": 1, "replicas": 2}))
    await boxes.patch("a", Patch.merge({"spec": {"color": "red"}}))

    applied = await boxes.apply_client_side(cls.new("a", spec={"size": 7}))

    assert applied.spec.to_dict() == {"size": 7, "color": "red"}


async def test_changes_of_a_custom_kind_are_watched(client: Any, namespace: str, group: str) -> None:
    cls = box_class(group)
    boxes = client.resource(cls, namespace)
    since = (await boxes.list()).metadata.resource_version
    await boxes.create(cls.new("a", spec={"size": 1}))
    await boxes.delete("a")

    seen = []
    async with boxes.watch(resource_version=since) as events:
        async for event in events:
            seen.append((event.type, event.object.spec.size))
            if len(seen) == 2:
                break

    assert seen == [("ADDED", 1), ("DELETED", 1)]


async def test_metadata_of_a_custom_kind_is_read(client: Any, namespace: str, group: str) -> None:
    await client.dynamic("boxen." + group, namespace=namespace).create(box(group, "a"))

    [found] = await client.metadata("boxen." + group, namespace=namespace).list()

    assert found.metadata.name == "a"
    assert "spec" not in found.to_dict()


async def test_fields_unknown_to_the_schema_are_rejected_under_strict_validation(
    client: Any, namespace: str, group: str
) -> None:
    boxes = client.dynamic("boxen." + group, namespace=namespace)

    with pytest.raises(BadRequestError, match=r'unknown field "spec\.sise"'):
        await boxes.create(box(group, "a", sise=1), field_validation="Strict")
    assert "sise" not in (await boxes.create(box(group, "a", sise=1), field_validation="Ignore"))["spec"]


async def test_a_scope_that_is_not_the_kinds_is_refused(client: Any, namespace: str, group: str) -> None:
    with pytest.raises(ArgumentError, match="are namespaced; name the namespace"):
        await client.dynamic(f"{group}/v1", "boxen").create(box(group, "a"))
    with pytest.raises(ArgumentError, match="are namespaced; name the namespace"):
        await client.resource(box_class(group)).get("a")

    # A full name is used without discovery; rejecting it is up to the server.
    believed = client.dynamic(GroupVersionResource(group, "v1", "boxen"))
    with pytest.raises(NotFoundError):
        await believed.get("a")
    await believed.create({**box(group, "a"), "metadata": {"name": "a", "namespace": namespace}})
    assert namespace in {each.metadata.namespace for each in await believed.list()}


async def test_a_custom_kind_may_be_cluster_scoped(client: Any, namespace: str) -> None:
    group = f"{namespace}.example.com"
    await define(client, definition(group, scope="Cluster"))
    crates = client.dynamic(f"{group}/v1", "Box")

    await crates.create(box(group, "a"))

    assert (await crates.get("a")).metadata.namespace == ""
    with pytest.raises(ArgumentError, match="are cluster-scoped"):
        await client.dynamic(f"{group}/v1", "Box", namespace=namespace).get("a")
    with pytest.raises(NotFoundError):  # a class with another scope
        await client.resource(box_class(group), namespace).get("a")


async def test_two_groups_may_have_the_same_kind(client: Any, namespace: str, group: str, new_group: str) -> None:
    for each in (group, new_group):
        boxes = client.dynamic(f"{each}/v1", "Box", namespace=namespace)
        await boxes.create(box(each, "a"))
        assert (await boxes.get("a")).api_version == f"{each}/v1"
    assert (await client.mapper.find("boxen", group=new_group)).gvr.group == new_group


async def test_a_removed_kind_is_unknown_after_rediscovery(client: Any, namespace: str, new_group: str) -> None:
    resource = GroupVersionResource(new_group, "v1", "boxen")
    assert await client.discovery.supports(resource)
    definitions = client.apiextensions_v1.custom_resource_definitions()
    await definitions.delete(f"boxen.{new_group}")
    await definitions.wait_for(f"boxen.{new_group}", conditions.deleted(), timeout=60)

    async def still_there() -> None:
        client.discovery.invalidate()
        if await client.discovery.supports(resource):
            raise TimeoutError

    await retry_on(still_there, TimeoutError, attempts=SOON)
    with pytest.raises(UnknownKindError, match="kind Box"):
        await client.mapper.kind(GroupVersionKind(new_group, "v1", "Box"))
    with pytest.raises(NotFoundError, match="install its CRD"):
        await client.resource(box_class(new_group), namespace).list()
