"""POST to a collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, job, named, pod

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Creating")


@case("an object gets a uid, a time and a version")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "v"}))
    api.get("configmaps", "a")


@case("uid, version, time and generation in the body are dropped or refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map("uid", uid="11111111-2222-3333-4444-555555555555"))
    api.create("configmaps", config_map("time", creationTimestamp="2001-02-03T04:05:06Z"))
    api.create("configmaps", config_map("generation", generation=7))
    api.create("configmaps", config_map("self-link", selfLink="/nowhere"))
    api.create("deployments", deployment("generation", generation=7))


@case("a resourceVersion in the body is refused if it is a positive number, and ignored otherwise")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", version="1"))
    api.create("configmaps", config_map("b", version="abc"))
    api.create("configmaps", config_map("c", version="0"))


@case("a deletionTimestamp in the body is ignored")
def _(api: Api) -> None:
    marked: Plain = {"deletionTimestamp": "2001-02-03T04:05:06Z", "deletionGracePeriodSeconds": 3}
    api.create("configmaps", config_map("a", finalizers=["example.com/a"], **marked))


@case("a second object of a name is refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("a", data={"other": "data"}))
    api.create("deployments", deployment("a"))
    api.create("deployments", deployment("a"))


@case("a name that comes again after a delete is another object")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a")
    api.create("configmaps", config_map("a"))


@case("the same name may stand in two kinds")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.create("secrets", named("v1", "Secret", "a"))


@case("a name is made from generateName")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map(generateName="a-"))
    api.create("configmaps", config_map(generateName="a-"))
    api.get("configmaps", made.name)


@case("a name that is taken is refused although generateName would make another")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map(generateName="a-"))
    api.create("configmaps", config_map(made.name, generateName="a-"))


@case("a name goes before generateName")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", generateName="b-"))


@case("a long generateName is cut")
def _(api: Api) -> None:
    api.create("configmaps", config_map(generateName="a" * 70))


@case("a generateName that makes no valid name is refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map(generateName="A_"))
    api.create("configmaps", config_map(generateName="-"))


@case("an object without a name is refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map())
    api.create("pods", pod())
    api.create("deployments", deployment())
    api.create("configmaps", {"apiVersion": "v1", "kind": "ConfigMap"})


@case("kind and apiVersion may be left out")
def _(api: Api) -> None:
    api.create("configmaps", {"metadata": {"name": "a"}})
    api.create("deployments", {"metadata": {"name": "a"}, "spec": deployment("a")["spec"]})


@case("the namespace of the body may be left out or be that of the path")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b", namespace=api.namespace))


@case("another namespace in the body is refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", namespace="default"))
    api.create("deployments", deployment("a", namespace="default"))


@case("a namespaced kind is not created without a namespace in the path")
def _(api: Api) -> None:
    api.request("POST", "/api/v1/configmaps", config_map("a"))
    api.request("POST", "/apis/apps/v1/deployments", deployment("a", namespace=api.namespace))


@case("a cluster-scoped kind has no namespace")
def _(api: Api) -> None:
    name = f"{api.namespace}-role"
    role = named("rbac.authorization.k8s.io/v1", "ClusterRole", name, rules=[])
    role["metadata"]["namespace"] = api.namespace
    api.create("clusterroles", role)


@case("create with the name in the path is not allowed")
def _(api: Api) -> None:
    api.request("POST", api.path("configmaps", "a"), config_map("a"))


@case("labels, annotations, owners and finalizers are kept as they are")
def _(api: Api) -> None:
    owner = api.create("configmaps", config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid}
    api.create(
        "configmaps",
        config_map(
            "a",
            labels={"app": "a", "example.com/b": ""},
            annotations={"example.com/long": "words " * 10},
            finalizers=["example.com/one", "example.com/two"],
            ownerReferences=[{**reference, "controller": True, "blockOwnerDeletion": True}],
        ),
    )


@case("empty maps and lists of metadata are left out of the response")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", labels={}, annotations={}, finalizers=[], ownerReferences=[]))


@case("null is the same as nothing")
def _(api: Api) -> None:
    body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a", "labels": None}, "data": None}
    api.create("configmaps", body)


@case("a field manager may give its name")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"), fieldManager="me")


@case("a field manager's name is checked")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"), fieldManager="m" * 129)
    api.create("configmaps", config_map("b"), fieldManager="bad\u0007name")


@case("status is dropped where it is a subresource")
def _(api: Api) -> None:
    api.create("deployments", {**deployment("a"), "status": {"replicas": 5, "readyReplicas": 5}})
    api.create("pods", {**pod("a"), "status": {"phase": "Running", "podIP": "192.0.2.1"}})
    api.create("jobs", {**job("a"), "status": {"succeeded": 1}})


@case("a dangling owner is taken")
def _(api: Api) -> None:
    uid = "11111111-2222-3333-4444-555555555555"
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": uid}
    api.create("configmaps", config_map("a", ownerReferences=[reference]))


@case("create returns 201 without a Location header")
def _(api: Api) -> None:
    api.request("POST", api.path("configmaps"), config_map("a"), compare=("Location", "Cache-Control", "ETag"))
