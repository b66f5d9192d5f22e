"""The admission chain: the enabled plugins, in kube-apiserver's order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from masthead_server.admission.plugin import AdmissionPlugin

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from masthead_server.admission.attributes import AdmissionAttributes, Operation
    from masthead_server.admission.plugin import PluginEntry
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record

    Phase: TypeAlias = Callable[[AdmissionAttributes], Awaitable[None]]
    Key: TypeAlias = tuple[Operation, str, str]

__all__ = ["AdmissionChain", "Phases"]


class Phases(NamedTuple):
    """The plugins that decide about one operation on one resource now.

    Attributes:
        mutating: Their ``admit``, as far as they mutate.
        validating: Their ``validate``, as far as they validate.
        is_any: Whether there is any of them.
    """

    mutating: tuple[Phase, ...]
    validating: tuple[Phase, ...]
    is_any: bool


class AdmissionChain:
    """Runs the plugins that decide about a request.

    Args:
        entries: The enabled plugins, in their order.

    Attributes:
        may_wait: Whether a plugin may wait for other servers now, so that requests need a deadline.
        checks_namespaces: Whether new objects need a namespace that exists and is not terminating.
    """

    def __init__(self, entries: Sequence[PluginEntry] = ()) -> None:
        self._entries = tuple(entries)
        self._cluster: ClusterState | None = None
        self._plugins: dict[str, AdmissionPlugin] = {}
        """The plugins that have been made, by name."""
        self._phases: dict[Key, Phases] = {}
        self._configurations: dict[str, set[str]] = {
            entry.configured_by: set[str]() for entry in self._entries if entry.configured_by
        }
        """The keys of the stored configurations, by table."""
        self.may_wait: bool = False
        self.checks_namespaces: bool = "NamespaceLifecycle" in self.names

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the enabled plugins, in their order."""
        return tuple(entry.name for entry in self._entries)

    def observe(self, cluster: ClusterState) -> None:
        """Decide about the requests to a cluster, and follow the configurations of plugins there."""
        self._cluster = cluster
        for table in self._configurations:
            for record in cluster.storage.table(table).scan("", cluster.storage.revision):
                self._keep(table, record)
            cluster.observe(table, lambda served, record: self._keep(served.table, record))

    def _keep(self, table: str, record: Record) -> None:
        keys = self._configurations[table]
        had_any = bool(keys)
        if record.is_deleted:
            keys.discard(record.key)
        else:
            keys.add(record.key)
        # Every write asks which plugins decide, and hardly any changes the answer.
        if had_any != bool(keys):
            self._phases.clear()
            self.may_wait = any(entry.may_wait and self._is_active(entry) for entry in self._entries)

    def decides(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether any plugin may change or refuse such a request."""
        return self.find(operation, served, subresource).is_any

    def mutates(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether any plugin may change the object of such a request."""
        return bool(self.find(operation, served, subresource).mutating)

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Run mutating admission; twice, if a webhook or a policy has changed the object.

        Raises:
            StatusFailure: If a plugin refuses the request.
        """
        phases = attributes.phases or self.find(attributes.operation, attributes.served, attributes.subresource)
        plugins = phases.mutating
        for admit in plugins:
            await admit(attributes)
        if attributes.needs_second_round:
            attributes.reinvocation.is_second_round = True
            for admit in plugins:
                await admit(attributes)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Run validating admission.

        Raises:
            StatusFailure: If a plugin refuses the request.
        """
        phases = attributes.phases or self.find(attributes.operation, attributes.served, attributes.subresource)
        for validate in phases.validating:
            await validate(attributes)

    def find(self, operation: Operation, served: ServedResource, subresource: str) -> Phases:
        """Return the plugins that decide about an operation on a resource now."""
        key = (operation, served.table, subresource)
        phases = self._phases.get(key)
        if phases is None:
            active = [self._plugin(entry) for entry in self._entries if self._is_active(entry)]
            chosen = [plugin for plugin in active if plugin.handles(operation, served, subresource)]
            mutating = tuple(plugin.admit for plugin in chosen if type(plugin).admit is not AdmissionPlugin.admit)
            validating = tuple(
                plugin.validate for plugin in chosen if type(plugin).validate is not AdmissionPlugin.validate
            )
            phases = self._phases[key] = Phases(mutating, validating, bool(mutating or validating))
        return phases

    def _is_active(self, entry: PluginEntry) -> bool:
        return not entry.configured_by or bool(self._configurations[entry.configured_by])

    def _plugin(self, entry: PluginEntry) -> AdmissionPlugin:
        plugin = self._plugins.get(entry.name)
        if plugin is None:
            assert self._cluster is not None, "the chain observes a cluster before it decides"
            plugin = self._plugins[entry.name] = entry.make(self._cluster)
        return plugin
