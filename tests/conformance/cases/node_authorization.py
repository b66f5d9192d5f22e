"""The node authorizer: what kubelets may do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.access import REVIEWS
from tests.conformance.case import area
from tests.conformance.objects import pod

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Node authorization")


def node(api: Api) -> str:
    """The node of a case; it does not have to exist."""
    return f"{api.namespace}-node"


def kubelet(api: Api, name: str = "") -> dict[str, str]:
    return {"Impersonate-User": f"system:node:{name or node(api)}", "Impersonate-Group": "system:nodes"}


def ask(api: Api, verb: str, resource: str, name: str = "", **more: object) -> None:
    """Record whether the kubelet of the case may do something."""
    plural, _, subresource = resource.partition("/")
    plural, _, group = plural.partition(".")
    attributes = {
        "verb": verb,
        "group": group,
        "resource": plural,
        "subresource": subresource,
        "name": name,
        "namespace": api.namespace,
        **more,
    }
    api.request("POST", f"{REVIEWS}/subjectaccessreviews", review_of(api, attributes), pick=lambda body: body["status"])


def review_of(api: Api, attributes: Plain) -> Plain:
    spec = {"user": f"system:node:{node(api)}", "groups": ["system:nodes"], "resourceAttributes": attributes}
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}


def run_pod(
    api: Api, name: str = "web", *, on: str = "", annotations: dict[str, str] | None = None, **spec: object
) -> None:
    """Make a pod on the node of the case, and wait until the authorizer knows it."""
    whole = {"nodeName": on or node(api), **spec}
    body = pod(name, spec=whole, annotations=annotations) if annotations else pod(name, spec=whole)
    status, document = api.quietly("POST", api.path("pods"), body)
    assert status == 201, document
    api.remove_at_the_end(api.path("pods", name))
    await_access(api, on or node(api), "pods", name)


def await_access(
    api: Api, of: str, resource: str, name: str, *, group: str = "", allowed: bool = True, local: bool = True
) -> None:
    attributes = {
        "verb": "get",
        "resource": resource,
        "group": group,
        "name": name,
        "namespace": api.namespace if local else "",
    }
    spec = {"user": f"system:node:{of}", "groups": ["system:nodes"], "resourceAttributes": attributes}
    api.await_response(
        f"{REVIEWS}/subjectaccessreviews",
        lambda _, review: review.get("status", {}).get("allowed") is allowed,
        method="POST",
        body={"spec": spec},
    )


@case("requests of a kubelet are refused with a reason")
def _(api: Api) -> None:
    for path in (
        api.path("secrets", "one"),
        api.path("secrets"),
        "/api/v1/secrets",
        "/api/v1/nodes",
        "/api/v1/nodes/other",
        api.path("pods"),
        "/metrics",
        api.path("deployments"),
        "/apis/coordination.k8s.io/v1/leases",
    ):
        api.request("GET", path, headers=kubelet(api))


@case("a kubelet reads its own node")
def _(api: Api) -> None:
    api.request("GET", f"/api/v1/nodes/{node(api)}", headers=kubelet(api))
    query = {"fieldSelector": f"metadata.name={node(api)}"}
    api.request("GET", "/api/v1/nodes", query=query, headers=kubelet(api), pick=lambda body: body.get("items"))


@case("a kubelet without a name is unknown")
def _(api: Api) -> None:
    headers = {"Impersonate-User": "system:node:", "Impersonate-Group": "system:nodes"}
    api.request("GET", api.path("secrets", "one"), headers=headers)


@case("a user of that name outside the group is no kubelet")
def _(api: Api) -> None:
    headers = {"Impersonate-User": f"system:node:{node(api)}"}
    api.request("GET", f"/api/v1/nodes/{node(api)}", headers={**headers, "Impersonate-Group": "others"})
    api.request("GET", "/api/v1/nodes/x", headers={"Impersonate-User": "other", "Impersonate-Group": "system:nodes"})


@case("pods on a node give access to what they refer to")
def _(api: Api) -> None:
    environment = [
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "env-secret", "key": "k"}}},
        {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "env-map", "key": "k"}}},
    ]
    sources = [{"secretRef": {"name": "from-secret"}}, {"configMapRef": {"name": "from-map"}}]
    container = {"name": "main", "image": "image", "env": environment, "envFrom": sources}
    volumes = [
        {"name": "a", "secret": {"secretName": "volume-secret"}},
        {"name": "b", "configMap": {"name": "volume-map"}},
        {"name": "c", "projected": {"sources": [{"secret": {"name": "p-secret"}}, {"configMap": {"name": "p-map"}}]}},
        {"name": "d", "persistentVolumeClaim": {"claimName": "claim"}},
        {"name": "e", "csi": {"driver": "d.example.com", "nodePublishSecretRef": {"name": "csi-secret"}}},
    ]
    run_pod(
        api,
        containers=[container],
        initContainers=[{"name": "init", "image": "image", "envFrom": [{"secretRef": {"name": "init-secret"}}]}],
        volumes=volumes,
        imagePullSecrets=[{"name": "pull-secret"}],
        serviceAccountName="robot",
    )
    for name in ("env", "from", "volume", "p", "csi", "init", "pull", "other"):
        ask(api, "get", "secrets", f"{name}-secret")
    for name in ("env", "from", "volume", "p", "other"):
        ask(api, "get", "configmaps", f"{name}-map")
    ask(api, "get", "persistentvolumeclaims", "claim")
    ask(api, "get", "serviceaccounts", "robot")
    ask(api, "create", "serviceaccounts/token", "robot")
    ask(api, "create", "serviceaccounts/token", "other")


@case("pods on other nodes give no access")
def _(api: Api) -> None:
    run_pod(api, on=f"{api.namespace}-other", imagePullSecrets=[{"name": "pull"}])
    ask(api, "get", "secrets", "pull")
    ask(api, "get", "pods", "web")


@case("access ends with the pod")
def _(api: Api) -> None:
    run_pod(api, imagePullSecrets=[{"name": "pull"}])
    ask(api, "get", "secrets", "pull")
    api.quietly("DELETE", f"{api.path('pods', 'web')}?gracePeriodSeconds=0")
    await_access(api, node(api), "pods", "web", allowed=False)
    ask(api, "get", "secrets", "pull")


@case("two pods share a secret")
def _(api: Api) -> None:
    run_pod(api, imagePullSecrets=[{"name": "pull"}])
    run_pod(api, "two", imagePullSecrets=[{"name": "pull"}])
    api.quietly("DELETE", f"{api.path('pods', 'web')}?gracePeriodSeconds=0")
    await_access(api, node(api), "pods", "web", allowed=False)
    ask(api, "get", "secrets", "pull")


@case("a mirror pod gives no access")
def _(api: Api) -> None:
    run_pod(api, annotations={"kubernetes.io/config.mirror": "x"})
    ask(api, "get", "pods", "web")
    ask(api, "get", "serviceaccounts", "default")


@case("secrets and config maps are read by name")
def _(api: Api) -> None:
    run_pod(api, imagePullSecrets=[{"name": "pull"}])
    for verb in ("get", "list", "watch", "create", "update", "delete"):
        ask(api, verb, "secrets", "pull")
    ask(api, "list", "secrets")
    ask(api, "get", "secrets", "pull", namespace="")
    ask(api, "get", "secrets/status", "pull")


@case("a list of one secret is a read by name")
def _(api: Api) -> None:
    run_pod(api, imagePullSecrets=[{"name": "pull"}])
    for name in ("pull", "other"):
        query = {"fieldSelector": f"metadata.name={name}"}
        api.request(
            "GET", api.path("secrets"), query=query, headers=kubelet(api), pick=lambda body: body.get("message")
        )


@case("pods are read by name or by node")
def _(api: Api) -> None:
    run_pod(api)
    for verb in ("get", "list", "watch", "create", "delete", "update", "patch", "deletecollection"):
        ask(api, verb, "pods", "web")
    ask(api, "list", "pods")
    ask(api, "get", "pods/log", "web")
    for verb in ("get", "update", "patch"):
        ask(api, verb, "pods/status", "web")
    for verb in ("get", "create"):
        ask(api, verb, "pods/eviction", "web")


@case("pods are selected by node")
def _(api: Api) -> None:
    for selector in (
        f"spec.nodeName={node(api)}",
        f"spec.nodeName=={node(api)},status.phase!=Failed",
        f"spec.nodeName!={node(api)}",
        "spec.nodeName=other",
        "status.phase=Running",
    ):
        query = {"fieldSelector": selector}
        api.request("GET", "/api/v1/pods", query=query, headers=kubelet(api), pick=lambda body: body.get("message"))
        ask(api, "watch", "pods", fieldSelector={"rawSelector": selector})


@case("nodes are written")
def _(api: Api) -> None:
    for verb in ("create", "update", "patch", "delete", "deletecollection", "watch"):
        ask(api, verb, "nodes", node(api), namespace="")
    for verb in ("get", "update", "patch"):
        ask(api, verb, "nodes/status", node(api), namespace="")
    ask(api, "get", "nodes/proxy", node(api), namespace="")


@case("leases of nodes")
def _(api: Api) -> None:
    place = {"namespace": "kube-node-lease"}
    for verb in ("get", "create", "update", "patch", "delete", "list", "watch"):
        ask(api, verb, "leases.coordination.k8s.io", node(api), **place)
    ask(api, "get", "leases.coordination.k8s.io", "other", **place)
    ask(api, "create", "leases.coordination.k8s.io", **place)
    ask(api, "get", "leases.coordination.k8s.io", node(api))


@case("CSINodes")
def _(api: Api) -> None:
    for verb in ("get", "create", "update", "patch", "delete", "list"):
        ask(api, verb, "csinodes.storage.k8s.io", node(api), namespace="")
    ask(api, "get", "csinodes.storage.k8s.io", "other", namespace="")
    ask(api, "get", "csinodes.storage.k8s.io/status", node(api), namespace="")


@case("resource slices")
def _(api: Api) -> None:
    for verb in ("get", "create", "update", "list", "deletecollection", "escalate"):
        ask(api, verb, "resourceslices.resource.k8s.io", "none", namespace="")
    selected = {"rawSelector": f"spec.nodeName={node(api)}"}
    for verb in ("list", "watch", "deletecollection"):
        ask(api, verb, "resourceslices.resource.k8s.io", namespace="", fieldSelector=selected)
    ask(api, "get", "resourceslices.resource.k8s.io/status", "none", namespace="")


@case("a resource slice belongs to its node")
def _(api: Api) -> None:
    name = f"{api.namespace}-slice"
    pool = {"name": "pool", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d.example.com", "nodeName": node(api), "pool": pool}
    api.quietly("POST", "/apis/resource.k8s.io/v1/resourceslices", {"metadata": {"name": name}, "spec": spec})
    api.remove_at_the_end(f"/apis/resource.k8s.io/v1/resourceslices/{name}")
    await_access(api, node(api), "resourceslices", name, group="resource.k8s.io", local=False)
    for verb in ("get", "update", "delete"):
        ask(api, verb, "resourceslices.resource.k8s.io", name, namespace="")


@case("resource claims of pods")
def _(api: Api) -> None:
    run_pod(
        api,
        resourceClaims=[{"name": "a", "resourceClaimName": "claim"}, {"name": "b", "resourceClaimTemplateName": "t"}],
    )
    ask(api, "get", "resourceclaims.resource.k8s.io", "claim")
    ask(api, "get", "resourceclaims.resource.k8s.io", "made")
    ask(api, "list", "resourceclaims.resource.k8s.io", "claim")
    status = {"status": {"resourceClaimStatuses": [{"name": "b", "resourceClaimName": "made"}]}}
    path = f"{api.path('pods', 'web')}/status"
    api.quietly("PATCH", path, status, Content_Type="application/merge-patch+json")
    await_access(api, node(api), "resourceclaims", "made", group="resource.k8s.io")
    ask(api, "get", "resourceclaims.resource.k8s.io", "made")


@case("volumes of claims and their secrets")
def _(api: Api) -> None:
    run_pod(api, volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "claim"}}])
    name = f"{api.namespace}-volume"
    secrets = {
        "controllerPublishSecretRef": {"name": "controller", "namespace": api.namespace},
        "nodePublishSecretRef": {"name": "node", "namespace": api.namespace},
    }
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "claimRef": {"name": "claim", "namespace": api.namespace},
        "csi": {"driver": "d.example.com", "volumeHandle": "h", **secrets},
    }
    api.quietly("POST", "/api/v1/persistentvolumes", {"metadata": {"name": name}, "spec": spec})
    api.remove_at_the_end(f"/api/v1/persistentvolumes/{name}")
    await_access(api, node(api), "persistentvolumes", name, local=False)
    ask(api, "get", "persistentvolumes", name, namespace="")
    ask(api, "get", "persistentvolumes", "other", namespace="")
    ask(api, "list", "persistentvolumes", name, namespace="")
    ask(api, "get", "secrets", "node")
    ask(api, "get", "secrets", "controller")
    for verb in ("get", "update", "patch"):
        ask(api, verb, "persistentvolumeclaims/status", "claim")
    ask(api, "update", "persistentvolumeclaims", "claim")


@case("volume attachments of a node")
def _(api: Api) -> None:
    name = f"{api.namespace}-attachment"
    spec = {"attacher": "d.example.com", "nodeName": node(api), "source": {"persistentVolumeName": "pv"}}
    path = "/apis/storage.k8s.io/v1/volumeattachments"
    api.quietly("POST", path, {"metadata": {"name": name}, "spec": spec})
    api.remove_at_the_end(f"{path}/{name}")
    await_access(api, node(api), "volumeattachments", name, group="storage.k8s.io", local=False)
    ask(api, "get", "volumeattachments.storage.k8s.io", name, namespace="")
    ask(api, "get", "volumeattachments.storage.k8s.io", "other", namespace="")
    ask(api, "update", "volumeattachments.storage.k8s.io", name, namespace="")


@case("pod certificate requests")
def _(api: Api) -> None:
    selected = {"rawSelector": f"spec.nodeName={node(api)}"}
    resource = "podcertificaterequests.certificates.k8s.io"
    for verb in ("create", "get", "list", "delete"):
        ask(api, verb, resource, "one")
    ask(api, "list", resource, fieldSelector=selected)
    ask(api, "get", f"{resource}/status", "one")


@case("service accounts and their tokens")
def _(api: Api) -> None:
    ask(api, "create", "serviceaccounts", "robot")
    ask(api, "create", "serviceaccounts/token")
    ask(api, "list", "serviceaccounts")
    ask(api, "update", "serviceaccounts/token", "robot")


@case("other resources have the rules of every kubelet")
def _(api: Api) -> None:
    for verb, resource in (
        ("create", "events"),
        ("list", "services"),
        ("delete", "services"),
        ("get", "endpoints"),
        ("create", "certificatesigningrequests.certificates.k8s.io"),
        ("watch", "runtimeclasses.node.k8s.io"),
        ("list", "csidrivers.storage.k8s.io"),
        ("create", "tokenreviews.authentication.k8s.io"),
        ("list", "deployments.apps"),
    ):
        ask(api, verb, resource)


@case("the rules of a kubelet are incomplete")
def _(api: Api) -> None:
    body = {"kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1", "spec": {"namespace": "default"}}
    path = f"{REVIEWS}/selfsubjectrulesreviews"
    api.request(
        "POST",
        path,
        body,
        headers=kubelet(api),
        pick=lambda body: {**body["status"], "nonResourceRules": [], "resourceRules": []},
    )
