"""Enumerated strings of Kubernetes' types: their names, and the values that OpenAPI does not list.

A server lists the values of a type that Go marks as an enumeration. Other types have constants, too, and the server
rejects all other values, or never writes them: these are in `VALUES` and `FIELDS`. A type that is open (the type of a
condition, the name of a resource) is in neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from masthead._codegen.spec import Spec
from masthead._schema.builtin.definitions import module_of
from masthead._schema.schema import Schema
from masthead_server.resources.go_types import fields_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.resources.go_types import GoField

__all__ = ["with_enumerations"]

_CONDITION_STATUS: Final = ("True", "False", "Unknown")
VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "ConditionStatus": _CONDITION_STATUS,
    "ContainerRestartPolicy": ("Always", "Never", "OnFailure"),
    "ContainerRestartRuleAction": ("Restart", "RestartAllContainers"),
    "ContainerRestartRuleOnExitCodesOperator": ("In", "NotIn"),
    "ConversionStrategyType": ("None", "Webhook"),
    "FSGroupPolicy": ("File", "None", "ReadWriteOnceWithFSType"),
    "FailurePolicyType": ("Fail", "Ignore"),
    "FlowDistinguisherMethodType": ("ByNamespace", "ByUser"),
    "HPAScalingPolicyType": ("Percent", "Pods"),
    "LimitResponseType": ("Queue", "Reject"),
    "LimitType": ("Container", "PersistentVolumeClaim", "Pod"),
    "LoadBalancerIPMode": ("Proxy", "VIP"),
    "MatchPolicyType": ("Equivalent", "Exact"),
    "MetricSourceType": ("ContainerResource", "External", "Object", "Pods", "Resource"),
    "MetricTargetType": ("AverageValue", "Utilization", "Value"),
    "NodeAddressType": ("ExternalDNS", "ExternalIP", "Hostname", "InternalDNS", "InternalIP"),
    "OSName": ("linux", "windows"),
    "ParameterNotFoundActionType": ("Allow", "Deny"),
    "PersistentVolumeClaimRetentionPolicyType": ("Delete", "Retain"),
    "PodResizeStatus": ("Deferred", "InProgress", "Infeasible"),
    "PodSELinuxChangePolicy": ("MountOption", "Recursive"),
    "PriorityLevelEnablement": ("Exempt", "Limited"),
    "RecursiveReadOnlyMode": ("Disabled", "Enabled", "IfPossible"),
    "ResourceHealthStatus": ("Healthy", "Unhealthy", "Unknown"),
    "ResourceResizeRestartPolicy": ("NotRequired", "RestartContainer"),
    "ResourceScope": ("Cluster", "Namespaced"),
    "ScalingPolicySelect": ("Disabled", "Max", "Min"),
    "SubjectKind": ("Group", "ServiceAccount", "User"),
    "VolumeLifecycleMode": ("Ephemeral", "Persistent"),
}
"""The values of types that OpenAPI describes as plain strings, by their names in Go."""
FIELDS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "io.k8s.api.core.v1.Event.type": ("EventType", ("Normal", "Warning")),
    "io.k8s.api.events.v1.Event.type": ("EventType", ("Normal", "Warning")),
    "io.k8s.api.rbac.v1.RoleRef.kind": ("RoleKind", ("ClusterRole", "Role")),
    "io.k8s.api.rbac.v1.Subject.kind": ("SubjectKind", ("Group", "ServiceAccount", "User")),
}
"""The name and the values of fields that are plain strings in Go as well."""


def with_enumerations(spec: Spec) -> Spec:
    """Return a spec whose enumerated fields have values and names.

    A type of a removed API version has the enumerations of the served type of the same name: the documents of old
    releases do not list values.
    """
    named: dict[str, str] = {}
    schemas = dict(spec.schemas)
    for full_name, schema in spec.schemas.items():
        schemas[full_name] = _with_values(full_name, schema, named)
    served = _by_short_name(named, schemas)
    for full_name, schema in spec.schemas.items():
        if not module_of(full_name.rpartition(".")[0]):
            schemas[full_name] = _with_values_of_served(full_name, schema, served, named)
    return Spec(schemas, spec.resources, named)


def _with_values(full_name: str, schema: Schema, named: dict[str, str]) -> Schema:
    package, _, short = full_name.rpartition(".")
    module = module_of(package)
    go_fields: Mapping[str, GoField] = fields_of(module, short) if module else {}
    properties = dict(schema.properties)
    for wire, field in schema.properties.items():
        go_type = go_fields[wire].type.rpartition("]")[2].rpartition(".")[2] if wire in go_fields else ""
        unlisted: tuple[str, tuple[str, ...]] = (go_type, VALUES.get(go_type, ()))
        name, values = FIELDS.get(f"{full_name}.{wire}", unlisted)
        values = _listed_values(field) or values
        if values and name:
            properties[wire] = _enumerate(field, values)
            named[f"{full_name}.{wire}"] = name
    return replace(schema, properties=properties)


_Enumerations = dict[str, tuple[str, tuple[str, ...]]]
"""The name and the values of enumerated fields, by class and field: ``PodStatus.phase``."""


def _by_short_name(named: Mapping[str, str], schemas: Mapping[str, Schema]) -> _Enumerations:
    """Return the enumerated fields of served types, except for fields that differ between groups."""
    found: dict[str, set[tuple[str, tuple[str, ...]]]] = {}
    for path, name in named.items():
        full_name, _, wire = path.rpartition(".")
        values = _listed_values(schemas[full_name].properties[wire])
        found.setdefault(".".join(path.split(".")[-2:]), set()).add((name, values))
    return {path: enumerations.pop() for path, enumerations in found.items() if len(enumerations) == 1}


def _with_values_of_served(full_name: str, schema: Schema, served: _Enumerations, named: dict[str, str]) -> Schema:
    properties = dict(schema.properties)
    for wire, field in schema.properties.items():
        name, values = served.get(f"{full_name.rpartition('.')[2]}.{wire}", ("", ()))
        if values and _innermost(field).type == "string":
            properties[wire] = _enumerate(field, values)
            named[f"{full_name}.{wire}"] = name
    return replace(schema, properties=properties)


def _listed_values(schema: Schema) -> tuple[str, ...]:
    return tuple(_innermost(schema).enum)


def _innermost(schema: Schema) -> Schema:
    """Return the schema of a scalar, of a list's items, or of a map's values."""
    inner = schema.items or schema.additional_properties
    return _innermost(inner) if isinstance(inner, Schema) else schema


def _enumerate(schema: Schema, values: tuple[str, ...]) -> Schema:
    if schema.items is not None:
        return replace(schema, items=_enumerate(schema.items, values))
    if isinstance(schema.additional_properties, Schema):
        return replace(schema, additional_properties=_enumerate(schema.additional_properties, values))
    return replace(schema, enum=values)
