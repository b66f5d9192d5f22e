"""Validation of the storage of persistent volumes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid, required
from masthead_server.resources import names
from masthead_server.resources.builtin.resource.checks import driver_errors
from masthead_server.resources.validation.checks import follows, given
from masthead_server.resources.validation.local_paths import backstep_errors
from masthead_server.resources.validation.storage_sources import (
    STORAGE_SOURCES,
    given_secret,
    needs,
    scsi_errors,
    scsi_length_errors,
    source_errors,
    storage_os_errors,
)
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.resources.validation.storage_sources import Check
    from masthead_server.wire.plain import Plain

__all__ = ["PERSISTENT_SOURCES", "persistent_source_errors"]

_MISSPELT: Final = {"cephfs": "cephFS"}
_SECRETS: Final = ("controllerPublish", "controllerExpand", "nodePublish", "nodeExpand")


def _check_gluster(path: str, source: Plain) -> Errors:
    errors, namespace = STORAGE_SOURCES["glusterfs"](path, source), source.get("endpointsNamespace")
    if namespace == "":
        why = "if the endpointnamespace is set, it must be a valid namespace name"
        errors.append(invalid(f"{path}.endpointsNamespace", namespace, why))
    return errors + follows(f"{path}.endpointsNamespace", namespace, names.label) if namespace else errors


def _check_cinder(path: str, source: Plain) -> Errors:
    return needs("volumeID")(path, source) + given_secret(path, source, in_namespace=True)


def _check_azure_file(path: str, source: Plain) -> Errors:
    errors = STORAGE_SOURCES["azureFile"](path, source)
    return [*errors, required(f"{path}.secretNamespace")] if source.get("secretNamespace") == "" else errors


def _check_local(path: str, source: Plain) -> Errors:
    where = text(source, "path")
    return backstep_errors(f"{path}.path", where) if where else [required(f"{path}.path")]


def _check_csi(path: str, source: Plain) -> Errors:
    errors = driver_errors(f"{path}.driver", text(source, "driver")) + needs("volumeHandle")(path, source)
    for moment in _SECRETS:
        field = f"{moment}SecretRef"
        if source.get(field) is not None:
            secret, at = part(source, field), f"{path}.{field}"
            errors += given(f"{at}.name", secret.get("name"), names.SUBDOMAIN)
            errors += given(f"{at}.namespace", secret.get("namespace"), names.label)
    return errors


PERSISTENT_SOURCES: Final[dict[str, Check]] = {
    "hostPath": STORAGE_SOURCES["hostPath"],
    "gcePersistentDisk": STORAGE_SOURCES["gcePersistentDisk"],
    "awsElasticBlockStore": STORAGE_SOURCES["awsElasticBlockStore"],
    "glusterfs": _check_gluster,
    "flocker": STORAGE_SOURCES["flocker"],
    "nfs": STORAGE_SOURCES["nfs"],
    "rbd": STORAGE_SOURCES["rbd"],
    "quobyte": STORAGE_SOURCES["quobyte"],
    "cephfs": STORAGE_SOURCES["cephfs"],
    "iscsi": lambda path, source: scsi_errors(path, source, is_persistent=True),
    "cinder": _check_cinder,
    "fc": STORAGE_SOURCES["fc"],
    "flexVolume": STORAGE_SOURCES["flexVolume"],
    "azureFile": _check_azure_file,
    "vsphereVolume": STORAGE_SOURCES["vsphereVolume"],
    "photonPersistentDisk": STORAGE_SOURCES["photonPersistentDisk"],
    "portworxVolume": STORAGE_SOURCES["portworxVolume"],
    "azureDisk": STORAGE_SOURCES["azureDisk"],
    "scaleIO": STORAGE_SOURCES["scaleIO"],
    "local": _check_local,
    "storageos": lambda path, source: storage_os_errors(path, source, in_namespace=True),
    "csi": _check_csi,
}
"""The checks of the sources, in the order of kube-apiserver."""


def persistent_source_errors(spec: Plain, name: str) -> Errors:
    """Validate the source of a persistent volume with a name."""
    stated = [source for source in PERSISTENT_SOURCES if spec.get(source) is not None]
    if not stated:
        return [required("spec", "must specify a volume type")]
    errors = source_errors("spec", spec, stated, PERSISTENT_SOURCES, _MISSPELT)
    if stated[0] == "iscsi":
        source = part(spec, "iscsi")
        errors += scsi_length_errors("spec.iscsi.targetportal", source, name, text(source, "targetPortal"))
    # The scheduler has to know the only node that has the disk.
    if stated[0] == "local" and spec.get("nodeAffinity") is None:
        errors.append(required("spec.nodeAffinity", "Local volume requires node affinity"))
    return errors + _recycle_errors(spec)


def _recycle_errors(spec: Plain) -> Errors:
    """Refuse to empty the root of a node."""
    steps = text(part(spec, "hostPath"), "path")
    is_root = steps.startswith("/") and _clean(steps) == []
    if not is_root or spec.get("persistentVolumeReclaimPolicy") != "Recycle":
        return []
    why = "may not be 'recycle' for a hostPath mount of '/'"
    return [forbidden("spec.persistentVolumeReclaimPolicy", why)]


def _clean(path: str) -> list[str]:
    """Return the steps of an absolute path, with `..` resolved."""
    steps: list[str] = []
    for step in path.split("/"):
        if step == "..":
            del steps[-1:]
        elif step not in {"", "."}:
            steps.append(step)
    return steps
