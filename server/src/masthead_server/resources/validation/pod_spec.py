"""Validation of pod specs, in pods and in templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid, too_long
from masthead_server.resources import names
from masthead_server.resources.validation.addresses import ip_errors
from masthead_server.resources.validation.checks import (
    MAX_INT32,
    annotation_errors,
    between,
    each_of,
    follows,
    labels,
    one_of,
    texts_of,
    unique,
    unsupported,
)
from masthead_server.resources.validation.containers import (
    Surroundings,
    container_errors,
    ephemeral_container_errors,
    init_container_errors,
)
from masthead_server.resources.validation.environment import file_volume_errors
from masthead_server.resources.validation.operating_systems import system_errors
from masthead_server.resources.validation.pod_affinity import affinity_errors, spread_errors
from masthead_server.resources.validation.pod_annotations import mismatch_errors, pod_annotation_errors
from masthead_server.resources.validation.pod_references import dns_errors, pod_claim_errors
from masthead_server.resources.validation.pod_resources import pod_resource_errors
from masthead_server.resources.validation.resource_requirements import requirement_errors
from masthead_server.resources.validation.security_contexts import host_user_errors, pod_context_errors
from masthead_server.resources.validation.volume_sources import volume_errors
from masthead_server.resources.validation.windows_options import host_process_errors
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_MAX_HOST_NAME: Final = 64
_RESTART: Final = ("Always", "OnFailure", "Never")
_DNS: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def pod_spec_errors(spec: Plain, path: str, *, of_pod: bool, pod_name: str = "") -> Errors:
    """Validate what a pod asks for.

    Args:
        spec: The spec.
        path: Where it is.
        of_pod: Whether it is that of a pod rather than of a template.
        pod_name: The name of the pod; empty for a template.
    """
    # Volumes first: containers may mount only valid ones.
    volumes, errors = volume_errors(spec, path, of_pod=of_pod, pod_name=pod_name)
    pod = Surroundings.of(spec, volumes)
    if spec.get("resourceClaims"):
        errors += pod_claim_errors(spec, path)
    errors += container_errors(spec, path, pod)
    # Most pods have few of the fields from here on.
    if spec.get("initContainers"):
        errors += init_container_errors(spec, path, pod)
    if spec.get("ephemeralContainers"):
        errors += ephemeral_container_errors(spec, path, pod)
    if spec.get("resources") is not None:
        errors += pod_resource_errors(spec, f"{path}.resources", pod.claims)
    if spec.get("hostNetwork"):
        errors += _host_network_errors(spec, path, of_pod=of_pod)
    errors += one_of(f"{path}.restartPolicy", spec.get("restartPolicy"), _RESTART)
    errors += one_of(f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS)
    if spec.get("nodeSelector"):
        errors += labels(f"{path}.nodeSelector", spec["nodeSelector"])
    if spec.get("securityContext") or spec.get("shareProcessNamespace"):
        errors += pod_context_errors(spec, f"{path}.securityContext")
    if spec.get("affinity"):
        errors += affinity_errors(spec["affinity"], f"{path}.affinity")
    errors += dns_errors(spec, path)
    if spec.get("readinessGates") or spec.get("schedulingGates"):
        errors += _gate_errors(spec, path)
    if spec.get("topologySpreadConstraints"):
        errors += spread_errors(spec, path)
    errors += host_process_errors(spec, path) + host_user_errors(spec, path) + _name_errors(spec, path)
    if spec.get("tolerations"):
        errors += toleration_errors(spec, path)
    return errors + _last_errors(spec, path)


def _host_network_errors(spec: Plain, path: str, *, of_pod: bool) -> Errors:
    errors: Errors = []
    for at, container in each_of(spec, "containers", path):
        for where, port in each_of(container, "ports", at):
            outer = port.get("hostPort") or 0
            # A template may leave hostPort out, because it is set by default in Pods only.
            if (of_pod or outer) and outer != (port.get("containerPort") or 0):
                why = "must match `containerPort` when `hostNetwork` is true"
                errors.append(invalid(f"{where}.hostPort", outer, why))
    return errors


def _gate_errors(spec: Plain, path: str) -> Errors:
    errors: Errors = []
    for at, gate in each_of(spec, "readinessGates", path):
        errors += follows(f"{at}.conditionType", text(gate, "conditionType"), names.qualified_name)
    seen: set[str] = set()
    for at, gate in each_of(spec, "schedulingGates", path):
        name = text(gate, "name")
        errors += follows(at, name, names.qualified_name) + unique(at, name, seen)
    return errors


def _name_errors(spec: Plain, path: str) -> Errors:
    override = spec.get("hostnameOverride")
    errors = [] if override is None else _override_errors(spec, f"{path}.hostnameOverride")
    for field in ("serviceAccountName", "nodeName"):
        if spec.get(field):
            errors += follows(f"{path}.{field}", spec[field], names.SUBDOMAIN)
    errors += between(f"{path}.activeDeadlineSeconds", spec.get("activeDeadlineSeconds"), 1, MAX_INT32)
    # They become parts of a DNS name.
    for field in ("hostname", "subdomain"):
        if spec.get(field):
            errors += follows(f"{path}.{field}", spec[field], names.label)
    return errors


def _override_errors(spec: Plain, path: str) -> Errors:
    errors: Errors = [
        forbidden(path, f"may not be specified when {field} is true")
        for field in ("setHostnameAsFQDN", "hostNetwork")
        if spec.get(field) is True
    ]
    override = spec["hostnameOverride"]
    if len(override) > _MAX_HOST_NAME:
        errors.append(too_long(path, _MAX_HOST_NAME))
    return errors + follows(path, override, names.SUBDOMAIN)


def toleration_errors(spec: Plain, path: str) -> Errors:
    """Validate which taints of nodes a pod tolerates."""
    errors: Errors = []
    for at, toleration in each_of(spec, "tolerations", path):
        key, operator, effect = text(toleration, "key"), text(toleration, "operator"), text(toleration, "effect")
        if key:
            errors += follows(f"{at}.key", key, names.qualified_name)
        # An empty key matches all taints, which only Exists can express.
        elif operator != "Exists":
            why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.append(invalid(f"{at}.operator", operator, why))
        # Only an eviction can be delayed.
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.append(invalid(f"{at}.effect", effect, why))
        errors += _operator_errors(at, operator, text(toleration, "value"))
        if effect and effect not in _EFFECTS:
            errors.append(unsupported(f"{at}.effect", effect, _EFFECTS))
    return errors


def _operator_errors(path: str, operator: str, value: str) -> Errors:
    if operator in {"", "Equal"}:
        wrong = names.LABEL_VALUE(value)
        return [invalid(f"{path}.operator", value, ";".join(wrong))] if wrong else []
    if operator == "Exists":
        why = "value must be empty when `operator` is 'Exists'"
        return [invalid(f"{path}.operator", value, why)] if value else []
    known = ("Equal", "Exists", "Lt", "Gt") if operator in {"Lt", "Gt"} else ("Equal", "Exists")
    return [unsupported(f"{path}.operator", operator, known)]


def _last_errors(spec: Plain, path: str) -> Errors:
    errors: Errors = []
    for at, alias in each_of(spec, "hostAliases", path):
        errors += ip_errors(f"{at}.ip", text(alias, "ip"))
        for where, name in texts_of(alias, "hostnames", at):
            errors += follows(where, name, names.SUBDOMAIN)
    if spec.get("priorityClassName"):
        errors += follows(f"{path}.priorityClassName", spec["priorityClassName"], names.SUBDOMAIN)
    if spec.get("runtimeClassName") is not None:
        errors += follows(f"{path}.runtimeClassName", spec["runtimeClassName"], names.SUBDOMAIN)
    policy = spec.get("preemptionPolicy")
    if policy is not None:
        errors += one_of(f"{path}.preemptionPolicy", policy, ("PreemptLowerPriority", "Never"))
    if spec.get("overhead"):
        # What a pod costs on top of its containers is checked as if it were a container's limit.
        errors += requirement_errors(f"{path}.overhead", {"limits": spec["overhead"]}, set())
    return errors + system_errors(spec, path) + file_volume_errors(spec, path)


def template_metadata_errors(template: Plain, path: str) -> Errors:
    """Validate the labels and annotations of a template of pods."""
    meta, annotations = part(template, "metadata"), part(part(template, "metadata"), "annotations")
    errors = labels(f"{path}.labels", part(meta, "labels"))
    errors += annotation_errors(f"{path}.annotations", annotations)
    return errors + pod_annotation_errors(annotations, part(template, "spec"), f"{path}.annotations")


def template_errors(template: Plain, path: str) -> Errors:
    """Validate a template of pods."""
    spec = part(template, "spec")
    errors = template_metadata_errors(template, path)
    errors += pod_spec_errors(spec, f"{path}.spec", of_pod=False)
    errors += mismatch_errors(part(part(template, "metadata"), "annotations"), spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        why = "ephemeral containers not allowed in pod template"
        errors.append(forbidden(f"{path}.spec.ephemeralContainers", why))
    return errors
