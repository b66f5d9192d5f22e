"""Manifests: reading, checking, order, and what is sent; on a scripted network, which applies what it is sent."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.client.scripted import (
    FakeResponse,
    FakeTransport,
    SentRequest,
    context_over,
    failure,
    reply,
    stream,
)

from masthead._client.documents import ManifestSource, read_documents
from masthead._client.dynamic import DynamicResource
from masthead._client.install_order import installation_order
from masthead._client.manifest_verbs import ManifestVerbs
from masthead._client.resource_target import untyped_target
from masthead._discovery.client import DiscoveryClient
from masthead._discovery.rest_mapper import RestMapper
from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
from masthead.api.core.v1 import ConfigMap, ConfigMapList
from masthead.errors import ConflictError, DeadlineError, ManifestError, ServiceUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True, "storage": True}],
    },
}
WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}
GADGETS: dict[str, Any] = {
    "kind": "APIGroupDiscoveryList",
    "apiVersion": "apidiscovery.k8s.io/v2",
    "items": [
        {
            "metadata": {"name": "gadgets.example.com"},
            "versions": [
                {
                    "version": "v1",
                    "resources": [
                        {
                            "resource": "gadgets",
                            "responseKind": {
                                "group": "gadgets.example.com",
                                "version": "v1",
                                "kind": "Gadget",
                            },
                            "scope": "Cluster",
                            "singularResource": "gadget",
                            "verbs": ["get", "list", "patch", "delete"],
                        }
                    ],
                }
            ],
        }
    ],
}
ESTABLISHED = {"conditions": [{"type": kind, "status": "True"} for kind in ("NamesAccepted", "Established")]}


@dataclass(frozen=True)
class DiscoveryResult(FakeResponse):
    def header(self, name: str) -> str:
        is_type = name.lower() == "content-type"
        return "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" if is_type else ""


@dataclass
class FakeApi:
    """A fake API server that returns what was applied.

    Attributes:
        failing: The error responses to writes by path, each used once. Nothing exists before it is written.
        missing: Paths of objects that do not exist when they are deleted.
        groups: The discovery document.
    """

    failing: dict[str, list[FakeResponse]] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    never_established: bool = False
    groups: list[object] = field(default_factory=lambda: list[object](GADGETS["items"]))

    def __call__(self, request: SentRequest) -> FakeResponse:
        if request.path in {"/api", "/apis"}:
            items = self.groups if request.path == "/apis" else []
            return DiscoveryResult(body=json.dumps({**GADGETS, "items": items}).encode())
        if request.method == "GET" and not request.path.endswith("/customresourcedefinitions"):
            return reply(failure(404, "NotFound"), 404)
        if self.failing.get(request.path):
            return self.failing[request.path].pop(0)
        if request.is_watch:
            status = {} if self.never_established else ESTABLISHED
            return stream({"type": "MODIFIED", "object": {**CRD, "status": status}})
        if request.method == "GET":
            listed = {
                "kind": "CustomResourceDefinitionList",
                "apiVersion": "apiextensions.k8s.io/v1",
                "items": [CRD],
            }
            return reply({**listed, "metadata": {"resourceVersion": "1"}})
        if request.method == "DELETE":
            gone = request.path in self.missing
            return reply(failure(404, "NotFound") if gone else {"kind": "Status"}, 404 if gone else 200)
        return reply(request.body)


class Cluster(ManifestVerbs):
    """The client interface that manifests need, over a fake network."""

    namespace = "home"

    def __init__(self, api: Callable[[SentRequest], FakeResponse]) -> None:
        self.network = FakeTransport(api)
        super().__init__(context_over(self.network, field_manager="me"))
        self.discovery = DiscoveryClient(self._context.rest)
        self.mapper = RestMapper(self.discovery)

    def dynamic(self, what: GroupVersionResource, *, namespace: str | None) -> DynamicResource:
        return DynamicResource(self._context, untyped_target(what, namespaced=None), namespace)

    @property
    def sent(self) -> list[str]:
        """The paths that were applied or deleted."""
        return [each.path for each in self.network.sent if each.method in {"PATCH", "DELETE"}]

    @property
    def calls(self) -> list[str]:
        return ["WATCH" if each.is_watch else each.method for each in self.network.sent]


def named(kind: str, api_version: str = "v1", **metadata: str) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", **metadata}}


def origins(source: ManifestSource) -> list[str]:
    documents, problems = read_documents(source)
    assert problems == []
    return [f"{document.obj.kind} {document.obj.metadata.name}: {document.origin}" for document in documents]


TEXT = """\
# nothing here
---
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
---
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Secret
  metadata: {name: two}
- apiVersion: v1
  kind: ConfigMapList
  items:
  - metadata: {name: three}
...
"""


def test_streams_and_lists_are_split_and_each_object_keeps_its_origin() -> None:
    expected = [
        "ConfigMap one: manifest, document 1",
        "Secret two: manifest, document 3, item 1",
        "ConfigMap three: manifest, document 3, item 2, item 1",
    ]
    assert origins(TEXT) == expected
    assert origins(TEXT.encode()) == expected
    assert origins(io.StringIO(TEXT)) == expected


def test_files_and_folders_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "b.yml").write_text(TEXT)
    (tmp_path / "a.json").write_text(json.dumps(named("Pod")))
    (tmp_path / "README.md").write_text("no manifest")
    (tmp_path / "c.yaml").mkdir()
    assert [origin.partition(": ")[2] for origin in origins(tmp_path)] == [
        f"{tmp_path / 'a.json'}, document 1",
        f"{tmp_path / 'b.yml'}, document 1",
        f"{tmp_path / 'b.yml'}, document 3, item 1",
        f"{tmp_path / 'b.yml'}, document 3, item 2, item 1",
    ]
    with (tmp_path / "a.json").open() as file:
        assert origins(file) == [f"Pod a: {tmp_path / 'a.json'}, document 1"]


def test_objects_lists_and_plain_data_may_be_mixed() -> None:
    maps = ConfigMapList(items=[ConfigMap.new("b"), ConfigMap.new("c")])
    assert origins([named("Pod"), ConfigMap.new("a"), [maps], "apiVersion: v1\nkind: Pod\nmetadata: {name: d}"]) == [
        "Pod a: manifest 1",
        "ConfigMap a: manifest 2",
        "ConfigMap b: manifest 3 1, item 1",
        "ConfigMap c: manifest 3 1, item 2",
        "Pod d: manifest 4, document 1",
    ]


@pytest.mark.parametrize("text", ["", "---\n---\n", "# nothing\n"])
async def test_no_manifests_send_no_requests(text: str) -> None:
    cluster = Cluster(FakeApi())
    assert list(await cluster.apply_manifests(text)) == []
    assert cluster.calls == []


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("web.yaml", 'manifest, document 1: is not an object (to read a file, give pathlib.Path("..."))'),
        ("[1]", "manifest, document 1: is not an object"),
        ("a: b: c", "manifest: not YAML: mapping values are not allowed in this context (line 1, column 5)"),
        ({"kind": "Pod", "metadata": {"name": "a"}}, "manifest: apiVersion and kind are required"),
        (named("Pod", "a/b/c"), "manifest: Pod: "),
        (named("Pod", name=""), "manifest: Pod: metadata.name is missing"),
        (named("Pod", name="a/b"), "manifest: Pod: "),
        ({**named("Pod"), "metadata": {"generateName": "a-"}}, "manifest: Pod: metadata.name is missing"),
        (
            {**named("Pod"), "metadata": {"name": 5}},
            "manifest: Pod: metadata.name: expected a string, got an integer",
        ),
        (
            {**named("Pod"), "metadata": {"name": "a", "managedFields": [{"manager": "me"}]}},
            "manifest: Pod a: leave out metadata.managedFields",
        ),
        (
            {**named("Deployment", "apps/v1"), "spec": {"replicas": "three"}},
            "manifest: Deployment a: spec.replicas: expected an integer, got a string ('three')",
        ),
        (
            {**named("Secret"), "stringData": {"password": 12345}},
            'manifest: Secret a: stringData["password"]: has a value of the wrong type',
        ),
        (cast("Any", 5), "manifest: is of type int; use a path, text, data or an object"),
    ],
)
async def test_a_problem_names_its_origin_and_nothing_is_sent(source: ManifestSource, problem: str) -> None:
    cluster = Cluster(FakeApi())
    with pytest.raises(ManifestError) as caught:
        await cluster.apply_manifests(source)
    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].startswith(problem)
    assert "nothing was sent" in str(caught.value)
    assert cluster.sent == []


async def test_paths_that_cannot_be_read_are_problems(tmp_path: Path) -> None:
    sources = [tmp_path / "none.yaml", tmp_path]
    with pytest.raises(ManifestError) as caught:
        await Cluster(FakeApi()).apply_manifests(sources)
    assert caught.value.problems == (
        f"{tmp_path / 'none.yaml'}: cannot be read: No such file or directory",
        f"{tmp_path}: holds no manifests: no file ends in .json, .yaml, .yml",
    )


async def test_all_problems_are_reported_at_once() -> None:
    cluster = Cluster(FakeApi())
    sources = [
        named("Pod", name=""),
        named("ConfigMap"),
        named("ConfigMap", namespace="home"),
        named("Teapot", "kitchen.example.com/v1"),
        {**named("Pod"), "spec": {"containers": {}}},
    ]
    with pytest.raises(ManifestError) as caught:
        await cluster.apply_manifests(sources)
    first, second, third, fourth = caught.value.problems
    assert first == "manifest 1: Pod: metadata.name is missing"
    assert second.startswith("manifest 5: Pod a: spec.containers: expected a list")
    assert third == "ConfigMap home/a (manifest 3): is also in manifest 2"
    assert fourth.startswith("Teapot a (manifest 4): ")
    assert cluster.sent == []


async def test_a_message_lists_a_bounded_number_of_problems() -> None:
    with pytest.raises(ManifestError, match=r"\.\.\. and 80 more") as caught:
        await Cluster(FakeApi()).apply_manifests([named("Pod", name="")] * 100)
    assert len(caught.value.problems) == 100


async def test_dependencies_are_applied_first() -> None:
    kinds = [
        named("ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1"),
        named("Deployment", "apps/v1"),
        named("Gadget", "gadgets.example.com/v1"),
        named("RoleBinding", "rbac.authorization.k8s.io/v1"),
        named("Service"),
        WIDGET,
        named("ServiceAccount"),
        named("ConfigMap"),
        named("Namespace", name="home"),
        CRD,
    ]
    cluster = Cluster(FakeApi())
    applied = await cluster.apply_manifests(kinds)
    assert [each.kind for each in applied] == [
        "CustomResourceDefinition",
        "Namespace",
        "ServiceAccount",
        "RoleBinding",
        "ConfigMap",
        "Service",
        "Gadget",
        "Widget",
        "Deployment",
        "ValidatingWebhookConfiguration",
    ]
    assert cluster.sent[:2] == [
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com",
        "/api/v1/namespaces/home",
    ]
    assert "/apis/example.com/v1/namespaces/home/widgets/w" in cluster.sent
    assert "/apis/gadgets.example.com/v1/gadgets/a" in cluster.sent


known = st.sampled_from(["Namespace", "ConfigMap", "Pod", "Widget", "Job", "APIService", "CustomResourceDefinition"])


@given(st.lists(known))
def test_ordering_is_stable_and_keeps_every_object(kinds: list[str]) -> None:
    numbered = list(enumerate(kinds))
    ordered = installation_order(numbered, lambda pair: GroupVersionKind("", "v1", pair[1]))
    assert sorted(ordered) == numbered
    for kind in kinds:
        places = [place for place, each in ordered if each == kind]
        assert places == sorted(places)
    assert installation_order(ordered, lambda pair: GroupVersionKind("", "v1", pair[1])) == ordered


async def test_a_kind_is_used_once_its_definition_is_established() -> None:
    cluster = Cluster(FakeApi())
    await cluster.apply_manifests([WIDGET, CRD])
    assert cluster.calls == ["GET", "PATCH", "GET", "WATCH", "GET", "PATCH"]


async def test_a_kind_that_is_served_a_moment_later_is_waited_for() -> None:
    path = "/apis/example.com/v1/namespaces/home/widgets/w"
    api = FakeApi(failing={path: [reply(failure(404, "NotFound"), 404)] * 2})
    applied = await Cluster(api).apply_manifests([WIDGET, CRD])
    assert [each.kind for each in applied] == ["CustomResourceDefinition", "Widget"]


async def test_a_cluster_scoped_kind_of_the_same_manifests_gets_no_namespace() -> None:
    cluster = Cluster(FakeApi())
    crd = {**CRD, "spec": {**cast("dict[str, object]", CRD["spec"]), "scope": "Cluster"}}

    await cluster.apply_manifests([crd, WIDGET])

    assert cluster.sent[-1] == "/apis/example.com/v1/widgets/w"


async def test_a_definition_that_is_never_established_is_an_error() -> None:
    cluster = Cluster(FakeApi(never_established=True))
    with pytest.raises(ManifestError, match=r"^wait for CustomResourceDefinition widgets\.example\.com") as caught:
        await cluster.apply_manifests([WIDGET, CRD], timeout=0.1)
    assert isinstance(caught.value.__cause__, DeadlineError)
    assert [each.kind for each in caught.value.done] == ["CustomResourceDefinition"]


async def test_a_dry_run_stores_nothing_and_waits_for_nothing() -> None:
    cluster = Cluster(FakeApi())
    await cluster.apply_manifests([CRD, named("ConfigMap")], dry_run=True, force=True, field_manager="you")
    assert cluster.calls == ["GET", "PATCH"] * 2
    assert all(
        each.query == {"dryRun": "All", "fieldManager": "you", "force": "true"}
        for each in cluster.network.sent
        if each.method == "PATCH"
    )


async def test_a_dry_run_skips_and_logs_objects_that_need_other_manifests(
    caplog: pytest.LogCaptureFixture,
) -> None:
    nowhere = reply(failure(404, "NotFound"), 404)
    api = FakeApi(
        failing={
            "/apis/example.com/v1/namespaces/home/widgets/w": [nowhere],
            "/api/v1/namespaces/new/configmaps/a": [nowhere],
        }
    )
    sources = [
        CRD,
        WIDGET,
        named("Namespace", name="new"),
        named("ConfigMap", namespace="new"),
        named("Secret"),
    ]
    cluster = Cluster(api)

    tried = await cluster.apply_manifests(sources, dry_run=True)

    assert [each.kind for each in tried] == ["CustomResourceDefinition", "Namespace", "Secret"]
    assert len(cluster.sent) == 5
    [record] = caplog.records
    assert "ConfigMap new/a (manifest 4), Widget home/w (manifest 2)" in record.message


async def test_a_dry_run_sends_objects_of_kinds_that_are_already_served() -> None:
    tried = await Cluster(FakeApi()).apply_manifests([CRD, WIDGET], dry_run=True)
    assert [each.kind for each in tried] == ["CustomResourceDefinition", "Widget"]


async def test_a_dry_run_fails_without_the_namespace() -> None:
    nowhere = reply(failure(404, "NotFound"), 404)
    api = FakeApi(failing={"/api/v1/namespaces/home/configmaps/a": [nowhere]})
    with pytest.raises(ManifestError, match="apply ConfigMap home/a"):
        await Cluster(api).apply_manifests(named("ConfigMap"), dry_run=True)


async def test_the_namespace_is_the_objects_or_the_callers_or_the_clients() -> None:
    sources = [
        named("ConfigMap"),
        named("ConfigMap", name="b", namespace="there"),
        named("ClusterRole", RBAC),
    ]
    cluster = Cluster(FakeApi())
    applied = await cluster.apply_manifests(sources)
    assert [each.key for each in applied] == ["a", "home/a", "there/b"]
    with pytest.raises(ManifestError, match="is in namespace 'there', not in 'here'"):
        await cluster.apply_manifests(sources, namespace="here")
    applied = await cluster.apply_manifests([sources[0], sources[2]], namespace="here")
    assert [each.key for each in applied] == ["a", "here/a"]


RBAC = "rbac.authorization.k8s.io/v1"


async def test_a_namespace_is_ignored_for_cluster_scoped_objects() -> None:
    cluster = Cluster(FakeApi())
    [role] = await cluster.apply_manifests(named("ClusterRole", RBAC, namespace="home"))
    assert role.metadata.namespace == ""
    assert cluster.sent == ["/apis/rbac.authorization.k8s.io/v1/clusterroles/a"]


async def test_the_callers_objects_are_not_modified() -> None:
    given_ = ConfigMap.new("a")
    before = given_.to_json()
    await Cluster(FakeApi()).apply_manifests(given_)
    assert given_.to_json() == before


async def test_the_first_failure_stops_it_and_lists_the_objects_done() -> None:
    refused = reply(failure(409, "Conflict"), 409)
    cluster = Cluster(FakeApi(failing={"/api/v1/namespaces/home/services/a": [refused]}))
    sources = [named("Pod"), named("Service"), named("ConfigMap"), named("Secret")]
    with pytest.raises(ManifestError) as caught:
        await cluster.apply_manifests(sources)
    assert isinstance(caught.value.__cause__, ConflictError)
    assert [each.kind for each in caught.value.done] == ["ConfigMap", "Secret"]
    assert str(caught.value).startswith("apply Service home/a (manifest 2): apply services home/a: it is Conflict")
    assert str(caught.value).endswith("Done before: ConfigMap home/a, Secret home/a.")
    assert len(cluster.sent) == 3


async def test_deletion_runs_in_reverse_order_and_skips_missing_objects() -> None:
    cluster = Cluster(FakeApi(missing={"/api/v1/namespaces/home/services/a"}))
    sources = [CRD, WIDGET, named("Pod"), named("Service"), named("Teapot", "kitchen.example.com/v1")]
    deleted = await cluster.delete_manifests(sources)
    assert [each.kind for each in deleted] == ["Pod", "Widget", "CustomResourceDefinition"]
    assert [path.rpartition("/")[2] for path in cluster.sent] == ["a", "w", "a", "widgets.example.com"]


async def test_deletion_tells_of_each_object_and_passes_the_grace_period_on() -> None:
    cluster = Cluster(FakeApi(missing={"/api/v1/namespaces/home/services/a"}))
    told: list[str] = []
    await cluster.delete_manifests(
        [named("Pod"), named("Service"), named("ConfigMap")],
        grace_period_seconds=7,
        on_deleted=lambda obj: told.append(obj.kind),
    )
    assert told == ["Pod", "ConfigMap"]
    bodies = [cast("dict[str, object]", each.body) for each in cluster.network.sent if each.method == "DELETE"]
    assert [body["gracePeriodSeconds"] for body in bodies] == [7, 7, 7]


STALE = {"metadata": {"name": "down.example.com"}, "versions": [{"version": "v1", "freshness": "Stale"}]}


@pytest.mark.parametrize("act", [Cluster.apply_manifests, Cluster.delete_manifests])
async def test_a_kind_of_an_undiscoverable_group_is_a_problem_and_not_skipped(act: Any) -> None:
    cluster = Cluster(FakeApi(groups=[STALE]))
    with pytest.raises(ManifestError) as caught:
        await act(cluster, [named("Pod"), named("Teapot", "down.example.com/v1")])
    assert cluster.sent == []
    [problem] = caught.value.problems
    assert problem.startswith("Teapot a (manifest 2): get /apis/down.example.com/v1: the API server cannot reach")
    assert isinstance(caught.value.__cause__, ServiceUnavailableError)


async def test_many_unknown_kinds_cost_few_discovery_requests() -> None:
    cluster = Cluster(FakeApi())
    teapots = [named(f"Teapot{number}", "kitchen.example.com/v1") for number in range(40)]
    assert await cluster.delete_manifests(teapots) == []
    assert len(cluster.network.sent) <= 2 * 3


async def test_a_failed_deletion_lists_the_objects_done() -> None:
    refused = reply(failure(403, "Forbidden"), 403)
    cluster = Cluster(FakeApi(failing={"/api/v1/namespaces/home/configmaps/a": [refused]}))
    with pytest.raises(ManifestError, match=r"^delete ConfigMap home/a") as caught:
        await cluster.delete_manifests([named("ConfigMap"), named("Pod")])
    assert [each.kind for each in caught.value.done] == ["Pod"]
