"""Admission plugins that need service accounts or are off by default: the servers of these cases run them, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.cases.admission_plugins import allow
from tests.conformance.objects import config_map, metadata, named, namespace, pod, service

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

PLUGINS = (
    "ServiceAccount",
    "AlwaysPullImages",
    "DenyServiceExternalIPs",
    "ExtendedResourceToleration",
    "LimitPodHardAntiAffinityTopology",
    "OwnerReferencesPermissionEnforcement",
    "PodNodeSelector",
)
case = area("Service accounts of pods", PLUGINS)
further = area("Admission plugins that are off by default", PLUGINS)

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
