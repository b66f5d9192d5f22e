"""The files of volumes with API data: ConfigMaps, Secrets, fields of the pod, and service-account tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._meta.gvk import GroupVersionResource
from masthead_server.authentication.service_accounts import API_AUDIENCES
from masthead_server.kubelet.environment import field_value, resource_value, source_of
from masthead_server.verbs.token_requests import issue_token
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from masthead_server.cluster import ClusterState
    from masthead_server.wire.plain import Plain

__all__ = ["VolumeFile", "contents_of", "shows_fields", "shows_objects", "sources_of"]

_DEFAULT_MODE: Final = 0o644
_DEFAULT_TOKEN_SECONDS: Final = 3600
_OBJECTS: Final = {"configMap": "configmaps", "secret": "secrets"}
_ACCOUNTS: Final = GroupVersionResource("", "v1", "serviceaccounts")


class VolumeFile(NamedTuple):
    """A file of a volume.

    Attributes:
        content: Its bytes.
        mode: Its permissions.
    """

    content: bytes
    mode: int


def shows_objects(volume: Plain) -> bool:
    """Tell whether the files of a volume come from the API."""
    return any(field in volume for field in ("configMap", "secret", "downwardAPI", "projected"))


def shows_fields(volume: Plain) -> bool:
    """Tell whether the files of a volume depend on fields of the pod."""
    return any("downwardAPI" in source for source in _parts(volume))


def sources_of(volume: Plain) -> Iterator[tuple[str, str]]:
    """Iterate over the ConfigMaps and Secrets of a volume: their table and name."""
    for source in _parts(volume):
        for field, table in _OBJECTS.items():
            if field in source:
                yield table, _name_of(part(source, field))


def contents_of(cluster: ClusterState, pod: Plain, volume: Plain) -> Mapping[str, VolumeFile]:
    """Return the files of a volume by path, without missing objects and keys."""
    default = _default_mode(volume)
    found: dict[str, VolumeFile] = {}
    for source in _parts(volume):
        for field, table in _OBJECTS.items():
            if field in source:
                found |= _files_of(cluster, pod, table, part(source, field), default)
        for item in items(part(source, "downwardAPI"), "items"):
            found[text(item, "path")] = VolumeFile(_field_of(pod, item).encode(), _mode_of(item, default))
        if "serviceAccountToken" in source:
            found |= _token_of(cluster, pod, part(source, "serviceAccountToken"), default)
    return found


def _default_mode(volume: Plain) -> int:
    modes = (part(volume, field).get("defaultMode") for field in ("projected", "downwardAPI", *_OBJECTS))
    return next((int(mode) for mode in modes if mode is not None), _DEFAULT_MODE)


def _parts(volume: Plain) -> list[Plain]:
    return items(part(volume, "projected"), "sources") if "projected" in volume else [volume]


def _name_of(source: Plain) -> str:
    # A Secret volume has the name in another field than a projected source.
    return text(source, "name") or text(source, "secretName")


def _files_of(
    cluster: ClusterState, pod: Plain, table: str, source: Plain, default: int
) -> Iterator[tuple[str, VolumeFile]]:
    stored = source_of(cluster, table, text(metadata(pod), "namespace"), _name_of(source)) or {}
    chosen = items(source, "items")
    if not chosen:
        yield from ((key, VolumeFile(content, default)) for key, content in stored.items())
    for item in chosen:
        content = stored.get(text(item, "key"))
        if content is not None:
            yield text(item, "path"), VolumeFile(content, _mode_of(item, default))


def _mode_of(item: Plain, default: int) -> int:
    mode = item.get("mode")
    return default if mode is None else int(mode)


def _field_of(pod: Plain, item: Plain) -> str:
    if "resourceFieldRef" in item:
        return resource_value(pod, {}, part(item, "resourceFieldRef"))
    return field_value(pod, text(part(item, "fieldRef"), "fieldPath"))


def _token_of(cluster: ClusterState, pod: Plain, source: Plain, mode: int) -> Iterator[tuple[str, VolumeFile]]:
    meta, audience = metadata(pod), text(source, "audience")
    account = text(part(pod, "spec"), "serviceAccountName") or "default"
    bound = {"kind": "Pod", "apiVersion": "v1", "name": text(meta, "name"), "uid": text(meta, "uid")}
    spec = {
        "audiences": [audience] if audience else list(API_AUDIENCES),
        "expirationSeconds": int(source.get("expirationSeconds") or _DEFAULT_TOKEN_SECONDS),
        "boundObjectRef": bound,
    }
    served = cluster.catalog.require(_ACCOUNTS)
    try:
        issued = issue_token(cluster, served, text(meta, "namespace"), account, {"metadata": {}, "spec": spec})
    except StatusFailure:
        return  # the account was deleted
    yield text(source, "path"), VolumeFile(text(part(issued, "status"), "token").encode(), mode)
