"""Small verbs that every program would write itself: get with a default, exists, create_or_get, scale, to_table."""

from __future__ import annotations

from typing import Any

import pytest

from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap, Container
from masthead.errors import ArgumentError, NotFoundError, UnknownKindError, UnprocessableError


def settings(**data: str) -> ConfigMap:
    return ConfigMap.new("settings", data=data)


def deployment(name: str) -> Deployment:
    return Deployment.new(
        name,
        spec={
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [Container(name="main", image="nginx")]},
            },
        },
    )


async def test_get_returns_the_default_for_a_missing_object(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps(namespace)

    assert await maps.get("settings", default=None) is None
    # Any default, not only None.
    assert await maps.get("settings", default="nothing") == "nothing"

    created = await maps.create(settings(a="1"))
    assert await maps.get("settings", default=None) == created


async def test_get_of_a_dynamic_resource_has_a_default_too(client: Any, namespace: str) -> None:
    maps = client.dynamic("v1", "configmaps", namespace=namespace)

    assert await maps.get("settings", default=None) is None
    with pytest.raises(NotFoundError):
        await maps.get("settings")


async def test_a_default_does_not_hide_a_kind_that_is_not_served(client: Any, namespace: str) -> None:
    widgets = client.dynamic("example.com/v1", "widgets", namespace=namespace)

    with pytest.raises(UnknownKindError):
        await widgets.get("small", default=None)


async def test_exists_tells_whether_there_is_an_object(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps(namespace)

    assert not await maps.exists("settings")
    await maps.create(settings())
    assert await maps.exists("settings")
    # Of the same name, but of another kind.
    assert not await client.metadata("v1", "secrets", namespace=namespace).exists("settings")


async def test_a_missing_object_need_not_be_an_error_of_delete(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps(namespace)

    assert await maps.delete("settings", ignore_not_found=True) is None
    with pytest.raises(NotFoundError):
        await maps.delete("settings")
    with pytest.raises(NotFoundError):
        await maps.delete("settings", ignore_not_found=False)

    await maps.create(settings())
    await maps.delete("settings", ignore_not_found=True)
    assert not await maps.exists("settings")


async def test_create_or_get_leaves_an_existing_object_as_it_is(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps(namespace)

    made, result = await maps.create_or_get(settings(a="1"))
    assert (made.data, result) == ({"a": "1"}, "created")

    # Other data: what is there counts.
    found, result = await maps.create_or_get(settings(a="2"))
    assert (found, result) == (made, "unchanged")
    assert (await maps.get("settings")).data == {"a": "1"}


async def test_create_or_get_needs_a_name(client: Any, namespace: str) -> None:
    with pytest.raises(ArgumentError, match="create or get"):
        await client.core_v1.config_maps(namespace).create_or_get(ConfigMap.new(generate_name="a-"))


async def test_scale_sets_the_number_of_replicas(client: Any, namespace: str) -> None:
    deployments = client.apps_v1.deployments(namespace)
    await deployments.create(deployment("web"))

    scaled = await deployments.scale("web", 3)

    assert scaled.spec.replicas == 3
    assert (await deployments.get("web")).spec.replicas == 3
    # Options of a write are those of any patch.
    await deployments.scale("web", 0, dry_run=True)
    assert (await deployments.get("web")).spec.replicas == 3


async def test_scale_refuses_what_cannot_be(client: Any, namespace: str) -> None:
    deployments = client.apps_v1.deployments(namespace)
    await deployments.create(deployment("web"))

    with pytest.raises(NotFoundError):
        await deployments.scale("absent", 1)
    with pytest.raises(UnprocessableError):
        await deployments.scale("web", -1)


async def test_a_list_makes_a_table(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps(namespace)
    await maps.create(settings(a="1"))

    listed = await maps.list(field_selector="metadata.name=settings")

    assert str(listed.to_table()).split()[:5] == ["NAME", "DATA", "AGE", "settings", "1"]
    assert str(listed.to_table(namespaces=True)).startswith("NAMESPACE")
    assert "<td>settings</td>" in listed._repr_html_()
