"""The clientset: a class for every group and version, a method for every resource."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest
from tests.unit.codegen.kubernetes import discovered, needs_documents
from tests.unit.codegen.tools import reformatted
from tools import clientset, groups

from masthead._client import clientset as generated
from masthead._client.base import BaseResource, ClientContext, Defaults
from masthead._client.resource import ResourceClient
from masthead._client.reviews import Reviews
from masthead._codegen.spec import Spec
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.registry import registry
from masthead._meta.resource import Resource as Facts
from masthead._meta.resource import Subresource
from masthead._schema.schema import Schema
from masthead.errors import GenerateError

if TYPE_CHECKING:
    from masthead._client.group import Group
    from masthead._meta.object import Object
    from masthead._rest.client import RestClient

ALL = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class Offered(generated.Clientset):
    """A clientset that sends no requests."""

    def __init__(self) -> None:
        super().__init__(ClientContext(cast("RestClient", None), Defaults()))


def resource(plural: str, *parts: str, verbs: tuple[str, ...] = ALL, namespaced: bool = True) -> Facts:
    kind = GroupVersionKind("example.com", "v1", "Any")
    subresources = tuple(Subresource(name, kind, ("get",)) for name in parts)
    return Facts(plural, plural, namespaced, verbs, subresources=subresources)


def spec_of(**resources: Facts) -> Spec:
    """A spec of kinds of example.com, named with their versions: ``Widget_v1``."""
    spec = Spec()
    for name, facts in resources.items():
        kind, _, version = name.partition("_")
        gvk = GroupVersionKind("example.com", version, kind)
        spec.schemas[f"com.example.{version}.{kind}"] = Schema(type="object", kinds=(gvk,))
        spec.resources[gvk] = facts
    return spec


def methods_of(group: type[Group]) -> dict[str, Any]:
    return {name: accessor.fget for name, accessor in vars(group).items() if isinstance(accessor, property)}


@pytest.mark.parametrize(
    ("kind", "plural", "spelled", "method"),
    [
        ("Pod", "pods", "Pods", "pods"),
        ("ConfigMap", "configmaps", "ConfigMaps", "config_maps"),
        (
            "PersistentVolumeClaim",
            "persistentvolumeclaims",
            "PersistentVolumeClaims",
            "persistent_volume_claims",
        ),
        ("NetworkPolicy", "networkpolicies", "NetworkPolicies", "network_policies"),
        ("Endpoints", "endpoints", "Endpoints", "endpoints"),
        ("IPAddress", "ipaddresses", "IPAddresses", "ip_addresses"),
        ("ServiceCIDR", "servicecidrs", "ServiceCIDRs", "service_cidrs"),
        ("CSIStorageCapacity", "csistoragecapacities", "CSIStorageCapacities", "csi_storage_capacities"),
        ("APIService", "apiservices", "APIServices", "api_services"),
        ("ComponentStatus", "componentstatuses", "ComponentStatuses", "component_statuses"),
    ],
)
def test_methods_are_called_as_in_go_but_in_snake_case(kind: str, plural: str, spelled: str, method: str) -> None:
    assert groups.plural_of(kind, plural) == spelled
    assert groups.Method(kind, "", spelled, (), is_namespaced=True, returns="").name == method


def test_the_bases_of_a_class_follow_its_verbs_and_subresources() -> None:
    spec = spec_of(
        Pod_v1=resource("pods", "log", "status", "exec", "eviction"),
        Review_v1=resource("reviews", verbs=("create",)),
        Plain_v1=resource("plains"),
    )

    (group,) = groups.groups_of(spec)

    assert {method.name: (method.returns, method.bases) for method in group.methods} == {
        "plains": ("NamespacedResource", ("NamespacedResource",)),
        "pods": ("Pods", ("NamespacedResource", "StatusVerbs", "EvictionVerbs", "LogVerbs", "CopyVerbs")),
        "reviews": ("NamespacedReviews", ("NamespacedReviews",)),
    }


def test_each_version_of_a_kind_has_the_verbs_of_its_own_subresources() -> None:
    spec = spec_of(Job_v1=resource("jobs", "status"), Job_v2=resource("jobs", "status", "scale"))

    one, two = (clientset.render_group(each) for each in groups.groups_of(spec))

    assert "class Jobs(NamespacedResource[T], StatusVerbs[T], Generic[T]):" in one
    assert "class Jobs(NamespacedResource[T], StatusVerbs[T], ScaleVerbs[T], Generic[T]):" in two


def test_a_removed_resource_is_documented_with_its_replacement() -> None:
    facts = msgspec.structs.replace(resource("jobs"), removed_in="1.16", replacement="example.com/v2")
    other = msgspec.structs.replace(resource("tasks"), removed_in="1.22", replacement="example.com/v3")
    (group,) = groups.groups_of(spec_of(Job_v1=facts, Task_v1=other))

    text = clientset.render_group(group)

    assert "Not served since Kubernetes 1.22: use example.com/v2 or example.com/v3." in text
    assert "Not served since Kubernetes 1.16: use example.com/v2." in text
    assert "Not served since" in clientset.render_clientset([group])


def test_a_resource_without_verbs_has_no_method() -> None:
    spec = spec_of(Pod_v1=resource("pods"), Part_v1=resource("parts", verbs=()))

    (group,) = groups.groups_of(spec)

    assert [method.name for method in group.methods] == ["pods"]


def test_two_classes_of_one_name_are_refused() -> None:
    spec = spec_of(ScaleVerb_v1=resource("scaleverbs", "status", "scale"))
    (group,) = groups.groups_of(spec)

    with pytest.raises(GenerateError, match="several classes called ScaleVerbs"):
        clientset.render_group(group)


def test_generated_code_is_already_formatted() -> None:
    spec = spec_of(
        Pod_v1=resource("pods", "log", "status", "eviction"),
        ValidatingAdmissionPolicyBinding_v1=resource("validatingadmissionpolicybindings", "status", namespaced=False),
    )

    (group,) = groups.groups_of(spec)

    for is_blocking in (False, True):
        for text in (
            clientset.render_group(group, is_blocking=is_blocking),
            clientset.render_clientset([group], is_blocking=is_blocking),
        ):
            assert reformatted(text) == text


@needs_documents
def test_every_resource_has_a_method() -> None:
    offered = Offered()
    found: set[tuple[str, str, str, bool]] = set()
    for accessor in dir(generated.Clientset):
        if accessor.startswith("_"):
            continue
        group: Group = getattr(offered, accessor)
        for name in methods_of(type(group)):
            made = getattr(group, name)
            target = made._found
            served = target.resource
            is_namespaced = "namespace" in inspect.signature(made).parameters
            assert target.namespaced is is_namespaced
            found.add((served.group, served.version, served.resource, is_namespaced))

    assert found == {
        (group, version, each["resource"], each["scope"] == "Namespaced")
        for group, version, each in discovered()
        if each.get("verbs")
    }


@needs_documents
def test_every_group_and_version_has_an_accessor_named_as_the_folder_of_its_types() -> None:
    offered = Offered()
    accessors = {name: getattr(offered, name).GROUP_VERSION for name in dir(generated.Clientset) if name[0] != "_"}
    served = {(group, version) for group, version, _ in discovered()}

    assert {(accessor.group, accessor.version) for accessor in accessors.values()} == served
    assert len(accessors) == len(served)
    for name in accessors:
        importlib.import_module(f"masthead.api.{'.'.join(name.rsplit('_', 1))}")


def test_each_method_returns_objects_of_the_class_that_its_annotation_names() -> None:
    offered = Offered()
    for accessor in [name for name in dir(generated.Clientset) if not name.startswith("_")]:
        group: Group = getattr(offered, accessor)
        for name, method in methods_of(type(group)).items():
            made: BaseResource[Object] = getattr(group, name)()
            target: Any = made._found
            _, _, kind = inspect.signature(method).return_annotation.partition("[")
            assert kind == f"{accessor}.{target.item.__name__}]"
            assert target.item is registry.object_class(group.GROUP_VERSION.kind(target.item.__name__))
            assert isinstance(made, Reviews if target.facts.verbs == ("create",) else ResourceClient)


def test_a_group_is_made_once_and_a_resource_for_every_call() -> None:
    offered = Offered()

    assert offered.core_v1 is offered.core_v1
    assert offered.core_v1.pods("one").namespace == "one"
    assert offered.core_v1.pods("two").namespace == "two"
    assert offered.core_v1.pods().namespace is None


def test_importing_the_clientset_imports_no_group_and_no_types() -> None:
    script = (
        "import sys\n"
        "import masthead._client.clientset, masthead._sync.clientset\n"
        "print([name for name in sys.modules if name.startswith('masthead.api.') or '.clientset.' in name and '_v' in name])"  # noqa: E501
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_using_a_group_imports_that_group_alone() -> None:
    script = (
        "import sys, masthead\n"
        "client = masthead.Client(masthead.Config(server='http://localhost:1'))\n"
        "client.extensions_v1beta1\n"
        "print(sorted(name for name in sys.modules if '.clientset.' in name and '_v' in name))"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert (
        done.stdout
        == str(["masthead.aio.clientset.extensions_v1beta1", "masthead.clientset.extensions_v1beta1"]) + "\n"
    )


def test_the_command_reports_errors(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    status = clientset.main(["--openapi", str(tmp_path), "--legacy", str(tmp_path), "--out", str(tmp_path)])

    assert status == 2
    assert "has no OpenAPI v3 document" in capsys.readouterr().err
