"""The definitions of a server: keeps the resources in its catalog as the stored definitions have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from masthead._meta.gvk import GroupVersionResource
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.custom.definition import Definition
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record

__all__ = ["DEFINITIONS", "DefinitionInstaller"]

DEFINITIONS: Final = "apiextensions.k8s.io/customresourcedefinitions"
"""The table of definitions."""


class DefinitionInstaller:
    """Adds the resources of definitions to the catalog, and removes them, as definitions are written.

    It follows every write synchronously: a client that sees the condition ``Established`` finds the resource.

    Args:
        cluster: The cluster state. Stored definitions are served from the start.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._definitions: dict[str, Definition] = {}
        self._since: dict[str, int] = {}
        """The revision at which each definition got its present schemas."""
        self._served: dict[str, list[GroupVersionResource]] = {}
        cluster.observe(DEFINITIONS, self._observe)
        table = cluster.storage.table(DEFINITIONS)
        served = cluster.catalog.stored_in(DEFINITIONS)
        for record in table.scan("", cluster.storage.revision):
            if served is not None:
                self._set(_definition(served, record), record.revision)

    def find(self, name: str) -> Definition | None:
        """Return a definition by its name; None if it does not exist."""
        return self._definitions.get(name)

    def _observe(self, served: ServedResource, record: Record) -> None:
        if record.is_deleted:
            self._remove(record.key)
            return
        definition = _definition(served, record)
        known = self._definitions.get(record.key)
        revision = self._cluster.storage.revision
        # Objects of a restored snapshot may have gone through other schemas, whatever their revision.
        if record.revision < revision:
            self._since[record.key] = revision
            self._set(definition, revision)
        # A change of the metadata, say, leaves the resources as they are.
        elif known is None or not known.serves_as(definition):
            self._set(definition, revision)

    def _set(self, definition: Definition, revision: int) -> None:
        from masthead_server.resources.custom.resource import served_versions, stored_resource

        known = self._definitions.get(definition.name)
        # Objects that went through the same schemas need not go through them again.
        if known is None or known.schemas_digest != definition.schemas_digest:
            self._since[definition.name] = revision
        self._withdraw(definition.name)
        self._definitions[definition.name] = definition
        if not definition.is_servable:
            return
        cluster, catalog = self._cluster, self._cluster.catalog
        served = [
            served_version
            for served_version in served_versions(
                definition,
                self._since[definition.name],
                cluster.services.resolve,
                cluster.virtual_time,
                cluster.new_uid,
            )
            if catalog.find(served_version.gvr) is None and catalog.by_kind(served_version.gvk) is None
        ]
        for entry in served:
            catalog.add(entry)
        self._served[definition.name] = [item.gvr for item in served]
        catalog.set_stored(definition.table, stored_resource(definition))

    def _remove(self, name: str) -> None:
        self._withdraw(name)
        definition = self._definitions.pop(name, None)
        self._since.pop(name, None)
        if definition is not None:
            # The watches of its objects have nothing more to send. A change of the definition leaves them open.
            for end in tuple(self._cluster.storage.table(definition.table).enders):
                end()

    def _withdraw(self, name: str) -> None:
        catalog = self._cluster.catalog
        for gvr in self._served.pop(name, ()):
            catalog.remove(gvr)
        if known := self._definitions.get(name):
            catalog.set_stored(known.table, None)


def _definition(served: ServedResource, record: Record) -> Definition:
    # Imported with the first definition; many servers never have one.
    from masthead_server.resources.custom.definition import Definition

    return Definition(served.load(record))
