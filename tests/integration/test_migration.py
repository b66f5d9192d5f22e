"""Objects that were applied client-side, and are applied with server-side apply from now on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.objects import config_map, deployment

from masthead._client.last_applied import LAST_APPLIED
from masthead._meta.patch import Patch
from masthead.errors import ApplyConflictError, ArgumentError, ManifestError, NotFoundError

if TYPE_CHECKING:
    from tests.integration.conftest import Cluster

CSA = "kubectl-client-side-apply"


@pytest.fixture
def maps(client: Any, namespace: str) -> Any:
    return client.core_v1.config_maps(namespace)


@pytest.fixture
async def applied(maps: Any) -> Any:
    """A config map that was applied client-side, with two entries."""
    return await maps.apply_client_side(config_map("a", data={"one": "1", "two": "2"}), field_manager=CSA)


def managers(obj: Any) -> list[tuple[str, str]]:
    return sorted((managed_field.manager, managed_field.operation) for managed_field in obj.metadata.managed_fields)


@pytest.mark.parametrize("typed", [True, False], ids=["typed", "dynamic"])
@pytest.mark.usefixtures("applied")
async def test_what_client_side_apply_has_set_is_handed_over(
    client: Any, namespace: str, maps: Any, *, typed: bool
) -> None:
    resource = maps if typed else client.dynamic("v1", "configmaps", namespace=namespace)

    upgraded = await resource.upgrade_managed_fields("a", field_manager="us")
    assert managers(upgraded) == [("us", "Apply")]
    after = await resource.apply(config_map("a", data={"one": "changed"}), field_manager="us")

    assert after.to_dict()["data"] == {"one": "changed"}
    assert LAST_APPLIED not in after.metadata.annotations
    assert managers(after) == [("us", "Apply")]


@pytest.mark.usefixtures("applied")
async def test_without_an_upgrade_client_side_fields_conflict_and_stay(maps: Any) -> None:
    with pytest.raises(ApplyConflictError, match="upgrade_managed_fields") as raised:
        await maps.apply(config_map("a", data={"one": "changed"}), field_manager="us")
    assert [(conflict.manager, conflict.operation) for conflict in raised.value.conflicts] == [(CSA, "Update")]

    kept = await maps.apply(config_map("a", data={"one": "1"}), field_manager="us")

    assert kept.data == {"one": "1", "two": "2"}


async def test_what_others_have_set_stays_theirs(maps: Any, applied: Any) -> None:
    await maps.patch("a", Patch.merge({"data": {"others": "o"}}), field_manager="them")

    await maps.upgrade_managed_fields("a", field_manager="us")
    after = await maps.apply(config_map("a", data={"one": "1"}), field_manager="us")

    assert after.data == {"one": "1", "others": "o"}
    assert managers(after) == [("them", "Update"), ("us", "Apply")]
    assert after.metadata.uid == applied.metadata.uid


@pytest.mark.usefixtures("applied")
async def test_the_managers_can_be_named(maps: Any) -> None:
    await maps.patch("a", Patch.merge({"data": {"more": "m"}}), field_manager="our-script")

    upgraded = await maps.upgrade_managed_fields("a", [CSA, "our-script"], field_manager="us")

    assert managers(upgraded) == [("us", "Apply")]


async def test_nothing_is_written_if_there_is_nothing_to_hand_over(maps: Any) -> None:
    made = await maps.apply(config_map("a", data={"one": "1"}), field_manager="us")
    await maps.create(config_map("b", data={"one": "1"}), field_manager=CSA)

    assert await maps.upgrade_managed_fields("a", field_manager="us") == made
    assert managers(await maps.upgrade_managed_fields("b", field_manager="us")) == [(CSA, "Update")]
    with pytest.raises(NotFoundError):
        await maps.upgrade_managed_fields("missing", field_manager="us")
    with pytest.raises(ArgumentError, match="field_manager"):
        await maps.upgrade_managed_fields("a")


@pytest.mark.usefixtures("applied")
async def test_a_dry_run_hands_nothing_over(maps: Any) -> None:
    tried = await maps.upgrade_managed_fields("a", field_manager="us", dry_run=True)

    assert managers(tried) == [("us", "Apply")]
    assert managers(await maps.get("a")) == [(CSA, "Update")]


@pytest.mark.usefixtures("applied")
async def test_the_annotation_is_kept_for_kubectl(maps: Any) -> None:
    upgraded = await maps.upgrade_managed_fields("a", field_manager="kubectl")
    assert managers(upgraded) == [("kubectl", "Apply"), ("kubectl-last-applied", "Apply")]

    after = await maps.apply(config_map("a", data={"one": "changed"}), field_manager="kubectl")

    assert after.data == {"one": "changed"}
    assert json.loads(after.metadata.annotations[LAST_APPLIED])["data"] == {"one": "changed"}


MANIFESTS = """
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {one: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: new}, data: {one: "1"}}
"""


@pytest.mark.usefixtures("applied")
async def test_manifests_that_were_applied_client_side_are_migrated(client: Any, namespace: str, maps: Any) -> None:
    tried = await client.apply_manifests(MANIFESTS, namespace=namespace, field_manager="us", dry_run=True)
    assert [managers(each) for each in tried] == [[("us", "Apply")]] * 2
    assert managers(await maps.get("a")) == [(CSA, "Update")]

    done = await client.apply_manifests(MANIFESTS, namespace=namespace, field_manager="us")

    assert [managers(each) for each in done] == [[("us", "Apply")]] * 2
    assert (await maps.get("a")).data == {"one": "1"}
    assert LAST_APPLIED not in done[0].metadata.annotations


CHANGED = MANIFESTS.replace('one: "1"', 'one: "changed"')


@pytest.mark.usefixtures("applied")
async def test_a_changed_manifest_has_no_conflict_with_client_side_apply(
    client: Any, namespace: str, maps: Any
) -> None:
    options = {"namespace": namespace, "field_manager": "us"}
    tried = await client.apply_manifests(CHANGED, dry_run=True, **options)
    assert tried[0].get("data", "one") == "changed"
    assert (await maps.get("a")).data == {"one": "1", "two": "2"}
    compared = await client.diff_manifests(CHANGED, **options)
    assert [diff.conflict for diff in compared] == [None, None]

    done = await client.apply_manifests(CHANGED, **options)

    assert managers(done[0]) == [("us", "Apply")]
    assert (await maps.get("a")).data == {"one": "changed"}
    assert LAST_APPLIED not in done[0].metadata.annotations


@pytest.mark.usefixtures("applied")
async def test_a_changed_manifest_conflicts_with_what_others_have_set(client: Any, namespace: str, maps: Any) -> None:
    await maps.patch("a", Patch.merge({"data": {"one": "theirs"}}), field_manager="them")

    with pytest.raises(ManifestError) as raised:
        await client.apply_manifests(CHANGED, namespace=namespace, field_manager="us")

    conflict = raised.value.__cause__
    assert isinstance(conflict, ApplyConflictError)
    assert [owned.manager for owned in conflict.conflicts] == ["them"]
    assert (CSA, "Update") in managers(await maps.get("a"))


def web(**spec: Any) -> dict[str, Any]:
    container = {"name": "web", "image": "nginx", "ports": [{"containerPort": 80}]}
    sidecar = {"name": "log", "image": "fluentd"}
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container, sidecar]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": labels, "annotations": {"a": "b"}},
        "spec": {"selector": {"matchLabels": labels}, "template": template} | spec,
    }


def without_sidecar() -> dict[str, Any]:
    """A deployment that drops replicas and strategy, which have defaults, a container, an annotation, and changes an
    image."""
    changed = web()
    del changed["metadata"]["annotations"]
    changed["spec"]["template"]["spec"]["containers"] = [{"name": "web", "image": "nginx:2"}]
    return changed


def service(**ports: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"ports": [{"name": name, "port": port} for name, port in ports.items()]},
    }


DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "routes.migration.example.com"},
    "spec": {
        "group": "migration.example.com",
        "scope": "Namespaced",
        "names": {"plural": "routes", "kind": "Route", "singular": "route", "listKind": "RouteList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "weight": {"type": "integer", "default": 1},
                                    "tags": {"type": "object", "additionalProperties": {"type": "string"}},
                                    "hosts": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "set",
                                        "items": {"type": "string"},
                                    },
                                    "rules": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["path"],
                                        "items": {
                                            "type": "object",
                                            "required": ["path"],
                                            "properties": {
                                                "path": {"type": "string"},
                                                "to": {"type": "string"},
                                            },
                                        },
                                    },
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}


def route(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "migration.example.com/v1",
        "kind": "Route",
        "metadata": {"name": "web"},
        "spec": spec,
    }


ALL_OF_ROUTE = {
    "weight": 5,
    "tags": {"a": "1", "b": "2"},
    "hosts": ["x", "y"],
    "rules": [{"path": "/", "to": "a"}, {"path": "/b", "to": "b"}],
}


@pytest.mark.parametrize(
    ("first", "then", "removed"),
    [
        pytest.param(config_map("web", data={"one": "1", "two": "2"}), config_map("web", data={"one": "1"}), ["two"]),
        pytest.param(config_map("web", data={"one": "1", "two": "2"}), config_map("web"), ["one", "data:"]),
        pytest.param(config_map("web", data={"one": "1", "two": "2"}), config_map("web", data={"one": "2"}), ["two"]),
        pytest.param(
            web(replicas=3, strategy={"type": "Recreate"}),
            without_sidecar(),
            ["fluentd", "replicas: 3", "a: b", "Recreate"],
        ),
        pytest.param(service(http=80, https=443), service(http=80), ["https", "443"]),
        pytest.param(
            route(**ALL_OF_ROUTE),
            route(tags={"a": "1"}, hosts=["y"], rules=[{"path": "/b"}]),
            ["weight: 5", "b: ", "- x", "path: /", "to: b"],
        ),
        pytest.param(route(**ALL_OF_ROUTE), route(weight=6), ["tags:", "hosts:", "rules:"]),
    ],
    ids=["entry", "all-entries", "entry-and-conflict", "deployment", "service", "custom", "custom-conflict"],
)
async def test_diff_and_dry_run_show_what_an_apply_removes(
    client: Any, namespace: str, first: dict[str, Any], then: dict[str, Any], removed: list[str]
) -> None:
    if first["kind"] == "Route":
        await client.apply_manifests([DEFINITION], field_manager="definitions")
    options = {"namespace": namespace, "field_manager": "us"}
    await client.apply_manifests([first], client_side=True, namespace=namespace, field_manager=CSA)
    resource = client.dynamic(then["apiVersion"], then["kind"], namespace=namespace)
    await resource.patch("web", Patch.merge({"metadata": {"labels": {"theirs": "1"}}}), field_manager="them")
    before = await resource.get("web")

    compared = await client.diff_manifests([then], **options)
    tried = await client.apply_manifests([then], dry_run=True, **options)
    assert content(await resource.get("web")) == content(before)
    done = await client.apply_manifests([then], **options)

    assert tried.outcomes == done.outcomes == ["configured"]
    assert content(tried[0]) == content(done[0]) == content(compared[0].after)
    assert managers(tried[0]) == managers(done[0])
    assert (CSA, "Update") not in managers(done[0])
    lines = [line for line in compared.text.splitlines() if line.startswith("-")]
    assert [text for text in removed if not any(text in line for line in lines)] == []
    assert done[0].metadata.labels["theirs"] == "1"
    assert not (await client.diff_manifests([then], **options)).has_changes


def content(obj: Any) -> dict[str, Any]:
    """An object without what every write changes, and what controllers write."""
    plain: dict[str, Any] = obj.to_dict()
    for name in ("managedFields", "resourceVersion", "generation"):
        plain["metadata"].pop(name, None)
    plain.pop("status", None)
    return plain


@pytest.mark.usefixtures("applied")
async def test_a_dry_run_for_kubectl_keeps_its_annotation(client: Any, namespace: str) -> None:
    options = {"namespace": namespace, "field_manager": "kubectl"}
    manifest = config_map("a", data={"one": "1"})

    tried = await client.apply_manifests([manifest], dry_run=True, **options)
    done = await client.apply_manifests([manifest], **options)

    assert content(tried[0]) == content(done[0])
    assert managers(tried[0]) == managers(done[0]) == [("kubectl", "Apply"), ("kubectl-last-applied", "Apply")]


@pytest.mark.embedded_only
@pytest.mark.usefixtures("applied")
async def test_a_dry_run_says_if_it_cannot_show_what_an_apply_removes(
    cluster: Cluster, client: Any, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert cluster.embedded is not None
    cluster.embedded.faults.fail(403, verb="get", resource="configmaps", namespace=namespace, times=None)

    tried = await client.apply_manifests(MANIFESTS, namespace=namespace, field_manager="us", dry_run=True)

    assert tried[0].get("data", "two") == "2"
    assert f"ConfigMap {namespace}/a was applied client-side; fields that an apply would remove" in caplog.text


@pytest.mark.embedded_only
@pytest.mark.usefixtures("applied")
async def test_an_object_that_changes_meanwhile_is_read_again(cluster: Cluster, namespace: str, maps: Any) -> None:
    assert cluster.embedded is not None
    hit = cluster.embedded.faults.conflict(resource="configmaps", namespace=namespace)

    upgraded = await maps.upgrade_managed_fields("a", field_manager="us")

    assert (hit.hits, managers(upgraded)) == (1, [("us", "Apply")])


@pytest.mark.embedded_only
@pytest.mark.usefixtures("applied")
async def test_manifests_are_applied_even_if_the_migration_fails(
    cluster: Cluster, client: Any, namespace: str, maps: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert cluster.embedded is not None
    refused = cluster.embedded.faults.fail(403, verb="get", resource="configmaps", namespace=namespace, times=None)

    done = await client.apply_manifests(MANIFESTS, namespace=namespace, field_manager="us")

    assert [managers(each) for each in done] == [[(CSA, "Update"), ("us", "Apply")], [("us", "Apply")]]
    assert f"ConfigMap {namespace}/a is still applied client-side, too" in caplog.text
    refused.remove()
    await client.apply_manifests(MANIFESTS, namespace=namespace, field_manager="us")
    assert managers(await maps.get("a")) == [("us", "Apply")]


async def test_a_deployment_is_migrated_with_its_defaults(client: Any, namespace: str) -> None:
    deployments = client.apps_v1.deployments(namespace)
    await deployments.apply_client_side(deployment("web", replicas=2), field_manager=CSA)

    upgraded = await deployments.upgrade_managed_fields("web", field_manager="us")
    after = await deployments.apply(deployment("web", replicas=3), field_manager="us")

    assert (after.spec.replicas, managers(after)) == (3, [("us", "Apply")])
    assert after.metadata.generation == upgraded.metadata.generation + 1
