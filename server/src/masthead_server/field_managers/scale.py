"""The managers of a scale: the entries of an object as entries of its scale, and back.

The scale subresource is an autoscaling/v1 Scale, whose only managed field is ``spec.replicas``.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersionKind
from masthead._schema.field_sets import FieldSet
from masthead._schema.structured_merge.managers import ManagedSet, ManagerKey
from masthead_server.field_managers.entries import UPDATE, ManagedFields, read_stored, write_entries
from masthead_server.field_managers.field_manager import FieldManager
from masthead_server.field_managers.versions import UnstoredVersions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._schema.path_elements import Path
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["ScaleEntries", "scale_manager"]

_SCALE: Final = GroupVersionKind("autoscaling", "v1", "Scale")
_REPLICAS: Final[Path] = ("f:spec", "f:replicas")


@functools.cache
def scale_manager() -> FieldManager:
    """Return the field manager of scales."""
    return FieldManager(UnstoredVersions(_SCALE), "scale", {})


class ScaleEntries:
    """The entries of an object, and those of its scale.

    Args:
        served: The object's resource.
        entries: The object's entries.
    """

    def __init__(self, served: ServedResource, entries: list[Plain]) -> None:
        self._api_version = served.api_version
        self._paths = _replica_paths(served)
        self._fields = read_stored(entries)

    def of_scale(self) -> list[Plain]:
        """Return the entries of the scale: those of the managers that own the replicas."""
        found = ManagedFields.none()
        for key, managed in self._fields.managers.items():
            path = self._paths.get(managed.api_version)
            if path is not None and path in managed.fields:
                # Apply entries have no version in their identity.
                version = _SCALE.api_version if key.operation == UPDATE else ""
                scale_key = key._replace(api_version=version)
                found.managers[scale_key] = ManagedSet(FieldSet.of(_REPLICAS), _SCALE.api_version)
                found.times[scale_key] = self._fields.times[key]
        return write_entries(found)

    def of_parent(self, scale_entries: list[Plain]) -> list[Plain]:
        """Return the entries of the object after a write of its scale.

        A manager that has updated the object has another identity in the scale. So its ownership of the replicas
        returns as a separate entry without a time, as in kube-apiserver.

        Args:
            scale_entries: The entries of the scale after the write.
        """
        scale = read_stored(scale_entries).managers
        after = ManagedFields.none()
        for key, managed in self._fields.managers.items():
            # An entry of a version that the definition no longer has cannot be translated.
            if managed.api_version not in self._paths:
                continue
            path = self._paths[managed.api_version]
            if path is None or path not in managed.fields or scale.pop(key, None) is not None:
                self._keep(after, key, managed)
            elif rest := managed.fields - FieldSet.of(path):
                self._keep(after, key, ManagedSet(rest, managed.api_version))
        for key, managed in scale.items():
            if _REPLICAS in managed.fields:
                self._keep(after, key, ManagedSet(self._replicas, self._api_version))
        return write_entries(after)

    @property
    def _replicas(self) -> FieldSet:
        path = self._paths[self._api_version]
        return FieldSet() if path is None else FieldSet.of(path)

    def _keep(self, after: ManagedFields, key: ManagerKey, managed: ManagedSet) -> None:
        after.managers[key] = managed
        after.times[key] = self._fields.times.get(key)


def _replica_paths(served: ServedResource) -> Mapping[str, Path | None]:
    """The path of the replicas in each version; None in a version without a scale."""
    if served.definition is None:
        return {served.api_version: _REPLICAS}
    versions = served.definition.definition.versions.values()
    return {
        version.gvk.api_version: _path(version.scale.spec_replicas) if version.scale else None for version in versions
    }


def _path(text: str) -> Path:
    return tuple(f"f:{name}" for name in text.removeprefix(".").split("."))
