"""Reset fields: what a write of an object, or through a subresource, never owns."""

from __future__ import annotations

import pytest

from masthead._meta.gvk import GroupVersionResource
from masthead._schema.field_sets import FieldSet
from masthead_server.field_managers.reset_fields import reset_filters
from masthead_server.resources.catalog import Catalog

_WRITTEN = {
    "f:metadata": {"f:labels": {"f:app": {}}, "f:ownerReferences": {'k:{"uid":"1"}': {}}},
    "f:spec": {
        "f:containers": {'k:{"name":"web"}': {".": {}, "f:image": {}}},
        "f:ephemeralContainers": {'k:{"name":"debug"}': {".": {}, "f:name": {}}},
    },
    "f:status": {"f:certificate": {}, "f:conditions": {'k:{"type":"Ready"}': {}}},
}


def _kept(group: str, version: str, resource: str, subresource: str = "") -> dict[str, object]:
    served = Catalog.builtin().require(GroupVersionResource(group, version, resource))
    filters = reset_filters(served, subresource)
    fields = FieldSet.from_fields_v1(_WRITTEN)
    if served.api_version in filters:
        fields = filters[served.api_version](fields)
    return dict(fields.to_fields_v1())


def _without(*names: str) -> dict[str, object]:
    return {name: fields for name, fields in _WRITTEN.items() if name not in names}


@pytest.mark.parametrize(
    ("group", "resource"), [("", "pods"), ("apps", "deployments"), ("batch", "jobs"), ("", "nodes")]
)
def test_a_write_of_an_object_owns_nothing_of_its_status(group: str, resource: str) -> None:
    assert _kept(group, "v1", resource) == _without("f:status")


def test_a_write_of_an_object_without_status_owns_all() -> None:
    assert _kept("", "v1", "configmaps") == _WRITTEN


def test_a_write_of_the_status_owns_nothing_of_the_spec() -> None:
    assert _kept("apps", "v1", "daemonsets", "status") == _without("f:spec")


def test_a_write_of_the_status_owns_metadata_only_as_far_as_it_can_change_it() -> None:
    assert _kept("storage.k8s.io", "v1", "volumeattachments", "status") == _without("f:spec", "f:metadata")
    assert _kept("apps", "v1", "deployments", "status")["f:metadata"] == {"f:ownerReferences": {'k:{"uid":"1"}': {}}}
    assert _kept("", "v1", "pods", "status")["f:metadata"] == {"f:labels": {"f:app": {}}}


def test_status_and_approval_of_a_signing_request_share_its_status() -> None:
    def kept(subresource: str) -> dict[str, object]:
        return _kept("certificates.k8s.io", "v1", "certificatesigningrequests", subresource)

    assert kept("") == _without("f:spec", "f:status")
    assert kept("status")["f:status"] == {"f:certificate": {}}
    assert kept("approval")["f:status"] == {"f:conditions": {'k:{"type":"Ready"}': {}}}


def test_what_a_kind_does_not_declare_as_reset_is_owned() -> None:
    assert _kept("certificates.k8s.io", "v1beta1", "podcertificaterequests") == _WRITTEN


@pytest.mark.parametrize("subresource", ["ephemeralcontainers", "resize"])
def test_writes_through_other_subresources_of_pods_own_even_what_they_cannot_change(subresource: str) -> None:
    assert _kept("", "v1", "pods", subresource) == _WRITTEN


def test_every_version_of_a_kind_has_its_filter() -> None:
    catalog = Catalog.builtin()
    served = catalog.require(GroupVersionResource("autoscaling", "v2", "horizontalpodautoscalers"))
    assert set(reset_filters(served, "")) == {"autoscaling/v1", "autoscaling/v2"}
