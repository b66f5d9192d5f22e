"""Apply: objects made, changed, released and left alone by their appliers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import (
    config_map,
    deployment,
    job,
    metadata,
    named,
    namespace,
    pod,
    service,
    workload,
)

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Applying")

OTHER_UID = "11111111-2222-3333-4444-555555555555"


@case("the first apply creates the object")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}, labels={"l": "1"}))
    api.get("configmaps", "a")


@case("the same apply again changes neither version nor time")
def _(api: Api) -> None:
    for _ in range(3):
        api.apply("configmaps", "a", config_map("a", data={"k": "1"}))


@case("another value of what the manager owns")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}))


@case("one more field of the same manager")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "1", "l": "2"}))


@case("what is no longer applied is removed")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1", "l": "2"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}))


@case("a map that is no longer applied is removed with its keys")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}, labels={"l": "1"}, annotations={"a": "1"}))
    api.apply("configmaps", "a", config_map("a", labels={"l": "1"}))
    api.apply("configmaps", "a", config_map("a"))
    api.get("configmaps", "a")


@case("a map that another manager has a key of stays")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"l": "2"}), "two")
    api.apply("configmaps", "a", config_map("a"))
    api.apply("configmaps", "a", config_map("a"), "two")


@case("two managers own what both apply")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1", "mine": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "1", "yours": "1"}), "two")
    api.apply("configmaps", "a", config_map("a", data={"mine": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"yours": "1"}), "two")


@case("what an update also set stays when its applier gives it up")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "1", "l": "2"}))
    api.apply("configmaps", "a", config_map("a", data={"l": "2"}))


@case("a field that an update took over stays when its former applier gives it up")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1", "l": "2"}))
    api.patch("configmaps", "a", {"data": {"k": "2"}})
    api.apply("configmaps", "a", config_map("a", data={"l": "2"}))


@case("a field that an update removed comes back by the next apply")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1", "l": "2"}))
    api.patch("configmaps", "a", {"data": {"k": None}})
    api.apply("configmaps", "a", config_map("a", data={"k": "1", "l": "2"}))


@case("an object of updates alone gets an applier")
def _(api: Api) -> None:
    api.create("deployments", deployment("a", replicas=2))
    api.apply("deployments", "a", {**named("apps/v1", "Deployment", "a"), "spec": {"paused": True}})
    api.apply("deployments", "a", named("apps/v1", "Deployment", "a"))


@case("a manager that applies and updates has two entries")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}))
    api.patch("configmaps", "a", {"data": {"l": "2"}}, fieldManager="one")
    api.patch("configmaps", "a", {"data": {"k": "2"}}, fieldManager="one")
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}))


@case("a configuration of a name alone owns nothing")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a"))
    api.apply("configmaps", "a", config_map("a"), "two")
    api.apply("configmaps", "a", config_map("a", data={}))
    api.apply("configmaps", "a", config_map("a", data={}, labels={}))


@case("defaults are no one's, except of an update")
def _(api: Api) -> None:
    api.apply("deployments", "a", deployment("a"))
    api.create("deployments", deployment("b"))


@case("an apply counts up the generation when the spec changes")
def _(api: Api) -> None:
    api.apply("deployments", "a", deployment("a", replicas=1))
    api.apply("deployments", "a", deployment("a", replicas=1, labels={"l": "1"}))
    api.apply("deployments", "a", deployment("a", replicas=2))
    api.apply("deployments", "a", deployment("a"))


@case("what the server sets in the metadata is not owned")
def _(api: Api) -> None:
    made = api.apply("configmaps", "a", config_map("a", data={"k": "1"}))
    meta = {key: value for key, value in made.metadata.items() if key != "managedFields"}
    api.apply("configmaps", "a", {**config_map(data={"k": "1"}), "metadata": meta}, "two")


@case("times and generations in a configuration")
def _(api: Api) -> None:
    more = {"creationTimestamp": None, "generation": 7, "selfLink": "/nowhere"}
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}) | {"metadata": {"name": "a", **more}})
    then = "2001-02-03T04:05:06Z"
    api.apply("configmaps", "b", config_map("b", creationTimestamp=then))
    api.apply("configmaps", "b", config_map("b", deletionTimestamp=then, deletionGracePeriodSeconds=3))


@case("the status in a configuration of the object is left out")
def _(api: Api) -> None:
    body = {**deployment("a", replicas=1), "status": {"replicas": 3, "observedGeneration": 1}}
    api.apply("deployments", "a", body)
    api.apply("deployments", "a", body)
    api.apply("pods", "a", {**pod("a"), "status": {"phase": "Running"}})


@case("an apply in a namespace that is not there")
def _(api: Api) -> None:
    path = f"/api/v1/namespaces/{api.namespace}-none/configmaps/a"
    headers = {"Content-Type": "application/apply-patch+yaml"}
    api.request("PATCH", path, config_map("a"), query={"fieldManager": "one"}, headers=headers)


@case("an apply in a namespace that goes")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}))
    api.delete("namespaces", api.namespace)
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}))
    api.apply("configmaps", "b", config_map("b", data={"k": "1"}))


@case("a name, a namespace, a kind and a version that are not those of the path")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("b"))
    api.apply("configmaps", "a", config_map("a", namespace="default"))
    api.apply("configmaps", "a", named("v1", "Secret", "a"))
    api.apply("configmaps", "a", named("v2", "ConfigMap", "a"))
    api.apply("configmaps", "a", named("apps/v1", "Deployment", "a"))
    api.create("configmaps", config_map("a"))
    api.apply("configmaps", "a", config_map("b"))
    api.apply("configmaps", "a", config_map("a", namespace="default"))


@case("a configuration without a name")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map(data={"k": "1"}))
    api.create("configmaps", config_map("b"))
    api.apply("configmaps", "b", config_map(data={"k": "1"}))
    api.apply("configmaps", "b", {"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "2"}})


@case("generateName makes no name")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map(generateName="a-"))
    api.apply("configmaps", "a", config_map("a", generateName="a-"))
    api.patch("configmaps", "", config_map(generateName="a-"), by="apply", fieldManager="one")


@case("a dry run creates and changes nothing")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}), dryRun="All")
    api.get("configmaps", "a")
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}), dryRun="All")
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}), "two", dryRun="All")
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}), "two", dryRun="All", force="true")
    api.get("configmaps", "a")


@case("an apply of what is being deleted")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}, finalizers=["example.com/one"]))
    api.delete("configmaps", "a")
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}, finalizers=["example.com/one"]))
    added = ["example.com/one", "example.com/two"]
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}, finalizers=added))
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}))
    api.get("configmaps", "a")


@case("a uid is a condition")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", uid=OTHER_UID))
    made = api.apply("configmaps", "a", config_map("a", data={"k": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}, uid=made.uid))
    api.apply("configmaps", "a", config_map("a", data={"k": "3"}, uid=OTHER_UID))


@case("a resource version is a condition")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", version="1"))
    made = api.apply("configmaps", "a", config_map("a", data={"k": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}, version=made.version))
    api.apply("configmaps", "a", config_map("a", data={"k": "3"}, version=made.version))
    api.apply("configmaps", "a", config_map("a", data={"k": "3"}, version="0"))
    api.apply("configmaps", "a", config_map("a", data={"k": "3"}, version="some"))


@case("an object that was deleted is created anew")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}))
    api.delete("configmaps", "a")
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}), "two")


@case("a watch sees what an apply changes")
def _(api: Api) -> None:
    with api.watching("configmaps") as stream:
        api.apply("configmaps", "a", config_map("a", data={"k": "1"}))
        api.apply("configmaps", "a", config_map("a", data={"k": "1"}))
        api.apply("configmaps", "a", config_map("a", data={"k": "1"}), "two")
        api.apply("configmaps", "a", config_map("a"))
        api.delete("configmaps", "a")
        stream.read(4)


@case("a configuration in YAML")
def _(api: Api) -> None:
    body = "# made by hand\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: &x '1'\n  l: *x\n"
    api.apply("configmaps", "a", body)
    api.apply("configmaps", "a", body + "---\n" + body.replace("name: a", "name: b"))
    api.apply("configmaps", "a", "---\n" + body)


@case("the response in YAML, as a table and as metadata alone")
def _(api: Api) -> None:
    for accept in (
        "application/json;as=Table;g=meta.k8s.io;v=v1",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    ):
        headers = {"Content-Type": "application/apply-patch+yaml", "Accept": accept}
        path = api.path("configmaps", "a")
        api.request("PATCH", path, config_map("a", data={"k": "1"}), query={"fieldManager": "one"}, headers=headers)


@case("secrets whose values are written as text")
def _(api: Api) -> None:
    body = {**named("v1", "Secret", "a"), "stringData": {"k": "1"}}
    api.apply("secrets", "a", body)
    api.apply("secrets", "a", body)
    api.apply("secrets", "a", {**named("v1", "Secret", "a"), "stringData": {"k": "2"}})
    api.apply("secrets", "a", named("v1", "Secret", "a"))
    api.apply("secrets", "a", {**named("v1", "Secret", "a"), "data": {"k": "Mw=="}}, "two")


@case("a service and its addresses")
def _(api: Api) -> None:
    api.apply("services", "a", service("a", spec={"selector": {"app": "a"}}))
    api.apply("services", "a", service("a", spec={"selector": {"app": "b"}}))
    api.apply("services", "a", service("a", spec={"type": "NodePort"}))
    api.apply("services", "a", service("a", spec={"type": "ClusterIP"}))


@case("what cannot be changed is not applied")
def _(api: Api) -> None:
    api.apply("configmaps", "a", {**config_map("a", data={"k": "1"}), "immutable": True})
    api.apply("configmaps", "a", {**config_map("a", data={"k": "2"}), "immutable": True})
    api.apply("configmaps", "a", {**config_map("a", data={"k": "1"})})
    api.apply("deployments", "a", deployment("a"))
    changed = deployment("a")
    changed["spec"]["selector"] = {"matchLabels": {"app": "b"}}
    api.apply("deployments", "a", changed)
    api.apply("pods", "a", pod("a"))
    api.apply("pods", "a", pod("a", spec={"hostname": "other"}))


@case("an invalid object is not applied")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"a key": "1"}))
    api.apply("configmaps", "A", config_map("A"))
    api.apply("deployments", "a", {**named("apps/v1", "Deployment", "a"), "spec": {"replicas": 1}})
    api.apply("deployments", "a", deployment("a", replicas=-1))
    api.apply("configmaps", "a", config_map("a", labels={"l": "not a label"}))


@case("a namespace, a node and a class of storage")
def _(api: Api) -> None:
    api.apply("namespaces", f"{api.namespace}-b", namespace(f"{api.namespace}-b", labels={"l": "1"}))
    api.apply("nodes", f"{api.namespace}-n", named("v1", "Node", f"{api.namespace}-n"))
    name = f"{api.namespace}-s"
    api.apply("storageclasses", name, named("storage.k8s.io/v1", "StorageClass", name, provisioner="example.com/p"))


@case("workloads of all kinds")
def _(api: Api) -> None:
    for kind in ("ReplicaSet", "StatefulSet", "DaemonSet"):
        api.apply(f"{kind.lower()}s", "a", workload(kind, "a"))
        api.apply(f"{kind.lower()}s", "a", workload(kind, "a", labels={"l": "1"}), "two")
    api.apply("jobs", "a", job("a"))
    api.apply("jobs", "a", job("a", labels={"l": "1"}), "two")


@case("rules of a role are one value")
def _(api: Api) -> None:
    pods = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    body = named("rbac.authorization.k8s.io/v1", "Role", "a")
    api.apply("roles", "a", {**body, "rules": [pods]})
    api.apply("roles", "a", {**body, "rules": [pods, {**pods, "verbs": ["list"]}]})
    api.apply("roles", "a", {**body, "rules": [pods]}, "two")
    api.apply("roles", "a", {**body, "rules": [pods]}, "two", force="true")


@case("binary data of a config map")
def _(api: Api) -> None:
    api.apply("configmaps", "a", {**config_map("a", data={"k": "1"}), "binaryData": {"b": "AAEC"}})
    api.apply("configmaps", "a", {**config_map("a", data={"k": "1"}), "binaryData": {"b": "AAED"}}, "two")
    api.apply("configmaps", "a", {**config_map("a"), "binaryData": {"b": "AAEC"}})


@case("keys with dots, slashes and other signs")
def _(api: Api) -> None:
    strange = {"example.com/a.b": "1", "k.l-m_n": "2"}
    api.apply("configmaps", "a", config_map("a", annotations=strange, data={".k": "1", "a..b": "2"}))
    api.apply("configmaps", "a", config_map("a", annotations={**strange, "k.l-m_n": "3"}), "two")
    api.apply("configmaps", "a", {**config_map("a"), "metadata": metadata("a", annotations={"x": "\n\u2028é"})})
