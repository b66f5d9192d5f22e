"""Snapshots: a store that is brought back, and servers that begin with one."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

import pytest
from tests.server.calls import MAPS, MERGE_PATCH, Caller, config_map

import masthead
import masthead.aio
import masthead.server
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.errors import ArgumentError, ConfigError
from masthead.server import VirtualClock
from masthead.testing import Environment, in_virtual_time

if TYPE_CHECKING:
    from pathlib import Path

    from masthead.server import Server

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SITES = "/apis/example.com/v1/namespaces/default/sites"
_SERVICES = "/api/v1/namespaces/default/services"
_ROLES = "/apis/rbac.authorization.k8s.io/v1"


def define_sites(kind: str = "string") -> Any:
    """A definition whose field ``host`` has a type."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"host": {"type": kind}}}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "sites.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "sites", "singular": "site", "kind": "Site", "listKind": "SiteList"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}},
            ],
        },
    }


def site(host: object) -> Any:
    return {"apiVersion": "example.com/v1", "kind": "Site", "metadata": {"name": "web"}, "spec": {"host": host}}


def service(name: str) -> Any:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}


def change(caller: Caller, name: str, value: str) -> Any:
    return caller.call("PATCH", f"{MAPS}/{name}", {"data": {"x": value}}, content_type=MERGE_PATCH).json


def names(caller: Caller) -> list[str]:
    return [item["metadata"]["name"] for item in caller.call("GET", MAPS).json["items"]]


def test_a_restored_server_has_the_objects_of_the_snapshot(server: Server, caller: Caller) -> None:
    for name in ("kept", "changed", "deleted"):
        caller.call("POST", MAPS, config_map(name))
    before = server.dump()
    snapshot = server.snapshot()
    change(caller, "changed", "1")
    caller.call("DELETE", f"{MAPS}/deleted")
    caller.call("POST", MAPS, config_map("new"))
    revision = server.revision

    server.restore(snapshot)
    server.block_until_idle()

    assert server.dump() == before
    assert server.revision > revision
    # No revision is used twice.
    assert int(change(caller, "changed", "2")["metadata"]["resourceVersion"]) > revision
    server.restore(snapshot)
    assert server.dump() == before
    assert server.revision > revision + 2


def test_clients_of_a_restored_server_list_again(server: Server, caller: Caller) -> None:
    for name in "abc":
        caller.call("POST", MAPS, config_map(name))
    snapshot = server.snapshot()
    page = caller.call("GET", f"{MAPS}?limit=1").json["metadata"]
    with caller.watching(f"{MAPS}?watch=1&resourceVersion={server.revision}") as stream:
        last = change(caller, "a", "1")["metadata"]["resourceVersion"]
        assert json.loads(stream.readline())["type"] == "MODIFIED"
        server.restore(snapshot)
        assert stream.read() == b""

    [event] = caller.events(f"{MAPS}?watch=1&resourceVersion={last}", 1)
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    assert caller.call("GET", f"{MAPS}?limit=1&continue={page['continue']}").failure[0] == 410
    assert int(caller.call("GET", MAPS).json["metadata"]["resourceVersion"]) == server.revision


def test_an_update_of_what_was_restored_conflicts(server: Server, caller: Caller) -> None:
    caller.call("POST", MAPS, config_map("a"))
    snapshot = server.snapshot()
    newer = change(caller, "a", "1")
    server.restore(snapshot)

    assert caller.call("PUT", f"{MAPS}/a", newer).failure[0] == 409


def test_allocated_addresses_follow_a_restore(server: Server, caller: Caller) -> None:
    first = caller.call("POST", _SERVICES, service("first")).json["spec"]["clusterIP"]
    snapshot = server.snapshot()
    second = caller.call("POST", _SERVICES, service("second")).json["spec"]["clusterIP"]
    caller.call("DELETE", f"{_SERVICES}/first")
    server.restore(snapshot)

    assert caller.call("GET", f"{_SERVICES}/first").json["spec"]["clusterIP"] == first
    assert caller.call("POST", _SERVICES, service("third")).json["spec"]["clusterIP"] == second


def test_definitions_follow_a_restore(server: Server, caller: Caller) -> None:
    empty = server.snapshot()
    caller.call("POST", _DEFINITIONS, define_sites("string"))
    server.block_until_idle()
    assert caller.call("POST", _SITES, site("a")).code == 201
    texts = server.snapshot()
    caller.call("DELETE", f"{_SITES}/web")
    stored = caller.call("GET", f"{_DEFINITIONS}/sites.example.com").json
    caller.call("PUT", f"{_DEFINITIONS}/sites.example.com", {**stored, "spec": define_sites("integer")["spec"]})
    server.block_until_idle()
    assert caller.call("POST", _SITES, site(1)).code == 201

    server.restore(texts)
    server.block_until_idle()
    assert caller.call("GET", f"{_SITES}/web").json["spec"] == {"host": "a"}
    assert caller.call("PUT", f"{_SITES}/web", site(1)).code == 422
    server.restore(empty)
    server.block_until_idle()
    assert caller.call("GET", _SITES).code == 404
    server.restore(texts)
    server.block_until_idle()
    assert caller.call("GET", f"{_SITES}/web").json["spec"] == {"host": "a"}


def test_roles_follow_a_restore(tmp_path: Path) -> None:
    users = tmp_path / "users.csv"
    users.write_text("secret,jane,1001\n", encoding="ascii")
    with (
        masthead.server.run(authorization="rbac", token_file=users, clock=VirtualClock) as server,
        closing(Caller(server.url, server.token)) as admin,
        closing(Caller(server.url, "secret")) as jane,
    ):
        snapshot = server.snapshot()
        binding = {
            "metadata": {"name": "jane"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
            "subjects": [{"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}],
        }
        admin.call("POST", f"{_ROLES}/clusterrolebindings", binding)
        allowed = server.snapshot()
        assert jane.call("GET", MAPS).code == 200
        server.restore(snapshot)
        assert jane.call("GET", MAPS).code == 403
        server.restore(allowed)
        assert jane.call("GET", MAPS).code == 200


def test_controllers_follow_a_restore(server: Server, caller: Caller) -> None:
    owner = caller.call("POST", MAPS, config_map("owner")).json
    child: Any = config_map("child")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    child["metadata"]["ownerReferences"] = [reference]
    caller.call("POST", MAPS, child)
    server.block_until_idle()
    snapshot = server.snapshot()
    caller.call("DELETE", f"{MAPS}/owner")
    server.block_until_idle()
    assert names(caller) == []

    server.restore(snapshot)
    server.block_until_idle()
    assert names(caller) == ["child", "owner"]
    caller.call("DELETE", f"{MAPS}/owner")
    server.block_until_idle()
    assert names(caller) == []


def test_a_restore_is_a_change_of_each_object(tmp_path: Path) -> None:
    with (
        masthead.server.run(record_changes=True, token=None, bootstrap=False, data=tmp_path / "objects") as server,
        closing(Caller(server.url)) as caller,
    ):
        caller.call("POST", MAPS, config_map("a"))
        snapshot = server.snapshot()
        change(caller, "a", "1")
        caller.call("POST", MAPS, config_map("b"))
        since = server.revision
        server.restore(snapshot)
        found = [(entry.type, entry.key, entry.client) for entry in server.changes(since)]
        revision = server.revision
    assert sorted(found) == [("DELETED", "default/b", "restore"), ("MODIFIED", "default/a", "restore")]
    # The data file has been restored, too.
    with masthead.server.run(token=None, bootstrap=False, data=tmp_path / "objects") as server:
        assert list(cast("Any", server.dump())["configmaps"]) == ["default/a"]
        assert server.revision == revision


def test_a_server_begins_with_a_snapshot() -> None:
    options: Any = {"token": None, "bootstrap": False, "record_changes": True}
    with masthead.server.run(**options) as first, closing(Caller(first.url)) as caller:
        caller.call("POST", MAPS, config_map("a"))
        version = caller.call("POST", MAPS, config_map("b")).json["metadata"]["resourceVersion"]
        caller.call("DELETE", f"{MAPS}/b")
    snapshot = first.snapshot()
    for _ in range(2):
        with masthead.server.run(snapshot=snapshot, **options) as second, closing(Caller(second.url)) as caller:
            assert second.revision == snapshot.revision
            assert names(caller) == ["a"]
            # As on a restarted kube-apiserver, watches from before its start expire, and lists do not.
            [event] = caller.events(f"{MAPS}?watch=1&resourceVersion={version}", 1)
            assert event["object"]["message"] == f"too old resource version: {version} ({snapshot.revision})"
            exact = f"resourceVersion={version}&resourceVersionMatch=Exact"
            assert len(caller.call("GET", f"{MAPS}?{exact}").json["items"]) == 2
            assert [entry.key for entry in second.changes()] == [entry.key for entry in first.changes()]
            caller.call("POST", MAPS, config_map("c"))


def test_what_is_no_snapshot_is_refused(server: Server, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="is no snapshot of a server"):
        server.restore(cast("Any", server.dump()))
    with (
        pytest.raises(ConfigError, match="give one of them"),
        masthead.server.run(snapshot=server.snapshot(), data=tmp_path / "objects"),
    ):
        pass


def make_copier() -> masthead.Manager:
    app = masthead.Manager("copies")

    @app.controller(Secret, owns=[ConfigMap])
    async def copy(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        await ctx.apply(ConfigMap.new(secret.metadata.name))

    return app


@pytest.mark.parametrize("rbac", [False, True], ids=["always-allow", "rbac"])
@in_virtual_time
async def test_an_environment_restarts_its_server_without_a_file(*, rbac: bool) -> None:
    async with Environment(make_copier, rbac=rbac) as env:
        secrets = env.client.core_v1.secrets("default")
        await secrets.create(Secret.new("a"))
        await env.wait_for_idle()
        await env.stop_server()
        await env.advance(10)
        await env.start_server()
        await secrets.create(Secret.new("b"))
        await env.wait_for_idle()
        assert env.writes == ["apply configmaps default/a", "apply configmaps default/b"]
        assert [item.metadata.name for item in (await secrets.list()).items] == ["a", "b"]


@in_virtual_time
async def test_replicas_follow_a_restored_server() -> None:
    async with Environment(make_copier, leader_election=False) as env:
        secrets = env.client.core_v1.secrets("default")
        await secrets.create(Secret.new("a"))
        await env.wait_for_idle()
        snapshot = env.server.snapshot()
        await secrets.delete("a")
        await secrets.create(Secret.new("b"))
        await env.wait_for_idle()
        env.server.restore(snapshot)
        await env.wait_for_idle()
        copies = await env.client.core_v1.config_maps("default").list()
        assert [item.metadata.name for item in copies.items] == ["a"]
