"""Objects of any kind, without types."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.objects import config_map, deployment, named, pod
from tests.integration.conftest import connected
from tests.integration.scripts import client_of, json_response, listed
from tests.unit.transport.servers import ReceivedRequest, receive

from masthead._meta.gvk import GroupVersionResource
from masthead._meta.patch import Patch
from masthead._meta.unstructured import Unstructured
from masthead.errors import (
    ArgumentError,
    ConflictError,
    MethodNotAllowedError,
    NameFormatError,
    NotFoundError,
    UnknownKindError,
)

if TYPE_CHECKING:
    import asyncio

    from tests.integration.conftest import Cluster

DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
MAPS = GroupVersionResource("", "v1", "configmaps")
FLIP = {"apiVersion": "flops/v1", "kind": "Flip", "metadata": {"name": "mips", "namespace": "mops"}}


@pytest.mark.parametrize(
    "words",
    [
        (DEPLOYMENTS,),
        ("apps/v1", "deployments"),
        ("apps/v1", "deployment"),
        ("apps/v1", "Deployment"),
        ("apps/v1", "deploy"),
        ("deployments",),
        ("Deployment",),
        ("deploy",),
        ("deployments.apps",),
        ("deployments.v1.apps",),
    ],
    ids=str,
)
async def test_a_resource_is_found_by_each_of_its_names(client: Any, namespace: str, words: tuple[Any, ...]) -> None:
    await client.apps_v1.deployments(namespace).create(deployment("web"))

    found = await client.dynamic(*words, namespace=namespace).get("web")

    assert isinstance(found, Unstructured)
    assert (found.api_version, found.kind, found.metadata.name) == ("apps/v1", "Deployment", "web")


async def test_arguments_and_results_are_plain_data(client: Any, namespace: str) -> None:
    maps = client.dynamic(MAPS, namespace=namespace)

    made = await maps.create(config_map("plain", data={"a": "1"}))
    plain = made.to_dict()
    plain["data"]["b"] = "2"
    updated = await maps.update(plain)

    assert made.to_dict()["data"] == {"a": "1"}
    assert updated.get("data") == {"a": "1", "b": "2"}
    assert updated.get("data", "b") == "2"
    with pytest.raises(ConflictError):
        await maps.update(plain)


async def test_objects_are_listed_watched_patched_and_deleted(client: Any, namespace: str) -> None:
    maps = client.dynamic("cm", namespace=namespace)
    for name in ("a", "b"):
        await maps.create(config_map(name, labels={"here": "yes"}))

    listed = await maps.list(label_selector="here=yes", page_size=1)
    await maps.patch("a", Patch.merge({"data": {"x": "y"}}))
    await maps.delete("b")
    await maps.delete_collection(label_selector="here=yes")

    assert [each.metadata.name for each in listed] == ["a", "b"]
    assert (listed.kind, {each.kind for each in listed}) == ("ConfigMapList", {"ConfigMap"})
    seen = []
    async with maps.watch(resource_version=listed.metadata.resource_version, label_selector="here=yes") as events:
        async for event in events:
            seen.append((event.type, event.object.metadata.name))
            if len(seen) == 3:
                break
    assert seen == [("MODIFIED", "a"), ("DELETED", "b"), ("DELETED", "a")]
    assert await maps.delete(await fresh_name(maps)) is None


async def fresh_name(maps: Any) -> str:
    made = await maps.create({**config_map(), "metadata": {"generateName": "made-"}})
    name: str = made.metadata.name
    return name


async def test_a_plain_object_without_a_name_is_rejected(client: Any, namespace: str) -> None:
    with pytest.raises(ArgumentError, match=r"metadata\.name"):
        await client.dynamic("cm", namespace=namespace).create({"data": {}})


async def test_the_object_may_name_its_namespace(client: Any, namespace: str) -> None:
    created = await client.dynamic("cm").create(config_map("own", namespace=namespace))

    assert created.metadata.namespace == namespace
    with pytest.raises(ArgumentError, match="name the namespace"):
        await client.dynamic("cm").get("own")


async def test_subresources_are_read_and_written(client: Any, namespace: str) -> None:
    deployments = client.dynamic(DEPLOYMENTS, namespace=namespace)
    await deployments.create(deployment("web", replicas=1))

    scale = (await deployments.get("web", subresource="scale")).to_dict()
    assert (scale["kind"], scale["spec"]) == ("Scale", {"replicas": 1})
    scale["spec"]["replicas"] = 3
    updated = await deployments.update(scale, subresource="scale")
    patched = await deployments.patch("web", Patch.merge({"status": {"replicas": 2}}), subresource="status")

    assert updated.get("spec", "replicas") == 3
    assert patched.get("spec", "replicas") == 3
    assert patched.get("status", "replicas") == 2


async def test_the_status_of_a_dynamic_resource_has_verbs_of_its_own(client: Any, namespace: str) -> None:
    deployments = client.dynamic(DEPLOYMENTS, namespace=namespace)
    found = (await deployments.create(deployment("web", replicas=1))).to_dict()

    updated = await deployments.update_status(found | {"status": {"replicas": 2}, "spec": {}})
    assert (updated.get("status", "replicas"), updated.get("spec", "replicas")) == (2, 1)
    patched = await deployments.patch_status("web", Patch.merge({"status": {"replicas": 3}}))
    assert patched.get("status", "replicas") == 3
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    applied = await deployments.apply_status(head | {"status": {"replicas": 4}}, field_manager="us", force=True)
    assert applied.get("status", "replicas") == 4


async def test_an_object_can_be_posted_to_a_subresource(client: Any, namespace: str) -> None:
    pods = client.dynamic("v1", "pods", namespace=namespace)
    await pods.create(pod("bound"))
    await pods.create(pod("evicted"))

    node = {"target": {"kind": "Node", "name": "node-1"}}
    response = await pods.create(named("v1", "Binding", "bound", **node), subresource="binding")
    await pods.create(named("policy/v1", "Eviction", "evicted"), subresource="eviction")

    assert (response.kind, response.get("status")) == ("Status", "Success")
    assert (await pods.get("bound")).get("spec", "nodeName") == "node-1"
    with pytest.raises(NotFoundError):
        await pods.get("evicted")
    await pods.delete("bound", grace_period_seconds=0)


async def test_an_object_posted_to_a_subresource_may_omit_its_name(client: Any, namespace: str) -> None:
    accounts = client.dynamic("sa", namespace=namespace)
    await accounts.create(named("v1", "ServiceAccount", "robot"))

    wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["a"]}}
    response = await accounts.create(wanted, name="robot", subresource="token")

    assert response.get("status", "token")
    with pytest.raises(ArgumentError, match=r"metadata\.name"):
        await accounts.create(wanted, subresource="token")


async def test_cluster_scoped_resources_take_no_namespace(client: Any, namespace: str) -> None:
    found = await client.dynamic("namespaces").get(namespace)

    assert found.get("status", "phase") == "Active"
    with pytest.raises(ArgumentError, match="are cluster-scoped"):
        await client.dynamic("ns", namespace=namespace).get(namespace)


async def test_an_unknown_resource_is_rejected_before_the_request_is_sent(client: Any, namespace: str) -> None:
    with pytest.raises(UnknownKindError, match=r'no resource "deploymets".*nearest: deployments\.apps'):
        await client.dynamic("deploymets", namespace=namespace).list()
    with pytest.raises(UnknownKindError, match=r"in v1; the nearest: deployments\.apps"):
        await client.dynamic("v1", "deployments", namespace=namespace).get("web")
    with pytest.raises(UnknownKindError, match=r"example\.com/v1"):
        await client.dynamic("example.com/v1", "widgets").create(named("example.com/v1", "Widget", "a"))
    with pytest.raises(ArgumentError, match="is not a resource name"):
        await client.dynamic("pods/log").list()
    with pytest.raises(ArgumentError, match="is complete"):
        client.dynamic(MAPS, "configmaps")


async def test_a_full_name_is_sent_without_discovery_and_rejected_by_the_server(client: Any, namespace: str) -> None:
    absent = client.dynamic(GroupVersionResource("example.com", "v1", "widgets"), namespace=namespace)

    with pytest.raises(NotFoundError):
        await absent.list()


async def test_the_core_group_wins_over_other_groups(client: Any, namespace: str) -> None:
    assert (await client.dynamic("events", namespace=namespace).list()).api_version == "v1"
    other = await client.dynamic("events.events.k8s.io", namespace=namespace).list()
    assert other.api_version == "events.k8s.io/v1"


async def test_a_verb_that_a_resource_does_not_have_is_refused(client: Any, namespace: str) -> None:
    with pytest.raises(MethodNotAllowedError):
        await client.dynamic("authorization.k8s.io/v1", "selfsubjectaccessreviews").list()
    with pytest.raises((MethodNotAllowedError, NotFoundError)):
        await client.dynamic("v1", "bindings", namespace=namespace).list()


async def test_reviews_return_their_result(client: Any, namespace: str) -> None:
    reviews = client.dynamic("authorization.k8s.io/v1", "selfsubjectaccessreviews")
    review = {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": namespace}}

    response = await client.authorization_v1.self_subject_access_reviews().create({"spec": review})

    assert response.status.allowed is True
    with pytest.raises(ArgumentError, match=r"metadata\.name"):
        await reviews.create({"spec": review})


async def test_each_verb_sends_its_method_path_options_and_body(facade: str) -> None:
    seen: list[ReceivedRequest] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            request = await receive(reader)
            seen.append(request)
            is_list = request.line.startswith("GET /apis/flops/v1/namespaces/mops/flips?")
            writer.write(json_response(listed() if is_list else FLIP))

    async with client_of(handle, facade) as client:
        flips = client.dynamic(GroupVersionResource("flops", "v1", "flips"), namespace="mops")
        await flips.create(FLIP, subresource="fin", field_validation="Warn")
        await flips.update(FLIP, subresource="fin", field_validation="Warn")
        await flips.update_status(FLIP, field_validation="Warn")
        await flips.delete("mips", subresource="fin", dry_run=True)
        await flips.delete_collection(resource_version="42", dry_run=True)
        await flips.get("mips", subresource="fin", resource_version="42")
        await flips.list(resource_version="42")
        await flips.patch("mips", Patch.strategic({"foo": "bar"}), subresource="fin", field_manager="baz")
        await flips.apply(FLIP, subresource="fin", field_manager="baz", force=True)
        await flips.apply_status(FLIP, field_manager="baz", force=True)

    root, item = "/apis/flops/v1/namespaces/mops/flips", "/apis/flops/v1/namespaces/mops/flips/mips"
    json_type, apply_type = "application/json", "application/apply-patch+yaml"
    assert [(*request.line.split()[:2], request.headers.get("content-type")) for request in seen] == [
        ("POST", f"{item}/fin?fieldValidation=Warn", json_type),
        ("PUT", f"{item}/fin?fieldValidation=Warn", json_type),
        ("PUT", f"{item}/status?fieldValidation=Warn", json_type),
        ("DELETE", f"{item}/fin", json_type),
        ("DELETE", f"{root}?resourceVersion=42", json_type),
        ("GET", f"{item}/fin?resourceVersion=42", None),
        ("GET", f"{root}?resourceVersion=42&limit=500", None),
        ("PATCH", f"{item}/fin?fieldManager=baz", "application/strategic-merge-patch+json"),
        ("PATCH", f"{item}/fin?fieldManager=baz&force=true", apply_type),
        ("PATCH", f"{item}/status?fieldManager=baz&force=true", apply_type),
    ]
    assert [json.loads(seen[position].body) for position in (0, 1, 2, 8, 9)] == [FLIP] * 5
    assert [json.loads(seen[position].body)["dryRun"] for position in (3, 4)] == [["All"]] * 2
    assert json.loads(seen[7].body) == {"foo": "bar"}


async def test_a_name_or_namespace_that_could_lead_elsewhere_is_never_sent(client: Any) -> None:
    misnamed = config_map("bad/name")
    maps, elsewhere = client.dynamic(MAPS, namespace="default"), client.dynamic(MAPS, namespace="bad/space")

    for call in (
        maps.update(misnamed),
        maps.update_status(misnamed),
        maps.get("bad/name"),
        maps.delete("bad/name"),
        maps.patch("bad/name", Patch.merge({})),
        maps.apply(misnamed, field_manager="me"),
        elsewhere.create(config_map("good")),
        elsewhere.update(config_map("good")),
        elsewhere.delete("good"),
        elsewhere.delete_collection(),
        elsewhere.get("good"),
        elsewhere.list(),
    ):
        with pytest.raises(NameFormatError, match="Nothing was sent"):
            await call


@pytest.mark.embedded_only
async def test_a_full_name_needs_no_discovery(cluster: Cluster, client: Any, namespace: str) -> None:
    server = cluster.embedded
    assert server is not None
    before = len(server.requests)

    await client.dynamic(MAPS, namespace=namespace).list()

    assert [request.path for request in list(server.requests)[before:]] == [
        f"/api/v1/namespaces/{namespace}/configmaps"
    ]


@pytest.mark.embedded_only
async def test_discovery_can_be_asked_for_one_group_after_the_other(
    cluster: Cluster, facade: str, namespace: str
) -> None:
    server = cluster.embedded
    assert server is not None
    before = len(server.requests)
    async with connected(cluster.config, facade, aggregated_discovery=False) as client:
        await client.dynamic("deploy", namespace=namespace).list()

    assert "/apis/apps/v1" in [request.path for request in list(server.requests)[before:]]


@pytest.mark.embedded_only
async def test_discovery_is_requested_once(cluster: Cluster, client: Any, namespace: str) -> None:
    server = cluster.embedded
    assert server is not None
    await client.dynamic("cm", namespace=namespace).list()
    before = len(server.requests)

    await client.dynamic("deploy", namespace=namespace).list()
    await client.dynamic("v1", "Pod", namespace=namespace).list()

    assert len(server.requests) == before + 2
