"""Objects that were applied client-side, and are applied with server-side apply from now on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.objects import config_map, deployment

from masthead._client.last_applied import LAST_APPLIED
from masthead._meta.patch import Patch
from masthead.errors import ApplyConflictError, InvalidValueError, ManifestError, NotFoundError

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
    return sorted((each.manager, each.operation) for each in obj.metadata.managed_fields)


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
    assert [(each.manager, each.operation) for each in raised.value.conflicts] == [(CSA, "Update")]

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
    with pytest.raises(InvalidValueError, match="field_manager"):
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
async def test_manifests_that_were_applied_client_side_are_migrated(
    client: Any, namespace: str, maps: Any
) -> None:
    tried = await client.apply_manifests(MANIFESTS, namespace=namespace, field_manager="us", dry_run=True)
    assert [managers(each) for each in tried] == [[(CSA, "Update"), ("us", "Apply")], [("us", "Apply")]]

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
async def test_a_changed_manifest_conflicts_with_what_others_have_set(
    client: Any, namespace: str, maps: Any
) -> None:
    await maps.patch("a", Patch.merge({"data": {"one": "theirs"}}), field_manager="them")

    with pytest.raises(ManifestError) as raised:
        await client.apply_manifests(CHANGED, namespace=namespace, field_manager="us")

    conflict = raised.value.__cause__
    assert isinstance(conflict, ApplyConflictError)
    assert [owned.manager for owned in conflict.conflicts] == ["them"]
    assert (CSA, "Update") in managers(await maps.get("a"))


@pytest.mark.embedded_only
@pytest.mark.usefixtures("applied")
async def test_an_object_that_changes_meanwhile_is_read_again(
    cluster: Cluster, namespace: str, maps: Any
) -> None:
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
    refused = cluster.embedded.faults.fail(
        403, verb="get", resource="configmaps", namespace=namespace, times=None
    )

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
