"""Annotations of Pods that kube-apiserver validates, and the AppArmor profiles that it copies from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead._schema.errors import forbidden, invalid
from masthead_server.resources.validation.checks import each_of
from masthead_server.resources.warnings.pod_spec import (
    APPARMOR_PREFIX,
    SECCOMP_PREFIX,
    apparmor_profile,
    warn_of_apparmor_annotation,
)
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["annotation_changes", "annotation_errors", "apparmor_mismatches", "copy_apparmor_profiles"]

_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_MIRROR: Final = "kubernetes.io/config.mirror"
_SECCOMP_OF_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_PROFILES: Final = frozenset({"runtime/default", "docker/default", "unconfined"})
_APPARMOR_VALUES: Final = {"Unconfined": "unconfined", "RuntimeDefault": "runtime/default"}
_LOCAL: Final = "localhost/"


def copy_apparmor_profiles(pod: Plain) -> list[str]:
    """Copy AppArmor profiles from annotations of a new Pod to its containers; return the warnings about them."""
    spec, annotations = pod["spec"], part(metadata(pod), "annotations")
    if part(spec, "os").get("name") == "windows" or not any(key.startswith(APPARMOR_PREFIX) for key in annotations):
        return []
    of_pod = part(spec, "securityContext").get("appArmorProfile")
    warnings: list[str] = []
    for container in (item for field in _CONTAINERS for item in items(spec, field)):
        # First the warning: afterwards there is a field that repeats the annotation.
        warnings += warn_of_apparmor_annotation("", annotations, spec, container)
        context = part(container, "securityContext")
        profile = apparmor_profile(annotations.get(APPARMOR_PREFIX + text(container, "name"), ""))
        if profile is not None and context.get("appArmorProfile") is None and profile != of_pod:
            container["securityContext"] = {**context, "appArmorProfile": profile}
    return warnings


def annotation_errors(pod: Plain) -> Errors:
    """Return the errors of the annotations of a Pod."""
    annotations, spec = part(part(pod, "metadata"), "annotations"), part(pod, "spec")
    errors: Errors = []
    if not annotations:
        return errors
    if _MIRROR in annotations and not spec.get("nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(invalid(f"metadata.annotations[{_MIRROR}]", annotations[_MIRROR], why))
    if _SECCOMP_OF_POD in annotations:
        errors += _seccomp_errors(_SECCOMP_OF_POD, annotations[_SECCOMP_OF_POD])
    # Sorted, because Go's order of maps is random.
    for key, profile in sorted(annotations.items()):
        if key.startswith(SECCOMP_PREFIX):
            errors += _seccomp_errors(key, profile)
    names = {text(container, "name") for field in _CONTAINERS for container in items(spec, field)}
    for key, profile in sorted(annotations.items()):
        if key.startswith(APPARMOR_PREFIX):
            errors += _apparmor_errors(key, profile, names)
    return errors


def annotation_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of changed annotations of a Pod; those of AppArmor and of mirror pods are immutable."""
    annotations, stored = (part(part(pod, "metadata"), "annotations") for pod in (new, old))
    if annotations == stored:
        return []
    errors = annotation_errors(new)
    changes: Errors = []
    for keys, verb in ((sorted(stored), "remove or update"), (sorted(annotations.keys() - stored.keys()), "add")):
        for key in keys:
            if annotations.get(key) == stored.get(key):
                continue
            if key.startswith(APPARMOR_PREFIX):
                changes.append(forbidden(f"metadata.annotations[{key}]", f"may not {verb} AppArmor annotations"))
            elif key == _MIRROR:
                changes.append(forbidden(f"metadata.annotations[{key}]", f"may not {verb} mirror pod annotation"))
    # kube-apiserver validates the annotations of an update twice.
    return [*errors, *changes, *errors]


def _seccomp_errors(key: str, profile: str) -> Errors:
    # kube-apiserver writes this path with a dot, that of AppArmor with brackets.
    path = f"metadata.annotations.{key}"
    if profile in _SECCOMP_PROFILES:
        return []
    if not profile.startswith(_LOCAL):
        return [invalid(path, profile, "must be a valid seccomp profile")]
    file = profile.removeprefix(_LOCAL)
    errors = [invalid(path, file, "must be a relative path")] if file.startswith("/") else []
    return [*errors, invalid(path, file, "must not contain '..'")] if ".." in file.split("/") else errors


def _apparmor_errors(key: str, profile: str, names: set[str]) -> Errors:
    path, name = f"metadata.annotations[{key}]", key.removeprefix(APPARMOR_PREFIX)
    errors = [] if name in names else [invalid(path, name, "container not found")]
    if profile in {"", *_APPARMOR_VALUES.values()} or profile.startswith(_LOCAL):
        return errors
    return [*errors, invalid(path, profile, f"invalid AppArmor profile name: {quoted(profile)}")]


def apparmor_mismatches(pod: Plain) -> Errors:
    """Return the errors of a new Pod whose annotations and fields name different AppArmor profiles."""
    annotations, spec = part(part(pod, "metadata"), "annotations"), part(pod, "spec")
    if part(spec, "os").get("name") == "windows" or not annotations:
        return []
    errors: Errors = []
    of_pod = part(spec, "securityContext").get("appArmorProfile")
    for at, container in (found for field in _CONTAINERS for found in each_of(spec, field, "spec")):
        annotation = annotations.get(APPARMOR_PREFIX + text(container, "name"))
        profile = part(container, "securityContext").get("appArmorProfile") or of_pod
        if profile is not None and annotation is not None:
            errors += _mismatch(f"{at}.securityContext.appArmorProfile", profile, annotation)
    return errors


def _mismatch(path: str, profile: Plain, annotation: str) -> Errors:
    kind = text(profile, "type")
    if kind in _APPARMOR_VALUES and annotation == _APPARMOR_VALUES[kind]:
        return []
    if kind == "Localhost" and annotation.startswith(_LOCAL):
        if annotation.removeprefix(_LOCAL) == profile.get("localhostProfile"):
            return []
        return [forbidden(f"{path}.localhostProfile", "apparmor profile in annotation and field must match")]
    if kind not in {*_APPARMOR_VALUES, "Localhost"}:
        return []
    return [forbidden(f"{path}.type", "apparmor type in annotation and field must match")]
