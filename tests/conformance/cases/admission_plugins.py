"""Admission plugins: what kube-apiserver's own plugins set and refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.objects import config_map, metadata, named, namespace, pod

if TYPE_CHECKING:
    from tests.conformance.api import Api, CallResponse, Plain

case = area("Admission plugins")

MASTERS_REQUEST = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIaU1JR0tBZ0VBTUNneEZ6QVZCZ05WQkFvTURuTjVjM1JsYlRwdFlYTjBaWEp6"
    "TVEwd0N3WURWUVFEREFScQpZVzVsTUZrd0V3WUhLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFWG5SUEVDZnN6TE9rU2tGMVpLS0FXVmNoCkdU"
    "bUJOQXhKUk1SMUNRSUk2T3E4bWt3c3RzdHBuYmxqOWFMRnlFL1drQnBqZXVtTXRlYU9GTFpxWE5CUTRLQUEKTUFvR0NDcUdTTTQ5QkFNQ0EwY0FN"
    "RVFDSUUwL2U5aHdLUE01K2JxQm9pM1paTmg3c2VXd0ZWcmEvTFRiQXhSZQo4TDRPQWlBcnpjTnVPb1ZPR0drYSt6RU42b0x2UUxNTFJvWWtMdTlF"
    "OEREUHZrajhTZz09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo="
)
"""For O=system:masters."""
DEVELOPERS_REQUEST = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIZk1JR0dBZ0VBTUNReEV6QVJCZ05WQkFvTUNtUmxkbVZzYjNCbGNuTXhEVEFM"
    "QmdOVkJBTU1CR3BoYm1VdwpXVEFUQmdjcWhrak9QUUlCQmdncWhrak9QUU1CQndOQ0FBU2ZTREpjQjNDV0JhZk5NTGgvZGJWYlo5YUpUUzlyCitE"
    "c3crVHMvYkFQSm5sMFkrYXR3WUZsYVdXMzB2aExpRmhQZk1WeUo0U0ZsckZId1B1d2JKa0d6b0FBd0NnWUkKS29aSXpqMEVBd0lEU0FBd1JRSWhB"
    "TldwY21BdG5iajMzOVZxSDk1dzNoamsxSFhIS3I4QmJSQVU3REVXWmtvSQpBaUFmOFJPa1o4Q2h1UmJSN0Jja2tHb3IyKzhEdWV2Mi9DYm9hOFBM"
    "N3ZJT1lBPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg=="
)
"""For O=developers."""


def priority_class(name: str, value: int, **fields: Any) -> Plain:
    return named("scheduling.k8s.io/v1", "PriorityClass", name, value=value, **fields)


def runtime_class(name: str, **fields: Any) -> Plain:
    return named("node.k8s.io/v1", "RuntimeClass", name, handler="a", **fields)


def claim(name: str, storage_class: str | None = None, **meta: Any) -> Plain:
    spec: Plain = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata(name, **meta), "spec": spec}


def await_class(api: Api, name: str) -> None:
    """Wait until the plugin's cache of priority classes has one."""
    probe = pod("probe", spec={"priorityClassName": name})
    path = f"{api.path('pods')}?dryRun=All"
    api.await_response(path, lambda status, _: status == 201, method="POST", body=probe)


@case("namespaces that may not be deleted")
def _(api: Api) -> None:
    for name in ("default", "kube-system", "kube-public"):
        api.delete("namespaces", name, dryRun="All")
    api.delete("namespaces", "kube-node-lease", dryRun="All")


@case("a namespace that does not exist")
def _(api: Api) -> None:
    api.request("POST", "/api/v1/namespaces/missing/configmaps", config_map("a"))
    api.request("POST", "/api/v1/namespaces/missing/configmaps", config_map(generateName="a-"))
    api.request("POST", "/api/v1/namespaces/missing/configmaps", {"metadata": {"name": "UPPER"}})
    review = {"spec": {"user": "a", "resourceAttributes": {"namespace": "missing", "verb": "get", "resource": "pods"}}}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview", **review}
    api.request("POST", "/apis/authorization.k8s.io/v1/namespaces/missing/localsubjectaccessreviews", body)


@case("a namespace that is terminating")
def _(api: Api) -> None:
    place = f"{api.namespace}-x"
    api.create("namespaces", namespace(place))
    path = f"/api/v1/namespaces/{place}"
    api.request("POST", f"{path}/pods", pod("a"))
    api.delete("namespaces", place)
    probe = config_map("probe")
    api.await_response(f"{path}/configmaps?dryRun=All", lambda status, _: status == 403, method="POST", body=probe)
    api.request("POST", f"{path}/configmaps", config_map("a"))
    api.request("POST", f"{path}/configmaps", config_map(generateName="gen-"))
    headers = {"Content-Type": "application/merge-patch+json"}
    api.request("PATCH", f"{path}/pods/a", {"metadata": {"labels": {"a": "b"}}}, headers=headers)
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"}, "target": {"name": "node"}}
    api.request("POST", f"{path}/pods/a/binding", binding)


@case("the priority of a pod")
def _(api: Api) -> None:
    name = f"{api.namespace}-p"
    api.create("priorityclasses", priority_class(name, 7, preemptionPolicy="Never"))
    await_class(api, name)
    api.create("pods", pod("a", spec={"priorityClassName": name}))
    api.create("pods", pod("b", spec={"priorityClassName": name, "priority": 7, "preemptionPolicy": "Never"}))
    api.create("pods", pod("c", spec={"priorityClassName": name, "priority": 8}))
    api.create("pods", pod("d", spec={"priorityClassName": name, "preemptionPolicy": "PreemptLowerPriority"}))


@case("priorities without a class")
def _(api: Api) -> None:
    api.create("pods", pod("a", spec={"priority": 0}))
    api.create("pods", pod("b", spec={"priority": 1}))
    api.create("pods", pod("c", spec={"preemptionPolicy": "Never"}))
    api.create("pods", pod("d", spec={"priorityClassName": "missing"}))
    api.create("pods", pod(generateName="gen-", spec={"priorityClassName": "missing"}))
    api.create("pods", pod("", spec={"priorityClassName": "missing"}))


@case("the default priority class")
def _(api: Api) -> None:
    name = f"{api.namespace}-p"
    api.create("priorityclasses", priority_class(name, 5, globalDefault=True))
    probe = pod("probe")
    api.await_response(
        f"{api.path('pods')}?dryRun=All",
        lambda _, found: found.get("spec", {}).get("priority") == 5,
        method="POST",
        body=probe,
    )
    api.create("pods", pod("a"))
    api.create("priorityclasses", priority_class(f"{name}2", 6, globalDefault=True))
    api.create("priorityclasses", priority_class(f"{name}2", 6))
    api.patch("priorityclasses", f"{name}2", {"globalDefault": True})
    api.patch("priorityclasses", name, {"globalDefault": True, "description": "words"})


@case("an update of a pod without its priority and tolerations")
def _(api: Api) -> None:
    made = api.create("pods", pod("a"))
    body = pod("a", labels={"a": "b"}, version=made.version)
    body["spec"] = {**made.body.get("spec", {})}
    for field in ("priority", "preemptionPolicy", "tolerations"):
        body["spec"].pop(field, None)
    api.update("pods", "a", body)


@case("the default tolerations of a pod")
def _(api: Api) -> None:
    ready, reachable = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    for number, tolerations in enumerate(
        (
            [{"key": ready, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
            [{"key": reachable, "operator": "Exists"}],
            [{"key": ready, "operator": "Exists", "effect": "NoSchedule"}],
            [{"operator": "Exists"}],
            [{"operator": "Exists", "effect": "NoExecute"}],
        )
    ):
        api.create("pods", pod(f"a{number}", spec={"tolerations": tolerations}))


@case("a runtime class that does not exist")
def _(api: Api) -> None:
    api.create("pods", pod("a", spec={"runtimeClassName": "missing"}))
    api.create("pods", pod(generateName="gen-", spec={"runtimeClassName": "missing"}))


@case("the overhead of a runtime class")
def _(api: Api) -> None:
    name = f"{api.namespace}-r"
    fixed = {"cpu": "100m", "memory": "1Gi"}
    api.create("runtimeclasses", runtime_class(name, overhead={"podFixed": fixed}))
    api.create("pods", pod("a", spec={"runtimeClassName": name}))
    api.create("pods", pod("b", spec={"runtimeClassName": name, "overhead": {"cpu": "0.1", "memory": "1024Mi"}}))
    api.create("pods", pod("c", spec={"runtimeClassName": name, "overhead": {"cpu": "100m"}}))
    api.create("pods", pod("d", spec={"overhead": fixed}))


@case("overhead of a pod whose runtime class has none")
def _(api: Api) -> None:
    name = f"{api.namespace}-r"
    api.create("runtimeclasses", runtime_class(name))
    api.create("pods", pod("a", spec={"runtimeClassName": name, "overhead": {"cpu": "1"}}))
    api.create("pods", pod("b", spec={"runtimeClassName": name}))


@case("the scheduling of a runtime class")
def _(api: Api) -> None:
    name = f"{api.namespace}-r"
    scheduling = {
        "nodeSelector": {"a": "1", "b": "2"},
        "tolerations": [
            {"key": "x", "operator": "Exists"},
            {"key": "y", "operator": "Equal", "value": "z", "effect": "NoExecute", "tolerationSeconds": 9},
        ],
    }
    api.create("runtimeclasses", runtime_class(name, scheduling=scheduling))
    api.create("pods", pod("a", spec={"runtimeClassName": name}))
    own = [
        {"key": "x", "operator": "Equal", "value": "1", "effect": "NoSchedule"},
        {"key": "y", "operator": "Equal", "value": "z", "effect": "NoExecute", "tolerationSeconds": 3},
        {"key": "w", "operator": "Exists"},
    ]
    spec = {"runtimeClassName": name, "nodeSelector": {"a": "1", "c": "3"}, "tolerations": own}
    api.create("pods", pod("b", spec=spec))
    api.create("pods", pod("c", spec={"runtimeClassName": name, "nodeSelector": {"b": "3"}}))


@case("finalizers of storage objects")
def _(api: Api) -> None:
    api.create("persistentvolumeclaims", claim("a", ""))
    api.create("persistentvolumeclaims", claim("b", "", finalizers=["kubernetes.io/pvc-protection", "a.example/b"]))
    volume = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}
    api.create("persistentvolumes", named("v1", "PersistentVolume", api.namespace, spec=volume))


@case("a claim grows")
def _(api: Api) -> None:
    name = f"{api.namespace}-s"
    growing = {"provisioner": "a.example/b", "allowVolumeExpansion": True}
    api.create("storageclasses", named("storage.k8s.io/v1", "StorageClass", name, **growing))
    fixed = {"provisioner": "a.example/b"}
    api.create("storageclasses", named("storage.k8s.io/v1", "StorageClass", f"{name}2", **fixed))
    larger = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    for number, storage_class in enumerate(("", f"{name}2", name)):
        made = f"a{number}"
        api.create("persistentvolumeclaims", claim(made, storage_class))
        api.patch("persistentvolumeclaims", f"{made}/status", {"status": {"phase": "Bound"}})
        api.patch("persistentvolumeclaims", made, {"metadata": {"labels": {"a": "b"}}})
        api.patch("persistentvolumeclaims", made, larger)


@case("an unbound claim cannot grow")
def _(api: Api) -> None:
    api.create("persistentvolumeclaims", claim("a", "some"))
    api.patch("persistentvolumeclaims", "a", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}})


@case("new nodes are tainted")
def _(api: Api) -> None:
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    for number, taints in enumerate(([], [taint], [{**taint, "effect": "NoExecute"}], [{**taint, "value": "x"}])):
        api.create("nodes", named("v1", "Node", f"{api.namespace}-{number}", spec={"taints": taints}))


@case("pods get the topology of their node")
def _(api: Api) -> None:
    name = f"{api.namespace}-n"
    labels = {
        "topology.kubernetes.io/zone": "z",
        "topology.kubernetes.io/region": "r",
        "topology.kubernetes.io/other": "o",
    }
    api.create("nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata(name, labels=labels)})
    probe = pod("probe", spec={"nodeName": name})
    path = f"{api.path('pods')}?dryRun=All"
    api.await_response(path, lambda _, found: "labels" in found.get("metadata", {}), method="POST", body=probe)
    api.create("pods", pod("a", spec={"nodeName": name}))
    api.create("pods", pod("b", spec={"nodeName": name}, labels={"topology.kubernetes.io/zone": "mine"}))
    api.create("pods", pod("c", spec={"nodeName": "missing"}))
    api.create("pods", pod("d"))
    target = {"apiVersion": "v1", "kind": "Node", "name": name}
    api.create("pods", named("v1", "Binding", "d", target=target), sub="d/binding")
    api.get("pods", "d")


def request(name: str, signer: str, encoded: str) -> Plain:
    spec = {"request": encoded, "signerName": signer, "usages": ["client auth"]}
    return named("certificates.k8s.io/v1", "CertificateSigningRequest", name, spec=spec)


def as_user(api: Api, method: str, path: str, body: object) -> CallResponse:
    headers = {"Impersonate-User": "jane", "Content-Type": "application/merge-patch+json"}
    return api.request(method, path, body, headers=headers)


def allow(api: Api, *rules: Plain) -> None:
    """Give jane a cluster role; the real server needs a moment to know it."""
    name = f"{api.namespace}-role"
    api.create("clusterroles", named("rbac.authorization.k8s.io/v1", "ClusterRole", name, rules=list(rules)))
    subjects = [{"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}]
    reference = {"kind": "ClusterRole", "name": name, "apiGroup": "rbac.authorization.k8s.io"}
    body = named("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", name, subjects=subjects, roleRef=reference)
    api.create("clusterrolebindings", body)
    attributes = {"verb": rules[-1]["verbs"][0], "group": rules[-1]["apiGroups"][0]}
    resource, _, subresource = rules[-1]["resources"][0].partition("/")
    wanted = {**attributes, "resource": resource, "subresource": subresource}
    if names := rules[-1].get("resourceNames"):
        wanted["name"] = names[0]
    review = named(
        "authorization.k8s.io/v1", "SubjectAccessReview", spec={"user": "jane", "resourceAttributes": wanted}
    )
    api.await_response(
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        lambda _, found: bool(found.get("status", {}).get("allowed")),
        method="POST",
        body=review,
    )


@case("certificates of the group system:masters")
def _(api: Api) -> None:
    client, other = "kubernetes.io/kube-apiserver-client", "a.example/b"
    for number, (signer, encoded) in enumerate(
        ((client, MASTERS_REQUEST), (other, MASTERS_REQUEST), (client, DEVELOPERS_REQUEST))
    ):
        api.create("certificatesigningrequests", request(f"{api.namespace}-{number}", signer, encoded))


@case("approvals need the permission for the signer")
def _(api: Api) -> None:
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    verdict = {"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "a", "message": "b"}]}}
    for number, signer in enumerate(("a.example/b", "c.example/d", "e.example/f")):
        api.create("certificatesigningrequests", request(f"{api.namespace}-{number}", signer, DEVELOPERS_REQUEST))
    resources = {"apiGroups": ["certificates.k8s.io"]}
    allow(
        api,
        {**resources, "resources": ["certificatesigningrequests/approval"], "verbs": ["patch"]},
        {**resources, "resources": ["signers"], "resourceNames": ["c.example/d", "e.example/*"], "verbs": ["approve"]},
    )
    for number in range(3):
        as_user(api, "PATCH", f"{path}/{api.namespace}-{number}/approval", verdict)


@case("certificates need the permission to sign for the signer")
def _(api: Api) -> None:
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    for number, signer in enumerate(("a.example/b", "c.example/d")):
        api.create("certificatesigningrequests", request(f"{api.namespace}-{number}", signer, DEVELOPERS_REQUEST))
    resources = {"apiGroups": ["certificates.k8s.io"]}
    allow(
        api,
        {**resources, "resources": ["certificatesigningrequests/status"], "verbs": ["patch"]},
        {**resources, "resources": ["signers"], "resourceNames": ["c.example/d"], "verbs": ["sign"]},
    )
    for number in range(2):
        failed = {"type": "Failed", "status": "True", "reason": "a", "message": "b"}
        as_user(api, "PATCH", f"{path}/{api.namespace}-{number}/status", {"metadata": {"labels": {"a": "b"}}})
        as_user(api, "PATCH", f"{path}/{api.namespace}-{number}/status", {"status": {"conditions": [failed]}})


@case("the default storage class")
def _(api: Api) -> None:
    name = f"{api.namespace}-s"
    mark = {"storageclass.kubernetes.io/is-default-class": "true"}
    body = named("storage.k8s.io/v1", "StorageClass", name, provisioner="a.example/b")
    body["metadata"]["annotations"] = mark
    api.create("storageclasses", body)
    api.await_response(
        f"{api.path('persistentvolumeclaims')}?dryRun=All",
        lambda _, found: "storageClassName" in found.get("spec", {}),
        method="POST",
        body=claim("probe"),
    )
    api.create("persistentvolumeclaims", claim("a"))
    api.create("persistentvolumeclaims", claim("b", ""))
    api.create("persistentvolumeclaims", claim("c", annotations={"volume.beta.kubernetes.io/storage-class": "x"}))


@case("the default ingress class")
def _(api: Api) -> None:
    name = f"{api.namespace}-i"
    body = named("networking.k8s.io/v1", "IngressClass", name, spec={"controller": "a.example/b"})
    body["metadata"]["annotations"] = {"ingressclass.kubernetes.io/is-default-class": "true"}
    api.create("ingressclasses", body)
    backend = {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}}
    ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": backend}
    api.await_response(
        f"{api.path('ingresses')}?dryRun=All",
        lambda _, found: "ingressClassName" in found.get("spec", {}),
        method="POST",
        body={**ingress, "metadata": {"name": "probe"}},
    )
    api.create("ingresses", {**ingress, "metadata": metadata("a")})
    api.create("ingresses", {**ingress, "metadata": metadata("b"), "spec": {**backend, "ingressClassName": "mine"}})
    old = metadata("c", annotations={"kubernetes.io/ingress.class": "old"})
    api.create("ingresses", {**ingress, "metadata": old})


@case("a resize beyond the capacity of the node")
def _(api: Api) -> None:
    for name, labels in (("a", {"kubernetes.io/os": "linux"}), ("b", {"kubernetes.io/os": "windows"})):
        node = f"{api.namespace}-{name}"
        api.create("nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata(node, labels=labels)})
        status = {"allocatable": {"cpu": "2", "memory": "1Gi"}, "capacity": {"cpu": "2", "memory": "1Gi"}}
        api.patch("nodes", f"{node}/status", {"status": status})
    for name, node in (("a", f"{api.namespace}-a"), ("b", f"{api.namespace}-b"), ("c", "missing"), ("d", "")):
        containers = [{"name": "m", "image": "image", "resources": {"requests": {"cpu": "1", "memory": "1Mi"}}}]
        api.create("pods", pod(name, spec={"containers": containers, **({"nodeName": node} if node else {})}))
    for cpu, memory in (("1500m", "1Mi"), ("2500m", "1Mi"), ("3", "2Gi")):
        resources = {"requests": {"cpu": cpu, "memory": memory}}
        body = {"spec": {"containers": [{"name": "m", "resources": resources}]}}
        for name in ("a", "b", "c", "d"):
            api.patch("pods", f"{name}/resize", body, by="strategic")
