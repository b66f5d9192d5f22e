"""The Website operator of examples/website, on the embedded server and in virtual time."""

from __future__ import annotations

from pathlib import Path

import pytest
from examples.website.website import OldWebsite, Website, app
from tests.examples.website_life import SHOP, live, set_ready, sites

import masthead
from masthead.meta import Patch
from masthead.testing import Environment, explore, in_virtual_time

PROGRAM = Path(__file__).parents[2] / "examples" / "website" / "website.py"


@in_virtual_time
async def test_a_site_lives_on_the_embedded_server() -> None:
    async with Environment(app) as env:
        await live(env)


@in_virtual_time
async def test_a_site_lives_with_the_permissions_of_its_manifests() -> None:
    async with Environment(app, rbac=True) as env:
        await live(env)
        assert env.missing_permissions == []


@in_virtual_time
async def test_it_writes_what_is_needed_and_no_more() -> None:
    async with Environment(app, leader_election=False) as env:  # whose lease would be renewed every two seconds
        await sites(env).create(SHOP)
        await env.wait_for_idle()
        assert env.writes == [
            "patch websites.example.com default/shop",  # the finalizer
            "apply deployments.apps default/shop",
            "apply services default/shop",
            "apply configmaps default/websites",
            "patch websites.example.com/status default/shop",
        ]

        env.clear()
        await set_ready(env, 2)
        assert env.writes == ["patch websites.example.com/status default/shop"]
        assert env.events == ["Normal Up default/shop: 2 of 2 replicas are ready"]

        env.clear()
        await env.advance(3600)
        assert env.writes == []


@in_virtual_time
async def test_what_others_change_is_repaired() -> None:
    async with Environment(app) as env:
        await sites(env).create(SHOP)
        await env.wait_for_idle()
        deployments = env.client.apps_v1.deployments("default")

        await deployments.patch("shop", Patch.merge({"spec": {"replicas": 7}}))
        await env.wait_for_idle()
        assert (await deployments.get("shop")).spec.replicas == 2

        await deployments.delete("shop")
        await env.wait_for_idle()
        assert (await deployments.get("shop")).spec.replicas == 2


@in_virtual_time
async def test_a_site_leaves_the_directory_before_it_is_gone() -> None:
    async with Environment(app) as env:
        for name in ("blog", "shop"):
            await sites(env).create(Website.new(name, spec={"image": "nginx:1"}))
        await env.wait_for_idle()
        env.server.faults.fail(503, verb="patch", resource="configmaps", times=5)

        await sites(env).delete("shop")
        await env.wait_for_idle(retries_within=0)
        # As long as its line cannot be removed.
        assert [each.metadata.name for each in await sites(env).list()] == ["blog", "shop"]

        await env.advance(60)
        assert [each.metadata.name for each in await sites(env).list()] == ["blog"]
        directory = await env.client.core_v1.config_maps("default").get("websites")
        assert list(directory.data) == ["blog"]


@in_virtual_time
async def test_another_replica_takes_over() -> None:
    async with Environment(app) as env:
        await env.wait_for_idle()
        (first,) = env.replicas
        second = await env.start(app)
        assert (first.is_leading, second.is_leading) == (True, False)

        await first.crash()
        await sites(env).create(SHOP)
        await env.advance(30)
        await env.wait_for_idle()
        assert second.is_leading
        assert {write.replica for write in env.writes} == {second.name}


async def workload(env: Environment) -> None:
    await sites(env).create(SHOP)
    await env.wait_for_idle()
    await sites(env).patch("shop", Patch.merge({"spec": {"public": False, "replicas": 1}}))
    await env.wait_for_idle()
    await sites(env).delete("shop")
    await env.wait_for_idle()
    await sites(env).create(SHOP)
    await env.wait_for_idle()


@pytest.mark.slow
def test_it_survives_crashes_stale_caches_and_lost_events() -> None:
    report = explore("examples.website.website:app", workload, budget=40)
    assert not report.findings, report


def test_the_whole_operator_is_short() -> None:
    assert len(PROGRAM.read_text("utf-8").splitlines()) <= 160


@in_virtual_time
async def test_webhooks_check_and_convert_sites() -> None:
    async with Environment(app) as env:
        with pytest.raises(masthead.UnprocessableError, match=r"spec\.image.*needs a version"):
            await sites(env).create(Website.new("bad", spec={"image": "web:latest"}))
        await sites(env).create(Website.new("shop", spec={"image": "web:1", "public": False}))
        await env.wait_for_idle()
        older = env.client.resource(OldWebsite, "default")
        old = await older.get("shop")
        assert old.spec.container == "web:1"
        old.spec.container = "web:2"
        await older.update(old)
        new = await sites(env).get("shop")
        assert (new.spec.image, new.spec.public) == ("web:2", False)
