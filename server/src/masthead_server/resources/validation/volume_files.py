"""Validation of volumes that show files: keys of objects, facts about the pod, tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid, required
from masthead_server.resources.validation.checks import each_of
from masthead_server.resources.validation.environment import VOLUME_FIELDS, field_errors, resource_errors
from masthead_server.resources.validation.local_paths import reserved_errors
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.resources.validation.storage_sources import Check
    from masthead_server.wire.plain import Plain

__all__ = ["check_downward", "check_projected", "object_files"]

_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_CONFLICT: Final = "conflicting duplicate paths"
_MIN_SECONDS: Final = 600
_MAX_SECONDS: Final = 2**32


def _mode_errors(path: str, mode: object) -> Errors:
    # Zero and three octal digits: no setuid, setgid or sticky bit in volumes.
    return [invalid(path, mode, _MODE)] if isinstance(mode, int) and not 0 <= mode <= 0o777 else []


def _key_errors(path: str, item: Plain) -> Errors:
    errors = [required(f"{path}.{name}") for name in ("key", "path") if not item.get(name)]
    errors += reserved_errors(f"{path}.path", text(item, "path"))
    return errors + _mode_errors(f"{path}.mode", item.get("mode"))


def object_files(field: str) -> Check:
    """Validate a volume that shows the keys of an object that this field names."""

    def check(path: str, source: Plain) -> Errors:
        errors = [] if source.get(field) else [required(f"{path}.{field}")]
        errors += _mode_errors(f"{path}.defaultMode", source.get("defaultMode"))
        return errors + [error for at, item in each_of(source, "items", path) for error in _key_errors(at, item)]

    return check


def _downward_file_errors(path: str, file: Plain) -> Errors:
    errors = [] if file.get("path") else [required(f"{path}.path")]
    errors += reserved_errors(f"{path}.path", text(file, "path"))
    if file.get("fieldRef") is not None:
        errors += field_errors(f"{path}.fieldRef", part(file, "fieldRef"), VOLUME_FIELDS)
        if file.get("resourceFieldRef") is not None:
            why = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid(path, "resource", why))
    elif file.get("resourceFieldRef") is not None:
        ref = part(file, "resourceFieldRef")
        errors += resource_errors(f"{path}.resourceFieldRef", ref, of_volume=True)
    else:
        errors.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return errors + _mode_errors(f"{path}.mode", file.get("mode"))


def check_downward(path: str, source: Plain) -> Errors:
    """Validate a volume that shows facts about its pod."""
    errors = _mode_errors(f"{path}.defaultMode", source.get("defaultMode"))
    # kube-apiserver's paths of these errors lack the index.
    for item in items(source, "items"):
        errors += _downward_file_errors(path, item)
    return errors


def check_projected(path: str, source: Plain) -> Errors:
    """Validate a volume that shows the files of several sources."""
    errors = _mode_errors(f"{path}.defaultMode", source.get("defaultMode"))
    seen: set[str] = set()
    for at, projection in each_of(source, "sources", path):
        for kind in ("secret", "configMap"):
            if projection.get(kind) is not None:
                errors += _object_errors(f"{at}.{kind}", path, part(projection, kind), seen)
        for item in items(part(projection, "downwardAPI"), "items"):
            errors += _downward_file_errors(f"{at}.downwardAPI", item)
            errors += _conflicts(path, text(item, "path"), text(item, "path"), seen)
        if projection.get("serviceAccountToken") is not None:
            errors += _token_errors(f"{at}.serviceAccountToken", path, part(projection, "serviceAccountToken"))
        # Each source projects one object; several sources share the volume.
        if len([value for value in projection.values() if value is not None]) > 1:
            errors.append(forbidden(at, "may not specify more than 1 volume type per source"))
    return errors


def _object_errors(path: str, volume: str, source: Plain, seen: set[str]) -> Errors:
    errors = [] if source.get("name") else [required(f"{path}.name")]
    for at, item in each_of(source, "items", path):
        errors += _key_errors(at, item)
        # The message shows the name of the object, not the path.
        errors += _conflicts(volume, text(item, "path"), text(source, "name"), seen)
    return errors


def _conflicts(volume: str, file: str, shown: str, seen: set[str]) -> Errors:
    if not file or file not in seen:
        seen.add(file)
        return []
    return [invalid(volume, shown, _CONFLICT)]


def _token_errors(path: str, volume: str, token: Plain) -> Errors:
    errors: Errors = []
    seconds = token.get("expirationSeconds", 0)
    if seconds < _MIN_SECONDS:
        why = "may not specify a duration less than 10 minutes"
        errors.append(invalid(f"{path}.expirationSeconds", seconds, why))
    if seconds > _MAX_SECONDS:
        why = "may not specify a duration larger than 2^32 seconds"
        errors.append(invalid(f"{path}.expirationSeconds", seconds, why))
    if not token.get("path"):
        return [*errors, required(f"{volume}.path")]
    return errors + reserved_errors(f"{volume}.path", text(token, "path"))
