"""Pruning by apply set: what is no longer among the manifests is deleted, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.objects import config_map, named, service
from tests.conformance.objects import namespace as a_namespace

from masthead._client.apply_sets import ApplySetParent
from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
from masthead._meta.patch import Patch
from masthead.errors import ArgumentError, ManifestError, NotFoundError
from masthead.manifests import ApplySet

TOOLING = "applyset.kubernetes.io/tooling"
KINDS = "applyset.kubernetes.io/contains-group-kinds"
NAMESPACES = "applyset.kubernetes.io/additional-namespaces"
ID = "applyset.kubernetes.io/id"
PART_OF = "applyset.kubernetes.io/part-of"


async def apply(client: Any, namespace: str, *manifests: Any, **options: Any) -> Any:
    """Apply manifests as all members of a set."""
    given = {"apply_set": "configmaps/set", "prune": True, "field_manager": "us", **options}
    return await client.apply_manifests(list(manifests), namespace=namespace, **given)


def keys(objects: Any) -> list[str]:
    return [f"{each.kind} {each.metadata.name}" for each in objects]


async def parent_annotations(client: Any, namespace: str) -> dict[str, str]:
    """The annotations of the parent."""
    found = await client.core_v1.config_maps(namespace).get("set")
    return dict(found.metadata.annotations)


async def names(client: Any, namespace: str) -> set[str]:
    listed = await client.core_v1.config_maps(namespace).list(label_selector=PART_OF)
    return {each.metadata.name for each in listed}


async def test_objects_that_leave_the_set_are_pruned(client: Any, namespace: str) -> None:
    await client.core_v1.config_maps(namespace).create(config_map("stranger"))
    first = await apply(client, namespace, config_map("a"), config_map("b"), service("web"))
    assert keys(first.created) == ["ConfigMap a", "ConfigMap b", "Service web"]
    assert (await parent_annotations(client, namespace))[KINDS] == "ConfigMap,Service"

    second = await apply(client, namespace, config_map("a"), config_map("c"))

    assert keys(second.unchanged) == ["ConfigMap a"]
    assert keys(second.created) == ["ConfigMap c"]
    assert keys(second.pruned) == ["Service web", "ConfigMap b"]
    assert second.text.endswith("service/web pruned\nconfigmap/b pruned\n")
    assert await names(client, namespace) == {"a", "c"}
    with pytest.raises(NotFoundError):
        await client.core_v1.services(namespace).get("web")
    await client.core_v1.config_maps(namespace).get("stranger")
    found = await parent_annotations(client, namespace)
    assert (found[KINDS], found[NAMESPACES]) == ("ConfigMap", "")
    assert found[TOOLING].startswith("masthead/v")


async def test_a_parent_that_was_a_member_is_not_pruned(client: Any, namespace: str) -> None:
    await apply(client, namespace, config_map("set"), config_map("a"))

    second = await apply(client, namespace, config_map("b"))

    assert keys(second.pruned) == ["ConfigMap a"]
    assert (await parent_annotations(client, namespace))[KINDS] == "ConfigMap"


async def test_members_of_other_namespaces_are_pruned_if_the_set_lists_them(client: Any, namespace: str) -> None:
    other, unlisted = f"other-{namespace[-20:]}", f"more-{namespace[-20:]}"
    for name in (other, unlisted):
        await client.core_v1.namespaces().create(a_namespace(name))
    parent = ApplySet("configmaps/set", namespace=namespace)
    await client.apply_manifests(
        [config_map("a", namespace=namespace), config_map("b", namespace=other)],
        apply_set=parent,
        field_manager="us",
    )
    member = (await client.core_v1.config_maps(other).get("b")).metadata.labels
    await client.core_v1.config_maps(unlisted).create(config_map("c", labels=dict(member)))
    assert (await parent_annotations(client, namespace))[NAMESPACES] == other

    result = await client.apply_manifests(
        config_map("a", namespace=namespace), apply_set=parent, prune=True, field_manager="us"
    )

    assert [each.key for each in result.pruned] == [f"{other}/b"]
    await client.core_v1.config_maps(unlisted).get("c")
    assert (await parent_annotations(client, namespace))[NAMESPACES] == ""
    for name in (other, unlisted):
        await client.core_v1.namespaces().delete(name)


async def test_a_dry_run_prunes_nothing_and_says_what_it_would(client: Any, namespace: str) -> None:
    await apply(client, namespace, config_map("a"), config_map("b"))
    before = await parent_annotations(client, namespace)

    result = await apply(client, namespace, service("web"), dry_run=True)

    assert keys(result.pruned) == ["ConfigMap b", "ConfigMap a"]
    assert "configmap/a pruned (server dry run)\n" in result.text
    assert await names(client, namespace) == {"a", "b"}
    assert await parent_annotations(client, namespace) == before


async def test_a_diff_shows_what_would_be_pruned(client: Any, namespace: str) -> None:
    await apply(client, namespace, config_map("a"), config_map("b"))

    diff = await client.diff_manifests(
        config_map("a"), namespace=namespace, apply_set="configmaps/set", field_manager="us"
    )

    assert [each.outcome for each in diff] == ["unchanged", "pruned"]
    assert "-  name: b\n" in diff.text
    assert await names(client, namespace) == {"a", "b"}


async def test_a_set_that_is_not_pruned_keeps_its_members(client: Any, namespace: str) -> None:
    await apply(client, namespace, config_map("a"), service("web"))

    await apply(client, namespace, config_map("a"), prune=False)

    assert (await parent_annotations(client, namespace))[KINDS] == "ConfigMap,Service"
    assert keys((await apply(client, namespace, config_map("a"))).pruned) == ["Service web"]


async def test_a_run_that_fails_leaves_the_parent_with_everything(client: Any, namespace: str) -> None:
    await apply(client, namespace, config_map("a"))

    with pytest.raises(ManifestError, match="apply Service"):
        await apply(client, namespace, service("web", spec={"ports": [{"port": 0}]}))

    assert (await parent_annotations(client, namespace))[KINDS] == "ConfigMap,Service"
    assert await names(client, namespace) == {"a"}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"annotations": {TOOLING: "helm/v3"}}, "managed by the tooling 'helm', not 'masthead'"),
        ({"annotations": {TOOLING: None}}, f"without the annotation {TOOLING}"),
        ({"labels": {ID: None}}, f"without the label {ID}"),
        ({"labels": {ID: "applyset-other-v1"}}, "of another object"),
        ({"annotations": {KINDS: None}}, f"has no annotation {KINDS}"),
    ],
)
async def test_a_parent_that_is_not_of_this_set_is_refused(
    client: Any, namespace: str, change: Any, problem: str
) -> None:
    await apply(client, namespace, config_map("a"))
    await client.core_v1.config_maps(namespace).patch("set", Patch.merge({"metadata": change}))

    with pytest.raises(ArgumentError, match=problem):
        await apply(client, namespace, config_map("b"))

    assert await names(client, namespace) == {"a"}


async def test_a_member_of_another_set_cannot_be_given(client: Any, namespace: str) -> None:
    with pytest.raises(ManifestError, match=f"leave out the label {PART_OF}"):
        await apply(client, namespace, config_map("a", labels={PART_OF: "applyset-x-v1"}))

    assert await names(client, namespace) == set()


def crate_definition(group: str, labels: dict[str, str] | None = None) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"crates.{group}", "labels": labels or {}},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"kind": "Crate", "plural": "crates", "singular": "crate"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


async def test_a_custom_resource_is_a_parent_if_its_definition_says_so(client: Any, namespace: str) -> None:
    group = f"{namespace}.example.com"
    parent = f"crates.{group}/set"
    await client.apply_manifests(crate_definition(group), field_manager="us")
    with pytest.raises(ArgumentError, match="cannot be the parent"):
        await apply(client, namespace, config_map("a"), apply_set=parent)
    allowed = crate_definition(group, {"applyset.kubernetes.io/is-parent-type": "true"})
    await client.apply_manifests(allowed, field_manager="us")
    with pytest.raises(ArgumentError, match="does not exist; create it"):
        await apply(client, namespace, config_map("a"), apply_set=parent)

    # An existing object must say that it is the parent of a set.
    kind, resource = GroupVersionKind(group, "v1", "Crate"), GroupVersionResource(group, "v1", "crates")
    id_ = ApplySetParent(ApplySet(parent), kind, resource, "").id
    await client.dynamic(resource).create(
        named(
            f"{group}/v1",
            "Crate",
            metadata={
                "name": "set",
                "labels": {ID: id_},
                "annotations": {TOOLING: "masthead/v0", KINDS: "", NAMESPACES: ""},
            },
        )
    )
    await apply(client, namespace, config_map("a"), apply_set=parent)
    result = await apply(client, namespace, config_map("b"), apply_set=parent)

    assert keys(result.pruned) == ["ConfigMap a"]
    await client.delete_manifests(allowed)


async def test_a_kind_whose_definition_is_gone_has_no_members(client: Any, namespace: str) -> None:
    group = f"{namespace}.example.com"
    crate = {"apiVersion": f"{group}/v1", "kind": "Crate", "metadata": {"name": "c"}}
    await apply(client, namespace, config_map("a"), crate_definition(group), crate)

    result = await apply(client, namespace, config_map("b"))

    assert keys(result.pruned) == ["Crate c", "ConfigMap a", f"CustomResourceDefinition crates.{group}"]
    await client.core_v1.config_maps(namespace).patch(
        "set", Patch.merge({"metadata": {"annotations": {KINDS: f"ConfigMap,Gone.{group}"}}})
    )
    assert keys((await apply(client, namespace, config_map("c"))).pruned) == ["ConfigMap b"]


async def test_the_namespace_of_a_set_is_never_a_default(client: Any) -> None:
    with pytest.raises(ArgumentError, match="needs a namespace"):
        await client.apply_manifests(config_map("a"), apply_set="configmaps/set", prune=True, field_manager="us")


async def test_prune_needs_a_set(client: Any, namespace: str) -> None:
    with pytest.raises(ArgumentError, match="prune needs an apply set"):
        await client.apply_manifests(config_map("a"), namespace=namespace, prune=True, field_manager="us")
