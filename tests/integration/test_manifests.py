"""Manifests of many kinds, applied and deleted in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.objects import config_map, deployment, named, service
from tests.conformance.objects import namespace as a_namespace
from tests.integration.conftest import connected

from masthead._meta.gvk import GroupVersionResource
from masthead.api.core.v1 import ConfigMap
from masthead.errors import ConflictError, ManifestError, NotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.conftest import Cluster

WEB = """\
# What needs others stands before them here, on purpose.
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: web
      containers: [{name: web, image: nginx}]
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
- {apiVersion: v1, kind: ServiceAccount, metadata: {name: web}}
---
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: red}
"""


def crates(group: str) -> str:
    """A thing of a kind that is defined behind it."""
    return f"""\
apiVersion: {group}/v1
kind: Crate
metadata: {{name: small}}
spec: {{size: 1}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: crates.{group}}}
spec:
  group: {group}
  scope: Namespaced
  names: {{kind: Crate, plural: crates, singular: crate}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {{type: object, properties: {{size: {{type: integer}}}}}}
"""


def kinds(objects: Any) -> list[str]:
    return [each.kind for each in objects]


async def test_dependencies_are_applied_first(client: Any, namespace: str) -> None:
    done = await client.apply_manifests(WEB, namespace=namespace, field_manager="us")

    assert kinds(done) == ["ServiceAccount", "ConfigMap", "Service", "Deployment"]
    assert all(each.metadata.uid and each.metadata.namespace == namespace for each in done)
    again = await client.apply_manifests(WEB, namespace=namespace, field_manager="us")
    assert [each.metadata.resource_version for each in again] == [each.metadata.resource_version for each in done]


async def test_a_custom_resource_definition_and_its_objects_can_be_applied_in_one_call(
    client: Any, namespace: str
) -> None:
    group = f"{namespace}.example.com"

    done = await client.apply_manifests([WEB, crates(group)], namespace=namespace, field_manager="us")

    assert kinds(done) == [
        "CustomResourceDefinition",
        "ServiceAccount",
        "ConfigMap",
        "Service",
        "Crate",
        "Deployment",
    ]
    found = client.dynamic(GroupVersionResource(group, "v1", "crates"), namespace=namespace)
    assert (await found.get("small"))["spec"] == {"size": 1}

    await client.delete_manifests([WEB, crates(group)], namespace=namespace)
    await client.delete_manifests([WEB, crates(group)], namespace=namespace)
    with pytest.raises(NotFoundError):
        await client.core_v1.config_maps(namespace).get("settings")


async def test_manifests_are_applied_by_the_client(client: Any, namespace: str) -> None:
    group = f"{namespace}.example.com"
    everything = [WEB, crates(group)]

    done = await client.apply_manifests(everything, namespace=namespace, client_side=True)
    again = await client.apply_manifests(everything, namespace=namespace, client_side=True)

    assert kinds(done)[0] == "CustomResourceDefinition"
    assert len(done) == 6
    assert [each.metadata.resource_version for each in again[1:]] == [
        each.metadata.resource_version for each in done[1:]
    ]
    await client.delete_manifests(everything, namespace=namespace)


async def test_files_folders_objects_and_data_are_manifests_too(client: Any, namespace: str, tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}", "utf-8")
    (tmp_path / "a.json").write_text('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}', "utf-8")
    (tmp_path / "notes.txt").write_text("no: manifest", "utf-8")

    done = await client.apply_manifests(
        [
            tmp_path,
            ConfigMap.new("c"),
            config_map("d"),
            (tmp_path / "b.yaml").read_bytes().replace(b"b", b"e"),
        ],
        namespace=namespace,
        field_manager="us",
    )

    assert [each.metadata.name for each in done] == ["a", "b", "c", "d", "e"]


async def test_a_new_namespace_is_applied_before_its_objects(client: Any, namespace: str) -> None:
    name = f"new-{namespace[-20:]}"

    done = await client.apply_manifests([config_map("a", namespace=name), a_namespace(name)], field_manager="us")

    assert [each.key for each in done] == [name, f"{name}/a"]
    await client.delete_manifests([config_map("a", namespace=name), a_namespace(name)])


async def test_a_dry_run_stores_nothing(client: Any, namespace: str) -> None:
    done = await client.apply_manifests(WEB, namespace=namespace, field_manager="us", dry_run=True)

    assert len(done) == 4
    with pytest.raises(NotFoundError):
        await client.core_v1.config_maps(namespace).get("settings")


async def test_the_first_failure_stops_it_and_lists_the_objects_done(client: Any, namespace: str) -> None:
    await client.core_v1.config_maps(namespace).apply(
        config_map("settings", data={"color": "blue"}), field_manager="them"
    )

    with pytest.raises(ManifestError, match=r"apply ConfigMap .*/settings \(manifest, document \d\)") as raised:
        await client.apply_manifests(WEB, namespace=namespace, field_manager="us")

    assert kinds(raised.value.done) == ["ServiceAccount"]
    assert "Done before: ServiceAccount" in str(raised.value)
    assert isinstance(raised.value.__cause__, ConflictError)
    done = await client.apply_manifests(WEB, namespace=namespace, field_manager="us", force=True)
    assert done[1]["data"] == {"color": "red"}


async def test_each_object_is_reported_as_soon_as_it_is_applied(client: Any, namespace: str) -> None:
    await client.core_v1.config_maps(namespace).apply(
        config_map("settings", data={"color": "blue"}), field_manager="them"
    )
    told: list[tuple[str, str]] = []

    with pytest.raises(ManifestError):
        await client.apply_manifests(
            WEB,
            namespace=namespace,
            field_manager="us",
            on_applied=lambda obj, outcome: told.append((obj.kind, outcome)),
        )

    assert told == [("ServiceAccount", "created")]


async def test_objects_without_a_namespace_get_the_clients_default(
    cluster: Cluster, facade: str, namespace: str
) -> None:
    async with connected(cluster.config, facade, namespace=namespace, field_manager="us") as client:
        [done] = await client.apply_manifests(config_map("a"))

    assert done.metadata.namespace == namespace


async def test_deleted_objects_are_gone_and_missing_ones_are_skipped(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps(namespace)
    await maps.create(config_map("settings"))
    await client.apps_v1.deployments(namespace).create(deployment("web"))
    await client.core_v1.services(namespace).create(service("web"))

    await client.delete_manifests(WEB, namespace=namespace, dry_run=True)
    await maps.get("settings")
    await client.delete_manifests(WEB, namespace=namespace)
    await client.delete_manifests([WEB, named("example.com/v1", "Unicorn", "u")], namespace=namespace)

    for resource in (maps, client.apps_v1.deployments(namespace), client.core_v1.services(namespace)):
        found = {each.metadata.name for each in await resource.list()}
        assert not found & {"settings", "web"}


BROKEN = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: good}
---
kind: ConfigMap
---
apiVersion: v1
kind: ConfigMap
metadata: {}
---
apiVersion: v1
kind: Pod
metadata: {name: typo}
spec: {containers: nginx}
---
apiVersion: example.com/v1
kind: Unicorn
metadata: {name: u}
---
just text
"""


async def test_all_problems_of_manifests_are_reported_at_once_and_nothing_is_sent(client: Any, namespace: str) -> None:
    with pytest.raises(ManifestError) as raised:
        await client.apply_manifests(BROKEN, namespace=namespace, field_manager="us")

    problems = "\n".join(sorted(raised.value.problems))
    assert "document 2: apiVersion and kind are required" in problems
    assert "document 3: ConfigMap: metadata.name is missing" in problems
    assert "document 4: Pod typo: spec.containers" in problems
    assert "document 5): the server has no kind Unicorn" in problems
    assert "document 6: is not an object" in problems
    assert len(raised.value.problems) == 5
    assert raised.value.done == ()
    with pytest.raises(NotFoundError):
        await client.core_v1.config_maps(namespace).get("good")


async def test_an_unreadable_manifest_is_reported_with_its_file(client: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("a: [1, 2", "utf-8")

    for source, problem in (
        (tmp_path / "absent.yaml", r"absent\.yaml: cannot be read"),
        (tmp_path / "bad.yaml", r"bad\.yaml"),
        ("web.yaml", r'to read a file, give pathlib\.Path\("\.\.\."\)'),
        (42, "is of type int; use"),
    ):
        for act in (client.apply_manifests, client.delete_manifests):
            with pytest.raises(ManifestError, match=problem):
                await act(source)


async def test_duplicate_objects_and_conflicting_namespaces_are_errors(client: Any, namespace: str) -> None:
    with pytest.raises(ManifestError, match="is also in manifest 1"):
        await client.apply_manifests([config_map("a"), config_map("a")], namespace=namespace)
    with pytest.raises(ManifestError, match="is in namespace 'other', not in"):
        await client.delete_manifests(config_map("a", namespace="other"), namespace=namespace)


async def test_what_was_applied_can_be_deleted(client: Any, namespace: str) -> None:
    done = await client.apply_manifests(WEB, namespace=namespace, field_manager="us")

    gone = await client.delete_manifests(done)

    assert kinds(gone) == ["Deployment", "Service", "ConfigMap", "ServiceAccount"]
