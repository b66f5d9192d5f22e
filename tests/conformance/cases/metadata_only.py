"""Objects and lists as metadata alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, named

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Metadata alone")

ONE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
MANY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@case("an object")
def _(api: Api) -> None:
    api.create("deployments", deployment("a", labels={"l": "1"}))
    api.request("GET", api.path("deployments", "a"), headers={"Accept": ONE})


@case("a list")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "v"}))
    api.create("configmaps", config_map("b"))
    api.request("GET", api.path("configmaps"), headers={"Accept": MANY})
    api.request("GET", api.path("configmaps"), headers={"Accept": MANY}, query={"limit": 1})


@case("an empty list")
def _(api: Api) -> None:
    api.request("GET", api.path("configmaps"), headers={"Accept": MANY})


@case("a list is not one object, and one object is not a list")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.request("GET", api.path("configmaps"), headers={"Accept": ONE})
    api.request("GET", api.path("configmaps", "a"), headers={"Accept": MANY})


@case("the response of a delete")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["example.com/one"], data={"k": "v"}))
    api.request("DELETE", api.path("configmaps", "a"), headers={"Accept": ONE})
    api.create("serviceaccounts", named("v1", "ServiceAccount", "a"))
    api.request("DELETE", api.path("serviceaccounts", "a"), headers={"Accept": ONE})
    api.patch("configmaps", "a", {"metadata": {"finalizers": None}})


@case("a list of another group is not one object")
def _(api: Api) -> None:
    api.request("GET", api.path("deployments"), headers={"Accept": ONE})
    api.request("GET", api.path("leases"), headers={"Accept": ONE})


@case("a watch")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b", data={"k": "v"}))
    api.delete("configmaps", "b")
    query = {"watch": "true", "resourceVersion": made.version}
    with api.stream(api.path("configmaps"), query={**query}, headers={"Accept": ONE}) as stream:
        stream.read(2)


@case("a watch of a version that is forgotten")
def _(api: Api) -> None:
    api.compact()
    with api.stream(
        api.path("configmaps"), query={"watch": "true", "resourceVersion": "1"}, headers={"Accept": ONE}
    ) as stream:
        stream.read(1)


@case("the response of a write")
def _(api: Api) -> None:
    headers = {"Accept": ONE}
    api.request("POST", api.path("configmaps"), config_map("a"), headers=headers)
    api.request("PUT", api.path("configmaps", "a"), config_map("a", data={"k": "v"}), headers=headers)
    merge = {"Content-Type": "application/merge-patch+json"}
    api.request("PATCH", api.path("configmaps", "a"), {"data": {"k": "w"}}, headers={**headers, **merge})
    api.request("DELETE", api.path("configmaps", "a"), headers=headers)


@case("failures stay what they are")
def _(api: Api) -> None:
    api.request("GET", api.path("configmaps", "none"), headers={"Accept": ONE})


@case("other versions of the type")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    for accept in (
        ONE.replace("v=v1", "v=v1beta1"),
        ONE.replace("v=v1", "v=v9"),
        ONE.replace("meta.k8s.io", "nonsense"),
        f"{ONE.replace('v=v1', 'v=v9')},{ONE}",
        f"{ONE.replace('v=v1', 'v=v9')},application/json",
        f"{ONE},application/json",
    ):
        api.request("GET", api.path("configmaps", "a"), headers={"Accept": accept})


@case("a scale and other subresources")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.request("GET", api.path("deployments", "a/scale"), headers={"Accept": ONE})
    api.request("GET", api.path("deployments", "a/status"), headers={"Accept": ONE})
