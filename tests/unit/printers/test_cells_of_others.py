"""Cells of other kinds: an object, and its row without name and age."""

from __future__ import annotations

import pytest
from tests.unit.printers.rows import BEFORE, EARLIER, SELECTOR, Plain, row

GO_SELECTOR = (
    "&LabelSelector{MatchLabels:map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{"
    "LabelSelectorRequirement{Key:tier,Operator:In,Values:[b a],},},}"
)


@pytest.mark.parametrize(
    ("kind", "obj", "shown"),
    [
        ("/Namespace", {"status": {"phase": "Active"}}, ["Active"]),
        ("/Secret", {"type": "t", "data": {"a": "", "b": ""}}, ["t", 2]),
        ("/ConfigMap", {"data": {"a": ""}, "binaryData": {"b": ""}}, [2]),
        ("/ServiceAccount", {}, []),
        ("/LimitRange", {"metadata": {"creationTimestamp": None}}, ["0001-01-01T00:00:00Z"]),
        (
            "/ResourceQuota",
            {"status": {"hard": {"pods": "10", "limits.cpu": "2000m"}, "used": {"pods": 3}}},
            ["pods: 3/10", "limits.cpu: 0/2"],
        ),
        ("/ComponentStatus", {}, ["Unknown", "", ""]),
        (
            "/ComponentStatus",
            {"conditions": [{"type": "Healthy", "status": "False", "message": "m", "error": "e"}]},
            ["Unhealthy", "m", "e"],
        ),
        (
            "/Event",
            {"involvedObject": {"kind": "Pod"}, "eventTime": EARLIER, "message": " m "},
            ["2m", "", "", "pod", "", "", "m", "2m", 1],
        ),
        (
            "/Event",
            {
                "involvedObject": {"kind": "Pod", "name": "web"},
                "firstTimestamp": BEFORE,
                "lastTimestamp": EARLIER,
                "count": 3,
                "source": {"component": "c", "host": "h"},
            },
            ["2m", "", "", "pod/web", "", "c, h", "", "62m", 3],
        ),
        (
            "/Event",
            {
                "eventTime": BEFORE,
                "series": {"count": 5, "lastObservedTime": EARLIER},
                "reportingComponent": "r",
            },
            ["2m", "", "", "", "", "r", "", "62m", 5],
        ),
        ("rbac.authorization.k8s.io/Role", {}, [EARLIER]),
        (
            "rbac.authorization.k8s.io/RoleBinding",
            {
                "roleRef": {"kind": "ClusterRole", "name": "view"},
                "subjects": [
                    {"kind": "User", "name": "u"},
                    {"kind": "Group", "name": "g"},
                    {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
                    {"kind": "User", "name": "v"},
                ],
            },
            ["ClusterRole/view", "u, v", "g", "n/s"],
        ),
        ("admissionregistration.k8s.io/MutatingWebhookConfiguration", {"webhooks": [{}]}, [1]),
        (
            "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
            {"spec": {"validations": [{}]}},
            [1, "<unset>"],
        ),
        (
            "admissionregistration.k8s.io/MutatingAdmissionPolicy",
            {"spec": {"mutations": [{}], "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}},
            [1, "v1/ConfigMap"],
        ),
        (
            "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
            {"spec": {"policyName": "p"}},
            ["p", "<unset>"],
        ),
        (
            "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
            {"spec": {"paramRef": {"name": "n"}}},
            ["", "*/n"],
        ),
        (
            "admissionregistration.k8s.io/MutatingAdmissionPolicyBinding",
            {"spec": {"paramRef": {"selector": SELECTOR}}},
            [
                "",
                GO_SELECTOR,
            ],
        ),
        ("resource.k8s.io/DeviceClass", {}, []),
        ("resource.k8s.io/ResourceClaim", {}, ["pending"]),
        ("resource.k8s.io/ResourceClaim", {"metadata": {"deletionTimestamp": EARLIER}}, ["deleted"]),
        (
            "resource.k8s.io/ResourceClaim",
            {"metadata": {"deletionTimestamp": EARLIER}, "status": {"allocation": {}, "reservedFor": [{}]}},
            ["deleted,allocated,reserved"],
        ),
        (
            "resource.k8s.io/ResourceSlice",
            {"spec": {"nodeName": "n", "driver": "d", "pool": {"name": "p"}}},
            ["n", "d", "p"],
        ),
        (
            "resource.k8s.io/DeviceTaintRule",
            {"spec": {"taint": {"key": "k", "value": "v", "effect": "e", "timeAdded": EARLIER}}},
            ["k", "v", "e", "2m"],
        ),
        (
            "resource.k8s.io/ResourcePoolStatusRequest",
            {"spec": {"driver": "d"}},
            ["d", "-", "-", "-", "-", "-", 0, "Pending", "<none>"],
        ),
        (
            "resource.k8s.io/ResourcePoolStatusRequest",
            {
                "status": {
                    "poolCount": 3,
                    "pools": [
                        {"totalDevices": 2, "availableDevices": 1},
                        {"totalDevices": 3, "validationError": "e"},
                    ],
                    "conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": EARLIER}],
                }
            },
            ["", "5", "1", "0", "0", "1", 3, "Complete (2/3 pools)", "2m"],
        ),
        (
            "resource.k8s.io/ResourcePoolStatusRequest",
            {"status": {"conditions": [{"type": "Failed", "status": "True"}]}},
            ["", "-", "-", "-", "-", "-", 0, "Failed", "<none>"],
        ),
        ("scheduling.k8s.io/PriorityClass", {"value": 5, "preemptionPolicy": "Never"}, [5, False, "Never"]),
        ("scheduling.k8s.io/PodGroup", {}, ["Basic", "<none>", "Pending"]),
        (
            "scheduling.k8s.io/PodGroup",
            {
                "spec": {
                    "schedulingPolicy": {"gang": {}},
                    "podGroupTemplateRef": {"workload": {"workloadName": "w"}},
                },
                "status": {"conditions": [{"type": "PodGroupScheduled", "status": "False"}]},
            },
            ["Gang", "w", "Unschedulable"],
        ),
        (
            "scheduling.k8s.io/PodGroup",
            {"status": {"conditions": [{"type": "DisruptionTarget", "reason": "Preempted"}]}},
            ["Basic", "<none>", "Preempted"],
        ),
        ("coordination.k8s.io/Lease", {"spec": {"holderIdentity": "me"}}, ["me"]),
        (
            "coordination.k8s.io/LeaseCandidate",
            {"spec": {"leaseName": "l", "binaryVersion": "1", "emulationVersion": "2"}},
            ["l", "1", "2"],
        ),
        ("certificates.k8s.io/CertificateSigningRequest", {}, ["<none>", "", "<none>", "Pending"]),
        (
            "certificates.k8s.io/CertificateSigningRequest",
            {
                "spec": {"signerName": "s", "username": "u", "expirationSeconds": 86400},
                "status": {"conditions": [{"type": "Approved"}, {"type": "Failed"}], "certificate": "AA=="},
            },
            ["s", "u", "24h", "Approved,Failed,Issued"],
        ),
        ("certificates.k8s.io/ClusterTrustBundle", {"spec": {"signerName": "s"}}, ["s"]),
        (
            "certificates.k8s.io/PodCertificateRequest",
            {"spec": {"podName": "p"}, "status": {"conditions": [{"type": "Issued"}]}},
            ["p", "", "", "", "Issued", "<none>"],
        ),
        ("apiregistration.k8s.io/APIService", {}, ["Local", "Unknown"]),
        (
            "apiregistration.k8s.io/APIService",
            {
                "spec": {"service": {"namespace": "n", "name": "s"}},
                "status": {"conditions": [{"type": "Available", "status": "False", "reason": "Gone"}]},
            },
            ["n/s", "False (Gone)"],
        ),
        ("apiextensions.k8s.io/CustomResourceDefinition", {}, [EARLIER]),
        (
            "flowcontrol.apiserver.k8s.io/FlowSchema",
            {"spec": {"priorityLevelConfiguration": {"name": "p"}, "matchingPrecedence": 7}},
            ["p", 7, "<none>", "?"],
        ),
        (
            "flowcontrol.apiserver.k8s.io/FlowSchema",
            {
                "spec": {"distinguisherMethod": {"type": "ByUser"}},
                "status": {"conditions": [{"type": "Dangling", "status": "False"}]},
            },
            ["", 0, "ByUser", "False"],
        ),
        (
            "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
            {"spec": {"type": "Exempt"}},
            ["Exempt", "<none>", "<none>", "<none>", "<none>"],
        ),
        (
            "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
            {
                "spec": {
                    "limited": {
                        "nominalConcurrencyShares": 5,
                        "limitResponse": {"queuing": {"queues": 64, "handSize": 6}},
                    }
                }
            },
            ["", 5, 64, 6, 0],
        ),
        (
            "internal.apiserver.k8s.io/StorageVersion",
            {"status": {"storageVersions": [{"apiServerID": "a", "encodingVersion": "v1"}]}},
            ["<unset>", "a=v1"],
        ),
        (
            "storagemigration.k8s.io/StorageVersionMigration",
            {
                "spec": {"resource": {"group": "g", "resource": "r"}},
                "status": {
                    "conditions": [
                        {"type": "Running", "status": "False"},
                        {"type": "Succeeded", "status": "True"},
                    ]
                },
            },
            ["r.g", "Succeeded"],
        ),
    ],
)
def test_cells(kind: str, obj: Plain, shown: list[object]) -> None:
    group, _, name = kind.rpartition("/")
    found = row(group, name, obj)
    assert found == shown
    assert [type(cell) for cell in found] == [type(cell) for cell in shown]
