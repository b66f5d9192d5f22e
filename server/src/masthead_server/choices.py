"""The parts of a server that its settings choose: authorizers, admission plugins and controllers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.admission.registry import choose_plugins
from masthead_server.authorization.always_allow import AlwaysAllow
from masthead_server.authorization_modes import AuthorizationMode
from masthead_server.controllers.manager import (
    BOOTSTRAP_CONTROLLERS,
    CONTROLLERS,
    POD_CONTROLLERS,
    SCHEDULER,
    WORKLOAD_CONTROLLERS,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from masthead_server.cluster import ClusterState
    from masthead_server.settings import Settings

__all__ = ["choose_admission", "choose_controllers", "default_controllers", "set_authorizer"]

_ACCOUNTS_PLUGIN: Final = "ServiceAccount"


def set_authorizer(cluster: ClusterState, settings: Settings) -> None:
    """Set the authorizers."""
    modes = settings.authorization_modes()
    if modes == (AuthorizationMode.ALWAYS_ALLOW,):
        cluster.authorizer = AlwaysAllow(anonymous=settings.anonymous is True)
        return
    from masthead_server.authorization.modes import set_authorizers
    from masthead_server.authorization.policy_rules import PolicyRule, RuleSet
    from masthead_server.bootstrap.rbac import node_rules

    set_authorizers(cluster, modes, RuleSet([PolicyRule.of(rule) for rule in node_rules()]))


def choose_admission(settings: Settings) -> Collection[str]:
    """Choose the admission plugins; ServiceAccount would refuse every pod without default service accounts."""
    chosen = choose_plugins(settings.admission)
    is_named = not isinstance(settings.admission, bool) and _ACCOUNTS_PLUGIN in settings.admission
    return chosen if is_named or "serviceaccounts" in choose_controllers(settings) else chosen - {_ACCOUNTS_PLUGIN}


def default_controllers(*, bootstrap: bool) -> set[str]:
    """Return the controllers of a server without workloads and kubelet; some create bootstrap objects."""
    chosen = CONTROLLERS.keys() - WORKLOAD_CONTROLLERS - POD_CONTROLLERS
    return chosen if bootstrap else chosen - BOOTSTRAP_CONTROLLERS


def choose_controllers(settings: Settings) -> Collection[str]:
    """Choose the controllers to run; without bootstrap objects, exclude those that create them."""
    if isinstance(settings.controllers, bool):
        chosen = default_controllers(bootstrap=settings.bootstrap) if settings.controllers else set[str]()
        # Running pods need nodes, and so these controllers, unless the user has listed the controllers.
        if settings.runs_pods:
            chosen |= POD_CONTROLLERS if settings.controllers else {SCHEDULER}
    else:
        chosen = set(settings.controllers)
    return chosen | WORKLOAD_CONTROLLERS if settings.workloads else chosen
