"""The admission chain: the enabled plugins, in kube-apiserver's order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from masthead_server.admission.plugin import AdmissionPlugin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.admission.attributes import AdmissionAttributes, Operation
    from masthead_server.resources.resource import ServedResource

    Key: TypeAlias = tuple[Operation, str, str]

__all__ = ["AdmissionChain"]


class _Phases(NamedTuple):
    """The plugins that decide about one operation on one resource."""

    mutating: tuple[AdmissionPlugin, ...]
    validating: tuple[AdmissionPlugin, ...]


class AdmissionChain:
    """Runs the plugins that decide about a request.

    Args:
        plugins: The enabled plugins, in their order.
    """

    def __init__(self, plugins: Sequence[AdmissionPlugin] = ()) -> None:
        self._plugins = tuple(plugins)
        self._phases: dict[Key, _Phases] = {}
        self.checks_namespaces = "NamespaceLifecycle" in self.names
        """Whether new objects need a namespace that exists and is not terminating."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the enabled plugins, in their order."""
        return tuple(plugin.name for plugin in self._plugins)

    def decides(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether any plugin may change or refuse such a request."""
        phases = self._find(operation, served, subresource)
        return _any_active(phases.mutating) or _any_active(phases.validating)

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Run mutating admission.

        Raises:
            StatusFailure: If a plugin refuses the request.
        """
        for plugin in self._find(attributes.operation, attributes.served, attributes.subresource).mutating:
            if plugin.is_active:
                await plugin.admit(attributes)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Run validating admission.

        Raises:
            StatusFailure: If a plugin refuses the request.
        """
        for plugin in self._find(attributes.operation, attributes.served, attributes.subresource).validating:
            if plugin.is_active:
                await plugin.validate(attributes)

    def _find(self, operation: Operation, served: ServedResource, subresource: str) -> _Phases:
        key = (operation, served.table, subresource)
        phases = self._phases.get(key)
        if phases is None:
            chosen = [plugin for plugin in self._plugins if plugin.handles(operation, served, subresource)]
            phases = self._phases[key] = _Phases(
                tuple(plugin for plugin in chosen if type(plugin).admit is not AdmissionPlugin.admit),
                tuple(plugin for plugin in chosen if type(plugin).validate is not AdmissionPlugin.validate),
            )
        return phases


def _any_active(plugins: tuple[AdmissionPlugin, ...]) -> bool:
    return any(plugin.is_active for plugin in plugins)
