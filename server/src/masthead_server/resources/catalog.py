"""The resources that one server serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.api_versions import precedence
from masthead._meta.gvk import GroupVersion, GroupVersionResource
from masthead_server import scheme
from masthead_server.resources.builtin.groups import description_of
from masthead_server.resources.resource import ServedResource
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._meta.gvk import GroupVersionKind

__all__ = ["Catalog", "unknown_resource"]


class Catalog:
    """The resources of one server, by group, version and name. They may be added and removed while it runs.

    A built-in resource is made when it is first looked up, because its class has to be imported.

    Threads: `add` and `remove` are called in the server's thread only; all else may be called in any.

    Attributes:
        generation: Counts the changes. Derived documents, such as discovery, are valid for one generation.
    """

    def __init__(self) -> None:
        self.generation: int = 0
        self._kinds: dict[GroupVersionResource, GroupVersionKind] = {}
        self._names: dict[GroupVersionKind, GroupVersionResource] = {}
        self._resources: dict[GroupVersionResource, ServedResource] = {}
        self._stored: dict[str, ServedResource] = {}
        self._in_version: dict[GroupVersion, tuple[str, ...]] = {}
        """The names of the resources of each group-version, in order."""
        self._versions: dict[str, tuple[str, ...]] = {}
        self._custom_groups: list[str] = []
        self._group_generations: dict[str, int] = {}

    @classmethod
    def builtin(cls) -> Catalog:
        """Return a new catalog of all resources of Kubernetes itself."""
        catalog = cls()
        for group, versions in scheme.VERSIONS.items():
            for version in versions:
                group_version = GroupVersion(group, version)
                for kind, resource in scheme.kinds_in(group, version).items():
                    if resource:
                        catalog._enter(group_version.resource(resource), group_version.kind(kind))
        catalog._versions.update(scheme.VERSIONS)
        return catalog

    def find(self, gvr: GroupVersionResource) -> ServedResource | None:
        """Return a resource by its group, version and plural name; None if it is not served."""
        found = self._resources.get(gvr)
        if found is None and (gvk := self._kinds.get(gvr)) is not None:
            # Made on first use: most servers serve a few of some two hundred built-in resources.
            found = self._resources[gvr] = ServedResource.builtin(
                scheme.object_class(gvk), description_of(gvr.group, gvr.resource)
            )
        return found

    def require(self, gvr: GroupVersionResource) -> ServedResource:
        """Return a resource that the server cannot do without.

        Raises:
            StatusFailure: If it is not served; the response is the one to an unknown path.
        """
        found = self.find(gvr)
        if found is None:
            raise unknown_resource()
        return found

    def kinds(self) -> frozenset[str]:
        """Return the names of all kinds. Call it in the server's thread."""
        return frozenset(gvk.kind for gvk in self._names)

    def by_kind(self, gvk: GroupVersionKind) -> ServedResource | None:
        """Return the resource that serves a kind; None if it is not served."""
        gvr = self._names.get(gvk)
        return None if gvr is None else self.find(gvr)

    def stored_in(self, table: str) -> ServedResource | None:
        """Return the resource by which stored objects of a table are read as they are stored; None if it has none."""
        if (stored := self._stored.get(table)) is not None:
            return stored
        group, _, name = table.rpartition("/")
        for version in self.versions(group):
            found = self.find(GroupVersionResource(group, version, name))
            # Reading an autoscaler of the stored version converts it, too: it loses annotations of another version.
            if found is not None and (not found.has_own_shape or found.stored_as.version == version):
                return found
        return None

    def groups(self) -> tuple[str, ...]:
        """Return the names of the groups in the order of discovery; the core group is first, and empty.

        Groups that are not built in have the lowest priority, and among themselves the order of their names.
        """
        return (*scheme.VERSIONS, *self._custom_groups)

    def group_generation(self, group: str) -> int:
        """Return the generation of the last change of a group."""
        return self._group_generations.get(group, 0)

    def versions(self, group: str) -> tuple[str, ...]:
        """Return the versions of a group, the preferred one first; empty if the group is not served."""
        return self._versions.get(group, ())

    def resources(self, group: str, version: str) -> Iterator[ServedResource]:
        """Yield every resource of a group-version in the order of their names."""
        for name in self._in_version.get(GroupVersion(group, version), ()):
            found = self.find(GroupVersionResource(group, version, name))
            if found is not None:
                yield found

    def add(self, resource: ServedResource) -> None:
        """Serve one more resource.

        Raises:
            ValueError: If the name or the kind is taken.
        """
        if resource.gvr in self._kinds or resource.gvk in self._names:
            raise ValueError(f"{resource.gvr} is served already")
        self._enter(resource.gvr, resource.gvk)
        self._resources[resource.gvr] = resource
        self._update_versions(resource.group, added=resource.version)

    def remove(self, gvr: GroupVersionResource) -> None:
        """Stop serving a resource. Its objects stay in the storage.

        Raises:
            KeyError: If it is not served.
        """
        gvk = self._kinds.pop(gvr)
        del self._names[gvk]
        self._resources.pop(gvr, None)
        group_version = GroupVersion(gvr.group, gvr.version)
        left = tuple(item for item in self._in_version[group_version] if item != gvr.resource)
        self._in_version[group_version] = left
        if not left:
            del self._in_version[group_version]
        self._update_versions(gvr.group, removed="" if left else gvr.version)

    def set_stored(self, table: str, resource: ServedResource | None) -> None:
        """Say by which resource the stored objects of a table are read; None if nothing defines them any more."""
        if resource is None:
            self._stored.pop(table, None)
        else:
            self._stored[table] = resource

    def _enter(self, gvr: GroupVersionResource, gvk: GroupVersionKind) -> None:
        self._kinds[gvr] = gvk
        self._names[gvk] = gvr
        group_version = GroupVersion(gvr.group, gvr.version)
        known = self._in_version.get(group_version, ())
        self._in_version[group_version] = tuple(sorted((*known, gvr.resource)))

    def _update_versions(self, group: str, *, added: str = "", removed: str = "") -> None:
        self.generation += 1
        self._group_generations[group] = self.generation
        versions = {*self.versions(group), added} - {"", removed}
        # A group without resources disappears from discovery.
        if not versions:
            self._versions.pop(group, None)
            self._custom_groups = [custom_group for custom_group in self._custom_groups if custom_group != group]
            return
        if group not in self._versions:
            self._custom_groups = sorted((*self._custom_groups, group))
        # Versions of any other form are in the order of their names.
        self._versions[group] = tuple(sorted(sorted(versions), key=precedence, reverse=True))


def unknown_resource() -> StatusFailure:
    """Return the response to a path that leads to no resource."""
    return StatusFailure(404, "NotFound", "the server could not find the requested resource", details={})
