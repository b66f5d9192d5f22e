"""Objects and lists as Tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, named, namespace, pod

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Tables")

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
KUBECTL = f"{TABLE},{TABLE.replace('v=v1', 'v=v1beta1')},application/json"
AS_TABLE = {"Accept": TABLE}
MERGE = {"Content-Type": "application/merge-patch+json"}


@case("an object")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "v"}, labels={"l": "1"}))
    api.request("GET", api.path("configmaps", "a"), headers=AS_TABLE)


@case("a list")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "v"}))
    api.create("configmaps", config_map("b"))
    api.request("GET", api.path("configmaps"), headers=AS_TABLE)


@case("an empty list has no rows")
def _(api: Api) -> None:
    api.request("GET", api.path("configmaps"), headers=AS_TABLE)
    api.request("GET", api.path("pods"), headers=AS_TABLE)


@case("an empty list of a kind without columns of its own has null for rows")
def _(api: Api) -> None:
    api.request("GET", api.path("roles"), headers=AS_TABLE)
    api.request("GET", api.path("limitranges"), headers=AS_TABLE)


@case("a list in pages")
def _(api: Api) -> None:
    for name in "abc":
        api.create("configmaps", config_map(name))
    first = api.request("GET", api.path("configmaps"), query={"limit": 2}, headers=AS_TABLE)
    api.request("GET", api.path("configmaps"), query={"limit": 2, "continue": first.token}, headers=AS_TABLE)


@case("a list by labels and fields")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", labels={"l": "1"}))
    api.create("configmaps", config_map("b"))
    api.request("GET", api.path("configmaps"), query={"labelSelector": "l=1"}, headers=AS_TABLE)
    api.request("GET", api.path("configmaps"), query={"fieldSelector": "metadata.name=b"}, headers=AS_TABLE)


@case("a list of another version")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    query = {"resourceVersion": made.version, "resourceVersionMatch": "Exact"}
    api.request("GET", api.path("configmaps"), query={**query}, headers=AS_TABLE)
    api.request("GET", api.path("configmaps"), query={"resourceVersion": "nonsense"}, headers=AS_TABLE)


@case("rows include metadata, the object or nothing")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "v"}))
    for included in ("Metadata", "Object", "None", ""):
        api.request("GET", api.path("configmaps"), query={"includeObject": included}, headers=AS_TABLE)
        api.request("GET", api.path("configmaps", "a"), query={"includeObject": included}, headers=AS_TABLE)


@case("rows include nothing else")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    for included in ("metadata", "All", "\n"):
        api.request("GET", api.path("configmaps"), query={"includeObject": included}, headers=AS_TABLE)
    api.request("GET", api.path("configmaps", "a"), query={"includeObject": "All"}, headers=AS_TABLE)
    api.request("GET", api.path("configmaps", "none"), query={"includeObject": "All"}, headers=AS_TABLE)
    api.request("GET", api.path("configmaps", "a"), query={"includeObject": "All"})


@case("what rows include is checked after the write")
def _(api: Api) -> None:
    query = {"includeObject": "All"}
    api.request("POST", api.path("configmaps"), config_map("a"), query={**query}, headers=AS_TABLE)
    api.get("configmaps", "a")


@case("a watch of rows with something else")
def _(api: Api) -> None:
    query = {"watch": "true", "includeObject": "All"}
    with api.stream(api.path("configmaps"), query={**query}, headers=AS_TABLE) as stream:
        stream.read(1)


@case("the response of a write")
def _(api: Api) -> None:
    api.request("POST", api.path("configmaps"), config_map("a"), headers=AS_TABLE)
    api.request("PUT", api.path("configmaps", "a"), config_map("a", data={"k": "v"}), headers=AS_TABLE)
    api.request("PATCH", api.path("configmaps", "a"), {"data": {"l": "w"}}, headers={**AS_TABLE, **MERGE})


@case("the response of a dry run")
def _(api: Api) -> None:
    query = {"dryRun": "All"}
    api.request("POST", api.path("deployments"), deployment("a"), query={**query}, headers=AS_TABLE)


@case("the response of a delete")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.request("DELETE", api.path("configmaps", "a"), headers=AS_TABLE)
    api.create("configmaps", config_map("b", finalizers=["example.com/one"]))
    api.request("DELETE", api.path("configmaps", "b"), headers=AS_TABLE)
    api.create("serviceaccounts", named("v1", "ServiceAccount", "a"))
    api.request("DELETE", api.path("serviceaccounts", "a"), headers=AS_TABLE)
    api.patch("configmaps", "b", {"metadata": {"finalizers": None}})


@case("the response of the deletion of a collection")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", labels={"l": "1"}))
    api.create("configmaps", config_map("b", labels={"l": "1"}))
    api.request("DELETE", api.path("configmaps"), query={"labelSelector": "l=1"}, headers=AS_TABLE)
    api.request("DELETE", api.path("configmaps"), query={"labelSelector": "l=1"}, headers=AS_TABLE)


@case("failures stay what they are")
def _(api: Api) -> None:
    api.request("GET", api.path("configmaps", "none"), headers=AS_TABLE)
    api.request("POST", api.path("configmaps"), {"metadata": {"name": "A_"}}, headers=AS_TABLE)
    api.request("GET", api.path("configmaps"), query={"labelSelector": "(("}, headers=AS_TABLE)
    api.request("GET", "/apis/none.example.com/v1/things", headers=AS_TABLE)


@case("other versions of the type")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    for accept in (
        TABLE.replace("v=v1", "v=v1beta1"),
        TABLE.replace("v=v1", "v=v9"),
        TABLE.replace("meta.k8s.io", "nonsense"),
        TABLE.replace("Table", "table"),
        TABLE.replace("Table", "Chair"),
        f"{TABLE.replace('v=v1', 'v=v9')},{TABLE}",
        f"{TABLE.replace('v=v1', 'v=v9')},application/json",
        KUBECTL,
        f"application/json,{TABLE}",
        TABLE.replace("application/json", "*/*"),
        "application/json;g=meta.k8s.io;v=v1",
        "application/json;as=Table",
    ):
        api.request("GET", api.path("configmaps", "a"), headers={"Accept": accept})


@case("the client's weights decide, and what it names before what it does not")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    for accept in (
        f"application/json;q=0.1,{TABLE}",
        f"{TABLE};q=0.1,application/json",
        f"*/*,{TABLE}",
        f"application/json;q=0.1,{TABLE};q=0.2",
        f"{TABLE};q=x",
        f"{TABLE};q=0.5,application/json;q=y",
    ):
        api.request("GET", api.path("configmaps", "a"), headers={"Accept": accept})


@case("a Table is not written as protobuf")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    protobuf = TABLE.replace("application/json", "application/vnd.kubernetes.protobuf")
    api.request("GET", api.path("configmaps", "a"), headers={"Accept": f"{protobuf},application/json"})
    api.request("GET", api.path("configmaps", "a"), headers={"Accept": f"{protobuf},{TABLE}"})


@case("a watch of YAML Tables")
def _(api: Api) -> None:
    yaml = TABLE.replace("json", "yaml")
    with api.stream(api.path("configmaps"), query={"watch": "true"}, headers={"Accept": yaml}) as stream:
        stream.read(1)


@case("a scale")
def _(api: Api) -> None:
    api.create("deployments", deployment("a", replicas=3))
    api.request("GET", api.path("deployments", "a/scale"), headers=AS_TABLE)
    api.request("GET", api.path("deployments", "a/scale"), query={"includeObject": "Object"}, headers=AS_TABLE)


@case("a status")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.request("GET", api.path("deployments", "a/status"), headers=AS_TABLE)
    api.request(
        "PATCH",
        api.path("deployments", "a/status"),
        {"status": {"replicas": 1, "readyReplicas": 1}},
        headers={**AS_TABLE, **MERGE},
    )


@case("a review is no Table")
def _(api: Api) -> None:
    body = {"spec": {"token": "nonsense"}}
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    api.request("POST", path, body, headers=AS_TABLE)
    api.request("POST", path, body, headers={"Accept": KUBECTL})


@case("discovery is no Table")
def _(api: Api) -> None:
    api.request("GET", "/version", headers=AS_TABLE)
    api.request("GET", "/apis/apps/v1", headers=AS_TABLE)


@case("a watch has the columns in its first event alone")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b", data={"k": "v"}))
    api.update("configmaps", "a", config_map("a", data={"k": "v", "l": "w"}))
    api.delete("configmaps", "b")
    query = {"watch": "true", "resourceVersion": made.version}
    with api.stream(api.path("configmaps"), query={**query}, headers=AS_TABLE) as stream:
        stream.read(3)


@case("a watch begins with what is there")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    api.create("pods", pod("b"))
    with api.stream(api.path("pods"), query={"watch": "true"}, headers={"Accept": KUBECTL}) as stream:
        stream.read(2)


@case("a watch of rows without objects, and with them")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b", data={"k": "v"}))
    for included in ("None", "Object"):
        query = {"watch": "true", "resourceVersion": made.version, "includeObject": included}
        with api.stream(api.path("configmaps"), query={**query}, headers=AS_TABLE) as stream:
            stream.read(1)


@case("the bookmark behind initial events is a row with metadata")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    for included in ("None", "Metadata", "Object"):
        query = {
            "watch": "true",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
            "includeObject": included,
        }
        with api.stream(api.path("configmaps"), query={**query}, headers=AS_TABLE) as stream:
            stream.read(2)


@case("bookmarks of other kinds are blank rows")
def _(api: Api) -> None:
    for resource in ("pods", "services", "roles", "deployments", "horizontalpodautoscalers"):
        query = {
            "watch": "true",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
        }
        with api.stream(api.path(resource), query={**query}, headers=AS_TABLE) as stream:
            stream.read(1)


@case("a watch of a version that is forgotten")
def _(api: Api) -> None:
    api.compact()
    query = {"watch": "true", "resourceVersion": "1"}
    with api.stream(api.path("configmaps"), query={**query}, headers=AS_TABLE) as stream:
        stream.read(1)


@case("an object that leaves a watched selection")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a", labels={"l": "1"}))
    api.patch("configmaps", "a", {"metadata": {"labels": {"l": "2"}}})
    query = {"watch": "true", "resourceVersion": made.version, "labelSelector": "l=1"}
    with api.stream(api.path("configmaps"), query={**query}, headers=AS_TABLE) as stream:
        stream.read(1)


@case("a watch of one object")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    api.patch("configmaps", "a", {"data": {"k": "v"}})
    query = {"watch": "true", "resourceVersion": made.version, "fieldSelector": "metadata.name=a"}
    with api.stream(api.path("configmaps"), query={**query}, headers=AS_TABLE) as stream:
        stream.read(1)


@case("namespaces and their states")
def _(api: Api) -> None:
    name = f"{api.namespace}-b"
    api.create("namespaces", namespace(name))
    api.request("GET", api.path("namespaces", name), headers=AS_TABLE)
    api.request("DELETE", api.path("namespaces", name), headers=AS_TABLE)
    api.request("GET", api.path("namespaces", name), headers=AS_TABLE)
