"""Versions of one kind: what is stored, and that the same object reads in each version as the real server has it.

``conversion_vectors.json`` holds objects that were written to a kube-apiserver 1.36.4 in one version and read in every
other; ``storage_version_hashes.json`` the hashes of its discovery documents.
"""

from __future__ import annotations

import copy
import importlib
import json
import typing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.server.builtin import CATALOG, custom, from_storage, of_kind, served, to_storage

from masthead._meta.apitype import ApiType
from masthead._meta.gvk import GroupVersionResource
from masthead._meta.shape import annotations_of
from masthead.api.index import KINDS
from masthead_server.resources.storage_version_hash import storage_version_hash

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("conversion_vectors.json").read_text("utf-8"))
HASHES: dict[str, str] = json.loads(Path(__file__).with_name("storage_version_hashes.json").read_text("utf-8"))
RESOURCES = {
    (api_version, kind): resource
    for api_version, (_, kinds) in KINDS.items()
    for kind, resource in kinds.items()
    if resource
}
ANNOTATION = "autoscaling.alpha.kubernetes.io/"


def titled(case: dict[str, Any]) -> str:
    return str(case["title"])


def split(api_version: str) -> tuple[str, str]:
    group, _, version = api_version.rpartition("/")
    return group, version


def stored(case: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The version that the object of a case is stored in, and how it reads there."""
    group, version = split(case["written"]["apiVersion"])
    api_version = str(of_kind(group, version, case["kind"]).stored_as)
    return api_version, case["read"][api_version]


def writable(obj: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
    """The part that a writer controls: no names, of the metadata annotations only, and a status if one was written."""
    omitted = {"apiVersion", "metadata", *({"status"} - written.keys())}
    kept = {name: value for name, value in obj.items() if name not in omitted}
    return {**kept, "annotations": obj["metadata"].get("annotations")}


@pytest.mark.parametrize("case", CASES, ids=titled)
def test_a_stored_object_reads_in_each_version_as_on_the_real_server(case: dict[str, Any]) -> None:
    _, home = stored(case)

    for api_version, expected in case["read"].items():
        group, version = split(api_version)
        found = from_storage(home, case["kind"], group, version)

        assert {**found, "apiVersion": api_version} == expected


@pytest.mark.parametrize("case", CASES, ids=titled)
def test_a_written_object_is_stored_as_on_the_real_server(case: dict[str, Any]) -> None:
    _, home = stored(case)
    written = case["written"]

    found = to_storage(written, case["kind"], *split(written["apiVersion"]))

    assert writable(found, written) == writable(home, written)


@pytest.mark.parametrize("case", CASES, ids=titled)
def test_conversion_does_not_modify_its_input(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case)

    for api_version, obj in case["read"].items():
        group, version = split(api_version)
        to_storage(obj, case["kind"], group, version)
        from_storage(stored(case)[1], case["kind"], group, version)

    assert case == before


def convert(found: dict[str, Any], kind: str, group: str, source: str, target: str) -> dict[str, Any]:
    return from_storage(to_storage(found, kind, group, source), kind, group, target)


@pytest.mark.parametrize("case", [each for each in CASES if each["kind"] != "Event"], ids=titled)
def test_converting_between_versions_is_storing_in_one_and_reading_in_the_other(case: dict[str, Any]) -> None:
    api_version, home = stored(case)
    group, source = split(api_version)

    for target, expected in case["read"].items():
        found = convert(home, case["kind"], group, source, split(target)[1])

        assert {**found, "apiVersion": target} == expected


def test_versions_of_one_shape_return_the_same_object() -> None:
    lease = {"spec": {"leaseName": "a"}}

    assert convert(lease, "LeaseCandidate", "coordination.k8s.io", "v1alpha2", "v1beta1") is lease


def test_a_kind_that_kubernetes_does_not_know_has_one_shape() -> None:
    shirt = {"spec": {"color": "blue"}}

    assert convert(shirt, "Shirt", "example.com", "v1", "v2") is shirt


def shape(annotation: object, above: tuple[object, ...] = ()) -> object:
    """The fields below a type, by name."""
    if isinstance(annotation, ApiType):
        if annotation in above:
            return annotation.__name__
        return {
            name: shape(each, (*above, annotation))
            for name, each in annotations_of(annotation).items()
            if name not in {"api_version", "kind", "metadata"}
        }
    inner = typing.get_args(annotation)
    return (str(typing.get_origin(annotation)), *(shape(each, above) for each in inner)) if inner else annotation


def versions_of(group: str, resource: str) -> tuple[str, ...]:
    """The versions that serve a resource, the foremost first."""
    every = (
        version for version in CATALOG.versions(group) if CATALOG.find(GroupVersionResource(group, version, resource))
    )
    return tuple(every)


def several_versions() -> list[tuple[str, str]]:
    pairs = {(split(api_version)[0], resource) for (api_version, _), resource in RESOURCES.items()}
    return sorted(pair for pair in pairs if len(versions_of(*pair)) > 1)


@pytest.mark.parametrize(("group", "resource"), several_versions())
def test_every_kind_whose_versions_differ_in_shape_is_converted(group: str, resource: str) -> None:
    home = served(group, resource)
    shapes = {}
    for version in versions_of(group, resource):
        module = importlib.import_module(KINDS[f"{group}/{version}"][0])
        shapes[version] = shape(getattr(module, home.kind))
    differing = {version for version, found in shapes.items() if found != shapes[home.stored_as.version]}

    converted = {version for version in shapes if served(group, resource, version).has_own_shape}
    converted -= {home.stored_as.version}

    assert converted == differing


@pytest.mark.parametrize(("resource", "expected"), HASHES.items())
def test_the_storage_version_hash_is_that_of_the_real_server(resource: str, expected: str) -> None:
    api_version, _, name = resource.rpartition("/")

    group, version = split(api_version)
    assert served(group, name, version).storage_version_hash == expected


def test_every_resource_of_the_real_server_is_known() -> None:
    ours = {f"{api_version}/{resource}" for (api_version, _), resource in RESOURCES.items()}

    assert ours == HASHES.keys()


def test_events_of_both_groups_are_stored_as_core_events() -> None:
    both = {served(group, "events").stored_as_kind for group in ("", "events.k8s.io")}

    assert both == {("", "v1", "Event")}


def test_a_resource_without_storage_is_not_stored() -> None:
    assert not served("authorization.k8s.io", "subjectaccessreviews").is_stored
    assert not served("", "componentstatuses").is_stored


def test_a_custom_resource_is_stored_in_its_own_version_by_default() -> None:
    shirts = custom("example.com", "v1", "shirts")

    assert shirts.stored_as_kind == ("example.com", "v1", "Shirts")
    assert shirts.storage_version_hash == storage_version_hash("example.com", "v1", "Shirts")
    assert versions_of("example.com", "shirts") == ()


def test_the_preferred_version_comes_first() -> None:
    assert versions_of("autoscaling", "horizontalpodautoscalers") == ("v2", "v1")
    assert versions_of("resource.k8s.io", "resourceclaims") == ("v1", "v1beta2", "v1beta1")
    assert versions_of("resource.k8s.io", "devicetaintrules") == ("v1beta2", "v1alpha3")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "resource", "pods", "object", "name", "target", "ScaleUp", "Policies", "spec"]),
            inner,
        )
    ),
    max_leaves=8,
)


@given(st.sampled_from(["metrics", "behavior", "conditions", "current-metrics"]), json_values | st.text())
def test_no_v1_annotation_breaks_the_conversion(name: str, value: object) -> None:
    text = value if isinstance(value, str) else json.dumps(value)
    scaler = {"metadata": {"annotations": {ANNOTATION + name: text}}, "spec": {"maxReplicas": 1}}

    found = to_storage(scaler, "HorizontalPodAutoscaler", "autoscaling", "v1")

    assert found["spec"]["metrics"]
    assert "annotations" not in found["metadata"]
    from_storage(found, "HorizontalPodAutoscaler", "autoscaling", "v1")


def test_an_annotation_nested_too_deeply_is_ignored() -> None:
    scaler = {"metadata": {"annotations": {f"{ANNOTATION}behavior": "[" * 200_000}}, "spec": {}}

    assert "behavior" not in to_storage(scaler, "HorizontalPodAutoscaler", "autoscaling", "v1")["spec"]


@pytest.mark.parametrize("percent", [2**31, 1.5, "50", True])
def test_an_annotation_with_an_invalid_number_is_ignored(percent: object) -> None:
    metrics = [{"type": "Resource", "resource": {"name": "memory", "targetAverageUtilization": percent}}]
    scaler = {"metadata": {"annotations": {f"{ANNOTATION}metrics": json.dumps(metrics)}}, "spec": {}}

    spec = to_storage(scaler, "HorizontalPodAutoscaler", "autoscaling", "v1")["spec"]

    assert [each["resource"]["name"] for each in spec["metrics"]] == ["cpu"]
