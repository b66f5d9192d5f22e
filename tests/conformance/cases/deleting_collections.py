"""DELETE of a collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, pod, service

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Deleting collections")


@case("all objects of a namespace are deleted, and returned as a list")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    api.delete_all("configmaps")
    api.list("configmaps")


@case("nothing to delete is no failure")
def _(api: Api) -> None:
    api.delete_all("configmaps")


@case("a label selector limits them")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", labels={"l": "1"}))
    api.create("configmaps", config_map("b", labels={"l": "2"}))
    api.delete_all("configmaps", labelSelector="l=1")
    api.list("configmaps")


@case("a field selector limits them")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    api.delete_all("configmaps", fieldSelector="metadata.name!=a")
    api.list("configmaps")


@case("objects with finalizers stay and are marked")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["example.com/one"]))
    api.create("configmaps", config_map("b"))
    api.delete_all("configmaps")
    api.list("configmaps")


@case("options are taken from the body")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete_all("configmaps", {"propagationPolicy": "Orphan"})
    api.list("configmaps")


@case("options are checked")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete_all("configmaps", {"propagationPolicy": "Nonsense"})
    api.delete_all("configmaps", propagationPolicy="Nonsense")
    api.delete_all("configmaps", labelSelector="a=b=c")
    api.delete_all("configmaps", fieldSelector="nonsense=1")


@case("a limit deletes one page")
def _(api: Api) -> None:
    for name in ("a", "b", "c"):
        api.create("configmaps", config_map(name))
    first = api.delete_all("configmaps", limit=2)
    api.list("configmaps")
    api.delete_all("configmaps", limit=2, continue_=first.token)
    api.list("configmaps")


@case("a dry run deletes nothing")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete_all("configmaps", dryRun="All")
    api.list("configmaps")


@case("pods get their time")
def _(api: Api) -> None:
    api.create("pods", pod("a", spec={"nodeName": "node"}))
    api.create("pods", pod("b"))
    api.delete_all("pods")
    api.list("pods")


@case("a uid as a condition is that of each object")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    api.delete_all("configmaps", {"preconditions": {"uid": made.uid}})


@case("a version and its match are those of a list")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete_all("configmaps", resourceVersionMatch="Exact")
    api.delete_all("configmaps", resourceVersion="0", resourceVersionMatch="Exact")
    api.delete_all("configmaps", resourceVersion="0")
    api.list("configmaps")


@case("services and other kinds can be deleted together")
def _(api: Api) -> None:
    api.create("services", service("a"))
    api.delete_all("services")
    api.create("deployments", deployment("a"))
    api.delete_all("deployments")


@case("namespaces cannot be deleted together, and a kind cannot in all namespaces")
def _(api: Api) -> None:
    api.request("DELETE", "/api/v1/namespaces")
    api.request("DELETE", "/api/v1/configmaps")
    api.request("DELETE", "/apis/apps/v1/deployments")
