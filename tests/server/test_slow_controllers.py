"""Built-in controllers that act late, by the server's clock."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MAPS, MERGE_PATCH, PODS, Caller, config_map

import masthead.server
from masthead.api.core.v1 import ConfigMap
from masthead.errors import ConfigError
from masthead.meta import OwnerReference
from masthead.server import VirtualClock
from masthead.testing import Environment, in_virtual_time

if TYPE_CHECKING:
    from masthead.server import Server


def create_family(caller: Caller) -> None:
    """Create an owner and its child."""
    owner = caller.call("POST", MAPS, config_map("owner")).json
    child: Any = config_map("child")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    child["metadata"]["ownerReferences"] = [reference]
    caller.call("POST", MAPS, child)


def touch(caller: Caller, path: str, value: str) -> None:
    caller.call("PATCH", path, {"metadata": {"labels": {"x": value}}}, content_type=MERGE_PATCH)


def test_a_slow_garbage_collector_leaves_children_for_a_while(server: Server, caller: Caller) -> None:
    create_family(caller)
    server.block_until_idle()
    server.delay_controller("garbage", 30)
    caller.call("DELETE", f"{MAPS}/owner")

    server.advance(29)
    assert caller.call("GET", f"{MAPS}/child").code == 200
    assert any("garbage" in work for work in server.pending_work())
    server.advance(1)
    assert caller.call("GET", f"{MAPS}/child").code == 404
    assert server.pending_work() == []


def test_a_controller_that_is_no_longer_slow_acts_at_once(server: Server, caller: Caller) -> None:
    create_family(caller)
    server.delay_controller("garbage", 30)
    caller.call("DELETE", f"{MAPS}/owner")
    server.delay_controller("garbage", 0)
    server.block_until_idle()

    assert caller.call("GET", f"{MAPS}/child").code == 404


def test_a_terminating_pod_is_seen_until_a_slow_kubelet_ends_it() -> None:
    options: Any = {"clock": VirtualClock, "token": None, "bootstrap": False, "kubelet": True}
    with (
        masthead.server.run(controller_delays={"kubelet": 10}, **options) as server,
        closing(Caller(server.url)) as caller,
    ):
        spec = {"containers": [{"name": "web", "image": "nginx"}]}
        caller.call("POST", PODS, {"metadata": {"name": "web"}, "spec": spec})
        assert caller.call("GET", f"{PODS}/web").json["status"]["phase"] == "Pending"
        server.advance(10)
        assert caller.call("GET", f"{PODS}/web").json["status"]["phase"] == "Running"
        server.advance(10)
        caller.call("DELETE", f"{PODS}/web")
        server.advance(9)
        assert "deletionTimestamp" in caller.call("GET", f"{PODS}/web").json["metadata"]
        server.advance(1)
        assert caller.call("GET", f"{PODS}/web").code == 404


def test_a_delay_counts_from_the_last_change_but_not_for_ever(server: Server, caller: Caller) -> None:
    server.delay_controller("namespaces", 10)
    path = "/api/v1/namespaces/shop"
    caller.call("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    server.advance(10)
    caller.call("DELETE", path)
    for second in range(12):
        server.advance(8)
        touch(caller, path, str(second))
        assert caller.call("GET", path).code == 200
    server.advance(4)
    server.block_until_idle()
    assert caller.call("GET", path).code == 404


def test_an_unknown_controller_is_refused(server: Server) -> None:
    with pytest.raises(ConfigError, match="no controller 'kubelet' runs on this server; there are definitions"):
        server.delay_controller("kubelet", 1)
    with pytest.raises(ConfigError, match="0 or more seconds"):
        server.delay_controller("garbage", -1)
    with (
        pytest.raises(ConfigError, match="no controller 'nobody'"),
        masthead.server.run(controller_delays={"nobody": 1}),
    ):
        pass


@in_virtual_time
async def test_an_environment_waits_for_slow_controllers() -> None:
    async with Environment(server_options={"controller_delays": {"garbage": 30}}) as env:
        maps = env.client.core_v1.config_maps("default")
        owner = await maps.create(ConfigMap.new("owner"))
        child = ConfigMap.new("child")
        child.metadata.owner_references = [
            OwnerReference(api_version="v1", kind="ConfigMap", name="owner", uid=owner.metadata.uid or "")
        ]
        await maps.create(child)
        await env.wait_for_idle()
        before = env.now
        await maps.delete("owner")
        await env.wait_for_idle()
        assert [item.metadata.name for item in (await maps.list()).items] == []
        assert 30 <= env.now - before < 31
