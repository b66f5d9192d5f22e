"""Validation of pod specs, in pods and in templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import EnumText, duplicate, forbidden, invalid, required, too_long
from masthead_server.resources import names
from masthead_server.resources.validation.addresses import ip_errors
from masthead_server.resources.validation.checks import (
    MAX_INT32,
    between,
    choice_errors,
    each_of,
    follows,
    label_selector,
    labels,
    one_of,
    operands,
    texts_of,
    unique,
    unsupported,
)
from masthead_server.resources.validation.containers import (
    container_errors,
    ephemeral_container_errors,
    init_container_errors,
    user_errors,
)
from masthead_server.resources.validation.pod_references import (
    dns_errors,
    pod_claim_errors,
    system_errors,
)
from masthead_server.resources.validation.pod_resources import pod_resource_errors
from masthead_server.resources.validation.resource_requirements import claim_names
from masthead_server.resources.validation.sysctls import sysctl_errors
from masthead_server.resources.validation.volume_sources import volume_errors
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_MAX_HOST_NAME: Final = 64
_RESTART: Final = ("Always", "OnFailure", "Never")
_DNS: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_CONTEXT_CHOICES: Final = {
    "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
    "supplementalGroupsPolicy": ("Merge", "Strict"),
}
_SPREAD_CHOICES: Final = {"nodeAffinityPolicy": ("Honor", "Ignore"), "nodeTaintsPolicy": ("Honor", "Ignore")}
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def pod_spec_errors(spec: Plain, path: str, *, of_pod: bool) -> Errors:
    """Validate what a pod asks for.

    Args:
        spec: The spec.
        path: Where it is.
        of_pod: Whether it is that of a pod rather than of a template.
    """
    # Volumes first: containers may mount only valid ones.
    volumes, errors = volume_errors(spec, path)
    claims = claim_names(spec)
    if spec.get("resourceClaims"):
        errors += pod_claim_errors(spec, path)
    errors += container_errors(spec, path, volumes, claims)
    # Most pods have few of the fields from here on.
    if spec.get("initContainers"):
        errors += init_container_errors(spec, path, volumes, claims)
    if spec.get("ephemeralContainers"):
        errors += ephemeral_container_errors(spec, path, volumes, claims)
    if spec.get("resources") is not None:
        errors += pod_resource_errors(spec, f"{path}.resources", claims)
    if spec.get("hostNetwork"):
        errors += _host_network_errors(spec, path, of_pod=of_pod)
    errors += one_of(f"{path}.restartPolicy", spec.get("restartPolicy"), _RESTART)
    errors += one_of(f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS)
    if spec.get("nodeSelector"):
        errors += labels(f"{path}.nodeSelector", spec["nodeSelector"])
    if spec.get("securityContext"):
        errors += user_errors(spec["securityContext"], f"{path}.securityContext")
        errors += sysctl_errors(spec, f"{path}.securityContext")
        errors += choice_errors(f"{path}.securityContext", spec["securityContext"], _CONTEXT_CHOICES)
    if spec.get("affinity"):
        errors += _affinity_errors(spec["affinity"], f"{path}.affinity")
    errors += dns_errors(spec, path)
    if spec.get("readinessGates") or spec.get("schedulingGates"):
        errors += _gate_errors(spec, path)
    if spec.get("topologySpreadConstraints"):
        errors += _spread_errors(spec, path)
    errors += _name_errors(spec, path)
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


def _spread_errors(spec: Plain, path: str) -> Errors:
    errors: Errors = []
    for index, (at, constraint) in enumerate(each_of(spec, "topologySpreadConstraints", path)):
        if (constraint.get("maxSkew") or 0) <= 0:
            errors.append(invalid(f"{at}.maxSkew", constraint.get("maxSkew") or 0, "must be greater than zero"))
        if not constraint.get("topologyKey"):
            errors.append(required(f"{at}.topologyKey", "can not be empty"))
        known, choice = ("DoNotSchedule", "ScheduleAnyway"), constraint.get("whenUnsatisfiable", "")
        if choice not in known:
            errors.append(unsupported(f"{at}.whenUnsatisfiable", choice, known))
        # The first of two equal constraints is reported.
        if _spread_kind(constraint) in map(_spread_kind, items(spec, "topologySpreadConstraints")[index + 1 :]):
            where = f"{at}.{{topologyKey, whenUnsatisfiable}}"
            errors.append(duplicate(where, f"{{{', '.join(_spread_kind(constraint))}}}"))
        if constraint.get("minDomains", 1) <= 0:
            errors.append(invalid(f"{at}.minDomains", constraint["minDomains"], "must be greater than zero"))
        errors += choice_errors(at, constraint, _SPREAD_CHOICES)
        errors += label_selector(f"{at}.labelSelector", part(constraint, "labelSelector"))
    return errors


def _spread_kind(constraint: Plain) -> tuple[str, str]:
    return text(constraint, "topologyKey"), text(constraint, "whenUnsatisfiable")


def _name_errors(spec: Plain, path: str) -> Errors:
    errors: Errors = []
    for field in ("serviceAccountName", "nodeName"):
        if spec.get(field):
            errors += follows(f"{path}.{field}", spec[field], names.SUBDOMAIN)
    errors += between(f"{path}.activeDeadlineSeconds", spec.get("activeDeadlineSeconds"), 1, MAX_INT32)
    # They become parts of a DNS name.
    for field in ("hostname", "subdomain"):
        if spec.get(field):
            errors += follows(f"{path}.{field}", spec[field], names.label)
    if spec.get("hostnameOverride") is not None:
        errors += _override_errors(spec, f"{path}.hostnameOverride")
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
    return errors + system_errors(spec, path)


def _affinity_errors(affinity: Plain, path: str) -> Errors:
    errors: Errors = []
    node, at = part(affinity, "nodeAffinity"), f"{path}.nodeAffinity"
    if node.get(_REQUIRED) is not None:
        errors += node_selector_errors(f"{at}.{_REQUIRED}", part(node, _REQUIRED))
    for where, term in each_of(node, _PREFERRED, at):
        errors += _weight_errors(where, term)
        errors += _node_term_errors(f"{where}.preference", part(term, "preference"))
    for side in ("podAffinity", "podAntiAffinity"):
        pods, at = part(affinity, side), f"{path}.{side}"
        for where, term in each_of(pods, _REQUIRED, at):
            errors += _pod_term_errors(where, term)
        for where, term in each_of(pods, _PREFERRED, at):
            errors += _weight_errors(where, term)
            errors += _pod_term_errors(f"{where}.podAffinityTerm", part(term, "podAffinityTerm"))
    return errors


def _weight_errors(path: str, term: Plain) -> Errors:
    weight = term.get("weight") or 0
    return [] if 1 <= weight <= 100 else [invalid(f"{path}.weight", weight, "must be in the range 1-100")]


def node_selector_errors(path: str, selector: Plain) -> Errors:
    """Validate which nodes are selected."""
    if not items(selector, "nodeSelectorTerms"):
        return [required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    return [error for at, term in each_of(selector, "nodeSelectorTerms", path) for error in _node_term_errors(at, term)]


def _node_term_errors(path: str, term: Plain) -> Errors:
    errors: Errors = []
    for at, requirement in each_of(term, "matchExpressions", path):
        operator = text(requirement, "operator")
        errors += operands(at, requirement)
        if operator in {"Gt", "Lt"}:
            if len(requirement.get("values") or ()) != 1:
                why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                errors.append(required(f"{at}.values", why))
        elif operator not in {"In", "NotIn", "Exists", "DoesNotExist"}:
            errors.append(invalid(f"{at}.operator", EnumText(operator), "not a valid selector operator"))
        errors += follows(f"{at}.key", text(requirement, "key"), names.qualified_name)
        for where, value in texts_of(requirement, "values", at):
            errors += follows(where, value, names.LABEL_VALUE)
    for at, requirement in each_of(term, "matchFields", path):
        errors += _node_field_errors(at, requirement)
    return errors


def _node_field_errors(path: str, requirement: Plain) -> Errors:
    """Validate a requirement about a field of nodes: only names can be selected, one at a time."""
    errors: Errors = []
    if text(requirement, "operator") not in {"In", "NotIn"}:
        operator = EnumText(text(requirement, "operator"))
        errors.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    elif len(requirement.get("values") or ()) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{path}.values", why))
    if text(requirement, "key") != "metadata.name":
        return [*errors, invalid(f"{path}.key", text(requirement, "key"), "not a valid field selector key")]
    for at, value in texts_of(requirement, "values", path):
        errors += follows(at, value, names.SUBDOMAIN)
    return errors


def _pod_term_errors(path: str, term: Plain) -> Errors:
    errors = label_selector(f"{path}.labelSelector", part(term, "labelSelector"))
    errors += label_selector(f"{path}.namespaceSelector", part(term, "namespaceSelector"))
    for _, name in texts_of(term, "namespaces", path):
        errors += follows(f"{path}.namespace", name, names.label)
    # An empty key gets both errors.
    if not term.get("topologyKey"):
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    return errors + follows(f"{path}.topologyKey", text(term, "topologyKey"), names.qualified_name)


def template_errors(template: Plain, path: str) -> Errors:
    """Validate a template of pods."""
    meta = part(template, "metadata")
    errors = labels(f"{path}.labels", part(meta, "labels"))
    for key in part(meta, "annotations"):
        errors += follows(f"{path}.annotations", key.lower(), names.qualified_name)
    spec = part(template, "spec")
    errors += pod_spec_errors(spec, f"{path}.spec", of_pod=False)
    if spec.get("ephemeralContainers"):
        why = "ephemeral containers not allowed in pod template"
        errors.append(forbidden(f"{path}.spec.ephemeralContainers", why))
    return errors
