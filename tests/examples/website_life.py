"""The life of a site, from its creation to its end, on whatever server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from examples.website.website import Website

import masthead
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap, Service
from masthead.meta import Patch, is_condition_true

if TYPE_CHECKING:
    from masthead import aio
    from masthead.testing import Environment

SHOP = Website.new("shop", spec={"image": "nginx:1", "replicas": 2})


def sites(env: Environment) -> aio.ResourceClient[Website]:
    return env.client.resource(Website, "default")


async def set_ready(env: Environment, replicas: int) -> None:
    """Report as a deployment controller would."""
    deployments = env.client.apps_v1.deployments("default")
    generation = (await deployments.get("shop")).metadata.generation
    status = {
        "observedGeneration": generation,
        "replicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": replicas,
    }
    await deployments.patch_status("shop", Patch.merge({"status": status}))
    await env.wait_for_idle()


async def live(env: Environment) -> None:
    """The life of a site, from its creation to its end."""
    await sites(env).create(SHOP)
    await env.wait_for_idle()
    deployment = await env.client.resource(Deployment, "default").get("shop")
    assert (deployment.spec.replicas, deployment.spec.template.spec.containers[0].image) == (2, "nginx:1")
    assert deployment.metadata.owner_references[0].name == "shop"
    await env.client.resource(Service, "default").get("shop")
    directory = env.client.resource(ConfigMap, "default")
    assert (await directory.get("websites")).data == {"shop": "http://shop.default.svc"}
    site = await sites(env).get("shop")
    assert not is_condition_true(site.status.conditions, "Ready")
    assert site.status.observed_generation == site.metadata.generation

    await set_ready(env, 2)
    site = await sites(env).get("shop")
    assert is_condition_true(site.status.conditions, "Ready")
    assert (site.status.ready_replicas, site.status.url) == (2, "http://shop.default.svc")

    await sites(env).patch("shop", Patch.merge({"spec": {"public": False}}))
    await env.wait_for_idle()
    with pytest.raises(masthead.NotFoundError):
        await env.client.resource(Service, "default").get("shop")
    assert not (await directory.get("websites")).data
    assert (await sites(env).get("shop")).status.url is None

    await sites(env).delete("shop")
    await env.wait_for_idle()
    assert not await sites(env).list()
    assert env.missing_permissions == []
