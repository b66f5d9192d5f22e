"""kube-apiserver's internal types, as far as its messages show them.

A refusal to change a spec shows what changed as a difference of two texts, and a refusal to change a template
shows the template. Both print the server's own structs: every field, in their order, under their Go names.
Structs that are not in the table are printed as they are written.
"""

from __future__ import annotations

import difflib
import json
import re
from functools import cache
from typing import Final, cast

from masthead_server.wire.plain import Plain, part

_ZEROS: Final[dict[str, object]] = {"text": "", "flag": False, "number": 0}
_STRUCTS: Final = {
    "PodSpec": (
        "Volumes:Volume InitContainers:Container Containers:Container EphemeralContainers RestartPolicy:text"
        " TerminationGracePeriodSeconds ActiveDeadlineSeconds DNSPolicy:text NodeSelector"
        " ServiceAccountName:text AutomountServiceAccountToken NodeName:text SecurityContext:PodSecurityContext"
        " ImagePullSecrets:Name Hostname:text Subdomain:text SetHostnameAsFQDN Affinity:Affinity SchedulerName:text"
        " Tolerations:Toleration HostAliases:HostAlias PriorityClassName:text Priority PreemptionPolicy DNSConfig"
        " ReadinessGates:Condition RuntimeClassName Overhead EnableServiceLinks"
        " TopologySpreadConstraints:SpreadConstraint OS:Name SchedulingGates:Name ResourceClaims"
        " Resources:ResourceRequirements HostnameOverride SchedulingGroup"
    ),
    "Container": (
        "Name:text Image:text Command Args WorkingDir:text Ports:ContainerPort EnvFrom Env:EnvVar"
        " Resources:ResourceRequirements! ResizePolicy RestartPolicy RestartPolicyRules"
        " VolumeMounts:VolumeMount VolumeDevices LivenessProbe ReadinessProbe StartupProbe Lifecycle"
        " TerminationMessagePath:text TerminationMessagePolicy:text ImagePullPolicy:text SecurityContext"
        " Stdin:flag StdinOnce:flag TTY:flag"
    ),
    "PodSecurityContext": (
        "HostNetwork:flag HostPID:flag HostIPC:flag ShareProcessNamespace HostUsers SELinuxOptions:SELinuxOptions"
        " WindowsOptions:WindowsOptions RunAsUser RunAsGroup RunAsNonRoot SupplementalGroups SupplementalGroupsPolicy"
        " FSGroup FSGroupChangePolicy Sysctls SeccompProfile:Profile AppArmorProfile:Profile SELinuxChangePolicy"
    ),
    "SecurityContext": (
        "Capabilities:Capabilities Privileged SELinuxOptions:SELinuxOptions WindowsOptions:WindowsOptions RunAsUser"
        " RunAsGroup RunAsNonRoot ReadOnlyRootFilesystem AllowPrivilegeEscalation ProcMount SeccompProfile:Profile"
        " AppArmorProfile:Profile"
    ),
    "Capabilities": "Add Drop",
    "SELinuxOptions": "User:text Role:text Type:text Level:text",
    "WindowsOptions": "GMSACredentialSpecName GMSACredentialSpec RunAsUserName HostProcess",
    "Profile": "Type:text LocalhostProfile",
    "ResourceRequirements": "Limits Requests Claims",
    "ContainerPort": "Name:text HostPort:number ContainerPort:number Protocol:text HostIP:text",
    "EnvVar": "Name:text Value:text ValueFrom",
    "VolumeMount": (
        "Name:text ReadOnly:flag RecursiveReadOnly MountPath:text SubPath:text MountPropagation SubPathExpr:text"
    ),
    "Toleration": "Key:text Operator:text Value:text Effect:text TolerationSeconds",
    "HostAlias": "IP:text Hostnames",
    "Condition": "ConditionType:text",
    "Name": "Name:text",
    "ClaimSpec": (
        "AccessModes Selector Resources:ClaimResources! VolumeName:text StorageClassName VolumeMode"
        " DataSource:Source DataSourceRef:Reference VolumeAttributesClassName"
    ),
    "ClaimResources": "Limits Requests",
    "ObjectReference": (
        "Kind:text Namespace:text Name:text UID:text APIVersion:text ResourceVersion:text FieldPath:text"
    ),
    "EventSource": "Component:text Host:text",
    "Source": "APIGroup Kind:text Name:text",
    "Reference": "APIGroup Kind:text Name:text Namespace",
    "VolumeSource": (
        "GCEPersistentDisk AWSElasticBlockStore HostPath:HostPath Glusterfs NFS:NFS RBD Quobyte ISCSI"
        " FlexVolume Cinder CephFS FC Flocker AzureFile VsphereVolume AzureDisk PhotonPersistentDisk"
        " PortworxVolume ScaleIO Local:Local StorageOS CSI:CSI"
    ),
    "Volume": (
        "Name:text HostPath:HostPath EmptyDir:EmptyDir GCEPersistentDisk AWSElasticBlockStore GitRepo"
        " Secret:SecretVolume NFS:NFS ISCSI Glusterfs PersistentVolumeClaim:ClaimVolume RBD Quobyte FlexVolume Cinder"
        " CephFS Flocker DownwardAPI FC AzureFile ConfigMap:ConfigMapVolume VsphereVolume AzureDisk"
        " PhotonPersistentDisk Projected PortworxVolume ScaleIO StorageOS CSI Ephemeral Image"
    ),
    "EmptyDir": "Medium:text SizeLimit",
    "SecretVolume": "SecretName:text Items:KeyPath DefaultMode Optional",
    "ConfigMapVolume": "Name:text Items:KeyPath DefaultMode Optional",
    "KeyPath": "Key:text Path:text Mode",
    "ClaimVolume": "ClaimName:text ReadOnly:flag",
    "Affinity": "NodeAffinity:NodeAffinity PodAffinity:PodAffinity PodAntiAffinity:PodAffinity",
    "NodeAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution:NodeSelector"
        " PreferredDuringSchedulingIgnoredDuringExecution:PreferredTerm"
    ),
    "PreferredTerm": "Weight:number Preference:NodeSelectorTerm!",
    "PodAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution:PodAffinityTerm"
        " PreferredDuringSchedulingIgnoredDuringExecution:WeightedTerm"
    ),
    "PodAffinityTerm": ("LabelSelector Namespaces TopologyKey:text NamespaceSelector MatchLabelKeys MismatchLabelKeys"),
    "WeightedTerm": "Weight:number PodAffinityTerm:PodAffinityTerm!",
    "SpreadConstraint": (
        "MaxSkew:number TopologyKey:text WhenUnsatisfiable:text LabelSelector MinDomains NodeAffinityPolicy"
        " NodeTaintsPolicy MatchLabelKeys"
    ),
    "HostPath": "Path:text Type",
    "NFS": "Server:text Path:text ReadOnly:flag",
    "Local": "Path:text FSType",
    "CSI": (
        "Driver:text VolumeHandle:text ReadOnly:flag FSType:text VolumeAttributes ControllerPublishSecretRef"
        " NodeStageSecretRef NodePublishSecretRef ControllerExpandSecretRef NodeExpandSecretRef"
    ),
    "FlowSchemaSpec": (
        "PriorityLevelConfiguration:Name! MatchingPrecedence:number DistinguisherMethod:DistinguisherMethod"
        " Rules:FlowRule"
    ),
    "DistinguisherMethod": "Type:text",
    "FlowRule": "Subjects:FlowSubject ResourceRules:FlowResourceRule NonResourceRules:FlowUrlRule",
    "FlowSubject": "Kind:text User:Name Group:Name ServiceAccount:FlowAccount",
    "FlowAccount": "Namespace:text Name:text",
    "FlowResourceRule": "Verbs APIGroups Resources ClusterScope:flag Namespaces",
    "FlowUrlRule": "Verbs NonResourceURLs",
    "PriorityLevelSpec": "Type:text Limited:LimitedLevel Exempt:ExemptLevel",
    "LimitedLevel": (
        "NominalConcurrencyShares:number LimitResponse:LimitResponse! LendablePercent BorrowingLimitPercent"
    ),
    "ExemptLevel": "NominalConcurrencyShares LendablePercent",
    "LimitResponse": "Type:text Queuing:Queuing",
    "ResourceClaimSpec": "Devices:DeviceClaim!",
    "DeviceClaim": "Requests:DeviceRequest Constraints:DeviceConstraint Config:DeviceClaimConfig",
    "DeviceRequest": "Name:text Exactly:ExactRequest FirstAvailable:SubRequest",
    "ExactRequest": (
        "DeviceClassName:text Selectors:DeviceSelector AllocationMode:text Count:number AdminAccess"
        " Tolerations:Toleration Capacity:CapacityRequirements"
    ),
    "SubRequest": (
        "Name:text DeviceClassName:text Selectors:DeviceSelector AllocationMode:text Count:number"
        " Tolerations:Toleration Capacity:CapacityRequirements"
    ),
    "CapacityRequirements": "Requests",
    "DeviceSelector": "CEL:CELSelector",
    "CELSelector": "Expression:text",
    "DeviceConstraint": "Requests MatchAttribute DistinctAttribute",
    "DeviceClaimConfig": "Requests Opaque:OpaqueConfig",
    "OpaqueConfig": "Driver:text Parameters",
    "AllocationResult": "Devices:AllocatedDevices! NodeSelector:NodeSelector AllocationTimestamp",
    "AllocatedDevices": "Results:AllocatedDevice Config:AllocationConfig",
    "AllocatedDevice": (
        "Request:text Driver:text Pool:text Device:text AdminAccess Tolerations:Toleration BindingConditions"
        " BindingFailureConditions ShareID ConsumedCapacity"
    ),
    "AllocationConfig": "Source:text Requests Opaque:OpaqueConfig",
    "NodeSelector": "NodeSelectorTerms:NodeSelectorTerm",
    "NodeSelectorTerm": "MatchExpressions:NodeRequirement MatchFields:NodeRequirement",
    "NodeRequirement": "Key:text Operator:text Values",
    "DeviceAttribute": ("IntValue BoolValue StringValue VersionValue IntValues BoolValues StringValues VersionValues"),
    "Queuing": "Queues:number HandSize:number QueueLengthLimit:number",
}
"""The fields of a struct: a name, and after a colon what its zero is, or the struct that it holds."""
_WRITTEN: Final = {
    "CephFS": "cephfs",
    "StorageOS": "storageos",
    "IntValue": "int",
    "BoolValue": "bool",
    "StringValue": "string",
    "VersionValue": "version",
    "IntValues": "ints",
    "BoolValues": "bools",
    "StringValues": "strings",
    "VersionValues": "versions",
}
_HOST_FIELDS: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


@cache
def _fields(struct: str) -> tuple[tuple[str, str, str], ...]:
    """Return a struct's fields: the Go name, the written name, and what it holds."""
    found: list[tuple[str, str, str]] = []
    for field in _STRUCTS[struct].split():
        name, _, holds = field.partition(":")
        # Leading capitals are written small, but for the last if a word begins with it.
        small = re.sub(r"^[A-Z]+(?=[A-Z][a-z])|^[A-Z]+$|^[A-Z]", lambda match: match[0].lower(), name)
        found.append((name, _WRITTEN.get(name, small), holds))
    return tuple(found)


def inner(struct: str, found: Plain) -> Plain:
    """Show a struct as kube-apiserver holds it."""
    return {name: _inner_value(holds, found.get(written)) for name, written, holds in _fields(struct)}


def _inner_value(holds: str, value: object) -> object:
    if value is None:
        return inner(holds[:-1], {}) if holds.endswith("!") else _ZEROS.get(holds)
    struct = holds.removesuffix("!")
    if struct not in _STRUCTS:
        return value
    if isinstance(value, list):
        return [inner(struct, item) for item in cast("list[Plain]", value)]
    return inner(struct, cast("Plain", value))


def inner_pod_spec(spec: Plain) -> Plain:
    """Show what a pod asks for as kube-apiserver holds it: sharing with the host is a matter of security there."""
    shared = {field: spec[field] for field in _HOST_FIELDS if spec.get(field) is not None}
    shown = inner("PodSpec", spec)
    shown["SecurityContext"] = inner("PodSecurityContext", {**part(spec, "securityContext"), **shared})
    return shown


def difference(then: Plain, now: Plain) -> str:
    """Show what changed, as the lines of a unified diff."""
    before, after = (_write_lines(item) for item in (then, now))
    if max(len(before), len(after)) > _MAX_LINES:
        # Finding the smallest difference takes the square of the length.
        return f" ... ({len(before)} lines before, {len(after)} lines after)\n"
    lines = list(difflib.unified_diff(before, after, lineterm=""))[2:]
    return "".join(f"{line}\n" for line in lines)


def _write_lines(found: Plain) -> list[str]:
    # Go escapes what has a meaning in HTML.
    return json.dumps(found, indent=1, ensure_ascii=False).translate(_HTML_ESCAPES).split("\n")


_HTML_ESCAPES: Final = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
_MAX_LINES: Final = 3_000
"""Line limit of an object in a diff."""
