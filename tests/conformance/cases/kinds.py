"""Behaviour of single kinds: defaulting, validation and versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, named, service

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Kinds")


@case("services of every type")
def _(api: Api) -> None:
    for name, spec in (
        ("cluster-ip", {}),
        ("headless", {"clusterIP": "None", "selector": {"a": "b"}}),
        ("node-port", {"type": "NodePort"}),
        ("load-balancer", {"type": "LoadBalancer"}),
        ("external", {"type": "ExternalName", "externalName": "example.com", "ports": []}),
    ):
        api.create("services", service(name, spec=spec))


@case("services that cannot be")
def _(api: Api) -> None:
    api.create("services", named("v1", "Service", "a"))
    for spec in (
        {"ports": [{"port": 0}]},
        {"ports": [{"port": 80}, {"port": 81}]},
        {"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]},
        {"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]},
        {"ports": [{"port": 80, "protocol": "ICMP"}]},
        {"ports": [{"port": 80, "targetPort": "Upper Case"}]},
        {"type": "Nonsense"},
        {"type": "ExternalName"},
        {"clusterIP": "nonsense"},
        {"sessionAffinity": "Nonsense"},
        {"ports": [{"port": 80, "nodePort": 30080}]},
        {"ipFamilies": ["IPv6"]},
    ):
        api.create("services", service("a", spec=spec))


@case("a service changes its type")
def _(api: Api) -> None:
    api.create("services", service("a"))
    api.patch("services", "a", {"spec": {"type": "NodePort"}})
    api.patch("services", "a", {"spec": {"type": "ClusterIP"}})
    api.patch("services", "a", {"spec": {"clusterIP": None}})


@case("a secret's texts become data")
def _(api: Api) -> None:
    api.create("secrets", named("v1", "Secret", "a", data={"k": "b2xk", "other": "eA=="}, stringData={"k": "new"}))
    api.patch("secrets", "a", {"stringData": {"third": "text"}})


@case("secrets of types with rules")
def _(api: Api) -> None:
    for name, body in (
        ("tls", {"type": "kubernetes.io/tls"}),
        ("basic", {"type": "kubernetes.io/basic-auth"}),
        ("ssh", {"type": "kubernetes.io/ssh-auth"}),
        (
            "docker",
            {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "no JSON"}},
        ),
        ("account", {"type": "kubernetes.io/service-account-token"}),
        ("keys", {"stringData": {"a key": "v"}}),
    ):
        api.create("secrets", named("v1", "Secret", name, **body))


@case("config maps that cannot be")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"a key": "v"}))
    for key in ("", ".", "..", "..a", "k" * 254):  # one by one: the real server finds them in any order
        api.create("configmaps", config_map("a", data={key: "v"}))
    api.create("configmaps", {**config_map("a", data={"k": "v"}), "binaryData": {"k": "AA=="}})


@case("a lease to the microsecond")
def _(api: Api) -> None:
    spec = {"holderIdentity": "me", "leaseDurationSeconds": 15, "acquireTime": "2001-02-03T04:05:06.123456Z"}
    api.create("leases", named("coordination.k8s.io/v1", "Lease", "a", spec=spec))
    api.patch("leases", "a", {"spec": {"renewTime": "2001-02-03T04:05:06.7Z"}})
    api.patch("leases", "a", {"spec": {"renewTime": "2001-02-03T04:05:06Z"}})
    api.patch("leases", "a", {"spec": {"renewTime": "2001-02-03T04:05:06+01:00"}})


@case("leases that cannot be")
def _(api: Api) -> None:
    for spec in (
        {"leaseDurationSeconds": 0},
        {"leaseTransitions": -1},
        {"renewTime": "now"},
        {"holderIdentity": ""},
    ):
        api.create("leases", named("coordination.k8s.io/v1", "Lease", "a", spec=spec))


@case("one event seen through two groups")
def _(api: Api) -> None:
    involved = {
        "kind": "Pod",
        "name": "p",
        "namespace": api.namespace,
        "uid": "11111111-2222-3333-4444-555555555555",
    }
    body = {
        "involvedObject": involved,
        "reason": "Tested",
        "message": "words",
        "type": "Normal",
        "count": 3,
        "firstTimestamp": "2001-02-03T04:05:06Z",
        "lastTimestamp": "2001-02-03T05:05:06Z",
        "source": {"component": "test", "host": "here"},
    }
    api.create("events", named("v1", "Event", "a", **body))
    api.get("events.k8s.io/v1/events", "a")
    api.list("events.k8s.io/v1/events")
    api.watch("events.k8s.io/v1/events", events=1)


@case("one event seen through two groups, the other way round")
def _(api: Api) -> None:
    body = {
        "regarding": {"kind": "Pod", "name": "p", "namespace": api.namespace},
        "eventTime": "2001-02-03T04:05:06.123456Z",
        "reportingController": "example.com/test",
        "reportingInstance": "test-1",
        "action": "Testing",
        "reason": "Tested",
        "note": "words",
        "type": "Warning",
    }
    api.create("events.k8s.io/v1/events", named("events.k8s.io/v1", "Event", "a", **body))
    api.get("events", "a")
    api.delete("events", "a")
    api.get("events.k8s.io/v1/events", "a")


@case("events that cannot be")
def _(api: Api) -> None:
    api.create("events", named("v1", "Event", "a"))
    api.create(
        "events",
        named("v1", "Event", "a", involvedObject={"kind": "Pod", "namespace": "default", "name": "p"}),
    )
    api.create("events.k8s.io/v1/events", named("events.k8s.io/v1", "Event", "a"))


@case("roles that cannot be")
def _(api: Api) -> None:
    without_groups: list[Plain] = [{}, {"verbs": ["get"]}]
    for rule in (*without_groups, {"verbs": ["get"], "apiGroups": [""], "nonResourceURLs": ["/a"]}):
        api.create("roles", named("rbac.authorization.k8s.io/v1", "Role", "a", rules=[rule]))
    api.create("rolebindings", named("rbac.authorization.k8s.io/v1", "RoleBinding", "a"))
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Nonsense", "name": "a"}
    api.create("rolebindings", named("rbac.authorization.k8s.io/v1", "RoleBinding", "a", roleRef=role))


@case("a cluster role that is put together of others")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    rule = {"clusterRoleSelectors": [{"matchLabels": {"part-of": name}}]}
    api.create("clusterroles", named("rbac.authorization.k8s.io/v1", "ClusterRole", name, aggregationRule=rule))


@case("role bindings of every subject")
def _(api: Api) -> None:
    role = {"kind": "Role", "name": "a", "apiGroup": "rbac.authorization.k8s.io"}
    subjects = [
        {"kind": "User", "name": "somebody"},
        {"kind": "Group", "name": "some"},
        {"kind": "ServiceAccount", "name": "robot", "namespace": "default"},
    ]
    api.create(
        "rolebindings",
        named("rbac.authorization.k8s.io/v1", "RoleBinding", "a", roleRef=role, subjects=subjects),
    )


@case("volumes and claims that cannot be")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    api.create("persistentvolumes", named("v1", "PersistentVolume", name))
    api.create("persistentvolumes", named("v1", "PersistentVolume", name, spec={"capacity": {"storage": "1Gi"}}))
    api.create("persistentvolumeclaims", named("v1", "PersistentVolumeClaim", "a"))
    api.create(
        "persistentvolumeclaims",
        named("v1", "PersistentVolumeClaim", "a", spec={"accessModes": ["Nonsense"]}),
    )


@case("a claim's spec can hardly be changed")
def _(api: Api) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    api.create("persistentvolumeclaims", named("v1", "PersistentVolumeClaim", "a", spec=spec))
    api.patch("persistentvolumeclaims", "a", {"spec": {"accessModes": ["ReadWriteMany"]}})
    api.patch("persistentvolumeclaims", "a", {"metadata": {"labels": {"l": "1"}}})
    api.delete("persistentvolumeclaims", "a")


@case("ingresses that cannot be")
def _(api: Api) -> None:
    api.create("ingresses", named("networking.k8s.io/v1", "Ingress", "a"))
    path = {"path": "relative", "backend": {"service": {"name": "a", "port": {"number": 80}}}}
    api.create(
        "ingresses",
        named("networking.k8s.io/v1", "Ingress", "a", spec={"rules": [{"http": {"paths": [path]}}]}),
    )
    api.create("ingresses", named("networking.k8s.io/v1", "Ingress", "a", spec={"rules": [{"host": "1.2.3.4"}]}))


@case("an ingress with a rule, and its generation")
def _(api: Api) -> None:
    path = {
        "path": "/",
        "pathType": "Prefix",
        "backend": {"service": {"name": "a", "port": {"name": "http"}}},
    }
    spec = {"ingressClassName": "none", "rules": [{"host": "example.com", "http": {"paths": [path]}}]}
    api.create("ingresses", named("networking.k8s.io/v1", "Ingress", "a", spec=spec))
    api.patch("ingresses", "a", {"spec": {"ingressClassName": "other"}})


@case("disruption budgets")
def _(api: Api) -> None:
    selector = {"matchLabels": {"a": "b"}}
    for name, spec in (
        ("number", {"minAvailable": 1, "selector": selector}),
        ("percent", {"maxUnavailable": "50%", "selector": selector}),
        ("both", {"minAvailable": 1, "maxUnavailable": 1}),
        ("negative", {"minAvailable": -1}),
        ("words", {"minAvailable": "many"}),
    ):
        api.create("poddisruptionbudgets", named("policy/v1", "PodDisruptionBudget", name, spec=spec))


@case("endpoint slices")
def _(api: Api) -> None:
    version = "discovery.k8s.io/v1"
    body = {"addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.1"]}], "ports": [{"port": 80}]}
    api.create("endpointslices", named(version, "EndpointSlice", "a", **body))
    api.patch("endpointslices", "a", {"ports": [{"port": 81, "name": "http"}]})
    api.create("endpointslices", named(version, "EndpointSlice", "b"))
    api.create("endpointslices", named(version, "EndpointSlice", "b", addressType="Nonsense", endpoints=[]))
    api.create(
        "endpointslices",
        named(version, "EndpointSlice", "b", addressType="IPv4", endpoints=[{"addresses": []}]),
    )


@case("priority classes")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    api.create("priorityclasses", named("scheduling.k8s.io/v1", "PriorityClass", name, value=7))
    api.patch("priorityclasses", name, {"value": 8})
    api.patch("priorityclasses", name, {"description": "words"})
    api.create("priorityclasses", named("scheduling.k8s.io/v1", "PriorityClass", f"{name}2", value=2000000000))
    api.create("priorityclasses", named("scheduling.k8s.io/v1", "PriorityClass", f"system-{name}", value=1))


@case("storage classes")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    api.create("storageclasses", named("storage.k8s.io/v1", "StorageClass", name, provisioner="example.com/a"))
    api.patch("storageclasses", name, {"provisioner": "example.com/b"})
    api.patch("storageclasses", name, {"parameters": {"a": "b"}})
    api.create("storageclasses", named("storage.k8s.io/v1", "StorageClass", f"{name}2"))


@case("nodes")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    api.create("nodes", named("v1", "Node", name, spec={"unschedulable": True, "podCIDR": "192.0.2.0/24"}))
    api.list("nodes", fieldSelector=f"metadata.name={name},spec.unschedulable=true")
    api.patch("nodes", name, {"spec": {"unschedulable": None}})
    api.patch("nodes", name, {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}})
    api.patch("nodes", name, {"spec": {"podCIDR": "198.51.100.0/24"}})
    api.delete("nodes", name)


@case("quotas and limits")
def _(api: Api) -> None:
    api.create("resourcequotas", named("v1", "ResourceQuota", "a", spec={"hard": {"services": "0"}}))
    limits = [{"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "100m"}}]
    api.create("limitranges", named("v1", "LimitRange", "a", spec={"limits": limits}))
    api.create(
        "limitranges",
        named("v1", "LimitRange", "b", spec={"limits": [{"type": "Container", "max": {"cpu": "x"}}]}),
    )


@case("network policies and their generation")
def _(api: Api) -> None:
    version = "networking.k8s.io/v1"
    api.create("networkpolicies", named(version, "NetworkPolicy", "a", spec={"podSelector": {}, "egress": [{}]}))
    api.patch("networkpolicies", "a", {"spec": {"ingress": [{"ports": [{"port": 80}]}]}})
    api.create("networkpolicies", named(version, "NetworkPolicy", "b"))
    api.create(
        "networkpolicies",
        named(version, "NetworkPolicy", "c", spec={"podSelector": {}, "policyTypes": ["Nonsense"]}),
    )


@case("runtime classes and volume attachments stay as they are")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    api.create("runtimeclasses", named("node.k8s.io/v1", "RuntimeClass", name, handler="a"))
    api.patch("runtimeclasses", name, {"handler": "b"})
    spec = {"attacher": "example.com", "nodeName": "node", "source": {"persistentVolumeName": "a"}}
    api.create("volumeattachments", named("storage.k8s.io/v1", "VolumeAttachment", name, spec=spec))
    api.patch("volumeattachments", name, {"spec": {"nodeName": "other"}})
    api.create("runtimeclasses", named("node.k8s.io/v1", "RuntimeClass", f"{name}2"))


@case("service accounts")
def _(api: Api) -> None:
    body = {
        "secrets": [{"name": "s"}],
        "imagePullSecrets": [{"name": "i"}],
        "automountServiceAccountToken": False,
    }
    api.create("serviceaccounts", named("v1", "ServiceAccount", "a", **body))


@case("controller revisions stay as they are")
def _(api: Api) -> None:
    body = named("apps/v1", "ControllerRevision", "a", revision=1, data={"any": {"thing": [1, "two", None]}})
    api.create("controllerrevisions", body)
    api.patch("controllerrevisions", "a", {"data": {"any": "other"}})
    api.patch("controllerrevisions", "a", {"revision": 2})


@case("resource claims in each of their versions")
def _(api: Api) -> None:
    spec = {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "class", "count": 2}}]}}
    api.create("resource.k8s.io/v1/resourceclaims", named("resource.k8s.io/v1", "ResourceClaim", "a", spec=spec))
    api.get("resource.k8s.io/v1beta2/resourceclaims", "a")
    api.get("resource.k8s.io/v1beta1/resourceclaims", "a")
