"""Validation of environment variables, and of the references to fields and amounts that they share with volumes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, required
from masthead_server.resources import names
from masthead_server.resources.validation.checks import amount, each_of, follows, given, not_found, unsupported
from masthead_server.resources.validation.local_paths import backstep_errors
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["VOLUME_FIELDS", "env_errors", "env_from_errors", "field_errors", "file_volume_errors", "resource_errors"]

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
VOLUME_FIELDS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
"""The fields of a pod that a file of a volume may show."""
_FIELDS: Final = frozenset(
    {*_ENV_FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase", "spec.host"}
)
_SIDES: Final = ("limits", "requests")
_RESOURCES: Final = tuple(f"{side}.{name}" for side in _SIDES for name in ("cpu", "ephemeral-storage", "memory"))
_HUGE: Final = tuple(f"{side}.hugepages-" for side in _SIDES)
_CPU_DIVISORS: Final[tuple[str, ...]] = ("1m", "1")
_BYTE_DIVISORS: Final = tuple(f"1{unit}" for unit in ("", *"kMGTPE", *(f"{unit}i" for unit in "KMGTPE")))
_ENV_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_TOO_MANY: Final = "may not have more than one field specified at a time"


def _variable_name(value: str) -> list[str]:
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
    errors: Errors = []
    # A volume belongs to the pod, so that the container is not implied.
    if of_volume and not ref.get("containerName"):
        errors.append(required(f"{path}.containerName"))
    elif not resource:
        errors.append(required(f"{path}.resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE):
        errors.append(unsupported(f"{path}.resource", resource, _RESOURCES))
    return errors + _divisor_errors(f"{path}.divisor", resource, ref.get("divisor"))


def _divisor_errors(path: str, resource: str, divisor: object) -> Errors:
    name = resource.partition(".")[2]
    if amount(divisor).sign == 0 or not (resource in _RESOURCES or resource.startswith(_HUGE)):
        return []
    if name == "cpu":
        known = _CPU_DIVISORS
        why = "only divisor's values 1m and 1 are supported with the cpu resource"
    else:
        known = _BYTE_DIVISORS
        kind = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(name, "hugepages")
        why = f"only divisor's values {', '.join(known)} are supported with the {kind} resource"
    # The message shows the resource instead of the divisor.
    return [] if str(amount(divisor)) in known else [invalid(path, resource, why)]


def _key_errors(path: str, ref: Plain) -> Errors:
    errors = follows(f"{path}.name", text(ref, "name"), names.SUBDOMAIN)
    return errors + given(f"{path}.key", ref.get("key"), names.config_key)


def _file_errors(path: str, ref: Plain) -> Errors:
    """Validate a reference to a variable in a file of a volume."""
    errors = given(f"{path}.key", ref.get("key"), _variable_name)
    errors += given(f"{path}.volumeName", ref.get("volumeName"), names.label)
    file = text(ref, "path")
    return errors + (backstep_errors(f"{path}.path", file) if file else [required(f"{path}.path")])


def env_errors(container: Plain, path: str) -> Errors:
    """Validate a container's variables."""
    errors: Errors = []
    for at, variable in each_of(container, "env", path):
        errors += given(f"{at}.name", variable.get("name"), _variable_name)
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
        else:
            # A fileKeyRef names a file of a volume, the others a key of an object.
            errors += (_file_errors if item == "fileKeyRef" else _key_errors)(at, ref)
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
        errors += follows(f"{at}.prefix", text(source, "prefix"), _variable_name)
        stated = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for item in stated:
            errors += given(f"{at}.{item}.name", part(source, item).get("name"), names.SUBDOMAIN)
        if not stated:
            why = "must specify one of: `configMapRef` or `secretRef`"
            errors.append(invalid(f"{path}.envFrom", "", why))
        elif len(stated) > 1:
            errors.append(invalid(f"{path}.envFrom", "", _TOO_MANY))
    return errors


def file_volume_errors(spec: Plain, path: str) -> Errors:
    """Validate that files with variables are in directories of the pod itself."""
    # Paths are made for such references only, which are rare.
    named = [
        (f"{path}.{field}[{index}].env[{place}].valueFrom.fileKeyRef.volumeName", text(reference, "volumeName"))
        for field in ("initContainers", "containers", "ephemeralContainers")
        for index, container in enumerate(items(spec, field))
        for place, variable in enumerate(items(container, "env"))
        if (reference := part(variable, "valueFrom").get("fileKeyRef")) is not None
    ]
    volumes = {text(volume, "name"): volume for volume in items(spec, "volumes")} if named else {}
    errors: Errors = []
    for at, name in named:
        if name not in volumes:
            errors.append(not_found(at, name))
        elif volumes[name].get("emptyDir") is None:
            errors.append(invalid(at, name, "referenced volume must be of type emptyDir"))
    return errors
