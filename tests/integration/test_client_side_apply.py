"""Objects, applied as kubectl does it without ``--server-side``."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.conformance.objects import config_map, deployment

from masthead._client.last_applied import LAST_APPLIED
from masthead._meta.patch import Patch
from masthead.errors import ArgumentError

Plain = dict[str, Any]


def web(*containers: Plain, **spec: Any) -> Plain:
    made = deployment("web")
    made["spec"] |= spec
    made["spec"]["template"]["spec"]["containers"] = list(containers)
    return made


@pytest.fixture
def maps(client: Any, namespace: str) -> Any:
    return client.core_v1.config_maps(namespace)


@pytest.fixture
def deployments(client: Any, namespace: str) -> Any:
    return client.apps_v1.deployments(namespace)


async def test_an_object_is_created_with_its_configuration_in_an_annotation(maps: Any, namespace: str) -> None:
    made = await maps.apply_client_side(config_map("a", data={"one": "1"}))

    assert json.loads(made.metadata.annotations[LAST_APPLIED]) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"annotations": {}, "name": "a", "namespace": namespace},
        "data": {"one": "1"},
    }


async def test_what_is_not_applied_any_more_is_removed_and_what_others_have_set_stays(maps: Any) -> None:
    await maps.apply_client_side(config_map("a", data={"one": "1", "two": "2"}))
    await maps.patch("a", Patch.merge({"data": {"others": "o", "one": "changed"}}))

    applied = await maps.apply_client_side(config_map("a", data={"one": "1", "three": "3"}))

    assert applied.data == {"one": "1", "three": "3", "others": "o"}


async def test_items_of_lists_are_merged_by_their_keys(deployments: Any) -> None:
    await deployments.apply_client_side(web({"name": "a", "image": "1"}, {"name": "b", "image": "1"}))
    side = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "s"}]}}}}
    await deployments.patch("web", Patch.strategic(side))

    applied = await deployments.apply_client_side(web({"name": "a", "image": "2"}, {"name": "c", "image": "1"}))

    found = {container.name: container.image for container in applied.spec.template.spec.containers}
    assert found == {"a": "2", "c": "1", "side": "s"}


async def test_nothing_is_sent_if_nothing_changes(deployments: Any) -> None:
    first = await deployments.apply_client_side(web({"name": "a", "image": "1"}, replicas=2))

    again = await deployments.apply_client_side(web({"name": "a", "image": "1"}, replicas=2))

    assert again.metadata.resource_version == first.metadata.resource_version


async def test_a_dry_run_stores_nothing(maps: Any) -> None:
    await maps.apply_client_side(config_map("a", data={"one": "1"}))

    tried = await maps.apply_client_side(config_map("a", data={"one": "2"}), dry_run=True)

    assert tried.data == {"one": "2"}
    assert (await maps.get("a")).data == {"one": "1"}


async def test_an_object_that_was_created_otherwise_is_taken_over(maps: Any) -> None:
    await maps.create(config_map("a", data={"one": "1"}))

    applied = await maps.apply_client_side(config_map("a", data={"two": "2"}))
    removed = await maps.apply_client_side(config_map("a", data={}))

    assert applied.data == {"one": "1", "two": "2"}
    assert removed.data == {"one": "1"}


async def test_any_kind_is_applied_by_a_dynamic_client(client: Any, namespace: str) -> None:
    dynamic = client.dynamic("deployments", namespace=namespace)

    await dynamic.apply_client_side(web({"name": "a", "image": "1"}))
    applied = await dynamic.apply_client_side(web({"name": "b", "image": "1"}))

    assert [each["name"] for each in applied["spec"]["template"]["spec"]["containers"]] == ["b"]


async def test_an_object_that_cannot_be_applied_is_never_sent(maps: Any, deployments: Any) -> None:
    with pytest.raises(ArgumentError, match=r"metadata\.name"):
        await maps.apply_client_side({"data": {}})
    await deployments.apply_client_side(web({"name": "a", "image": "1"}))
    with pytest.raises(ArgumentError, match="does not contain declared merge key: name"):
        await deployments.apply_client_side(web({"image": "1"}))
