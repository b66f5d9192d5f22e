"""The values of enumerated types, which kube-apiserver states in documents but not in its schemas.

A field is enumerated if its type in Go is. `masthead_server.resources.go_types` has the types of fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from masthead._schema.builtin.definitions import DEFINITIONS, module_of
from masthead._schema.schema import Definitions, Schema
from masthead_server.resources.go_types import fields_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.resources.go_types import GoField

__all__ = ["DOCUMENTED", "DocumentedDefinitions"]

_REAL_TIME: Final = (
    *("SIGRTMIN", *(f"SIGRTMIN+{number}" for number in range(1, 16))),
    *("SIGRTMAX", *(f"SIGRTMAX-{number}" for number in range(1, 15))),
)
_SIGNALS: Final = (
    "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS "
    "TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ"
)
_VALUES: Final[Mapping[str, str]] = {
    "v1.AddressType": "FQDN|IPv4|IPv6",
    "v1.AllocationConfigSource": "FromClaim|FromClass",
    "v1beta1.AllocationConfigSource": "FromClaim|FromClass",
    "v1beta2.AllocationConfigSource": "FromClaim|FromClass",
    "v1.AppArmorProfileType": "Localhost|RuntimeDefault|Unconfined",
    "v1.AzureDataDiskCachingMode": "None|ReadOnly|ReadWrite",
    "v1.AzureDataDiskKind": "Dedicated|Managed|Shared",
    "v1.ClaimResourceStatus": (
        "ControllerResizeInProgress|ControllerResizeInfeasible|NodeResizeInProgress|"
        "NodeResizeInfeasible|NodeResizePending"
    ),
    "v1.CompletionMode": "Indexed|NonIndexed",
    "v1.ConcurrencyPolicy": "Allow|Forbid|Replace",
    "v1.DNSPolicy": "ClusterFirst|ClusterFirstWithHostNet|Default|None",
    "v1.DaemonSetUpdateStrategyType": "OnDelete|RollingUpdate",
    "v1.DeploymentStrategyType": "Recreate|RollingUpdate",
    "v1.DeviceAllocationMode": "All|ExactCount",
    "v1beta1.DeviceAllocationMode": "All|ExactCount",
    "v1beta2.DeviceAllocationMode": "All|ExactCount",
    "v1.DeviceTaintEffect": "NoExecute|NoSchedule|None",
    "v1alpha3.DeviceTaintEffect": "NoExecute|NoSchedule|None",
    "v1beta1.DeviceTaintEffect": "NoExecute|NoSchedule|None",
    "v1beta2.DeviceTaintEffect": "NoExecute|NoSchedule|None",
    "v1.DeviceTolerationOperator": "Equal|Exists",
    "v1beta1.DeviceTolerationOperator": "Equal|Exists",
    "v1beta2.DeviceTolerationOperator": "Equal|Exists",
    "v1alpha2.DisruptionMode": "Pod|PodGroup",
    "v1.FailurePolicyType": "Fail|Ignore",
    "v1alpha1.FailurePolicyType": "Fail|Ignore",
    "v1.FieldValueErrorReason": "FieldValueDuplicate|FieldValueForbidden|FieldValueInvalid|FieldValueRequired",
    "v1.HostPathType": "|BlockDevice|CharDevice|Directory|DirectoryOrCreate|File|FileOrCreate|Socket",
    "v1.IPFamily": "|IPv4|IPv6",
    "v1.IPFamilyPolicy": "PreferDualStack|RequireDualStack|SingleStack",
    "v1.KeyUsage": (
        "any|cert sign|client auth|code signing|content commitment|crl sign|data encipherment|"
        "decipher only|digital signature|email protection|encipher only|ipsec end system|ipsec tunnel|"
        "ipsec user|key agreement|key encipherment|microsoft sgc|netscape sgc|ocsp signing|s/mime|"
        "server auth|signing|timestamping"
    ),
    "v1.MatchPolicyType": "Equivalent|Exact",
    "v1alpha1.MatchPolicyType": "Equivalent|Exact",
    "v1.MountPropagationMode": "Bidirectional|HostToContainer|None",
    "v1.NamespacePhase": "Active|Terminating",
    "v1.NodeInclusionPolicy": "Honor|Ignore",
    "v1.NodePhase": "Pending|Running|Terminated",
    "v1.NodeSelectorOperator": "DoesNotExist|Exists|Gt|In|Lt|NotIn",
    "v1.OperationType": "*|CONNECT|CREATE|DELETE|UPDATE",
    "v1alpha1.ParameterNotFoundActionType": "Allow|Deny",
    "v1.PatchType": "ApplyConfiguration|JSONPatch",
    "v1alpha1.PatchType": "ApplyConfiguration|JSONPatch",
    "v1beta1.PatchType": "ApplyConfiguration|JSONPatch",
    "v1.PathType": "Exact|ImplementationSpecific|Prefix",
    "v1.PersistentVolumeAccessMode": "ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod",
    "v1.PersistentVolumeClaimModifyVolumeStatus": "InProgress|Infeasible|Pending",
    "v1.PersistentVolumeClaimPhase": "Bound|Lost|Pending",
    "v1.PersistentVolumeMode": "Block|Filesystem",
    "v1.PersistentVolumePhase": "Available|Bound|Failed|Pending|Released",
    "v1.PersistentVolumeReclaimPolicy": "Delete|Recycle|Retain",
    "v1.PodFSGroupChangePolicy": "Always|OnRootMismatch",
    "v1.PodFailurePolicyAction": "Count|FailIndex|FailJob|Ignore",
    "v1.PodFailurePolicyOnExitCodesOperator": "In|NotIn",
    "v1.PodManagementPolicyType": "OrderedReady|Parallel",
    "v1.PodPhase": "Failed|Pending|Running|Succeeded|Unknown",
    "v1.PodQOSClass": "BestEffort|Burstable|Guaranteed",
    "v1.PodReplacementPolicy": "Failed|TerminatingOrFailed",
    "v1.PolicyType": "Egress|Ingress",
    "v1.PreemptionPolicy": "Never|PreemptLowerPriority",
    "v1.ProcMountType": "Default|Unmasked",
    "v1.Protocol": "SCTP|TCP|UDP",
    "v1.PullPolicy": "Always|IfNotPresent|Never",
    "v1.ReinvocationPolicyType": "IfNeeded|Never",
    "v1.ResourceQuotaScope": (
        "BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|"
        "VolumeAttributesClass"
    ),
    "v1.RestartPolicy": "Always|Never|OnFailure",
    "v1.ScopeSelectorOperator": "DoesNotExist|Exists|In|NotIn",
    "v1.ScopeType": "*|Cluster|Namespaced",
    "v1.SeccompProfileType": "Localhost|RuntimeDefault|Unconfined",
    "v1.ServiceAffinity": "ClientIP|None",
    "v1.ServiceExternalTrafficPolicy": "Cluster|Local",
    "v1.ServiceInternalTrafficPolicy": "Cluster|Local",
    "v1.ServiceType": "ClusterIP|ExternalName|LoadBalancer|NodePort",
    "v1.SideEffectClass": "None|NoneOnDryRun|Some|Unknown",
    "v1.StatefulSetUpdateStrategyType": "OnDelete|RollingUpdate",
    "v1.SupplementalGroupsPolicy": "Merge|Strict",
    "v1.TaintEffect": "NoExecute|NoSchedule|PreferNoSchedule",
    "v1.TerminationMessagePolicy": "FallbackToLogsOnError|File",
    "v1.TolerationOperator": "Equal|Exists|Gt|Lt",
    "v1.URIScheme": "HTTP|HTTPS",
    "v1.UnhealthyPodEvictionPolicyType": "AlwaysAllow|IfHealthyBudget",
    "v1.UnsatisfiableConstraintAction": "DoNotSchedule|ScheduleAnyway",
    "v1.ValidationAction": "Audit|Deny|Warn",
    "v1.VolumeBindingMode": "Immediate|WaitForFirstConsumer",
    "v1.Signal": "|".join(sorted([*_REAL_TIME, *(f"SIG{signal}" for signal in _SIGNALS.split())])),
}
"""The values of each type, which is written with its version."""


class DocumentedDefinitions(Definitions):
    """The schemas of Kubernetes' own types with the values of enumerated fields, by their full names.

    Threads: any number may use it; two threads that need a schema at the same time may both build it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[str, Schema] = {}

    def get(self, name: str) -> Schema | None:
        """Return the schema of a full name; None if it does not exist."""
        found = self._made.get(name)
        # Built on demand: a document needs a small part of all schemas.
        if found is None and (plain := DEFINITIONS.get(name)) is not None:
            found = self._made[name] = _with_values(name, plain)
        return found


DOCUMENTED: Final = DocumentedDefinitions()
"""The schemas of this process; they are constants."""


def _with_values(name: str, schema: Schema) -> Schema:
    package, _, short = name.rpartition(".")
    module = module_of(package)
    fields: Mapping[str, GoField] = fields_of(module, short) if module else {}
    changed = {
        wire: _add_values(schema.properties[wire], values)
        for wire, field in fields.items()
        # Without the brackets of lists and maps: the values belong to their items.
        if wire in schema.properties and (values := _VALUES.get(field.type.rpartition("]")[2]))
    }
    return replace(schema, properties={**schema.properties, **changed}) if changed else schema


def _add_values(schema: Schema, values: str) -> Schema:
    """Return the schema of a field, of the items of a list, or of the values of a map."""
    if schema.items is not None:
        return replace(schema, items=_add_values(schema.items, values))
    if isinstance(schema.additional_properties, Schema):
        return replace(schema, additional_properties=_add_values(schema.additional_properties, values))
    return replace(schema, enum=tuple(values.split("|")))
