"""Discovery: what the server lists as served."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Discovery")

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
KUBECTL = f"{AGGREGATED},{AGGREGATED.replace('v=v2', 'v=v2beta1')},application/json"


def get_as(api: Api, path: str, accept: str) -> None:
    api.request("GET", path, headers={"Accept": accept}, compare=("ETag", "Vary"))


@case("the versions of the core group")
def _(api: Api) -> None:
    api.request("GET", "/api")


@case("the groups")
def _(api: Api) -> None:
    api.request("GET", "/apis")


@case("the resources of core v1")
def _(api: Api) -> None:
    api.request("GET", "/api/v1")


GROUP_VERSIONS = (
    "admissionregistration.k8s.io/v1",
    "admissionregistration.k8s.io/v1alpha1",
    "admissionregistration.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1",
    "apiregistration.k8s.io/v1",
    "apps/v1",
    "authentication.k8s.io/v1",
    "authorization.k8s.io/v1",
    "autoscaling/v1",
    "autoscaling/v2",
    "batch/v1",
    "certificates.k8s.io/v1",
    "coordination.k8s.io/v1",
    "coordination.k8s.io/v1alpha2",
    "coordination.k8s.io/v1beta1",
    "discovery.k8s.io/v1",
    "events.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1",
    "internal.apiserver.k8s.io/v1alpha1",
    "networking.k8s.io/v1",
    "networking.k8s.io/v1beta1",
    "node.k8s.io/v1",
    "policy/v1",
    "rbac.authorization.k8s.io/v1",
    "resource.k8s.io/v1",
    "resource.k8s.io/v1alpha3",
    "resource.k8s.io/v1beta1",
    "resource.k8s.io/v1beta2",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1",
    "storage.k8s.io/v1beta1",
)


def _resources(group_version: str) -> None:
    @case(f"the resources of {group_version}")
    def _(api: Api) -> None:
        api.request("GET", f"/apis/{group_version}")


for _group_version in GROUP_VERSIONS:
    _resources(_group_version)


@case("one group")
def _(api: Api) -> None:
    api.request("GET", "/apis/apps")
    api.request("GET", "/apis/autoscaling")
    api.request("GET", "/apis/apps/")


@case("a slash at the end")
def _(api: Api) -> None:
    api.request("GET", "/api/")
    api.request("GET", "/api/v1/")
    api.request("GET", "/apis/apps/v1/")


@case("the core group, aggregated")
def _(api: Api) -> None:
    get_as(api, "/api", KUBECTL)


@case("the groups, aggregated")
def _(api: Api) -> None:
    get_as(api, "/apis", KUBECTL)


@case("the Accept header decides on the shape")
def _(api: Api) -> None:
    for accept in (
        AGGREGATED,
        f"application/json,{AGGREGATED}",
        AGGREGATED.replace("v=v2", "v=v9"),
        AGGREGATED.replace("APIGroupDiscoveryList", "Nonsense"),
        "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io",
        "*/*",
        "text/plain",
    ):
        get_as(api, "/api", accept)


@case("aggregation is for the roots alone")
def _(api: Api) -> None:
    get_as(api, "/api/v1", AGGREGATED)
    get_as(api, "/apis/policy/v1", KUBECTL)


@case("what has not changed is not sent again")
def _(api: Api) -> None:
    headers = {"Accept": AGGREGATED}
    first = api.request("GET", "/api", headers=headers, compare=("ETag",))
    tag = first.headers.get("ETag", [""])[0]
    api.request("GET", "/api", headers={**headers, "If-None-Match": tag}, compare=("ETag",))


@case("an outdated ETag gets the whole document")
def _(api: Api) -> None:
    headers = {"Accept": AGGREGATED, "If-None-Match": '"nonsense"'}
    api.request("GET", "/api", headers=headers, compare=("ETag",))


@case("discovery takes GET alone")
def _(api: Api) -> None:
    api.request("POST", "/api", {})
    api.request("DELETE", "/apis")
    api.request("POST", "/apis/apps/v1", {})
    api.request("HEAD", "/api")
