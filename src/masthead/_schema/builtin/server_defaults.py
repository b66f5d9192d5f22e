"""Server defaults that OpenAPI does not state, as far as they decide whether an applied object is unchanged.

There are two kinds. The server adds defaults inside atomic values, such as the items of a list that is owned as a
whole, so that the live value differs from the applied one. And it drops a zero value if Go stores the scalar without a
pointer. A default that depends on another field is listed only if every other value would be invalid.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from masthead._schema.field_sets import FieldSet
from masthead._schema.schema import is_list

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.object import Object
    from masthead._schema.schema import Json

__all__ = ["BUILTIN_DEFAULTS", "defaults_of", "unowned_fields_of", "without_added_tolerations"]

_NO_DEFAULTS: Final[Mapping[str, Any]] = MappingProxyType({})
_MODULES: Final = "masthead.api."

_RULES: Final[Mapping[str, Any]] = {"scope": "*"}
_MATCH_RESOURCES: Final[Mapping[str, Any]] = {
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
}
_DEVICE_REQUEST: Final = {"allocationMode": "ExactCount", "count": 1}
_CONTAINER: Final = {
    "stdin": False,
    "stdinOnce": False,
    "tty": False,
    "workingDir": "",
}
_WORKLOAD: Final = {"minReadySeconds": 0}

BUILTIN_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    # Types inside atomic values.
    **{
        f"admissionregistration.{version}.{name}": defaults
        for version in ("v1", "v1beta1", "v1alpha1")
        for name, defaults in {
            "NamedRuleWithOperations": _RULES,
            "MatchResources": _MATCH_RESOURCES,
        }.items()
    },
    "admissionregistration.v1.RuleWithOperations": _RULES,
    **{
        f"resource.{version}.{name}": _DEVICE_REQUEST
        for version, exact in {
            "v1": "ExactDeviceRequest",
            "v1beta2": "ExactDeviceRequest",
            "v1beta1": "DeviceRequest",
        }.items()
        for name in (exact, "DeviceSubRequest")
    },
    "batch.v1.PodFailurePolicyOnPodConditionsPattern": {"status": "True"},
    "core.v1.EndpointPort": {"protocol": "TCP"},
    "core.v1.ObjectFieldSelector": {"apiVersion": "v1"},
    "core.v1.PersistentVolumeClaim": {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "status": {"phase": "Pending"},
    },
    "core.v1.PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    "core.v1.ResourceFieldSelector": {"divisor": "0"},
    "core.v1.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "discovery.v1.EndpointPort": {"name": "", "protocol": "TCP"},
    "networking.v1.NetworkPolicyPort": {"protocol": "TCP"},
    "rbac.v1.Subject": {"apiGroup": "rbac.authorization.k8s.io"},
    # Zero values that are left out.
    "apps.v1.DaemonSetSpec": _WORKLOAD,
    "apps.v1.DeploymentSpec": {**_WORKLOAD, "paused": False},
    "apps.v1.ReplicaSetSpec": _WORKLOAD,
    "apps.v1.StatefulSetSpec": _WORKLOAD,
    "core.v1.CSIPersistentVolumeSource": {"readOnly": False},
    "core.v1.Container": _CONTAINER,
    "core.v1.EnvVar": {"value": ""},
    "core.v1.Event": {"message": ""},
    "core.v1.PersistentVolumeClaimVolumeSource": {"readOnly": False},
    "core.v1.PodSpec": {
        "hostIPC": False,
        "hostNetwork": False,
        "hostPID": False,
        "hostname": "",
        "nodeName": "",
        "priorityClassName": "",
        "subdomain": "",
    },
    "core.v1.Probe": {"initialDelaySeconds": 0},
    "core.v1.ServiceSpec": {"externalName": "", "loadBalancerIP": "", "publishNotReadyAddresses": False},
    "core.v1.VolumeMount": {"readOnly": False, "subPath": "", "subPathExpr": ""},
    "scheduling.v1.PriorityClass": {"description": "", "globalDefault": False},
}
"""Defaults by module below `masthead.api`, class and field."""
_UNOWNED: Final[Mapping[str, FieldSet]] = {"certificates.v1.CertificateSigningRequest": FieldSet.of(("f:spec",))}
"""Fields without an owner, since no update changes them."""
_ADDED_TOLERATIONS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""The keys of tolerations that the admission plugin DefaultTolerationSeconds gives to every pod."""


def defaults_of(module: str, name: str) -> Mapping[str, Any]:
    """Return the defaults of a type, by the names of its fields.

    Args:
        module: The module of its class, such as ``masthead.api.core.v1``.
        name: The name of its class.
    """
    return BUILTIN_DEFAULTS.get(f"{module.removeprefix(_MODULES)}.{name}", _NO_DEFAULTS)


def unowned_fields_of(cls: type[Object]) -> FieldSet:
    """Return the fields of a kind that never have an owner.

    Args:
        cls: The class of a built-in kind.
    """
    return _UNOWNED.get(f"{cls.__module__.removeprefix(_MODULES)}.{cls.__name__}", FieldSet())


def without_added_tolerations(pod: Json, config: Json) -> Json:
    """Return a pod without the tolerations that admission has added to those of its configuration.

    It adds them again whenever they are missing, and a pod never loses a toleration.
    """
    spec: dict[str, Json] = pod.get("spec", {})
    applied, live = config.get("spec", {}).get("tolerations"), spec.get("tolerations")
    if not is_list(applied) or not is_list(live) or len(live) <= len(applied):
        return pod
    if not all(map(_is_added, live[len(applied) :])):
        return pod
    return {**pod, "spec": {**spec, "tolerations": live[: len(applied)]}}


def _is_added(toleration: Json) -> bool:
    return toleration.get("key") in _ADDED_TOLERATIONS and toleration.get("effect") == "NoExecute"
