"""The verbs of typed clients."""

from __future__ import annotations

from typing import Any

import pytest
from tests.integration.facades import faced

from masthead._meta.patch import Patch
from masthead._meta.v1 import Table
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap, Container, Namespace, Pod
from masthead.errors import (
    AlreadyExistsError,
    ArgumentError,
    ConflictError,
    DecodeError,
    NameFormatError,
    NotFoundError,
    SelectorError,
    UnprocessableError,
)


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap.new(name, data=data)


async def test_a_created_object_can_be_read_back(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps(namespace)

    created = await maps.create(config_map("settings", color="red"))
    read = await maps.get("settings")

    assert isinstance(created, ConfigMap)
    assert created.metadata.uid
    assert created.metadata.namespace == namespace
    assert read == created
    assert read.data == {"color": "red"}


async def test_plain_data_can_be_created_too(client: Any, namespace: str) -> None:
    created = await client.core_v1.config_maps(namespace).create({"metadata": {"name": "plain"}, "data": {"a": "b"}})

    assert isinstance(created, ConfigMap)
    assert created.data == {"a": "b"}


async def test_a_name_can_be_generated_by_the_server(client: Any, namespace: str) -> None:
    created = await client.core_v1.config_maps(namespace).create(ConfigMap.new(generate_name="made-"))

    assert created.metadata.name.startswith("made-")


async def test_the_object_may_name_its_namespace(client: Any, namespace: str) -> None:
    everywhere = client.core_v1.config_maps()

    created = await everywhere.create(ConfigMap.new("own", namespace=namespace, data={"a": "1"}))
    created.data["a"] = "2"
    updated = await everywhere.update(created)

    assert updated.metadata.namespace == namespace
    assert updated.data == {"a": "2"}


async def test_creating_twice_raises_already_exists(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps(namespace)
    await maps.create(config_map("once"))

    with pytest.raises(AlreadyExistsError) as raised:
        await maps.create(config_map("once"))

    assert (raised.value.verb, raised.value.resource) == ("create", "configmaps")
    assert raised.value.namespace == namespace


async def test_a_missing_object_is_not_found(client: Any, namespace: str) -> None:
    with pytest.raises(NotFoundError) as raised:
        await client.core_v1.pods(namespace).get("absent")

    assert str(raised.value).startswith(f'get pods {namespace}/absent: pods "absent" not found (404 NotFound).')


async def test_an_object_that_breaks_the_rules_is_invalid(client: Any, namespace: str) -> None:
    with pytest.raises(UnprocessableError) as raised:
        await client.core_v1.pods(namespace).create(Pod.new("bad", spec={"containers": []}))

    assert raised.value.details is not None
    assert raised.value.details.causes[0].field == "spec.containers"


async def test_an_update_replaces_the_object(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps(namespace)
    current = await maps.create(config_map("changing", a="1"))

    current.data["b"] = "2"
    updated = await maps.update(current)

    assert updated.data == {"a": "1", "b": "2"}
    assert updated.metadata.resource_version != current.metadata.resource_version


async def test_an_update_of_a_stale_object_is_a_conflict(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps(namespace)
    stale = await maps.create(config_map("contested", a="1"))
    fresh = stale.copy()
    fresh.data["a"] = "2"
    await maps.update(fresh)

    stale.data["a"] = "3"
    with pytest.raises(ConflictError, match="Read the object again"):
        await maps.update(stale)


async def test_patches_change_parts(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps(namespace)
    await maps.create(config_map("patched", a="1", b="2"))

    merged = await maps.patch("patched", Patch.merge({"data": {"a": "new", "b": None}}))
    patched = await maps.patch("patched", Patch.json([{"op": "add", "path": "/data/c", "value": "3"}]))

    assert merged.data == {"a": "new"}
    assert patched.data == {"a": "new", "c": "3"}


async def test_a_dry_run_stores_nothing(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps(namespace)

    tried = await maps.create(config_map("dry", a="1"), dry_run=True)

    assert tried.data == {"a": "1"}
    with pytest.raises(NotFoundError):
        await maps.get("dry")


async def test_delete_returns_none_when_the_object_is_gone(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps(namespace)
    await maps.create(config_map("doomed"))

    assert await maps.delete("doomed") is None
    with pytest.raises(NotFoundError):
        await maps.get("doomed")


async def test_delete_returns_an_object_that_still_has_finalizers(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps(namespace)
    held = config_map("held")
    held.metadata.finalizers = ["example.com/wait"]
    await maps.create(held)

    waiting = await maps.delete("held")

    assert isinstance(waiting, ConfigMap)
    assert waiting.metadata.deletion_timestamp is not None
    await maps.patch("held", Patch.merge({"metadata": {"finalizers": None}}))
    with pytest.raises(NotFoundError):
        await maps.get("held")


async def test_delete_can_have_preconditions(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps(namespace)
    made = await maps.create(config_map("meant"))

    with pytest.raises(ConflictError):
        await maps.delete("meant", uid="00000000-0000-0000-0000-000000000000")
    with pytest.raises(ConflictError):
        await maps.delete("meant", resource_version="1")

    await maps.delete("meant", uid=made.metadata.uid, resource_version=made.metadata.resource_version)


async def test_a_collection_is_deleted_by_its_labels(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps(namespace)
    for name, app in (("a", "web"), ("b", "web"), ("c", "db")):
        await maps.create(ConfigMap.new(name, labels={"app": app}))

    await maps.delete_collection(label_selector={"app": "web"})

    left = await maps.list(label_selector="app")
    assert [each.metadata.name for each in left] == ["c"]


async def test_status_is_written_as_a_subresource(client: Any, namespace: str) -> None:
    deployments = client.apps_v1.deployments(namespace)
    labels = {"app": "web"}
    made = await deployments.create(
        Deployment.new(
            "web",
            spec={
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [Container(name="web", image="nginx")]},
                },
            },
        )
    )

    made.spec.replicas = 7
    made.status.observed_generation = 1
    written = await deployments.update_status(made)

    assert written.status.observed_generation == 1
    assert written.spec.replicas == 1


async def test_a_type_of_the_api_finds_its_resource(client: Any, namespace: str) -> None:
    made = await client.resource(ConfigMap, namespace).create(config_map("by-type", a="1"))

    assert await client.core_v1.config_maps(namespace).get("by-type") == made


@pytest.mark.parametrize("bad", ["", "a/b", "..", ".", "50%", "a\nb"])
async def test_a_name_that_could_lead_elsewhere_is_never_sent(client: Any, bad: str) -> None:
    pods = client.core_v1.pods("default")

    for call in (pods.get(bad), pods.delete(bad), pods.patch(bad, Patch.merge({}))):
        with pytest.raises(NameFormatError, match="Nothing was sent"):
            await call
    with pytest.raises((NameFormatError, ArgumentError)):
        await client.core_v1.pods(bad).list()
    if bad:
        with pytest.raises(NameFormatError, match="subresource"):
            await pods.patch("web", Patch.merge({}), subresource=bad if bad != "a/b" else "a/../b")


async def test_namespaced_resources_need_a_namespace(client: Any) -> None:
    with pytest.raises(ArgumentError, match=r"are namespaced; name the namespace"):
        await client.core_v1.pods().get("web")
    with pytest.raises(ArgumentError, match="are cluster-scoped"):
        await client.resource(Namespace, "default").get("default")
    with pytest.raises(ArgumentError, match="in namespace 'a', this client in 'b'"):
        await client.core_v1.config_maps("b").create(ConfigMap.new("x", namespace="a"))


async def test_a_body_that_is_no_object_is_refused(client: Any, namespace: str) -> None:
    maps, untyped = (
        client.core_v1.config_maps(namespace),
        client.dynamic("v1", "configmaps", namespace=namespace),
    )

    with pytest.raises(DecodeError, match="ConfigMap: expected an object, got a string"):
        await maps.create("text")
    with pytest.raises(ArgumentError, match="cannot be encoded as JSON"):
        await untyped.create({"kind": "ConfigMap", "metadata": {"name": "bad"}, "data": {"a": object()}})


async def test_options_that_are_wrong_are_never_sent(client: Any) -> None:
    pods = client.core_v1.pods("default")

    with pytest.raises(SelectorError):
        await pods.list(label_selector="app in web")
    with pytest.raises(ArgumentError, match="resource_version_match"):
        await pods.list(resource_version="1", resource_version_match="Nearly")
    with pytest.raises(ArgumentError, match="limit"):
        await pods.list(limit=-1)
    with pytest.raises(ArgumentError, match="propagation_policy"):
        await pods.delete("web", propagation_policy="Sideways")
    with pytest.raises(ArgumentError, match="force is for apply patches"):
        await pods.patch("web", Patch.merge({}), force=True)
    with pytest.raises(TypeError, match="label_selecter"):
        await pods.list(label_selecter="app=web")


@pytest.mark.parametrize("nothing", [None, 5])
async def test_an_empty_name_never_means_the_whole_collection(client: Any, namespace: str, nothing: object) -> None:
    maps = client.core_v1.config_maps(namespace)
    await maps.create(config_map("kept"))
    untyped = client.dynamic("v1", "configmaps", namespace=namespace)

    for each in (maps, untyped):
        for call in (each.get(nothing), each.delete(nothing), each.patch(nothing, Patch.merge({}))):
            with pytest.raises(ArgumentError, match="Nothing was sent"):
                await call
    with pytest.raises(ArgumentError, match="Nothing was sent"):
        await untyped.delete(nothing, subresource="status")
    assert await maps.get("kept")


async def test_delete_returns_none_whatever_the_server_returns(client: Any, namespace: str) -> None:
    services, pods = client.core_v1.services(namespace), client.core_v1.pods(namespace)
    await services.create({"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}})
    await pods.create(Pod.new("web", spec={"containers": [Container(name="web", image="nginx")]}))

    assert await services.delete("web") is None
    assert await pods.delete("web", grace_period_seconds=0) is None


async def test_an_object_of_another_kind_is_never_sent(client: Any, namespace: str) -> None:
    with pytest.raises(ArgumentError, match="pods are of type Pod, and 'x' is of type ConfigMap"):
        await client.core_v1.pods(namespace).create(config_map("x"))


async def test_a_patch_names_its_kind(client: Any, namespace: str) -> None:
    with pytest.raises(ArgumentError, match=r"Patch\.merge"):
        await client.core_v1.pods(namespace).patch("web", {"spec": {}})


async def test_resources_are_written_with_and_without_parentheses(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps
    await maps(namespace).create(config_map("settings", color="red"))

    selected = {"field_selector": f"metadata.namespace={namespace},metadata.name=settings"}
    assert len(await maps.list(**selected)) == len(await maps().list(**selected)) == 1
    spaces = client.core_v1.namespaces
    assert (await spaces.get(namespace)).metadata.uid == (await spaces().get(namespace)).metadata.uid
    with pytest.raises(TypeError):
        spaces("default")


async def test_a_resource_of_one_namespace_does_not_lead_to_another(client: Any) -> None:
    ours = client.core_v1.config_maps("ours")

    assert ours().namespace == ours("ours").namespace == "ours"
    with pytest.raises(ArgumentError, match=r"in 'ours'.* cannot be called with another namespace"):
        ours("theirs")


async def test_any_path_can_be_streamed(client: Any, namespace: str) -> None:
    await client.core_v1.config_maps(namespace).create(config_map("settings", color="red"))
    path = f"/api/v1/namespaces/{namespace}/configmaps"

    stream = await client.rest.stream(path, query={"watch": "true", "fieldSelector": "metadata.name=settings"})
    async with faced(stream) as response:
        assert (response.status, response.content_type) == (200, "application/json")
        async for lines in response.batches():
            assert b'"ADDED"' in lines[0]
            break
    with pytest.raises(NotFoundError):
        await client.rest.stream(f"{path}/missing")


async def test_the_server_returns_a_table_on_request(client: Any, namespace: str) -> None:
    await client.core_v1.config_maps(namespace).create(config_map("settings", color="red"))

    response = await client.rest.get(
        f"/api/v1/namespaces/{namespace}/configmaps", accept="application/json;as=Table;v=v1;g=meta.k8s.io"
    )
    table = response.into(Table)

    assert [column.name for column in table.column_definitions] == ["Name", "Data", "Age"]
    (row,) = [each for each in table.rows if each.cells[0] == "settings"]
    assert row.cells[1] == 1
    assert row.object["metadata"]["name"] == "settings"
