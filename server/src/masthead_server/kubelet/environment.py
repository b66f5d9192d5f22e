"""The environment of containers: variables, ConfigMaps, Secrets, fields, resources, services, and ``$(NAME)``."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Final

from masthead._meta.quantity import parse_quantity
from masthead_server.kubelet.pod_host import host_of
from masthead_server.kubelet.pods import container_of
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from masthead_server.cluster import ClusterState
    from masthead_server.wire.plain import Plain

__all__ = [
    "ContainerConfigError",
    "ContainerStartError",
    "PodSandboxError",
    "command_of",
    "environment_of",
    "available_environment",
    "expand",
    "field_value",
    "has_references",
    "missing_references",
    "resource_value",
    "source_of",
]

_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_FIELDS: Final = {
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
    "metadata.uid": ("metadata", "uid"),
    "spec.nodeName": ("spec", "nodeName"),
    "spec.serviceAccountName": ("spec", "serviceAccountName"),
    "status.podIP": ("status", "podIP"),
    "status.hostIP": ("status", "hostIP"),
}
"""The fields of a pod that are text."""
_LISTS: Final = {"status.podIPs": "podIPs", "status.hostIPs": "hostIPs"}
_KEYED: Final = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^()]*)\))")
_KINDS: Final = {
    "configMapKeyRef": "configmaps",
    "secretKeyRef": "secrets",
    "configMapRef": "configmaps",
    "secretRef": "secrets",
}
_NAMES: Final = {"configmaps": "ConfigMap", "secrets": "Secret"}


class ContainerStartError(Exception):
    """A container cannot be created now.

    Attributes:
        reason: The reason of its waiting state; empty to keep the state.
    """

    reason = "CreateContainerError"


class PodSandboxError(ContainerStartError):
    """No container of a pod can be created, because the pod cannot have its host name. The containers wait on."""

    reason = ""


class ContainerConfigError(ContainerStartError):
    """A container cannot be created, because a ConfigMap, Secret, key or variable is missing."""

    reason = "CreateContainerConfigError"


def environment_of(cluster: ClusterState, pod: Plain, container: str) -> dict[str, str]:
    """Return the environment of a container, as a kubelet composes it.

    Raises:
        ContainerConfigError: If an object or key does not exist and is not optional.
    """
    spec = container_of(pod, container) or {}
    found = _base_environment(pod) | _service_links(cluster, pod)
    for source in items(spec, "envFrom"):
        prefix = text(source, "prefix")
        for field in ("configMapRef", "secretRef"):
            if field in source:
                found |= {f"{prefix}{key}": value for key, value in _all_of(cluster, pod, field, part(source, field))}
    # A variable may refer to earlier ones only.
    for item in items(spec, "env"):
        name = text(item, "name")
        if "valueFrom" not in item:
            found[name] = expand(text(item, "value"), found)
        elif (value := _value_from(cluster, pod, spec, part(item, "valueFrom"))) is not None:
            found[name] = value
    return found


def has_references(spec: Plain) -> bool:
    """Tell whether the environment of a container refers to ConfigMaps or Secrets."""
    return bool(spec.get("envFrom")) or any("valueFrom" in item for item in items(spec, "env"))


def available_environment(cluster: ClusterState, pod: Plain, container: str) -> dict[str, str]:
    """Return the environment of a running container, without variables from objects that were deleted since."""
    try:
        return environment_of(cluster, pod, container)
    except ContainerConfigError:
        return _base_environment(pod)


def _base_environment(pod: Plain) -> dict[str, str]:
    return {"PATH": _PATH, "HOSTNAME": host_of(pod).name, "HOME": "/root"}


def command_of(spec: Plain, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command of a container with its arguments."""
    return tuple(expand(word, env) for word in (*(spec.get("command") or ()), *(spec.get("args") or ())))


def expand(value: str, env: Mapping[str, str]) -> str:
    """Replace ``$(NAME)`` by variables; unknown names remain, and ``$$`` becomes a dollar sign."""

    def put(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else env.get(found[1], found[0])

    return _REFERENCE.sub(put, value) if "$" in value else value


def missing_references(value: str, env: Mapping[str, str]) -> list[str]:
    """Return the variables in a text that have no value."""
    names = {found[1] for found in _REFERENCE.finditer(value) if found[1] is not None}
    return sorted(name for name in names if not env.get(name))


def source_of(cluster: ClusterState, table: str, namespace: str, name: str) -> dict[str, bytes] | None:
    """Return the data of a ConfigMap or Secret by key; None if it does not exist."""
    served = cluster.catalog.stored_in(table)
    record = cluster.storage.table(table).get(f"{namespace}/{name}")
    if served is None or record is None:
        return None
    stored = served.load(record)
    if table == "secrets":
        return {key: base64.b64decode(value) for key, value in part(stored, "data").items()}
    plain = {key: str(value).encode() for key, value in part(stored, "data").items()}
    return plain | {key: base64.b64decode(value) for key, value in part(stored, "binaryData").items()}


def _all_of(cluster: ClusterState, pod: Plain, field: str, ref: Plain) -> Iterator[tuple[str, str]]:
    table, name = _KINDS[field], text(ref, "name")
    found = source_of(cluster, table, text(metadata(pod), "namespace"), name)
    if found is None and not ref.get("optional"):
        raise ContainerConfigError(f'{_NAMES[table].lower()} "{name}" not found')
    for key, value in sorted((found or {}).items()):
        yield key, value.decode("utf-8", "replace")


def _value_from(cluster: ClusterState, pod: Plain, spec: Plain, source: Plain) -> str | None:
    if "fieldRef" in source:
        return field_value(pod, text(part(source, "fieldRef"), "fieldPath"))
    if "resourceFieldRef" in source:
        return resource_value(pod, spec, part(source, "resourceFieldRef"))
    for field in ("configMapKeyRef", "secretKeyRef"):
        if field in source:
            return _key_of(cluster, pod, field, part(source, field))
    return None


def _key_of(cluster: ClusterState, pod: Plain, field: str, ref: Plain) -> str | None:
    namespace, name, key = text(metadata(pod), "namespace"), text(ref, "name"), text(ref, "key")
    found = source_of(cluster, _KINDS[field], namespace, name)
    if found is None and not ref.get("optional"):
        raise ContainerConfigError(f'{_NAMES[_KINDS[field]].lower()} "{name}" not found')
    if found is not None and key not in found and not ref.get("optional"):
        raise ContainerConfigError(f"couldn't find key {key} in {_NAMES[_KINDS[field]]} {namespace}/{name}")
    value = (found or {}).get(key)
    return None if value is None else value.decode("utf-8", "replace")


def field_value(pod: Plain, path: str) -> str:
    """Return a field of a pod as text; labels and annotations as a line each."""
    if path in _FIELDS:
        section, field = _FIELDS[path]
        return text(part(pod, section), field)
    if path in _LISTS:
        return ",".join(text(address, "ip") for address in items(part(pod, "status"), _LISTS[path]))
    if found := _KEYED.fullmatch(path):
        return str(part(metadata(pod), found[1]).get(found[2], ""))
    if path in {"metadata.labels", "metadata.annotations"}:
        entries = part(metadata(pod), path.partition(".")[2])
        escaped = {
            key: str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            for key, value in entries.items()
        }
        return "\n".join(f'{key}="{escaped[key]}"' for key in sorted(escaped))
    return ""


def resource_value(pod: Plain, spec: Plain, ref: Plain) -> str:
    """Return a resource of a container in units of the divisor, rounded up."""
    name = text(ref, "containerName")
    owner = (container_of(pod, name) or {}) if name else spec
    section, _, resource = text(ref, "resource").partition(".")
    value = part(part(owner, "resources"), section).get(resource)
    if value is None:
        # As in a kubelet, the default limit is the allocatable amount of the node.
        value = (
            {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi"}.get(resource, "0")
            if section == "limits"
            else "0"
        )
    divisor = str(ref.get("divisor") or "0")
    per = parse_quantity("1" if divisor == "0" else divisor).nanos
    return str(-(-parse_quantity(value).nanos // per))


def _service_links(cluster: ClusterState, pod: Plain) -> dict[str, str]:
    """Return the variables of services: the API server's, and those of services with a cluster IP in the namespace."""
    namespace = text(metadata(pod), "namespace")
    served = cluster.catalog.stored_in("services")
    found: dict[str, str] = {}
    if served is None:
        return found
    table = cluster.storage.table("services")
    records = [record] if (record := table.get("default/kubernetes")) is not None else []
    if part(pod, "spec").get("enableServiceLinks") is not False:
        records += [record for record in table.scan(f"{namespace}/", cluster.storage.revision) if record not in records]
    for record in records:
        found |= _link(served.load(record))
    return found


def _link(service: Plain) -> dict[str, str]:
    spec, ports = part(service, "spec"), items(part(service, "spec"), "ports")
    address = text(spec, "clusterIP")
    if address in {"", "None"} or not ports:
        return {}
    prefix = re.sub("[^A-Z0-9_]", "_", text(metadata(service), "name").upper())
    found = {f"{prefix}_SERVICE_HOST": address, f"{prefix}_SERVICE_PORT": str(ports[0].get("port"))}
    first = ports[0]
    for port in ports:
        number, protocol = port.get("port"), (text(port, "protocol") or "TCP")
        if name := text(port, "name"):
            found[f"{prefix}_SERVICE_PORT_{re.sub('[^A-Z0-9_]', '_', name.upper())}"] = str(number)
        url = f"{protocol.lower()}://{address}:{number}"
        if port is first:
            found[f"{prefix}_PORT"] = url
        stem = f"{prefix}_PORT_{number}_{protocol.upper()}"
        found |= {stem: url, f"{stem}_PROTO": protocol.lower(), f"{stem}_PORT": str(number), f"{stem}_ADDR": address}
    return found
