"""rotate_secrets.py, on the embedded server and in virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from examples.rotate_secrets import app, uses
from tests.examples.pods import new_deployment

from masthead.api.core.v1 import Secret
from masthead.testing import Environment, explore, in_virtual_time

if TYPE_CHECKING:
    from masthead.api.apps.v1 import Deployment

MINUTE = 60.0
LOGIN = Secret.new(
    "login",
    namespace="default",
    labels={"rotate": "password"},
    annotations={"example.com/rotate-hours": "1"},
    string_data={"user": "shop"},
)
VOLUME = {"volumes": [{"name": "login", "secret": {"secretName": "login"}}]}


async def login(env: Environment) -> Secret:
    return await env.client.core_v1.secrets("default").get("login")


@in_virtual_time
async def test_a_password_is_rotated_when_it_is_due() -> None:
    async with Environment(app, leader_election=False) as env:
        await env.client.core_v1.secrets("default").create(LOGIN)
        await env.wait_for_idle()
        first = await login(env)
        assert (set(first.data), first.data["user"]) == ({"password", "user"}, b"shop")

        await env.advance(59 * MINUTE)
        assert (await login(env)).data == first.data
        await env.advance(1 * MINUTE)
        await env.wait_for_idle()
        assert (await login(env)).data["password"] != first.data["password"]
        assert env.events == ["Normal Rotated default/login: the next password is due in 1:00:00"] * 2
        assert env.missing_permissions == []


@in_virtual_time
async def test_what_uses_the_secret_is_restarted_once_for_each_password() -> None:
    async with Environment(app, leader_election=False) as env:
        deployments = env.client.apps_v1.deployments("default")
        await deployments.create(new_deployment("web", **VOLUME))
        await deployments.create(new_deployment("other"))
        await env.client.core_v1.secrets("default").create(LOGIN)
        await env.wait_for_idle()
        assert env.writes == ["patch secrets default/login", "apply deployments.apps default/web"]
        assert (await deployments.get("web")).metadata.generation == 2

        env.clear()
        await env.advance(1 * MINUTE)
        assert env.writes == []
        await env.advance(60 * MINUTE)
        await env.wait_for_idle()
        assert env.writes == ["patch secrets default/login", "apply deployments.apps default/web"]
        assert (await deployments.get("web")).metadata.generation == 3
        assert (await deployments.get("other")).metadata.generation == 1


@in_virtual_time
async def test_a_deployment_that_the_cache_shows_later_is_restarted() -> None:
    async with Environment(app, leader_election=False) as env:
        await env.client.core_v1.secrets("default").create(LOGIN)
        await env.wait_for_idle()
        env.clear()
        await env.client.apps_v1.deployments("default").create(new_deployment("web", **VOLUME))
        await env.wait_for_idle()
        assert env.writes == ["apply deployments.apps default/web"]


@in_virtual_time
async def test_a_restart_that_failed_is_made_up_for() -> None:
    async with Environment(app, leader_election=False) as env:
        await env.client.apps_v1.deployments("default").create(new_deployment("web", **VOLUME))
        env.server.faults.fail(503, verb="patch", resource="deployments")
        await env.client.core_v1.secrets("default").create(LOGIN)
        await env.wait_for_idle()
        assert env.writes == [
            "patch secrets default/login",
            "apply deployments.apps default/web (503)",
            "apply deployments.apps default/web",
        ]


@pytest.mark.parametrize(
    "container",
    [
        {"envFrom": [{"secretRef": {"name": "login"}}]},
        {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "login", "key": "password"}}}]},
    ],
)
def test_the_environment_of_a_container_counts(container: dict[str, object]) -> None:
    def deployment(**more: object) -> Deployment:
        return new_deployment("web", containers=[{"name": "app", "image": "nginx", **more}])

    assert uses(deployment(**container), "login")
    assert not uses(deployment(**container), "other")
    assert not uses(deployment(env=[{"name": "A", "value": "login"}]), "login")


async def workload(env: Environment) -> None:
    await env.client.apps_v1.deployments("default").create(new_deployment("web", **VOLUME))
    await env.client.core_v1.secrets("default").create(LOGIN)
    await env.wait_for_idle()
    await env.client.core_v1.secrets("default").delete("login")
    await env.wait_for_idle()
    await env.client.core_v1.secrets("default").create(LOGIN)
    await env.wait_for_idle()


@pytest.mark.slow
def test_it_survives_crashes_stale_caches_and_lost_events() -> None:
    report = explore("examples.rotate_secrets:app", workload, budget=40)
    assert not report.findings, report
