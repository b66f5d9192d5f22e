"""Admission plugins that need service accounts or are off by default: the servers of these cases run them, too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.cases.admission_plugins import DEVELOPERS_REQUEST, allow
from tests.conformance.objects import config_map, metadata, named, namespace, pod, service

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

PLUGINS = (
    "ServiceAccount",
    "AlwaysPullImages",
    "DenyServiceExternalIPs",
    "ExtendedResourceToleration",
    "LimitPodHardAntiAffinityTopology",
    "NodeRestriction",
    "OwnerReferencesPermissionEnforcement",
    "PodNodeSelector",
    "PodTolerationRestriction",
)
case = area("Service accounts of pods", PLUGINS)
further = area("Admission plugins that are off by default", PLUGINS)
restricted = area("Node restriction", PLUGINS)

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
MIRROR = {"kubernetes.io/config.mirror": "x"}


def account(api: Api, name: str = "default", **fields: Any) -> None:
    """Create a service account: no controller does."""
    annotations = fields.pop("annotations", None)
    api.create(
        "serviceaccounts",
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(name, annotations=annotations), **fields},
    )


def short(found: Plain) -> Plain:
    """What the plugin is about, with the random part of the volume's name replaced."""
    if found.get("kind") != "Pod":
        return found
    spec = found["spec"]
    names = [volume["name"] for volume in spec.get("volumes", ()) if volume["name"].startswith("kube-api-access-")]
    words = {name: f"kube-api-access-<{len(name)}>" for name in names}
    fields = ("serviceAccount", "serviceAccountName", "imagePullSecrets", "automountServiceAccountToken")
    shown: Plain = {field: spec[field] for field in fields if field in spec}
    shown["volumes"] = [
        {**volume, "name": words.get(volume["name"], volume["name"])} for volume in spec.get("volumes", ())
    ]
    for field in ("initContainers", "containers", "ephemeralContainers"):
        mounts = [mount for container in spec.get(field, ()) for mount in container.get("volumeMounts", ())]
        shown[field] = [{**mount, "name": words.get(mount["name"], mount["name"])} for mount in mounts]
    return shown


def send(api: Api, body: Plain, method: str = "POST", path: str = "", **headers: str) -> None:
    where = f"{api.path('pods')}{path}"
    api.request(
        method, where, body, pick=short, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )


@case("the default account of a pod")
def _(api: Api) -> None:
    account(api)
    send(api, pod("a"))
    send(api, pod("b", spec={"serviceAccount": "default"}))
    containers = [{"name": "i", "image": "image"}]
    send(api, pod("c", spec={"initContainers": containers}))


@case("an account that does not exist")
def _(api: Api) -> None:
    send(api, pod("a", spec={"serviceAccountName": "missing"}))
    send(api, pod(generateName="gen-", spec={"serviceAccountName": "missing"}))
    send(api, pod("a"))


@case("the older field of the account")
def _(api: Api) -> None:
    account(api, "mine")
    send(api, pod("a", spec={"serviceAccount": "mine"}))
    send(api, pod("b", spec={"serviceAccountName": "mine", "serviceAccount": "other"}))


@case("no token for a pod or an account")
def _(api: Api) -> None:
    account(api)
    account(api, "without", automountServiceAccountToken=False)
    send(api, pod("a", spec={"automountServiceAccountToken": False}))
    send(api, pod("b", spec={"serviceAccountName": "without"}))
    send(api, pod("c", spec={"serviceAccountName": "without", "automountServiceAccountToken": True}))


@case("containers that mount something at the path of the token")
def _(api: Api) -> None:
    account(api)
    volumes = [{"name": "v", "emptyDir": {}}]
    mounted = {"name": "m", "image": "image", "volumeMounts": [{"name": "v", "mountPath": TOKEN_PATH}]}
    send(api, pod("a", spec={"volumes": volumes, "containers": [mounted]}))
    send(api, pod("b", spec={"volumes": volumes, "containers": [mounted, {"name": "n", "image": "image"}]}))


@case("a volume with the name of the token's")
def _(api: Api) -> None:
    account(api)
    send(api, pod("a", spec={"volumes": [{"name": "kube-api-access-mine", "emptyDir": {}}]}))


@case("pull secrets of the account")
def _(api: Api) -> None:
    account(api, imagePullSecrets=[{"name": "one"}, {"name": "two"}])
    send(api, pod("a"))
    send(api, pod("b", spec={"imagePullSecrets": [{"name": "own"}]}))


@case("mirror pods")
def _(api: Api) -> None:
    node = {"nodeName": "node"}
    send(api, pod("a", spec=node, annotations=MIRROR))
    send(api, pod("b", spec={**node, "serviceAccountName": "default"}, annotations=MIRROR))
    send(api, pod("c", spec={**node, "volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, annotations=MIRROR))
    send(api, pod("d", spec={**node, "imagePullSecrets": [{"name": "s"}]}, annotations=MIRROR))
    token = {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
    send(api, pod("e", spec={**node, "volumes": [token]}, annotations=MIRROR))


@case("only the secrets of the account")
def _(api: Api) -> None:
    enforced = {"kubernetes.io/enforce-mountable-secrets": "true"}
    account(api, annotations=enforced, secrets=[{"name": "listed"}], imagePullSecrets=[{"name": "pull"}])
    variable = {"name": "V", "valueFrom": {"secretKeyRef": {"name": "other", "key": "k"}}}
    bad = {"name": "m", "image": "image", "env": [variable]}
    all_of = {"name": "m", "image": "image", "envFrom": [{"secretRef": {"name": "other"}}]}
    send(api, pod("a", spec={"volumes": [{"name": "v", "secret": {"secretName": "listed"}}]}))
    send(api, pod("b", spec={"volumes": [{"name": "v", "secret": {"secretName": "other"}}]}))
    send(api, pod("c", spec={"containers": [bad]}))
    send(api, pod("d", spec={"containers": [all_of]}))
    send(api, pod("e", spec={"initContainers": [{**bad, "name": "i"}]}))
    send(api, pod("f", spec={"initContainers": [{**all_of, "name": "i"}]}))
    send(api, pod("g", spec={"imagePullSecrets": [{"name": "pull"}, {"name": "other"}]}))
    media_type = "application/strategic-merge-patch+json"
    debug = {"name": "debug", "image": "image", "env": [variable]}
    body = {"spec": {"ephemeralContainers": [debug]}}
    send(api, body, "PATCH", "/a/ephemeralcontainers", Content_Type=media_type)


@case("updates keep the account")
def _(api: Api) -> None:
    account(api)
    send(api, pod("a"))
    media_type = "application/merge-patch+json"
    send(api, {"metadata": {"labels": {"a": "b"}}}, "PATCH", "/a", Content_Type=media_type)
    api.delete("serviceaccounts", "default")
    send(api, {"metadata": {"labels": {"a": "c"}}}, "PATCH", "/a", Content_Type=media_type)


@further("images are always pulled")
def _(api: Api) -> None:
    account(api)
    containers = [{"name": "m", "image": "image:1", "imagePullPolicy": "IfNotPresent"}]
    api.create("pods", pod("a", spec={"containers": containers, "automountServiceAccountToken": False}))
    changed = {"spec": {"containers": [{"name": "m", "image": "image:2"}]}}
    api.patch("pods", "a", changed, by="strategic")


@further("external addresses of services")
def _(api: Api) -> None:
    api.create("services", service("a", spec={"externalIPs": ["1.2.3.4"]}))
    api.create("services", service("a"))
    api.patch("services", "a", {"spec": {"externalIPs": ["1.2.3.4"]}})


@further("tolerations for extended resources")
def _(api: Api) -> None:
    account(api)
    requests = {"b.example/gpu": "1", "a.example/nic": "2", "cpu": "1"}
    containers = [{"name": "m", "image": "image", "resources": {"limits": requests}}]
    spec = {"containers": containers, "automountServiceAccountToken": False}
    api.create("pods", pod("a", spec=spec))
    own = [{"key": "a.example/nic", "operator": "Exists", "effect": "NoSchedule"}, {"key": "x", "operator": "Exists"}]
    api.create("pods", pod("b", spec={**spec, "tolerations": own}))


@further("anti-affinity to more than a host")
def _(api: Api) -> None:
    account(api)
    for name, key in (("a", "kubernetes.io/hostname"), ("b", "topology.kubernetes.io/zone")):
        term = {"topologyKey": key, "labelSelector": {"matchLabels": {"a": "b"}}}
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        api.create("pods", pod(name, spec={"affinity": affinity, "automountServiceAccountToken": False}))


@further("node selectors of a namespace")
def _(api: Api) -> None:
    place = f"{api.namespace}-n"
    annotations = {"scheduler.alpha.kubernetes.io/node-selector": "a=1,b=2"}
    api.create("namespaces", namespace(place, annotations=annotations))
    path = f"/api/v1/namespaces/{place}"
    api.request("POST", f"{path}/serviceaccounts", {"metadata": {"name": "default"}})
    spec = {"automountServiceAccountToken": False}
    api.request("POST", f"{path}/pods", pod("a", spec=spec))
    api.request("POST", f"{path}/pods", pod("b", spec={**spec, "nodeSelector": {"b": "2", "c": "3"}}))
    api.request("POST", f"{path}/pods", pod("c", spec={**spec, "nodeSelector": {"b": "3"}}))


@further("tolerations of a namespace")
def _(api: Api) -> None:
    place = f"{api.namespace}-n"
    key = "scheduler.alpha.kubernetes.io/"
    defaults = [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}, {"key": "b", "operator": "Exists"}]
    allowed = [*defaults, {"operator": "Exists", "effect": "NoExecute"}]
    annotations = {f"{key}defaultTolerations": json.dumps(defaults), f"{key}tolerationsWhitelist": json.dumps(allowed)}
    api.create("namespaces", namespace(place, annotations=annotations))
    path = f"/api/v1/namespaces/{place}"
    api.request("POST", f"{path}/serviceaccounts", {"metadata": {"name": "default"}})
    spec: Plain = {"automountServiceAccountToken": False}
    api.request("POST", f"{path}/pods", pod("a", spec=spec))
    own = [{"key": "b", "operator": "Equal", "value": "x", "effect": "NoSchedule"}]
    api.request("POST", f"{path}/pods", pod("b", spec={**spec, "tolerations": own}))
    other = [{"key": "c", "operator": "Exists"}]
    api.request("POST", f"{path}/pods", pod("c", spec={**spec, "tolerations": other}))


@further("pods with resources stay on nodes short of memory")
def _(api: Api) -> None:
    account(api)
    containers = [{"name": "m", "image": "image", "resources": {"requests": {"cpu": "1"}}}]
    spec: Plain = {"automountServiceAccountToken": False, "containers": containers}
    api.create("pods", pod("a", spec=spec))
    api.patch("pods", "a", {"metadata": {"labels": {"a": "b"}}})


@further("owner references need permissions")
def _(api: Api) -> None:
    owner = api.create("configmaps", config_map("owner"))
    api.create("configmaps", config_map("a"))
    rules = {"apiGroups": [""], "resources": ["configmaps"]}
    allow(api, {**rules, "verbs": ["create", "patch"]})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid}
    blocking = {**reference, "blockOwnerDeletion": True}
    as_jane = {"Impersonate-User": "jane"}
    path = api.path("configmaps")
    api.request("POST", path, config_map("b", ownerReferences=[reference]), headers=as_jane)
    api.request("POST", path, config_map("c", ownerReferences=[blocking]), headers=as_jane)
    unknown = {**blocking, "apiVersion": "a.example/v1", "kind": "Unknown"}
    api.request("POST", path, config_map("d", ownerReferences=[unknown]), headers=as_jane)
    headers = {**as_jane, "Content-Type": "application/merge-patch+json"}
    patch = {"metadata": {"ownerReferences": [reference]}}
    api.request("PATCH", f"{path}/a", patch, headers=headers)
    api.request("PATCH", f"{path}/b", {"metadata": {"labels": {"a": "b"}}}, headers=headers)
    api.patch("configmaps", "a", {"metadata": {"ownerReferences": [blocking]}})


@further("owner references of nodes")
def _(api: Api) -> None:
    allow(api, {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]})
    node = named("v1", "Node", f"{api.namespace}-node")
    made = api.create("nodes", node)
    blocking = {
        "apiVersion": "v1",
        "kind": "Node",
        "name": f"{api.namespace}-node",
        "uid": made.uid,
        "blockOwnerDeletion": True,
    }
    api.request(
        "POST",
        api.path("configmaps"),
        config_map("a", ownerReferences=[blocking]),
        headers={"Impersonate-User": "jane"},
    )


def as_kubelet(api: Api, method: str, path: str, body: object = None, *, node: str = "", patch: str = "merge") -> None:
    """Send a request of the kubelet of the case's node."""
    headers = {"Impersonate-User": f"system:node:{node or api.namespace}", "Impersonate-Group": "system:nodes"}
    if method == "PATCH":
        headers["Content-Type"] = f"application/{patch}-patch+json"
    api.request(method, path, body, headers=headers)


def create_node(api: Api, **meta: Any) -> str:
    """Create the node of the case, and return its uid."""
    made = api.create("nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata(api.namespace, **meta)})
    path = f"{api.path('pods')}?dryRun=All"
    owner = {"apiVersion": "v1", "kind": "Node", "name": api.namespace, "uid": made.uid, "controller": True}
    probe = mirror(api, "probe", [owner])
    headers = {"Impersonate_User": f"system:node:{api.namespace}", "Impersonate_Group": "system:nodes"}
    deadline = 200
    # Until the plugin's cache has the node.
    while deadline and api.quietly("POST", path, probe, **headers)[0] != 201:
        deadline -= 1
    return made.uid


def mirror(api: Api, name: str, owners: list[Plain], **spec: Any) -> Plain:
    body = pod(name, spec={"nodeName": api.namespace, **spec}, annotations=MIRROR)
    body["metadata"]["ownerReferences"] = owners
    return body


@restricted("mirror pods of a kubelet")
def _(api: Api) -> None:
    uid = create_node(api)
    owner: Plain = {"apiVersion": "v1", "kind": "Node", "name": api.namespace, "uid": uid, "controller": True}
    path = api.path("pods")
    as_kubelet(api, "POST", path, pod("a"))
    as_kubelet(api, "POST", path, mirror(api, "b", [owner], nodeName="other"))
    as_kubelet(api, "POST", path, mirror(api, "c", []))
    as_kubelet(api, "POST", path, mirror(api, "d", [owner, {**owner, "uid": "x", "controller": False}]))
    as_kubelet(api, "POST", path, mirror(api, "e", [{**owner, "controller": False}]))
    as_kubelet(api, "POST", path, mirror(api, "f", [{**owner, "blockOwnerDeletion": True}]))
    as_kubelet(api, "POST", path, mirror(api, "g", [{**owner, "uid": "wrong"}]))
    as_kubelet(api, "POST", path, mirror(api, "h", [{**owner, "name": "other"}]))
    as_kubelet(api, "POST", path, mirror(api, "i", [owner]))
    as_kubelet(api, "DELETE", f"{path}/i?gracePeriodSeconds=0")


@restricted("mirror pods that refer to other objects")
def _(api: Api) -> None:
    uid = create_node(api)
    owner: Plain = {"apiVersion": "v1", "kind": "Node", "name": api.namespace, "uid": uid, "controller": True}
    variable = {"name": "V", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "k"}}}
    specs: tuple[Plain, ...] = (
        {"serviceAccountName": "a"},
        {"containers": [{"name": "m", "image": "image", "env": [variable]}]},
        {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "a"}}]},
        {"volumes": [{"name": "v", "csi": {"driver": "a.example"}}]},
        {"volumes": [{"name": "v", "configMap": {"name": "a"}}]},
        {"volumes": [{"name": "v", "emptyDir": {}}]},
    )
    for number, spec in enumerate(specs):
        as_kubelet(api, "POST", api.path("pods"), mirror(api, f"a{number}", [owner], **spec))


@restricted("pods of other nodes")
def _(api: Api) -> None:
    account(api)
    for name, where in (("mine", api.namespace), ("others", "other")):
        api.create("pods", pod(name, spec={"nodeName": where, "automountServiceAccountToken": False}))
    body = {"status": {"phase": "Running"}}
    path = api.path("pods")
    probe = f"{path}/mine/status?dryRun=All"
    headers = {
        "Impersonate_User": f"system:node:{api.namespace}",
        "Impersonate_Group": "system:nodes",
        "Content_Type": "application/merge-patch+json",
    }
    deadline = 200
    while deadline and api.quietly("PATCH", probe, body, **headers)[0] != 200:
        deadline -= 1
    for name in ("mine", "others"):
        as_kubelet(api, "PATCH", f"{path}/{name}/status", body)
        as_kubelet(api, "PATCH", f"{path}/{name}/status", {"metadata": {"labels": {"a": "b"}}})
        eviction = named("policy/v1", "Eviction", name)
        as_kubelet(api, "POST", f"{path}/{name}/eviction?dryRun=All", eviction)
        as_kubelet(api, "DELETE", f"{path}/{name}?gracePeriodSeconds=0")


@restricted("the node of a kubelet")
def _(api: Api) -> None:
    path = "/api/v1/nodes"
    labels = {"a": "b", "kubernetes.io/hostname": "x", "node.kubernetes.io/mine": "y"}
    as_kubelet(api, "POST", path, {"metadata": metadata(f"{api.namespace}-other")})
    bad = {"node-restriction.kubernetes.io/x": "y", "kubernetes.io/unknown": "z"}
    as_kubelet(api, "POST", path, {"metadata": metadata(api.namespace, labels=bad)})
    as_kubelet(api, "POST", path, {"metadata": metadata(api.namespace, labels=labels)})
    where = f"{path}/{api.namespace}"
    as_kubelet(api, "PATCH", where, {"metadata": {"labels": {"a": "c", "beta.kubernetes.io/os": "linux"}}})
    as_kubelet(api, "PATCH", where, {"metadata": {"labels": bad}})
    as_kubelet(api, "PATCH", where, {"spec": {"taints": None}})
    owner = {"apiVersion": "v1", "kind": "Node", "name": "a", "uid": "b"}
    as_kubelet(api, "PATCH", where, {"metadata": {"ownerReferences": [owner]}})
    as_kubelet(api, "PATCH", f"{where}/status", {"status": {"phase": "Running"}})


@restricted("leases and CSI nodes of a kubelet")
def _(api: Api) -> None:
    lease = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    as_kubelet(api, "POST", lease.format("kube-node-lease"), {**body, "metadata": metadata(f"{api.namespace}-other")})
    as_kubelet(api, "POST", lease.format("kube-node-lease"), {**body, "metadata": metadata(api.namespace)})
    csi = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "spec": {"drivers": []}}
    path = "/apis/storage.k8s.io/v1/csinodes"
    as_kubelet(api, "POST", path, {**csi, "metadata": metadata(f"{api.namespace}-other")})
    as_kubelet(api, "POST", path, {**csi, "metadata": metadata(api.namespace)})


@restricted("certificates of kubelets")
def _(api: Api) -> None:
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    for number, signer in enumerate(("kubernetes.io/kubelet-serving", "a.example/b")):
        spec = {"request": DEVELOPERS_REQUEST, "signerName": signer, "usages": ["client auth"]}
        body = named("certificates.k8s.io/v1", "CertificateSigningRequest", f"{api.namespace}-{number}", spec=spec)
        as_kubelet(api, "POST", path, body)


@restricted("tokens that a kubelet requests")
def _(api: Api) -> None:
    account(api)
    sources = [{"serviceAccountToken": {"path": "t", "audience": "vault"}}]
    spec = {"nodeName": api.namespace, "volumes": [{"name": "v", "projected": {"sources": sources}}]}
    made = api.request("POST", api.path("pods"), pod("a", spec=spec), pick=lambda body: {"metadata": body["metadata"]})
    path = f"{api.path('serviceaccounts')}/default/token"
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": made.uid}
    headers = {"Impersonate_User": f"system:node:{api.namespace}", "Impersonate_Group": "system:nodes"}
    probe = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"boundObjectRef": reference}}
    deadline = 200
    while deadline and api.quietly("POST", path, probe, **headers)[0] != 201:
        deadline -= 1
    for wanted in (
        {},
        {"boundObjectRef": {**reference, "uid": None}},
        {"boundObjectRef": {**reference, "uid": "wrong"}},
        {"boundObjectRef": reference, "audiences": ["vault", "other"]},
        {"boundObjectRef": reference, "audiences": ["other"]},
    ):
        as_kubelet(api, "POST", path, {**probe, "spec": wanted})
    as_kubelet(api, "POST", path, {**probe, "spec": {"boundObjectRef": reference}}, node="another")
