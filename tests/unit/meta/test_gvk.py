"""Names of kinds and resources."""

from __future__ import annotations

import pytest

from masthead._meta.gvk import GroupKind, GroupVersion, GroupVersionKind, GroupVersionResource
from masthead.errors import ArgumentError


@pytest.mark.parametrize(
    ("text", "expected", "path"),
    [
        ("v1", GroupVersion("", "v1"), "/api/v1"),
        ("apps/v1", GroupVersion("apps", "v1"), "/apis/apps/v1"),
        ("stable.example.com/v1beta1", GroupVersion("stable.example.com", "v1beta1"), "/apis/stable.example.com/v1beta1"),  # noqa: E501
    ],
)  # fmt: skip
def test_an_api_version_is_read_printed_and_located(text: str, expected: GroupVersion, path: str) -> None:
    assert GroupVersion.parse(text) == expected
    assert str(expected) == text
    assert expected.path == path


@pytest.mark.parametrize("text", ["", "/", "/v1", "apps/", "a/b/c"])
def test_an_invalid_api_version_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match='such as "v1" or "apps/v1"'):
        GroupVersion.parse(text)


def test_kinds_and_resources_know_their_parts() -> None:
    kind = GroupVersionKind.of("apps/v1", "Deployment")
    resource = GroupVersion("apps", "v1").resource("deployments")

    assert kind == GroupVersionKind("apps", "v1", "Deployment") == kind.group_version.kind("Deployment")
    assert kind.api_version == "apps/v1"
    assert (kind.group_kind, str(kind.group_kind)) == (GroupKind("apps", "Deployment"), "Deployment.apps")
    assert resource.group_resource == "deployments.apps"
    assert GroupVersionResource("", "v1", "pods").group_resource == "pods"
    assert str(GroupVersionKind("", "v1", "Pod")) == "v1, kind Pod"
    assert str(GroupVersionResource("", "v1", "pods")) == "v1, resource pods"
    assert str(GroupKind("", "Pod")) == "Pod"


def test_names_are_values_that_sort_and_serve_as_keys() -> None:
    assert {GroupVersionKind("", "v1", "Pod"): 1}[GroupVersionKind("", "v1", "Pod")] == 1
    assert min([GroupVersion("b", "v1"), GroupVersion("a", "v2")]).group == "a"
    with pytest.raises(AttributeError):
        GroupVersion("a", "v1").group = "b"  # type: ignore[misc]
