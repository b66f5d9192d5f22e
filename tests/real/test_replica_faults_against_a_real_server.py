"""The faults of a replica's requests work against a real server: the website operator survives them in real time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from examples.website.website import Website

import masthead
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap, Service
from masthead.testing import Environment
from masthead.testing._explore.app_modules import ModuleApp

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.real_server import RealServer

    from masthead.testing import ReplicaFault, ReplicaFaults

pytestmark = pytest.mark.real

make_app = ModuleApp("examples.website.website:app")

FAULTS: dict[str, Callable[[ReplicaFaults], ReplicaFault]] = {
    "crash-before": lambda faults: faults.crash("before", resource="services"),
    "crash-stored": lambda faults: faults.crash("stored", resource="deployments"),
    "crash-answered": lambda faults: faults.crash("answered", resource="deployments"),
    "conflict": lambda faults: faults.conflict(resource="websites"),
    "lost-response": lambda faults: faults.lose_response(verb=("create", "update", "patch"), resource="deployments"),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_site_is_complete_after_a_fault(name: str, real_server: RealServer) -> None:
    config = masthead.Config(server=real_server.url, token=real_server.token, ca_file=real_server.ca_file)
    async with Environment(config=config, leader_election=False) as env:
        first = await env.start(make_app, f"{name}-1")
        fault = FAULTS[name](first.faults)
        await env.client.resource(Website, "default").create(Website.new(name, spec={"image": "nginx:1"}))
        await fault.hit()
        if name.startswith("crash"):
            await env.start(make_app, f"{name}-2")
        await env.wait_for_idle(retries_within=30)

        site = await env.client.resource(Website, "default").get(name)
        assert site.status.url == f"http://{name}.default.svc"
        for kind in (Deployment, Service):
            child = await env.client.resource(kind, "default").get(name)
            assert [owner.uid for owner in child.metadata.owner_references] == [site.metadata.uid]
        directory = await env.client.resource(ConfigMap, "default").get("websites")
        assert directory.data[name] == site.status.url

        await env.client.resource(Website, "default").delete(name)
        await env.wait_for_idle(retries_within=30)
        assert name not in (await env.client.resource(ConfigMap, "default").get("websites")).data
        for kind in (Deployment, Service):
            await env.client.resource(kind, "default").delete(name)  # without the garbage collector
