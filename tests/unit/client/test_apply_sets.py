"""Apply sets without a server: ids, annotations, and whose they are."""

from __future__ import annotations

from typing import Any

import pytest

from masthead._client.apply_sets import (
    ApplySet,
    ApplySetParent,
    Membership,
    apply_set_of,
    parent_name,
    parent_resource,
    with_member_label,
)
from masthead._meta.gvk import GroupKind, GroupVersionKind, GroupVersionResource
from masthead._meta.unstructured import Unstructured
from masthead.errors import ArgumentError

CONFIG_MAP = (GroupVersionKind("", "v1", "ConfigMap"), GroupVersionResource("", "v1", "configmaps"))


def parent_of(parent: str = "configmaps/my-set", namespace: str = "default", **options: str) -> ApplySetParent:
    return ApplySetParent(ApplySet(parent, **options), *CONFIG_MAP, namespace)


def test_the_id_is_that_of_kubectl() -> None:
    # As kubectl 1.36 labels a parent of this name.
    assert parent_of().id == "applyset-DaObTxGT41gT7jz9wyulA3kuIrhUKfuOcjAfLI6wcmQ-v1"
    assert parent_of(namespace="other").id != parent_of().id


@pytest.mark.parametrize(
    ("given", "resource", "name"),
    [
        ("configmaps/web", "configmaps", "web"),
        ("web", "secrets", "web"),
        ("widgets.example.com/web", "widgets.example.com", "web"),
    ],
)
def test_a_parent_is_named_as_for_kubectl(given: str, resource: str, name: str) -> None:
    assert (parent_resource(ApplySet(given)), parent_name(ApplySet(given))) == (resource, name)


@pytest.mark.parametrize(
    "options",
    [
        {"parent": ""},
        {"parent": "secrets/"},
        {"parent": "a", "tooling": "mine"},
        {"parent": "a", "tooling": "/v1"},
    ],
)
def test_incomplete_sets_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(ArgumentError, match="apply set"):
        ApplySet(**options)


def test_the_fields_of_a_parent_belong_to_its_tool() -> None:
    assert parent_of(tooling="kubectl/v1.36.4").field_manager == "kubectl-applyset"
    assert parent_of(tooling="example.com/tool/v2").field_manager == "example.com/tool-applyset"


def test_a_parent_lists_kinds_and_other_namespaces_in_order() -> None:
    kinds = frozenset({GroupKind("", "Service"), GroupKind("apps", "Deployment"), GroupKind("", "ConfigMap")})
    configuration: Any = parent_of().configuration(Membership(kinds, frozenset({"z", "default", "a"})))

    assert configuration["kind"] == "ConfigMap"
    annotations = configuration["metadata"]["annotations"]
    assert annotations["applyset.kubernetes.io/contains-group-kinds"] == "ConfigMap,Deployment.apps,Service"
    assert annotations["applyset.kubernetes.io/additional-namespaces"] == "a,z"


def test_what_a_parent_lists_is_read_again() -> None:
    parent = parent_of()
    membership = Membership(frozenset({GroupKind("apps", "Deployment")}), frozenset({"default", "a"}))

    assert parent.membership_of(Unstructured.from_dict(parent.configuration(membership))) == membership


def test_the_old_annotation_of_resources_is_read() -> None:
    parent = parent_of()
    configuration: Any = parent.configuration(Membership())
    annotations = configuration["metadata"]["annotations"]
    del annotations["applyset.kubernetes.io/contains-group-kinds"]
    annotations["applyset.kubernetes.io/contains-group-resources"] = "configmaps,deployments.apps"

    found = parent.membership_of(Unstructured.from_dict(configuration))

    assert found.kinds == {GroupKind("", "configmaps"), GroupKind("apps", "deployments")}


def test_a_member_is_labelled_as_a_copy() -> None:
    obj = Unstructured.new("a", api_version="v1", kind="ConfigMap", labels={"app": "web"})

    labelled = with_member_label(obj, "applyset-x-v1")

    assert labelled.metadata.labels == {"app": "web", "applyset.kubernetes.io/part-of": "applyset-x-v1"}
    assert obj.metadata.labels == {"app": "web"}
    with pytest.raises(ArgumentError, match="leave out the label"):
        with_member_label(labelled, "applyset-x-v1")


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        ("additional-namespaces", "a,,b"),
        ("additional-namespaces", "*"),
        ("additional-namespaces", "a/b"),
        ("contains-group-kinds", "ConfigMap,"),
    ],
)
def test_a_parent_that_lists_nonsense_is_refused(annotation: str, text: str) -> None:
    """An empty namespace would mean all of them."""
    parent = parent_of()
    configuration: Any = parent.configuration(Membership(frozenset({GroupKind("", "ConfigMap")})))
    configuration["metadata"]["annotations"][f"applyset.kubernetes.io/{annotation}"] = text

    with pytest.raises(ArgumentError, match=f"invalid annotation applyset.kubernetes.io/{annotation}"):
        parent.membership_of(Unstructured.from_dict(configuration))


def test_an_apply_set_is_one_or_the_name_of_its_parent() -> None:
    wrong: Any = 7

    assert apply_set_of("a") == apply_set_of(ApplySet("a"))
    with pytest.raises(ArgumentError, match="apply_set is of type int"):
        apply_set_of(wrong)
