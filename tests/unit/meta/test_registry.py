"""Kind, class and resource, found by name."""

from __future__ import annotations

import pytest

import masthead
from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
from masthead._meta.metadata import ObjectMeta
from masthead._meta.model import Struct, field
from masthead._meta.object import Object, ObjectList
from masthead._meta.registry import BUILT_IN, REMOVED, Registry, registry
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
    own = Registry(BUILT_IN)
    for gvk in own.kinds():
        found = own.class_of(gvk)
        assert gvk == found.GVK
        if issubclass(found, Object) and found.RESOURCE:
            assert own.kind_of(own.resource_of(gvk)) == gvk


def test_a_class_written_by_hand_can_be_registered() -> None:
    own = Registry(BUILT_IN)
    own.register(Widget)

    assert own.object_class(Widget.GVK) is Widget
    assert own.kind_of(GroupVersionResource("example.com", "v1", "widgets")) == Widget.GVK
    assert Widget.GVK in set(own.kinds())
    assert Widget.new("w", spec={"size": 3}).spec.size == 3  # type: ignore[call-arg]
    assert isinstance(Widget().metadata, ObjectMeta)
    assert masthead.meta.register is registry.register or masthead.meta.register == registry.register


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
def test_unknown_kinds_and_resources_are_reported(ask: object, message: str) -> None:
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


def test_a_list_kind_may_have_any_name() -> None:
    own = Registry()
    own.register(Widget)

    assert own.list_class(Widget.GVK) is Widgets


def test_a_kind_without_a_list_is_reported() -> None:
    with pytest.raises(UnknownKindError, match="has no list"):
        registry.list_class(GroupVersionKind("policy", "v1", "Eviction"))


def test_an_invalid_index_is_reported_once_and_affects_nothing_else() -> None:
    own = Registry("no.such.index", BUILT_IN)

    with pytest.raises(UnknownKindError, match=r"no\.such\.index is not an index of generated types"):
        own.class_of(DEPLOYMENT)
    assert own.class_of(DEPLOYMENT) is Deployment


def test_kinds_of_the_removed_index_are_found_by_full_name_and_not_listed() -> None:
    own = Registry(BUILT_IN, removed=REMOVED)
    old = GroupVersionKind("extensions", "v1beta1", "Ingress")

    assert old == own.object_class(old).GVK
    assert old == own.list_class(old).ITEM.GVK
    assert own.kind_of(GroupVersionResource("extensions", "v1beta1", "ingresses")) == old
    assert old not in set(own.kinds())
    with pytest.raises(UnknownKindError, match=r"Ingress exists in networking\.k8s\.io/v1$"):
        own.class_of(GroupVersionKind("extensions", "v1beta2", "Ingress"))
    with pytest.raises(UnknownKindError, match="there is no class for extensions/v1beta1"):
        Registry(BUILT_IN).class_of(old)


def test_a_registered_class_replaces_one_of_the_removed_index() -> None:
    class Ingress(Object):
        GVK = GroupVersionKind("extensions", "v1beta1", "Ingress")

    own = Registry(BUILT_IN, removed=REMOVED)
    own.register(Ingress)

    assert own.object_class(Ingress.GVK) is Ingress
