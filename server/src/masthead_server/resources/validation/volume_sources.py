"""Validation of volumes and environment variables."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._schema.errors import duplicate, forbidden, invalid, required
from masthead_server.resources import names
from masthead_server.resources.behavior import Errors
from masthead_server.resources.validation.checks import (
    amount,
    each_of,
    follows,
    given,
    known_or_nothing,
    unsupported,
)
from masthead_server.resources.validation.volume_claims import claim_spec_errors
from masthead_server.wire.plain import Plain, items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

_Check: TypeAlias = Callable[[str, Plain], Errors]

_ENV_FIELDS: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_VOLUME_FIELDS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_FIELDS: Final = frozenset(
    {*_ENV_FIELDS, *_VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase", "spec.host"}
)
_RESOURCES: Final = tuple(
    f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_ENV_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_TOO_MANY: Final = "may not have more than one field specified at a time"


def variable_name(value: str) -> list[str]:
    """Return what keeps a text from being the name of a variable."""
    if re.fullmatch("[ -<>-~]*", value):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def field_errors(path: str, ref: Plain, known: Iterable[str]) -> Errors:
    """Validate a reference to a field of the pod."""
    field = text(ref, "fieldPath")
    if not field:
        return [required(f"{path}.fieldPath")]
    name, bracket, key = field.partition("['")
    if bracket and key.endswith("']"):
        if name not in {"metadata.annotations", "metadata.labels"}:
            why = f"error converting fieldPath: field label does not support subscript: {field}"
            return [invalid(f"{path}.fieldPath", field, why)]
        # The key of an annotation may have capitals in its prefix, so that it is checked in lower case.
        key = key.removesuffix("']")
        return follows(path, key.lower() if name.endswith("annotations") else key, names.qualified_name)
    if field not in _FIELDS:
        why = f"error converting fieldPath: field label not supported: {field}"
        return [invalid(f"{path}.fieldPath", field, why)]
    # spec.host is an old name of spec.nodeName, which conversion still accepts.
    return [] if field in known or field == "spec.host" else [unsupported(f"{path}.fieldPath", field, known)]


def resource_errors(path: str, ref: Plain, *, of_volume: bool) -> Errors:
    """Validate a reference to an amount that a container has."""
    resource = text(ref, "resource")
    # A volume belongs to the pod, so that the container is not implied.
    if of_volume and not ref.get("containerName"):
        return [required(f"{path}.containerName")]
    if not resource:
        return [required(f"{path}.resource")]
    if resource in _RESOURCES or resource.startswith(("limits.hugepages-", "requests.hugepages-")):
        return []
    return [unsupported(f"{path}.resource", resource, _RESOURCES)]


def _key_errors(path: str, ref: Plain) -> Errors:
    errors = follows(f"{path}.name", text(ref, "name"), names.SUBDOMAIN)
    return errors + given(f"{path}.key", ref.get("key"), names.config_key)


def env_errors(container: Plain, path: str) -> Errors:
    """Validate a container's variables."""
    errors: Errors = []
    for at, variable in each_of(container, "env", path):
        errors += given(f"{at}.name", variable.get("name"), variable_name)
        if variable.get("valueFrom") is not None:
            errors += _value_from_errors(variable, f"{at}.valueFrom")
    return errors


def _value_from_errors(variable: Plain, path: str) -> Errors:
    source = part(variable, "valueFrom")
    errors: Errors = []
    stated = [env_source for env_source in _ENV_SOURCES if source.get(env_source) is not None]
    for item in stated:
        at, ref = f"{path}.{item}", part(source, item)
        if item == "fieldRef":
            errors += field_errors(at, ref, _ENV_FIELDS)
        elif item == "resourceFieldRef":
            errors += resource_errors(at, ref, of_volume=False)
        # A fileKeyRef names a file of a volume, not a key of an object.
        elif item != "fileKeyRef":
            errors += _key_errors(at, ref)
    if not stated:
        listed = ", ".join(f"`{env_source}`" for env_source in _ENV_SOURCES[:-1])
        errors.append(invalid(path, "", f"must specify one of: {listed} or `{_ENV_SOURCES[-1]}`"))
    # One of the two would win silently.
    elif variable.get("value"):
        errors.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(stated) > 1:
        errors.append(invalid(path, "", _TOO_MANY))
    return errors


def env_from_errors(container: Plain, path: str) -> Errors:
    """Validate from which objects a container takes all variables."""
    errors: Errors = []
    for at, source in each_of(container, "envFrom", path):
        errors += follows(f"{at}.prefix", text(source, "prefix"), variable_name)
        stated = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for item in stated:
            errors += given(f"{at}.{item}.name", part(source, item).get("name"), names.SUBDOMAIN)
        if not stated:
            why = "must specify one of: `configMapRef` or `secretRef`"
            errors.append(invalid(f"{path}.envFrom", "", why))
        elif len(stated) > 1:
            errors.append(invalid(f"{path}.envFrom", "", _TOO_MANY))
    return errors


def backstep_errors(path: str, value: str) -> Errors:
    """Validate that a path does not leave where it starts."""
    return [invalid(path, value, "must not contain '..'")] if ".." in value.split("/") else []


def _local_errors(path: str, value: str) -> Errors:
    errors = [invalid(path, value, "must be a relative path")] if value.startswith("/") else []
    errors += backstep_errors(path, value)
    # The kubelet keeps its own directories under such names, to swap versions of a volume atomically.
    if value.startswith("..") and not value.startswith("../"):
        errors.append(invalid(path, value, "must not start with '..'"))
    return errors


def _mode_errors(path: str, mode: object) -> Errors:
    # Zero and three octal digits: no setuid, setgid or sticky bit in volumes.
    return [invalid(path, mode, _MODE)] if isinstance(mode, int) and not 0 <= mode <= 0o777 else []


def _file_errors(path: str, source: Plain) -> Errors:
    errors: Errors = []
    for at, item in each_of(source, "items", path):
        errors += [required(f"{at}.{name}") for name in ("key", "path") if not item.get(name)]
        errors += _local_errors(f"{at}.path", text(item, "path"))
        errors += _mode_errors(f"{at}.mode", item.get("mode"))
    return errors


def _objects(field: str) -> _Check:
    """Validate a volume that shows the keys of an object that this field names."""

    def check(path: str, source: Plain) -> Errors:
        errors = [] if source.get(field) else [required(f"{path}.{field}")]
        errors += _mode_errors(f"{path}.defaultMode", source.get("defaultMode"))
        return errors + _file_errors(path, source)

    return check


def _needs(*fields: str) -> _Check:
    """Validate a volume that needs these fields."""
    return lambda path, source: [required(f"{path}.{field}") for field in fields if not source.get(field)]


def _downward_file_errors(path: str, file: Plain) -> Errors:
    errors = [] if file.get("path") else [required(f"{path}.path")]
    errors += _local_errors(f"{path}.path", text(file, "path"))
    if file.get("fieldRef") is not None:
        errors += field_errors(f"{path}.fieldRef", part(file, "fieldRef"), _VOLUME_FIELDS)
        if file.get("resourceFieldRef") is not None:
            errors.append(invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified together"))
    elif file.get("resourceFieldRef") is not None:
        ref = part(file, "resourceFieldRef")
        errors += resource_errors(f"{path}.resourceFieldRef", ref, of_volume=True)
    else:
        errors.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return errors + _mode_errors(f"{path}.mode", file.get("mode"))


def _check_downward(path: str, source: Plain) -> Errors:
    errors = _mode_errors(f"{path}.defaultMode", source.get("defaultMode"))
    # kube-apiserver's paths of these errors lack the index.
    for item in items(source, "items"):
        errors += _downward_file_errors(path, item)
    return errors


def _check_host_path(path: str, source: Plain) -> Errors:
    where = text(source, "path")
    if not where:
        return [required(f"{path}.path")]
    kinds = ("BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
    errors = backstep_errors(f"{path}.path", where)
    return errors + known_or_nothing(f"{path}.type", source.get("type"), ("", *kinds))


def _check_nfs(path: str, source: Plain) -> Errors:
    errors = _needs("server", "path")(path, source)
    where = text(source, "path")
    return errors if where.startswith("/") else [*errors, invalid(f"{path}.path", where, "must be an absolute path")]


def _check_ephemeral(path: str, source: Plain) -> Errors:
    if source.get("volumeClaimTemplate") is None:
        return [required(f"{path}.volumeClaimTemplate")]
    spec = part(part(source, "volumeClaimTemplate"), "spec")
    return claim_spec_errors(spec, f"{path}.volumeClaimTemplate.spec")


def _check_empty_dir(path: str, source: Plain) -> Errors:
    # The message is about the format, although the sign is the problem.
    if amount(source.get("sizeLimit")).sign < 0:
        return [forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def _check_projected(path: str, source: Plain) -> Errors:
    errors = _mode_errors(f"{path}.defaultMode", source.get("defaultMode"))
    for at, projection in each_of(source, "sources", path):
        for kind in ("secret", "configMap"):
            if projection.get(kind) is not None:
                found = part(projection, kind)
                errors += [] if found.get("name") else [required(f"{at}.{kind}.name")]
                errors += _file_errors(f"{at}.{kind}", found)
        for item in items(part(projection, "downwardAPI"), "items"):
            errors += _downward_file_errors(f"{at}.downwardAPI", item)
        if projection.get("serviceAccountToken") is not None:
            errors += _token_errors(f"{at}.serviceAccountToken", path, part(projection, "serviceAccountToken"))
        # Each source projects one object; several sources share the volume.
        if len([value for value in projection.values() if value is not None]) > 1:
            errors.append(forbidden(at, "may not specify more than 1 volume type per source"))
    return errors


def _token_errors(path: str, volume: str, token: Plain) -> Errors:
    errors: Errors = []
    seconds = token.get("expirationSeconds", 0)
    if seconds < 600:
        why = "may not specify a duration less than 10 minutes"
        errors.append(invalid(f"{path}.expirationSeconds", seconds, why))
    if not token.get("path"):
        return [*errors, required(f"{volume}.path")]
    return errors + _local_errors(f"{volume}.path", text(token, "path"))


def _accept(_path: str, _source: Plain) -> Errors:
    return []


SOURCES: Final[dict[str, _Check]] = {
    "emptyDir": _check_empty_dir,
    "hostPath": _check_host_path,
    "gitRepo": _needs("repository"),
    "gcePersistentDisk": _accept,
    "awsElasticBlockStore": _needs("volumeID"),
    "secret": _objects("secretName"),
    "nfs": _check_nfs,
    "iscsi": _accept,
    "glusterfs": _needs("endpoints", "path"),
    "flocker": _accept,
    "persistentVolumeClaim": _needs("claimName"),
    "rbd": _needs("monitors", "image"),
    "cinder": _needs("volumeID"),
    "cephfs": _needs("monitors"),
    "quobyte": _accept,
    "downwardAPI": _check_downward,
    "fc": _accept,
    "flexVolume": _needs("driver"),
    "configMap": _objects("name"),
    "azureFile": _accept,
    "vsphereVolume": _needs("volumePath"),
    "photonPersistentDisk": _needs("pdID"),
    "portworxVolume": _needs("volumeID"),
    "azureDisk": _accept,
    "storageos": _accept,
    "projected": _check_projected,
    "scaleIO": _accept,
    "csi": _needs("driver"),
    "ephemeral": _check_ephemeral,
    "image": _needs("reference"),
}
"""What each source of a volume needs, in the order in which they are looked at."""


def volume_errors(spec: Plain, path: str) -> tuple[set[str], Errors]:
    """Validate a pod's volumes; say which of them containers may mount, too."""
    good: set[str] = set()
    errors: Errors = []
    for at, volume in each_of(spec, "volumes", path):
        stated = [item for item in volume if item in SOURCES and volume[item] is not None]
        # Several sources are reported in kube-apiserver's order, not in that of the request.
        if len(stated) > 1:
            stated = [source for source in SOURCES if source in stated]
        found: Errors = [] if stated else [required(at, "must specify a volume type")]
        if stated:
            found += SOURCES[stated[0]](f"{at}.{stated[0]}", part(volume, stated[0]))
        found += [forbidden(f"{at}.{entry}", "may not specify more than 1 volume type") for entry in stated[1:]]
        name = text(volume, "name")
        found += given(f"{at}.name", name, names.label)
        if name in good:
            found.append(duplicate(f"{at}.name", name))
        # A volume with errors counts as missing, so that its mounts are reported, too.
        if not found:
            good.add(name)
        errors += found
    return good, errors
