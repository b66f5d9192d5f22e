"""/status, /scale, /binding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, job, named, pod, service, workload

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Subresources")


def scale(name: str, replicas: int | None, **meta: str) -> Plain:
    spec = {} if replicas is None else {"replicas": replicas}
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name, **meta}, "spec": spec}


@case("status is written through its own path, and nothing else is")
def _(api: Api) -> None:
    made = api.create("deployments", deployment("a"))
    body = {**made.body, "spec": {**made.body.get("spec", {}), "replicas": 9}, "status": {"replicas": 2}}
    api.update("deployments", "a/status", body)
    api.get("deployments", "a/status")
    api.get("deployments", "a")


@case("metadata through the path of the status")
def _(api: Api) -> None:
    api.create("deployments", deployment("a", labels={"l": "1"}))
    api.update("deployments", "a/status", {**deployment("a", labels={"l": "2"}), "status": {}})
    api.patch("deployments", "a/status", {"metadata": {"annotations": {"by": "status"}}})
    api.patch("deployments", "a/status", {"metadata": {"finalizers": ["example.com/one"]}})
    api.create("pods", pod("a"))
    api.patch("pods", "a/status", {"metadata": {"labels": {"l": "1"}, "finalizers": ["example.com/one"]}})
    api.create("services", service("a"))
    api.patch("services", "a/status", {"metadata": {"labels": {"l": "1"}}})


@case("status by patch")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.patch("deployments", "a/status", {"status": {"replicas": 3, "readyReplicas": 2}})
    steps = [{"op": "replace", "path": "/status/readyReplicas", "value": 3}]
    api.patch("deployments", "a/status", steps, by="json")
    api.patch("deployments", "a/status", {"spec": {"replicas": 7}})


@case("a status that cannot be")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.patch("deployments", "a/status", {"status": {"replicas": -1}})
    api.patch("deployments", "a/status", {"status": {"readyReplicas": 3}})
    api.patch("deployments", "a/status", {"status": {"replicas": "many"}})


@case("status with a stale version")
def _(api: Api) -> None:
    made = api.create("deployments", deployment("a"))
    api.patch("deployments", "a", {"metadata": {"labels": {"l": "1"}}})
    api.update("deployments", "a/status", {**made.body, "status": {"replicas": 2}})


@case("status of what is not there")
def _(api: Api) -> None:
    api.get("deployments", "a/status")
    api.update("deployments", "a/status", deployment("a"))
    api.patch("deployments", "a/status", {"status": {}})


@case("a status leaves the generation")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.patch("deployments", "a/status", {"status": {"observedGeneration": 1}})
    api.patch("deployments", "a", {"spec": {"replicas": 2}})
    api.patch("deployments", "a/status", {"status": {"observedGeneration": 2}})


@case("a pod's status")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": "2001-02-03T04:05:06Z"}]
    status = {
        "phase": "Running",
        "podIP": "192.0.2.1",
        "conditions": conditions,
        "startTime": "2001-02-03T04:05:06Z",
    }
    api.patch("pods", "a/status", {"status": status})
    api.patch("pods", "a", {"status": {"phase": "Failed"}})


@case("a node's, a volume's and a claim's status")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    api.create("nodes", named("v1", "Node", name))
    api.patch("nodes", f"{name}/status", {"status": {"capacity": {"cpu": "4", "memory": "8Gi"}}})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    api.create("persistentvolumeclaims", named("v1", "PersistentVolumeClaim", "a", spec=spec))
    api.patch("persistentvolumeclaims", "a/status", {"status": {"phase": "Bound"}})


@case("a job's status")
def _(api: Api) -> None:
    api.create("jobs", job("a"))
    api.patch("jobs", "a/status", {"status": {"active": 1, "startTime": "2001-02-03T04:05:06Z"}})


@case("a scale is read from each kind that has one")
def _(api: Api) -> None:
    api.create("deployments", deployment("a", replicas=3))
    api.get("deployments", "a/scale")
    api.create("replicasets", workload("ReplicaSet", "a", replicas=2))
    api.get("replicasets", "a/scale")
    api.create("statefulsets", workload("StatefulSet", "a"))
    api.get("statefulsets", "a/scale")
    spec = {"selector": {"app": "a"}, "template": deployment("a")["spec"]["template"]}
    api.create("replicationcontrollers", named("v1", "ReplicationController", "a", spec=spec))
    api.get("replicationcontrollers", "a/scale")


@case("a scale is written")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    found = api.get("deployments", "a/scale")
    api.update("deployments", "a/scale", {**found.body, "spec": {"replicas": 5}})
    api.get("deployments", "a")


@case("a scale without a version, and with a stale one")
def _(api: Api) -> None:
    made = api.create("deployments", deployment("a"))
    api.update("deployments", "a/scale", scale("a", 2))
    api.update("deployments", "a/scale", scale("a", 3, resourceVersion=made.version))


@case("a scale by patch")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.patch("deployments", "a/scale", {"spec": {"replicas": 4}})
    api.patch("deployments", "a/scale", [{"op": "replace", "path": "/spec/replicas", "value": 0}], by="json")
    api.get("deployments", "a")


@case("a scale that cannot be")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.update("deployments", "a/scale", scale("a", -1))
    api.update("deployments", "a/scale", scale("b", 1))
    api.update("deployments", "a/scale", scale("a", None))
    api.update("deployments", "a/scale", deployment("a"))
    api.update("deployments", "a/scale", {**scale("a", 1), "apiVersion": "apps/v1"})
    api.patch("deployments", "a/scale", {"spec": {"replicas": "many"}})


@case("a scale of what is not there")
def _(api: Api) -> None:
    api.get("deployments", "a/scale")
    api.update("deployments", "a/scale", scale("a", 1))
    api.get("statefulsets", "a/scale")
    api.get("daemonsets", "a/scale")


@case("a scale of another uid")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.update("deployments", "a/scale", scale("a", 2, uid="11111111-2222-3333-4444-555555555555"))


@case("a pod is bound to a node")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    binding = {**named("v1", "Binding", "a"), "target": {"kind": "Node", "name": "node"}}
    api.create("pods", binding, sub="a/binding")
    api.get("pods", "a")
    api.create("pods", binding, sub="a/binding")


@case("a binding that cannot be")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    api.create("pods", {**named("v1", "Binding", "a"), "target": {"kind": "Node"}}, sub="a/binding")
    api.create("pods", {**named("v1", "Binding", "a"), "target": {"kind": "Pod", "name": "b"}}, sub="a/binding")
    api.create("pods", {**named("v1", "Binding", "b"), "target": {"kind": "Node", "name": "b"}}, sub="a/binding")
    api.create(
        "pods",
        {**named("v1", "Binding", "none"), "target": {"kind": "Node", "name": "b"}},
        sub="none/binding",
    )


@case("a binding that does not say whose it is, or that it is elsewhere")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    target = {"target": {"kind": "Node", "name": "node"}}
    api.create("pods", {"apiVersion": "v1", "kind": "Binding", **target}, sub="a/binding")
    body = named("v1", "Binding", "a", **target)
    api.create("pods", {**body, "metadata": {"name": "a", "namespace": "elsewhere"}}, sub="a/binding")
    api.get("pods", "a")


@case("a subresource of a kind that has no status")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.patch("configmaps", "a/status", {})
    api.create("leases", named("coordination.k8s.io/v1", "Lease", "a"))
    api.get("leases", "a/status")


@case("a token for a service account that is not there")
def _(api: Api) -> None:
    api.create("serviceaccounts", {}, sub="none/token")


@case("approval of a certificate request that does not exist")
def _(api: Api) -> None:
    api.get("certificatesigningrequests", f"{api.namespace}-none/approval")
    body = named("certificates.k8s.io/v1", "CertificateSigningRequest", f"{api.namespace}-none")
    api.update("certificatesigningrequests", f"{api.namespace}-none/approval", body)


@case("ephemeral containers are added to a pod")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    api.get("pods", "a/ephemeralcontainers")
    containers = [{"name": "debug", "image": "image", "targetContainerName": "main"}]
    api.patch("pods", "a/ephemeralcontainers", {"spec": {"ephemeralContainers": containers}})
    api.patch("pods", "a", {"spec": {"ephemeralContainers": []}})
