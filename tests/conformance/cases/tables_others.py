"""The cells of other kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.cases.minimal import CERTIFICATE_REQUEST
from tests.conformance.objects import metadata
from tests.conformance.rows import AS_TABLE, LATER, THEN, show, show_with_status

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Cells of other kinds")


@case("a node and its roles")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    labels = {
        "node-role.kubernetes.io/worker": "",
        "node-role.kubernetes.io/control-plane": "x",
        "kubernetes.io/role": "old",
    }
    info = {
        "kubeletVersion": "v1.36.4",
        "osImage": "Linux",
        "kernelVersion": "6.1",
        "containerRuntimeVersion": "containerd://2",
        "architecture": "arm64",
        "machineID": "",
        "systemUUID": "",
        "bootID": "",
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
    }
    show_with_status(
        api,
        "nodes",
        {"metadata": metadata(name, labels=labels)},
        {"conditions": [{"type": "Ready", "status": "True"}]},
        {"conditions": [{"type": "Ready", "status": "Unknown"}], "nodeInfo": info},
        {
            "addresses": [
                {"type": "Hostname", "address": "h"},
                {"type": "InternalIP", "address": "192.0.2.1"},
                {"type": "ExternalIP", "address": "198.51.100.1"},
                {"type": "InternalIP", "address": "192.0.2.2"},
            ]
        },
    )
    api.patch("nodes", name, {"spec": {"unschedulable": True}})
    show(api, "nodes", name)


@case("persistent volumes")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    spec = {
        "accessModes": ["ReadWriteMany", "ReadWriteOnce", "ReadOnlyMany"],
        "capacity": {"storage": "1024Mi"},
        "hostPath": {"path": "/data"},
        "storageClassName": "fast",
        "claimRef": {"namespace": "x", "name": "y"},
    }
    body = {"metadata": {"name": name}, "spec": spec}
    show_with_status(api, "persistentvolumes", body, {"phase": "Failed", "reason": "Because"})
    api.patch(
        "persistentvolumes",
        name,
        {"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "beta"}}},
    )
    show(api, "persistentvolumes", name)
    api.delete("persistentvolumes", name)
    show(api, "persistentvolumes", name)


@case("persistent volume claims")
def _(api: Api) -> None:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "fast",
    }
    bound = {"phase": "Bound", "accessModes": ["ReadWriteOncePod"], "capacity": {"storage": "2Gi"}}
    for name, more in (("a", {}), ("b", {"volumeName": "v", "volumeMode": "Block"})):
        body = {"metadata": {"name": name}, "spec": {**spec, **more}}
        show_with_status(api, "persistentvolumeclaims", body, bound)
    api.delete("persistentvolumeclaims", "b")
    show(api, "persistentvolumeclaims", "b")


@case("storage classes")
def _(api: Api) -> None:
    for suffix, fields, notes in (
        ("a", {"reclaimPolicy": "Retain", "allowVolumeExpansion": True}, {}),
        (
            "b",
            {"volumeBindingMode": "WaitForFirstConsumer"},
            {"storageclass.kubernetes.io/is-default-class": "true"},
        ),
        ("c", {}, {"storageclass.beta.kubernetes.io/is-default-class": "true"}),
    ):
        name = f"{api.namespace}-{suffix}"
        body = {"metadata": metadata(name, annotations=notes), "provisioner": "example.com/p", **fields}
        api.create("storageclasses", body)
        show(api, "storageclasses", name)


@case("drivers and attachments of volumes")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    spec = {
        "attachRequired": False,
        "podInfoOnMount": True,
        "storageCapacity": True,
        "requiresRepublish": True,
        "tokenRequests": [{"audience": "a"}, {"audience": "b"}],
        "volumeLifecycleModes": ["Persistent", "Ephemeral"],
    }
    api.create("csidrivers", {"metadata": {"name": name}, "spec": spec})
    show(api, "csidrivers", name)
    attachment = {"attacher": "example.com", "nodeName": "node", "source": {"persistentVolumeName": "a"}}
    body = {"metadata": {"name": name}, "spec": attachment}
    show_with_status(api, "volumeattachments", body, {"attached": True})


@case("autoscalers and their targets")
def _(api: Api) -> None:
    def resource(**target: object) -> Plain:
        kind = "Utilization" if "averageUtilization" in target else "AverageValue"
        return {"type": "Resource", "resource": {"name": "cpu", "target": {"type": kind, **target}}}

    def now(**current: object) -> Plain:
        return {"type": "Resource", "resource": {"name": "cpu", "current": current}}

    pods = {
        "type": "Pods",
        "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1500m"}},
    }
    pods_now = {"type": "Pods", "pods": {"metric": {"name": "m"}, "current": {"averageValue": "2"}}}
    value, average = {"type": "Value", "value": "1k"}, {"type": "AverageValue", "averageValue": "5"}
    external = {"type": "External", "external": {"metric": {"name": "m"}, "target": value}}
    external_now = {"type": "External", "external": {"metric": {"name": "m"}, "current": {"value": "7"}}}
    about = {"kind": "Service", "name": "s"}
    objects = {
        "type": "Object",
        "object": {"metric": {"name": "m"}, "describedObject": about, "target": average},
    }
    objects_now = {
        "type": "Object",
        "object": {"metric": {"name": "m"}, "describedObject": about, "current": {"averageValue": "9"}},
    }
    container = {
        "type": "ContainerResource",
        "containerResource": {
            "name": "memory",
            "container": "main",
            "target": {"type": "Utilization", "averageUtilization": 60},
        },
    }
    container_now = {
        "type": "ContainerResource",
        "containerResource": {
            "name": "memory",
            "container": "main",
            "current": {"averageUtilization": 30, "averageValue": "1Mi"},
        },
    }
    for name, metrics, current in (
        ("a", [resource(averageUtilization=50)], [now(averageUtilization=20, averageValue="100m")]),
        ("b", [resource(averageValue="200m")], [now(averageValue="100m")]),
        ("c", [pods, external], [pods_now, external_now]),
        ("d", [objects], [objects_now]),
        ("e", [container, resource(averageUtilization=50), pods], [container_now]),
    ):
        spec = {
            "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"},
            "minReplicas": 2,
            "maxReplicas": 9,
            "metrics": metrics,
        }
        body = {"metadata": {"name": name}, "spec": spec}
        show_with_status(
            api,
            "horizontalpodautoscalers",
            body,
            {"currentReplicas": 3, "desiredReplicas": 4, "currentMetrics": current},
        )
        path = api.path("autoscaling/v1/horizontalpodautoscalers", name)
        api.request("GET", path, query={"includeObject": "None"}, headers=AS_TABLE)


@case("disruption budgets")
def _(api: Api) -> None:
    for name, spec in (
        ("a", {"minAvailable": 2}),
        ("b", {"maxUnavailable": "20%"}),
        ("c", {"minAvailable": "50%"}),
    ):
        body = {"metadata": {"name": name}, "spec": {**spec, "selector": {"matchLabels": {"a": "b"}}}}
        status = {
            "disruptionsAllowed": 1,
            "currentHealthy": 1,
            "desiredHealthy": 1,
            "expectedPods": 1,
        }
        show_with_status(api, "poddisruptionbudgets", body, status)


@case("events of the core group")
def _(api: Api) -> None:
    about = {"kind": "Pod", "name": "web", "namespace": api.namespace, "fieldPath": "spec.containers{main}"}
    for name, fields in (
        ("a", {"message": "  hello \n", "type": "Normal", "reason": "Started"}),
        ("b", {"count": 5, "firstTimestamp": THEN, "lastTimestamp": LATER}),
        ("c", {"source": {"component": "kubelet", "host": "node-1"}}),
        ("d", {"source": {"component": "kubelet"}}),
        ("e", {"message": "one\ntwo"}),
    ):
        api.create("events", {"metadata": {"name": name}, "involvedObject": about, **fields})
        show(api, "events", name)
        path = api.path("events.k8s.io/v1/events", name)
        api.request("GET", path, query={"includeObject": "None"}, headers=AS_TABLE)


@case("events of events.k8s.io")
def _(api: Api) -> None:
    for name, more in (
        ("a", {}),
        ("b", {"series": {"count": 3, "lastObservedTime": "2001-02-03T05:45:06.000000Z"}}),
    ):
        body = {
            "metadata": {"name": name},
            "eventTime": "2001-02-03T04:05:06.000007Z",
            "reportingController": "example.com/a",
            "reportingInstance": "instance",
            "action": "Testing",
            "reason": "Tested",
            "type": "Warning",
            "note": "a note",
            "regarding": {"kind": "Pod", "name": "web", "namespace": api.namespace},
            **more,
        }
        api.create("events.k8s.io/v1/events", body)
        show(api, "events.k8s.io/v1/events", name)
        show(api, "events", name)


@case("resource quotas")
def _(api: Api) -> None:
    hard = {"pods": "10", "limits.cpu": "2000m", "requests.cpu": "1", "limits.memory": "1024Mi"}
    show_with_status(
        api,
        "resourcequotas",
        {"metadata": {"name": "a"}, "spec": {"hard": hard}},
        {"hard": hard, "used": {"pods": "3", "limits.cpu": "0.5", "requests.cpu": "250m"}},
    )


@case("bindings of roles")
def _(api: Api) -> None:
    group = "rbac.authorization.k8s.io"
    subjects = [
        {"kind": "User", "name": "alice", "apiGroup": group},
        {"kind": "Group", "name": "admins", "apiGroup": group},
        {"kind": "ServiceAccount", "name": "robot", "namespace": "x"},
        {"kind": "User", "name": "bob", "apiGroup": group},
    ]
    role = {"apiGroup": group, "kind": "ClusterRole", "name": "view"}
    api.create("rolebindings", {"metadata": {"name": "a"}, "roleRef": role, "subjects": subjects})
    show(api, "rolebindings", "a")


@case("certificate signing requests")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    spec = {
        "request": CERTIFICATE_REQUEST,
        "signerName": "example.com/a",
        "usages": ["client auth"],
        "expirationSeconds": 86400,
    }
    api.create("certificatesigningrequests", {"metadata": {"name": name}, "spec": spec})
    show(api, "certificatesigningrequests", name)
    approved = {"type": "Approved", "status": "True", "reason": "Because"}
    api.patch("certificatesigningrequests", f"{name}/approval", {"status": {"conditions": [approved]}})
    show(api, "certificatesigningrequests", name)
    failed = {"type": "Failed", "status": "True", "reason": "Because"}
    api.patch("certificatesigningrequests", f"{name}/status", {"status": {"conditions": [approved, failed]}})
    show(api, "certificatesigningrequests", name)


@case("secrets, config maps and leases")
def _(api: Api) -> None:
    api.create("secrets", {"metadata": {"name": "a"}, "stringData": {"k": "v", "l": "w"}})
    show(api, "secrets", "a")
    data = {"metadata": {"name": "a"}, "data": {"k": "v"}, "binaryData": {"b": "AA=="}}
    api.create("configmaps", data)
    show(api, "configmaps", "a")
    api.create("leases", {"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}})
    show(api, "leases", "a")


@case("resource claims")
def _(api: Api) -> None:
    spec = {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "class"}}]}}
    resource = "resource.k8s.io/v1/resourceclaims"
    show_with_status(
        api,
        resource,
        {"metadata": metadata("a", finalizers=["example.com/one"]), "spec": spec},
        {"allocation": {}},
        {"reservedFor": [{"resource": "pods", "name": "web", "uid": "1"}]},
    )
    api.create(resource, {"metadata": metadata("b", finalizers=["example.com/one"]), "spec": spec})
    api.delete(resource, "b")
    show(api, resource, "b")
