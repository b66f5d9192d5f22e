"""The registry of admission plugins: their names, their order and their defaults, as in kube-apiserver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from masthead.errors import ConfigError
from masthead_server.admission.chain import AdmissionChain
from masthead_server.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from masthead_server.admission.webhooks.mutating import MutatingAdmissionWebhook
from masthead_server.admission.webhooks.validating import ValidatingAdmissionWebhook

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from masthead_server.admission.plugin import AdmissionPlugin
    from masthead_server.cluster import ClusterState

__all__ = ["PLUGINS", "make_chain"]

PLUGINS: Final[Mapping[str, Callable[[ClusterState], AdmissionPlugin]]] = {
    "NamespaceLifecycle": NamespaceLifecycle,
    "MutatingAdmissionWebhook": MutatingAdmissionWebhook,
    "ValidatingAdmissionWebhook": ValidatingAdmissionWebhook,
}
"""Every plugin by its name, in the order in which they decide."""
OFF_BY_DEFAULT: Final[frozenset[str]] = frozenset()
"""The plugins that must be enabled by name."""


def make_chain(cluster: ClusterState, enabled: bool | Collection[str] | Mapping[str, bool]) -> AdmissionChain:
    """Make the chain of a server.

    Args:
        cluster: The cluster state.
        enabled: True for kube-apiserver's defaults, False for no plugin, the names of the only plugins to run, or a
            mapping that switches plugins on or off relative to the defaults.

    Raises:
        ConfigError: If there is no plugin of a name.
    """
    chosen = _choose(enabled)
    return AdmissionChain([make(cluster) for name, make in PLUGINS.items() if name in chosen])


def _choose(enabled: bool | Collection[str] | Mapping[str, bool]) -> Collection[str]:
    defaults = PLUGINS.keys() - OFF_BY_DEFAULT
    if isinstance(enabled, bool):
        return defaults if enabled else ()
    if unknown := sorted(set(enabled) - PLUGINS.keys()):
        raise ConfigError(f"there is no admission plugin {unknown[0]!r}; there are {', '.join(PLUGINS)}")
    if not isinstance(enabled, Mapping):
        return enabled
    return {name for name in PLUGINS if enabled.get(name, name in defaults)}
