"""Managed fields: entries of writes through subresources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.cases.minimal import CERTIFICATE_REQUEST
from tests.conformance.definitions import (
    DEFINITIONS,
    NUMBER,
    TEXT,
    await_condition,
    definition,
    group_of,
    install,
    object_of,
    resource_of,
)
from tests.conformance.objects import deployment, job, named, pod, service, workload

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Managed fields of subresources")


@case("status has an entry of its own")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.patch("deployments", "a/status", {"status": {"replicas": 1}})
    api.patch("deployments", "a", {"spec": {"replicas": 2}})
    api.patch("deployments", "a/status", {"status": {"replicas": None}})


@case("status by update, with more than the status")
def _(api: Api) -> None:
    made = api.create("deployments", deployment("a"))
    body = {**made.body, "spec": {**made.body["spec"], "replicas": 9}, "status": {"replicas": 2}}
    body["metadata"] = {**made.metadata, "labels": {"l": "1"}}
    api.update("deployments", "a/status", body, fieldManager="controller")


@case("managed fields that are sent through a subresource are left out")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"), fieldManager="one")
    api.patch("deployments", "a/status", {"metadata": {"managedFields": [{}]}, "status": {"replicas": 1}})
    api.patch("deployments", "a/status", {"metadata": {"managedFields": []}, "status": {"replicas": 2}})
    api.patch("deployments", "a/status", {"metadata": {"managedFields": None}})


@case("status of pods, with conditions")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2001-02-03T04:05:06Z"}
    status: Plain = {
        "phase": "Running",
        "conditions": [ready],
        "podIPs": [{"ip": "10.1.1.1"}],
        "podIP": "10.1.1.1",
    }
    api.patch("pods", "a/status", {"status": status}, by="strategic", fieldManager="kubelet")
    other = {"type": "example.com/gate", "status": "True"}
    api.patch("pods", "a/status", {"status": {"conditions": [other]}}, by="strategic", fieldManager="gate")


@case("status of a job, a service and a node")
def _(api: Api) -> None:
    api.create("jobs", job("a"))
    api.patch("jobs", "a/status", {"status": {"active": 1}}, fieldManager="controller")
    api.create("services", service("a", spec={"type": "LoadBalancer"}))
    status = {"loadBalancer": {"ingress": [{"hostname": "a.example.com"}]}}
    api.patch("services", "a/status", {"status": status}, fieldManager="cloud")
    name = f"{api.namespace}-n"
    api.create("nodes", named("v1", "Node", name))
    condition = {"type": "Ready", "status": "True"}
    api.patch("nodes", f"{name}/status", {"status": {"conditions": [condition]}}, fieldManager="kubelet")
    api.patch("nodes", name, {"spec": {"unschedulable": True}}, fieldManager="drainer")


@case("scale by update")
def _(api: Api) -> None:
    api.create("deployments", deployment("a", replicas=1), fieldManager="one")
    found = api.get("deployments", "a/scale").body
    api.update("deployments", "a/scale", {**found, "spec": {"replicas": 3}}, fieldManager="scaler")
    api.get("deployments", "a")
    api.get("deployments", "a/scale")


@case("scale by patch, twice, by two managers")
def _(api: Api) -> None:
    api.create("deployments", deployment("a", replicas=1), fieldManager="one")
    api.patch("deployments", "a/scale", {"spec": {"replicas": 2}}, fieldManager="first")
    api.patch("deployments", "a/scale", {"spec": {"replicas": 2}}, fieldManager="second")
    api.get("deployments", "a")
    api.patch("deployments", "a/scale", {"spec": {"replicas": 3}}, fieldManager="second")
    api.get("deployments", "a")
    api.patch("deployments", "a", {"spec": {"replicas": 4}}, fieldManager="one")


@case("scale by the manager that created")
def _(api: Api) -> None:
    api.create("replicasets", workload("ReplicaSet", "a", replicas=1), fieldManager="one")
    api.patch("replicasets", "a/scale", {"spec": {"replicas": 2}}, fieldManager="one")
    api.get("replicasets", "a")
    api.create("statefulsets", workload("StatefulSet", "a", replicas=1), fieldManager="one")
    api.patch("statefulsets", "a/scale", {"spec": {"replicas": 2}}, fieldManager="two")
    api.get("statefulsets", "a")
    spec = {"selector": {"app": "a"}, "replicas": 1, "template": deployment()["spec"]["template"]}
    api.create("replicationcontrollers", named("v1", "ReplicationController", "a", spec=spec))
    api.patch("replicationcontrollers", "a/scale", {"spec": {"replicas": 2}}, fieldManager="two")
    api.get("replicationcontrollers", "a")


@case("scale of an applied deployment")
def _(api: Api) -> None:
    api.apply("deployments", "a", deployment("a", replicas=1))
    api.patch("deployments", "a/scale", {"spec": {"replicas": 2}}, fieldManager="scaler")
    api.get("deployments", "a")
    api.apply("deployments", "a", deployment("a", replicas=1))
    api.apply("deployments", "a", deployment("a"))
    api.get("deployments", "a/scale")


@case("a dry run of scale")
def _(api: Api) -> None:
    api.create("deployments", deployment("a", replicas=1))
    api.patch("deployments", "a/scale", {"spec": {"replicas": 2}}, fieldManager="scaler", dryRun="All")
    api.get("deployments", "a")


@case("a binding")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a"},
        "target": {"kind": "Node", "name": "n"},
    }
    api.create("pods", body, "a/binding", fieldManager="scheduler")
    api.get("pods", "a")


@case("an eviction")
def _(api: Api) -> None:
    api.create("pods", pod("a", finalizers=["example.com/a"]))
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    api.create("pods", body, "a/eviction", fieldManager="drainer")
    api.get("pods", "a")


@case("ephemeral containers")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    debugger = {"name": "debug", "image": "image"}
    patch = {"spec": {"ephemeralContainers": [debugger]}}
    api.patch("pods", "a/ephemeralcontainers", patch, by="strategic", fieldManager="debugger")
    api.get("pods", "a")


@case("a resize")
def _(api: Api) -> None:
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
    containers = [{"name": "main", "image": "image", "resources": resources}]
    api.create("pods", pod("a", spec={"containers": containers}))
    larger = {"name": "main", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}}
    patch = {"spec": {"containers": [larger]}}
    api.patch("pods", "a/resize", patch, by="strategic", fieldManager="resizer")


@case("the approval of a certificate request")
def _(api: Api) -> None:
    name = f"{api.namespace}-c"
    spec = {"request": CERTIFICATE_REQUEST, "signerName": "example.com/signer", "usages": ["client auth"]}
    body = named("certificates.k8s.io/v1", "CertificateSigningRequest", name, spec=spec)
    api.create("certificatesigningrequests", body)
    approved = {"type": "Approved", "status": "True", "reason": "Because"}
    patch = {"status": {"conditions": [approved]}}
    api.patch("certificatesigningrequests", f"{name}/approval", patch, fieldManager="approver")
    other = {"type": "example.com/seen", "status": "True", "reason": "Because"}
    patch = {"status": {"conditions": [approved, other]}}
    api.patch("certificatesigningrequests", f"{name}/status", patch, fieldManager="signer")


@case("a namespace that is finalized")
def _(api: Api) -> None:
    name = f"{api.namespace}-b"
    made = api.create("namespaces", named("v1", "Namespace", name))
    body = {**made.body, "spec": {"finalizers": ["kubernetes", "example.com/a"]}}
    api.update("namespaces", f"{name}/finalize", body, fieldManager="finalizer")
    api.patch("namespaces", f"{name}/status", {"status": {"phase": "Active"}}, fieldManager="two")
    api.get("namespaces", name)


@case("a token request leaves the account alone")
def _(api: Api) -> None:
    api.create("serviceaccounts", named("v1", "ServiceAccount", "a"))
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["a"]}}
    path = api.path("serviceaccounts", "a/token")
    api.request("POST", path, request, query={"fieldManager": "one"}, pick=lambda body: body.get("kind"))
    api.get("serviceaccounts", "a")


@case("status and scale of a custom resource")
def _(api: Api) -> None:
    schema = object_of(spec=object_of(replicas=NUMBER, color=TEXT), status=object_of(replicas=NUMBER, phase=TEXT))
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    install(api, definition(api, schema, version={"subresources": {"status": {}, "scale": paths}}))
    resource = resource_of(api)
    body = named(f"{group_of(api)}/v1", "Widget", "a", spec={"replicas": 1, "color": "red"})
    api.create(resource, {**body, "status": {"phase": "New"}}, fieldManager="one")
    api.patch(resource, "a/status", {"status": {"phase": "Old"}, "spec": {"color": "blue"}}, fieldManager="two")
    api.patch(resource, "a/scale", {"spec": {"replicas": 2}}, fieldManager="scaler")
    api.get(resource, "a")
    api.patch(resource, "a/scale", {"spec": {"replicas": 3}}, fieldManager="one")
    api.get(resource, "a")


@case("a custom resource whose status is no subresource")
def _(api: Api) -> None:
    install(api, definition(api, object_of(spec=object_of(color=TEXT), status=object_of(phase=TEXT))))
    body = named(f"{group_of(api)}/v1", "Widget", "a", spec={"color": "red"}, status={"phase": "New"})
    api.create(resource_of(api), body, fieldManager="one")
    api.patch(resource_of(api), "a", {"status": {"phase": "Old"}}, fieldManager="two")


@case("what the server writes into the status of a definition")
def _(api: Api) -> None:
    api.create(DEFINITIONS, definition(api, object_of(spec=object_of(color=TEXT))), fieldManager="one")
    await_condition(api)
    name = f"widgets.{group_of(api)}"
    api.get(DEFINITIONS, name)
    api.patch(DEFINITIONS, name, {"spec": {"names": {"shortNames": ["w"]}}}, fieldManager="two")
