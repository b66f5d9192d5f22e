"""Server-side apply of what other managers own: the conflict tells what, who and how."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.objects import config_map, deployment, named

from masthead._meta.patch import Patch
from masthead.api.autoscaling.v1 import Scale
from masthead.errors import ApplyConflictError, ConflictError, ManifestError


@pytest.fixture
def maps(client: Any, namespace: str) -> Any:
    return client.core_v1.config_maps(namespace)


@pytest.fixture
async def deployments(client: Any, namespace: str) -> Any:
    made = client.apps_v1.deployments(namespace)
    await made.apply(deployment("web", replicas=1), field_manager="them")
    return made


def told(error: ApplyConflictError) -> list[tuple[str, str, str, str, str]]:
    return [
        (conflict.field, conflict.manager, conflict.operation, conflict.subresource, conflict.api_version)
        for conflict in error.conflicts
    ]


@pytest.mark.parametrize("typed", [True, False], ids=["typed", "dynamic"])
async def test_each_field_is_listed_with_its_manager(client: Any, namespace: str, maps: Any, *, typed: bool) -> None:
    await maps.apply(config_map("shared", data={"a": "1"}), field_manager="applier")
    await maps.patch("shared", Patch.merge({"data": {"b": "1"}}), field_manager="updater")
    resource = maps if typed else client.dynamic("v1", "configmaps", namespace=namespace)

    with pytest.raises(ApplyConflictError, match=r"take it over with force=True") as raised:
        await resource.apply(config_map("shared", data={"a": "2", "b": "2"}), field_manager="us")

    assert sorted(told(raised.value)) == [
        (".data.a", "applier", "Apply", "", ""),
        (".data.b", "updater", "Update", "", "v1"),
    ]


async def test_the_value_that_a_field_has_is_shared_without_a_conflict(maps: Any) -> None:
    await maps.apply(config_map("shared", data={"a": "1"}), field_manager="them")

    shared = await maps.apply(config_map("shared", data={"a": "1"}), field_manager="us")

    assert sorted(managed_field.manager for managed_field in shared.metadata.managed_fields) == ["them", "us"]
    with pytest.raises(ApplyConflictError) as raised:
        await maps.apply(config_map("shared", data={"a": "2"}), field_manager="us")
    assert told(raised.value) == [(".data.a", "them", "Apply", "", "")]


async def test_a_conflict_about_the_status_names_the_subresource(deployments: Any) -> None:
    def status(replicas: int) -> dict[str, Any]:
        return named("apps/v1", "Deployment", "web", status={"replicas": replicas})

    await deployments.apply_status(status(1), field_manager="them")

    with pytest.raises(ApplyConflictError) as raised:
        await deployments.apply_status(status(2), field_manager="us")

    assert told(raised.value) == [(".status.replicas", "them", "Apply", "status", "")]


async def test_a_conflict_about_the_scale_is_listed(client: Any, namespace: str, deployments: Any) -> None:
    wanted = Scale.from_dict({"metadata": {"name": "web"}, "spec": {"replicas": 3}})

    with pytest.raises(ApplyConflictError) as raised:
        await deployments.apply_scale("web", wanted, field_manager="us")
    with pytest.raises(ApplyConflictError):
        await client.scales(namespace).apply("deployments", "web", wanted, field_manager="us")

    assert told(raised.value) == [(".spec.replicas", "them", "Apply", "", "")]


async def test_a_conflict_of_a_manifest_is_the_cause_of_its_error(client: Any, namespace: str, maps: Any) -> None:
    await maps.apply(config_map("shared", data={"a": "1"}), field_manager="them")

    with pytest.raises(ManifestError, match=r"\.data\.a") as raised:
        await client.apply_manifests(
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: shared}, data: {a: '2'}}",
            namespace=namespace,
            field_manager="us",
        )

    assert isinstance(raised.value.__cause__, ApplyConflictError)
    assert told(raised.value.__cause__) == [(".data.a", "them", "Apply", "", "")]


async def test_an_outdated_resource_version_is_no_conflict_with_managers(maps: Any) -> None:
    made = await maps.apply(config_map("shared", data={"a": "1"}), field_manager="us")
    await maps.patch("shared", Patch.merge({"data": {"b": "1"}}), field_manager="them")
    outdated = config_map("shared", data={"a": "2"}, resourceVersion=made.metadata.resource_version)

    with pytest.raises(ConflictError, match=r"if it has a metadata\.resource_version, leave that out") as raised:
        await maps.apply(outdated, field_manager="us")

    assert not isinstance(raised.value, ApplyConflictError)
