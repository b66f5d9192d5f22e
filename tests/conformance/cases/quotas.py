"""Quotas: what admission counts and refuses; the cases write the status that a controller would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.bounds import await_quotas, claim, container, measure, pod_of, quota
from tests.conformance.case import area
from tests.conformance.definitions import definition, group_of, install, object_of, resource_of
from tests.conformance.objects import config_map, deployment, job, named, pod, service

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Quotas")

LARGE: dict[str, Any] = {"requests": {"cpu": "2", "memory": "2Gi"}, "limits": {"cpu": "4", "memory": "4Gi"}}
SMALL: dict[str, Any] = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "200m", "memory": "128Mi"}}


def usage(api: Api, name: str) -> None:
    """Read the status of one of several quotas, which the real server writes in any order."""
    path = f"{api.path('resourcequotas')}/{name}"
    api.request("GET", path, pick=lambda body: body.get("status") if isinstance(body, dict) else body)


def selecting(scope: str, operator: str = "Exists", *values: str) -> Plain:
    """The spec of a quota with a scope selector."""
    expression: Plain = {"scopeName": scope, "operator": operator}
    return {"scopeSelector": {"matchExpressions": [{**expression, "values": list(values)} if values else expression]}}


@case("pods are counted until there are too many")
def _(api: Api) -> None:
    quota(api, {"pods": "2", "count/pods": "5"})
    api.create("pods", pod("a"))
    api.get("resourcequotas", "q")
    api.create("pods", pod("b"))
    api.create("pods", pod("c"))
    api.get("resourcequotas", "q")


@case("a quota without a status has no effect")
def _(api: Api) -> None:
    api.create("resourcequotas", named("v1", "ResourceQuota", "q", spec={"hard": {"pods": "0"}}))
    await_quotas(api)
    api.create("pods", pod("a"))
    api.get("resourcequotas", "q")


@case("a quota whose usage is not known refuses")
def _(api: Api) -> None:
    quota(api, {"pods": "5", "count/pods": "5", "configmaps": "1"}, {"configmaps": "0"})
    api.create("pods", pod("a"))
    api.create("configmaps", config_map("a"))


@case("missing requests are refused before unknown usage")
def _(api: Api) -> None:
    quota(api, {"requests.cpu": "5", "pods": "1"}, {"pods": "0"})
    api.create("pods", pod("a"))
    api.create("pods", pod_of("a", container(requests={"cpu": "1"})))


@case("the limits of the status count, not those of the spec")
def _(api: Api) -> None:
    quota(api, {"configmaps": "1"})
    measure(api, {"configmaps": "3"}, {"configmaps": "2"})
    api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))


@case("requests and limits of pods")
def _(api: Api) -> None:
    quota(api, {"requests.cpu": "3", "requests.memory": "3Gi", "limits.cpu": "8", "limits.memory": "8Gi"})
    api.create("pods", pod_of("a", container(**LARGE)))
    api.get("resourcequotas", "q")
    api.create("pods", pod_of("b", container(**LARGE)))
    api.create("pods", pod_of("c", container(**SMALL)))
    api.get("resourcequotas", "q")


@case("cpu and memory without a prefix are requests")
def _(api: Api) -> None:
    quota(api, {"cpu": "1", "memory": "1Gi"})
    api.create("pods", pod_of("a", container(requests={"cpu": "600m", "memory": "512Mi"})))
    api.create("pods", pod_of("b", container(requests={"cpu": "600m", "memory": "512Mi"})))
    api.create("pods", pod_of("c", container(limits={"cpu": "0.3", "memory": "512M"})))
    api.get("resourcequotas", "q")


@case("containers without the resources that a quota bounds")
def _(api: Api) -> None:
    quota(api, {"cpu": "1", "requests.memory": "1Gi", "limits.cpu": "1", "limits.memory": "1Gi", "pods": "10"})
    api.create("pods", pod("a"))
    api.create("pods", pod_of("b", container(**SMALL), container("z"), container("c"), init=[container("init")]))
    api.create("pods", pod_of("c", container(requests={"cpu": "1"})))
    api.create("pods", pod_of("d", container(limits={"cpu": "1"})))


@case("only cpu and memory have to be stated")
def _(api: Api) -> None:
    quota(api, {"requests.ephemeral-storage": "1Gi", "requests.example.com/dongle": "1", "hugepages-2Mi": "2Mi"})
    api.create("pods", pod("a"))
    api.get("resourcequotas", "q")


@case("ephemeral storage, huge pages and extended resources")
def _(api: Api) -> None:
    hard = {
        "ephemeral-storage": "2Gi",
        "requests.ephemeral-storage": "2Gi",
        "limits.ephemeral-storage": "3Gi",
        "hugepages-2Mi": "4Mi",
        "requests.hugepages-2Mi": "4Mi",
        "requests.example.com/dongle": "3",
    }
    quota(api, hard)
    some = {"ephemeral-storage": "1Gi", "hugepages-2Mi": "2Mi", "example.com/dongle": "2", "memory": "1Gi", "cpu": "1"}
    api.create("pods", pod_of("a", container(requests=some, limits=some)))
    api.get("resourcequotas", "q")
    api.create("pods", pod_of("b", container(requests=some, limits=some)))
    api.create("pods", pod_of("c", container(limits={"ephemeral-storage": "5Gi"}, requests={"ephemeral-storage": "1"})))


@case("init containers and sidecars")
def _(api: Api) -> None:
    quota(api, {"requests.cpu": "20", "pods": "20"})
    side = container("side", restartPolicy="Always", requests={"cpu": "1"})
    first, large = container("first", requests={"cpu": "500m"}), container("large", requests={"cpu": "5"})
    one = container(requests={"cpu": "1"})
    for name, init in (
        ("a", [first]),
        ("b", [large]),
        ("c", [side, first]),
        ("d", [side, large]),
        ("e", [large, side]),
    ):
        api.create("pods", pod_of(name, one, init=init))
        api.get("resourcequotas", "q")


@case("resources of the pod itself")
def _(api: Api) -> None:
    quota(api, {"requests.cpu": "3", "limits.cpu": "10", "requests.memory": "1Gi"})
    own = {"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}
    api.create("pods", pod_of("a", container(), resources=own))
    api.get("resourcequotas", "q")
    api.create("pods", pod_of("b", container(), resources=own))


@case("the overhead of a runtime class")
def _(api: Api) -> None:
    name = f"{api.namespace}-heavy"
    api.create(
        "runtimeclasses",
        named("node.k8s.io/v1", "RuntimeClass", name, handler="h", overhead={"podFixed": {"cpu": "1"}}),
    )
    api.await_response(
        f"{api.path('pods')}?dryRun=All",
        lambda code, _: code == 201,
        method="POST",
        body=pod_of("p", runtimeClassName=name),
    )
    quota(api, {"requests.cpu": "3", "limits.cpu": "9"})
    api.create("pods", pod_of("a", container(requests={"cpu": "1"}, limits={"cpu": "2"}), runtimeClassName=name))
    api.get("resourcequotas", "q")
    api.create("pods", pod_of("b", container(requests={"cpu": "1"}, limits={"cpu": "2"}), runtimeClassName=name))


@case("several quotas all have to hold, and none is charged if one refuses")
def _(api: Api) -> None:
    quota(api, {"pods": "5"}, name="many")
    quota(api, {"count/pods": "0"}, name="none")
    api.create("pods", pod("a"))
    usage(api, "many")
    measure(api, {"count/pods": "1"}, name="none")
    api.create("pods", pod("a"))
    usage(api, "many")
    usage(api, "none")


@case("a dry run is checked, but not charged")
def _(api: Api) -> None:
    quota(api, {"configmaps": "1"})
    api.create("configmaps", config_map("a"), dryRun="All")
    api.get("resourcequotas", "q")
    api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"), dryRun="All")


@case("an object that exists is charged twice")
def _(api: Api) -> None:
    quota(api, {"configmaps": "2"})
    api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("a"))
    api.get("resourcequotas", "q")
    api.create("configmaps", config_map("b"))


@case("an invalid object is not charged")
def _(api: Api) -> None:
    quota(api, {"configmaps": "1", "pods": "1"})
    api.create("configmaps", config_map("A B"))
    api.create("pods", pod("a", spec={"containers": []}))
    api.get("resourcequotas", "q")


@case("a deletion does not release anything by itself")
def _(api: Api) -> None:
    quota(api, {"configmaps": "1"})
    api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a")
    api.get("resourcequotas", "q")
    api.create("configmaps", config_map("b"))


@case("counts by short names")
def _(api: Api) -> None:
    hard = {"configmaps": "1", "secrets": "1", "replicationcontrollers": "1", "resourcequotas": "0", "services": "1"}
    quota(api, hard, {**dict.fromkeys(hard, "1"), "resourcequotas": "0"})
    api.create("configmaps", config_map("a"))
    api.create("secrets", named("v1", "Secret", "a"))
    api.create("services", service("a"))
    api.create("resourcequotas", named("v1", "ResourceQuota", "other", spec={"hard": {"pods": "1"}}))
    spec = {"selector": {"app": "a"}, "template": {"metadata": {"labels": {"app": "a"}}, "spec": pod("a")["spec"]}}
    api.create("replicationcontrollers", named("v1", "ReplicationController", "a", spec=spec))


@case("counts by resource and group")
def _(api: Api) -> None:
    hard: dict[str, str] = dict.fromkeys(
        ("count/deployments.apps", "count/jobs.batch", "count/configmaps", "count/leases.coordination.k8s.io"), "1"
    )
    quota(api, hard)
    for name in ("a", "b"):
        api.create("deployments", deployment(name))
        api.create("jobs", job(name))
        api.create("configmaps", config_map(name))
        api.create("leases", named("coordination.k8s.io/v1", "Lease", name))
    api.get("resourcequotas", "q")


@case("updates of counted objects cost nothing")
def _(api: Api) -> None:
    quota(api, {"configmaps": "1", "services": "1", "pods": "1"})
    api.create("configmaps", config_map("a"))
    api.create("services", service("a"))
    api.create("pods", pod("a"))
    api.patch("configmaps", "a", {"data": {"x": "y"}})
    api.patch("services", "a", {"metadata": {"labels": {"x": "y"}}})
    api.patch("pods", "a", {"metadata": {"labels": {"x": "y"}}})
    api.get("resourcequotas", "q")


@case("an object created by apply, and by an update")
def _(api: Api) -> None:
    quota(api, {"configmaps": "1", "count/leases.coordination.k8s.io": "0"})
    api.apply("configmaps", "a", config_map("a"))
    api.apply("configmaps", "a", config_map("a"))
    api.apply("configmaps", "b", config_map("b"))
    api.update("leases", "a", named("coordination.k8s.io/v1", "Lease", "a"))
    api.get("resourcequotas", "q")


@case("generated names in refusals")
def _(api: Api) -> None:
    quota(api, {"configmaps": "0"})
    api.create("configmaps", config_map(generateName="a-"))


@case("services, their node ports and load balancers")
def _(api: Api) -> None:
    quota(api, {"services": "9", "services.nodeports": "3", "services.loadbalancers": "1", "count/services": "9"})
    two = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
    api.create("services", service("plain"))
    api.create("services", service("ports", spec={"type": "NodePort", "ports": two}))
    api.create("services", service("more", spec={"type": "NodePort", "ports": two}))
    api.create("services", service("balanced", spec={"type": "LoadBalancer"}))
    api.get("resourcequotas", "q")
    api.create("services", service("again", spec={"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}))
    api.create(
        "services", service("name", spec={"type": "ExternalName", "externalName": "x.example.com", "ports": None})
    )


@case("a load balancer without node ports")
def _(api: Api) -> None:
    quota(api, {"services.nodeports": "1", "services.loadbalancers": "3"})
    two = [{"name": "a", "port": 80}, {"name": "b", "port": 81, "nodePort": 31234}]
    spec = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}
    api.create("services", service("none", spec=spec))
    api.create("services", service("one", spec={**spec, "ports": two}), dryRun="All")
    api.create("services", service("both", spec={"type": "LoadBalancer", "ports": [two[0], {"name": "b", "port": 81}]}))
    api.get("resourcequotas", "q")


@case("a service that changes its type")
def _(api: Api) -> None:
    quota(api, {"services": "1", "services.nodeports": "1", "services.loadbalancers": "0"})
    api.create("services", service("a"))
    api.patch("services", "a", {"spec": {"type": "NodePort"}})
    api.get("resourcequotas", "q")
    api.patch("services", "a", {"spec": {"type": "LoadBalancer"}})
    api.patch("services", "a", {"spec": {"type": "ClusterIP"}})
    api.get("resourcequotas", "q")


@case("claims, their storage and their classes")
def _(api: Api) -> None:
    hard = {
        "persistentvolumeclaims": "5",
        "requests.storage": "10Gi",
        "gold.storageclass.storage.k8s.io/requests.storage": "2Gi",
        "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "2",
        "count/persistentvolumeclaims": "9",
    }
    quota(api, hard)
    api.create("persistentvolumeclaims", claim("a", "4Gi"))
    api.create("persistentvolumeclaims", claim("b", "1Gi", storageClassName="gold"))
    api.create("persistentvolumeclaims", claim("c", "1.5Gi", storageClassName="gold"))
    api.create("persistentvolumeclaims", claim("d", "7Gi", storageClassName="silver"))
    old = claim("e", "512Mi")
    old["metadata"]["annotations"] = {"volume.beta.kubernetes.io/storage-class": "gold"}
    api.create("persistentvolumeclaims", old)
    api.get("resourcequotas", "q")
    api.create("persistentvolumeclaims", claim("f", "1500m"))
    api.get("resourcequotas", "q")


@case("a claim whose allocation changes")
def _(api: Api) -> None:
    quota(api, {"requests.storage": "5Gi"})
    api.create("persistentvolumeclaims", claim("a", "2Gi"))
    api.patch("persistentvolumeclaims", "a/status", {"status": {"allocatedResources": {"storage": "8Gi"}}})
    api.get("resourcequotas", "q")
    api.patch("persistentvolumeclaims", "a", {"metadata": {"labels": {"x": "y"}}})
    api.create("persistentvolumeclaims", claim("b", "1"))


@case("claims by volume attributes class")
def _(api: Api) -> None:
    hard = {"persistentvolumeclaims": "1", "requests.storage": "2Gi"}
    quota(api, hard, spec=selecting("VolumeAttributesClass", "In", "fast"))
    quota(api, hard, spec=selecting("VolumeAttributesClass"), name="any")
    api.create("persistentvolumeclaims", claim("a"))
    api.create("persistentvolumeclaims", claim("b", volumeAttributesClassName="fast"))
    usage(api, "q")
    usage(api, "any")
    measure(api, hard, name="any")
    api.create("persistentvolumeclaims", claim("c", volumeAttributesClassName="fast"))
    api.create("persistentvolumeclaims", claim("d", volumeAttributesClassName="slow"))


@case("a claim of no volume attributes class, with the other operators")
def _(api: Api) -> None:
    hard = {"persistentvolumeclaims": "2"}
    quota(api, hard, spec=selecting("VolumeAttributesClass", "NotIn", "fast"), name="not")
    quota(api, hard, spec=selecting("VolumeAttributesClass", "DoesNotExist"), name="none")
    api.create("persistentvolumeclaims", claim("a"))
    api.create("persistentvolumeclaims", claim("b", volumeAttributesClassName="slow"))
    api.create("persistentvolumeclaims", claim("c", volumeAttributesClassName="fast"))
    usage(api, "not")
    usage(api, "none")


@case("pods with and without a deadline")
def _(api: Api) -> None:
    quota(api, {"pods": "1"}, name="short", spec={"scopes": ["Terminating"]})
    quota(api, {"pods": "1"}, name="long", spec={"scopes": ["NotTerminating"]})
    deadline: Plain = {"activeDeadlineSeconds": 5}
    for name, spec in (("a", {}), ("b", deadline), ("c", {}), ("d", deadline)):
        api.create("pods", pod(name, spec=spec))
    usage(api, "short")
    usage(api, "long")


@case("a pod that gets a deadline is charged to another quota")
def _(api: Api) -> None:
    quota(api, {"pods": "1"}, name="short", spec={"scopes": ["Terminating"]})
    quota(api, {"pods": "5"}, name="long", spec={"scopes": ["NotTerminating"]})
    api.create("pods", pod("a"))
    api.create("pods", pod("b"))
    api.patch("pods", "a", {"spec": {"activeDeadlineSeconds": 30}})
    usage(api, "short")
    usage(api, "long")
    api.patch("pods", "b", {"spec": {"activeDeadlineSeconds": 30}})
    api.patch("pods", "a", {"spec": {"activeDeadlineSeconds": 20}})


@case("pods of best effort, and others")
def _(api: Api) -> None:
    quota(api, {"pods": "1"}, name="best", spec={"scopes": ["BestEffort"]})
    quota(api, {"pods": "1", "requests.cpu": "9"}, name="other", spec={"scopes": ["NotBestEffort"]})
    api.create("pods", pod("a"))
    api.create("pods", pod("b"))
    api.create("pods", pod_of("c", container(requests={"cpu": "1"})))
    api.create("pods", pod_of("d", container(requests={"cpu": "1"})))
    api.create("pods", pod_of("e", container(limits={"memory": "1Gi"})))


@case("pods by priority class")
def _(api: Api) -> None:
    high, low = f"{api.namespace}-high", f"{api.namespace}-low"
    for name, value in ((high, 10), (low, 1)):
        api.create("priorityclasses", named("scheduling.k8s.io/v1", "PriorityClass", name, value=value))
        api.await_response(
            f"{api.path('pods')}?dryRun=All",
            lambda code, _: code == 201,
            method="POST",
            body=pod_of("p", priorityClassName=name),
        )
    quota(api, {"pods": "1"}, name="in", spec=selecting("PriorityClass", "In", high))
    quota(api, {"pods": "2"}, name="not", spec=selecting("PriorityClass", "NotIn", high))
    quota(api, {"pods": "9"}, name="some", spec=selecting("PriorityClass"))
    quota(api, {"pods": "9"}, name="none", spec=selecting("PriorityClass", "DoesNotExist"))
    for name, priority in (("a", high), ("b", high), ("c", low), ("d", ""), ("e", low)):
        api.create("pods", pod(name, spec={"priorityClassName": priority} if priority else {}))
    for name in ("in", "not", "some", "none"):
        usage(api, name)


@case("pods whose affinity reaches into other namespaces")
def _(api: Api) -> None:
    quota(api, {"pods": "0"}, spec={"scopes": ["CrossNamespacePodAffinity"]})
    term: Plain = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    api.create("pods", pod_of("a", affinity={"podAffinity": {required: [term]}}))
    named_term = {**term, "namespaces": ["default"]}
    api.create("pods", pod_of("b", affinity={"podAffinity": {required: [term, named_term]}}))
    selecting_term = {**term, "namespaceSelector": {}}
    weighted = [{"weight": 1, "podAffinityTerm": selecting_term}]
    api.create("pods", pod_of("c", affinity={"podAntiAffinity": {preferred: weighted}}))
    api.create("pods", pod_of("d", affinity={"podAntiAffinity": {required: [selecting_term]}}))
    api.create("pods", pod_of("e", affinity={"podAffinity": {preferred: weighted}}))


@case("scopes and a selector have to match together")
def _(api: Api) -> None:
    quota(api, {"pods": "0"}, spec={"scopes": ["BestEffort"], **selecting("Terminating")})
    api.create("pods", pod("a"))
    api.create("pods", pod_of("b", activeDeadlineSeconds=5))
    api.create("pods", pod_of("c", container(requests={"cpu": "1"}), activeDeadlineSeconds=5))


@case("a scope of pods does not match other kinds")
def _(api: Api) -> None:
    quota(api, {"pods": "0", "count/configmaps": "0"}, spec={"scopes": ["BestEffort"]})
    api.create("configmaps", config_map("a"))


@case("a resize is charged")
def _(api: Api) -> None:
    quota(api, {"requests.cpu": "3", "limits.cpu": "9"})
    api.create("pods", pod_of("a", container(requests={"cpu": "1"}, limits={"cpu": "2"})))
    for requests, limits in (("2", "2"), ("4", "4"), ("1", "2")):
        resources = {"requests": {"cpu": requests}, "limits": {"cpu": limits}}
        wanted = {"spec": {"containers": [{"name": "main", "resources": resources}]}}
        api.patch("pods", "a/resize", wanted, by="strategic")
        api.get("resourcequotas", "q")


@case("deletions, bindings and evictions are not charged")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    quota(api, {"pods": "0", "count/pods": "0"}, {"pods": "1", "count/pods": "1"})
    target = {"apiVersion": "v1", "kind": "Node", "name": "node"}
    api.create("pods", named("v1", "Binding", "a", target=target), sub="a/binding")
    api.patch("pods", "a/status", {"status": {"phase": "Running"}})
    api.create("pods", named("policy/v1", "Eviction", "a"), sub="a/eviction")


@case("events are never counted")
def _(api: Api) -> None:
    quota(api, {"count/events": "0", "count/events.events.k8s.io": "0"})
    involved = {"kind": "Pod", "namespace": api.namespace, "name": "a"}
    api.create("events", {**named("v1", "Event", "a", involvedObject=involved), "reason": "Tried"})


@case("a limit range fills in what a quota requires")
def _(api: Api) -> None:
    quota(api, {"requests.cpu": "1", "limits.cpu": "2"})
    api.create("pods", pod("a"))
    limit = {"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "500m"}}
    api.create("limitranges", named("v1", "LimitRange", "l", spec={"limits": [limit]}))
    api.await_response(f"{api.path('pods')}?dryRun=All", lambda code, _: code == 201, method="POST", body=pod("probe"))
    api.create("pods", pod("a"))
    api.get("resourcequotas", "q")
    api.create("pods", pod("b"))


@case("an exact fit, and amounts in other notations")
def _(api: Api) -> None:
    quota(api, {"requests.cpu": "1", "requests.memory": "1G"}, {"requests.cpu": "250m", "requests.memory": "512Mi"})
    api.create("pods", pod_of("a", container(requests={"cpu": "0.75", "memory": "1e8"})))
    api.get("resourcequotas", "q")
    api.create("pods", pod_of("b", container(requests={"cpu": "1m", "memory": "1Ki"})))


@case("a quota that is exceeded already")
def _(api: Api) -> None:
    quota(api, {"configmaps": "1", "requests.cpu": "1"}, {"configmaps": "3", "requests.cpu": "5"})
    api.create("configmaps", config_map("a"))
    api.create("pods", pod_of("a", container(requests={"cpu": "0"})))
    api.create("pods", pod_of("b", container(requests={"cpu": "1m"})))


@case("devices of resource claims")
def _(api: Api) -> None:
    quota(api, {"count/resourceclaims.resource.k8s.io": "9", "gpu.deviceclass.resource.k8s.io/devices": "3"})
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}

    def wanted(name: str, *requests: Plain) -> Plain:
        return named("resource.k8s.io/v1", "ResourceClaim", name, spec={"devices": {"requests": list(requests)}})

    api.create("resource.k8s.io/v1/resourceclaims", wanted("a", {"name": "one", "exactly": exactly}))
    api.create("resource.k8s.io/v1/resourceclaims", wanted("b", {"name": "one", "exactly": exactly}))
    api.create(
        "resource.k8s.io/v1/resourceclaims",
        wanted("c", {"name": "all", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}),
    )
    either = [
        {"name": "x", "deviceClassName": "gpu", "count": 1, "allocationMode": "ExactCount"},
        {"name": "y", "deviceClassName": "tpu"},
    ]
    api.create("resource.k8s.io/v1/resourceclaims", wanted("d", {"name": "either", "firstAvailable": either}))
    api.get("resourcequotas", "q")


@case("custom resources are counted by resource and group")
def _(api: Api) -> None:
    install(api, definition(api, object_of()))
    hard = {f"count/widgets.{group_of(api)}": "1"}
    # Unrecorded: the name of the group differs each time.
    api.quietly("POST", api.path("resourcequotas"), named("v1", "ResourceQuota", "q", spec={"hard": hard}))
    status = {"hard": hard, "used": dict.fromkeys(hard, "0")}
    path = f"{api.path('resourcequotas')}/q/status"
    api.quietly("PATCH", path, {"status": status}, Content_Type="application/merge-patch+json")
    await_quotas(api)
    for name in ("a", "b"):
        api.create(resource_of(api), named(f"{group_of(api)}/v1", "Widget", name))
