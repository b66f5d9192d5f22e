"""Cells of workloads, networks, nodes, storage and autoscalers: an object, and its row without name and age."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.printers.rows import BEFORE, EARLIER, SELECTOR, Plain, row

TEMPLATE: Plain = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {
        "containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}],
        "nodeSelector": {"b": "2", "a": "1"},
    },
}
COUNTS: Plain = {"replicas": 4, "readyReplicas": 3, "updatedReplicas": 2, "availableReplicas": 1}
DEFAULT_CLASS = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}


def metrics(*pairs: tuple[Plain, Plain | None]) -> Plain:
    reference = {"kind": "Deployment", "name": "web"}
    spec = {
        "scaleTargetRef": reference,
        "maxReplicas": 9,
        "minReplicas": 1,
        "metrics": [spec for spec, _ in pairs],
    }
    return {
        "spec": spec,
        "status": {"currentReplicas": 2, "currentMetrics": [now for _, now in pairs if now]},
    }


def cpu(**target: Any) -> Plain:
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def cpu_now(**current: Any) -> Plain:
    return {"type": "Resource", "resource": {"name": "cpu", "current": current}}


@pytest.mark.parametrize(
    ("kind", "obj", "shown"),
    [
        (
            "apps/Deployment",
            {"spec": {"replicas": 5, "template": TEMPLATE, "selector": SELECTOR}, "status": COUNTS},
            ["3/5", 2, 1, "a,b", "x,y", "app=web,tier in (a,b)"],
        ),
        (
            "apps/Deployment",
            {"spec": {"selector": {"matchLabels": {"-": "?"}}}},
            ["0/0", 0, 0, "", "", "<invalid>"],
        ),
        (
            "apps/ReplicaSet",
            {"spec": {"replicas": 5, "template": TEMPLATE, "selector": SELECTOR}, "status": COUNTS},
            [5, 4, 3, "a,b", "x,y", "app=web,tier in (a,b)"],
        ),
        (
            "apps/ReplicaSet",
            {"spec": {"selector": {"matchLabels": {"-": "?"}}}},
            [0, 0, 0, "", "", "<error>"],
        ),
        (
            "/ReplicationController",
            {
                "spec": {"replicas": 5, "template": TEMPLATE, "selector": {"b": "2", "a": "1"}},
                "status": COUNTS,
            },
            [5, 4, 3, "a,b", "x,y", "a=1,b=2"],
        ),
        (
            "apps/StatefulSet",
            {"spec": {"replicas": 5, "template": TEMPLATE}, "status": COUNTS},
            ["3/5", "a,b", "x,y"],
        ),
        (
            "apps/DaemonSet",
            {
                "spec": {"template": TEMPLATE, "selector": {}},
                "status": {"desiredNumberScheduled": 5, "numberReady": 4},
            },
            [5, 0, 4, 0, 0, "a=1,b=2", "a,b", "x,y", "<none>"],
        ),
        ("/PodTemplate", {"template": TEMPLATE}, ["a,b", "x,y", "app=web"]),
        ("apps/ControllerRevision", {"revision": 7}, ["<none>", 7]),
        (
            "apps/ControllerRevision",
            {
                "metadata": {
                    "ownerReferences": [
                        {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "controller": True}
                    ]
                }
            },
            ["statefulset.apps/web", 0],
        ),
        ("batch/Job", {"spec": {"parallelism": 3}}, ["Running", "0/1 of 3", "", "", "", "<none>"]),
        (
            "batch/Job",
            {
                "spec": {"completions": 5},
                "status": {
                    "succeeded": 5,
                    "startTime": BEFORE,
                    "completionTime": EARLIER,
                    "conditions": [{"type": "Complete", "status": "True"}],
                },
            },
            ["Complete", "5/5", "60m", "", "", "<none>"],
        ),
        (
            "batch/Job",
            {"status": {"startTime": BEFORE, "conditions": [{"type": "Failed", "status": "True"}]}},
            ["Failed", "0/1", "62m", "", "", "<none>"],
        ),
        (
            "batch/Job",
            {"metadata": {"deletionTimestamp": EARLIER}},
            ["Terminating", "0/1", "", "", "", "<none>"],
        ),
        (
            "batch/Job",
            {"status": {"conditions": [{"type": "Suspended", "status": "True"}]}},
            ["Suspended", "0/1", "", "", "", "<none>"],
        ),
        (
            "batch/CronJob",
            {"spec": {"schedule": "@daily"}},
            ["@daily", "<none>", "<unset>", 0, "<none>", "", "", "<none>"],
        ),
        (
            "batch/CronJob",
            {
                "spec": {"schedule": "@daily", "timeZone": "Etc/UTC", "suspend": True},
                "status": {"active": [{}, {}], "lastScheduleTime": BEFORE},
            },
            ["@daily", "Etc/UTC", "True", 2, "62m", "", "", "<none>"],
        ),
        (
            "/Service",
            {
                "spec": {
                    "type": "ClusterIP",
                    "clusterIPs": ["10.0.0.1", "fd00::1"],
                    "ports": [{"port": 80, "protocol": "TCP"}],
                }
            },
            ["ClusterIP", "10.0.0.1", "<none>", "80/TCP", "<none>"],
        ),
        (
            "/Service",
            {
                "spec": {
                    "type": "NodePort",
                    "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}],
                    "externalIPs": ["a", "b"],
                }
            },
            ["NodePort", "<none>", "a,b", "80:30080/TCP", "<none>"],
        ),
        (
            "/Service",
            {"spec": {"type": "LoadBalancer"}},
            ["LoadBalancer", "<none>", "<pending>", "<none>", "<none>"],
        ),
        (
            "/Service",
            {
                "spec": {"type": "LoadBalancer", "externalIPs": ["z"]},
                "status": {"loadBalancer": {"ingress": [{"ip": "b"}, {"hostname": "a"}, {"ip": "b"}]}},
            },
            ["LoadBalancer", "<none>", "a,b,z", "<none>", "<none>"],
        ),
        (
            "/Service",
            {"spec": {"type": "ExternalName", "externalName": "example.com", "selector": {"a": "b"}}},
            ["ExternalName", "<none>", "example.com", "<none>", "a=b"],
        ),
        ("/Service", {}, ["", "<none>", "<unknown>", "<none>", "<none>"]),
        ("/Endpoints", {}, ["<none>"]),
        (
            "/Endpoints",
            {"subsets": [{"addresses": [{"ip": "1.1.1.1"}, {"ip": "::1"}], "ports": [{"port": 80}]}]},
            ["1.1.1.1:80,[::1]:80"],
        ),
        (
            "/Endpoints",
            {"subsets": [{"addresses": [{"ip": "a"}, {"ip": "b"}], "ports": [{"port": 1}, {"port": 2}]}]},
            ["a:1,b:1,a:2 + 1 more..."],
        ),
        ("/Endpoints", {"subsets": [{"addresses": [{"ip": "a"}, {"ip": "b"}]}]}, ["a,b"]),
        ("discovery.k8s.io/EndpointSlice", {"addressType": "IPv4"}, ["IPv4", "<unset>", "<unset>"]),
        (
            "discovery.k8s.io/EndpointSlice",
            {
                "ports": [{"port": 80}, {"name": "n"}, {}, {"port": 1}, {"port": 2}],
                "endpoints": [{"addresses": ["a", "b"]}, {"addresses": ["c"]}, {"addresses": ["d"]}],
            },
            ["", "80,n,* + 2 more...", "a,b,c + 1 more..."],
        ),
        ("networking.k8s.io/Ingress", {}, ["<none>", "*", "", "80"]),
        (
            "networking.k8s.io/Ingress",
            {
                "spec": {"ingressClassName": "c", "rules": [{"host": each} for each in "abcd"], "tls": [{}]},
                "status": {"loadBalancer": {"ingress": [{"ip": "i"}]}},
            },
            ["c", "a,b,c + 1 more...", "i", "80, 443"],
        ),
        ("networking.k8s.io/IngressClass", {"spec": {"controller": "c"}}, ["c", "<none>"]),
        (
            "networking.k8s.io/IngressClass",
            {
                "metadata": {"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}},
                "spec": {"parameters": {"apiGroup": "g", "kind": "K", "name": "n"}},
            },
            ["x (default)", "", "K.g/n"],
        ),
        ("networking.k8s.io/NetworkPolicy", {"spec": {"podSelector": {}}}, ["<none>"]),
        ("networking.k8s.io/ServiceCIDR", {"spec": {"cidrs": ["a", "b"]}}, ["a,b"]),
        ("networking.k8s.io/IPAddress", {}, ["<none>"]),
        (
            "networking.k8s.io/IPAddress",
            {"spec": {"parentRef": {"group": "g", "resource": "things", "namespace": "n", "name": "t"}}},
            ["things.g/n/t"],
        ),
        (
            "/Node",
            {"spec": {"unschedulable": True}},
            ["Unknown,SchedulingDisabled", "<none>", "", "<none>", "<none>", *["<unknown>"] * 3],
        ),
        (
            "/Node",
            {
                "metadata": {
                    "labels": {
                        "node-role.kubernetes.io/b": "",
                        "kubernetes.io/role": "a",
                        "node-role.kubernetes.io/": "",
                    }
                },
                "status": {
                    "conditions": [{"type": "Ready", "status": "False"}, {"type": "Ready", "status": "True"}],
                    "addresses": [
                        {"type": "InternalIP", "address": "i"},
                        {"type": "ExternalIP", "address": "e"},
                    ],
                    "nodeInfo": {"kubeletVersion": "v1", "kernelVersion": "6", "architecture": "arm64"},
                },
            },
            ["Ready", "a,b", "v1", "i", "e", "<unknown>", "6 (arm64)", "<unknown>"],
        ),
        ("node.k8s.io/RuntimeClass", {"handler": "runc"}, ["runc"]),
        (
            "/PersistentVolume",
            {"spec": {"capacity": {"storage": "1024Mi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"]}},
            ["1Gi", "RWO,RWX", "", "", "", "", "<unset>", "", "<unset>"],
        ),
        (
            "/PersistentVolume",
            {
                "metadata": {
                    "deletionTimestamp": EARLIER,
                    "annotations": {"volume.beta.kubernetes.io/storage-class": "beta"},
                },
                "spec": {
                    "claimRef": {"namespace": "n", "name": "c"},
                    "storageClassName": "fast",
                    "volumeMode": "Block",
                },
                "status": {"phase": "Bound", "reason": "r"},
            },
            ["0", "", "", "Terminating", "n/c", "beta", "<unset>", "r", "Block"],
        ),
        (
            "/PersistentVolumeClaim",
            {
                "spec": {"storageClassName": "fast"},
                "status": {"phase": "Pending", "capacity": {"storage": "1Gi"}},
            },
            ["Pending", "", "", "", "fast", "<unset>", "<unset>"],
        ),
        (
            "/PersistentVolumeClaim",
            {
                "spec": {"volumeName": "v"},
                "status": {"capacity": {"storage": "odd"}, "accessModes": ["ReadWriteOncePod"]},
            },
            ["", "v", "odd", "RWOP", "", "<unset>", "<unset>"],
        ),
        ("storage.k8s.io/StorageClass", {"provisioner": "p"}, ["p", "Delete", "Immediate", False]),
        (
            "storage.k8s.io/StorageClass",
            {"metadata": DEFAULT_CLASS, "reclaimPolicy": "Retain", "allowVolumeExpansion": True},
            ["x (default)", "", "Retain", "Immediate", True],
        ),
        ("storage.k8s.io/VolumeAttributesClass", {"driverName": "d"}, ["d"]),
        (
            "storage.k8s.io/VolumeAttachment",
            {
                "spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
                "status": {"attached": True},
            },
            ["a", "v", "n", True],
        ),
        ("storage.k8s.io/CSIDriver", {}, [True, False, False, "<unset>", False, "<none>"]),
        (
            "storage.k8s.io/CSIDriver",
            {
                "spec": {
                    "attachRequired": False,
                    "tokenRequests": [{"audience": "a"}, {}],
                    "volumeLifecycleModes": ["M"],
                }
            },
            [False, False, False, "a,", False, "M"],
        ),
        ("storage.k8s.io/CSINode", {"spec": {"drivers": [{}, {}]}}, [2]),
        ("storage.k8s.io/CSIStorageCapacity", {}, [EARLIER]),
        ("autoscaling/HorizontalPodAutoscaler", {}, ["/", "<none>", "<unset>", 0, 0]),
        (
            "autoscaling/HorizontalPodAutoscaler",
            metrics((cpu(averageUtilization=50), cpu_now(averageUtilization=20, averageValue="1"))),
            ["Deployment/web", "cpu: 20%/50%", "1", 9, 2],
        ),
        (
            "autoscaling/HorizontalPodAutoscaler",
            metrics((cpu(averageValue="200m"), cpu_now(averageValue="0.1")), (cpu(), None), (cpu(), None)),
            ["Deployment/web", "cpu: 100m/200m, cpu: <unknown>/<auto> + 1 more...", "1", 9, 2],
        ),
        (
            "autoscaling/HorizontalPodAutoscaler",
            metrics(
                (
                    {"type": "External", "external": {"target": {"value": "1k"}}},
                    {"external": {"current": {"value": "7"}}},
                ),
                (
                    {"type": "Object", "object": {"target": {"averageValue": "5"}}},
                    {"object": {"current": {"averageValue": "9"}}},
                ),
            ),
            ["Deployment/web", "7/1k, 9/5 (avg)", "1", 9, 2],
        ),
        (
            "autoscaling/HorizontalPodAutoscaler",
            metrics(({"type": "Pods", "pods": {"target": {"averageValue": "5"}}}, None), ({"type": "New"}, None)),
            ["Deployment/web", "<unknown>/5, <unknown type>", "1", 9, 2],
        ),
        ("autoscaling/Scale", {"spec": {"replicas": 3}, "status": {"replicas": 2}}, [3, 2]),
        ("policy/PodDisruptionBudget", {"spec": {"minAvailable": 2}}, ["2", "N/A", 0]),
        (
            "policy/PodDisruptionBudget",
            {"spec": {"maxUnavailable": "20%"}, "status": {"disruptionsAllowed": 1}},
            ["N/A", "20%", 1],
        ),
    ],
)
def test_cells(kind: str, obj: Plain, shown: list[object]) -> None:
    group, _, name = kind.rpartition("/")
    found = row(group, name, obj)
    assert found == shown
    assert [type(cell) for cell in found] == [type(cell) for cell in shown]
