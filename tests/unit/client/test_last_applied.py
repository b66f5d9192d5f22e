"""The annotation of client-side apply."""

from __future__ import annotations

import pytest

from masthead._client.last_applied import LAST_APPLIED, apply_patch, configuration_of
from masthead._meta.patch import PatchType
from masthead._meta.unstructured import Unstructured
from masthead.api.core.v1 import ConfigMap, Pod
from masthead.errors import ArgumentError


def test_a_configuration_is_written_exactly_as_kubectl_writes_it() -> None:
    given = ConfigMap.new("a", data={"b": "<&>", "a": "é"}, annotations={LAST_APPLIED: "older"})

    text = configuration_of(given, "default")["metadata"]["annotations"][LAST_APPLIED]

    assert text == (
        '{"apiVersion":"v1","data":{"a":"é","b":"\\u003c\\u0026\\u003e"},"kind":"ConfigMap",'
        '"metadata":{"annotations":{},"name":"a","namespace":"default"}}\n'
    )


def test_the_object_itself_is_not_changed() -> None:
    given = ConfigMap.new("a", data={"b": "1"})
    before = given.to_dict()

    configuration_of(given, "default")

    assert given.to_dict() == before


def test_kinds_of_kubernetes_are_patched_strategically_and_others_merged() -> None:
    pod = Pod.new("a", namespace="n", spec={"containers": [{"name": "c", "image": "i"}]})
    widget = Unstructured.from_dict(
        {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1}}
    )

    for each, kind in ((pod, PatchType.STRATEGIC), (widget, PatchType.MERGE)):
        patch = apply_patch(configuration_of(each, "n"), each, each.gvk)
        assert patch is not None
        assert patch.type is kind


def test_an_annotation_that_is_no_json_is_reported() -> None:
    current = ConfigMap.new("a", annotations={LAST_APPLIED: "{"})

    with pytest.raises(ArgumentError, match="is no JSON"):
        apply_patch(configuration_of(ConfigMap.new("a"), None), current, ConfigMap.GVK)
