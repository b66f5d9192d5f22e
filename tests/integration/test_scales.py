"""The scale subresource of any resource."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.objects import config_map, deployment, named, workload

from masthead._meta.gvk import GroupVersionResource
from masthead._meta.patch import Patch
from masthead.api.autoscaling.v1 import Scale
from masthead.errors import ArgumentError, ConflictError, NotFoundError, UnknownKindError

DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")


@pytest.fixture
async def scales(client: Any, namespace: str) -> Any:
    """The scales of a namespace with a deployment."""
    await client.apps_v1.deployments(namespace).create(deployment("web", replicas=1))
    return client.scales(namespace)


@pytest.mark.parametrize("resource", ["deployments", "deploy", "Deployment", "deployments.apps", DEPLOYMENTS], ids=str)
async def test_a_scale_is_found_by_any_name_of_its_resource(scales: Any, resource: Any) -> None:
    scale = await scales.get(resource, "web")

    assert isinstance(scale, Scale)
    assert (scale.metadata.name, scale.spec.replicas) == ("web", 1)


@pytest.mark.parametrize("resource", ["deploy", DEPLOYMENTS], ids=str)
async def test_a_scale_is_written(client: Any, namespace: str, scales: Any, resource: Any) -> None:
    scale = await scales.get(resource, "web")
    scale.spec.replicas = 3
    tried = await scales.update(resource, "web", scale, dry_run=True)
    assert (tried.spec.replicas, (await scales.get(resource, "web")).spec.replicas) == (3, 1)

    assert (await scales.update(resource, "web", scale)).spec.replicas == 3

    assert (await client.apps_v1.deployments(namespace).get("web")).spec.replicas == 3
    with pytest.raises(ConflictError):
        await scales.update(resource, "web", scale)


async def test_a_scale_is_patched(scales: Any) -> None:
    patched = await scales.patch("deploy", "web", Patch.merge({"spec": {"replicas": 4}}))

    assert isinstance(patched, Scale)
    assert patched.spec.replicas == 4


async def test_a_scale_is_applied(scales: Any) -> None:
    wanted = named("autoscaling/v1", "Scale", "web", spec={"replicas": 5})

    with pytest.raises(ConflictError):
        await scales.apply("deploy", "web", wanted, field_manager="scaler")
    applied = await scales.apply("deploy", "web", wanted, field_manager="scaler", force=True)

    assert applied.spec.replicas == 5


async def test_the_other_kinds_have_scales_too(client: Any, namespace: str, scales: Any) -> None:
    await client.apps_v1.replica_sets(namespace).create(workload("ReplicaSet", "r", replicas=2))
    await client.apps_v1.stateful_sets(namespace).create(workload("StatefulSet", "s", replicas=3))

    assert (await scales.get("rs", "r")).spec.replicas == 2
    assert (await scales.get("sts", "s")).spec.replicas == 3


async def test_a_resource_without_scale_is_an_error(client: Any, namespace: str, scales: Any) -> None:
    await client.core_v1.config_maps(namespace).create(config_map("plain"))

    with pytest.raises(NotFoundError):
        await scales.get("cm", "plain")
    with pytest.raises(NotFoundError):
        await scales.get("deploy", "absent")
    with pytest.raises(UnknownKindError):
        await scales.get("unicorns", "web")
    with pytest.raises(ArgumentError, match="name the namespace"):
        await client.scales().get("deploy", "web")
