"""Paths, methods, media types and authentication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Requests")


@case("a resource that is not there")
def _(api: Api) -> None:
    for method in ("GET", "POST", "DELETE"):
        api.request(method, f"/api/v1/namespaces/{api.namespace}/nonsense", {} if method == "POST" else None)
    api.request("GET", f"/api/v1/namespaces/{api.namespace}/nonsense/a")
    api.request("GET", f"/apis/apps/v1/namespaces/{api.namespace}/nonsense")


@case("a group or a version that is not there")
def _(api: Api) -> None:
    api.request("GET", f"/apis/nonsense/v1/namespaces/{api.namespace}/pods")
    api.request("GET", f"/apis/apps/v9/namespaces/{api.namespace}/deployments")
    api.request("GET", f"/api/v2/namespaces/{api.namespace}/pods")
    api.request("GET", "/apis/nonsense")
    api.request("GET", "/apis/nonsense/v1")
    api.request("GET", "/apis/apps/v9")
    api.request("GET", "/api/v2")


@case("a subresource that is not there")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.get("configmaps", "a/status")
    api.get("configmaps", "a/scale")
    api.update("configmaps", "a/nonsense", config_map("a"))
    api.create("deployments", deployment("a"))
    api.get("deployments", "a/nonsense")
    api.get("deployments", "a/status/more")


@case("a path outside of the API")
def _(api: Api) -> None:
    api.request("GET", "/nonsense")
    api.request("POST", "/nonsense", {})
    api.request("GET", "/api/v1/nonsense/deep/and/deeper/still")
    api.request("GET", "//api/v1/namespaces")
    api.request("GET", "/API/V1/namespaces")


@case("a method that is not allowed on a collection")
def _(api: Api) -> None:
    api.request("PUT", api.path("configmaps"), config_map("a"))
    api.request("HEAD", api.path("configmaps"))
    api.request("OPTIONS", api.path("configmaps"))
    api.request("TRACE", api.path("configmaps"))


@case("an unknown method")
def _(api: Api) -> None:
    api.request("NONSENSE", api.path("configmaps"))


@case("a method that is not allowed on an object")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.request("POST", api.path("configmaps", "a"), config_map("a"))
    api.request("HEAD", api.path("configmaps", "a"))
    api.request("OPTIONS", api.path("configmaps", "a"))


@case("a method that is not allowed on a subresource")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.request("DELETE", api.path("deployments", "a/status"))
    api.request("POST", api.path("deployments", "a/status"), deployment("a"))
    api.request("DELETE", api.path("deployments", "a/scale"))
    api.request("GET", api.path("pods", "a/binding"))
    api.request("GET", api.path("pods", "a/eviction"))


@case("kinds that can only be created cannot be read")
def _(api: Api) -> None:
    api.request("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
    api.request("GET", "/apis/authentication.k8s.io/v1/tokenreviews")
    api.request("GET", f"/api/v1/namespaces/{api.namespace}/bindings")


@case("an anonymous request")
def _(api: Api) -> None:
    api.request("GET", api.path("configmaps"), headers={"Authorization": ""})
    api.request("GET", api.path("configmaps", "a"), headers={"Authorization": ""})
    api.request("POST", api.path("configmaps"), config_map("a"), headers={"Authorization": ""})
    api.request("GET", "/api/v1/namespaces", headers={"Authorization": ""})
    api.request("GET", "/apis/apps/v1/deployments", headers={"Authorization": ""})


@case("an anonymous discovery request")
def _(api: Api) -> None:
    for path in ("/api", "/apis", "/apis/apps/v1", "/openapi/v3", "/nonsense"):
        api.request("GET", path, headers={"Authorization": ""})


@case("an anonymous health request")
def _(api: Api) -> None:
    for path in ("/version", "/healthz", "/livez", "/readyz"):
        api.request("GET", path, headers={"Authorization": ""})


@case("invalid credentials")
def _(api: Api) -> None:
    api.request("GET", api.path("configmaps"), headers={"Authorization": "Bearer nonsense"})
    api.request("GET", "/version", headers={"Authorization": "Bearer nonsense"})
    api.request("GET", "/nonsense", headers={"Authorization": "Bearer nonsense"})
    api.request("GET", api.path("configmaps"), headers={"Authorization": "Bearer "})
    api.request("GET", api.path("configmaps"), headers={"Authorization": "Basic bm9ib2R5Om5vdGhpbmc="})


@case("media types that are understood")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    for accept in (
        "",
        "*/*",
        "application/*",
        "application/json",
        "application/json;pretty=1",
        "application/json;charset=utf-8",
        "text/html,application/xhtml+xml,*/*;q=0.8",
        "application/xml,application/json;q=0.5",
        "application/json;q=0.1,text/plain",
    ):
        api.request("GET", api.path("configmaps", "a"), headers={"Accept": accept})


@case("media types that are not understood")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    for accept in (
        "text/plain",
        "application/xml",
        "nonsense",
        "image/*",
        "application/json;v=v9;g=meta.k8s.io;as=Nonsense",
    ):
        api.request("GET", api.path("configmaps", "a"), headers={"Accept": accept})
        api.request("GET", api.path("configmaps"), headers={"Accept": accept})


@case("a media type that is not understood, on a write")
def _(api: Api) -> None:
    api.request("POST", api.path("configmaps"), config_map("a"), headers={"Accept": "text/plain"})
    api.get("configmaps", "a")
    api.request("GET", api.path("configmaps", "none"), headers={"Accept": "text/plain"})


@case("a response in YAML")
def _(api: Api) -> None:
    api.request("GET", api.path("configmaps", "a"), headers={"Accept": "application/yaml"})


@case("a watch of a media type that cannot be streamed")
def _(api: Api) -> None:
    with api.stream(
        api.path("configmaps"), query={"watch": "true", "timeoutSeconds": 1}, headers={"Accept": "text/plain"}
    ) as stream:
        stream.read_to_the_end()


@case("the media type of a watch")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    for accept in ("application/json", "application/json;stream=watch", "*/*"):
        with api.stream(
            api.path("configmaps"),
            query={"watch": "true", "resourceVersion": made.version},
            headers={"Accept": accept},
        ) as stream:
            stream.read(1)


@case("queries with values that are none")
def _(api: Api) -> None:
    api.list("configmaps", timeoutSeconds="x")
    api.list("configmaps", limit="x")
    api.list("configmaps", allowWatchBookmarks="x")
    api.list("configmaps", watch="x", timeoutSeconds="x")
    api.create("configmaps", config_map("a"), dryRun="x", fieldValidation="x", fieldManager="\u0007")


@case("queries that are given twice")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    api.list("configmaps", limit=["1", "2"])
    api.list("configmaps", fieldSelector=["metadata.name=a", "metadata.name=b"])


@case("a query that cannot be decoded")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.request("GET", f"{api.path('configmaps')}?labelSelector=%zz")
    api.request("GET", f"{api.path('configmaps')}?limit=1;x=y")


@case("another method in the header is not obeyed")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.request("GET", api.path("configmaps", "a"), headers={"X-HTTP-Method-Override": "DELETE"})
    api.get("configmaps", "a")


@case("responses are not to be cached")
def _(api: Api) -> None:
    compared = ("Cache-Control", "X-Content-Type-Options", "ETag")
    api.request("GET", api.path("configmaps"), compare=compared)
    api.request("GET", api.path("configmaps", "a"), compare=compared)
    api.request("GET", "/nonsense", compare=compared)


@case("the paths that there are")
def _(api: Api) -> None:
    api.request("GET", "/healthz")
    api.request("GET", "/livez")
    api.request("GET", "/readyz")
    api.request("GET", "/healthz/ping")
    api.request("GET", "/livez/ping")
    api.request("GET", "/readyz/ping")
    api.request("GET", "/healthz/nonsense")
    api.request("POST", "/healthz", {})
    api.request("HEAD", "/healthz")


@case("the version")
def _(api: Api) -> None:
    api.request("GET", "/version")
    api.request("GET", "/version/")
    api.request("POST", "/version", {})
