"""ClusterRoleBindings."""

from __future__ import annotations

from functools import partial
from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.rbac.rolebinding import ROLE_BINDING, binding_changes, binding_errors

BEHAVIOR: Final = Behavior(
    defaults=ROLE_BINDING,
    hooks=StrategyHooks(
        validate_create=partial(binding_errors, namespaced=False),
        validate_update=partial(binding_changes, namespaced=False),
    ),
)
