"""The checks of the level restricted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.admission.podsecurity.baseline import SAFE_PROFILES, check_seccomp_1_19
from masthead_server.admission.podsecurity.pod_fields import (
    Violation,
    choose_plural,
    in_user_namespace,
    is_windows,
    list_containers,
    name_containers,
    name_setters,
    quote_all,
    security_context,
)
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

__all__ = [
    "check_capabilities_1_22",
    "check_capabilities_1_25",
    "check_privilege_escalation_1_8",
    "check_privilege_escalation_1_25",
    "check_run_as_non_root_1_0",
    "check_run_as_non_root_1_35",
    "check_run_as_user_1_23",
    "check_run_as_user_1_35",
    "check_seccomp_required_1_19",
    "check_seccomp_required_1_25",
    "check_volumes",
]

_VOLUMES: Final = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)
_OTHER_VOLUMES: Final = (
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
)


def check_privilege_escalation_1_8(_meta: Plain, spec: Plain) -> Violation | None:
    """Require that no process gains more privileges than its parent."""
    names = [
        text(container, "name")
        for container in list_containers(spec)
        if security_context(container).get("allowPrivilegeEscalation") is not False
    ]
    if not names:
        return None
    detail = f"{name_containers(names)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail)


def check_privilege_escalation_1_25(meta: Plain, spec: Plain) -> Violation | None:
    """Require the same, except on Windows, where the field is invalid."""
    return None if is_windows(spec) else check_privilege_escalation_1_8(meta, spec)


def check_capabilities_1_22(_meta: Plain, spec: Plain) -> Violation | None:
    """Require that containers drop all capabilities and add none but NET_BIND_SERVICE."""
    keeping: list[str] = []
    adding: list[str] = []
    added: set[str] = set()
    for container in list_containers(spec):
        name, capabilities = text(container, "name"), part(security_context(container), "capabilities")
        if "ALL" not in (capabilities.get("drop") or ()):
            keeping.append(name)
        if extra := set(capabilities.get("add") or ()) - {"NET_BIND_SERVICE"}:
            adding.append(name)
            added |= extra
    details: list[str] = []
    if keeping:
        details.append(f'{name_containers(keeping)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        values = quote_all(sorted(added))
        details.append(f"{name_containers(adding)} must not include {values} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def check_capabilities_1_25(meta: Plain, spec: Plain) -> Violation | None:
    """Require the same, except on Windows, where the field is invalid."""
    return None if is_windows(spec) else check_capabilities_1_22(meta, spec)


def check_volumes(_meta: Plain, spec: Plain) -> Violation | None:
    """Refuse volumes that are not defined by the cluster."""
    names: list[str] = []
    types: set[str] = set()
    for volume in items(spec, "volumes"):
        sources = {field for field, value in volume.items() if value is not None}
        if sources.isdisjoint(_VOLUMES):
            names.append(text(volume, "name"))
            types.add(next((source for source in _OTHER_VOLUMES if source in sources), "unknown"))
    if not names:
        return None
    verb = choose_plural("uses", "use", names)
    what = choose_plural("restricted volume type", "restricted volume types", types)
    volumes = f"{choose_plural('volume', 'volumes', names)} {quote_all(names)}"
    return Violation("restricted volume types", f"{volumes} {verb} {what} {quote_all(sorted(types))}")


def check_run_as_non_root_1_0(_meta: Plain, spec: Plain) -> Violation | None:
    """Require that the runtime refuses to run containers as root."""
    reason, field = "runAsNonRoot != true", "runAsNonRoot"
    if setters := name_setters(spec, lambda context: context.get(field) is False):
        return Violation(reason, f"{setters} must not set securityContext.runAsNonRoot=false")
    if security_context(spec).get(field):
        return None
    names = [text(item, "name") for item in list_containers(spec) if security_context(item).get(field) is None]
    if not names:
        return None
    return Violation(reason, f"pod or {name_containers(names)} must set securityContext.runAsNonRoot=true")


def check_run_as_non_root_1_35(meta: Plain, spec: Plain) -> Violation | None:
    """Require the same, except in a user namespace."""
    return None if in_user_namespace(spec) else check_run_as_non_root_1_0(meta, spec)


def check_run_as_user_1_23(_meta: Plain, spec: Plain) -> Violation | None:
    """Refuse the user 0."""
    setters = name_setters(spec, lambda context: context.get("runAsUser") == 0)
    return Violation("runAsUser=0", f"{setters} must not set runAsUser=0") if setters else None


def check_run_as_user_1_35(meta: Plain, spec: Plain) -> Violation | None:
    """Refuse the user 0, except in a user namespace."""
    return None if in_user_namespace(spec) else check_run_as_user_1_23(meta, spec)


def check_seccomp_required_1_19(meta: Plain, spec: Plain) -> Violation | None:
    """Require a seccomp profile: the runtime's or the node's."""
    if violation := check_seccomp_1_19(meta, spec):
        return violation
    if _has_profile(spec):
        return None
    names = [text(container, "name") for container in list_containers(spec) if not _has_profile(container)]
    if not names:
        return None
    profiles = 'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {name_containers(names)} must set {profiles}")


def _has_profile(owner: Plain) -> bool:
    return text(part(security_context(owner), "seccompProfile"), "type") in SAFE_PROFILES


def check_seccomp_required_1_25(meta: Plain, spec: Plain) -> Violation | None:
    """Require the same, except on Windows, where the field is invalid."""
    return None if is_windows(spec) else check_seccomp_required_1_19(meta, spec)
