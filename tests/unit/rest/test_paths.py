"""Request paths and their escaping."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._meta.gvk import GroupVersionResource
from masthead._rest.call import Call, Subject
from masthead._rest.paths import encode_target, resource_path, segment
from masthead.errors import ArgumentError, NameFormatError

PODS = GroupVersionResource("", "v1", "pods")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")


def test_paths_follow_the_api_conventions() -> None:
    assert resource_path(PODS) == "/api/v1/pods"
    assert resource_path(PODS, namespace="ns") == "/api/v1/namespaces/ns/pods"
    assert resource_path(DEPLOYMENTS, namespace="ns", name="web") == "/apis/apps/v1/namespaces/ns/deployments/web"
    assert resource_path(PODS, namespace="ns", name="web", subresource="proxy/a") == (
        "/api/v1/namespaces/ns/pods/web/proxy/a"
    )


def test_unusual_valid_names_are_sent_unchanged() -> None:
    roles = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterroles")
    assert resource_path(roles, name="system:node").endswith("/clusterroles/system:node")
    assert resource_path(roles, name="a b?c#d").endswith("/clusterroles/a%20b%3Fc%23d")
    assert resource_path(roles, name="größe").endswith("/gr%C3%B6%C3%9Fe")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../secrets/x", "%2e%2e", "a\nb", "a\x00", "\ud800", "\u202e"])
def test_names_that_could_lead_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(NameFormatError, match=r"cannot be a name in a request: .* Nothing was sent\."):
        resource_path(PODS, namespace="ns", name=name)
    with pytest.raises(NameFormatError, match="cannot be a subresource"):
        resource_path(PODS, namespace="ns", name="web", subresource=f"proxy/{name}/.")
    if name:
        with pytest.raises(NameFormatError, match="cannot be a namespace"):
            resource_path(PODS, namespace=name)


@pytest.mark.parametrize(
    "resource",
    [
        GroupVersionResource("", "v1", "pods/status"),
        GroupVersionResource("", "v1", ""),
        GroupVersionResource("", "", "pods"),
        GroupVersionResource("", "..", "pods"),
        GroupVersionResource("a/b", "v1", "pods"),
    ],
)
def test_groups_versions_and_resources_that_could_lead_elsewhere_are_refused(
    resource: GroupVersionResource,
) -> None:
    with pytest.raises(NameFormatError):
        resource_path(resource)


def test_a_resource_cannot_contain_a_query() -> None:
    assert resource_path(GroupVersionResource("", "v1", "pods?watch=1")) == "/api/v1/pods%3Fwatch=1"


@given(st.text(min_size=1))
def test_a_path_segment_is_rejected_or_round_trips(text: str) -> None:
    try:
        escaped = segment("name", text)
    except NameFormatError:
        return
    assert unquote(escaped) == text
    assert escaped.isascii()
    assert not set(escaped) & set("/?# ")
    Call("GET", f"/{escaped}", Subject("get"))


_characters = st.characters(exclude_categories=["Cs"])


@given(st.lists(st.tuples(st.text(_characters, min_size=1), st.text(_characters)), min_size=1))
def test_a_query_round_trips(query: list[tuple[str, str]]) -> None:
    path, _, sent = encode_target("/x", query).partition("?")
    assert path == "/x"
    assert sent.isascii()
    assert parse_qsl(sent, keep_blank_values=True, separator="&") == query


def test_a_query_of_another_type_than_text_is_rejected() -> None:
    with pytest.raises(ArgumentError, match="the query of /x cannot be encoded"):
        encode_target("/x", [("labelSelector", "\ud800")])


@pytest.mark.parametrize(
    "path",
    [
        "",
        "version",
        "@evil.example/",
        ".evil.example/x",
        "/a b",
        "/a\r\nHost: x",
        "/ä",
        "/a?b",
        "/a#b",
        "https://x/",
    ],
)
def test_an_invalid_path_is_rejected(path: str) -> None:
    with pytest.raises(ArgumentError, match=r"is not a request path: .* Nothing was sent\."):
        Call("GET", path, Subject("get"))


@pytest.mark.parametrize("what", ["name", "namespace"])
def test_a_value_of_another_type_than_text_is_rejected_with_its_position(what: str) -> None:
    with pytest.raises(
        ArgumentError,
        match=rf"a {what} must be a string, and this is of type int; .*take obj\.metadata\.{what}\.",
    ):
        segment(what, 3)  # type: ignore[arg-type]
