"""Namespaces themselves, and what they mean for other objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, namespace, pod

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Namespaces")


def terminating(api: Api) -> str:
    """The name of a namespace that is being deleted."""
    name = f"{api.namespace}-going"
    api.create("namespaces", namespace(name))
    api.delete("namespaces", name)
    return name


@case("a namespace gets a label, a finalizer and a phase")
def _(api: Api) -> None:
    name = f"{api.namespace}-new"
    api.create("namespaces", namespace(name))
    api.get("namespaces", name)


@case("the label of its name cannot be changed")
def _(api: Api) -> None:
    name = f"{api.namespace}-new"
    api.create("namespaces", namespace(name, labels={"kubernetes.io/metadata.name": "other"}))
    api.patch("namespaces", name, {"metadata": {"labels": None}})
    api.update("namespaces", name, namespace(name, labels={"l": "1"}))


@case("spec and status of the body are dropped")
def _(api: Api) -> None:
    name = f"{api.namespace}-new"
    body = {
        **namespace(name),
        "spec": {"finalizers": ["example.com/one"]},
        "status": {"phase": "Terminating"},
    }
    api.create("namespaces", body)
    api.update("namespaces", name, {**namespace(name, labels={"l": "1"}), "spec": {"finalizers": []}})


@case("names are labels of DNS")
def _(api: Api) -> None:
    api.create("namespaces", namespace(f"{api.namespace}.dot"))
    api.create("namespaces", namespace("n" * 64))
    api.create("namespaces", namespace("Upper"))


def _is_there(name: str) -> None:
    # A case for each, because their order is undefined.
    @case(f"every server has the namespace {name}")
    def _(api: Api) -> None:
        api.get("namespaces", name)


for _name in ("default", "kube-system", "kube-public", "kube-node-lease"):
    _is_there(_name)


@case("some namespaces cannot be deleted")
def _(api: Api) -> None:
    for name in ("default", "kube-system", "kube-public"):
        api.delete("namespaces", name)


@case("a delete marks the namespace and returns it")
def _(api: Api) -> None:
    name = terminating(api)
    api.get("namespaces", name)
    api.delete("namespaces", name)


@case("nothing can be created in a namespace that is not there")
def _(api: Api) -> None:
    path = f"/api/v1/namespaces/{api.namespace}-none/configmaps"
    api.request("POST", path, config_map("a"))
    api.request("POST", path, config_map("a"), query={"dryRun": "All"})
    api.request("PUT", f"{path}/a", config_map("a"))
    api.request("DELETE", f"{path}/a")
    api.request("DELETE", path)


@case("an invalid object in a namespace that is not there")
def _(api: Api) -> None:
    api.request("POST", f"/api/v1/namespaces/{api.namespace}-none/configmaps", config_map("A B"))
    api.request("POST", "/api/v1/namespaces/A_B/configmaps", config_map("a"))


@case("nothing can be created in a namespace that goes")
def _(api: Api) -> None:
    name = terminating(api)
    api.request("POST", f"/api/v1/namespaces/{name}/configmaps", config_map("a"))
    api.request("POST", f"/api/v1/namespaces/{name}/pods", pod("a"))


@case("objects in a namespace that goes may be changed and deleted")
def _(api: Api) -> None:
    name = f"{api.namespace}-going"
    path = f"/api/v1/namespaces/{name}/configmaps"
    api.create("namespaces", namespace(name))
    api.request("POST", path, config_map("a"))
    api.delete("namespaces", name)
    api.request("PUT", f"{path}/a", config_map("a", data={"k": "v"}))
    api.request("GET", path)
    api.request("DELETE", f"{path}/a")


@case("finalize removes the finalizers of the spec, and the namespace goes")
def _(api: Api) -> None:
    name = terminating(api)
    api.update("namespaces", f"{name}/finalize", {**namespace(name), "spec": {"finalizers": []}})
    api.get("namespaces", name)


@case("finalize of a namespace that stays changes its spec alone")
def _(api: Api) -> None:
    name = f"{api.namespace}-new"
    api.create("namespaces", namespace(name))
    changed = {
        **namespace(name, labels={"l": "1"}),
        "spec": {"finalizers": ["kubernetes", "example.com/one"]},
    }
    api.update("namespaces", f"{name}/finalize", changed)
    api.update("namespaces", f"{name}/finalize", {**namespace(name), "spec": {"finalizers": []}})
    api.delete("namespaces", name)
    api.get("namespaces", name)


@case("finalize of nothing, and with another name")
def _(api: Api) -> None:
    name = f"{api.namespace}-none"
    api.update("namespaces", f"{name}/finalize", namespace(name))
    api.update("namespaces", f"{api.namespace}/finalize", namespace(name))


@case("a finalizer of metadata keeps a namespace")
def _(api: Api) -> None:
    name = f"{api.namespace}-going"
    api.create("namespaces", namespace(name, finalizers=["example.com/one"]))
    api.delete("namespaces", name)
    api.update("namespaces", f"{name}/finalize", {**namespace(name), "spec": {"finalizers": []}})
    api.get("namespaces", name)
    api.patch("namespaces", name, {"metadata": {"finalizers": None}})
    api.get("namespaces", name)


@case("status of a namespace is written through its subresource")
def _(api: Api) -> None:
    name = f"{api.namespace}-new"
    made = api.create("namespaces", namespace(name))
    conditions = [
        {
            "type": "Tested",
            "status": "True",
            "lastTransitionTime": "2001-02-03T04:05:06Z",
            "reason": "r",
            "message": "m",
        }
    ]
    api.update("namespaces", f"{name}/status", {**made.body, "status": {"phase": "Active", "conditions": conditions}})
    api.patch("namespaces", f"{name}/status", {"status": {"phase": "Terminating"}})


@case("delete of a namespace with conditions and policies")
def _(api: Api) -> None:
    name = f"{api.namespace}-new"
    made = api.create("namespaces", namespace(name))
    api.delete("namespaces", name, {"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}})
    api.delete("namespaces", name, {"preconditions": {"uid": made.uid}, "propagationPolicy": "Foreground"})


@case("a dry run of a namespace's delete")
def _(api: Api) -> None:
    api.delete("namespaces", api.namespace, dryRun="All")
    api.get("namespaces", api.namespace)


@case("a namespace can be selected by its name and phase")
def _(api: Api) -> None:
    api.list("namespaces", fieldSelector=f"metadata.name={api.namespace},status.phase=Active")
    api.list("namespaces", fieldSelector=f"metadata.name={api.namespace},status.phase=Terminating")
    api.list("namespaces", labelSelector=f"kubernetes.io/metadata.name={api.namespace}")


@case("a namespace is no subresource of itself")
def _(api: Api) -> None:
    api.request("GET", f"/api/v1/namespaces/{api.namespace}/namespaces")
    api.request("GET", f"/api/v1/namespaces/{api.namespace}/nodes")
    api.request("GET", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{api.namespace}/clusterroles")
