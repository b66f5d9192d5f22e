"""The change log and the dump: all objects, and the requests behind their changes."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

import pytest
from tests.server.calls import APPLY_PATCH, MAPS, MERGE_PATCH, Caller, config_map

import masthead.server
from masthead.errors import ArgumentError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.server import Server

_DEFINITION: Any = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "sites.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "sites", "singular": "site", "kind": "Site", "listKind": "SiteList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
_SITES = "/apis/example.com/v1/namespaces/default/sites"


@pytest.fixture
def recording() -> Iterator[Server]:
    """A server that records changes."""
    with masthead.server.run(record_changes=True, token=None, bootstrap=False) as server:
        yield server


@pytest.fixture
def caller(recording: Server) -> Iterator[Caller]:
    """A client of that server."""
    with closing(Caller(recording.url)) as opened:
        yield opened


def test_changes_tell_the_request_behind_them(recording: Server, caller: Caller) -> None:
    since = recording.revision
    caller.call("POST", MAPS, config_map("a"), headers={"User-Agent": "kubectl/1.36"})
    reconcile = "sites default/web 7"
    sent = {"X-Masthead-Client": "first", "X-Masthead-Reconcile": reconcile, "Content-Type": MERGE_PATCH}
    caller.call("PATCH", f"{MAPS}/a?fieldManager=mine", {"data": {"x": "1"}}, headers=sent)
    caller.call("DELETE", f"{MAPS}/a")

    added, modified, deleted = recording.changes(since)

    assert (added.type, added.verb, added.user_agent, added.client) == ("ADDED", "create", "kubectl/1.36", "")
    assert added.before is None
    assert (modified.client, modified.reconcile, modified.field_manager) == ("first", reconcile, "mine")
    assert (modified.resource, modified.key, modified.verb) == ("configmaps", "default/a", "patch")
    assert cast("Any", modified.object)["data"] == {"x": "1"}
    assert modified.before == added.object
    assert (deleted.type, deleted.verb, deleted.uid) == ("DELETED", "delete", added.uid)
    assert [change.revision for change in (added, modified, deleted)] == [since + 1, since + 2, since + 3]


def test_changes_name_server_side_applies_and_subresources(recording: Server, caller: Caller) -> None:
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    since = recording.revision
    caller.call("PATCH", f"{MAPS}/a?fieldManager=m", applied, headers={"Content-Type": APPLY_PATCH})
    caller.call(
        "PATCH",
        "/api/v1/namespaces/default/status",
        {"metadata": {"annotations": {"x": "y"}}},
        headers={"Content-Type": MERGE_PATCH},
    )

    assert [(change.verb, change.subresource) for change in recording.changes(since)] == [
        ("apply", ""),
        ("patch", "status"),
    ]


def test_changes_of_built_in_controllers_have_their_names(recording: Server, caller: Caller) -> None:
    owner = caller.call("POST", MAPS, config_map("owner")).json
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    child = config_map("child")
    child["metadata"]["ownerReferences"] = [reference]
    caller.call("POST", MAPS, child)
    since = recording.revision
    caller.call("DELETE", f"{MAPS}/owner", headers={"X-Masthead-Client": "first"})
    recording.block_until_idle()

    assert [(change.type, change.key, change.client) for change in recording.changes(since)] == [
        ("DELETED", "default/owner", "first"),
        ("DELETED", "default/child", "garbage"),
    ]


def test_changes_survive_a_compaction_within_their_limit() -> None:
    with masthead.server.run(record_changes=True, token=None, bootstrap=False, history=3) as server:
        with closing(Caller(server.url)) as caller:
            for name in "abcde":
                caller.call("POST", MAPS, config_map(name))
        server.compact()

        assert [change.key for change in server.changes()] == ["default/c", "default/d", "default/e"]


def test_changes_need_to_be_recorded(server: Server) -> None:
    with pytest.raises(ConfigError, match="record_changes=True"):
        server.changes()


def test_a_dump_has_every_object_at_any_revision(recording: Server, caller: Caller) -> None:
    caller.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", _DEFINITION)
    recording.block_until_idle()
    site = {"apiVersion": "example.com/v1", "kind": "Site", "metadata": {"name": "web"}, "spec": {"host": "a"}}
    assert caller.call("POST", _SITES, site).code == 201
    before = recording.revision
    caller.call("DELETE", f"{_SITES}/web")

    dump = cast("Any", recording.dump(before))
    assert dump["sites.example.com"]["default/web"]["spec"] == {"host": "a"}
    assert dump["sites.example.com"]["default/web"]["apiVersion"] == "example.com/v1"
    assert "customresourcedefinitions.apiextensions.k8s.io" in dump
    assert sorted(dump["namespaces"]) == ["default", "kube-node-lease", "kube-public", "kube-system"]
    assert "sites.example.com" not in recording.dump()
    with pytest.raises(ArgumentError, match="there is no revision"):
        recording.dump(recording.revision + 1)
