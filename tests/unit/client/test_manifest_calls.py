"""What is sent for manifests when other clients interfere, on a scripted network; see `test_manifests` for the rest."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.client.scripted import FakeResponse, SentRequest, failure, reply, stream
from tests.unit.client.test_manifests import Cluster, DiscoveryResult, named

from masthead._client.apply_sets import ApplySet, ApplySetParent, Membership
from masthead._meta.gvk import GroupKind, GroupVersionKind, GroupVersionResource
from masthead.errors import DeadlineError, ForbiddenError, ManifestError, UnknownKindError
from masthead.testing.virtual_time import in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Callable

MAPS = "/api/v1/namespaces/home/configmaps"
PARENT = ApplySetParent(
    ApplySet("configmaps/set"),
    GroupVersionKind("", "v1", "ConfigMap"),
    GroupVersionResource("", "v1", "configmaps"),
    "home",
)
CORE = {
    "metadata": {"name": ""},
    "versions": [
        {
            "version": "v1",
            "resources": [
                {
                    "resource": "configmaps",
                    "responseKind": {"group": "", "version": "v1", "kind": "ConfigMap"},
                    "scope": "Namespaced",
                    "singularResource": "configmap",
                    "verbs": ["get", "list", "patch", "delete"],
                }
            ],
        }
    ],
}


@dataclass
class ScriptedApi:
    """A fake API server of config maps, which returns what was applied.

    Attributes:
        found: The responses to a get, by name.
        listed: The members that are listed.
        on: Responses to other requests, by method and path; None to go on.
        groups: The discovery document of the named groups.
    """

    found: dict[str, Callable[[], FakeResponse]] = field(default_factory=dict)
    listed: list[dict[str, Any]] = field(default_factory=list)
    on: dict[tuple[str, str], Callable[[SentRequest], FakeResponse | None]] = field(default_factory=dict)
    groups: list[object] = field(default_factory=list)

    def __call__(self, request: SentRequest) -> FakeResponse:
        if request.path in {"/api", "/apis"}:
            items = self.groups if request.path == "/apis" else [CORE]
            document = {
                "kind": "APIGroupDiscoveryList",
                "apiVersion": "apidiscovery.k8s.io/v2",
                "items": items,
            }
            return DiscoveryResult(body=json.dumps(document).encode())
        respond = self.on.get((request.method, request.path))
        if respond is not None and (response := respond(request)) is not None:
            return response
        if request.is_watch:
            return stream()
        if request.method == "GET" and request.path == MAPS:
            wanted = request.query.get("fieldSelector", "").removeprefix("metadata.name=")
            items = [each for each in self.listed if not wanted or each["metadata"]["name"] == wanted]
            meta = {"resourceVersion": "1"}
            return reply({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": meta, "items": items})
        if request.method == "GET":
            name = request.path.rpartition("/")[2]
            missing = reply(failure(404, "NotFound"), 404)
            return self.found[name]() if name in self.found else missing
        return reply(request.body if request.method == "PATCH" else {"kind": "Status"})


def cluster_with(**script: Any) -> Cluster:
    return Cluster(ScriptedApi(**script))


def parent(*kinds: GroupKind) -> Callable[[], FakeResponse]:
    membership = Membership(frozenset(kinds or {GroupKind("", "ConfigMap")}))
    return lambda: reply(PARENT.configuration(membership))


def member(name: str, **metadata: str) -> dict[str, Any]:
    return named("ConfigMap", name=name, namespace="home", uid=f"uid-{name}", **metadata)


async def prune(cluster: Cluster) -> Any:
    return await cluster.apply_manifests(named("ConfigMap"), namespace="home", apply_set="configmaps/set", prune=True)


async def test_a_member_is_deleted_only_as_the_object_that_was_listed() -> None:
    cluster = cluster_with(found={"set": parent()}, listed=[member("old")])

    result = await prune(cluster)

    [deletion] = [each for each in cluster.network.sent if each.method == "DELETE"]
    assert deletion.path == f"{MAPS}/old"
    body: Any = deletion.body
    assert body["preconditions"] == {"uid": "uid-old"}
    assert body["propagationPolicy"] == "Background"
    assert [each.metadata.name for each in result.pruned] == ["old"]


@pytest.mark.parametrize(("code", "reason"), [(404, "NotFound"), (409, "Conflict")])
async def test_a_member_that_another_client_deletes_or_replaces_is_no_failure(code: int, reason: str) -> None:
    on = {("DELETE", f"{MAPS}/old"): lambda _: reply(failure(code, reason), code)}
    cluster = cluster_with(found={"set": parent()}, listed=[member("old"), member("older")], on=on)

    result = await prune(cluster)

    assert cluster.sent[-1] == f"{MAPS}/set"
    # What was replaced by another object is not pruned: that object is not the one that was listed.
    gone = {404: ["older", "old"], 409: ["older"]}[code]
    assert [each.metadata.name for each in result.pruned] == gone


async def test_an_object_that_was_recreated_since_it_was_applied_is_kept() -> None:
    cluster = cluster_with(found={"set": parent()}, listed=[member("a")])

    result = await prune(cluster)

    assert list(result.pruned) == []
    assert cluster.sent == [f"{MAPS}/set", f"{MAPS}/a", f"{MAPS}/set"]


async def test_a_prune_that_fails_says_what_was_done_and_keeps_the_superset() -> None:
    on = {("DELETE", f"{MAPS}/old"): lambda _: reply(failure(403, "Forbidden"), 403)}
    cluster = cluster_with(found={"set": parent()}, listed=[member("old")], on=on)

    with pytest.raises(ManifestError, match=r"^prune ConfigMap home/old: .* Done before: ConfigMap home/a\.") as raised:
        await prune(cluster)

    assert isinstance(raised.value.__cause__, ForbiddenError)
    assert cluster.sent == [f"{MAPS}/set", f"{MAPS}/a", f"{MAPS}/old"]


async def test_members_that_cannot_be_listed_end_it() -> None:
    on = {
        ("GET", MAPS): lambda request: (
            reply(failure(403, "Forbidden"), 403) if "labelSelector" in request.query else None
        )
    }
    cluster = cluster_with(found={"set": parent()}, on=on)

    with pytest.raises(ManifestError, match=r"^list the members of apply set parent ConfigMap home/set"):
        await prune(cluster)


async def test_fields_of_the_parent_are_taken_over(caplog: pytest.LogCaptureFixture) -> None:
    def refuse(request: SentRequest) -> FakeResponse | None:
        return None if request.query.get("force") == "true" else reply(failure(409, "Conflict"), 409)

    cluster = cluster_with(found={"set": parent()}, on={("PATCH", f"{MAPS}/set"): refuse})

    with caplog.at_level(logging.WARNING, "masthead.client"):
        await prune(cluster)

    assert "taking over fields of other managers" in caplog.text
    forced = [each for each in cluster.network.sent if each.query.get("force") == "true"]
    assert {each.query["fieldManager"] for each in forced} == {"masthead-applyset"}


STALE = {
    "metadata": {"name": "stale.example.com"},
    "versions": [{"version": "v1", "freshness": "Stale", "resources": []}],
}


async def test_a_kind_of_a_group_that_cannot_be_discovered_may_have_members() -> None:
    kind = GroupKind("stale.example.com", "Widget")
    cluster = cluster_with(found={"set": parent(kind)}, groups=[STALE])

    with pytest.raises(UnknownKindError, match="could not be discovered"):
        await prune(cluster)

    assert cluster.sent == []


async def test_an_apply_needs_no_right_to_read() -> None:
    forbidden = reply(failure(403, "Forbidden"), 403)
    cluster = cluster_with(found={"a": lambda: forbidden})

    result = await cluster.apply_manifests(named("ConfigMap"))

    assert list(result.outcomes) == ["configured"]


class ChangingObject:
    """An object with another version at each read, for some reads."""

    def __init__(self, changes: int) -> None:
        self.reads = 0
        self._changes = changes

    def read(self) -> FakeResponse:
        self.reads += 1
        return reply(named("ConfigMap", namespace="home", resourceVersion=str(self.reads)))

    def apply(self, _: SentRequest) -> FakeResponse:
        seen = self.reads + 1 if self.reads <= self._changes else self.reads
        return reply(named("ConfigMap", namespace="home", resourceVersion=str(seen)))


async def test_an_object_that_changes_during_a_diff_is_read_again() -> None:
    changing = ChangingObject(2)
    cluster = cluster_with(found={"a": changing.read}, on={("PATCH", f"{MAPS}/a"): changing.apply})

    diff = await cluster.diff_manifests(named("ConfigMap"))

    assert changing.reads == 3
    assert not diff.has_changes


async def test_a_diff_of_an_object_that_keeps_changing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    changing = ChangingObject(99)
    cluster = cluster_with(found={"a": changing.read}, on={("PATCH", f"{MAPS}/a"): changing.apply})

    with caplog.at_level(logging.WARNING, "masthead.client"):
        diff = await cluster.diff_manifests(named("ConfigMap"))

    assert changing.reads == 4
    assert diff.has_changes
    assert "ConfigMap home/a (manifest) keeps changing" in caplog.text


@in_virtual_time
async def test_a_wait_for_many_objects_has_few_watches_and_checks_all() -> None:
    cluster = cluster_with()
    wanted = [named("ConfigMap", name=f"m{number}") for number in range(40)]

    with pytest.raises(DeadlineError) as raised:
        await cluster.wait_for_manifests(wanted, timeout=30)

    watched = {each.query["fieldSelector"] for each in cluster.network.sent if each.is_watch}
    listed = {each.query["fieldSelector"] for each in cluster.network.sent if not each.is_watch}
    assert (len(watched), len(listed)) == (16, 40)
    text = str(raised.value)
    assert "40 of 40 objects left:" in text
    assert len(re.findall(r"\n  ConfigMap home/m\d+: it does not exist", text)) == 20
    assert "\n  ... and 20 more" in text


@in_virtual_time
async def test_a_wait_outlives_a_server_that_fails_for_a_while() -> None:
    left = [3]

    def respond(request: SentRequest) -> FakeResponse | None:
        if request.is_watch or not left[0]:
            return None
        left[0] -= 1
        return reply(failure(503, "ServiceUnavailable"), 503)

    cluster = cluster_with(listed=[member("a")], on={("GET", MAPS): respond})

    found = await cluster.wait_for_manifests(named("ConfigMap"), timeout=60)

    assert [each.metadata.name for each in found] == ["a"]


@in_virtual_time
async def test_a_refused_wait_ends_at_once() -> None:
    cluster = cluster_with(on={("GET", MAPS): lambda _: reply(failure(403, "Forbidden"), 403)})

    with pytest.raises(ForbiddenError):
        await cluster.wait_for_manifests([named("ConfigMap"), named("ConfigMap", name="b")], timeout=60)
