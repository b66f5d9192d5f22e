"""Valid objects of flow control and of dynamic resource allocation, with nearly every field."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

Plain: TypeAlias = dict[str, Any]

TIME = "2024-01-01T00:00:00Z"
SHARE = "00000000-0000-0000-0000-000000000001"
CONDITION = {"type": "Ready", "status": "True", "reason": "A", "lastTransitionTime": TIME, "message": ""}
SELECTORS = [{"cel": {"expression": "device.driver == 'a' && device.attributes['x'].y"}}]
CONFIG = {"opaque": {"driver": "d.com", "parameters": {}}}
POOL = {"name": "p", "generation": 1, "resourceSliceCount": 1}
FLOW_CONTROL = "flowcontrol.apiserver.k8s.io/v1"


class ValidObject(NamedTuple):
    """An object that both servers accept.

    Attributes:
        resource: Its resource.
        body: The object.
        status: A valid status; None if it has none.
        is_namespaced: Whether it is in a namespace.
    """

    resource: str
    body: Plain
    status: Plain | None = None
    is_namespaced: bool = False


def _object(version: str, kind: str, spec: Plain) -> Plain:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "stored"}, "spec": spec}


def _option(name: str) -> Plain:
    toleration = {"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute"}
    request = {"deviceClassName": "c", "selectors": SELECTORS, "allocationMode": "All", "tolerations": [toleration]}
    return {"name": name, **request}


EXACT = {
    "deviceClassName": "c",
    "selectors": SELECTORS,
    "allocationMode": "ExactCount",
    "count": 2,
    "adminAccess": False,
    "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
    "capacity": {"requests": {"a": "1Gi"}},
}
CLAIM = {
    "devices": {
        "requests": [{"name": "r", "exactly": EXACT}, {"name": "f", "firstAvailable": [_option("x"), _option("y")]}],
        "constraints": [{"requests": ["r", "f/x"], "matchAttribute": "a.com/x"}, {"distinctAttribute": "a.com/x"}],
        "config": [{"requests": ["r"], **CONFIG}],
    }
}
ALLOCATED = {"driver": "d.com", "pool": "p/q", "device": "dev", "shareID": SHARE}
NODE = {"key": "metadata.name", "operator": "In", "values": ["n"]}
CLAIM_STATUS = {
    "allocation": {
        "devices": {
            "results": [{"request": "r", **ALLOCATED, "bindingConditions": ["a"], "bindingFailureConditions": ["b"]}],
            "config": [{"source": "FromClass", "requests": ["r"], **CONFIG}],
        },
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [NODE]}]},
    },
    "reservedFor": [{"resource": "pods", "name": "p", "uid": "1"}],
    "devices": [
        {
            **ALLOCATED,
            "conditions": [CONDITION],
            "data": {"a": 1},
            "networkData": {"interfaceName": "eth0", "ips": ["10.9.8.7/24"], "hardwareAddress": "00:00"},
        }
    ],
}
DEVICE = {
    "name": "dev",
    "attributes": {"a": {"int": 1}, "x.com/b": {"bool": True}, "c": {"string": "s"}, "d": {"version": "1.2.3"}},
    "capacity": {
        "mem": {
            "value": "10Gi",
            "requestPolicy": {"default": "1Gi", "validRange": {"min": "1Gi", "max": "4Gi", "step": "1Gi"}},
        },
        "cpu": {"value": "4", "requestPolicy": {"default": "1", "validValues": ["1", "2"]}},
    },
    "allowMultipleAllocations": True,
    "consumesCounters": [{"counterSet": "cs", "counters": {"c": {"value": "1"}}}],
    "taints": [{"key": "k", "value": "v", "effect": "NoSchedule", "timeAdded": TIME}],
    "bindingConditions": ["a"],
    "bindingFailureConditions": ["b"],
}
_TERM = {"matchExpressions": [{"key": "k", "operator": "Gt", "values": ["1"]}]}
SCHEMA = {
    "matchingPrecedence": 500,
    "priorityLevelConfiguration": {"name": "exempt"},
    "distinguisherMethod": {"type": "ByUser"},
    "rules": [
        {
            "subjects": [
                {"kind": "User", "user": {"name": "u"}},
                {"kind": "Group", "group": {"name": "g"}},
                {"kind": "ServiceAccount", "serviceAccount": {"name": "s", "namespace": "n"}},
            ],
            "resourceRules": [
                {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["a", "b"]},
                {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True},
            ],
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/a", "/b/*"]}],
        }
    ],
}
LEVEL = {
    "type": "Limited",
    "limited": {
        "nominalConcurrencyShares": 5,
        "lendablePercent": 10,
        "borrowingLimitPercent": 20,
        "limitResponse": {"type": "Queue", "queuing": {"queues": 16, "handSize": 4, "queueLengthLimit": 10}},
    },
}
CLASS = {"selectors": SELECTORS, "config": [CONFIG], "extendedResourceName": "x.com/y"}
RULE = {
    "deviceSelector": {"driver": "d.com", "pool": "p", "device": "dev"},
    "taint": {"key": "k", "value": "v", "effect": "NoExecute", "timeAdded": TIME},
}
SLICE = {"driver": "d.com", "pool": POOL, "nodeName": "n", "devices": [DEVICE]}
COUNTERS = {
    "driver": "d.com",
    "pool": POOL,
    "nodeSelector": {"nodeSelectorTerms": [_TERM]},
    "sharedCounters": [{"name": "cs", "counters": {"c": {"value": "1"}}}],
}
CONDITIONS = {"conditions": [CONDITION]}

VALID: dict[str, ValidObject] = {
    "flow schema": ValidObject("flowschemas", _object(FLOW_CONTROL, "FlowSchema", SCHEMA)),
    "priority level": ValidObject(
        "prioritylevelconfigurations", _object(FLOW_CONTROL, "PriorityLevelConfiguration", LEVEL), CONDITIONS
    ),
    "claim": ValidObject("resourceclaims", _object("resource.k8s.io/v1", "ResourceClaim", CLAIM), CLAIM_STATUS, True),
    "claim of v1beta2": ValidObject(
        "resourceclaims", _object("resource.k8s.io/v1beta2", "ResourceClaim", CLAIM), CLAIM_STATUS, True
    ),
    "template": ValidObject(
        "resourceclaimtemplates",
        _object("resource.k8s.io/v1", "ResourceClaimTemplate", {"metadata": {"labels": {"a": "b"}}, "spec": CLAIM}),
        is_namespaced=True,
    ),
    "slice": ValidObject("resourceslices", _object("resource.k8s.io/v1", "ResourceSlice", SLICE)),
    "slice of counters": ValidObject("resourceslices", _object("resource.k8s.io/v1", "ResourceSlice", COUNTERS)),
    "class": ValidObject("deviceclasses", _object("resource.k8s.io/v1", "DeviceClass", CLASS)),
    "taint rule": ValidObject(
        "devicetaintrules", _object("resource.k8s.io/v1alpha3", "DeviceTaintRule", RULE), CONDITIONS
    ),
}
