"""Both formats of discovery have the same result."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.discovery.network import (
    APPS,
    CORE,
    DEPLOYMENTS,
    NODES,
    PODS,
    group,
    groups,
    resource,
    resource_list,
    version,
)

from masthead._discovery.aggregated import ACCEPT, is_aggregated, read_aggregated
from masthead._discovery.legacy import read_core, read_groups, read_resources
from masthead._discovery.model import DiscoveryResult, ServedGroup, ServerVersion
from masthead._meta.gvk import GroupVersion, GroupVersionKind, GroupVersionResource
from masthead._meta.resource import Subresource
from masthead.errors import DecodeError, ServiceUnavailableError

V1 = GroupVersion("", "v1")


def read(*items: dict[str, Any]) -> DiscoveryResult:
    return read_aggregated(json.dumps(groups(*items)).encode())


def test_an_aggregated_document_has_groups_resources_and_subresources() -> None:
    found = read(CORE, APPS)

    assert found.groups == (ServedGroup("", ("v1",), "v1"), ServedGroup("apps", ("v1", "v1beta1"), "v1"))
    pods, nodes, *deployments = found
    assert pods.gvr == GroupVersionResource("", "v1", "pods")
    assert pods.gvk == GroupVersionKind("", "v1", "Pod")
    assert (pods.singular, pods.namespaced, pods.short_names, pods.categories) == (
        "pod",
        True,
        ("po",),
        ("all",),
    )
    assert pods.subresources == (
        Subresource("log", GroupVersionKind("", "v1", "Pod"), ("get",)),
        Subresource("eviction", GroupVersionKind("policy", "v1", "Eviction"), ("create",)),
    )
    assert pods.subresource("log") == pods.subresources[0]
    assert pods.subresource("scale") is None
    assert not nodes.namespaced
    assert [deployment.api_version for deployment in deployments] == ["apps/v1", "apps/v1beta1"]
    assert not found.failures


def test_legacy_documents_have_the_same_content() -> None:
    listed = json.dumps(resource_list("v1", PODS, NODES)).encode()

    assert read_resources(V1, listed) == read(CORE).resources
    assert read_core(b'{"kind":"APIVersions","versions":["v1"]}') == read(CORE).groups


def test_the_preferred_version_need_not_be_the_first() -> None:
    [found] = read_groups(
        b'{"kind":"APIGroupList","groups":[{"name":"apps","versions":[{"version":"v2"},{"version":"v1"}],'
        b'"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}}]}'
    )

    assert found == ServedGroup("apps", ("v2", "v1"), "v1")


def test_a_preferred_version_that_is_not_served_does_not_count() -> None:
    [found] = read_groups(
        b'{"kind":"APIGroupList","groups":[{"name":"apps","versions":[{"version":"v2"}],'
        b'"preferredVersion":{"version":"v1"}}]}'
    )

    assert found.preferred == "v2"


def test_a_stale_group_version_is_a_failure_and_keeps_its_resources() -> None:
    found = read(group("m.io", version("v2", resource("x", "X"), freshness="Stale"), version("v1")))

    assert found.groups == (ServedGroup("m.io", ("v2", "v1"), "v1"),)
    assert [each.name for each in found] == ["x"]
    [(served, failure)] = found.failures.items()
    assert served == GroupVersion("m.io", "v2")
    assert isinstance(failure, ServiceUnavailableError)
    assert "m.io/v2" in str(failure)


def test_a_group_that_is_stale_altogether_still_prefers_a_version() -> None:
    found = read(group("m.io", version("v2", freshness="Stale"), version("v1", freshness="Stale")))

    assert found.groups[0].preferred == "v2"
    assert len(found.failures) == 2


def test_a_resource_without_a_kind_is_there_for_its_parts_only() -> None:
    part = {"subresource": "scale", "responseKind": {"kind": "Scale"}, "verbs": ["get"]}
    bare = {"resource": "things", "scope": "Namespaced", "verbs": []}

    found = read(group("a.io", version("v1", bare, {**bare, "resource": "wholes", "subresources": [part]})))

    [wholes] = found
    assert (wholes.name, wholes.kind, wholes.subresources[0].name) == ("wholes", "", "scale")


def test_parts_without_their_resource_are_there_in_the_legacy_form_too() -> None:
    listed = {"name": "wholes/scale", "kind": "Scale", "namespaced": True, "verbs": ["get"]}
    body = json.dumps({"kind": "APIResourceList", "resources": [listed]}).encode()

    [wholes] = read_resources(GroupVersion("a.io", "v1"), body)

    assert (wholes.name, wholes.kind, wholes.namespaced, len(wholes.subresources)) == ("wholes", "", True, 1)


def test_null_is_nothing() -> None:
    assert read_aggregated(b'{"items":null}') == DiscoveryResult()
    assert read_groups(b'{"kind":"APIGroupList","groups":null}') == ()
    assert read_core(b'{"kind":"APIVersions","versions":null}') == ()
    assert read_resources(V1, b'{"kind":"APIResourceList","resources":null}') == ()
    thin: dict[str, Any] = {**DEPLOYMENTS, "verbs": None, "shortNames": None, "singularResource": None}
    [found] = read(group("apps", version("v1", thin)))
    assert (found.verbs, found.short_names, found.singular) == ((), (), "")


def test_an_entry_that_cannot_be_read_hides_none_of_its_neighbours() -> None:
    odd = {**DEPLOYMENTS, "verbs": "all"}
    found = read(
        group("a.io", version("v1", odd, DEPLOYMENTS), {"version": "v2", "resources": 5}, version("v3")),
        group("b.io", version("v1", DEPLOYMENTS)),
    )

    assert [(each.api_version, each.name) for each in found] == [
        ("a.io/v1", "deployments"),
        ("b.io/v1", "deployments"),
    ]
    assert [(each.name, each.versions, each.preferred) for each in found.groups] == [
        ("a.io", ("v1", "v2", "v3"), "v1"),
        ("b.io", ("v1",), "v1"),
    ]
    assert {str(served): str(error) for served, error in found.failures.items()} == {
        "a.io/v1": 'APIGroupDiscoveryList "a.io/v1": Expected `array | null`, got `str` - at `$.verbs`',
        "a.io/v2": 'APIGroupDiscoveryList "a.io/v2": Expected `array | null`, got `int` - at `$.resources`',
    }


@pytest.mark.parametrize(
    "nameless", [5, {"metadata": 5}, {"metadata": {"name": "c.io"}, "versions": [{"resources": []}, 5]}]
)
def test_an_entry_without_group_or_version_is_skipped_and_logged(
    nameless: Any, caplog: pytest.LogCaptureFixture
) -> None:
    found = read(nameless, group("b.io", version("v1", DEPLOYMENTS)))

    assert [each.api_version for each in found] == ["b.io/v1"]
    assert not found.failures
    [record] = caplog.records
    assert "without a valid group or version" in record.message


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b'{"items":5}', b"\xff\xfe", b"[" * 100_000])
def test_an_invalid_document_is_rejected(body: bytes) -> None:
    with pytest.raises(DecodeError):
        read_aggregated(body)
    for legacy in (read_core, read_groups, lambda body: read_resources(V1, body)):
        with pytest.raises(DecodeError):
            legacy(body)


def test_a_document_of_another_kind_is_refused_by_its_name() -> None:
    with pytest.raises(DecodeError, match="APIGroupList: the server returned APIVersions"):
        read_groups(b'{"kind":"APIVersions","versions":["v1"]}')


PARAMETERS = ["g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList", "charset=utf-8"]


@given(st.permutations(PARAMETERS), st.sampled_from([";", "; ", " ; "]))
def test_the_order_of_parameters_does_not_matter(parameters: list[str], between: str) -> None:
    assert is_aggregated(between.join(["application/json", *parameters]))


@given(st.sampled_from(PARAMETERS[:3]))
def test_every_parameter_is_needed(missing: str) -> None:
    assert not is_aggregated(
        ";".join(["application/json", *(parameter for parameter in PARAMETERS if parameter != missing)])
    )


@pytest.mark.parametrize("content_type", ["", "application/json", ACCEPT.replace("v2", "v3"), "text/html;v=v2", ";;="])
def test_anything_else_is_the_legacy_form(content_type: str) -> None:
    assert not is_aggregated(content_type)


def test_the_accept_header_prefers_the_newest_format() -> None:
    asked = ACCEPT.split(",")

    assert [is_aggregated(each) for each in asked] == [True, True, False]
    assert "v=v2;" in asked[0]
    assert "v=v2beta1;" in asked[1]


def test_preferred_resources_come_once_each_and_from_the_next_version_where_needed() -> None:
    jobs, cron = resource("jobs", "Job"), resource("cronjobs", "CronJob")
    found = read(group("batch", version("v1", jobs), version("v1beta1", cron, jobs))).preferred()

    assert [(each.name, each.api_version) for each in found] == [
        ("jobs", "batch/v1"),
        ("cronjobs", "batch/v1beta1"),
    ]


@pytest.mark.parametrize(("minor", "number"), [("36", (1, 36)), ("36+", (1, 36)), ("", (1, 0)), ("x", (1, 0))])
def test_a_version_has_numbers_to_compare(minor: str, number: tuple[int, int]) -> None:
    assert ServerVersion(major="1", minor=minor, git_version="v1").number == number
