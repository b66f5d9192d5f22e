"""Fields of pods whose features kube-apiserver has turned off by default.

It drops them from new pods and templates. From an update it drops a field unless the stored object uses that field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.disabled import owner_at
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain

__all__ = [
    "drop_disabled_fields",
    "drop_disabled_status_fields",
    "dropped_from_new_template",
    "dropped_from_template",
]

_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
_PROJECTIONS: Final = ("clusterTrustBundle", "podCertificate")
_STATUSES: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_CLAIMED: Final = "nodeAllocatableResourceClaimStatuses"
_GROUP: Final = "schedulingGroup"
_SIGNAL: Final = "stopSignal"


def drop_disabled_fields(spec: Plain, old: Plain | None) -> None:
    """Drop disabled fields of the spec of a pod.

    Args:
        spec: The spec.
        old: The stored one; None if the pod is new.
    """
    known = old or {}
    # GenericWorkload is off.
    if _GROUP in spec and known.get(_GROUP) is None:
        del spec[_GROUP]
    # ClusterTrustBundleProjection and PodCertificateRequest are off.
    for kind in _PROJECTIONS:
        if (found := _sources_of(spec, kind)) and not _sources_of(known, kind):
            for source in found:
                del source[kind]
    # ContainerStopSignals is off.
    if (stopped := _with_stop_signal(spec)) and not _with_stop_signal(known):
        for container in stopped:
            _drop_stop_signal(container)


def _sources_of(spec: Plain, kind: str) -> list[Plain]:
    """Return the sources of projected volumes that are of a kind."""
    return [
        source
        for volume in items(spec, "volumes")
        if "projected" in volume
        for source in items(part(volume, "projected"), "sources")
        if source.get(kind) is not None
    ]


def _with_stop_signal(spec: Plain) -> list[Plain]:
    return [
        container
        for field in _CONTAINERS
        for container in items(spec, field)
        if "lifecycle" in container and part(container, "lifecycle").get(_SIGNAL) is not None
    ]


def _drop_stop_signal(container: Plain) -> None:
    kept = {key: value for key, value in part(container, "lifecycle").items() if key != _SIGNAL}
    if kept:
        container["lifecycle"] = kept
    else:
        del container["lifecycle"]


def drop_disabled_status_fields(status: Plain, old: Plain) -> None:
    """Drop disabled fields of the status of a pod."""
    # DRANodeAllocatableResources is off.
    if _CLAIMED in status and not old.get(_CLAIMED):
        del status[_CLAIMED]
    # ImageVolumeWithDigest is off.
    if any("volumeStatus" in mount for mount in _status_mounts(status)) and not any(
        mount.get("volumeStatus") is not None for mount in _status_mounts(old)
    ):
        for mount in _status_mounts(status):
            mount.pop("volumeStatus", None)


def _status_mounts(status: Plain) -> list[Plain]:
    return [
        mount for field in _STATUSES for container in items(status, field) for mount in items(container, "volumeMounts")
    ]


def dropped_from_new_template(*path: str) -> Callable[[Plain, Allocator], None]:
    """Return a hook that drops disabled fields from the template of pods at a path of new objects."""
    path = (*path, "spec", "")
    return lambda obj, _allocate: drop_disabled_fields(owner_at(obj, path), None)


def dropped_from_template(*path: str) -> Callable[[Plain, Plain], None]:
    """Return a hook that drops disabled fields from the template of pods at a path in updates."""
    path = (*path, "spec", "")
    return lambda new, old: drop_disabled_fields(owner_at(new, path), owner_at(old, path))
