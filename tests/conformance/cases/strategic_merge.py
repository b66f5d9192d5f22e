"""PATCH with strategic merge patches: every directive, the order of lists, and the errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, named, pod, service

if TYPE_CHECKING:
    from tests.conformance.api import Api, CallResponse, Plain

case = area("Strategic merge")


def patch(api: Api, resource: str, body: object, **query: str) -> CallResponse:
    return api.patch(resource, "a", body, by="strategic", **query)


def in_pods(**spec: Any) -> Plain:
    """A patch of the pods of a workload."""
    return {"spec": {"template": {"spec": spec}}}


def named_items(*names: str) -> list[Plain]:
    return [{"name": name} for name in names]


def containers(*names: str) -> list[Plain]:
    return [{"name": name, "image": f"image-{name}"} for name in names]


def create_deployment(api: Api, **spec: Any) -> None:
    """Create a deployment with three containers."""
    made = deployment("a")
    made["spec"]["template"]["spec"] = {"containers": containers("a", "b", "c"), **spec}
    api.create("deployments", made)


@case("objects are merged, and null removes a field")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"metadata": {"labels": {"one": "1", "two": "2"}}})
    patch(api, "deployments", {"metadata": {"labels": {"one": None, "three": "3"}}})


@case("containers are merged by their names")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(containers=[{"name": "b", "image": "other"}]))


@case("a new container comes first")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(containers=containers("d")))


@case("new and present containers come in the order of the patch")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(containers=containers("c", "d", "a")))


@case("a container without a name is refused")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(containers=[{"image": "other"}]))


@case("a container twice in a patch is merged twice")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(containers=[{"name": "d", "image": "1"}, {"name": "d", "image": "2"}]))


@case("a container is deleted by its name")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(containers=[{"name": "b", "$patch": "delete"}]))
    patch(api, "deployments", in_pods(containers=[{"name": "unknown", "$patch": "delete"}]))


@case("deleting without a name is refused")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(containers=[{"$patch": "delete"}]))


@case("deleting all containers is invalid")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(containers=[{"name": each, "$patch": "delete"} for each in "abc"]))


@case("a list is replaced")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(containers=[{"$patch": "replace"}, *containers("d")]))
    patch(api, "deployments", in_pods(containers=[*containers("e"), {"$patch": "replace"}]))


@case("a list cannot be merged by directive")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(containers=[{"name": "a", "$patch": "merge"}]))


@case("unknown directives are refused")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(containers=[{"name": "a", "$patch": "other"}]))
    patch(api, "deployments", in_pods(**{"$patch": "other"}))
    patch(api, "deployments", in_pods(**{"$patch": "merge"}))
    patch(api, "deployments", in_pods(**{"$patch": 1}))
    patch(api, "deployments", in_pods(**{"$patch": None}))


@case("an object is replaced")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"metadata": {"labels": {"one": "1"}}})
    patch(api, "deployments", {"metadata": {"labels": {"$patch": "replace", "two": "2"}}})


@case("an object is emptied")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"metadata": {"annotations": {"one": "1"}}})
    patch(api, "deployments", {"metadata": {"annotations": {"$patch": "delete"}}})


@case("a directive for what is not there is dropped")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"metadata": {"annotations": {"$patch": "replace", "one": "1"}}})
    patch(api, "deployments", in_pods(volumes=[{"name": "v", "$patch": "delete"}]))
    patch(api, "deployments", in_pods(affinity={"$patch": "delete"}))


@case("deleting or replacing the whole object is refused")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"$patch": "delete"})
    patch(api, "deployments", {"$patch": "replace", "spec": {"replicas": 2}})


@case("the template cannot be emptied")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"spec": {"template": {"$patch": "delete"}}})


@case("an order moves containers")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(**{"$setElementOrder/containers": named_items("c", "a", "b")}))


@case("an order that names some containers leaves the others in place")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(**{"$setElementOrder/containers": named_items("c", "a")}))
    patch(api, "deployments", in_pods(**{"$setElementOrder/containers": named_items("b")}))


@case("an order places a new container")
def _(api: Api) -> None:
    create_deployment(api)
    patch(
        api,
        "deployments",
        in_pods(containers=containers("d"), **{"$setElementOrder/containers": named_items("a", "d", "b")}),
    )


@case("an order with a deletion and a new container")
def _(api: Api) -> None:
    create_deployment(api)
    patch(
        api,
        "deployments",
        in_pods(
            containers=[*containers("d"), {"name": "a", "$patch": "delete"}],
            **{"$setElementOrder/containers": named_items("d")},
        ),
    )


@case("an order with the last container deleted")
def _(api: Api) -> None:
    create_deployment(api)
    patch(
        api,
        "deployments",
        in_pods(
            containers=[*containers("d"), {"name": "c", "$patch": "delete"}],
            **{"$setElementOrder/containers": named_items("d", "b")},
        ),
    )


@case("an order that lacks a patched container is refused")
def _(api: Api) -> None:
    create_deployment(api)
    patch(
        api,
        "deployments",
        in_pods(containers=containers("d"), **{"$setElementOrder/containers": named_items("a")}),
    )


@case("an order that contradicts the patch is refused")
def _(api: Api) -> None:
    create_deployment(api)
    patch(
        api,
        "deployments",
        in_pods(containers=containers("b", "a"), **{"$setElementOrder/containers": named_items("a", "b")}),
    )


@case("an order that is empty orders nothing")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(containers=containers("d"), **{"$setElementOrder/containers": []}))


@case("an order of a list that is not there does nothing")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(**{"$setElementOrder/volumes": named_items("v")}))
    patch(api, "deployments", in_pods(**{"$setElementOrder/Volumes": []}))


@case("an order that is no list is refused")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(**{"$setElementOrder/containers": "a"}))
    patch(api, "deployments", in_pods(**{"$setElementOrder/containers": None}))


@case("an order of things without merge keys is refused")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(**{"$setElementOrder/containers": [{}]}))
    patch(api, "deployments", in_pods(**{"$setElementOrder/containers": ["a"]}))


@case("an order of an unknown field is refused")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(**{"$setElementOrder/unknown": []}))
    patch(api, "deployments", in_pods(**{"$setElementOrder": []}))
    patch(api, "deployments", in_pods(**{"$setElementOrder/nodeName": []}))


@case("an order in a map is refused")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"metadata": {"labels": {"one": "1"}}})
    patch(api, "deployments", {"metadata": {"labels": {"$setElementOrder/one": []}}})


@case("finalizers are united")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["example.com/a", "example.com/b"]))
    patch(api, "configmaps", {"metadata": {"finalizers": ["example.com/c", "example.com/b"]}})


@case("finalizers are deleted")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["example.com/a", "example.com/b", "example.com/c"]))
    patch(
        api,
        "configmaps",
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/b", "example.com/x"]}},
    )
    patch(
        api,
        "configmaps",
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a", "example.com/c"]}},
    )
    patch(api, "configmaps", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}})


@case("finalizers are ordered")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["example.com/a", "example.com/b", "example.com/c"]))
    patch(api, "configmaps", {"metadata": {"$setElementOrder/finalizers": ["example.com/c", "example.com/a"]}})
    order = ["example.com/d", "example.com/a"]
    patch(
        api,
        "configmaps",
        {"metadata": {"finalizers": ["example.com/d"], "$setElementOrder/finalizers": order}},
    )


@case("finalizers of the wrong type are refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["example.com/a"]))
    wrong: object
    for wrong in ([1], [None], "example.com/b", {}, [["example.com/b"]]):
        patch(api, "configmaps", {"metadata": {"finalizers": wrong}})


@case("the last finalizer of a deleted object is removed")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["example.com/a"]))
    api.delete("configmaps", "a")
    patch(api, "configmaps", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}})
    api.get("configmaps", "a")


@case("deletions from what is no list of scalars")
def _(api: Api) -> None:
    create_deployment(api, tolerations=[{"key": "a", "operator": "Exists"}])
    patch(api, "deployments", in_pods(**{"$deleteFromPrimitiveList/tolerations": [{"key": "a"}]}))
    patch(
        api,
        "deployments",
        in_pods(**{"$deleteFromPrimitiveList/containers": [{"name": "a", "$patch": "delete"}]}),
    )
    patch(api, "deployments", in_pods(**{"$deleteFromPrimitiveList/unknown": ["a"]}))
    patch(api, "deployments", in_pods(**{"$deleteFromPrimitiveList": ["a"]}))
    patch(api, "deployments", in_pods(**{"$deleteFromPrimitiveList/dnsPolicy": ["a"]}))


@case("owner references are merged by their uids")
def _(api: Api) -> None:
    owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": each, "uid": f"uid-{each}"} for each in "ab"]
    api.create("configmaps", config_map("a", ownerReferences=owners))
    patch(api, "configmaps", {"metadata": {"ownerReferences": [{"uid": "uid-b", "name": "other"}]}})
    patch(api, "configmaps", {"metadata": {"ownerReferences": [{"uid": "uid-a", "$patch": "delete"}]}})
    patch(api, "configmaps", {"metadata": {"ownerReferences": [{"name": "a"}]}})


@case("keys are retained")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}})
    patch(
        api,
        "deployments",
        {
            "spec": {
                "strategy": {
                    "$retainKeys": ["type", "rollingUpdate"],
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxSurge": 1},
                }
            }
        },
    )


@case("keys are retained where the type does not say so")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"metadata": {"labels": {"one": "1", "two": "2"}}})
    patch(api, "deployments", {"metadata": {"labels": {"$retainKeys": ["two"]}}})


@case("a patch of keys that are not retained is refused")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"spec": {"strategy": {"$retainKeys": ["rollingUpdate"], "type": "Recreate"}}})
    patch(api, "deployments", {"spec": {"strategy": {"$retainKeys": "type", "type": "Recreate"}}})


@case("a strategy without its retained keys is invalid")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"spec": {"strategy": {"type": "Recreate"}}})


@case("the source of a volume is replaced with retained keys")
def _(api: Api) -> None:
    create_deployment(api, volumes=[{"name": "v", "emptyDir": {}}])
    source = {"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "c"}}
    patch(api, "deployments", in_pods(volumes=[source]))
    patch(api, "deployments", in_pods(volumes=[{"name": "v", "emptyDir": {}}]))


@case("directives within a new container are unknown fields")
def _(api: Api) -> None:
    create_deployment(api)
    patch(
        api,
        "deployments",
        in_pods(containers=[{"name": "d", "image": "i", "$retainKeys": ["name"], "$setElementOrder/env": []}]),
    )
    patch(
        api,
        "deployments",
        in_pods(containers=[{"name": "e", "image": "i", "$retainKeys": ["name"]}]),
        fieldValidation="Strict",
    )


@case("nulls in something new are dropped or zero")
def _(api: Api) -> None:
    create_deployment(api)
    patch(
        api,
        "deployments",
        in_pods(containers=[{"name": "d", "image": "i", "command": None, "env": [{"name": "E", "value": None}]}]),
    )
    patch(api, "deployments", in_pods(affinity={"nodeAffinity": None}))
    patch(api, "deployments", in_pods(containers=[{"name": "a", "args": [None, "x"]}]))


@case("defaults come back for what is removed")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"spec": {"replicas": None, "strategy": None}})
    patch(api, "deployments", in_pods(dnsPolicy=None, restartPolicy=None, securityContext=None))


@case("lists without a strategy are replaced")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(tolerations=[{"key": "a", "operator": "Exists"}]))
    patch(api, "deployments", in_pods(tolerations=[{"key": "b", "operator": "Exists"}]))
    patch(api, "deployments", in_pods(tolerations=[]))


@case("kind and apiVersion in a patch are ignored")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"kind": "Pod", "apiVersion": "v9", "spec": {"replicas": 2}})
    patch(api, "deployments", {"kind": None, "apiVersion": ""})
    patch(api, "deployments", {"kind": 1})


@case("the name of the object stays")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"metadata": {"name": "b"}})
    patch(api, "deployments", {"metadata": {"name": None}})
    patch(api, "deployments", {"metadata": None})
    patch(api, "deployments", {"metadata": {"namespace": "other"}})


@case("a namespace in a patch of a cluster-scoped object is ignored")
def _(api: Api) -> None:
    name = f"{api.namespace}-class"
    api.create("priorityclasses", named("scheduling.k8s.io/v1", "PriorityClass", name, value=1))
    api.patch("priorityclasses", name, {"metadata": {"namespace": "default", "labels": {"a": "1"}}}, by="strategic")


@case("a version in a patch is a condition")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"metadata": {"resourceVersion": "1"}, "spec": {"replicas": 2}})
    patch(api, "deployments", {"metadata": {"resourceVersion": ""}, "spec": {"replicas": 3}})


@case("a patch that changes nothing leaves the version")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {})
    patch(api, "deployments", "null")
    patch(api, "deployments", in_pods(containers=containers("a")))


@case("a patch that is no object is refused")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", [])
    patch(api, "deployments", '"text"')
    patch(api, "deployments", "1")
    patch(api, "deployments", "{")
    patch(api, "deployments", "")
    patch(api, "deployments", "{} x")


@case("a value of the wrong type is refused")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"spec": "text"})
    patch(api, "deployments", {"spec": []})
    patch(api, "deployments", {"spec": {"replicas": "three"}})
    patch(api, "deployments", {"spec": {"replicas": True}})
    patch(api, "deployments", {"spec": {"replicas": 1.5}})
    patch(api, "deployments", {"spec": {"paused": "no"}})
    patch(api, "deployments", {"spec": {"template": 1}})
    patch(api, "deployments", {"metadata": {"labels": {"one": 1}}})
    patch(api, "deployments", {"metadata": {"labels": {"one": {}}}})
    patch(api, "deployments", {"metadata": {"labels": "one"}})
    patch(api, "deployments", {"metadata": {"creationTimestamp": "now"}})
    patch(api, "deployments", {"metadata": {"creationTimestamp": 1}})
    patch(api, "deployments", in_pods(containers="a"))
    patch(api, "deployments", in_pods(containers={}))
    patch(api, "deployments", in_pods(containers=[{"name": "a", "image": 1}]))
    patch(
        api,
        "deployments",
        in_pods(containers=[{"name": "a", "ports": [{"containerPort": 80, "protocol": 1}]}]),
    )
    patch(api, "deployments", in_pods(containers=[{"name": "a", "securityContext": {"runAsUser": "root"}}]))


@case("items of the wrong type are refused")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(containers=["a"]))
    patch(api, "deployments", in_pods(containers=[None]))
    patch(api, "deployments", in_pods(containers=[1]))
    patch(api, "deployments", in_pods(containers=[["a"]]))
    patch(api, "deployments", in_pods(containers=[{"name": 1}]))


@case("quantities and ports of the wrong type are refused")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", in_pods(containers=[{"name": "a", "resources": {"limits": {"cpu": "many"}}}]))
    patch(api, "deployments", in_pods(containers=[{"name": "a", "resources": {"limits": {"cpu": True}}}]))
    patch(api, "deployments", in_pods(containers=[{"name": "a", "resources": {"limits": {"cpu": 1.5}}}]))
    patch(api, "deployments", in_pods(containers=[{"name": "a", "livenessProbe": {"httpGet": {"port": 1.5}}}]))
    patch(api, "deployments", in_pods(containers=[{"name": "a", "livenessProbe": {"httpGet": {"port": True}}}]))
    patch(api, "deployments", in_pods(containers=[{"name": "a", "livenessProbe": {"httpGet": {"port": 80.0}}}]))


@case("integers wrap around and whole floats are integers")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", '{"spec": {"replicas": 4294967298}}')
    patch(api, "deployments", '{"spec": {"replicas": 3.0}}')
    patch(api, "deployments", '{"spec": {"replicas": 1e1}}')
    patch(api, "deployments", '{"spec": {"revisionHistoryLimit": 12345678901234567890}}')


@case("unknown fields are warned of, refused or ignored")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"unknown": 1, "spec": {"zebra": 1, "ant": 2}})
    patch(api, "deployments", {"unknown": 1, "spec": {"zebra": 1, "ant": 2}}, fieldValidation="Strict")
    patch(api, "deployments", {"unknown": 1, "spec": {"zebra": 1, "ant": 2}}, fieldValidation="Ignore")


@case("duplicate fields are warned of, refused or ignored")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", '{"spec": {"replicas": 1, "replicas": 2, "ant": 1}, "spec": {}}')
    patch(
        api,
        "deployments",
        '{"spec": {"replicas": 1, "replicas": 2, "ant": 1}, "spec": {}}',
        fieldValidation="Strict",
    )
    patch(
        api,
        "deployments",
        '{"spec": {"replicas": 1, "replicas": 2, "ant": 1}, "spec": {}}',
        fieldValidation="Ignore",
    )


@case("fields are unknown if their case differs")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"Spec": {"replicas": 3}})
    patch(api, "deployments", {"spec": {"Replicas": 3}}, fieldValidation="Strict")


@case("a dry run stores nothing")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"spec": {"replicas": 7}}, dryRun="All")
    api.get("deployments", "a")


@case("the generation rises with the spec alone")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"metadata": {"labels": {"l": "1"}}})
    patch(api, "deployments", {"spec": {"replicas": 2}})
    patch(api, "deployments", {"spec": {"replicas": 2}})


@case("an invalid result is refused")
def _(api: Api) -> None:
    create_deployment(api)
    patch(api, "deployments", {"spec": {"replicas": -1}})
    patch(api, "deployments", {"spec": {"selector": {"matchLabels": {"other": "x"}}}})
    patch(api, "deployments", in_pods(containers=[{"name": "d"}]))


@case("what is not there cannot be patched")
def _(api: Api) -> None:
    patch(api, "deployments", {})
    patch(api, "leases", {"spec": {"holderIdentity": "me"}})
    patch(api, "deployments", "[]")


@case("ports of a service are merged by their numbers")
def _(api: Api) -> None:
    ports = [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]
    api.create("services", service("a", spec={"ports": ports, "clusterIP": "None"}))
    patch(api, "services", {"spec": {"ports": [{"port": 81, "targetPort": 8081}]}})
    patch(api, "services", {"spec": {"ports": [{"port": 80, "$patch": "delete"}, {"port": 82, "name": "c"}]}})
    patch(api, "services", {"spec": {"ports": [{"port": "80", "name": "d"}]}})
    patch(api, "services", {"spec": {"ports": [{"name": "d"}]}})


@case("ports of a container with one number and two protocols")
def _(api: Api) -> None:
    ports = [{"containerPort": 53, "protocol": each} for each in ("TCP", "UDP")]
    made = deployment("a")
    made["spec"]["template"]["spec"]["containers"][0]["ports"] = ports
    api.create("deployments", made)
    change = {"name": "main", "ports": [{"containerPort": 53, "protocol": "UDP", "name": "dns"}]}
    patch(api, "deployments", in_pods(containers=[change]))
    gone = {"name": "main", "ports": [{"containerPort": 53, "$patch": "delete"}]}
    patch(api, "deployments", in_pods(containers=[gone]))


@case("environment variables keep their order")
def _(api: Api) -> None:
    made = deployment("a")
    made["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": each, "value": "1"} for each in "ABCD"]
    api.create("deployments", made)
    env = [{"name": "D", "value": "2"}, {"name": "E", "value": "2"}, {"name": "B", "$patch": "delete"}]
    patch(api, "deployments", in_pods(containers=[{"name": "main", "env": env}]))


@case("references of a service account are reduced to names")
def _(api: Api) -> None:
    account = named("v1", "ServiceAccount", "a", secrets=[{"name": "s", "namespace": "other", "uid": "u"}])
    api.create("serviceaccounts", account)
    patch(
        api,
        "serviceaccounts",
        {"secrets": [{"name": "t", "kind": "Secret"}], "imagePullSecrets": [{"name": "p"}]},
    )
    patch(api, "serviceaccounts", {"imagePullSecrets": [{"name": "q"}]})


@case("data of config maps and secrets")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"one": "1"}))
    patch(api, "configmaps", {"data": {"one": None, "two": "2"}, "binaryData": {"three": "Mw=="}})
    patch(api, "configmaps", {"data": None})
    api.create("secrets", named("v1", "Secret", "a", data={"one": "MQ=="}))
    data: Plain
    for data in (
        {"two": "!"},
        {"two": "x"},
        {"two": 2},
        {"two": []},
        {"two": [50, 51]},
        {"two": ["x"]},
        {"one": None},
    ):
        patch(api, "secrets", {"data": data})
    patch(api, "secrets", {"stringData": {"four": "4"}})


@case("the status is patched on its own path")
def _(api: Api) -> None:
    create_deployment(api)
    for kind in ("One", "Two", "One"):
        condition = {"type": kind, "status": "True", "lastUpdateTime": "2026-01-01T00:00:00Z"}
        body = {
            "status": {"conditions": [{**condition, "lastTransitionTime": None}], "replicas": 1},
            "spec": {"replicas": 9},
        }
        api.patch("deployments", "a/status", body, by="strategic")
    api.patch("deployments", "a/status", {"status": {"conditions": [{"status": "True"}]}}, by="strategic")
    patch(api, "deployments", {"status": {"replicas": 5}})


@case("the scale is patched")
def _(api: Api) -> None:
    create_deployment(api)
    for body in (
        {"spec": {"replicas": 3}},
        {"spec": {"replicas": -1}},
        {"spec": {"replicas": "x"}},
        {"spec": None},
        {"metadata": {"name": "b"}},
        {"$patch": "x"},
        {"spec": {"unknown": 1}},
    ):
        api.patch("deployments", "a/scale", body, by="strategic")
    api.get("deployments", "a")


@case("ephemeral containers are added to a pod")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    debugger = {"name": "debug", "image": "i", "targetContainerName": "main"}
    api.patch("pods", "a/ephemeralcontainers", {"spec": {"ephemeralContainers": [debugger]}}, by="strategic")
    api.patch(
        "pods",
        "a/ephemeralcontainers",
        {"spec": {"ephemeralContainers": [{"name": "debug", "image": "j"}]}},
        by="strategic",
    )
    gone = {"spec": {"ephemeralContainers": None}}
    api.patch("pods", "a/ephemeralcontainers", gone, by="strategic")
    patch(api, "pods", {"spec": {"ephemeralContainers": [{"name": "other", "image": "i"}]}})


@case("a pod is resized")
def _(api: Api) -> None:
    limits = {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
    api.create("pods", pod("a", spec={"containers": [{"name": "main", "image": "i", "resources": limits}]}))
    more = {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}
    body = {"spec": {"containers": [{"name": "main", "resources": more}]}}
    api.patch("pods", "a/resize", body, by="strategic")


@case("the image of a pod is changed, and little else")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    patch(api, "pods", {"spec": {"containers": [{"name": "main", "image": "other"}]}})
    patch(api, "pods", {"metadata": {"annotations": {"one": "1"}}, "spec": {"activeDeadlineSeconds": 10}})


@case("conditions of a pod are merged by their types")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    for kind, value in (("Ready", "False"), ("Other", "True"), ("Ready", "True")):
        condition = {"type": kind, "status": value, "lastTransitionTime": "2026-01-01T00:00:00Z"}
        api.patch("pods", "a/status", {"status": {"conditions": [condition]}}, by="strategic")
    order = {"$setElementOrder/conditions": [{"type": "Other"}, {"type": "Ready"}]}
    api.patch("pods", "a/status", {"status": order}, by="strategic")
    gone = {"conditions": [{"type": "Other", "$patch": "delete"}]}
    api.patch("pods", "a/status", {"status": gone}, by="strategic")


@case("the rules of a role are replaced")
def _(api: Api) -> None:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    api.create("roles", named("rbac.authorization.k8s.io/v1", "Role", "a", rules=[rule]))
    patch(api, "roles", {"rules": [{**rule, "verbs": ["list"]}]})
    patch(api, "roles", {"rules": None})


@case("webhooks are merged by their names")
def _(api: Api) -> None:
    hooks = [
        {
            "name": f"{each}.example.com",
            "clientConfig": {"url": "https://example.com"},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        for each in "ab"
    ]
    name = f"{api.namespace}-hooks"
    kind = "ValidatingWebhookConfiguration"
    resource = "admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    api.create(resource, named("admissionregistration.k8s.io/v1", kind, name, webhooks=hooks))
    change = [{"name": "b.example.com", "timeoutSeconds": 3}, {"name": "a.example.com", "$patch": "delete"}]
    api.patch(resource, name, {"webhooks": change}, by="strategic")


@case("older versions of a kind are patched")
def _(api: Api) -> None:
    scaler = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        "maxReplicas": 3,
    }
    api.create("horizontalpodautoscalers", named("autoscaling/v2", "HorizontalPodAutoscaler", "a", spec=scaler))
    change = {"spec": {"targetCPUUtilizationPercentage": 50, "maxReplicas": 4}}
    api.patch("autoscaling/v1/horizontalpodautoscalers", "a", change, by="strategic")
    api.get("horizontalpodautoscalers", "a")
