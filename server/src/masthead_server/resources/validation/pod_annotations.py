"""Validation of the annotations of pods and of their templates that were fields once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead._schema.errors import forbidden, invalid
from masthead_server.resources.validation.checks import MAX_INT32, each_of
from masthead_server.resources.validation.local_paths import descending_errors
from masthead_server.resources.warnings.pod_spec import APPARMOR_PREFIX, SECCOMP_PREFIX
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from typing import TypeAlias

    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

    _Values: TypeAlias = dict[str, tuple[str, ...]]

__all__ = ["MIRROR", "mismatch_errors", "pod_annotation_errors"]

MIRROR: Final = "kubernetes.io/config.mirror"
"""The annotation of mirror pods, which represent a kubelet's static pods."""
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_SECCOMP_OF_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_SECCOMP_VALUES: Final[_Values] = {
    "Unconfined": ("unconfined",),
    "RuntimeDefault": ("runtime/default", "docker/default"),
}
_SECCOMP_PROFILES: Final = frozenset(value for values in _SECCOMP_VALUES.values() for value in values)
_APPARMOR_VALUES: Final[_Values] = {"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default",)}
_LOCAL: Final = "localhost/"


def pod_annotation_errors(annotations: Plain, spec: Plain, path: str) -> Errors:
    """Validate the annotations of a pod or a template.

    Args:
        annotations: The annotations.
        spec: The spec of the pod.
        path: The path of the annotations.
    """
    errors: Errors = []
    if not annotations:
        return errors
    if MIRROR in annotations and not spec.get("nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(invalid(f"{path}[{MIRROR}]", annotations[MIRROR], why))
    if not _is_int32(annotations.get(_DELETION_COST, "0")):
        why = "must be a 32bit integer"
        errors.append(invalid(f"{path}[{_DELETION_COST}]", annotations[_DELETION_COST], why))
    if _SECCOMP_OF_POD in annotations:
        errors += _seccomp_errors(f"{path}.{_SECCOMP_OF_POD}", annotations[_SECCOMP_OF_POD])
    # Sorted, because Go's order of maps is random.
    for key, profile in sorted(annotations.items()):
        if key.startswith(SECCOMP_PREFIX):
            # kube-apiserver writes this path with a dot, that of AppArmor with brackets.
            errors += _seccomp_errors(f"{path}.{key}", profile)
    containers = {text(container, "name") for field in _CONTAINERS for container in items(spec, field)}
    for key, profile in sorted(annotations.items()):
        if key.startswith(APPARMOR_PREFIX):
            errors += _apparmor_errors(f"{path}[{key}]", key.removeprefix(APPARMOR_PREFIX), profile, containers)
    return errors


def _is_int32(value: str) -> bool:
    # Go parses "-0" and "-08", but no other leading zero.
    if not re.fullmatch("0|[1-9][0-9]{0,18}|-[0-9]{1,19}", value, re.ASCII):
        return False
    return -MAX_INT32 - 1 <= int(value) <= MAX_INT32


def _seccomp_errors(path: str, profile: str) -> Errors:
    if profile in _SECCOMP_PROFILES:
        return []
    if not profile.startswith(_LOCAL):
        return [invalid(path, profile, "must be a valid seccomp profile")]
    return descending_errors(path, profile.removeprefix(_LOCAL))


def _apparmor_errors(path: str, name: str, profile: str, containers: set[str]) -> Errors:
    errors = [] if name in containers else [invalid(path, name, "container not found")]
    if profile in {"", "runtime/default", "unconfined"} or profile.startswith(_LOCAL):
        return errors
    return [*errors, invalid(path, profile, f"invalid AppArmor profile name: {quoted(profile)}")]


def mismatch_errors(annotations: Plain, spec: Plain, path: str) -> Errors:
    """Return the errors of annotations and fields that name different profiles.

    Args:
        annotations: The annotations of the pod or the template.
        spec: The spec of the pod.
        path: The path of the spec.
    """
    if not annotations:
        return []
    return _seccomp_mismatches(annotations, spec, path) + _apparmor_mismatches(annotations, spec, path)


def _seccomp_mismatches(annotations: Plain, spec: Plain, path: str) -> Errors:
    owners = [(path, _SECCOMP_OF_POD, spec)]
    owners += [
        (at, SECCOMP_PREFIX + text(container, "name"), container)
        for field in _CONTAINERS
        for at, container in each_of(spec, field, path)
    ]
    errors: Errors = []
    for at, key, owner in owners:
        profile = part(owner, "securityContext").get("seccompProfile")
        if profile is not None and key in annotations:
            field = f"{at}.securityContext.seccompProfile"
            errors += _mismatch(field, "seccomp", profile, annotations[key], _SECCOMP_VALUES)
    return errors


def _apparmor_mismatches(annotations: Plain, spec: Plain, path: str) -> Errors:
    if part(spec, "os").get("name") == "windows":
        return []
    errors: Errors = []
    of_pod = part(spec, "securityContext").get("appArmorProfile")
    for at, container in (found for field in _CONTAINERS for found in each_of(spec, field, path)):
        annotation = annotations.get(APPARMOR_PREFIX + text(container, "name"))
        profile = part(container, "securityContext").get("appArmorProfile") or of_pod
        if profile is not None and annotation is not None:
            field = f"{at}.securityContext.appArmorProfile"
            errors += _mismatch(field, "apparmor", profile, annotation, _APPARMOR_VALUES)
    return errors


def _mismatch(path: str, feature: str, profile: Plain, annotation: str, values: _Values) -> Errors:
    kind = text(profile, "type")
    if annotation in values.get(kind, ()):
        return []
    if kind == "Localhost" and annotation.startswith(_LOCAL):
        if annotation.removeprefix(_LOCAL) == profile.get("localhostProfile"):
            return []
        return [forbidden(f"{path}.localhostProfile", f"{feature} profile in annotation and field must match")]
    if kind not in {*values, "Localhost"}:
        return []
    return [forbidden(f"{path}.type", f"{feature} type in annotation and field must match")]
