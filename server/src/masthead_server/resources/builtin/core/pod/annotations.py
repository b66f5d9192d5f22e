"""Annotations of Pods that kube-apiserver validates, and the AppArmor profiles that it copies from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden
from masthead_server.resources.validation.pod_annotations import MIRROR, pod_annotation_errors
from masthead_server.resources.warnings.pod_spec import (
    APPARMOR_PREFIX,
    apparmor_profile,
    warn_of_apparmor_annotation,
)
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["annotation_changes", "annotation_errors", "copy_apparmor_profiles"]

_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")


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
    annotations = part(part(pod, "metadata"), "annotations")
    return pod_annotation_errors(annotations, part(pod, "spec"), "metadata.annotations")


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
            elif key == MIRROR:
                changes.append(forbidden(f"metadata.annotations[{key}]", f"may not {verb} mirror pod annotation"))
    # kube-apiserver validates the annotations of an update twice.
    return [*errors, *changes, *errors]
