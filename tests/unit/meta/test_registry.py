"""Kind, class and resource, found by name."""

from __future__ import annotations

import pytest

import masthead
from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
from masthead._meta.metadata import ObjectMeta
from masthead._meta.model import Struct, field
from masthead._meta.object import Object, ObjectList
from masthead._meta.registry import BUILT_IN, Registry, registry
from masthead._meta.resource import Resource
from masthead.api.apps.v1 import Deployment, DeploymentList
from masthead.errors import UnknownKindError

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


class WidgetSpec(Struct):
    size: int = 0


class Widget(Object):
    GVK = GroupVersionKind("example.com", "v1", "Widget")
    RESOURCE = Resource("widgets", singular="widget", namespaced=True, verbs=("get", "list"))

    spec: WidgetSpec = field(default_factory=WidgetSpec)


def test_kind_class_and_resource_lead_to_each_other() -> None:
    deployments = GroupVersionResource("apps", "v1", "deployments")

    assert registry.object_class(DEPLOYMENT) is Deployment
    assert registry.list_class(DEPLOYMENT) is DeploymentList
    assert registry.kind_of(deployments) == DEPLOYMENT
    assert registry.resource_of(DEPLOYMENT) == deployments
    assert registry.class_of(DeploymentList.GVK) is DeploymentList


def test_every_kind_of_the_index_is_there() -> None:
    for gvk in registry.kinds():
        found = registry.class_of(gvk)
        assert gvk == found.GVK
        if issubclass(found, Object) and found.RESOURCE:
            assert registry.kind_of(registry.resource_of(gvk)) == gvk


def test_a_class_written_by_hand_can_be_registered() -> None:
    own = Registry(BUILT_IN)
    own.register(Widget)

    assert own.object_class(Widget.GVK) is Widget
    assert own.kind_of(GroupVersionResource("example.com", "v1", "widgets")) == Widget.GVK
    assert Widget.GVK in set(own.kinds())
    assert Widget.new("w", spec={"size": 3}).spec.size == 3  # type: ignore[call-arg]
    assert isinstance(Widget().metadata, ObjectMeta)
    assert masthead.register is registry.register or masthead.register == registry.register


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: registry.class_of(GroupVersionKind("apps", "v9", "Deployment")), "Deployment exists in apps/v1"),
        (lambda: registry.class_of(GroupVersionKind("", "v1", "Nonsense")), "register its class, or use Unstructured"),
        (lambda: registry.kind_of(GroupVersionResource("", "v1", "nonsense")), "no kind for v1, resource nonsense"),
        (lambda: registry.object_class(DeploymentList.GVK), "is a list"),
        (lambda: registry.resource_of(GroupVersionKind("policy", "v1", "Eviction")), "not served as a resource"),
        (lambda: Registry().register(Object), "has no GVK"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_clearly(ask: object, message: str) -> None:
    assert callable(ask)
    with pytest.raises(UnknownKindError) as caught:
        ask()

    assert message in str(caught.value)


def test_an_index_can_be_added_later() -> None:
    own = Registry()
    with pytest.raises(UnknownKindError):
        own.class_of(DEPLOYMENT)

    own.add_index(BUILT_IN)
    assert own.class_of(DEPLOYMENT) is Deployment


def test_a_resource_finds_its_subresources() -> None:
    assert Deployment.RESOURCE is not None
    scale = Deployment.RESOURCE.subresource("scale")

    assert scale is not None
    assert scale.kind == GroupVersionKind("autoscaling", "v1", "Scale")
    assert Deployment.RESOURCE.subresource("nonsense") is None


class Widgets(ObjectList[Widget]):
    GVK = GroupVersionKind("example.com", "v1", "Widgets")
    ITEM = Widget


def test_a_list_is_found_whatever_it_is_called() -> None:
    own = Registry()
    own.register(Widget)

    assert own.list_class(Widget.GVK) is Widgets


def test_a_kind_without_a_list_says_so() -> None:
    with pytest.raises(UnknownKindError, match="has no list"):
        registry.list_class(GroupVersionKind("policy", "v1", "Eviction"))


def test_an_index_that_is_none_is_named_once_and_spoils_nothing() -> None:
    own = Registry("no.such.index", BUILT_IN)

    with pytest.raises(UnknownKindError, match=r"no\.such\.index is not an index of generated types"):
        own.class_of(DEPLOYMENT)
    assert own.class_of(DEPLOYMENT) is Deployment
