"""GET of objects and lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, named

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Reading")


@case("an object that is not there is not found")
def _(api: Api) -> None:
    api.get("configmaps", "a")
    api.get("deployments", "a")
    api.get("clusterroles", f"{api.namespace}-none")
    api.get("leases", "a")


@case("an empty list has items")
def _(api: Api) -> None:
    api.list("configmaps")
    api.list("deployments")
    api.list("horizontalpodautoscalers")


@case("a list is in the order of names, and its items have no kind")
def _(api: Api) -> None:
    for name in ("b", "a", "c", "a.b", "a-b", "10", "9"):
        api.create("configmaps", config_map(name))
    api.list("configmaps")


@case("a list of a namespace that is not there is empty")
def _(api: Api) -> None:
    api.request("GET", f"/api/v1/namespaces/{api.namespace}-none/configmaps")
    api.request("GET", f"/api/v1/namespaces/{api.namespace}-none/configmaps/a")


@case("a list over all namespaces is in the order of namespaces, then names")
def _(api: Api) -> None:
    other = f"{api.namespace}-0"
    api.create("namespaces", named("v1", "Namespace", other))
    for name in ("b", "a"):
        api.create("configmaps", config_map(name, labels={"in": api.namespace}))
        api.request("POST", f"/api/v1/namespaces/{other}/configmaps", config_map(name, labels={"in": api.namespace}))
    api.list("configmaps", everywhere=True, labelSelector=f"in={api.namespace}")


@case("get with an own namespace that does not match finds nothing")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.request("GET", "/api/v1/namespaces/default/configmaps/a")


@case("names are percent-decoded")
def _(api: Api) -> None:
    name = f"{api.namespace}:role with spaces"
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    api.create("clusterroles", named("rbac.authorization.k8s.io/v1", "ClusterRole", name, rules=rules))
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    api.request("GET", f"{path}/{api.namespace}%3Arole%20with%20spaces")
    api.request("GET", f"{path}/{api.namespace}:role%20with%20spaces")


@case("pretty changes no word")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.get("configmaps", "a", pretty="true")
    api.get("configmaps", "a", pretty="false")


@case("query parameters that mean nothing are ignored")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.get("configmaps", "a", nonsense="1")
    api.list("configmaps", nonsense="1")


@case("a trailing slash changes nothing")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.request("GET", f"{api.path('configmaps')}/")
    api.request("GET", f"{api.path('configmaps', 'a')}/")


@case("a read of one namespace is the same through its own path")
def _(api: Api) -> None:
    api.get("namespaces", api.namespace)
    api.list("namespaces", fieldSelector=f"metadata.name={api.namespace}")


@case("export is no longer supported")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.get("configmaps", "a", exact="true", export="true")


@case("a list has the kind of its group and version")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.list("deployments")
    api.list("autoscaling/v1/horizontalpodautoscalers")
    api.list("coordination.k8s.io/v1/leases")
