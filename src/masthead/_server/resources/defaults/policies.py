"""Defaults of the kinds that rule over others: networking, storage, admission, access, extension, devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._server.resources.defaulting.fill import Fill, each, round_up, shape
from masthead._server.resources.defaults.pods import STORAGE
from masthead._server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead._server.wire.plain import Plain

_HTTPS: Final = shape(unset={"port": 443})


def _fill_policy_types(spec: Plain) -> None:
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


_POLICY_PORTS: Final = each(shape(inside={"ports": each(shape(unset={"protocol": "TCP"}))}))

NETWORKING: Final[dict[str, Fill]] = {
    "NetworkPolicy": shape(
        always={
            "spec": shape(inside={"ingress": _POLICY_PORTS, "egress": _POLICY_PORTS}, then=_fill_policy_types)
        }
    ),
    "IngressClass": shape(inside={"spec": shape(inside={"parameters": shape(unset={"scope": "Cluster"})})}),
}
DISCOVERY: Final[dict[str, Fill]] = {
    "EndpointSlice": shape(inside={"ports": each(shape(unset={"name": "", "protocol": "TCP"}))}),
}

_INLINE_VOLUME: Final = shape(inside={"capacity": round_up, **STORAGE})
STORAGE_CLASSES: Final[dict[str, Fill]] = {
    "StorageClass": shape(unset={"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}),
    "CSIDriver": shape(
        always={
            "spec": shape(
                blank={"volumeLifecycleModes": ["Persistent"]},
                unset={
                    "attachRequired": True,
                    "podInfoOnMount": False,
                    "storageCapacity": False,
                    "fsGroupPolicy": "ReadWriteOnceWithFSType",
                    "requiresRepublish": False,
                    "seLinuxMount": False,
                },
            )
        }
    ),
    "VolumeAttachment": shape(
        inside={"spec": shape(inside={"source": shape(inside={"inlineVolumeSpec": _INLINE_VOLUME})})}
    ),
}

_RULE: Final = shape(unset={"scope": "*"})
_MATCH: Final[Plain] = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
_WEBHOOK: Final[Plain] = {"failurePolicy": "Fail", **_MATCH, "timeoutSeconds": 10}
_WEBHOOK_INSIDE: Final = {"clientConfig": shape(inside={"service": _HTTPS}), "rules": each(_RULE)}
_RESOURCES: Final = shape(
    unset=_MATCH, inside={"resourceRules": each(_RULE), "excludeResourceRules": each(_RULE)}
)
_POLICY: Final = shape(
    always={"spec": shape(unset={"failurePolicy": "Fail"}, inside={"matchConstraints": _RESOURCES})}
)
_BINDING: Final = shape(inside={"spec": shape(inside={"matchResources": _RESOURCES})})
_ALPHA_BINDING: Final = shape(
    inside={
        "spec": shape(
            inside={
                "matchResources": _RESOURCES,
                "paramRef": shape(unset={"parameterNotFoundAction": "Deny"}),
            }
        )
    }
)
ADMISSION: Final[dict[str, Fill]] = {
    "ValidatingWebhookConfiguration": shape(
        inside={"webhooks": each(shape(unset=_WEBHOOK, inside=_WEBHOOK_INSIDE))}
    ),
    "MutatingWebhookConfiguration": shape(
        inside={
            "webhooks": each(shape(unset={**_WEBHOOK, "reinvocationPolicy": "Never"}, inside=_WEBHOOK_INSIDE))
        }
    ),
    "ValidatingAdmissionPolicy": _POLICY,
    "ValidatingAdmissionPolicyBinding": _BINDING,
    "MutatingAdmissionPolicy": _POLICY,
    "MutatingAdmissionPolicyBinding": _BINDING,
    "v1alpha1/ValidatingAdmissionPolicyBinding": _ALPHA_BINDING,
    "v1alpha1/MutatingAdmissionPolicyBinding": _ALPHA_BINDING,
}

_RBAC_GROUP: Final = {"apiGroup": "rbac.authorization.k8s.io"}


def _fill_subject(subject: Plain) -> None:
    if subject.get("kind") in {"User", "Group"} and not subject.get("apiGroup"):
        subject.update(_RBAC_GROUP)


_ROLE_BINDING: Final = shape(
    always={"roleRef": shape(blank=_RBAC_GROUP)}, inside={"subjects": each(_fill_subject)}
)
RBAC: Final[dict[str, Fill]] = {"RoleBinding": _ROLE_BINDING, "ClusterRoleBinding": _ROLE_BINDING}
SCHEDULING: Final[dict[str, Fill]] = {
    "PriorityClass": shape(unset={"preemptionPolicy": "PreemptLowerPriority"})
}

_QUEUING: Final = shape(blank={"handSize": 8, "queues": 64, "queueLengthLimit": 50})
FLOW: Final[dict[str, Fill]] = {
    "FlowSchema": shape(always={"spec": shape(blank={"matchingPrecedence": 1000})}),
    "PriorityLevelConfiguration": shape(
        inside={
            "spec": shape(
                inside={
                    "limited": shape(
                        unset={"nominalConcurrencyShares": 30, "lendablePercent": 0},
                        inside={"limitResponse": shape(inside={"queuing": _QUEUING})},
                    ),
                    "exempt": shape(unset={"nominalConcurrencyShares": 0, "lendablePercent": 0}),
                }
            )
        }
    ),
}


def _fill_names(names: Plain) -> None:
    kind = text(names, "kind")
    if kind and not names.get("singular"):
        names["singular"] = kind.lower()
    if kind and not names.get("listKind"):
        names["listKind"] = f"{kind}List"


def _fill_stored_versions(definition: Plain) -> None:
    status = part(definition, "status")
    if not status.get("storedVersions"):
        stored = [
            version["name"] for version in items(definition["spec"], "versions") if version.get("storage")
        ]
        if stored:
            status["storedVersions"] = stored[:1]
            definition["status"] = status


_CONVERSION: Final = shape(
    inside={"webhook": shape(inside={"clientConfig": shape(inside={"service": _HTTPS})})}
)
EXTENSIONS: Final[dict[str, Fill]] = {
    "CustomResourceDefinition": shape(
        always={
            "spec": shape(
                unset={"conversion": {"strategy": "None"}},
                always={"names": _fill_names},
                inside={"conversion": _CONVERSION},
            )
        },
        then=_fill_stored_versions,
    ),
}
AGGREGATION: Final[dict[str, Fill]] = {
    "APIService": shape(inside={"spec": shape(inside={"service": _HTTPS})}),
}

_TOLERATIONS: Final = {"tolerations": each(shape(blank={"operator": "Equal"}))}


def _fill_count(request: Plain) -> None:
    if not request.get("allocationMode"):
        request["allocationMode"] = "ExactCount"
    if request["allocationMode"] == "ExactCount" and not request.get("count"):
        request["count"] = 1


def _fill_old_request(request: Plain) -> None:
    # Without a class of its own it is a list of alternatives.
    if request.get("deviceClassName"):
        _fill_count(request)


_REQUEST: Final = shape(inside=_TOLERATIONS, then=_fill_count)
_DEVICE_REQUEST: Final = shape(inside={"exactly": _REQUEST, "firstAvailable": each(_REQUEST)})
_OLD_REQUEST: Final = shape(inside={**_TOLERATIONS, "firstAvailable": each(_REQUEST)}, then=_fill_old_request)


def _claims(request: Fill) -> dict[str, Fill]:
    """A claim and its template, for one way to write a request."""
    spec = shape(inside={"devices": shape(inside={"requests": each(request)})})
    results = shape(inside={"devices": shape(inside={"results": each(shape(inside=_TOLERATIONS))})})
    return {
        "ResourceClaim": shape(inside={"spec": spec, "status": shape(inside={"allocation": results})}),
        "ResourceClaimTemplate": shape(inside={"spec": shape(inside={"spec": spec})}),
    }


DEVICES: Final[dict[str, Fill]] = {
    **_claims(_DEVICE_REQUEST),
    **{f"v1beta1/{kind}": fill for kind, fill in _claims(_OLD_REQUEST).items()},
    "ResourcePoolStatusRequest": shape(inside={"spec": shape(unset={"limit": 100})}),
}
