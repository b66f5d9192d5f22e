"""Server-side apply, and the other ways to change parts of an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.objects import config_map, deployment, metadata, named, pod, service
from tests.integration.conftest import connected

from masthead._meta.patch import Patch
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap
from masthead.errors import (
    ArgumentError,
    BadRequestError,
    ConflictError,
    NotFoundError,
    UnprocessableError,
)
from masthead.managed_fields import extract

if TYPE_CHECKING:
    from tests.integration.conftest import Cluster

    from masthead._sansio.warnings import ServerWarning


@pytest.fixture
def maps(client: Any, namespace: str) -> Any:
    return client.core_v1.config_maps(namespace)


@pytest.fixture
def deployments(client: Any, namespace: str) -> Any:
    return client.apps_v1.deployments(namespace)


async def test_an_applied_object_is_created_and_owned(maps: Any) -> None:
    applied = await maps.apply(config_map("shared", data={"a": "1"}), field_manager="us")

    assert isinstance(applied, ConfigMap)
    assert applied.data == {"a": "1"}
    [entry] = applied.metadata.managed_fields
    assert (entry.manager, entry.operation) == ("us", "Apply")


async def test_managers_own_their_fields_side_by_side(maps: Any) -> None:
    await maps.apply(config_map("shared", data={"a": "1", "b": "1"}), field_manager="us")
    both = await maps.apply(ConfigMap.new("shared", data={"c": "1"}), field_manager="them")
    assert both.data == {"a": "1", "b": "1", "c": "1"}

    without = await maps.apply(ConfigMap.new("shared", data={"a": "1"}), field_manager="us")

    assert without.data == {"a": "1", "c": "1"}


async def test_a_field_owned_by_others_is_a_conflict_unless_forced(maps: Any) -> None:
    await maps.apply(config_map("shared", data={"a": "1", "b": "1"}), field_manager="us")

    with pytest.raises(ConflictError, match='conflicts with "us"') as raised:
        await maps.apply(config_map("shared", data={"a": "2", "b": "2"}), field_manager="them")
    assert raised.value.details is not None
    assert [caus.field for caus in raised.value.details.causes] == [".data.a", ".data.b"]
    assert (raised.value.verb, raised.value.name) == ("apply", "shared")

    taken = await maps.apply(config_map("shared", data={"a": "2"}), field_manager="them", force=True)
    assert taken.data == {"a": "2", "b": "1"}
    with pytest.raises(ConflictError, match='conflict with "them"'):
        await maps.apply(config_map("shared", data={"a": "1"}), field_manager="us")


async def test_updated_fields_are_owned_too(maps: Any) -> None:
    made = await maps.create(config_map("shared", data={"a": "1"}), field_manager="maker")
    made.data["a"] = "2"
    await maps.update(made, field_manager="updater")

    with pytest.raises(ConflictError, match='conflict with "updater"'):
        await maps.apply(config_map("shared", data={"a": "3"}), field_manager="us")


async def test_an_apply_can_be_a_dry_run(maps: Any) -> None:
    tried = await maps.apply(config_map("dry", data={"a": "1"}), field_manager="us", dry_run=True)

    assert tried.data == {"a": "1"}
    with pytest.raises(NotFoundError):
        await maps.get("dry")


async def test_a_client_can_have_its_own_field_manager(cluster: Cluster, facade: str, namespace: str) -> None:
    async with connected(cluster.config, facade, field_manager="ours") as client:
        applied = await client.core_v1.config_maps(namespace).apply(config_map("a", data={"a": "1"}))
        created = await client.core_v1.config_maps(namespace).create(config_map("b", data={"b": "1"}))

    assert [managed_field.manager for managed_field in applied.metadata.managed_fields] == ["ours"]
    assert [managed_field.manager for managed_field in created.metadata.managed_fields] == ["ours"]


async def test_an_object_without_a_type_is_applied(client: Any, namespace: str) -> None:
    dynamic = client.dynamic("apps/v1", "deployments", namespace=namespace)
    await dynamic.apply(deployment("web", replicas=2), field_manager="us")

    partial = await dynamic.apply(named("apps/v1", "Deployment", "web", spec={"paused": True}), field_manager="them")
    status = await dynamic.apply(
        named("apps/v1", "Deployment", "web", status={"replicas": 1}),
        subresource="status",
        field_manager="us",
    )

    assert (partial.get("spec", "paused"), partial.get("spec", "replicas")) == (True, 2)
    assert status.get("status", "replicas") == 1


CONTAINERS = [
    {
        "name": "main",
        "image": "image",
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP", "name": "udp"}],
        "resources": {"requests": {"cpu": "100m"}, "limits": {}},
        "args": [],
        "volumeMounts": [{"name": "scratch", "mountPath": "/tmp"}],
    },
    {"name": "side", "image": "image", "command": ["run"], "securityContext": {}},
]
APPLIED = {
    "config map": config_map("it", data={"a": "1", "empty": ""}, labels={"l": "1"}, finalizers=["example.com/w"]),
    "nothing but a name": config_map("it"),
    "empty maps": config_map("it", data={}, annotations={"a": ""}),
    "deployment": {
        **deployment("it", replicas=0),
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "a"}},
            "strategy": {"type": "Recreate"},
            "template": {
                "metadata": {"labels": {"app": "a"}},
                "spec": {
                    "containers": CONTAINERS,
                    "volumes": [{"name": "scratch", "emptyDir": {}}],
                    "tolerations": [{"key": "k", "operator": "Exists"}],
                    "nodeSelector": {"zone": "a"},
                    "imagePullSecrets": [{"name": "pull"}],
                },
            },
        },
    },
    "service": service(
        "it",
        spec={
            "selector": {"app": "a"},
            "ports": [
                {"name": "web", "port": 80, "targetPort": "web"},
                {"name": "dns", "port": 53, "protocol": "UDP"},
            ],
        },
    ),
    "secret": named("v1", "Secret", "it", data={"password": "aHVzaA=="}, type="Opaque"),
    "roles": named(
        "rbac.authorization.k8s.io/v1",
        "Role",
        "it",
        rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    ),
}


@pytest.mark.parametrize("typed", [True, False], ids=["typed", "dynamic"])
@pytest.mark.parametrize("wanted", APPLIED.values(), ids=APPLIED)
async def test_applying_an_extracted_object_changes_nothing(
    client: Any, namespace: str, wanted: dict[str, Any], *, typed: bool
) -> None:
    dynamic = client.dynamic(wanted["apiVersion"], wanted["kind"], namespace=namespace)
    await dynamic.create(wanted, field_manager="maker")
    await dynamic.apply(wanted, field_manager="us", force=True)
    resource = client.resource(type_of(wanted), namespace) if typed else dynamic
    before = await resource.get("it")

    mine = extract(before, "us")
    after = await resource.apply(mine, field_manager="us")

    assert after.metadata.resource_version == before.metadata.resource_version
    assert owned_by(after, "us") == owned_by(before, "us")
    if before.metadata.finalizers:
        await resource.patch("it", Patch.merge({"metadata": {"finalizers": None}}))


async def test_owners_are_extracted_whole(maps: Any) -> None:
    owner = await maps.create(config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.metadata.uid}
    before = await maps.apply(config_map("it", ownerReferences=[reference]), field_manager="us")

    mine = extract(before, "us")
    after = await maps.apply(mine, field_manager="us")

    assert mine.to_dict()["metadata"]["ownerReferences"] == [reference]
    assert after.metadata.resource_version == before.metadata.resource_version


def type_of(wanted: dict[str, Any]) -> Any:
    from masthead._meta.gvk import GroupVersionKind
    from masthead._meta.registry import registry

    return registry.object_class(GroupVersionKind.of(wanted["apiVersion"], wanted["kind"]))


def owned_by(obj: Any, manager: str) -> Any:
    return [
        managed_field.to_dict()["fieldsV1"]
        for managed_field in obj.metadata.managed_fields
        if (managed_field.manager, managed_field.operation) == (manager, "Apply")
        and "fieldsV1" in managed_field.to_dict()
    ]


async def test_an_extracted_object_can_be_changed_and_applied(deployments: Any) -> None:
    await deployments.apply(deployment("web", replicas=1), field_manager="us")
    await deployments.patch("web", Patch.merge({"spec": {"paused": True}}), field_manager="them")

    mine = extract(await deployments.get("web"), "us")
    assert isinstance(mine, Deployment)
    assert mine.spec.paused is None
    mine.spec.replicas = 3
    applied = await deployments.apply(mine, field_manager="us")

    assert (applied.spec.replicas, applied.spec.paused) == (3, True)


async def test_status_is_extracted_separately(deployments: Any) -> None:
    await deployments.apply(deployment("web"), field_manager="us")
    await deployments.apply_status(named("apps/v1", "Deployment", "web", status={"replicas": 2}), field_manager="us")
    found = await deployments.get("web")

    mine = extract(found, "us", subresource="status")
    again = await deployments.apply_status(mine, field_manager="us")

    assert mine.status.replicas == 2
    assert "spec" not in mine.to_dict()
    assert again.metadata.resource_version == found.metadata.resource_version
    assert extract(found, "nobody").to_dict().keys() == {"apiVersion", "kind", "metadata"}


async def test_a_strategic_patch_merges_lists_by_their_keys(client: Any, namespace: str) -> None:
    deployments = client.apps_v1.deployments(namespace)
    await deployments.create(deployment("web"))

    added = await deployments.patch(
        "web",
        Patch.strategic({"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "other"}]}}}}),
    )
    removed = await deployments.patch(
        "web",
        Patch.strategic({"spec": {"template": {"spec": {"containers": [{"name": "side", "$patch": "delete"}]}}}}),
    )

    assert sorted(container.name for container in added.spec.template.spec.containers) == ["main", "side"]
    assert [container.name for container in removed.spec.template.spec.containers] == ["main"]


async def test_an_invalid_apply_is_never_sent(maps: Any) -> None:
    with pytest.raises(ArgumentError, match="field_manager"):
        await maps.apply(config_map("a"))
    with pytest.raises(ArgumentError, match=r"metadata\.name"):
        await maps.apply({"data": {}}, field_manager="us")
    managed = metadata("a", managedFields=[{"manager": "us", "operation": "Apply"}])
    with pytest.raises(ArgumentError, match=r"masthead\.managed_fields\.extract\(obj, 'us'\)"):
        await maps.apply({"metadata": managed}, field_manager="us")


STRANGE = {**pod("strange"), "spec": {"containers": [{"name": "a", "image": "i", "imge": "typo"}]}}


async def test_an_unknown_field_is_rejected_under_strict_validation(client: Any, namespace: str) -> None:
    pods = client.core_v1.pods(namespace)

    with pytest.raises(BadRequestError, match=r'unknown field "spec\.containers\[0\]\.imge"'):
        await pods.create(STRANGE, field_validation="Strict")
    with pytest.raises(NotFoundError):
        await pods.get("strange")
    made = await pods.create(STRANGE, field_validation="Ignore")
    with pytest.raises(UnprocessableError, match="unknown field"):
        await pods.patch("strange", Patch.merge({"spec": {"typo": 1}}), field_validation="Strict")
    with pytest.raises(BadRequestError, match="unknown field"):
        await pods.update({**made.to_dict(), "typo": 1}, field_validation="Strict")
    with pytest.raises(ArgumentError, match="Ignore, Warn, Strict"):
        await pods.create(STRANGE, field_validation="strict")


async def test_a_client_may_default_to_strict_validation_and_receives_warnings(
    cluster: Cluster, facade: str, namespace: str
) -> None:
    warnings: list[ServerWarning] = []
    async with connected(cluster.config, facade, field_validation="Strict", on_warning=warnings.append) as client:
        pods = client.core_v1.pods(namespace)
        with pytest.raises(BadRequestError, match="unknown field"):
            await pods.create(STRANGE)
        await pods.create(STRANGE, field_validation="Warn")

    assert [warning.text for warning in warnings] == ['unknown field "spec.containers[0].imge"']


async def test_a_dry_run_of_every_write_stores_nothing(maps: Any) -> None:
    made = await maps.create(config_map("it", data={"a": "1"}))
    changed = made.copy()
    changed.data["a"] = "2"

    assert (await maps.update(changed, dry_run=True)).data == {"a": "2"}
    assert (await maps.patch("it", Patch.merge({"data": {"a": "3"}}), dry_run=True)).data == {"a": "3"}
    await maps.delete("it", dry_run=True)
    await maps.delete_collection(dry_run=True)

    assert await maps.get("it") == made
