"""Apply: status, scale and the other subresources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.cases.minimal import CERTIFICATE_REQUEST
from tests.conformance.definitions import NUMBER, TEXT, definition, group_of, install, object_of, resource_of
from tests.conformance.objects import config_map, deployment, named, pod, service, workload

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Apply of subresources")


def of_deployment(**fields: Any) -> Plain:
    return named("apps/v1", "Deployment", "a", **fields)


def scale(replicas: int | None = None, **meta: Any) -> Plain:
    spec = {} if replicas is None else {"replicas": replicas}
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a", **meta}, "spec": spec}


@case("the status of a deployment")
def _(api: Api) -> None:
    api.apply("deployments", "a", deployment("a"))
    api.apply("deployments", "a/status", of_deployment(status={"replicas": 2}), "controller")
    api.apply("deployments", "a/status", of_deployment(status={"replicas": 2}), "controller")
    api.apply("deployments", "a/status", of_deployment(status={"readyReplicas": 1}), "controller")
    api.apply("deployments", "a/status", of_deployment(), "controller")


@case("one manager applies object and status, in two entries")
def _(api: Api) -> None:
    api.apply("deployments", "a", deployment("a"))
    api.apply("deployments", "a/status", of_deployment(status={"replicas": 2}))
    api.apply("deployments", "a", deployment("a", labels={"l": "1"}))
    api.apply("deployments", "a/status", of_deployment())


@case("what is not of the status is reset, and not owned")
def _(api: Api) -> None:
    api.apply("deployments", "a", deployment("a", replicas=1))
    body = of_deployment(spec={"replicas": 3}, status={"replicas": 2})
    api.apply("deployments", "a/status", body, "two")
    body = {**body, "metadata": {"name": "a", "labels": {"l": "1"}, "finalizers": ["example.com/a"]}}
    api.apply("deployments", "a/status", body, "two")


@case("the status of what is not there")
def _(api: Api) -> None:
    api.apply("deployments", "a/status", of_deployment(status={"replicas": 2}))
    api.apply("configmaps", "a/status", config_map("a"))


@case("conflicts of status")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.patch("deployments", "a/status", {"status": {"replicas": 1}})
    api.apply("deployments", "a/status", of_deployment(status={"replicas": 2}))
    api.apply("deployments", "a/status", of_deployment(status={"replicas": 2}), force="true")
    api.apply("deployments", "a/status", of_deployment(status={"replicas": 3}), "two")


@case("a dry run of status")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.apply("deployments", "a/status", of_deployment(status={"replicas": 2}), dryRun="All")
    api.get("deployments", "a")


@case("the status of a pod, a node and a service")
def _(api: Api) -> None:
    api.apply("pods", "a", pod("a"))
    body = named("v1", "Pod", "a", status={"phase": "Running", "podIPs": [{"ip": "10.1.1.1"}]})
    api.apply("pods", "a/status", body, "kubelet")
    name = f"{api.namespace}-n"
    api.apply("nodes", name, named("v1", "Node", name))
    addresses = [{"type": "InternalIP", "address": "10.1.1.1"}, {"type": "Hostname", "address": "a"}]
    api.apply("nodes", f"{name}/status", named("v1", "Node", name, status={"addresses": addresses}), "kubelet")
    api.apply("services", "a", service("a", spec={"type": "LoadBalancer"}))
    balancer = {"loadBalancer": {"ingress": [{"ip": "10.1.1.1"}]}}
    api.apply("services", "a/status", named("v1", "Service", "a", status=balancer), "cloud")


@case("the status of a namespace and of a claim")
def _(api: Api) -> None:
    body = named("v1", "Namespace", api.namespace, status={"phase": "Active"})
    api.apply("namespaces", f"{api.namespace}/status", body)
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    api.apply("persistentvolumeclaims", "a", named("v1", "PersistentVolumeClaim", "a", spec=claim))
    status = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    api.apply("persistentvolumeclaims", "a/status", named("v1", "PersistentVolumeClaim", "a", status=status))


@case("the scale of a deployment")
def _(api: Api) -> None:
    api.apply("deployments", "a", deployment("a", replicas=1))
    api.apply("deployments", "a/scale", scale(3), "scaler")
    api.apply("deployments", "a/scale", scale(3), "scaler", force="true")
    api.get("deployments", "a")
    api.apply("deployments", "a/scale", scale(4), "scaler")
    api.get("deployments", "a")


@case("the scale of a deployment whose replicas are no one's")
def _(api: Api) -> None:
    api.apply("deployments", "a", deployment("a"))
    api.apply("deployments", "a/scale", scale(3), "scaler")
    api.get("deployments", "a")
    api.apply("deployments", "a", deployment("a", replicas=5))
    api.apply("deployments", "a", deployment("a", replicas=5), force="true")


@case("scales of other workloads")
def _(api: Api) -> None:
    for kind in ("ReplicaSet", "StatefulSet"):
        resource = f"{kind.lower()}s"
        api.apply(resource, "a", workload(kind, "a", replicas=1))
        api.apply(resource, "a/scale", scale(2), "scaler", force="true")
        api.get(resource, "a")
    api.apply("deployments", "b", deployment("b"))
    api.apply("deployments", "b/scale", {**scale(2), "metadata": {"name": "b"}}, "scaler")
    api.get("deployments", "b")


@case("scales that cannot be")
def _(api: Api) -> None:
    api.apply("deployments", "a/scale", scale(2))
    api.apply("deployments", "a", deployment("a"))
    api.apply("deployments", "a/scale", scale(-1))
    api.apply("deployments", "a/scale", of_deployment(spec={"replicas": 2}))
    api.apply("deployments", "a/scale", scale())
    api.apply("deployments", "a/scale", {**scale(2), "status": {"replicas": 1}})
    api.apply("deployments", "a/scale", {**scale(2), "metadata": {"name": "b"}})
    api.apply("deployments", "a/scale", scale(2, labels={"l": "1"}), force="true")


@case("ephemeral containers of a pod")
def _(api: Api) -> None:
    api.apply("pods", "a", pod("a"))
    debugger = {"name": "debug", "image": "image"}
    body = named("v1", "Pod", "a", spec={"ephemeralContainers": [debugger]})
    api.apply("pods", "a/ephemeralcontainers", body, "debugger")
    api.apply("pods", "a", body, "two")
    api.apply("pods", "a/ephemeralcontainers", named("v1", "Pod", "a"), "debugger")


@case("resources of a pod that is resized")
def _(api: Api) -> None:
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
    api.apply("pods", "a", pod("a", spec={"containers": [{"name": "main", "image": "i", "resources": resources}]}))
    larger = {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
    body = named("v1", "Pod", "a", spec={"containers": [{"name": "main", "resources": larger}]})
    api.apply("pods", "a/resize", body, "resizer")
    api.apply("pods", "a/resize", body, "resizer", force="true")


@case("approval of a certificate request")
def _(api: Api) -> None:
    name = f"{api.namespace}-c"
    kind = ("certificates.k8s.io/v1", "CertificateSigningRequest", name)
    spec = {"request": CERTIFICATE_REQUEST, "signerName": "example.com/signer", "usages": ["client auth"]}
    api.apply("certificatesigningrequests", name, named(*kind, spec=spec))
    approved = {"type": "Approved", "status": "True", "reason": "Because"}
    body = named(*kind, status={"conditions": [approved]})
    api.apply("certificatesigningrequests", f"{name}/approval", body, "approver")
    failed = {"type": "Failed", "status": "True", "reason": "Because"}
    body = named(*kind, status={"conditions": [failed]})
    api.apply("certificatesigningrequests", f"{name}/status", body, "signer")


@case("subresources that take no apply")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    for subresource in ("binding", "eviction", "log", "exec"):
        api.apply("pods", f"a/{subresource}", named("v1", "Pod", "a"))
    api.apply("namespaces", f"{api.namespace}/finalize", named("v1", "Namespace", api.namespace))


@case("status and scale of custom resources")
def _(api: Api) -> None:
    spec = object_of(replicas=NUMBER, color=TEXT)
    status = object_of(replicas=NUMBER, phase=TEXT)
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    install(
        api,
        definition(
            api,
            object_of(spec=spec, status=status),
            version={"subresources": {"status": {}, "scale": paths}},
        ),
    )
    resource, kind = resource_of(api), (f"{group_of(api)}/v1", "Widget", "a")
    api.apply(resource, "a", named(*kind, spec={"replicas": 1, "color": "red"}, status={"phase": "New"}))
    api.apply(resource, "a/status", named(*kind, spec={"color": "blue"}, status={"phase": "Old"}), "two")
    api.apply(resource, "a/scale", scale(3), "scaler")
    api.apply(resource, "a/scale", scale(3), "scaler", force="true")
    api.get(resource, "a")
    api.patch(resource, "a/scale", {"spec": {"replicas": 4}}, fieldManager="patcher")
    api.get(resource, "a")
