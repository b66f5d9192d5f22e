"""Facts about Go's structs that the generated types lack: which unset fields are encoded, and which are not.

`zeros_left_out` reads the rest from the table of protobuf messages, where it stands for the same reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.apitype import ApiType

__all__ = ["CONDITION_TIMES", "INT64", "NEVER", "NULLS", "zeros_left_out"]

INT64: Final = frozenset(
    [
        "activeDeadlineSeconds",
        "capacity",
        "count",
        "deletionGracePeriodSeconds",
        "expirationSeconds",
        "fsGroup",
        "generation",
        "gid",
        "gracePeriodSeconds",
        "int",
        "maxItems",
        "maxLength",
        "maxProperties",
        "minItems",
        "minLength",
        "minProperties",
        "nodeAllocatableUpdatePeriodSeconds",
        "observedGeneration",
        "remainingItemCount",
        "revision",
        "runAsGroup",
        "runAsUser",
        "seconds",
        "sizeBytes",
        "startingDeadlineSeconds",
        "terminationGracePeriodSeconds",
        "tolerationSeconds",
        "uid",
    ]
)
"""Integers that are 64 bits wide in Go; all others have 32. It shows in error messages only."""
NULLS: Final[Mapping[str, frozenset[str]]] = {
    "NodeSelector": frozenset({"nodeSelectorTerms"}),
    "LimitRangeSpec": frozenset({"limits"}),
    "PodSpec": frozenset({"containers"}),
    "HTTPIngressRuleValue": frozenset({"paths"}),
    "PolicyRule": frozenset({"verbs"}),
    "Role": frozenset({"rules"}),
    "ClusterRole": frozenset({"rules"}),
    "Event": frozenset(
        {
            "eventTime",
            "firstTimestamp",
            "lastTimestamp",
            "deprecatedFirstTimestamp",
            "deprecatedLastTimestamp",
        }
    ),
    "CustomResourceDefinitionSpec": frozenset({"versions"}),
    "CustomResourceDefinitionStatus": frozenset({"conditions", "storedVersions"}),
    "Endpoint": frozenset({"addresses"}),
    "EndpointSlice": frozenset({"endpoints", "ports"}),
    "EventSeries": frozenset({"lastObservedTime"}),
    "ContainerStateRunning": frozenset({"startedAt"}),
    "ContainerStateTerminated": frozenset({"startedAt", "finishedAt"}),
    "PodFailurePolicy": frozenset({"rules"}),
    "SuccessPolicy": frozenset({"rules"}),
    "ProjectedVolumeSource": frozenset({"sources"}),
    "VolumeError": frozenset({"time"}),
    "CSINodeSpec": frozenset({"drivers"}),
    "CSINodeDriver": frozenset({"topologyKeys"}),
    "MutatingWebhook": frozenset({"admissionReviewVersions"}),
    "ValidatingWebhook": frozenset({"admissionReviewVersions"}),
    "ResourcePolicyRule": frozenset({"apiGroups", "resources", "verbs"}),
    "NonResourcePolicyRule": frozenset({"nonResourceURLs", "verbs"}),
    "SubjectRulesReviewStatus": frozenset({"nonResourceRules", "resourceRules"}),
    "HorizontalPodAutoscalerStatus": frozenset({"currentMetrics"}),
    "WorkloadSpec": frozenset({"podGroupTemplates"}),
}
"""Lists and times that Go cannot leave out: unset or empty, they are written as null."""
CONDITION_TIMES: Final = frozenset(
    {"lastProbeTime", "lastTransitionTime", "lastHeartbeatTime", "lastUpdateTime"}
)
"""The same, for conditions of every kind."""
NEVER: Final[Mapping[str, frozenset[str]]] = {
    "DaemonSetSpec": frozenset({"selector"}),
    "DeploymentSpec": frozenset({"selector"}),
    "ReplicaSetSpec": frozenset({"selector"}),
    "StatefulSetSpec": frozenset({"selector"}),
    "IPAddressSpec": frozenset({"parentRef"}),
    "ParentReference": frozenset({"name", "resource"}),
    "ScaleIOPersistentVolumeSource": frozenset({"secretRef"}),
    "ScaleIOVolumeSource": frozenset({"secretRef"}),
    "ContainerRestartRuleOnExitCodes": frozenset({"operator"}),
    "ContainerRestartRule": frozenset({"action"}),
    "HTTPIngressPath": frozenset({"pathType"}),
    "ImageVolumeStatus": frozenset({"imageRef"}),
    "MutatingWebhook": frozenset({"sideEffects"}),
    "ValidatingWebhook": frozenset({"sideEffects"}),
    "PodCertificateProjection": frozenset({"keyType", "signerName"}),
    "TokenReviewSpec": frozenset({"token"}),
    "ValidatingAdmissionPolicyBindingSpec": frozenset({"policyName"}),
    "ReplicationControllerSpec": frozenset({"minReadySeconds"}),
    "v2.HorizontalPodAutoscalerStatus": frozenset({"currentReplicas"}),
}
"""What Go leaves out although it is required or has a default: pointers, mostly. By type, or version and type."""


def zeros_left_out(cls: ApiType) -> frozenset[str]:
    """The scalars of a type that Go leaves out when they are zero; pointers are not among them.

    Args:
        cls: A generated type. Of one that is not Kubernetes' own nothing is known, and so nothing is left out.
    """
    package = ".".join(cls.__module__.split(".")[-2:]) if ".api." in cls.__module__ else "meta.v1"
    return _zeros_in(f"{package}.{cls.__name__}")


def _zeros_in(message: str) -> frozenset[str]:
    from masthead._server.wire.protobuf_table import MESSAGES

    found: set[str] = set()
    for row in MESSAGES.get(message, "").split():
        _, field, written = row.split(":")
        if written.endswith("?"):
            found.add(field)
        elif written.startswith(">"):  # in JSON, its fields stand among those around it
            inner = written[1:]
            found |= _zeros_in(message.rpartition(".")[0] + inner if inner.startswith(".") else inner)
    return frozenset(found)
