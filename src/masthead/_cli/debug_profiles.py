"""The profiles of ``debug``: what each of them changes in the pod that is debugged. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from masthead._meta.plain import entries, part, text

if TYPE_CHECKING:
    from masthead._meta.plain import Plain

__all__ = ["PROFILES", "KeptFields", "Style", "apply_profile"]

Style: TypeAlias = Literal["ephemeral", "copy", "node"]
"""An ephemeral container in the pod itself, a copy of it, or a pod for a node."""

PROFILES: Final = ("general", "baseline", "restricted", "netadmin", "sysadmin", "legacy")
_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
_HOST: Final = "host-root"


@dataclass(frozen=True, slots=True)
class KeptFields:
    """What a copy of a pod keeps.

    Attributes:
        labels: Its labels.
        annotations: Its annotations.
        liveness: The liveness probes.
        readiness: The readiness probes.
        startup: The startup probes.
        init_containers: The init containers.
    """

    labels: bool = False
    annotations: bool = False
    liveness: bool = False
    readiness: bool = False
    startup: bool = False
    init_containers: bool = True


def apply_profile(profile: str, style: Style, pod: Plain, container: str, kept: KeptFields) -> None:
    """Change a pod as a profile wants it.

    Args:
        profile: One of `PROFILES`.
        style: How the pod is debugged.
        pod: The pod, which is changed.
        container: The name of its debugging container.
        kept: The parts of the pod for a copy.
    """
    found = _container(pod, container)
    # Before rights are granted, as in kubectl: removed parts cannot be changed.
    if style == "copy":
        _strip_copy(profile, pod, kept)
    if profile in {"baseline", "restricted"} or (profile == "general" and style == "node"):
        found.pop("securityContext", None)
    _grant(profile, style, found)
    if style == "node" and profile in {"general", "legacy", "sysadmin"}:
        _mount_host(pod, found)
    if style == "node" and profile in {"general", "legacy", "sysadmin", "netadmin"}:
        pod["spec"].update(hostNetwork=True, hostPID=True, hostIPC=True)


def _container(pod: Plain, name: str) -> Plain:
    return next(
        container for key in _LISTS for container in entries(pod["spec"], key) if text(container, "name") == name
    )


def _strip_copy(profile: str, pod: Plain, kept: KeptFields) -> None:
    """Remove what would make a copy a part of the workload that it is copied from."""
    metadata, spec = pod["metadata"], pod["spec"]
    # As in kubectl, the oldest profile changes nothing else.
    if profile == "legacy":
        metadata.pop("labels", None)
        return
    if not kept.labels:
        metadata.pop("labels", None)
    if not kept.annotations:
        metadata.pop("annotations", None)
    probes = {
        "livenessProbe": kept.liveness,
        "readinessProbe": kept.readiness,
        "startupProbe": kept.startup,
    }
    for container in spec["containers"]:
        for probe, is_kept in probes.items():
            if not is_kept:
                container.pop(probe, None)
    if not kept.init_containers:
        spec.pop("initContainers", None)
    spec.setdefault("shareProcessNamespace", True)


def _grant(profile: str, style: Style, container: Plain) -> None:
    """Give the container the rights of a profile."""
    match profile:
        case "general" if style != "node":
            _add_capabilities(container, "SYS_PTRACE")
        case "netadmin":
            _add_capabilities(container, "NET_ADMIN", "NET_RAW")
        case "sysadmin":
            _security(container)["privileged"] = True
        case "restricted":
            container["securityContext"] = {
                "runAsNonRoot": True,
                "capabilities": {"drop": ["ALL"]},
                "allowPrivilegeEscalation": False,
                "seccompProfile": {"type": "RuntimeDefault"},
            }
        case _:
            pass


def _security(container: Plain) -> Plain:
    return cast("Plain", container.setdefault("securityContext", {}))


def _add_capabilities(container: Plain, *names: str) -> None:
    security = _security(container)
    capabilities = part(security, "capabilities")
    security["capabilities"] = {**capabilities, "add": [*capabilities.get("add", []), *names]}


def _mount_host(pod: Plain, container: Plain) -> None:
    spec = pod["spec"]
    spec["volumes"] = [*entries(spec, "volumes"), {"name": _HOST, "hostPath": {"path": "/"}}]
    container["volumeMounts"] = [*entries(container, "volumeMounts"), {"name": _HOST, "mountPath": "/host"}]
