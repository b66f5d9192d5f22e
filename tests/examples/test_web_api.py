"""web_api.py, on the embedded server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp.test_utils import TestClient, TestServer
from examples.web_api import PODS, make_app
from tests.examples.pods import new_pod

if TYPE_CHECKING:
    import masthead
    from masthead import aio
    from masthead.server import Server


async def test_answers_come_from_the_cache(
    kube_server: Server, kube_config: masthead.Config, kube_aio_client: aio.Client
) -> None:
    pods = kube_aio_client.core_v1.pods("default")
    await pods.create(new_pod("a", node="node-1"))
    app = make_app(kube_config)
    async with TestClient(TestServer(app)) as http:
        await app[PODS].wait_for_version(await pods.create(new_pod("b", node="node-2")), timeout=10)
        before = len(kube_server.requests)

        a = {"name": "default/a", "node": "node-1", "phase": "Pending"}
        b = {"name": "default/b", "node": "node-2", "phase": "Pending"}
        assert await (await http.get("/pods")).json() == [a, b]
        assert await (await http.get("/pods", params={"node": "node-2"})).json() == [b]
        assert await (await http.get("/pods", params={"node": "absent"})).json() == []
        assert await (await http.get("/pods/default/a")).json() == a
        missing = await http.get("/pods/default/absent")
        assert (missing.status, "not found" in await missing.text()) == (404, True)
        assert len(kube_server.requests) == before

        # The cache follows the cluster.
        await pods.delete("a", grace_period_seconds=0)
        await app[PODS].wait_for(lambda copy: len(copy) == 1, timeout=10)
        assert await (await http.get("/pods")).json() == [b]


async def test_it_is_ready_once_the_cache_has_synced(kube_server: Server, kube_config: masthead.Config) -> None:
    refused = kube_server.faults.fail(403, resource="pods", times=None)
    app = make_app(kube_config)
    async with TestClient(TestServer(app)) as http:
        assert (await http.get("/readyz")).status == 503
        refused.remove()
        await app[PODS].wait_for_cache_sync(timeout=30)
        ready = await http.get("/readyz")
        assert (ready.status, (await ready.json())["pods"]) == (200, 0)
