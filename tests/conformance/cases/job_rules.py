"""Rules of Jobs about two fields, and of other controllers and of storage about their limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.objects import named, pod_spec

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Rules of Jobs and limits")

SELECTOR = {"matchLabels": {"app": "a"}}


def once(**more: Any) -> Plain:
    return {"template": {"spec": {**pod_spec(), "restartPolicy": "Never", **more}}}


def near_nodes(key: str) -> Plain:
    terms = [{"matchExpressions": [{"key": key, "operator": "Exists"}]}]
    selector = {"nodeSelectorTerms": terms}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}}


@case("an indexed Job has limits")
def _(api: Api) -> None:
    specs: list[Plain] = [
        {"completions": 200_000, "parallelism": 200_000},
        {"completions": 200_000, "maxFailedIndexes": 150_000, "backoffLimitPerIndex": 1},
        {"completions": 200_000, "parallelism": 2, "backoffLimitPerIndex": 1},
        {"completions": 200_000, "parallelism": 20_000, "backoffLimitPerIndex": 1, "maxFailedIndexes": 5},
        {"completions": 200_000, "parallelism": 2, "backoffLimitPerIndex": 1, "maxFailedIndexes": 50_000},
        {"completions": 200_000, "parallelism": 2, "backoffLimitPerIndex": 1, "maxFailedIndexes": 10_000},
    ]
    for spec in specs:
        api.create(
            "jobs", named("batch/v1", "Job", "a", spec={"completionMode": "Indexed", **once(), **spec}), dryRun="All"
        )
    for completions in (100, 101):
        spec = {"completionMode": "Indexed", "completions": completions, **once()}
        api.create("jobs", named("batch/v1", "Job", "j" * 60, spec=spec), dryRun="All")


@case("an indexed Job whose name is too long cannot grow")
def _(api: Api) -> None:
    spec = {"completionMode": "Indexed", "completions": 1, "parallelism": 1, **once()}
    api.create("jobs", named("batch/v1", "Job", "j" * 61, spec=spec))
    api.patch("jobs", "j" * 61, {"spec": {"completions": 11, "parallelism": 11}})


@case("the template of a suspended Job may change while it has no pods")
def _(api: Api) -> None:
    statuses: dict[str, Plain | None] = {
        "new": None,
        "started": {"startTime": "2001-02-03T04:05:06Z"},
        "stopped": {"startTime": "2001-02-03T04:05:06Z", "conditions": [{"type": "Suspended", "status": "True"}]},
        "stopping": {
            "startTime": "2001-02-03T04:05:06Z",
            "active": 1,
            "conditions": [{"type": "Suspended", "status": "True"}],
        },
    }
    resources = {"resources": {"requests": {"cpu": "2"}}}
    changes: list[Plain] = [
        {"containers": [{"name": "main", **resources}]},
        {"containers": [{"name": "main", "image": "other", **resources}]},
        {"initContainers": [{"name": "first", "image": "image", **resources}]},
        {"nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}], "schedulingGates": [{"name": "a"}]},
        near_nodes("b"),
        {"affinity": {"podAffinity": {}}},
        {"priorityClassName": "a"},
    ]
    for name, status in statuses.items():
        api.create("jobs", named("batch/v1", "Job", name, spec={"suspend": True, **once(**near_nodes("a"))}))
        if status is not None:
            api.patch("jobs", f"{name}/status", {"status": status})
        for change in changes:
            api.patch("jobs", name, {"spec": {"template": {"spec": change}}}, by="strategic", dryRun="All")
        labels = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}
        api.patch("jobs", name, {"spec": {"template": labels}}, dryRun="All")
    api.patch("jobs", "new", {"spec": {"template": {"spec": changes[0]}}}, by="strategic")


@case("a tolerance is not negative")
def _(api: Api) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
    for tolerance in ("-1", "0", "0.1"):
        spec = {"scaleTargetRef": target, "maxReplicas": 3, "behavior": {"scaleUp": {"tolerance": tolerance}}}
        body = named("autoscaling/v2", "HorizontalPodAutoscaler", "a", spec=spec)
        api.create("horizontalpodautoscalers", body, dryRun="All")


@case("persistent volumes")
def _(api: Api) -> None:
    scsi = {"targetPortal": "10.0.0.1", "iqn": "iqn.2001-04.com.example:a", "lun": 1}
    csi = {"driver": "a", "volumeHandle": "b"}
    sources: list[Plain] = [
        *({"hostPath": {"path": path}, "persistentVolumeReclaimPolicy": "Recycle"} for path in ("/", "//a/..", "/a")),
        {"hostPath": {"path": "/a"}, "volumeAttributesClassName": ""},
        {"csi": csi, "volumeAttributesClassName": "A b"},
        {"csi": {**csi, "controllerExpandSecretRef": {}, "nodePublishSecretRef": {"name": "A b", "namespace": "C"}}},
        {"iscsi": {**scsi, "iqn": "bad", "initiatorName": "worse", "secretRef": {}}},
        {"glusterfs": {"endpoints": "a", "path": "b", "endpointsNamespace": ""}},
        {"cinder": {"volumeID": "a", "secretRef": {"name": "b"}}},
        {"azureFile": {"secretName": "a", "shareName": "b", "secretNamespace": ""}},
        {"local": {"path": "/a/../b"}},
        {"hostPath": {"path": "/a"}, "flexVolume": {}, "cephfs": {"monitors": ["a"]}},
    ]
    for fields in sources:
        spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, **fields}
        body = named("v1", "PersistentVolume", f"{api.namespace}-a", spec=spec)
        api.request("POST", "/api/v1/persistentvolumes", body, query={"dryRun": "All"})


@case("the data sources of a claim agree")
def _(api: Api) -> None:
    source = {"kind": "PersistentVolumeClaim", "name": "a"}
    for sources in (
        {"dataSourceRef": {**source, "namespace": "other"}},
        {"dataSource": source, "dataSourceRef": {**source, "apiGroup": ""}},
        {"dataSource": {**source, "apiGroup": "A b"}},
    ):
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **sources}
        api.create("persistentvolumeclaims", named("v1", "PersistentVolumeClaim", "a", spec=spec), dryRun="All")


@case("an update of a claim tells an empty text from none")
def _(api: Api) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    api.create("persistentvolumeclaims", named("v1", "PersistentVolumeClaim", "a", spec=spec))
    changes: list[Plain] = [{"storageClassName": ""}, {"selector": {}}]
    for change in changes:
        api.patch("persistentvolumeclaims", "a", {"spec": change}, dryRun="All")


@case("rolling updates of daemon sets")
def _(api: Api) -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod_spec()}
    for strategy in (
        {"type": "OnDelete", "rollingUpdate": {"maxSurge": 1}},
        {"type": "nonsense", "rollingUpdate": {}},
        {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": -1}},
    ):
        spec = {"selector": SELECTOR, "template": template, "updateStrategy": strategy}
        api.create("daemonsets", named("apps/v1", "DaemonSet", "a", spec=spec), dryRun="All")


@case("ports and hints of endpoints")
def _(api: Api) -> None:
    endpoint = {
        "addresses": ["a"],
        "hints": {"forZones": [{"name": "A b"}, {"name": "A b"}], "forNodes": [{"name": "A"}]},
    }
    slices: list[Plain] = [
        {"addressType": "FQDN", "endpoints": [endpoint], "ports": [{"appProtocol": "A b"}]},
        {"addressType": "FQDN", "endpoints": [{"addresses": ["", "a.b.", "A.b", f"{'a' * 64}.b"]}]},
        {
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["192.0.2.1"], "hints": {"forZones": [{"name": "a"}] * 9}}],
        },
        {"addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.1"], "deprecatedTopology": {"a": "b"}}]},
    ]
    for fields in slices:
        api.create("endpointslices", {**named("discovery.k8s.io/v1", "EndpointSlice", "a"), **fields}, dryRun="All")
    subset = {"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80, "appProtocol": "/a"}]}
    api.create("endpoints", {**named("v1", "Endpoints", "a"), "subsets": [subset]}, dryRun="All")


@case("the external name of a node does not change")
def _(api: Api) -> None:
    path = "/api/v1/nodes"
    api.request("POST", path, named("v1", "Node", f"{api.namespace}-a"))
    headers = {"Content-Type": "application/merge-patch+json"}
    api.request("PATCH", f"{path}/{api.namespace}-a", {"spec": {"externalID": "a"}}, headers=headers)
    api.request("DELETE", f"{path}/{api.namespace}-a")
