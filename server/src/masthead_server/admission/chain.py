"""The admission chain: the enabled plugins, in kube-apiserver's order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from masthead_server.admission.plugin import AdmissionPlugin

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from masthead_server.admission.attributes import AdmissionAttributes, Operation
    from masthead_server.resources.resource import ServedResource

    Key: TypeAlias = tuple[Operation, str, str]

__all__ = ["AdmissionChain"]


class _Step(NamedTuple):
    """A plugin in one phase.

    Attributes:
        run: Its ``admit`` or ``validate``.
        switch: The plugin if it is not always active, to be asked each time; otherwise None.
    """

    run: Callable[[AdmissionAttributes], Awaitable[None]]
    switch: AdmissionPlugin | None


class _Phases(NamedTuple):
    """The plugins that decide about one operation on one resource.

    Attributes:
        mutating: Those of mutating admission.
        validating: Those of validating admission.
        is_certain: Whether one of them is always active.
        switches: The others.
    """

    mutating: tuple[_Step, ...]
    validating: tuple[_Step, ...]
    is_certain: bool
    switches: tuple[AdmissionPlugin, ...]


class AdmissionChain:
    """Runs the plugins that decide about a request.

    Args:
        plugins: The enabled plugins, in their order.
    """

    def __init__(self, plugins: Sequence[AdmissionPlugin] = ()) -> None:
        self._plugins = tuple(plugins)
        self._phases: dict[Key, _Phases] = {}
        self._waiting = tuple(plugin for plugin in self._plugins if plugin.may_wait)
        self.checks_namespaces = "NamespaceLifecycle" in self.names
        """Whether new objects need a namespace that exists and is not terminating."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the enabled plugins, in their order."""
        return tuple(plugin.name for plugin in self._plugins)

    @property
    def may_wait(self) -> bool:
        """Whether a plugin may wait for other servers, so that requests need a deadline."""
        return any(plugin.is_active for plugin in self._waiting)

    def decides(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether any plugin may change or refuse such a request."""
        phases = self._find(operation, served, subresource)
        if phases.is_certain:
            return True
        return any(plugin.is_active for plugin in phases.switches) if phases.switches else False

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Run mutating admission; twice, if a webhook or a policy has changed the object.

        Raises:
            StatusFailure: If a plugin refuses the request.
        """
        plugins = self._find(attributes.operation, attributes.served, attributes.subresource).mutating
        for admit, switch in plugins:
            if switch is None or switch.is_active:
                await admit(attributes)
        if attributes.needs_second_round:
            attributes.reinvocation.is_second_round = True
            for admit, switch in plugins:
                if switch is None or switch.is_active:
                    await admit(attributes)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Run validating admission.

        Raises:
            StatusFailure: If a plugin refuses the request.
        """
        for validate, switch in self._find(attributes.operation, attributes.served, attributes.subresource).validating:
            if switch is None or switch.is_active:
                await validate(attributes)

    def _find(self, operation: Operation, served: ServedResource, subresource: str) -> _Phases:
        # Every write asks, and only once is the answer computed: plugins handle the same operations all the time.
        key = (operation, served.table, subresource)
        phases = self._phases.get(key)
        if phases is None:
            chosen = [plugin for plugin in self._plugins if plugin.handles(operation, served, subresource)]
            phases = self._phases[key] = _make_phases(chosen)
        return phases


def _make_phases(plugins: Sequence[AdmissionPlugin]) -> _Phases:
    mutating = [plugin for plugin in plugins if type(plugin).admit is not AdmissionPlugin.admit]
    validating = [plugin for plugin in plugins if type(plugin).validate is not AdmissionPlugin.validate]
    switches = tuple(plugin for plugin in plugins if type(plugin).is_active is not AdmissionPlugin.is_active)
    return _Phases(
        tuple(_Step(plugin.admit, plugin if plugin in switches else None) for plugin in mutating),
        tuple(_Step(plugin.validate, plugin if plugin in switches else None) for plugin in validating),
        len(switches) < len(plugins),
        switches,
    )
