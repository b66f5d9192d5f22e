"""The versions in which objects of a definition are stored, or may still be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.wire.plain import Plain, items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator

__all__ = ["keep_stored_version", "set_stored_version"]


def set_stored_version(definition: Plain, _allocate: Allocator) -> None:
    """Start the status of a new definition: objects are stored in the storage version only."""
    _add_storage_version(definition)


def keep_stored_version(definition: Plain, _old: Plain) -> None:
    """Add the storage version to those in which objects may be stored; the earlier ones stay."""
    _add_storage_version(definition)


def _add_storage_version(definition: Plain) -> None:
    versions = items(part(definition, "spec"), "versions")
    name = next((text(version, "name") for version in versions if version.get("storage")), None)
    status = part(definition, "status")
    stored: list[str] = status.get("storedVersions") or []
    if name is not None and name not in stored:
        definition["status"] = status | {"storedVersions": [*stored, name]}
