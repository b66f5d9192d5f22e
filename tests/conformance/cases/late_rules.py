"""Rules that were missing: scaling policies, networks of nodes, node affinity of volumes, error texts, reviews."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.cases.custom_validation import widget
from tests.conformance.definitions import NUMBER, TEXT, definition, install, object_of, resource_of
from tests.conformance.objects import named

if TYPE_CHECKING:
    from tests.conformance.api import Api, CallResponse, Plain

case = area("Rules of single fields")

ACCESS = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
METADATA: list[Plain] = [
    {},
    {"name": "a"},
    {"labels": {"b c": "d e"}, "finalizers": ["a"]},
    {"namespace": "other"},
    {"uid": "a", "creationTimestamp": "2001-02-03T04:05:06Z"},
]


def create_node(api: Api, **spec: object) -> CallResponse:
    return api.create("nodes", named("v1", "Node", f"{api.namespace}-a", spec=spec), dryRun="All")


def volume(api: Api, affinity: object) -> Plain:
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/a"},
        "nodeAffinity": affinity,
    }
    return named("v1", "PersistentVolume", f"{api.namespace}-a", spec=spec)


def create_volume(api: Api, *terms: Plain) -> CallResponse:
    body = volume(api, {"required": {"nodeSelectorTerms": list(terms)}})
    return api.create("persistentvolumes", body, dryRun="All")


@case("a scaler has at least one policy for a direction")
def _(api: Api) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
    behavior: Plain
    for behavior in (
        {"scaleDown": {"policies": []}},
        {"scaleUp": {"policies": []}},
        {"scaleDown": {"policies": None}, "scaleUp": {}},
        {"scaleDown": {"policies": [{}]}},
    ):
        spec = {"maxReplicas": 2, "scaleTargetRef": target, "behavior": behavior}
        body = named("autoscaling/v2", "HorizontalPodAutoscaler", "a", spec=spec)
        api.create("horizontalpodautoscalers", body, dryRun="All")


@case("a node has one network of each family")
def _(api: Api) -> None:
    for networks in (
        ["10.0.0.0/24", "fd00::/64"],
        ["10.0.0.0/24", "10.0.1.0/24"],
        ["10.0.0.0/24", "fd00::/64", "fd01::/64"],
        ["10.0.0.0/24", "a"],
        ["a"],
        [],
    ):
        create_node(api, podCIDRs=networks)


@case("a network of a node is written as its first address")
def _(api: Api) -> None:
    for network in ("10.0.0.1/24", "010.0.0.0/24", "10.0.0.0/024", "::ffff:10.0.0.0/120", "FD00::/64", "10.0.0.0"):
        create_node(api, podCIDR=network)


@case("the networks of a node do not change")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    api.create("nodes", named("v1", "Node", name, spec={"podCIDR": "10.0.0.0/24"}))
    for spec in ({"podCIDR": "10.0.1.0/24"}, {"podCIDRs": ["10.0.0.0/24", "fd00::/64"]}, {"podCIDR": None}):
        api.patch("nodes", name, {"spec": spec}, dryRun="All")
    api.delete("nodes", name)


@case("the node affinity of a volume has terms")
def _(api: Api) -> None:
    affinity: Plain
    for affinity in ({}, {"required": {}}, {"required": {"nodeSelectorTerms": [{}]}}):
        api.create("persistentvolumes", volume(api, affinity), dryRun="All")


@case("the node affinity of a volume has known operators")
def _(api: Api) -> None:
    for operator in ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Other", ""):
        for values in ([], ["1"], ["a b"], ["1", "2"]):
            create_volume(api, {"matchExpressions": [{"key": "a", "operator": operator, "values": values}]})


@case("the node affinity of a volume names nodes")
def _(api: Api) -> None:
    for key in ("metadata.name", "metadata.uid"):
        for operator in ("In", "Exists"):
            for values in ([], ["a"], ["A"], ["a", "b"]):
                create_volume(api, {"matchFields": [{"key": key, "operator": operator, "values": values}]})


@case("the node affinity of a volume does not change")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    old = {"key": "failure-domain.beta.kubernetes.io/zone", "operator": "In", "values": ["a"]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [old]}]}}
    api.create("persistentvolumes", volume(api, affinity))
    for key in ("topology.kubernetes.io/zone", "topology.kubernetes.io/region", "a"):
        terms = [{"matchExpressions": [{**old, "key": key}]}]
        change = {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}}
        api.patch("persistentvolumes", name, change, dryRun="All")
    api.patch("persistentvolumes", name, {"spec": {"nodeAffinity": None}}, dryRun="All")
    api.delete("persistentvolumes", name)


@case("addresses of services and pods have no leading zeros")
def _(api: Api) -> None:
    for address in ("010.0.0.1", "::ffff:10.0.0.1", "10.0.0.1", "FD00::1", "fe80::1%eth0"):
        spec = {"containers": [{"name": "a", "image": "a"}], "hostAliases": [{"ip": address, "hostnames": ["a"]}]}
        api.create("pods", named("v1", "Pod", "a", spec=spec), dryRun="All")
        service = {"ports": [{"port": 80}], "externalIPs": [address]}
        api.create("services", named("v1", "Service", "a", spec=service), dryRun="All")


@case("networks of policies have no bits beyond their length")
def _(api: Api) -> None:
    for network in ("10.0.0.1/24", "010.0.0.0/24", "::ffff:10.0.0.0/120", "10.0.0.0/24"):
        spec = {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": network}}]}]}
        body = named("networking.k8s.io/v1", "NetworkPolicy", "a", spec=spec)
        api.create("networkpolicies", body, dryRun="All")


@case("the error of a value of an enum shows it as JSON")
def _(api: Api) -> None:
    spec = {"containers": [{"name": "a", "image": "a", "imagePullPolicy": "<a & b>"}], "restartPolicy": "<c>"}
    api.create("pods", named("v1", "Pod", "a", spec=spec), dryRun="All")
    ports = [{"port": 80, "protocol": "<a>"}]
    api.create("services", named("v1", "Service", "a", spec={"ports": ports, "type": "<b>"}), dryRun="All")


@case("the error of a struct shows empty lists and maps")
def _(api: Api) -> None:
    template: Plain = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    spec = {"template": {**template, "spec": {**template["spec"], "restartPolicy": "Never"}}}
    api.create("jobs", named("batch/v1", "Job", "a", spec=spec))
    changed = {
        "containers": [{"name": "a", "image": "b", "args": [], "env": []}],
        "tolerations": [],
        "nodeSelector": {},
    }
    api.patch("jobs", "a", {"spec": {"template": {"spec": changed}}}, dryRun="All")


@case("an access review has no metadata")
def _(api: Api) -> None:
    for metadata in METADATA:
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": ACCESS}
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        api.request("POST", path, {**body, "metadata": metadata})


@case("a local access review has the namespace of its path")
def _(api: Api) -> None:
    spec = {**ACCESS, "user": "a"}
    spec["resourceAttributes"] = {**ACCESS["resourceAttributes"], "namespace": api.namespace}
    path = f"/apis/authorization.k8s.io/v1/namespaces/{api.namespace}/localsubjectaccessreviews"
    for metadata in METADATA:
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview", "spec": spec}
        api.request("POST", path, {**body, "metadata": metadata}, pick=_without_status)


def _without_status(body: Plain) -> Plain:
    return body if body.get("kind") == "Status" else {name: body[name] for name in body if name != "status"}


@case("a review of a token and of oneself has a response of its own")
def _(api: Api) -> None:
    for metadata in METADATA:
        for resource, kind, spec in (
            ("tokenreviews", "TokenReview", {"token": "a"}),
            ("selfsubjectreviews", "SelfSubjectReview", {}),
        ):
            body = {"apiVersion": "authentication.k8s.io/v1", "kind": kind, "spec": spec, "metadata": metadata}
            path = f"/apis/authentication.k8s.io/v1/{resource}"
            api.request("POST", path, body, pick=lambda found: found.get("metadata"))


STATUS = object_of(phase={**TEXT, "default": "New"}, count={**NUMBER, "default": 0}) | {"default": {}}


@case("a new custom resource has the defaults of its status")
def _(api: Api) -> None:
    schema = object_of(spec=object_of(a=NUMBER), status=STATUS)
    install(api, definition(api, schema, version={"subresources": {"status": {}}}))
    resource = resource_of(api)
    api.create(resource, widget(api, {"a": 1}))
    api.get(resource, "a")
    api.patch(resource, "a/status", {"status": {"count": 5}})
    api.patch(resource, "a/status", {"status": {"count": None}})
    api.patch(resource, "a/status", {"status": None})
    api.patch(resource, "a", {"status": {"count": 3}})


@case("rules are not checked for an object without a name")
def _(api: Api) -> None:
    rule = {"rule": "self != 'bad'"}
    install(api, definition(api, object_of(spec=object_of(a={**TEXT, "x-kubernetes-validations": [rule]}))))
    for metadata in ({"name": "a"}, {"name": "A_"}, {}):
        body = {**widget(api, {"a": "bad"}), "metadata": metadata}
        api.create(resource_of(api), body, dryRun="All")


@case("the error of a changed pod shows its volumes and constraints in full")
def _(api: Api) -> None:
    constraint = {"maxSkew": 1, "topologyKey": "a b", "whenUnsatisfiable": "DoNotSchedule"}
    spec = {
        "containers": [{"name": "a", "image": "a"}],
        "volumes": [{"name": "b", "emptyDir": {}}, {"name": "c", "configMap": {"name": "d"}}],
        "topologySpreadConstraints": [constraint],
    }
    api.create("pods", named("v1", "Pod", "a", spec=spec))
    api.patch("pods", "a", {"spec": {"schedulerName": "<b>", "topologySpreadConstraints": []}}, dryRun="All")
    api.patch("pods", "a", {"spec": {"volumes": []}}, dryRun="All")


@case("a pod has no two equal constraints for its topology")
def _(api: Api) -> None:
    constraint = {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}
    spec = {"containers": [{"name": "a", "image": "a"}], "topologySpreadConstraints": [constraint] * 3}
    api.create("pods", named("v1", "Pod", "a", spec=spec), dryRun="All")
