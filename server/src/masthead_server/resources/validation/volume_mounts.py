"""Validation of the mounts and the devices of a container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid, required
from masthead_server.resources.validation.checks import each_of, not_found, unsupported
from masthead_server.resources.validation.local_paths import backstep_errors, descending_errors
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["device_errors", "mount_errors"]

_PROPAGATION: Final = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE: Final = ("Disabled", "Enabled", "IfPossible")


def mount_errors(container: Plain, path: str, volumes: Mapping[str, Plain]) -> Errors:
    """Validate the mounts of a container.

    Args:
        container: The container.
        path: Its path.
        volumes: The valid volumes of the pod, by name.
    """
    errors: Errors = []
    seen: set[str] = set()
    devices = {text(device, "name"): text(device, "devicePath") for device in items(container, "volumeDevices")}
    device_paths = set(devices.values())
    for at, mount in each_of(container, "volumeMounts", path):
        name, where = text(mount, "name"), text(mount, "mountPath")
        # An empty name gets both errors.
        if not name:
            errors.append(required(f"{at}.name"))
        if name not in volumes:
            errors.append(not_found(f"{at}.name", name))
        if not where:
            errors.append(required(f"{at}.mountPath"))
        if where in seen:
            errors.append(invalid(f"{at}.mountPath", where, "must be unique"))
        seen.add(where)
        if name in devices:
            errors.append(invalid(f"{at}.name", name, "must not already exist in volumeDevices"))
        if where in device_paths:
            why = "must not already exist as a path in volumeDevices"
            errors.append(invalid(f"{at}.mountPath", where, why))
        errors += _sub_path_errors(mount, f"{path}.volumeMounts", at)
        if mount.get("mountPropagation") is not None:
            errors += _propagation_errors(mount, f"{path}.volumeMounts.mountPropagation", container)
        if mount.get("recursiveReadOnly") is not None:
            errors += _recursive_errors(mount, f"{path}.volumeMounts.recursiveReadOnly")
    return errors


def _sub_path_errors(mount: Plain, path: str, at: str) -> Errors:
    errors: Errors = []
    for field in ("subPath", "subPathExpr") if "subPath" in mount or "subPathExpr" in mount else ():
        value = text(mount, field)
        if not value:
            continue
        # The paths of these errors differ, as in kube-apiserver: only this one has an index.
        if field == "subPathExpr" and mount.get("subPath"):
            errors.append(invalid(f"{at}.{field}", value, "subPathExpr and subPath are mutually exclusive"))
        errors += descending_errors(f"{path}.{field}", value)
    return errors


def _propagation_errors(mount: Plain, path: str, container: Plain) -> Errors:
    propagation = mount["mountPropagation"]
    if propagation not in _PROPAGATION:
        return [unsupported(path, propagation, _PROPAGATION)]
    # Mounts of the container would appear on its host.
    if propagation == "Bidirectional" and not part(container, "securityContext").get("privileged"):
        return [forbidden(path, "Bidirectional mount propagation is available only to privileged containers")]
    return []


def _recursive_errors(mount: Plain, path: str) -> Errors:
    mode = mount["recursiveReadOnly"]
    if mode not in _RECURSIVE:
        return [unsupported(path, mode, _RECURSIVE)]
    errors: Errors = []
    if mode != "Disabled" and not mount.get("readOnly"):
        errors.append(forbidden(path, "may only be specified when readOnly is true"))
    if mode != "Disabled" and mount.get("mountPropagation") not in {None, "None"}:
        errors.append(forbidden(path, "may only be specified when mountPropagation is None or not specified"))
    return errors


def device_errors(container: Plain, path: str, volumes: Mapping[str, Plain]) -> Errors:
    """Validate the devices of a container.

    Args:
        container: The container.
        path: Its path.
        volumes: The valid volumes of the pod, by name.
    """
    errors: Errors = []
    names, places = set[str](), set[str]()
    mounts = {text(mount, "name"): text(mount, "mountPath") for mount in items(container, "volumeMounts")}
    mount_paths = set(mounts.values())
    for at, device in each_of(container, "volumeDevices", path):
        name, where = text(device, "name"), text(device, "devicePath")
        errors += _device_name_errors(f"{at}.name", name, names, volumes)
        if not where:
            errors.append(required(f"{at}.devicePath"))
        if where in places:
            errors.append(invalid(f"{at}.devicePath", where, "must be unique"))
        if backstep_errors(at, where):
            errors.append(invalid(f"{at}.devicePath", where, "can not contain backsteps ('..')"))
        else:
            places.add(where)
        if name in mounts:
            errors.append(invalid(f"{at}.name", name, "must not already exist in volumeMounts"))
        if where in mount_paths:
            why = "must not already exist as a path in volumeMounts"
            errors.append(invalid(f"{at}.devicePath", where, why))
        names |= {name} if name else set[str]()
    return errors


def _device_name_errors(path: str, name: str, seen: set[str], volumes: Mapping[str, Plain]) -> Errors:
    errors: Errors = [] if name else [required(path)]
    if name in seen:
        errors.append(invalid(path, name, "must be unique"))
    volume = volumes.get(name)
    if volume is None:
        errors.append(not_found(path, name))
    # Only a claim can be of a block device.
    elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
        why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        errors.append(invalid(path, name, why))
    return errors
