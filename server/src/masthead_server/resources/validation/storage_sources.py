"""Validation of the storage that pods and persistent volumes have in common.

Most of its kinds are of plugins that no longer exist; kube-apiserver still validates them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._schema.errors import forbidden, invalid, required
from masthead_server.resources import names
from masthead_server.resources.behavior import Errors
from masthead_server.resources.validation.checks import between, follows, given, known_or_nothing, unsupported
from masthead_server.resources.validation.local_paths import backstep_errors
from masthead_server.wire.plain import Plain, part, text

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "STORAGE_SOURCES",
    "Check",
    "given_secret",
    "needs",
    "scsi_errors",
    "scsi_length_errors",
    "source_errors",
    "storage_os_errors",
]

Check: TypeAlias = Callable[[str, Plain], Errors]
"""Validates a source at its path."""

_PATHS: Final = {"gcePersistentDisk": "persistentDisk"}
"""The sources whose errors kube-apiserver reports under another name."""
_MAX_TENANT_LENGTH: Final = 64
_MAX_SCSI_LENGTH: Final = 64
_MAX_NUMBER: Final = 255
_RESERVED: Final = (".kubernetes.io", ".k8s.io")
_SCSI_NAMES: Final = {
    # Go's expression has no anchor at its beginning, but the name begins with "iqn".
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([0-9A-Za-z.-]+)(:[^,;*&$|\s]+)\Z", re.ASCII),
    "eui": re.compile(r"eui.[0-9A-Za-z]{16}\Z"),
    "naa": re.compile(r"naa.[0-9A-Za-z]{32}\Z"),
}
_MANAGED_DISK: Final = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB_DISK: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def source_errors(
    path: str, owner: Plain, stated: list[str], checks: Mapping[str, Check], misspelt: Mapping[str, str]
) -> Errors:
    """Validate the first source of a volume, and refuse all others.

    Args:
        path: The path of the owner.
        owner: The volume.
        stated: The sources, in kube-apiserver's order.
        checks: The check of each.
        misspelt: The sources that kube-apiserver refuses under another name.
    """
    errors: Errors = []
    for name in stated:
        # Of a persistent volume, kube-apiserver never counts this one.
        if name == stated[0] or (name == "flexVolume" and "local" in checks):
            errors += checks[name](f"{path}.{_PATHS.get(name, name)}", part(owner, name))
        else:
            why = "may not specify more than 1 volume type"
            errors.append(forbidden(f"{path}.{misspelt.get(name, name)}", why))
    return errors


def needs(*fields: str) -> Check:
    """Validate a volume that needs these fields."""
    return lambda path, source: [required(f"{path}.{field}") for field in fields if not source.get(field)]


def given_secret(path: str, source: Plain, *, in_namespace: bool) -> Errors:
    """Validate that a reference to a secret has a name, and a namespace where one is needed."""
    fields = ("name", "namespace") if in_namespace else ("name",)
    return [] if source.get("secretRef") is None else needs(*fields)(f"{path}.secretRef", part(source, "secretRef"))


def _check_host_path(path: str, source: Plain) -> Errors:
    where = text(source, "path")
    if not where:
        return [required(f"{path}.path")]
    kinds = ("BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
    errors = backstep_errors(f"{path}.path", where)
    return errors + known_or_nothing(f"{path}.type", source.get("type"), ("", *kinds))


def _check_nfs(path: str, source: Plain) -> Errors:
    errors = needs("server", "path")(path, source)
    where = text(source, "path")
    return errors if where.startswith("/") else [*errors, invalid(f"{path}.path", where, "must be an absolute path")]


def _partitioned(field: str) -> Check:
    """Validate a disk that this field names, and its partition."""

    def check(path: str, source: Plain) -> Errors:
        errors, partition = needs(field)(path, source), source.get("partition") or 0
        # 0 is the whole disk, although the message begins at 1.
        return errors if partition == 0 else errors + between(f"{path}.partition", partition, 1, _MAX_NUMBER)

    return check


def _check_flocker(path: str, source: Plain) -> Errors:
    name, uuid = text(source, "datasetName"), text(source, "datasetUUID")
    errors: Errors = []
    if not name and not uuid:
        errors.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        errors.append(invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously"))
    if "/" in name:
        errors.append(invalid(f"{path}.datasetName", name, "must not contain '/'"))
    return errors


def _check_quobyte(path: str, source: Plain) -> Errors:
    registry, why = text(source, "registry"), "must be a host:port pair or multiple pairs separated by commas"
    errors: Errors = []
    if not registry:
        errors.append(required(f"{path}.registry", why))
    elif len(text(source, "tenant").encode()) > _MAX_TENANT_LENGTH:
        why = f"must be a UUID and may not exceed a length of {_MAX_TENANT_LENGTH} characters"
        errors.append(required(f"{path}.tenant", why))
    else:
        wrong = [pair for pair in registry.split(",") if not _is_host_and_port(pair)]
        errors += [invalid(f"{path}.registry", registry, why) for _ in wrong]
    return errors + needs("volume")(path, source)


def _is_host_and_port(pair: str) -> bool:
    """Tell whether Go's ``net.SplitHostPort`` splits a text."""
    if pair.startswith("["):
        return re.fullmatch(r"\[[^\[\]]*\]:[^:\[\]]*", pair) is not None
    return re.fullmatch(r"[^:\[\]]*:[^:\[\]]*", pair) is not None


def _check_channel(path: str, source: Plain) -> Errors:
    """Validate a Fibre Channel volume, which has targets or identifiers."""
    targets, identifiers = source.get("targetWWNs"), source.get("wwids")
    errors: Errors = []
    if not targets and not identifiers:
        errors.append(required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both"))
    if targets and identifiers:
        why = "targetWWNs and wwids can not be specified simultaneously"
        errors.append(invalid(f"{path}.targetWWNs", targets, why))
    if targets and source.get("lun") is None:
        errors.append(required(f"{path}.lun", "lun is required if targetWWNs is specified"))
    return errors + (between(f"{path}.lun", source.get("lun"), 0, _MAX_NUMBER) if targets else [])


def _check_flex(path: str, source: Plain) -> Errors:
    errors = needs("driver")(path, source)
    # Sorted, because Go's order of maps is random.
    for key in sorted(part(source, "options")):
        if f".{key.partition('/')[0].lower()}".endswith(_RESERVED):
            why = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(invalid(f"{path}.options[{key}]", key, why))
    return errors


def _check_azure_disk(path: str, source: Plain) -> Errors:
    kind, uri = source.get("kind"), text(source, "diskURI")
    errors = needs("diskName", "diskURI")(path, source)
    errors += known_or_nothing(f"{path}.cachingMode", source.get("cachingMode"), ("None", "ReadOnly", "ReadWrite"))
    errors += known_or_nothing(f"{path}.kind", kind, ("Dedicated", "Managed", "Shared"))
    beginning, known = ("/subscriptions/", _MANAGED_DISK) if kind == "Managed" else ("https://", _BLOB_DISK)
    if kind is not None and not uri.startswith(beginning):
        errors.append(unsupported(f"{path}.diskURI", uri, (known,)))
    return errors


def storage_os_errors(path: str, source: Plain, *, in_namespace: bool) -> Errors:
    """Validate a StorageOS volume; a persistent one names the namespace of its secret."""
    errors = given(f"{path}.volumeName", source.get("volumeName"), names.label)
    if source.get("volumeNamespace"):
        errors += follows(f"{path}.volumeNamespace", source["volumeNamespace"], names.label)
    return errors + given_secret(path, source, in_namespace=in_namespace)


def scsi_errors(path: str, source: Plain, *, is_persistent: bool) -> Errors:
    """Validate an iSCSI volume, apart from the length of its name."""
    # A persistent volume has fewer words about a name of an unknown sort.
    unknown = "must be valid format" if is_persistent else "must be valid format starting with iqn, eui, or naa"
    errors = needs("targetPortal")(path, source)
    name = text(source, "iqn")
    errors += _scsi_name_errors(f"{path}.iqn", name, unknown) if name else [required(f"{path}.iqn")]
    errors += between(f"{path}.lun", source.get("lun") or 0, 0, _MAX_NUMBER)
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        errors.append(required(f"{path}.secretRef"))
    errors += given_secret(path, source, in_namespace=False) if is_persistent else []
    if source.get("initiatorName") is not None:
        errors += _scsi_name_errors(f"{path}.initiatorname", source["initiatorName"], unknown)
    return errors


def scsi_length_errors(path: str, source: Plain, name: str, shown: str) -> Errors:
    """Validate the length of the name that an iSCSI volume gets on a node.

    Args:
        path: The path that an error names.
        source: The source.
        name: The name of the volume.
        shown: The value in the message.
    """
    full_name = f"{name}:{text(source, 'targetPortal')}"
    if source.get("initiatorName") is None or len(full_name.encode()) <= _MAX_SCSI_LENGTH:
        return []
    why = "must be under 64 characters if iscsi.initiatorName is specified."
    return [invalid(path, shown, f"Total length of <volume name>:<iscsi.targetPortal> {why}")]


def _scsi_name_errors(path: str, name: str, unknown: str) -> Errors:
    form = _SCSI_NAMES.get(name[:3])
    if form is None:
        return [invalid(path, name, unknown)]
    return [] if form.match(name) else [invalid(path, name, "must be valid format")]


STORAGE_SOURCES: Final[Mapping[str, Check]] = {
    "hostPath": _check_host_path,
    "gcePersistentDisk": _partitioned("pdName"),
    "awsElasticBlockStore": _partitioned("volumeID"),
    "nfs": _check_nfs,
    "glusterfs": needs("endpoints", "path"),
    "flocker": _check_flocker,
    "rbd": needs("monitors", "image"),
    "cephfs": needs("monitors"),
    "quobyte": _check_quobyte,
    "fc": _check_channel,
    "flexVolume": _check_flex,
    "azureFile": needs("secretName", "shareName"),
    "vsphereVolume": needs("volumePath"),
    "photonPersistentDisk": needs("pdID"),
    "portworxVolume": needs("volumeID"),
    "azureDisk": _check_azure_disk,
    "scaleIO": needs("gateway", "system", "volumeName"),
}
"""The checks of the sources that are the same in pods and in persistent volumes."""
